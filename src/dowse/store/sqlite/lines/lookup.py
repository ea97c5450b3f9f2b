"""Which words of a segment pass a test, and the lines they stand in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array, distinct, runs
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.text.folding import WordTest
from dowse.text.regexes import Clause, line_regex

_AT_ONCE = 1 << 22  # postings
_FEW = 2_000  # postings: reading these lines costs less than looking up anything more
_NONE = np.zeros(0, dtype=np.int64)


def words_passing(segment: Segment, test: WordTest) -> Places:
    """Places in the vocabulary, ascending."""
    if test.how == "matches":
        offsets = _matching(segment, test.text)
    else:
        word = test.text.encode("utf-8", "replace")
        if test.how == "is":
            place = segment.place_of(word)
            return _NONE if place is None else np.array([place])
        before, after = b"\n" * (test.how == "begins"), b"\n" * (test.how == "ends")
        offsets = list(_occurrences(segment.vocabulary, before + word + after, len(before)))
    # In the type of the array: else all of it would be converted.
    places = np.searchsorted(segment.word_starts, np.array(offsets, dtype=np.uint32), side="right") - 1
    return distinct(places)


def _occurrences(vocabulary: bytes, part: bytes, shift: int) -> Iterator[int]:
    at = vocabulary.find(part)
    while at >= 0:
        yield at + shift
        at = vocabulary.find(part, at + 1)


def _matching(segment: Segment, pattern: str) -> list[int]:
    """Words that the pattern matches from end to end; words have no case any more."""
    regex = line_regex(whole_word(pattern), False)
    words = memoryview(segment.vocabulary)[1:]
    return [offset + 1 for offset in regex.places(words)]


def whole_word(pattern: str) -> str:
    return f"^(?:{pattern})$"


def passing_any(segment: Segment, clause: Clause) -> Places:
    found = [words_passing(segment, test) for test in clause]
    return found[0] if len(found) == 1 else distinct(np.sort(np.concatenate(found)))


def weight(segment: Segment, places: Places) -> int:
    """How many postings these words have."""
    ends = segment.word_postings
    return int((ends[places + 1] - ends[places]).sum())


def batches(segment: Segment, places: Places) -> Iterator[Places]:
    """As many words at a time as have postings that fit into memory."""
    counts = segment.word_postings[places + 1] - segment.word_postings[places]
    group = np.cumsum(counts) // _AT_ONCE
    yield from np.split(places, np.flatnonzero(np.diff(group)) + 1)


def postings(segment: Segment, places: Places) -> tuple[NDArray[np.uint32], Places]:
    """The lines of these words, word after word, and how many each has."""
    if len(places) == 1:
        lines = segment.lines_of(int(places[0]))
        return lines, np.array([len(lines)])
    begins = segment.word_postings[places]
    counts = segment.word_postings[places + 1] - begins
    return segment.postings.at(runs(begins, counts)), counts


def lines_with(segment: Segment, places: Places) -> Array:
    """The lines that have any of these words, ascending."""
    if len(places) == 1:
        return segment.lines_of(int(places[0]))
    if weight(segment, places) <= _AT_ONCE:
        return distinct(np.sort(postings(segment, places)[0]))
    seen = np.zeros(int(segment.file_lines[-1]), dtype=np.bool_)
    for batch in batches(segment, places):
        seen[postings(segment, batch)[0]] = True
    return np.flatnonzero(seen)


def fewest_first(segment: Segment, clauses: Iterable[Clause]) -> list[Places]:
    """The words of the clauses, those with the fewest postings first; only as many clauses as are worth looking up."""
    found: list[Places] = []
    for clause in sorted(clauses, key=_promise, reverse=True):
        found.append(passing_any(segment, clause))
        if weight(segment, found[-1]) <= _FEW:
            break
    return sorted(found, key=lambda places: weight(segment, places))


def _promise(clause: Clause) -> tuple[bool, int]:
    """Whole words are looked up at once; for the others, the longer the rarer."""
    return all(test.how == "is" for test in clause), min(len(test.text) for test in clause)
