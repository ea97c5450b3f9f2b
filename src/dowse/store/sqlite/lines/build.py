"""Texts become a segment, in bounded memory: words are sorted shard by shard, the shards merged word by word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array, begins, distinct, lengths
from dowse.store.sqlite.lines.column import Column
from dowse.store.sqlite.lines.merge import Merger, Shard
from dowse.store.sqlite.lines.segment import FileName, Segment
from dowse.store.sqlite.lines.tokens import Vocabulary, tokens

_CHUNK_BYTES = 1 << 18  # tokenised at a time: what is between the steps stays in the processor's cache
_SHARD_BYTES = 1 << 25
_LINE_BITS = np.uint64(32)
_LINE_MASK = np.uint64((1 << 32) - 1)


class TextFile(NamedTuple):
    """A file on its way into a segment, its text as UTF-8."""

    record: int
    name: FileName
    text: bytes


def normal(text: bytes) -> bytes:
    """Lines that each end with one line feed."""
    text = text.replace(b"\r\n", b"\n")
    return text if text.endswith(b"\n") or not text else text.removesuffix(b"\r") + b"\n"


@dataclass(slots=True)
class Builder:
    """Takes files in the order of their names; hands the text on as it comes, and keeps the rest."""

    write: Callable[[bytes], object]
    _vocabulary: Vocabulary = field(default_factory=Vocabulary)
    _records: list[int] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _file_lines: list[int] = field(default_factory=list)
    _file_words: list[NDArray[np.int64]] = field(default_factory=list)
    _line_starts: list[Array] = field(default_factory=list)
    _worded: list[Array] = field(default_factory=list)
    _shards: list[Shard] = field(default_factory=list)
    _word_files: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # Of the shard that is being filled: postings as word << 32 | line, the lines of its files, its first line.
    _keys: list[NDArray[np.uint64]] = field(default_factory=list)
    _shard_files: list[int] = field(default_factory=list)
    _shard_begin: int = 0
    _shard_bytes: int = 0
    _lines: int = 0
    _bytes: int = 0

    def add(self, files: Iterable[TextFile]) -> None:
        chunk: list[bytes] = []
        for file in files:
            text = normal(file.text)
            self._records.append(file.record)
            self._names += (file.name.path, file.name.collection)
            self._shard_files.append(text.count(b"\n"))
            chunk.append(text)
            if sum(map(len, chunk)) >= _CHUNK_BYTES or len(chunk) >= 1_000:
                self._take(chunk)
                chunk = []
        self._take(chunk)
        self._end_shard()

    def _take(self, chunk: list[bytes]) -> None:
        text = b"".join(chunk)
        self.write(text)
        found = tokens(text, self._vocabulary)
        self._count_words(chunk, found.lines)
        self._keys.append(_sorted_once((found.numbers << _LINE_BITS) | (found.lines + self._lines).astype(np.uint64)))
        worded = np.zeros(len(found.starts), dtype=np.bool_)
        worded[found.lines] = True
        self._worded.append((np.flatnonzero(worded) + self._lines).astype(np.uint32))
        self._line_starts.append(found.starts + self._bytes)
        self._lines += len(found.starts)
        self._bytes += len(text)
        self._shard_bytes += len(text)
        if self._shard_bytes >= _SHARD_BYTES:
            self._end_shard()

    def _count_words(self, chunk: list[bytes], lines: NDArray[np.int64]) -> None:
        heights = np.array([text.count(b"\n") for text in chunk], dtype=np.int64)
        files = np.repeat(np.arange(len(chunk)), heights)
        self._file_words.append(np.bincount(files[lines], minlength=len(chunk)))

    def _end_shard(self) -> None:
        """Sort what was gathered by word and line."""
        heights = np.array(self._shard_files, dtype=np.int64)
        self._file_lines += heights.tolist()
        keys = np.concatenate([*self._keys, np.zeros(0, dtype=np.uint64)])
        keys.sort()
        words = (keys >> _LINE_BITS).astype(np.int64)
        lines = (keys & _LINE_MASK).astype(np.uint32)
        starts = begins(words)
        self._shards.append(Shard(words[starts], lengths(starts, len(words)), lines))
        self._count_files(words, lines - np.uint32(self._shard_begin), heights)
        self._keys, self._shard_files, self._shard_begin, self._shard_bytes = [], [], self._lines, 0

    def _count_files(self, words: NDArray[np.int64], lines: NDArray[np.uint32], heights: NDArray[np.int64]) -> None:
        """In how many files each word stands: files never lie in two shards."""
        files = np.repeat(np.arange(len(heights)), heights)[lines]
        # Ascending by word, and for each word by file.
        more = np.bincount(words[begins(words * len(heights) + files)], minlength=len(self._vocabulary))
        more[: len(self._word_files)] += self._word_files
        self._word_files = more

    def finished(self) -> Finished:
        """Everything but the text; the builder is used up by it."""
        merger = Merger.of(self._vocabulary, self._shards)
        starts = np.uint32 if self._bytes < 1 << 32 else np.int64
        arrays: dict[str, Array] = {
            "records": np.array(self._records, dtype=np.int64),
            "file_lines": np.concatenate([[0], np.cumsum(self._file_lines)]).astype(np.uint32),
            "file_words": np.concatenate([*self._file_words, np.zeros(0)]).astype(np.uint32),
            "names": np.frombuffer("\0".join(self._names).encode("utf-8", "surrogatepass"), dtype=np.uint8),
            "vocabulary": np.frombuffer(b"\n".join([b"", *merger.words, b""]), dtype=np.uint8),
            "word_starts": merger.word_starts().astype(np.uint32),
            "word_postings": np.concatenate([[0], np.cumsum(merger.totals)]),
            "word_files": self._word_files[merger.order].astype(np.uint32),
        }
        columns: dict[str, Iterator[Array]] = {
            "line_starts": (part.astype(starts) for part in (*self._line_starts, np.array([self._bytes]))),
            "worded": iter((*self._worded, np.zeros(0, dtype=np.uint32))),
            "postings": merger.postings(),
        }
        return Finished(columns, arrays)


def _sorted_once(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys.sort()
    return distinct(keys)


class Finished(NamedTuple):
    """The long arrays in parts, and the others."""

    columns: Mapping[str, Iterator[Array]]
    arrays: Mapping[str, Array]


def in_memory(files: Iterable[TextFile]) -> Segment:
    """A segment of few files."""
    parts: list[bytes] = []
    builder = Builder(parts.append)
    builder.add(sorted(files, key=lambda it: it.name))
    columns, arrays = builder.finished()
    text = Column(np.frombuffer(b"".join(parts), dtype=np.uint8))
    return Segment({"text": text} | {name: Column(np.concatenate(list(it))) for name, it in columns.items()}, arrays)
