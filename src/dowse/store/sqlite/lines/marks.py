"""What one term is found in: lines of a segment, and for each file how often and for how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array, begins, distinct, lengths
from dowse.store.sqlite.lines.gate import Gate
from dowse.store.sqlite.lines.lookup import batches, lines_with, postings, words_passing
from dowse.store.sqlite.lines.phrase import rows_of
from dowse.store.sqlite.lines.scan import Clock, matching_lines
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.store.sqlite.lines.state import Live
from dowse.store.texts import WORDS_NAMED, InARow, InLine, InWords

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Marks:
    """`lines` ascending, also those of files that may not be found; `files` ascending, only those that may be."""

    lines: Array
    files: Places
    occurrences: Places
    scores: Weights


@dataclass(frozen=True, slots=True)
class Place:
    """A segment to be searched, and what may be found in it."""

    live: Live
    gate: Gate

    @property
    def segment(self) -> Segment:
        return self.live.segment


def marks_of(
    term: InWords | InLine | InARow, places: Sequence[Place], files: int, clock: Clock
) -> tuple[list[Marks], list[str]]:
    """The marks in each segment, and the words that passed."""
    if isinstance(term, InWords):
        passed = [words_passing(place.segment, term.test) for place in places]
        weights = _rarity(places, passed, files)
        marks = [_of_words(*it, clock) for it in zip(places, passed, weights, strict=True)]
        return marks, [] if term.test.how == "is" else list(_names(places, passed))
    found = [
        rows_of(it.segment, term, it.gate, clock)
        if isinstance(term, InARow)
        else matching_lines(it.segment, term, it.gate, clock)
        for it in places
    ]
    return _of_lines(places, found, files), []


def _names(places: Sequence[Place], passed: Sequence[Places]) -> Iterator[str]:
    for place, words in zip(places, passed, strict=True):
        alive = words[place.live.word_files[words] > 0]
        yield from (place.segment.word(word).decode() for word in alive[:WORDS_NAMED].tolist())


# --- words ---


def _rarity(places: Sequence[Place], passed: Sequence[Places], files: int) -> list[Weights]:
    """Of each word ln(files / files with it); of one that no file has, nothing."""
    counts = [place.live.word_files[words].astype(np.int64) for place, words in zip(places, passed, strict=True)]
    if sum(map(bool, map(len, counts))) > 1:
        counts = _together(places, passed, counts)
    return [np.log(max(files, 1) / np.maximum(count, 1)) for count in counts]


def _together(places: Sequence[Place], passed: Sequence[Places], counts: Sequence[Places]) -> list[Places]:
    """Words that stand in several segments, counted in all of them."""
    names = [[place.segment.word(word) for word in words.tolist()] for place, words in zip(places, passed, strict=True)]
    total: Counter[bytes] = Counter()
    for words, count in zip(names, counts, strict=True):
        total.update(dict(zip(words, count.tolist(), strict=True)))
    return [np.array([total[word] for word in words], dtype=np.int64) for words in names]


def _of_words(place: Place, words: Places, weights: Weights, clock: Clock) -> Marks:
    if len(words) == 1:
        lines = place.segment.lines_of(int(words[0]))
        files, counts = counted(place.segment, lines)
        return _opened(place, lines, files, counts, counts * weights[0])
    return _of_many(place, words, weights, clock)


def _of_many(place: Place, words: Places, weights: Weights, clock: Clock) -> Marks:
    segment = place.segment
    occurrences = np.zeros(segment.files, dtype=np.int64)
    scores = np.zeros(segment.files)
    looked = 0
    lines: Array = np.zeros(0, dtype=np.uint32)
    for batch in batches(segment, words):
        if not len(batch) or clock.over():
            break
        lines, counts = postings(segment, batch)
        files = segment.files_at(lines)
        occurrences += np.bincount(files, minlength=segment.files)
        scores += np.bincount(files, np.repeat(weights[looked : looked + len(batch)], counts), segment.files)
        looked += len(batch)
    found = np.flatnonzero(occurrences)
    every = distinct(np.sort(lines)) if len(lines) == occurrences.sum() else lines_with(segment, words[:looked])
    return _opened(place, every, found, occurrences[found], scores[found])


def _opened(place: Place, lines: Array, files: Places, occurrences: Places, scores: Weights) -> Marks:
    is_open = place.gate.open(files)
    files, occurrences = files[is_open], occurrences[is_open]
    return Marks(lines, files, occurrences, scores[is_open] / place.segment.file_words[files])


def counted(segment: Segment, lines: Array) -> tuple[Places, Places]:
    """The files of these lines, ascending, and how many of the lines each has."""
    if len(lines) > segment.files:
        counts = np.diff(np.searchsorted(lines, segment.file_lines))
        files = np.flatnonzero(counts)
        return files, counts[files]
    of_lines = segment.files_at(lines)
    starts = begins(of_lines)
    return of_lines[starts], lengths(starts, len(of_lines))


# --- lines ---


def _of_lines(places: Sequence[Place], found: Sequence[Places], files: int) -> list[Marks]:
    """Like one word that stands in these lines; a file without any word can not tell how rare it is there."""
    counts = [counted(place.segment, lines) for place, lines in zip(places, found, strict=True)]
    rarity = np.log(max(files, 1) / max(sum(len(it[0]) for it in counts), 1))
    return [
        Marks(lines, its, many, many * rarity / np.maximum(place.segment.file_words[its], 1))
        for place, lines, (its, many) in zip(places, found, counts, strict=True)
    ]
