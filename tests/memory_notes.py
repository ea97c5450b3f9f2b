"""Memories put into a store by hand, as their extractor would have read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dowse.model import Link, Record, Scope
from dowse.store.sqlite import SqliteStore

SCOPE = Scope(collections=("notes",), kinds=("memory",))


def memory(
    name: str,
    *,
    tags: Iterable[str] = (),
    at: float = 0.0,
    kind: str = "memory",
    collection: str = "notes",
    size: int = 10,
    **facets: str,
) -> Record:
    return Record(
        collection, name, kind, name, size, 1, "digest", "1", tags=tuple(tags), facets=facets, at_ns=int(at * 1e9)
    )


def store_of(folder: Path, notes: Sequence[tuple[Record, Iterable[Link]]]) -> SqliteStore:
    store = SqliteStore(folder / "index.db")
    for name in dict.fromkeys(record.collection for record, _ in notes):
        store.writer.add_collection(f"/{name}", name=name)
    for record, links in notes:
        store.writer.put(record, (), links=tuple(links))
    return store


def to(target: str, kind: str, line: int = 1, context: str = "") -> Link:
    return Link(kind, target, line, context)
