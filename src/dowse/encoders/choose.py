"""Choosing an encoder by name, or by the fingerprint an index was made with, without loading a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dowse.encoders.base import Encoder
from dowse.encoders.granite import FINGERPRINT, GraniteEncoder, installed_weights
from dowse.encoders.hashing import HashingEncoder
from dowse.errors import BadInput, EncoderMissing

KNOWN = ("auto", "granite", "hashing")
ALIASES = {"onnx": "granite", "hash": "hashing"}


@dataclass(frozen=True, slots=True)
class Choice:
    encoder: Encoder
    why: str


def check_name(name: str) -> None:
    if ALIASES.get(name, name) not in KNOWN:
        raise BadInput(f"unknown encoder {name!r}: choose one of {', '.join(KNOWN)}, or none")


def choose(name: str, *, cache_dir: Path) -> Choice:
    """The encoder of that name; `auto` takes the best that is installed and says why it is not better."""
    wanted = ALIASES.get(name, name)
    if wanted == "auto":
        return _best(cache_dir)
    if wanted == "granite":
        return Choice(_granite(cache_dir), "granite was asked for.")
    check_name(name)
    return Choice(HashingEncoder(), "hashing was asked for.")


def by_fingerprint(fingerprint: str, *, cache_dir: Path) -> Encoder | None:
    """The encoder that makes vectors of this fingerprint, or None when it is not available here."""
    hashing = _hashing_of(fingerprint)
    if hashing is not None:
        return hashing
    if fingerprint != FINGERPRINT:
        return None
    try:
        return _granite(cache_dir)
    except EncoderMissing:
        return None


def _best(cache_dir: Path) -> Choice:
    try:
        return Choice(_granite(cache_dir), "granite is installed, so texts are compared by meaning.")
    except EncoderMissing as missing:
        return Choice(HashingEncoder(), f"hashing compares shared words only, but {missing}.")


def _granite(cache_dir: Path) -> GraniteEncoder:
    return GraniteEncoder(installed_weights(), cache_dir=cache_dir)


def _hashing_of(fingerprint: str) -> HashingEncoder | None:
    size = fingerprint.removeprefix("hash-").partition(":")[0]
    if not size.isdecimal() or int(size) < 1:
        return None
    encoder = HashingEncoder(int(size))
    return encoder if encoder.fingerprint == fingerprint else None
