"""Words in a row, also across line ends: candidates by the lines of their words, then the text decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dowse.store.base import InARow
from dowse.store.sqlite.lines.column import Array
from dowse.store.sqlite.lines.gate import Gate
from dowse.store.sqlite.lines.lookup import lines_with
from dowse.store.sqlite.lines.scan import Clock
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.text.folding import folded, in_a_row

_NONE = np.zeros(0, dtype=np.int64)
_BETWEEN_LOOKS = 1_000


def rows_of(segment: Segment, term: InARow, gate: Gate, clock: Clock) -> Places:
    """The lines in which the phrase begins."""
    places = [segment.place_of(folded(word).encode("utf-8", "replace")) for word in term.words]
    if None in places:
        return _NONE
    lines = [lines_with(segment, np.array([place])) for place in places]
    ranks = _candidates(segment, lines)
    first = segment.worded.at(ranks)
    is_open = gate.open(segment.files_at(first))
    return _confirmed(segment, ranks[is_open], term, clock)


def _candidates(segment: Segment, lines: Sequence[Array]) -> Places:
    """Counting only lines with words, each word of a phrase is in the line of the word before, or in the next one."""
    worded = segment.worded.whole()
    rarest = min(range(len(lines)), key=lambda word: len(lines[word]))
    ranks = np.searchsorted(worded, lines[rarest])
    starts = np.unique(np.concatenate([ranks - back for back in range(rarest + 1)]))
    starts = starts[starts >= 0]
    for word in sorted(range(len(lines)), key=lambda word: len(lines[word])):
        last = worded[np.minimum(starts + word, len(worded) - 1)]
        starts = starts[_any_between(lines[word], worded[starts], last)]
    return starts


def _any_between(ascending: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Of each pair of bounds whether a value lies between them."""
    places = np.searchsorted(ascending, low)
    within = places < len(ascending)
    result: NDArray[np.bool_] = within & (ascending[np.where(within, places, 0)] <= high)
    return result


def _confirmed(segment: Segment, ranks: Places, term: InARow, clock: Clock) -> Places:
    pattern = in_a_row(term.words)
    firsts = segment.worded.at(ranks).astype(np.int64)
    lasts = segment.worded.at(np.minimum(ranks + len(term.words) - 1, len(segment.worded) - 1)).astype(np.int64)
    ends = segment.file_lines[segment.files_at(firsts) + 1]
    afters = np.minimum(lasts + 1, ends)
    found: list[int] = []
    for number, (first, after) in enumerate(zip(firsts.tolist(), afters.tolist(), strict=True)):
        if number % _BETWEEN_LOOKS == 0 and clock.over():
            break
        text = bytes(segment.content(first, after)).decode("utf-8", "replace")
        match = pattern.search(text if term.case_sensitive else folded(text))
        if match and text.find("\n", 0, match.start()) < 0:
            found.append(first)
    return np.array(found, dtype=np.int64)
