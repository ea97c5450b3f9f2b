"""An answer out of what each term is found in: the terms together, the best files, their lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array, distinct, runs
from dowse.store.sqlite.lines.gate import Gate
from dowse.store.sqlite.lines.marks import Marks, Place, marks_of
from dowse.store.sqlite.lines.scan import Clock
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.store.sqlite.lines.state import State
from dowse.store.texts import SCORE_DIGITS, WORDS_NAMED, FileLines, FoundLines, LineQuery


def found_lines(state: State, query: LineQuery, inside: NDArray[np.int64] | None) -> FoundLines:
    """`inside` are the records of the query's scope, None if it is everything."""
    places = [Place(part, Gate(part, inside, query.wanted)) for part in state.parts]
    clock = Clock(query.deadline_s)
    by_term: list[list[Marks]] = []
    words: dict[str, None] = {}
    for term in query.terms:
        marks, passed = marks_of(term, places, state.files, clock)
        by_term.append(marks)
        words |= dict.fromkeys(passed)
    parts = [
        _Part.of(place.segment, marks, query) for place, marks in zip(places, zip(*by_term, strict=True), strict=True)
    ]
    return FoundLines(
        files=_best(parts, query.limit),
        total_files=sum(len(part.files) for part in parts),
        total_occurrences=sum(int(part.occurrences.sum()) for part in parts),
        words=tuple(islice(sorted(words), WORDS_NAMED)),
        index_files=state.files,
        index_words=state.words,
        cut=f"not everything was looked at within {query.deadline_s:g} s; ask for less" if clock.is_over else "",
    )


@dataclass(frozen=True, slots=True)
class _Part:
    """The files of a segment in which the terms are found, ascending."""

    segment: Segment
    marks: Sequence[Marks]
    files: Places
    scores: NDArray[np.float64]
    occurrences: Places
    matched: Places

    @classmethod
    def of(cls, segment: Segment, marks: Sequence[Marks], query: LineQuery) -> _Part:
        if len(marks) == 1:
            files, occurrences, scores = marks[0].files, marks[0].occurrences, marks[0].scores
            matched = np.ones(len(files), dtype=np.int64)
        else:
            together = np.concatenate([it.files for it in marks])
            files = distinct(np.sort(together))
            rows = np.searchsorted(files, together)
            occurrences = _sums(rows, [it.occurrences for it in marks]).astype(np.int64)
            scores = _sums(rows, [it.scores for it in marks])
            matched = np.bincount(rows)
        part = cls(segment, marks, files, scores, occurrences, matched)
        if query.every:
            part = part._at(np.flatnonzero(matched == len(marks)))
        return part._by_lines() if query.counted else part

    def _at(self, rows: Places) -> _Part:
        return _Part(
            self.segment, self.marks, self.files[rows], self.scores[rows], self.occurrences[rows], self.matched[rows]
        )

    def _by_lines(self) -> _Part:
        return _Part(
            self.segment, self.marks, self.files, self.occurrences.astype(float), self.occurrences, self.matched
        )

    def best(self, limit: int) -> list[FileLines]:
        scores = np.round(self.scores, SCORE_DIGITS)
        rows = np.arange(len(scores))
        if 0 < limit < len(rows):
            least = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            rows = np.flatnonzero(scores >= least)
        # Files are in the order of their paths, and the sort is stable.
        rows = rows[np.argsort(-scores[rows], kind="stable")]
        return self._shown(rows[:limit] if limit else rows)

    def _shown(self, rows: Places) -> list[FileLines]:
        files = self.files[rows]
        first, after = self.segment.file_lines[files], self.segment.file_lines[files + 1]
        lines = _merged([_slices(marks, first, after) for marks in self.marks])
        scores = np.round(self.scores[rows], SCORE_DIGITS).tolist()
        many, matched = self.occurrences[rows].tolist(), self.matched[rows].tolist()
        shown: list[FileLines] = []
        for row, file in enumerate(files.tolist()):
            path, collection = self.segment.name(file)
            shown.append(FileLines(collection, path, scores[row], lines[row], many[row], matched[row]))
        return shown


def _sums(rows: Places, values: Sequence[Array]) -> NDArray[np.float64]:
    """The values of each row together."""
    return np.bincount(rows, np.concatenate(values)).astype(np.float64)


def _slices(marks: Marks, first: Array, after: Array) -> list[tuple[int, ...]]:
    """The lines in each of the files, counted in it from 1."""
    lows, highs = np.searchsorted(marks.lines, first), np.searchsorted(marks.lines, after)
    counts = highs - lows
    lines = (marks.lines[runs(lows, counts)] - np.repeat(first, counts) + 1).tolist()
    ends = np.cumsum(counts).tolist()
    return [tuple(lines[end - count : end]) for end, count in zip(ends, counts.tolist(), strict=True)]


def _merged(of_terms: Sequence[list[tuple[int, ...]]]) -> list[tuple[int, ...]]:
    """Of each file the lines of all terms."""
    if len(of_terms) == 1:
        return of_terms[0]
    return [tuple(sorted(set().union(*lines))) for lines in zip(*of_terms, strict=True)]


def _best(parts: Sequence[_Part], limit: int) -> tuple[FileLines, ...]:
    found = [part.best(limit) for part in parts if len(part.files)]
    if len(found) == 1:
        return tuple(found[0])
    together = [file for files in found for file in files]
    return tuple(nsmallest(limit or len(together), together, key=lambda it: (-it.score, it.path, it.collection)))
