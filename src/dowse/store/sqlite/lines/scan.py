"""Lines that a regex matches: those whose words allow it are read, or all of them, until time is up."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import Array, among, distinct, runs
from dowse.store.sqlite.lines.gate import Gate
from dowse.store.sqlite.lines.lookup import fewest_first, lines_with, weight
from dowse.store.sqlite.lines.segment import Places, Segment
from dowse.store.texts import InLine
from dowse.text.regexes import LineRegex, line_regex

_WORK_AT_ONCE = 1 << 26  # bytes × size of the regex: a fraction of a second at the slowest
_MOST_AT_ONCE = 1 << 22
_LEAST_AT_ONCE = 1 << 14
_NARROWING = 8  # times as many postings as candidates: looking them up costs less than reading the lines
_SPARSE = 4  # candidates are fewer than this part of all lines: gathering them costs less than reading everything


@dataclass(slots=True)
class Clock:
    """Until when a question may take; notes whether it had to stop."""

    deadline_s: float
    _end: float = field(init=False)
    is_over: bool = False

    def __post_init__(self) -> None:
        self._end = time.monotonic() + self.deadline_s

    def over(self) -> bool:
        self.is_over = self.is_over or time.monotonic() > self._end
        return self.is_over


def matching_lines(segment: Segment, term: InLine, gate: Gate, clock: Clock) -> Places:
    regex = line_regex(term.pattern, term.case_sensitive)
    candidates = _candidates(segment, term)
    found: list[Places] = []
    parts: Iterator[tuple[bytes | memoryview, Places, Places]]
    if candidates is None or len(candidates) * _SPARSE > int(segment.file_lines[-1]):
        parts = _everything(segment, gate, _step(regex))
    else:
        candidates = candidates[gate.open(segment.files_at(candidates))]
        parts = _gathered(segment, candidates, _step(regex))
    for content, lines, starts in parts:
        if clock.over():
            break
        found.append(_hits(regex, content, lines, starts))
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)


def _step(regex: LineRegex) -> int:
    return min(max(_WORK_AT_ONCE // regex.cost, _LEAST_AT_ONCE), _MOST_AT_ONCE)


def _hits(regex: LineRegex, content: bytes | memoryview, lines: Places, starts: Places) -> Places:
    places = np.fromiter(regex.places(content), dtype=np.int64)
    rows = np.searchsorted(starts, places, side="right") - 1
    return lines[distinct(rows)]


def _candidates(segment: Segment, term: InLine) -> Array | None:
    """Lines whose words allow a match; None where nothing is known of them."""
    if not term.clauses:
        return None
    first, *others = fewest_first(segment, term.clauses)
    lines = lines_with(segment, first)
    for places in others:
        if not len(lines) or weight(segment, places) > _NARROWING * len(lines):
            break
        lines = lines[among(lines, lines_with(segment, places))]
    return lines


def _gathered(segment: Segment, lines: Array, step: int) -> Iterator[tuple[bytes | memoryview, Places, Places]]:
    """The text of these lines put together, part by part: which lines, and where each begins in it."""
    lines = lines.astype(np.int64)
    begins, ends = segment.offsets(lines), segment.offsets(lines + 1)
    lengths = ends - begins
    group = np.cumsum(lengths) // step
    for rows in np.split(np.arange(len(lines)), np.flatnonzero(np.diff(group)) + 1):
        if len(rows):
            content = segment.text.at(runs(begins[rows], lengths[rows])).tobytes()
            yield content, lines[rows], np.cumsum(lengths[rows]) - lengths[rows]


def _everything(segment: Segment, gate: Gate, step: int) -> Iterator[tuple[bytes | memoryview, Places, Places]]:
    """The text of all files that may be found, part by part."""
    for first, after in _runs(gate.open(np.arange(segment.files))):
        line, end = int(segment.file_lines[first]), int(segment.file_lines[after])
        while line < end:
            ahead = segment.line_starts.part(line, end + 1)
            reach = min(int(ahead[0]) + step, int(ahead[-1]))
            # In the type of the array: else all of it would be converted.
            upto = max(line + int(np.searchsorted(ahead, ahead.dtype.type(reach))), line + 1)
            starts = segment.line_starts.part(line, upto).astype(np.int64)
            yield segment.content(line, upto), np.arange(line, upto), starts - starts[0]
            line = upto


def _runs(is_open: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and after-last of each run of files that are open."""
    edges = np.flatnonzero(np.diff(is_open, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
