"""Texts, their lines and where each word stands, as arrays that never change: in memory, or mapped from a file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array
from dowse.store.sqlite.lines.column import Column

Places = NDArray[np.int64]


class FileName(NamedTuple):
    path: str
    collection: str


COLUMNS = (
    "text",  # bytes: all texts as UTF-8, each line with its line feed
    "line_starts",  # where each line begins in it, and where the last one ends
    "worded",  # the lines that have a word
    "postings",  # the lines of each word, ascending, word after word
)
ARRAYS = (
    "records",  # of each file, the key of its record
    "file_lines",  # of each file, its first line, and the line after the last one
    "file_words",  # of each file, how many words it has
    "names",  # bytes: path and collection of each file, in the order of the files
    "vocabulary",  # bytes: all words in order, a line feed before and after each
    "word_starts",  # where each word begins in it, and its length
    "word_postings",  # where the postings of each word begin, and where the last ones end
    "word_files",  # in how many files each word stands
)


@dataclass(frozen=True)
class Segment:
    """Files are in the order of their paths; lines are counted through all of them, from 0."""

    columns: Mapping[str, Column]
    arrays: Mapping[str, Array]

    # --- files ---

    @cached_property
    def records(self) -> Places:
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

    def name(self, file: int) -> FileName:
        return FileName(self._names[2 * file], self._names[2 * file + 1])

    @cached_property
    def _by_record(self) -> Places:
        return np.argsort(self.records)

    def files_of(self, records: Places) -> Places:
        """Those files, in any order, that are of these records."""
        ordered = self.records[self._by_record]
        places = np.searchsorted(ordered, records)
        places, records = places[places < len(ordered)], records[places < len(ordered)]
        found: Places = self._by_record[places[ordered[places] == records]]
        return found

    def files_at(self, lines: Array) -> Places:
        """Of each of these lines the file; empty files share their first line with the next one."""
        return np.searchsorted(self.file_lines, lines, side="right") - 1

    # --- lines ---

    @cached_property
    def text(self) -> Column:
        return self.columns["text"]

    @cached_property
    def line_starts(self) -> Column:
        return self.columns["line_starts"]

    @cached_property
    def worded(self) -> Column:
        return self.columns["worded"]

    @cached_property
    def postings(self) -> Column:
        return self.columns["postings"]

    def content(self, first: int, after: int) -> memoryview:
        """The text of lines that follow each other, with their line feeds."""
        starts = self.line_starts
        start, end = int(starts.part(first, first + 1)[0]), int(starts.part(after, after + 1)[0])
        return self.text.part(start, end).data

    def offsets(self, lines: Places) -> Places:
        """Where these lines, in ascending order, begin in the text."""
        return self.line_starts.at(lines).astype(np.int64)

    def contents(self, firsts: Places, afters: Places) -> list[str]:
        """The texts of several groups of lines, in ascending order of both ends."""
        if not len(firsts):
            return []
        starts, ends = self.offsets(firsts), self.offsets(afters)
        shift = int(starts[0])
        view = self.text.part(shift, int(ends[-1])).data
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
    def word_postings(self) -> Places:
        return self.arrays["word_postings"]

    @cached_property
    def word_files(self) -> NDArray[np.uint32]:
        return self.arrays["word_files"]

    @property
    def words(self) -> int:
        return len(self.word_files)

    @cached_property
    def _starts(self) -> memoryview:
        """Single values come out of it several times as quick as out of an array."""
        return self.word_starts.data

    def word(self, place: int) -> bytes:
        return self.vocabulary[self._starts[place] : self._starts[place + 1] - 1]

    def place_of(self, word: bytes) -> int | None:
        place = bisect_left(range(self.words), word, key=self.word)
        return place if place < self.words and self.word(place) == word else None

    def lines_of(self, place: int) -> NDArray[np.uint32]:
        """The lines of one word."""
        return self.postings.part(int(self.word_postings[place]), int(self.word_postings[place + 1]))
