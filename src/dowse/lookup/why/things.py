"""What else may be meant than a place or a name: a commit by its hash, a memory by its name, a chunk by its id."""

from __future__ import annotations

import re

from dowse.lookup.memories.known import known_in
from dowse.lookup.why.question import Subject
from dowse.lookup.why.target import at_line, subjects
from dowse.model import COMMITS, MEMORIES, Record, Scope
from dowse.store.base import Store

COMMIT, MEMORY = "commit:", "memory:"

_HASH = re.compile(r"[0-9a-f]{4,64}")
_CHUNK_ID = re.compile(r"[0-9a-f]{16}")
_MOST_COMMITS = 20


def things(store: Store, target: str, collection: str | None = None) -> list[Subject]:
    """Everything the target may mean, of the first reading that means anything."""
    if target.startswith(COMMIT):
        return [Subject(it.path, it) for it in commits_like(store, target.removeprefix(COMMIT), collection)]
    if target.startswith(MEMORY):
        return [Subject(it.path, it) for it in memories_named(store, target, collection)]
    found = subjects(store, target, collection) or _passages(store, target, collection)
    if found:
        return found
    records = [*memories_named(store, target, collection), *commits_like(store, target, collection)]
    return [Subject(it.path, it) for it in records]


def commits_like(store: Store, beginning: str, collection: str | None = None) -> list[Record]:
    """The commits whose hashes begin so, newest first."""
    wanted = beginning.strip().lower()
    names = _names(store, COMMITS, collection)
    if not names or not _HASH.fullmatch(wanted):
        return []
    exact = [record for name in names for record in store.records(wanted, name)]
    return exact or store.select(Scope(collections=names, paths=(f"{wanted}*",)), _MOST_COMMITS)


def memories_named(store: Store, name: str, collection: str | None = None) -> list[Record]:
    """Those that a link in their folder would mean by it, one of each folder."""
    folders = _names(store, MEMORIES, collection)
    found = (known_in(store, it).find(name) for it in folders)
    return [it for it in found if it is not None]


def _names(store: Store, source: str, collection: str | None) -> tuple[str, ...]:
    return tuple(it.name for it in store.collections() if it.source == source and collection in (None, it.name))


def _passages(store: Store, target: str, collection: str | None) -> list[Subject]:
    if not _CHUNK_ID.fullmatch(target):
        return []
    histories = _names(store, COMMITS, collection)
    found = [(it.record, it.chunk.start_line) for it in store.by_chunk_id(target, collection)]
    # A commit is no file: its lines are those of its chunks, and any of them stands for the whole.
    return [
        Subject(record.path, record) if record.collection in histories else at_line(store, record, line)
        for record, line in found
    ]
