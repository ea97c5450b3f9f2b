"""Everything a target may mean: a place, a name, a commit, a memory, a chunk by its id, or what is there no more."""

from __future__ import annotations

import re

from dowse.lookup.called import COMMIT, MEMORY, collections_of, commits_like, memories_named, said
from dowse.lookup.why.commits import CHANGES
from dowse.lookup.why.question import Subject
from dowse.lookup.why.target import at_line, subjects
from dowse.model import COMMITS
from dowse.store.base import Store
from dowse.text.anchors import ANCHORED
from dowse.text.chains import names_in

_CHUNK_ID = re.compile(r"[0-9a-f]{16}")


def things(store: Store, target: str, collection: str | None = None) -> list[Subject]:
    """Of the first reading that means anything."""
    if target.lower().startswith((COMMIT, MEMORY)):
        return [Subject(it.path, it) for it in said(store, target, collection)]
    found = subjects(store, target, collection) or _passages(store, target, collection)
    if found:
        return found
    records = [*memories_named(store, target, collection), *commits_like(store, target, collection)]
    return [Subject(it.path, it) for it in records] or _gone(store, target, collection)


def _passages(store: Store, target: str, collection: str | None) -> list[Subject]:
    if not _CHUNK_ID.fullmatch(target):
        return []
    histories = collections_of(store, COMMITS, collection)
    found = [(it.record, it.chunk.start_line) for it in store.by_chunk_id(target, collection)]
    # A commit is no file: its lines are those of its chunks, and any of them stands for the whole.
    return [
        Subject(record.path, record) if record.collection in histories else at_line(store, record, line)
        for record, line in found
    ]


def _gone(store: Store, target: str, collection: str | None) -> list[Subject]:
    """Definitions that are there no more, by the files that links say they were in."""
    name = target.removesuffix("()").replace("::", ".")
    if collection is not None or "#" in name or store.linking([target]):
        return []
    # Commits may know fewer names around it; its own alone may be anybody's.
    for it in filter(None, dict.fromkeys((name, ".".join(names_in(name)[-2:])))):
        if found := store.parts_named(it, (CHANGES, ANCHORED)):
            return [Subject(one) for one in found]
    return []
