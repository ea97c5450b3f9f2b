"""What a process knows of the lines at one moment: segments, and which of their files are still as they were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.build import TextFile, in_memory
from dowse.store.sqlite.lines.changes import Position
from dowse.store.sqlite.lines.segment import Segment
from dowse.store.sqlite.lines.tokens import Vocabulary, tokens

_TINY = 20_000  # bytes: of segments that are not worth keeping apart


@dataclass(frozen=True)
class Live:
    """A segment and the files of it that count: all of them, or those that are `alive`."""

    segment: Segment
    alive: NDArray[np.bool_] | None = None
    files_with: NDArray[np.uint32] | None = None  # of each word, where that differs from what the segment has
    beyond: frozenset[bytes] = frozenset()  # words that the first segment of all does not have

    @cached_property
    def files(self) -> int:
        return self.segment.files if self.alive is None else int(np.count_nonzero(self.alive))

    @property
    def word_files(self) -> NDArray[np.uint32]:
        """In how many files that count each word stands."""
        return self.segment.word_files if self.files_with is None else self.files_with

    def without(self, records: NDArray[np.int64]) -> Live:
        """The same, but for the files of these records."""
        segment = self.segment
        gone = [int(it) for it in segment.files_of(records) if self.alive is None or self.alive[it]]
        if not gone:
            return self
        alive = np.ones(segment.files, dtype=np.bool_) if self.alive is None else self.alive.copy()
        alive[gone] = False
        files_with = self.word_files.copy()
        for file in gone:
            files_with[_words_of(segment, file)] -= 1
        return Live(segment, alive, files_with, self.beyond)

    def lines_between(self, file: int, first: int, last: int) -> tuple[str, ...]:
        begin, end = self.segment.file_lines[file : file + 2].tolist()
        low, high = begin + max(first, 1) - 1, min(begin + last, end)
        if low >= high:
            return ()
        text = bytes(self.segment.content(low, high)).decode("utf-8", "replace")
        return tuple(text.removesuffix("\n").split("\n"))

    def living(self) -> Iterator[TextFile]:
        """The files that count, to be put into another segment."""
        segment = self.segment
        for file in range(segment.files):
            if self.alive is None or self.alive[file]:
                text = segment.content(*segment.file_lines[file : file + 2].tolist())
                yield TextFile(int(segment.records[file]), segment.name(file), bytes(text))


def _words_of(segment: Segment, file: int) -> list[int]:
    first, after = segment.file_lines[file : file + 2].tolist()
    vocabulary = Vocabulary()
    tokens(bytes(segment.content(first, after)), vocabulary)
    places = map(segment.place_of, vocabulary)
    return [place for place in places if place is not None]


@dataclass(frozen=True)
class State:
    """Segments from large to small. Never changed, so that whoever has taken it can go on with it."""

    parts: tuple[Live, ...]
    position: Position

    @classmethod
    def of(cls, segment: Segment, position: Position) -> State:
        return cls((Live(segment),), position)

    @cached_property
    def files(self) -> int:
        return sum(part.files for part in self.parts)

    @cached_property
    def words(self) -> int:
        """Different words; those that no file has any more count until a segment is made anew."""
        return self.parts[0].segment.words + len(frozenset().union(*(part.beyond for part in self.parts)))

    def lines_between(self, record: int, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        """Lines of a record's file, each span as first and last from 1."""
        for part in self.parts:
            for file in part.segment.files_of(np.array([record])).tolist():
                if part.alive is None or part.alive[file]:
                    return [part.lines_between(file, *span) for span in spans]
        return [()] * len(spans)

    def changed(self, records: Sequence[int], texts: Iterable[TextFile], position: Position) -> State:
        """The state after these records got these texts, or none."""
        if not records:
            return State(self.parts, position)
        gone = np.array(records, dtype=np.int64)
        parts = [part.without(gone) for part in self.parts]
        new = list(texts)
        if new:
            segment = in_memory(new)
            parts.append(Live(segment, beyond=_beyond(segment, self.parts[0].segment)))
        return State(tuple(_compact(parts)), position)


def _beyond(segment: Segment, first: Segment) -> frozenset[bytes]:
    words = map(segment.word, range(segment.words))
    return frozenset(word for word in words if first.place_of(word) is None)


def _compact(parts: list[Live]) -> list[Live]:
    """Small segments become one before they are many: each text is moved a few times only, however many follow."""
    first, *others = parts
    while len(others) > 1 and others[-2].segment.text_bytes < 2 * others[-1].segment.text_bytes + _TINY:
        last, before = others.pop(), others.pop()
        others.append(Live(in_memory([*before.living(), *last.living()]), beyond=before.beyond | last.beyond))
    return [first, *(part for part in others if part.files)]
