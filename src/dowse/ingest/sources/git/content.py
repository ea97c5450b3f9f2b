"""Whether a file holds what an object of git does: hashed here and in pieces, because git would run filters for it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator

from dowse.ingest.sources.regular_file import opened_below

_PIECE_BYTES = 1 << 20
_SHA256_DIGITS = 64


def holds(directory: str, path: str, name: str) -> bool:
    """Whether a checkout made the regular file at this path of the object: as it is, or with other line ends."""
    try:
        with opened_below(directory, path) as handle:
            size = os.fstat(handle).st_size
            if blob_name(_pieces(handle, size), size, name) == name:
                return True
            shorter = sum(map(len, _without_returns(_pieces(handle, size))))
            return shorter < size and blob_name(_without_returns(_pieces(handle, size)), shorter, name) == name
    except OSError:
        return False


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
