"""The files of the line index and the state read from them."""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.line_log import LINE_HEADER_BYTES, LineHeader, TextLogPosition
from dowse.store.sqlite.line_segment import (
    SEGMENT_ARRAYS,
    SEGMENT_COLUMNS,
    Array,
    BlockChecksums,
    Column,
    Segment,
    SegmentBuilder,
    TextFile,
    Vocabulary,
    build_segment,
    tokenize,
)

_TINY_SEGMENT_BYTES = 20_000  # bytes: smaller segments are not worth keeping apart


@dataclass(frozen=True)
class LiveSegment:
    """A segment and its current files: those that are `alive`, or all of them."""

    segment: Segment
    alive: NDArray[np.bool_] | None = None
    files_with: NDArray[np.uint32] | None = None  # files per word, if it differs from the segment's
    new_words: frozenset[bytes] = frozenset()  # words that the very first segment lacks

    @cached_property
    def files(self) -> int:
        return self.segment.files if self.alive is None else int(np.count_nonzero(self.alive))

    @property
    def word_files(self) -> NDArray[np.uint32]:
        """Return the number of current files with each word."""
        return self.segment.word_files if self.files_with is None else self.files_with

    def without_records(self, records: NDArray[np.int64]) -> LiveSegment:
        """Return the segment without the files of these records."""
        segment = self.segment
        gone = [int(it) for it in segment.files_of(records) if self.alive is None or self.alive[it]]
        if not gone:
            return self
        alive = np.ones(segment.files, dtype=np.bool_) if self.alive is None else self.alive.copy()
        alive[gone] = False
        files_with = self.word_files.copy()
        for file in gone:
            files_with[_file_words(segment, file)] -= 1
        return LiveSegment(segment, alive, files_with, self.new_words)

    def lines_between(self, file: int, first: int, last: int) -> tuple[str, ...]:
        begin, end = self.segment.file_lines[file : file + 2].tolist()
        low, high = begin + max(first, 1) - 1, min(begin + last, end)
        if low >= high:
            return ()
        text = bytes(self.segment.content(low, high)).decode("utf-8", "replace")
        return tuple(text.removesuffix("\n").split("\n"))

    def live_files(self) -> Iterator[TextFile]:
        """Yield the current files, to be put into another segment."""
        segment = self.segment
        for file in range(segment.files):
            if self.alive is None or self.alive[file]:
                text = segment.content(*segment.file_lines[file : file + 2].tolist())
                yield TextFile(int(segment.records[file]), segment.name(file), bytes(text))


def _file_words(segment: Segment, file: int) -> list[int]:
    first, after = segment.file_lines[file : file + 2].tolist()
    vocabulary = Vocabulary()
    tokenize(bytes(segment.content(first, after)), vocabulary)
    places = map(segment.place_of, vocabulary)
    return [place for place in places if place is not None]


@dataclass(frozen=True)
class LineIndexState:
    """Segments from large to small. Immutable, so that running queries can keep using it."""

    parts: tuple[LiveSegment, ...]
    position: TextLogPosition

    @classmethod
    def of(cls, segment: Segment, position: TextLogPosition) -> LineIndexState:
        return cls((LiveSegment(segment),), position)

    @cached_property
    def files(self) -> int:
        return sum(part.files for part in self.parts)

    @cached_property
    def words(self) -> int:
        """Return the number of distinct words; words of deleted files count until their segment is rebuilt."""
        return self.parts[0].segment.words + len(frozenset().union(*(part.new_words for part in self.parts)))

    def lines_between(self, record: int, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """Return lines of a record's file; spans are first and last line, from 1."""
        for part in self.parts:
            for file in part.segment.files_of(np.array([record])).tolist():
                if part.alive is None or part.alive[file]:
                    return [part.lines_between(file, *span) for span in spans]
        return [()] * len(spans)

    def with_changes(
        self, records: Sequence[int], texts: Iterable[TextFile], position: TextLogPosition
    ) -> LineIndexState:
        """Return the state after these records changed; those without a text are gone."""
        if not records:
            return LineIndexState(self.parts, position)
        gone = np.array(records, dtype=np.int64)
        parts = [part.without_records(gone) for part in self.parts]
        new = list(texts)
        if new:
            segment = build_segment(new)
            parts.append(LiveSegment(segment, new_words=_new_words(segment, self.parts[0].segment)))
        return LineIndexState(tuple(_merge_small(parts)), position)


def _new_words(segment: Segment, first: Segment) -> frozenset[bytes]:
    words = map(segment.word, range(segment.words))
    return frozenset(word for word in words if first.place_of(word) is None)


def _merge_small(parts: list[LiveSegment]) -> list[LiveSegment]:
    """Merge small segments early, so that each text is copied only a few times, however many follow."""
    first, *others = parts
    while len(others) > 1 and others[-2].segment.text_bytes < 2 * others[-1].segment.text_bytes + _TINY_SEGMENT_BYTES:
        last, before = others.pop(), others.pop()
        others.append(
            LiveSegment(
                build_segment([*before.live_files(), *last.live_files()]), new_words=before.new_words | last.new_words
            )
        )
    return [first, *(part for part in others if part.files)]


# --------------------------------------------------------------------------------------------------
# A segment in a file beside the index: built from the texts, mapped into memory, never changed.

_ALIGNMENT = 64
_ENTRY_STRUCT = struct.Struct("<QQ4sI")
_DTYPES = {b"u1": np.uint8, b"u4": np.uint32, b"i8": np.int64}


class _ArrayEntry(NamedTuple):
    """Offset, length, type and checksum of an array; a column's checksums are an array of their own."""

    at: int
    length: int
    type: bytes
    checksum: int


@dataclass(frozen=True, slots=True)
class LineSidecar:
    segment: Segment
    position: TextLogPosition


# --- reading ---


def open_line_sidecar(path: Path) -> LineSidecar | None:
    """Map the sidecar at this path; None if it is missing or incomplete."""
    try:
        with open(path, "rb") as file:
            header = LineHeader.read(file)
            if header is None or os.fstat(file.fileno()).st_size != header.size:
                return None
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):
        return None
    return _map_segment(view, header)


def _map_segment(view: memoryview, header: LineHeader) -> LineSidecar | None:
    table = view[header.table_at :]
    if zlib.crc32(table) != header.table_checksum or len(table) != _ENTRY_STRUCT.size * _ENTRY_COUNT:
        return None
    rows = [_parse_entry(fields) for fields in _ENTRY_STRUCT.iter_unpack(table)]
    columns = dict(zip(SEGMENT_COLUMNS, zip(rows[::2], rows[1::2], strict=False), strict=False))
    arrays = dict(zip(SEGMENT_ARRAYS, rows[2 * len(SEGMENT_COLUMNS) :], strict=True))
    sums = {name: _map_array(view, row) for name, (_, row) in columns.items()}
    found = {name: _map_array(view, row) for name, row in arrays.items()}
    checked = [*((sums[name], row) for name, (_, row) in columns.items()), *((found[it], arrays[it]) for it in arrays)]
    if any(zlib.crc32(content.data) != row.checksum for content, row in checked):
        return None
    mapped = {name: Column(_map_array(view, row), sums[name]) for name, (row, _) in columns.items()}
    return LineSidecar(Segment(mapped, found), header.position)


_ENTRY_COUNT = 2 * len(SEGMENT_COLUMNS) + len(SEGMENT_ARRAYS)


def _parse_entry(fields: tuple[int, int, bytes, int]) -> _ArrayEntry:
    at, count, kind, checksum = fields
    return _ArrayEntry(at, count, kind.rstrip(b"\0"), checksum)


def _map_array(view: memoryview, row: _ArrayEntry) -> Array:
    return np.frombuffer(view, _DTYPES[row.type], row.length, row.at)


# --- writing ---


def write_line_sidecar(path: Path, files: Iterable[TextFile], position: TextLogPosition) -> None:
    """Write a new sidecar atomically; only one process at a time may do so."""
    unfinished = path.with_name(f"{path.name}.new")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write_segment(file, files, position)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _write_segment(file: BinaryIO, files: Iterable[TextFile], position: TextLogPosition) -> None:
    """Write the text as it arrives, then the arrays built from it, and the header last."""
    file.seek(LINE_HEADER_BYTES)
    text = _ColumnWriter(file)
    builder = SegmentBuilder(text.add)
    builder.add(files)
    columns, arrays = builder.finish()
    rows = list(text.rows("u1"))
    for name in SEGMENT_COLUMNS[1:]:
        rows += _write_column(file, columns[name])
    for name in SEGMENT_ARRAYS:
        rows.append(_write_array(file, arrays[name]))
    table = b"".join(_ENTRY_STRUCT.pack(*row) for row in rows)
    at = file.tell()
    file.write(table)
    header = LineHeader.of(
        position, size=file.tell(), table_at=at, table_checksum=zlib.crc32(table), text_bytes=text.count
    )
    file.seek(0)
    file.write(header.pack())


class _ColumnWriter:
    """A column being written, followed by its checksums."""

    def __init__(self, file: BinaryIO) -> None:
        _align(file)
        self._file = file
        self._at = file.tell()
        self._sums = BlockChecksums()
        self.count = 0  # bytes

    def add(self, content: bytes | memoryview) -> None:
        self._file.write(content)
        self._sums.add(content)
        self.count += len(content)

    def rows(self, kind: str) -> Iterator[_ArrayEntry]:
        yield _ArrayEntry(self._at, self.count // np.dtype(kind).itemsize, kind.encode(), 0)
        yield _write_array(self._file, self._sums.values())


def _write_column(file: BinaryIO, parts: Iterator[Array]) -> Iterator[_ArrayEntry]:
    writing = _ColumnWriter(file)
    kind = "u4"
    for part in parts:
        kind = part.dtype.str[1:]
        writing.add(part.tobytes())
    return writing.rows(kind)


def _write_array(file: BinaryIO, values: Array) -> _ArrayEntry:
    _align(file)
    at, content = file.tell(), values.tobytes()
    file.write(content)
    return _ArrayEntry(at, len(values), values.dtype.str[1:].encode(), zlib.crc32(content))


def _align(file: BinaryIO) -> None:
    file.write(bytes(-file.tell() % _ALIGNMENT))
