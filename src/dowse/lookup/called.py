"""What else than a path somebody may write for a record: `commit:HASH` and `memory:NAME`, for every verb alike."""

from __future__ import annotations

import re

from dowse.lookup.memories.known import known_in
from dowse.lookup.places import records_at
from dowse.model import COMMITS, MEMORIES, Record, Scope
from dowse.store.base import Store
from dowse.text import anchors, memory_names

COMMIT, MEMORY = anchors.COMMIT, memory_names.MEMORY
_HASH = re.compile(r"[0-9a-f]{4,64}")
_MOST_COMMITS = 20


def called(store: Store, target: str, collection: str | None = None) -> list[Record]:
    """The records with this path, or those that are meant by what they are called."""
    return said(store, target, collection) or records_at(store, target, collection)


def said(store: Store, target: str, collection: str | None = None) -> list[Record]:
    """Those that are meant where the target says of which kind it is."""
    text = target.strip()
    if text.lower().startswith(COMMIT):
        return commits_like(store, text[len(COMMIT) :], collection)
    return memories_named(store, text, collection) if text.lower().startswith(MEMORY) else []


def commits_like(store: Store, beginning: str, collection: str | None = None) -> list[Record]:
    """The commits whose hashes begin so, newest first."""
    wanted = beginning.strip().lower()
    names = collections_of(store, COMMITS, collection)
    if not names or not _HASH.fullmatch(wanted):
        return []
    exact = [record for name in names for record in store.records(wanted, name)]
    return exact or store.select(Scope(collections=names, paths=(f"{wanted}*",)), _MOST_COMMITS)


def memories_named(store: Store, name: str, collection: str | None = None) -> list[Record]:
    """Those that are called so, as links in their folder call them, one of each folder."""
    found = (known_in(store, it).called(name) for it in collections_of(store, MEMORIES, collection))
    return [it for it in found if it is not None]


def collections_of(store: Store, source: str, collection: str | None) -> tuple[str, ...]:
    return tuple(it.name for it in store.collections() if it.source == source and collection in (None, it.name))
