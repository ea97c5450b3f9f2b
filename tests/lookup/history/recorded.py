"""A history in a store, as indexing leaves it."""

from __future__ import annotations

from pathlib import Path

from dowse.ingest.sources.git_log import GitLog, PathChange
from dowse.model import COMMITS, Link, Record
from dowse.store.base import Store
from oracle.dict_store import DictStore

HISTORY = "project.git"


def stored(git_directory: Path) -> Store:
    """All of a repository, with everything a commit links to."""
    log, store = GitLog(git_directory, HISTORY), DictStore()
    store.writer.add_collection(str(git_directory), source=COMMITS, name=HISTORY)
    records = {it.path: it for it in log.commits()}
    for commit, changes in log.changes(records):
        put(store, records[commit], changes)
    return store


def put(store: Store, record: Record, changes: list[PathChange]) -> None:
    store.writer.put(record, (), links=[link for it in changes for link in links(it)])


def links(change: PathChange) -> list[Link]:
    touched = Link("touches", change.path, 0, change.status)
    return [touched, Link("renames", change.before, 0, change.path)] if change.before else [touched]
