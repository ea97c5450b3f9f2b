"""A block of vectors in a file beside the index: mapped instead of read, made from the table, never changed."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from dowse.store.sqlite.vectors.changes import Position
from dowse.store.sqlite.vectors.coded import Block, parts_of
from dowse.store.sqlite.vectors.turning import height_of

_MAGIC = b"DOWSEVEC"
_FORMAT = 2  # raise it with any change of the layout or of the bits: other files are made anew
_HEADER = struct.Struct("<8sIIQqqII")  # of all formats, so that one of another version is told from a damaged one
_ROWS_AT = 4_096


class _Header(NamedTuple):
    magic: bytes
    layout: int
    dimension: int
    vectors: int
    epoch: int
    token: int
    checksum: int  # of keys, codes and lengths; rows are checked by their lengths when they are found
    seal: int = 0  # checksum of the fields above

    def sealed(self) -> _Header:
        return self._replace(seal=zlib.crc32(_HEADER.pack(*self._replace(seal=0))))

    @property
    def sound(self) -> bool:
        return self == self.sealed() and self.magic == _MAGIC

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Bytes of rows, keys, codes and lengths, in the order of the file."""
        rows = self.vectors * self.dimension * 2
        return rows + -rows % 8, self.vectors * 8, height_of(self.dimension) * self.vectors * 8, self.vectors * 4


@dataclass(frozen=True, slots=True)
class Sidecar:
    block: Block
    position: Position


def opened(path: Path) -> Sidecar | None:
    """The sidecar at this path; None if there is none, or it is not whole, or of another version."""
    try:
        with open(path, "rb") as file:
            return _mapped(file)
    except OSError:
        return None


def is_of_another_version(path: Path) -> bool:
    """Whether the file is one that an older or newer version made, and nothing to worry about."""
    try:
        with open(path, "rb") as file:
            header = _header_of(file)
    except OSError:
        return False
    return header is not None and header.layout != _FORMAT


def _header_of(file: BinaryIO) -> _Header | None:
    start = file.read(_HEADER.size)
    if len(start) < _HEADER.size:
        return None
    header = _Header(*_HEADER.unpack(start))
    return header if header.sound else None


def _mapped(file: BinaryIO) -> Sidecar | None:
    header = _header_of(file)
    if header is None or header.layout != _FORMAT:
        return None
    rows, keys, codes, _ = header.sizes
    if os.fstat(file.fileno()).st_size != _ROWS_AT + sum(header.sizes):
        return None
    view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if zlib.crc32(view[_ROWS_AT + rows :]) != header.checksum:
        return None
    count, words = header.vectors, height_of(header.dimension)
    keys_at = _ROWS_AT + rows
    block = Block(
        keys=np.frombuffer(view, np.int64, count, keys_at),
        lengths=np.frombuffer(view, np.float32, count, keys_at + keys + codes),
        codes=np.frombuffer(view, np.uint64, count * words, keys_at + keys).reshape(words, count),
        rows=np.frombuffer(view, np.float16, count * header.dimension, _ROWS_AT).reshape(count, header.dimension),
    )
    return Sidecar(block, Position(header.epoch, header.token))


def write(path: Path, rows: Iterator[tuple[int, bytes]], position: Position) -> None:
    """Put a new sidecar at this path, whole or not at all; one process at a time may do so."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write(file, rows, position)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write(file: BinaryIO, rows: Iterator[tuple[int, bytes]], position: Position) -> None:
    """Rows as they come; the small arrays are gathered and follow, the header comes last."""
    file.seek(_ROWS_AT)
    keys, codes, lengths, dimension = [], [], [], 0
    for part in parts_of(rows):
        file.write(part.rows.tobytes())
        keys.append(part.keys)
        codes.append(part.codes)
        lengths.append(part.lengths)
        dimension = part.rows.shape[1]
    file.write(bytes(-file.tell() % 8))
    checksum = 0
    for content in (np.concatenate(keys), np.concatenate(codes, axis=1), np.concatenate(lengths)):
        checksum = zlib.crc32(content.tobytes(), checksum)
        file.write(content.tobytes())
    header = _Header(_MAGIC, _FORMAT, dimension, sum(map(len, keys)), *position, checksum)
    file.seek(0)
    file.write(_HEADER.pack(*header.sealed()))
