"""What an answer is about, named as far as there is room for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from dowse.lookup.why.question import Subject
from dowse.lookup.why.shares import chars, sharing
from dowse.lookup.why.shortened import shortened

COMMIT: Final = "commit"
AUTHOR: Final = "author"
_CANDIDATE_KEYS: Final = 90


def fitting_subject(subject: Subject, room: int, reasons: int) -> tuple[Subject, int]:
    """With its signature where that leaves room for the reasons, its names as far as they fit, and what it takes."""
    bare = subject
    if subject.definition and subject_chars(subject) + reasons > room:
        symbol = subject.definition.symbol._replace(signature="")
        bare = replace(subject, definition=replace(subject.definition, symbol=symbol))
    shown = _within(bare, room)
    return shown, subject_chars(shown)


def fitting_candidates(found: Sequence[Subject], room: int) -> tuple[Subject, ...]:
    """The first ones, and one at least, its names as far as they fit."""
    shown = [*(fitting_subject(it, room - _CANDIDATE_KEYS, 0)[0] for it in found[:1]), *found[1:]]
    ends = accumulate(subject_chars(it) + _CANDIDATE_KEYS for it in shown)
    return tuple(it for place, (it, end) in enumerate(zip(shown, ends, strict=True)) if end <= room or not place)


def subject_chars(subject: Subject) -> int:
    """What it takes in the longest form: of commits, that is the text, which has title and author."""
    return sum(map(chars, (*_names(subject), *_rest(subject))))


def _within(subject: Subject, room: int) -> Subject:
    if subject_chars(subject) <= room:
        return subject
    return _renamed(subject, sharing(_names(subject), room - sum(map(chars, _rest(subject)))))


def _names(subject: Subject) -> tuple[str, ...]:
    record = subject.record
    if record is None:
        return (subject.name,)
    names = (subject.name, record.path, record.collection)
    return (*names, record.title, record.facets.get(AUTHOR, "")) if record.kind == COMMIT else names


def _renamed(subject: Subject, names: Sequence[str]) -> Subject:
    if subject.record is None:
        return replace(subject, name=names[0])
    record = replace(subject.record, path=names[1], collection=names[2])
    if record.kind == COMMIT:
        record = replace(record, title=names[3], facets={**record.facets, AUTHOR: names[4]})
    return replace(subject, name=names[0], record=record)


def _rest(subject: Subject) -> tuple[str, ...]:
    symbol = subject.definition.symbol if subject.definition else None
    kind = symbol.kind if symbol else subject.record.kind if subject.record else ""
    signature = ("signature", f"{shortened(symbol.signature)}: , ") if symbol and symbol.signature else ()
    return (kind, *signature)
