"""The encoder, whether it is intact and works, and the vectors that all indexes of this user share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from dowse.config import Settings
from dowse.errors import EncoderMissing
from dowse.places import Places
from dowse.semantics import NONE
from dowse.shells.checkup.surroundings import FIX
from dowse.store.health import Finding

_PROBE = "is the encoder intact?"
_BUSY_MS = 2_000


def encoder_finding(settings: Settings, *, deep: bool) -> Finding:
    """Deep: its weights are compared with their digest, and it encodes something."""
    if settings.encoder == NONE:
        return Finding("encoder", "ok", "semantic search is switched off (encoder = none)")
    from dowse.encoders.choose import choose

    try:
        choice = choose(settings.encoder, cache_dir=Places.of(settings).models, patient=False)
        if deep:
            _probe(choice.encoder.name)
            choice.encoder.encode([_PROBE])
    except EncoderMissing as error:
        return Finding("encoder", "problem", str(error), "follow that, or choose another --encoder")
    return Finding("encoder", "ok", f"{choice.encoder.name}: {choice.why.removesuffix('.')}")


def _probe(name: str) -> None:
    """The graph that was built from the weights is used as long as it is there: they themselves may be damaged."""
    from dowse.encoders import granite

    if name == granite.NAME:
        from dowse.encoders.pack import read_pack

        read_pack(granite.installed_weights(), granite.PACK_SHA256)


def cache_files(places: Places) -> list[Path]:
    return sorted(places.vectors.glob("*.sqlite"))


def cache_findings(places: Places) -> Iterator[Finding]:
    files = cache_files(places)
    damaged = [it for it in files if is_damaged(it)]
    for path in damaged:
        yield Finding("vector cache", "problem", f"{path} is damaged: texts are encoded that need not be", FIX)
    if not damaged:
        size = sum(it.stat().st_size for it in files)
        yield Finding("vector cache", "ok", f"{len(files)} sound files with {size // 1_000_000:,} MB of shared vectors")


def is_damaged(cache: Path) -> bool:
    try:
        connection = apsw.Connection(str(cache), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(_BUSY_MS)
            return connection.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]
        finally:
            connection.close()
    except (apsw.CorruptError, apsw.NotADBError):
        return True
    except apsw.Error:
        return False  # busy, or not to be opened: that is no damage
