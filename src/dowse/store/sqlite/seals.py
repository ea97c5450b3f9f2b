"""Checksums of what is stored: SQLite has none, and a byte that changed by itself must not be shown to anybody."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence

from dowse.errors import DowseError
from dowse.store.sqlite.database import Row

_JOINT = "\x1f"
# What is damaged may be of any type.
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class Unsound(DowseError):
    """What is stored of a record is not what was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"what is stored of {path!r} is damaged; `dowse doctor --fix` reads the file again")


def seal(values: Iterable[object]) -> int:
    """Of the values in this order; the same for a row that was written and for the one that is read."""
    joined = _JOINT.join([it if type(it) is str else str(it) for it in values])
    return zlib.crc32(joined.encode("utf-8", "surrogatepass"))


def seal_of_all(rows: Sequence[Row]) -> int:
    """In one go, because there are dozens of them to a file."""
    return zlib.crc32(_ENCODE(rows).encode("utf-8", "surrogatepass")) if rows else 0


def details_seal(
    chunk_seals: Sequence[int], symbols: Sequence[Row], links: Sequence[Row], calls: Sequence[Row], body: bytes
) -> int:
    """Of what hangs on a record: the seals of its chunks in any fixed order, rows without the record's key in their
    order, and the packed text."""
    parts = (seal_of_all(symbols), seal_of_all(links), seal_of_all(calls), zlib.crc32(body))
    return seal((*chunk_seals, *parts))


def intact(stored: int | None, values: Iterable[object]) -> bool:
    """Whether the row is as it was written; of one that was written before there were seals, nobody knows."""
    return stored is None or stored == seal(values)
