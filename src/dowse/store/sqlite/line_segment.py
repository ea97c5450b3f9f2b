"""Segments of the line index: tokens, posting lists, columns, merges."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dowse.errors import DowseError
from dowse.text.tokenize import folded_words

# --------------------------------------------------------------------------------------------------
# Array helpers that numpy lacks or does several times slower.

Array = NDArray[Any]
IntArray = NDArray[np.int64]
Ordered = TypeVar("Ordered", bound=np.generic)


def run_starts(ascending: Array) -> IntArray:
    """Return the positions at which a new value begins."""
    changes = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=changes[1:])
    return np.flatnonzero(changes)


def distinct(ascending: NDArray[Ordered]) -> NDArray[Ordered]:
    """Return each value once."""
    return ascending[run_starts(ascending)]


def run_lengths(starts: IntArray, end: int) -> IntArray:
    """Return the lengths of runs with these starts; the last one stops at `end`."""
    result = np.empty(len(starts), dtype=np.int64)
    np.subtract(starts[1:], starts[:-1], out=result[:-1])
    result[-1:] = end - starts[-1:]
    return result


def expand_runs(starts: IntArray, counts: IntArray) -> IntArray:
    """Return the positions of all elements of runs with these starts and lengths."""
    shifts = starts - (np.cumsum(counts) - counts)
    result: IntArray = np.repeat(shifts, counts) + np.arange(int(counts.sum()))
    return result


def is_among(values: Array, ascending: Array) -> NDArray[np.bool_]:
    """Return whether each wanted value occurs in `ascending`; the cost grows with the first array, not the second."""
    if not len(ascending):
        return np.zeros(len(values), dtype=np.bool_)
    places = np.searchsorted(ascending, values)
    places[places == len(ascending)] = 0
    result: NDArray[np.bool_] = ascending[places] == values
    return result


def has_between(ascending: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Return whether a value lies between each pair of bounds, inclusive."""
    places = np.searchsorted(ascending, low)
    within = places < len(ascending)
    result: NDArray[np.bool_] = within & (ascending[np.where(within, places, 0)] <= high)
    return result


# --------------------------------------------------------------------------------------------------
# A long array that may be mapped from a file; each block is verified when first accessed.

BLOCK_BYTES = 1 << 20


class LineIndexDamaged(DowseError):
    """The line index differs from what was written."""


class Column:
    """`sums` are the checksums of the blocks; an array in memory has none and is not verified."""

    __slots__ = ("_block", "_sums", "_unverified", "values")

    def __init__(self, values: Array, sums: NDArray[np.uint32] | None = None) -> None:
        self.values = values
        self._sums = sums
        self._block = BLOCK_BYTES // values.itemsize
        self._unverified = None if sums is None else np.ones(len(sums), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, end: int) -> Array:
        self._verify(start, end)
        return self.values[start:end]

    def at(self, places: Array) -> Array:
        """Return the values at these positions, which must be ascending."""
        if len(places):
            self._verify(int(places[0]), int(places[-1]) + 1)
        return self.values[places]

    def load(self) -> Array:
        return self.slice(0, len(self.values))

    def _verify(self, start: int, end: int) -> None:
        if self._unverified is None or self._sums is None or end <= start:
            return
        blocks = slice(start // self._block, -(-end // self._block))
        if not self._unverified[blocks].any():
            return
        for block in range(blocks.start, blocks.stop):
            if self._unverified[block]:
                content = self.values[block * self._block : (block + 1) * self._block]
                if zlib.crc32(content.data) != self._sums[block]:
                    raise LineIndexDamaged("a block of the line index does not match its checksum")
                self._unverified[block] = False


class BlockChecksums:
    """Checksums of the blocks of a stream."""

    def __init__(self) -> None:
        self._sums: list[int] = []
        self._filled = BLOCK_BYTES

    def add(self, content: bytes | memoryview) -> None:
        at = 0
        while at < len(content):
            if self._filled == BLOCK_BYTES:
                self._sums.append(0)
                self._filled = 0
            part = content[at : at + BLOCK_BYTES - self._filled]
            self._sums[-1] = zlib.crc32(part, self._sums[-1])
            self._filled += len(part)
            at += len(part)

    def values(self) -> NDArray[np.uint32]:
        return np.array(self._sums, dtype=np.uint32)


Positions = NDArray[np.int64]


class SegmentFileName(NamedTuple):
    path: str
    collection: str


SEGMENT_COLUMNS = (
    "text",  # bytes: all texts as UTF-8, each line with its line feed
    "line_starts",  # offset of each line in the text, and the end of the last
    "worded",  # lines that contain a word
    "postings",  # lines of each word, ascending, word by word
)
SEGMENT_ARRAYS = (
    "records",  # record key of each file
    "file_lines",  # first line of each file, and the line after the last
    "file_words",  # number of words in each file
    "names",  # bytes: path and collection of each file, in file order
    "vocabulary",  # bytes: all words sorted, a line feed before and after each
    "word_starts",  # offset of each word in the vocabulary, and the length of the vocabulary
    "word_postings",  # offset of each word's postings, and the end of the last
    "word_files",  # number of files each word occurs in
)


@dataclass(frozen=True)
class Segment:
    """Files are ordered by path; lines are numbered across all files, from 0."""

    columns: Mapping[str, Column]
    arrays: Mapping[str, Array]

    # --- files ---

    @cached_property
    def records(self) -> Positions:
        return self.arrays["records"]

    @cached_property
    def file_lines(self) -> NDArray[np.uint32]:
        return self.arrays["file_lines"]

    @cached_property
    def file_words(self) -> NDArray[np.uint32]:
        return self.arrays["file_words"]

    @cached_property
    def _names(self) -> list[str]:
        return self.arrays["names"].tobytes().decode("utf-8", "surrogatepass").split("\0")

    @property
    def files(self) -> int:
        return len(self.records)

    @property
    def text_bytes(self) -> int:
        return len(self.text)

    def name(self, file: int) -> SegmentFileName:
        return SegmentFileName(self._names[2 * file], self._names[2 * file + 1])

    @cached_property
    def _by_record(self) -> Positions:
        return np.argsort(self.records)

    def files_of(self, records: Positions) -> Positions:
        """Return the files of these records, in any order."""
        ordered = self.records[self._by_record]
        places = np.searchsorted(ordered, records)
        places, records = places[places < len(ordered)], records[places < len(ordered)]
        found: Positions = self._by_record[places[ordered[places] == records]]
        return found

    def files_at(self, lines: Array) -> Positions:
        """Return the file of each line; an empty file shares its first line with the next file."""
        return np.searchsorted(self.file_lines, lines, side="right") - 1

    # --- lines ---

    @cached_property
    def text(self) -> Column:
        return self.columns["text"]

    @cached_property
    def line_starts(self) -> Column:
        return self.columns["line_starts"]

    @cached_property
    def lines_with_words(self) -> Column:
        return self.columns["worded"]

    @cached_property
    def postings(self) -> Column:
        return self.columns["postings"]

    def content(self, first: int, after: int) -> memoryview:
        """Return the text of consecutive lines, with their line feeds."""
        starts = self.line_starts
        start, end = int(starts.slice(first, first + 1)[0]), int(starts.slice(after, after + 1)[0])
        return self.text.slice(start, end).data

    def offsets(self, lines: Positions) -> Positions:
        """Return the offsets of these lines, which must be ascending."""
        return self.line_starts.at(lines).astype(np.int64)

    def contents(self, firsts: Positions, afters: Positions) -> list[str]:
        """Return the texts of several ranges of lines, ascending in both ends."""
        if not len(firsts):
            return []
        starts, ends = self.offsets(firsts), self.offsets(afters)
        shift = int(starts[0])
        view = self.text.slice(shift, int(ends[-1])).data
        spans = zip((starts - shift).tolist(), (ends - shift).tolist(), strict=True)
        return [str(view[start:end], "utf-8", "replace") for start, end in spans]

    # --- words ---

    @cached_property
    def vocabulary(self) -> bytes:
        return self.arrays["vocabulary"].tobytes()

    @cached_property
    def word_starts(self) -> NDArray[np.uint32]:
        return self.arrays["word_starts"]

    @cached_property
    def word_postings(self) -> Positions:
        return self.arrays["word_postings"]

    @cached_property
    def word_files(self) -> NDArray[np.uint32]:
        return self.arrays["word_files"]

    @property
    def words(self) -> int:
        return len(self.word_files)

    @cached_property
    def _starts(self) -> memoryview:
        """The same as a memoryview, which returns single values several times faster than an array."""
        return self.word_starts.data

    def word(self, place: int) -> bytes:
        return self.vocabulary[self._starts[place] : self._starts[place + 1] - 1]

    def place_of(self, word: bytes) -> int | None:
        place = bisect_left(range(self.words), word, key=self.word)
        return place if place < self.words and self.word(place) == word else None

    def lines_of(self, place: int) -> NDArray[np.uint32]:
        """Return the lines of one word."""
        return self.postings.slice(int(self.word_postings[place]), int(self.word_postings[place + 1]))


# --------------------------------------------------------------------------------------------------
# Tokenizes large texts: ASCII is split as bytes, only lines with other characters are decoded.

_LINE_FEED = 10
_BLANK = b" "


def _fold_table() -> bytes:
    """Return a translation table: lower-case letters, and blanks for everything that is not part of a word."""
    letters = (chr(code).lower() if chr(code).isalnum() or code == ord("_") else " " for code in range(128))
    return "".join(letters).encode() + _BLANK * 128


_FOLD_TABLE = _fold_table()


class Vocabulary(dict[bytes, int]):
    """Numbers words in order of first use."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Tokens:
    """Number and line of every word in a text, and the start of each line."""

    numbers: NDArray[np.uint64]
    lines: NDArray[np.int64]
    starts: NDArray[np.int64]


def tokenize(text: bytes, vocabulary: Vocabulary) -> Tokens:
    """Tokenize a text in which each line ends with a line feed."""
    content = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(content == _LINE_FEED)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    plain, others = (text, ends[:0]) if text.isascii() else _blank_non_ascii_lines(text, content, starts, ends)
    numbers, lines = _ascii_tokens(plain, ends, vocabulary)
    if len(others):
        more = [_unicode_tokens(text[starts[line] : ends[line]], int(line), vocabulary) for line in others]
        numbers = np.concatenate([numbers, *(it[0] for it in more)])
        lines = np.concatenate([lines, *(it[1] for it in more)])
    return Tokens(numbers, lines, starts)


def _ascii_tokens(
    text: bytes, ends: NDArray[np.int64], vocabulary: Vocabulary
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    blanked = _BLANK + text.translate(_FOLD_TABLE)
    found = blanked.split()
    numbers = np.fromiter(map(vocabulary.__getitem__, found), dtype=np.uint64, count=len(found))
    inside = np.frombuffer(blanked, dtype=np.uint8) != _BLANK[0]
    # The text ends with a line feed, so starts and ends of words alternate. The blank in front shifts positions by one.
    begins = np.flatnonzero(inside[1:] != inside[:-1])[::2]
    return numbers, np.searchsorted(ends, begins)


def _blank_non_ascii_lines(
    text: bytes, content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[bytes, NDArray[np.int64]]:
    """Return the text with non-ASCII lines blanked, and the numbers of these lines."""
    others = distinct(np.searchsorted(ends, np.flatnonzero(content > 127)))
    blanked = bytearray(text)
    for start, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
        blanked[start:end] = _BLANK * (end - start)
    return bytes(blanked), others


def _unicode_tokens(content: bytes, line: int, vocabulary: Vocabulary) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    found = [word.encode() for word in folded_words(content.decode("utf-8", "replace"))]
    numbers = np.fromiter(map(vocabulary.__getitem__, found), dtype=np.uint64, count=len(found))
    return numbers, np.full(len(found), line)


# --------------------------------------------------------------------------------------------------
# Merges the sorted postings of shards word by word; later shards have later lines.

_POSTINGS_PER_MERGE = 1 << 22  # postings


@dataclass(frozen=True, slots=True)
class PostingShard:
    """The postings of some files: the line count of each word, then the lines, word by word."""

    words: IntArray
    counts: IntArray
    lines: NDArray[np.uint32]

    def renumber(self, ranks: IntArray) -> PostingShard:
        """Return the shard with new word numbers, again ascending."""
        words = ranks[self.words]
        order = np.argsort(words)
        begins = np.cumsum(self.counts) - self.counts
        return PostingShard(
            words[order], self.counts[order], self.lines[expand_runs(begins[order], self.counts[order])]
        )


@dataclass(frozen=True, slots=True)
class PostingMerger:
    """Words in alphabetical order, with their former numbers (`order`) and posting counts (`totals`)."""

    words: list[bytes]
    order: IntArray
    totals: IntArray
    shards: list[PostingShard]

    @classmethod
    def of(cls, vocabulary: Vocabulary, shards: list[PostingShard]) -> PostingMerger:
        """Build the merger; empties both arguments, because memory does not suffice for two copies."""
        words = sorted(vocabulary)
        order = np.fromiter(map(vocabulary.__getitem__, words), dtype=np.int64, count=len(words))
        vocabulary.clear()
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        ordered = []
        while shards:
            ordered.append(shards.pop(0).renumber(ranks))
        totals = np.zeros(len(words), dtype=np.int64)
        for shard in ordered:
            totals[shard.words] += shard.counts
        return cls(words, order, totals, ordered)

    def word_starts(self) -> IntArray:
        """Return where each word begins, with one separator byte before each and one at the end."""
        lengths = np.fromiter(map(len, self.words), dtype=np.int64, count=len(self.words))
        return np.cumsum(np.concatenate([[1], lengths + 1]))

    def postings(self) -> Iterator[NDArray[np.uint32]]:
        """Yield the merged postings, as many words at a time as fit."""
        ends = np.cumsum(self.totals)
        first, done = 0, 0
        while first < len(ends):
            after = max(first + 1, int(np.searchsorted(ends, done + _POSTINGS_PER_MERGE, side="right")))
            yield self._merge_words(first, after)
            first, done = after, int(ends[after - 1])
        yield np.zeros(0, dtype=np.uint32)

    def _merge_words(self, first: int, after: int) -> NDArray[np.uint32]:
        totals = self.totals[first:after]
        begins = np.cumsum(totals) - totals
        merged = np.empty(int(totals.sum()), dtype=np.uint32)
        for shard in self.shards:
            low, high = np.searchsorted(shard.words, [first, after])
            words, counts = shard.words[low:high] - first, shard.counts[low:high]
            at = int(shard.counts[:low].sum())
            merged[expand_runs(begins[words], counts)] = shard.lines[at : at + int(counts.sum())]
            begins[words] += counts
        return merged


# --------------------------------------------------------------------------------------------------
# Builds a segment from texts in bounded memory: postings are sorted in shards, which are merged word by word.

_BATCH_BYTES = 1 << 18  # tokenised at a time, so that intermediate arrays stay in the CPU cache
_SHARD_BYTES = 1 << 25
_LINE_BITS = np.uint64(32)
_LINE_MASK = np.uint64((1 << 32) - 1)


class TextFile(NamedTuple):
    """A file to add to a segment, with its text as UTF-8."""

    record: int
    name: SegmentFileName
    text: bytes


def normalize_line_ends(text: bytes) -> bytes:
    """Return the text with each line ended by one line feed."""
    text = text.replace(b"\r\n", b"\n")
    return text if text.endswith(b"\n") or not text else text.removesuffix(b"\r") + b"\n"


@dataclass(slots=True)
class SegmentBuilder:
    """Takes files in order of their names; passes their text on at once and accumulates the index."""

    write: Callable[[bytes], object]
    _vocabulary: Vocabulary = field(default_factory=Vocabulary)
    _records: list[int] = field(default_factory=list)
    _names: list[str] = field(default_factory=list)
    _file_lines: list[int] = field(default_factory=list)
    _file_words: list[NDArray[np.int64]] = field(default_factory=list)
    _line_starts: list[Array] = field(default_factory=list)
    _worded: list[Array] = field(default_factory=list)
    _shards: list[PostingShard] = field(default_factory=list)
    _word_files: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    # The current shard: postings as word << 32 | line, line counts of its files, its first line.
    _keys: list[NDArray[np.uint64]] = field(default_factory=list)
    _shard_files: list[int] = field(default_factory=list)
    _shard_begin: int = 0
    _shard_bytes: int = 0
    _lines: int = 0
    _bytes: int = 0

    def add(self, files: Iterable[TextFile]) -> None:
        batch: list[bytes] = []
        for file in files:
            text = normalize_line_ends(file.text)
            self._records.append(file.record)
            self._names += (file.name.path, file.name.collection)
            self._shard_files.append(text.count(b"\n"))
            batch.append(text)
            if sum(map(len, batch)) >= _BATCH_BYTES or len(batch) >= 1_000:
                self._add_batch(batch)
                batch = []
        self._add_batch(batch)
        self._end_shard()

    def _add_batch(self, batch: list[bytes]) -> None:
        text = b"".join(batch)
        self.write(text)
        found = tokenize(text, self._vocabulary)
        self._count_words(batch, found.lines)
        self._keys.append(_sort_unique((found.numbers << _LINE_BITS) | (found.lines + self._lines).astype(np.uint64)))
        worded = np.zeros(len(found.starts), dtype=np.bool_)
        worded[found.lines] = True
        self._worded.append((np.flatnonzero(worded) + self._lines).astype(np.uint32))
        self._line_starts.append(found.starts + self._bytes)
        self._lines += len(found.starts)
        self._bytes += len(text)
        self._shard_bytes += len(text)
        if self._shard_bytes >= _SHARD_BYTES:
            self._end_shard()

    def _count_words(self, batch: list[bytes], lines: NDArray[np.int64]) -> None:
        heights = np.array([text.count(b"\n") for text in batch], dtype=np.int64)
        files = np.repeat(np.arange(len(batch)), heights)
        self._file_words.append(np.bincount(files[lines], minlength=len(batch)))

    def _end_shard(self) -> None:
        """Sort the postings of the shard by word and line."""
        heights = np.array(self._shard_files, dtype=np.int64)
        self._file_lines += heights.tolist()
        keys = np.concatenate([*self._keys, np.zeros(0, dtype=np.uint64)])
        keys.sort()
        words = (keys >> _LINE_BITS).astype(np.int64)
        lines = (keys & _LINE_MASK).astype(np.uint32)
        starts = run_starts(words)
        self._shards.append(PostingShard(words[starts], run_lengths(starts, len(words)), lines))
        self._count_files(words, lines - np.uint32(self._shard_begin), heights)
        self._keys, self._shard_files, self._shard_begin, self._shard_bytes = [], [], self._lines, 0

    def _count_files(self, words: NDArray[np.int64], lines: NDArray[np.uint32], heights: NDArray[np.int64]) -> None:
        """Add the number of files each word occurs in; no file spans two shards."""
        files = np.repeat(np.arange(len(heights)), heights)[lines]
        # Ascending by word, then by file.
        more = np.bincount(words[run_starts(words * len(heights) + files)], minlength=len(self._vocabulary))
        more[: len(self._word_files)] += self._word_files
        self._word_files = more

    def finish(self) -> SegmentParts:
        """Return everything but the text; the builder cannot be used afterwards."""
        merger = PostingMerger.of(self._vocabulary, self._shards)
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
        return SegmentParts(columns, arrays)


def _sort_unique(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    keys.sort()
    return distinct(keys)


class SegmentParts(NamedTuple):
    """A segment without its text: columns as streams of parts, and the short arrays."""

    columns: Mapping[str, Iterator[Array]]
    arrays: Mapping[str, Array]


def build_segment(files: Iterable[TextFile]) -> Segment:
    """Build a segment of a few files."""
    parts: list[bytes] = []
    builder = SegmentBuilder(parts.append)
    builder.add(sorted(files, key=lambda it: it.name))
    columns, arrays = builder.finish()
    text = Column(np.frombuffer(b"".join(parts), dtype=np.uint8))
    return Segment({"text": text} | {name: Column(np.concatenate(list(it))) for name, it in columns.items()}, arrays)
