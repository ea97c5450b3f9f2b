"""The call graph of an index: worked out when asked, so that a changed file is right at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from dowse.lookup.calls.impact import Impact, Spans, impact
from dowse.lookup.calls.imports import IMPORT, import_spellings, imported, key_of
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.outlines import Outlines
from dowse.lookup.calls.question import CallQuery, CallTree
from dowse.lookup.calls.roots import Asked, Roots
from dowse.lookup.calls.structures import implementers
from dowse.lookup.calls.tree import call_tree
from dowse.lookup.calls.world import World
from dowse.lookup.symbols.question import Definition
from dowse.model import Link, Record
from dowse.store.base import Store
from dowse.store.call_facts import Place


class CallGraph:
    """Keeps outlines of files from one question to the next; safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outlines = Outlines()

    def calls(self, query: CallQuery) -> CallTree:
        with self._world() as world:
            return call_tree(world, query)

    def around(self, definition: Definition, query: CallQuery) -> CallTree:
        """The tree of exactly this definition, as far as the query says; empty if the file has it no more."""
        with self._world() as world:
            key = key_of(world, definition.record)
            is_there = key is not None and _is_at(world.catalogue.outline(key), definition)
            places = [Place(key, definition.ordinal)] if key is not None and is_there else []
            return call_tree(world, query, Asked(Roots(world).with_constructors(places), ()))

    def implementers(self, name: str, collections: Sequence[str] = ()) -> list[Definition]:
        """The types that have all methods of an interface of this name without naming it, by path."""
        with self._world() as world:
            return implementers(world, name, collections)

    def imported(self, record: Record, link: Link) -> Record | None:
        """The file that an import of the record means, if it means one that is indexed."""
        with self._world() as world:
            return imported(world, record, link)

    def importers(self, record: Record) -> list[tuple[Record, Link]]:
        """The files that import this one, each with the first of its imports that does."""
        found: dict[tuple[str, str], tuple[Record, Link]] = {}
        with self._world() as world:
            for home, link in self._store.linking(import_spellings(record.path), (IMPORT,)):
                place = (home.collection, home.path)
                if place not in found and imported(world, home, link) == record:
                    found[place] = (home, link)
        return list(found.values())

    def impact(self, changes: Mapping[str, Spans], query: CallQuery, collection: str | None = None) -> Impact:
        with self._world() as world:
            return impact(world, changes, query, collection)

    @contextmanager
    def _world(self) -> Iterator[World]:
        """What was worked out counts for one state of the records, which is the one that is read inside."""
        with self._store.moment():
            yield self._store.remembered("call graph", lambda: World(self._store, self._outlines))


def _is_at(outline: Outline, definition: Definition) -> bool:
    """Whether the file still has it there: it may have been indexed anew since it was looked up."""
    return outline.symbols[definition.ordinal : definition.ordinal + 1] == (definition.symbol,)
