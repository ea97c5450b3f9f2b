"""A mix that fits: what matters most of every section first, and none at the cost of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from dowse.lookup.why.found import Found
from dowse.lookup.why.naming import AUTHOR, COMMIT
from dowse.lookup.why.question import NO_SOURCE, Neighbour, Section, Source
from dowse.lookup.why.shares import LINE_CHARS, chars
from dowse.model import CHARS_PER_TOKEN, Record

# Who reads little reads why it is so before who uses it.
_WORTH: Final = ("commits", "memories", "callers", "documents", "tests")
_REASONS: Final = ("commits", "memories")
_FRAME_CHARS: Final = 250  # names of keys and sections, two lines
_KEY_CHARS: Final = 6  # quotes, colon, comma, blanks
_NUMBER_CHARS: Final = 6
_COMMIT_CHARS: Final = 50  # the beginning of a hash and a date, with their keys
_SOURCE_KEYS: Final = 45
_SOURCE_SHARE: Final = 0.3
_MOST_LINES: Final = 40


def room_of(budget_tokens: int) -> int:
    """What there is for everything but the frame: characters of the longest form, JSON."""
    return budget_tokens * CHARS_PER_TOKEN - _FRAME_CHARS


def counts_chars(found: Sequence[tuple[str, Found]]) -> int:
    return sum(len(name) + _KEY_CHARS + len(str(len(it.neighbours))) for name, it in found if it.neighbours)


def notes_chars(notes: Sequence[str]) -> int:
    return sum(chars(it) + LINE_CHARS for it in notes)


def fitting_names(names: Sequence[str], room: int) -> tuple[str, ...]:
    """The first ones."""
    ends = accumulate(chars(it) + LINE_CHARS for it in names)
    return tuple(it for it, end in zip(names, ends, strict=True) if end <= room)


def reasons_chars(found: Sequence[tuple[str, Found]]) -> int:
    """What the best reason of each sort takes."""
    return sum(cost(it.neighbours[0]) for name, it in found if name in _REASONS and it.neighbours)


def fitting_source(source: Source, room: int, reasons: int = 0) -> tuple[Source, int]:
    """Its first lines within a share of the room that leaves enough for the reasons, and what they take."""
    share, used, lines = min(int(room * _SOURCE_SHARE), room - reasons), _SOURCE_KEYS, 0
    for line in source.lines[:_MOST_LINES]:
        cost_of_line = chars(line) + LINE_CHARS
        if used + cost_of_line > share:
            break
        used, lines = used + cost_of_line, lines + 1
    if not lines:
        return NO_SOURCE, 0
    left = source.left_out + len(source.lines) - lines
    return Source(source.start_line, source.lines[:lines], left), used


def fitting(found: Sequence[tuple[str, Found]], room: int) -> tuple[Section, ...]:
    """In rounds: the first of each section, then the second of each, as long as there is room; long ones without
    their text, or even without the words that say why they count."""
    shown: dict[str, list[Neighbour]] = {name: [] for name, _ in found}
    waiting = {name: list(it.neighbours) for name, it in sorted(found, key=_worth) if it.neighbours}
    while waiting:
        for name, neighbours in list(waiting.items()):
            fit = _fit(neighbours.pop(0), room)
            if fit is not None:
                room -= cost(fit)
                shown[name].append(fit)
            if fit is None or not neighbours:
                del waiting[name]
    return tuple(Section(name, tuple(shown[name]), len(it.neighbours)) for name, it in found)


def _worth(found: tuple[str, Found]) -> int:
    return _WORTH.index(found[0]) if found[0] in _WORTH else len(_WORTH)


def _fit(neighbour: Neighbour, room: int) -> Neighbour | None:
    forms = (neighbour, replace(neighbour, text=""), replace(neighbour, text="", how=""))
    return next((it for it in forms if cost(it) <= room), None)


def cost(neighbour: Neighbour) -> int:
    """Its length in the longest form it is shown in."""
    said = {"confidence": neighbour.sure, "how": neighbour.how, "text": neighbour.text, "warning": neighbour.warning}
    told = {"kind": neighbour.kind, "name": neighbour.name, **{key: it for key, it in said.items() if it}}
    place = sum(_place_chars(neighbour.record, neighbour.line)) if neighbour.record else len('"indexed": false, ')
    return LINE_CHARS + sum(len(key) + _KEY_CHARS + chars(it) for key, it in told.items()) + place


def _place_chars(record: Record, line: int) -> Iterator[int]:
    if record.kind == COMMIT:
        author = record.facets.get(AUTHOR, "").partition(" <")[0]
        yield _COMMIT_CHARS + len(AUTHOR) + _KEY_CHARS + chars(author)
        return
    yield len("path") + _KEY_CHARS + chars(record.path)
    yield len("line") + _KEY_CHARS + _NUMBER_CHARS if line else 0
    type_ = record.facets.get("type", "")
    key, value = ("type", type_) if type_ else ("collection", record.collection)
    yield len(key) + _KEY_CHARS + chars(value)
