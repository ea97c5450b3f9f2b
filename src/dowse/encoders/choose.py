"""Choosing an encoder by name, or by the fingerprint an index was made with, without loading a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dowse.encoders.base import Encoder
from dowse.encoders.granite import FINGERPRINT, GraniteEncoder, installed_weights
from dowse.encoders.hashing import HashingEncoder
from dowse.encoders.http_names import ENCODERS
from dowse.encoders.static import FINGERPRINT as STATIC_FINGERPRINT
from dowse.encoders.static import StaticEncoder
from dowse.errors import BadInput, EncoderMissing

AUTO = "auto"
KNOWN = (AUTO, "granite", "hashing", "static")
ALIASES = {"onnx": "granite", "hash": "hashing"}
# A question is not worth a longer wait: it is answered by words instead.
IMPATIENT_S = 10.0


@dataclass(frozen=True, slots=True)
class Choice:
    """`slow`: with much to encode, it is worth to begin with a quicker one."""

    encoder: Encoder
    why: str
    slow: bool = False


def check_name(name: str) -> None:
    if ENCODERS.has(name):
        ENCODERS.parse(name)
    elif ALIASES.get(name, name) not in KNOWN:
        known = ", ".join((*KNOWN, *ENCODERS.forms.values()))
        raise BadInput(f"unknown encoder {name!r}: choose one of {known}, or none")


def choose(name: str, *, cache_dir: Path, api_key: str = "", patient: bool = True, threads: int = 0) -> Choice:
    """The encoder of that name; `auto` takes the best that is installed and says why it is not better.

    Not patient: a server that is slow or busy is not waited for. `threads` of a transformer; 0: one per core.
    """
    wanted = ALIASES.get(name, name)
    if wanted == "auto":
        return _best(cache_dir, threads)
    if wanted == "granite":
        return Choice(_granite(cache_dir, threads), "granite was asked for.", slow=True)
    if wanted == "static":
        return Choice(StaticEncoder(), "static was asked for.")
    check_name(name)
    if wanted != "hashing":
        return _server(name, api_key, patient)
    return Choice(HashingEncoder(), "hashing was asked for.")


def is_local(name: str) -> bool:
    """Whether it names an encoder of this machine, which may be used without being named by the user."""
    return name in KNOWN


def setting_of(fingerprint: str) -> str:
    """The setting that makes such vectors; empty for those of a server, which only the user may name."""
    if fingerprint in (FINGERPRINT, STATIC_FINGERPRINT):
        return "auto"
    return "hashing" if _hashing_of(fingerprint) else ""


def fast() -> Encoder:
    """An encoder so quick that it is worth to fill an index with it before a better one does."""
    return StaticEncoder()


def short_name(fingerprint: str) -> str:
    """What a fingerprint is of, for people: the encoder, and of a server its model."""
    kind, _, rest = fingerprint.partition(":")
    return f"{kind}:{rest.rpartition(':')[0]}" if kind in ENCODERS.forms else kind


def by_fingerprint(fingerprint: str, *, cache_dir: Path, threads: int = 0) -> Encoder | None:
    """The encoder that makes vectors of this fingerprint, or None when it is not available here."""
    hashing = _hashing_of(fingerprint)
    if hashing is not None:
        return hashing
    if fingerprint == STATIC_FINGERPRINT:
        return StaticEncoder()
    if fingerprint != FINGERPRINT:
        return None
    try:
        return _granite(cache_dir, threads)
    except EncoderMissing:
        return None


def _best(cache_dir: Path, threads: int) -> Choice:
    try:
        return Choice(_granite(cache_dir, threads), "semantic search: on (granite).", slow=True)
    except EncoderMissing as missing:
        return Choice(StaticEncoder(), f"static compares words by their meaning, not sentences, but {missing}.")


def _granite(cache_dir: Path, threads: int) -> GraniteEncoder:
    return GraniteEncoder(installed_weights(), cache_dir=cache_dir, threads=threads or None)


def _server(name: str, api_key: str, patient: bool) -> Choice:
    from dowse.encoders.http import HttpEncoder
    from dowse.encoders.http_transport import Transport

    server = ENCODERS.parse(name)
    if patient:
        transport = Transport(server.url, api_key=api_key)
    else:
        transport = Transport(server.url, api_key=api_key, answer_s=IMPATIENT_S, waits_s=())
    encoder = HttpEncoder(server, transport)
    return Choice(encoder, f"{server.kind} was asked for; texts are sent to {server.url}.", slow=True)


def _hashing_of(fingerprint: str) -> HashingEncoder | None:
    size = fingerprint.removeprefix("hash-").partition(":")[0]
    if not size.isdecimal() or int(size) < 1:
        return None
    encoder = HashingEncoder(int(size))
    return encoder if encoder.fingerprint == fingerprint else None
