"""Words in a row, also across line ends: candidates by the lines of their words, then the text decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dowse.store.sqlite.lines.arrays import Array, any_between, distinct
from dowse.store.sqlite.lines.gate import Gate
from dowse.store.sqlite.lines.lookup import lines_with
from dowse.store.sqlite.lines.scan import Clock
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.store.texts import InARow
from dowse.text.folding import folded, in_a_row

_NONE = np.zeros(0, dtype=np.int64)
_AT_ONCE = 2_000  # candidates
_JOINT = "\0"  # no text has it, and it is neither blank nor part of a word


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
    starts = distinct(np.sort(np.concatenate([ranks - back for back in range(rarest + 1)])))
    starts = starts[starts >= 0]
    for word in sorted(range(len(lines)), key=lambda word: len(lines[word])):
        last = worded[np.minimum(starts + word, len(worded) - 1)]
        starts = starts[any_between(lines[word], worded[starts], last)]
    return starts


def _confirmed(segment: Segment, ranks: Places, term: InARow, clock: Clock) -> Places:
    firsts = segment.worded.at(ranks).astype(np.int64)
    lasts = segment.worded.at(np.minimum(ranks + len(term.words) - 1, len(segment.worded) - 1)).astype(np.int64)
    ends = segment.file_lines[segment.files_at(firsts) + 1].astype(np.int64)
    afters = np.minimum(lasts + 1, ends)
    found = [_NONE]
    for start in range(0, len(firsts), _AT_ONCE):
        if clock.over():
            break
        part = slice(start, start + _AT_ONCE)
        found.append(firsts[part][_rows(segment.contents(firsts[part], afters[part]), term)])
    return np.concatenate(found)


def _rows(texts: Sequence[str], term: InARow) -> Places:
    """Which of the texts have the phrase beginning in their first line; all are searched at once."""
    together = _JOINT.join(texts)
    sizes = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)) + len(_JOINT)
    heads = np.fromiter((text.find("\n") for text in texts), dtype=np.int64, count=len(texts))
    starts = np.cumsum(sizes) - sizes
    matches = in_a_row(term.words).finditer(together if term.case_sensitive else folded(together))
    places = np.fromiter((match.start() for match in matches), dtype=np.int64)
    rows = np.searchsorted(starts, places, side="right") - 1
    return distinct(rows[places - starts[rows] < heads[rows]])
