"""A mix that fits: the best of every section first, and none at the cost of the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from dowse.lookup.why.found import Found
from dowse.lookup.why.question import NO_SOURCE, Neighbour, Section, Source, Subject
from dowse.lookup.why.shortened import shortened
from dowse.model import CHARS_PER_TOKEN, Record

_FRAME_CHARS = 260  # names of keys, totals of sections
_ITEM_CHARS = 100  # names of keys, a line
_COMMIT_CHARS = 30  # the beginning of a hash, a date
_LINE_CHARS = 8
_SOURCE_SHARE = 0.3
_MOST_LINES = 40


def room_of(budget_tokens: int, subject: Subject, notes: Sequence[str]) -> int:
    """What is left for source and neighbours, in characters."""
    signature = shortened(subject.definition.symbol.signature) if subject.definition else ""
    path = subject.record.path if subject.record else ""
    fixed = _FRAME_CHARS + 2 * len(_quoted(subject.name)) + len(_quoted(path)) + len(_quoted(signature))
    return budget_tokens * CHARS_PER_TOKEN - fixed - sum(len(_quoted(note)) + _LINE_CHARS for note in notes)


def fitting_source(source: Source, room: int) -> tuple[Source, int]:
    """Its first lines within a share of the room, and what they take."""
    share, used, lines = int(room * _SOURCE_SHARE), 0, 0
    for line in source.lines[:_MOST_LINES]:
        cost = len(_quoted(line)) + _LINE_CHARS
        if used + cost > share:
            break
        used, lines = used + cost, lines + 1
    if not lines:
        return NO_SOURCE, 0
    left = source.left_out + len(source.lines) - lines
    return Source(source.start_line, source.lines[:lines], left), used


def fitting(found: Sequence[tuple[str, Found]], room: int) -> tuple[Section, ...]:
    """In rounds: the first of each section, then the second of each, as long as there is room; long ones without
    their text."""
    shown: dict[str, list[Neighbour]] = {name: [] for name, _ in found}
    open_sections = {name: list(it.neighbours) for name, it in found if it.neighbours}
    while open_sections:
        for name, waiting in list(open_sections.items()):
            fit = _fit(waiting.pop(0), room)
            if fit is not None:
                room -= cost(fit)
                shown[name].append(fit)
            if fit is None or not waiting:
                del open_sections[name]
    return tuple(Section(name, tuple(shown[name]), len(it.neighbours)) for name, it in found)


def _fit(neighbour: Neighbour, room: int) -> Neighbour | None:
    if cost(neighbour) <= room:
        return neighbour
    bare = replace(neighbour, text="")
    return bare if cost(bare) <= room else None


def cost(neighbour: Neighbour) -> int:
    """Its length in the longest form it is shown in."""
    texts = (neighbour.name, neighbour.how, neighbour.text, neighbour.warning, neighbour.sure, neighbour.kind)
    return _ITEM_CHARS + sum(len(_quoted(it)) for it in texts) + _place_chars(neighbour.record)


def _place_chars(record: Record | None) -> int:
    if record is None:
        return 0
    author = record.facets.get("author", "")
    return _COMMIT_CHARS + len(author) if author else len(_quoted(record.collection)) + len(_quoted(record.path))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
