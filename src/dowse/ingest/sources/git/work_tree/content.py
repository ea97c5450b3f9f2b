"""Whether a file holds what an object of git does: hashed here and in pieces, because git would run filters for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from enum import Enum, auto

from dowse.ingest.sources.regular_file import opened_below

_PIECE_BYTES = 1 << 20
_SHA256_DIGITS = 64


class Likeness(Enum):
    """Of a file with what an object holds."""

    SAME = auto()
    OTHER_LINE_ENDS = auto()
    NONE = auto()


def likeness(directory: str, path: str, name: str) -> Likeness:
    """Of the regular file at this path with the object: a checkout may have given it the line ends of Windows."""
    try:
        with opened_below(directory, path) as handle:
            size = os.fstat(handle).st_size
            if blob_name(_pieces(handle, size), size, name) == name:
                return Likeness.SAME
            shorter = sum(map(len, _without_returns(_pieces(handle, size))))
            is_converted = shorter < size and blob_name(_without_returns(_pieces(handle, size)), shorter, name) == name
            return Likeness.OTHER_LINE_ENDS if is_converted else Likeness.NONE
    except OSError:
        return Likeness.NONE


def blob_name(pieces: Iterable[bytes], size: int, like: str) -> str:
    """What git calls this content, with whichever hash the repository uses."""
    algorithm = hashlib.sha256 if len(like) == _SHA256_DIGITS else hashlib.sha1
    digest = algorithm(b"blob %d\0" % size, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _pieces(handle: int, size: int) -> Iterator[bytes]:
    """No more than so many bytes, however much is written to the file meanwhile."""
    at = 0
    while at < size and (piece := os.pread(handle, min(_PIECE_BYTES, size - at), at)):
        at += len(piece)
        yield piece


def _without_returns(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """With the line ends git keeps; the two bytes of one may lie in two pieces."""
    held = b""
    for piece in pieces:
        whole = held + piece
        held = whole[-1:] if whole.endswith(b"\r") else b""
        yield whole[: len(whole) - len(held)].replace(b"\r\n", b"\n")
    yield held
