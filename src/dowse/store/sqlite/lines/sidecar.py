"""A segment in a file beside the index: mapped instead of read, made from the texts, never changed."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from dowse.store.sqlite.lines.arrays import Array
from dowse.store.sqlite.lines.build import Builder, TextFile
from dowse.store.sqlite.lines.changes import Position
from dowse.store.sqlite.lines.column import Column, Sums
from dowse.store.sqlite.lines.header import HEADER_BYTES, Header
from dowse.store.sqlite.lines.segment import ARRAYS, COLUMNS, Segment

_ALIGNMENT = 64
_TABLE_ROW = struct.Struct("<QQ4sI")
_TYPES = {b"u1": np.uint8, b"u4": np.uint32, b"i8": np.int64}


class _Row(NamedTuple):
    """Where an array lies, how long it is, what its values are, and its checksum; of a column, that of its sums."""

    at: int
    length: int
    type: bytes
    checksum: int


@dataclass(frozen=True, slots=True)
class Sidecar:
    segment: Segment
    position: Position


# --- reading ---


def opened(path: Path) -> Sidecar | None:
    """The sidecar at this path; None if there is none, or it is not whole."""
    try:
        with open(path, "rb") as file:
            header = Header.read(file)
            if header is None or os.fstat(file.fileno()).st_size != header.size:
                return None
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    return _read(view, header)


def _read(view: memoryview, header: Header) -> Sidecar | None:
    table = view[header.table_at :]
    if zlib.crc32(table) != header.table_checksum or len(table) != _TABLE_ROW.size * _ROWS:
        return None
    rows = [_row(fields) for fields in _TABLE_ROW.iter_unpack(table)]
    columns = dict(zip(COLUMNS, zip(rows[::2], rows[1::2], strict=False), strict=False))
    arrays = dict(zip(ARRAYS, rows[2 * len(COLUMNS) :], strict=True))
    sums = {name: _array(view, row) for name, (_, row) in columns.items()}
    found = {name: _array(view, row) for name, row in arrays.items()}
    checked = [*((sums[name], row) for name, (_, row) in columns.items()), *((found[it], arrays[it]) for it in arrays)]
    if any(zlib.crc32(content.data) != row.checksum for content, row in checked):
        return None
    mapped = {name: Column(_array(view, row), sums[name]) for name, (row, _) in columns.items()}
    return Sidecar(Segment(mapped, found), header.position)


_ROWS = 2 * len(COLUMNS) + len(ARRAYS)


def _row(fields: tuple[int, int, bytes, int]) -> _Row:
    at, count, kind, checksum = fields
    return _Row(at, count, kind.rstrip(b"\0"), checksum)


def _array(view: memoryview, row: _Row) -> Array:
    return np.frombuffer(view, _TYPES[row.type], row.length, row.at)


# --- writing ---


def write(path: Path, files: Iterable[TextFile], position: Position) -> None:
    """Put a new sidecar at this path, whole or not at all; one process at a time may do so."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write(file, files, position)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write(file: BinaryIO, files: Iterable[TextFile], position: Position) -> None:
    """The text as it comes, then what was gathered of it; the header comes last."""
    file.seek(HEADER_BYTES)
    text = _Writing(file)
    builder = Builder(text.add)
    builder.add(files)
    columns, arrays = builder.finished()
    rows = list(text.rows("u1"))
    for name in COLUMNS[1:]:
        rows += _written(file, columns[name])
    for name in ARRAYS:
        rows.append(_put(file, arrays[name]))
    table = b"".join(_TABLE_ROW.pack(*row) for row in rows)
    at = file.tell()
    file.write(table)
    header = Header.of(position, size=file.tell(), table_at=at, table_checksum=zlib.crc32(table), text_bytes=text.count)
    file.seek(0)
    file.write(header.packed())


class _Writing:
    """A column on its way into the file, followed by its checksums."""

    def __init__(self, file: BinaryIO) -> None:
        _align(file)
        self._file = file
        self._at = file.tell()
        self._sums = Sums()
        self.count = 0  # bytes

    def add(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        self._sums.add(content)
        self.count += len(content)

    def rows(self, kind: str) -> Iterator[_Row]:
        yield _Row(self._at, self.count // np.dtype(kind).itemsize, kind.encode(), 0)
        yield _put(self._file, self._sums.values())


def _written(file: BinaryIO, parts: Iterator[Array]) -> Iterator[_Row]:
    writing = _Writing(file)
    kind = "u4"
    for part in parts:
        kind = part.dtype.str[1:]
        writing.add(part.tobytes())
    return writing.rows(kind)


def _put(file: BinaryIO, values: Array) -> _Row:
    _align(file)
    at, content = file.tell(), values.tobytes()
    file.write(content)
    return _Row(at, len(values), values.dtype.str[1:].encode(), zlib.crc32(content))


def _align(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % _ALIGNMENT))
