"""Links of memories: what each means, and which of them mean a thing, read in one way in both directions.

A link means, in this order: a commit or memory where it says so; a memory by its path from where the link stands; a
file by its path, wherever that counts from; a memory by its name; the one file that a path without suffix or a bare
name can mean. Which memory a name means is decided by `text/memory_edges.py`, as for versions and rankings.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field

from dowse.lookup.below import below
from dowse.lookup.called import COMMIT, said
from dowse.lookup.memories.known import known_in
from dowse.lookup.memories.linked import links_of
from dowse.lookup.memories.targets import Place, directory_of, place_of
from dowse.lookup.places import records_at
from dowse.lookup.stems import stems
from dowse.lookup.why.question import Subject
from dowse.lookup.why.spellings import NEAR, concerns, speaks_of
from dowse.lookup.why.target import qualified
from dowse.model import COMMITS, FILES, MEMORIES, Collection, Link, Record, Scope, normal_path
from dowse.store.base import Store
from dowse.text.memory_edges import Known
from dowse.text.memory_names import named


@dataclass(frozen=True, slots=True)
class MemoryLinks:
    """What the memories of a store say, for one question: the collections, and the memories of each, by name."""

    store: Store
    collections: Mapping[str, Collection]
    memories: Mapping[str, Known]
    # Many memories may write the same name.
    guessed: dict[tuple[str, Place], list[Record]] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store) -> MemoryLinks:
        collections = {it.name: it for it in store.collections()}
        folders = [it.name for it in collections.values() if it.source == MEMORIES]
        return cls(store, collections, {it: known_in(store, it) for it in folders})

    # --- from a link to what it means ---

    def meant(self, teller: Record, target: str) -> list[Record]:
        """The records that a link of this memory may mean; none for a ghost."""
        text, known = target.strip(), self.memories[teller.collection]
        if text.lower().startswith(COMMIT):
            return said(self.store, text)
        if named(text):
            return _one(known.find(text, teller.path))
        return (
            _one(known.beside(text, teller.path))
            or self._at(teller, text)
            or _one(known.find(text, teller.path))
            or self._loosely(teller, text)
        )

    def place(self, teller: Record | None, target: str) -> Place:
        """The target in the one form that spellings of a path are brought into."""
        here = directory_of(self.collections[teller.collection].root, teller.path) if teller else ""
        return place_of(target, [it.root for it in self.collections.values() if it.source == FILES], here)

    def _at(self, teller: Record, target: str) -> list[Record]:
        place = self.place(teller, target)
        for path in dict.fromkeys((target.partition("#")[0], place.path)):
            if found := [it for it in records_at(self.store, path) if self._may_mean(teller, place, it)]:
                return found
        return []

    def _loosely(self, teller: Record, target: str) -> list[Record]:
        """What is written without its suffix, if that is one file only."""
        place = self.place(teller, target)
        if place.suffix or place.path.startswith((".", "/")) or "://" in target:
            return []
        asked = teller.collection, place
        if asked not in self.guessed:
            self.guessed[asked] = self._only_one(teller, place)
        return self.guessed[asked]

    def _only_one(self, teller: Record, place: Place) -> list[Record]:
        alike = stems(self.store).get(place.path, ())
        of_each = {it.collection: it for it in alike}.values()  # one stands for all of its root
        records = [record for it in of_each for record in self.store.records(it.path, it.collection)]
        roots = {it.collection for it in records if self._may_mean(teller, place, it)}
        found = [it for it in alike if it.collection in roots]
        return self.store.records(found[0].path, found[0].collection) if len(found) == 1 else []

    def _may_mean(self, teller: Record, place: Place, record: Record) -> bool:
        if place.root:
            return self.collections[record.collection].root == place.root
        return speaks_of(self.store, teller.collection, record)

    # --- from a thing to the links that mean it ---

    def to(self, subject: Subject) -> list[tuple[Record, Link]]:
        """The most particular first, then the newest; of what is not indexed, those that are written alike."""
        found = list(self._to_ghost(subject.name) if subject.record is None else self._to(subject, subject.record))
        return [(teller, link) for _, teller, link in sorted(found, key=lambda it: it[0])]

    def _to(self, subject: Subject, record: Record) -> Iterator[tuple[int, Record, Link]]:
        full, ways = qualified(subject.definition) if subject.definition else "", self._ways(record)
        for teller, link in self._all():
            if teller == record:
                continue
            if self._perhaps(teller, link.target, record, ways) and record in self.meant(teller, link.target):
                near = concerns(subject, self.place(teller, link.target).part)
                if near is not None:
                    yield near, teller, link
            elif link.target == full and speaks_of(self.store, teller.collection, record):
                yield NEAR, teller, link

    def _perhaps(self, teller: Record, target: str, record: Record, ways: Set[str]) -> bool:
        """Most are told apart by that, without asking the store."""
        source = self.collections[record.collection].source
        if source == COMMITS:
            return record.path[:4] in target.lower()
        if source == MEMORIES and teller.collection == record.collection:
            known = self.memories[teller.collection]
            if record in (known.find(target, teller.path), known.beside(target, teller.path)):
                return True
        return Place(record.path).last().stem in target and self._is_written(teller, target, record, ways)

    def _is_written(self, teller: Record, target: str, record: Record, ways: Set[str]) -> bool:
        """Whether it is one of these ways to the record, or its name without the suffix."""
        place = self.place(teller, target)
        written = {_normal(target.strip().partition("#")[0]), _normal(place.path)}
        return not ways.isdisjoint(written) or (not place.suffix and Place(record.path).is_said_by(place))

    def _ways(self, record: Record) -> frozenset[str]:
        """Every path that means it, whatever that counts from."""
        around = [it.way for it in below(self.collections.values()) if it.collection == record.collection]
        return frozenset(
            _normal(f"{it}/{record.path}") for it in (".", self.collections[record.collection].root, *around)
        )

    def _to_ghost(self, name: str) -> Iterator[tuple[int, Record, Link]]:
        wanted, memory = self.place(None, name), named(name)
        for teller, link in self._all():
            if memory or wanted.last().path in link.target:
                written = self.place(teller, link.target)
                is_alike = named(link.target) == memory if memory else written.path == wanted.path
                if is_alike and wanted.part in ("", written.part):
                    yield 0, teller, link

    def _all(self) -> Iterator[tuple[Record, Link]]:
        scope = Scope(collections=tuple(self.memories), kinds=("memory",))
        for teller, links in links_of(self.store, scope) if self.memories else ():
            yield from ((teller, link) for link in links)


def _normal(path: str) -> str:
    return posixpath.normpath(normal_path(path))


def _one(record: Record | None) -> list[Record]:
    return [record] if record else []
