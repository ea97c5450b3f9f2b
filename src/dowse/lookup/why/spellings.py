"""How links from elsewhere name a thing: by its path, by path and name, by the name alone."""

from __future__ import annotations

from pathlib import PurePath

from dowse.lookup.why.question import Subject
from dowse.lookup.why.target import definitions_in, qualified
from dowse.model import COMMITS, FILES, Record
from dowse.store.base import Store

ITSELF, NEAR, AROUND = range(3)
"""How near to a thing a link leads: to itself, to what holds it or lies in it, to its file."""
_MOST_MEMBERS = 100


def spellings(subject: Subject) -> list[str]:
    """What a document or commit may write for it; the most particular first."""
    if subject.record is None:
        return [subject.name]
    path = subject.record.path
    if subject.definition is None:
        return [path]
    full, last = qualified(subject.definition), subject.definition.symbol.name
    return list(dict.fromkeys([f"{path}#{full}", f"{path}#{last}", full, path]))


def concerns(subject: Subject, part: str) -> int | None:
    """How near to the subject a link leads that is to this part of its record, or to all of it; None for elsewhere."""
    if subject.definition is None:
        return ITSELF if not part else None if subject.line else NEAR
    if not part:
        return AROUND
    full, trail = qualified(subject.definition), subject.definition.trail
    if part in (full, subject.definition.symbol.name):
        return ITSELF
    around = {*trail, *(".".join(trail[:end]) for end in range(1, len(trail) + 1))}
    return NEAR if part in around or part.startswith(f"{full}.") else None


def names_of(store: Store, subject: Subject) -> list[str]:
    """The full names whose changes are changes of the subject: its own, and those of what is defined in it."""
    if subject.record is None or subject.definition is None:
        return []
    own = qualified(subject.definition)
    first, last = subject.first_line, subject.last_line
    inside = [it for it in definitions_in(store, subject.record) if first <= it.symbol.start_line <= last]
    members = [qualified(it) for it in inside if qualified(it).startswith(f"{own}.")]
    return list(dict.fromkeys([own, *members]))[: _MOST_MEMBERS + 1]


def speaks_of(store: Store, writers: str, subject: Record | None) -> bool:
    """Whether a path written in this collection can mean one of the subject's: it lies in there, or in no root."""
    known = {it.name: it for it in store.collections()}
    if subject is None or writers == subject.collection or known[subject.collection].source == COMMITS:
        return True
    place = PurePath(known[writers].root)
    around = [it.name for it in known.values() if it.source == FILES and PurePath(it.root) in place.parents]
    return not around or subject.collection in around
