"""The catalog of the store of dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from dowse.errors import BadInput
from dowse.model import (
    EVERYTHING,
    FILES,
    Call,
    Collection,
    Counts,
    Glance,
    Link,
    Record,
    Scope,
    Skipped,
    Stored,
    Symbol,
    Version,
)
from dowse.store.base import UNENCODED, Piece
from dowse.store.dicts.state import Entry, Row
from dowse.store.dicts.vectors import DictVectors
from dowse.store.dicts.words import DictWords

if TYPE_CHECKING:
    pass

Value = TypeVar("Value")


class DictCatalog(DictWords, DictVectors):
    """On top of its indexes, which follow what comes and goes."""

    def batch(self, text_bytes: int = 0) -> AbstractContextManager[object]:
        return nullcontext()  # nothing of it outlives a crash anyway

    def collections(self) -> list[Collection]:
        return list(self._collections.values())

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        for known in self._collections.values():
            if known.root == root:
                return known
        base = name or PurePath(root).name or "root"
        candidates = (base if number == 1 else f"{base}-{number}" for number in range(1, len(self._collections) + 2))
        free = next(candidate for candidate in candidates if candidate not in self._collections)
        self._collections[free] = Collection(free, root, source=source)
        return self._collections[free]

    def move_collection(self, name: str, root: str) -> None:
        if any(it.root == root for it in self._collections.values()):
            raise BadInput(f"{root} is indexed already; a root can not be moved there")
        self._collections[name] = replace(self._collections[name], root=root)
        self._revision += 1

    def remove_collection(self, name: str) -> None:
        self._collections.pop(name, None)
        self._skipped = {key: it for key, it in self._skipped.items() if it.collection != name}
        self._revision += 1

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        before = self._collections[collection]
        moment = before.synced_at if at is None else at
        self._collections[collection] = replace(before, listed=listed, synced_at=moment)

    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        places = None if under is None else tuple(place.removesuffix("/") for place in under)
        mine = [
            entry.record
            for (name, path), entry in self._entries.items()
            if name == collection and (places is None or any(path == it or path.startswith(f"{it}/") for it in places))
        ]
        return {it.path: Version(it.size, it.mtime_ns, it.digest, it.chunking, it.settled) for it in mine}

    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
    ) -> None:
        before = {
            (row.digest, row.stored.chunk.text, row.stored.chunk.role): self._vectors_of(row.stored.key)
            for row in self._rows_of(record.collection, record.path)
        }
        self.drop(record.collection, [record.path])
        self._skipped.pop((record.collection, record.path), None)
        self._entries[record.collection, record.path] = Entry(record, tuple(symbols), tuple(links), tuple(calls), text)
        for piece in pieces:
            stored = Stored(self._next_key, piece.chunk, record)
            self._rows[self._next_key] = Row(stored, piece.digest, self._columns(stored))
            for index, vector in before.get((piece.digest, piece.chunk.text, piece.chunk.role), ()):
                index.rows[self._next_key] = vector
            self._next_key += 1
        self._revision += 1

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None:
        entry = self._entries[collection, path]
        entry.record = replace(entry.record, size=size, mtime_ns=mtime_ns, settled=settled)
        for row in self._rows_of(collection, path):
            row.stored = replace(row.stored, record=entry.record)
        self._revision += 1

    def drop(self, collection: str, paths: Iterable[str]) -> int:
        dropped = 0
        for path in paths:
            for row in self._rows_of(collection, path):
                del self._rows[row.stored.key]
                for index in (self._answering, self._next):
                    index.rows.pop(row.stored.key, None)
            dropped += self._entries.pop((collection, path), None) is not None
        self._revision += dropped
        return dropped

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        if drop:
            self.drop(skipped.collection, [skipped.path])
        self._skipped[skipped.collection, skipped.path] = skipped

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        for path in paths:
            self._skipped.pop((collection, path), None)

    def kinds(self) -> frozenset[str]:
        return frozenset(entry.record.kind for entry in self._entries.values())

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        order = list(self._collections)
        records = (entry.record for entry in self._entries.values() if name in entry.record.facets)
        found = sorted(records, key=lambda it: (order.index(it.collection), it.path))
        return [(it.collection, it.path, it.facets[name]) for it in found]

    def skipped(self) -> list[Skipped]:
        order = list(self._collections)
        return sorted(self._skipped.values(), key=lambda it: (order.index(it.collection), it.path))

    def load(self, keys: Sequence[int]) -> list[Stored]:
        return [self._rows[key].stored for key in keys if key in self._rows]

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        return {it.key: (it.record.collection, it.record.path, it.chunk.ordinal) for it in self.load(keys)}

    def kinds_of(self, keys: Sequence[int]) -> dict[int, str]:
        return {it.key: it.record.kind for it in self.load(keys)}

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        return {it.key: len(it.chunk.text) for it in self.load(keys)}

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        return [it for it in self._in_order() if it.chunk_id == chunk_id and _in(it.record, collection)]

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        order = list(self._collections)
        found = [it.record for it in self._entries.values() if it.record.path == path and _in(it.record, collection)]
        return sorted(found, key=lambda it: order.index(it.collection))

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        within = self._within(scope)
        return [it.record for it in self._newest_first() if within(it.record)][:limit]

    def glances(self, scope: Scope, facets: Sequence[str]) -> list[Glance]:
        return [
            Glance(it.path, it.title, it.moment_ns, tuple(it.facets.get(name, "") for name in facets))
            for it in self.select(scope)
        ]

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        found = self.linked(kinds, scope)
        return [(record.path, target) for record, links in found for target in {it.target: None for it in links}]

    def count(self, scope: Scope) -> int:
        return len(self.select(scope))

    def linking(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        return [
            (entry.record, link)
            for entry in self._newest_first()
            for link in entry.links
            if link.target in targets and (not kinds or link.kind in kinds)
        ]

    def parts_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        targets = {link.target for entry in self._entries.values() for link in entry.links if link.kind in kinds}
        return sorted(it for it in targets if it.endswith(f"#{name}"))

    def _newest_first(self) -> list[Entry]:
        by_place = sorted(self._entries.values(), key=lambda it: (it.record.collection, it.record.path))
        return sorted(by_place, key=lambda it: -it.record.moment_ns)

    def chunks(self, record: Record) -> list[Stored]:
        mine = [row.stored for row in self._rows_of(record.collection, record.path)]
        return sorted(mine, key=lambda it: it.chunk.ordinal)

    def symbols(self, record: Record) -> list[Symbol]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.symbols) if entry else []

    def links(self, record: Record) -> list[Link]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.links) if entry else []

    def calls(self, record: Record) -> list[Call]:
        entry = self._entries.get((record.collection, record.path))
        return list(entry.calls) if entry else []

    def text(self, record: Record) -> str:
        entry = self._entries.get((record.collection, record.path))
        return (entry.text or "") if entry else ""

    def linked(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        within = self._within(scope)
        entries = [entry for _, entry in sorted(self._entries.items()) if within(entry.record)]
        found = [(entry.record, [link for link in entry.links if link.kind in kinds]) for entry in entries]
        linking = {record.collection for record, links in found if links}
        return [(record, links) for record, links in found if record.collection in linking]

    def export(self) -> Iterator[Stored]:
        rows = (row.stored for row in self._rows.values())
        return iter(sorted(rows, key=lambda it: (it.record.collection, it.record.path, it.chunk.ordinal)))

    def sizes(self) -> dict[str, int]:
        return {name: sum(key[0] == name for key in self._entries) for name in self._collections}

    def counts(self, scope: Scope = EVERYTHING) -> Counts:
        within = self._within(scope)
        entries = [entry for entry in self._entries.values() if within(entry.record)]
        places = {(entry.record.collection, entry.record.path) for entry in entries}
        rows = {
            key: row
            for key, row in self._rows.items()
            if (row.stored.record.collection, row.stored.record.path) in places
        }
        return Counts(
            records=len(entries),
            chunks=len(rows),
            symbols=sum(len(entry.symbols) for entry in entries),
            links=sum(len(entry.links) for entry in entries),
            calls=sum(len(entry.calls) for entry in entries),
            vectors=len(self._answering.rows.keys() & rows.keys()),
            next_vectors=len(self._next.rows.keys() & rows.keys()),
            unencoded=sum(row.stored.chunk.role in UNENCODED for row in rows.values()),
        )

    def manifest(self) -> Mapping[str, str]:
        return dict(self._manifest)

    def note(self, key: str, value: str) -> None:
        self._manifest[key] = value

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        return self._worked_out.get(name, lambda: str(self._revision), make)


def _in(record: Record, collection: str | None) -> bool:
    return collection is None or record.collection == collection
