"""Links of memories: what each means, and which of them mean a thing, read in one way in both directions.

A link means, in this order: a commit or memory where it says so; a memory by its path from where the link stands; a
file by its path, wherever that counts from; a memory by its name; the one file that a path without suffix or a bare
name can mean. Which memory a name means is decided by `text/memory_edges.py`, as for versions and rankings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dowse.lookup.called import COMMIT, said
from dowse.lookup.memories.known import known_in
from dowse.lookup.memories.linked import links_of
from dowse.lookup.memories.targets import Place, directory_of, place_of
from dowse.lookup.places import records_at
from dowse.lookup.why.question import Subject
from dowse.lookup.why.spellings import NEAR, concerns, speaks_of
from dowse.lookup.why.target import qualified
from dowse.model import COMMITS, FILES, MEMORIES, Collection, Link, Record, Scope
from dowse.store.base import Store
from dowse.text.globs import MAX_GLOB_CHARS, literal
from dowse.text.memory_edges import Known
from dowse.text.memory_names import named


@dataclass(frozen=True, slots=True)
class MemoryLinks:
    """What the memories of a store say, for one question: the collections, and the memories of each, by name."""

    store: Store
    collections: Mapping[str, Collection]
    memories: Mapping[str, Known]
    # Many memories may write the same name, and each is looked for among all files.
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
        files = tuple(it.name for it in self.collections.values() if it.source == FILES)
        glob = literal(place.path) + ".*" if place.is_bare else f"/{literal(place.path)}.*"
        is_path = bool(files) and len(glob) <= MAX_GLOB_CHARS
        alike = self.store.select(Scope(collections=files, paths=(glob,))) if is_path else []
        found = [it for it in alike if Place(it.path).is_said_by(place) and self._may_mean(teller, place, it)]
        return found if len(found) == 1 else []

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
        full = qualified(subject.definition) if subject.definition else ""
        for teller, link in self._all():
            if teller == record:
                continue
            if self._perhaps(teller, link.target, record) and record in self.meant(teller, link.target):
                near = concerns(subject, self.place(teller, link.target).part)
                if near is not None:
                    yield near, teller, link
            elif link.target == full and speaks_of(self.store, teller.collection, record):
                yield NEAR, teller, link

    def _perhaps(self, teller: Record, target: str, record: Record) -> bool:
        """Most are told apart by that, without asking the store."""
        source = self.collections[record.collection].source
        if source == COMMITS:
            return record.path[:4] in target.lower()
        if source == MEMORIES and teller.collection == record.collection:
            known = self.memories[teller.collection]
            if record in (known.find(target, teller.path), known.beside(target, teller.path)):
                return True
        return Place(record.path).last().stem in target

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


def _one(record: Record | None) -> list[Record]:
    return [record] if record else []
