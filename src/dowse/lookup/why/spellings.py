"""How links from elsewhere name a thing: by its path, by path and name, by the name alone."""

from __future__ import annotations

from pathlib import PurePath

from dowse.lookup.why.question import Subject
from dowse.lookup.why.target import qualified
from dowse.model import COMMITS, FILES, Record
from dowse.store.base import Store
from dowse.store.chains import chains_of
from dowse.text.chains import names_in, spelt

ITSELF, NEAR, AROUND = range(3)
"""How near to a thing a link leads: to itself, to what holds it or lies in it, to its file."""
_MOST_NAMES = 500


def spellings(store: Store, subject: Subject) -> list[str]:
    """What a document or commit may write for it; the most particular first."""
    if subject.record is None:
        return _lost(store, subject.name)
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
    """The names whose changes are changes of the subject: its own, and those of what is defined in it; whole, and as
    short as commits may know them, where nothing else in the file is called so."""
    if subject.record is None or subject.definition is None:
        return []
    chains = chains_of(store, subject.record)
    own = chains.spelt(chains.whole((*subject.definition.trail, subject.definition.symbol.name)))
    return list(dict.fromkeys([qualified(subject.definition), *own.whole, *own.sure]))[:_MOST_NAMES]


def _lost(store: Store, name: str) -> list[str]:
    """Of what is not indexed; a definition may have shorter names, if it was ever called by this one."""
    path, mark, part = name.partition("#")
    if not (mark and part and store.linking([name])):
        return [name]
    others = [chains_of(store, it).spelt_so for it in store.records(path)]
    shorter = [it for it in spelt(names_in(part)) if not any(it in other for other in others)]
    return list(dict.fromkeys([name, *(f"{path}#{it}" for it in shorter)]))


def speaks_of(store: Store, writers: str, subject: Record | None) -> bool:
    """Whether a path written in this collection can mean one of the subject's: it lies in there, or in no root."""
    known = {it.name: it for it in store.collections()}
    if subject is None or writers == subject.collection or known[subject.collection].source == COMMITS:
        return True
    place = PurePath(known[writers].root)
    around = [it.name for it in known.values() if it.source == FILES and PurePath(it.root) in place.parents]
    return not around or subject.collection in around
