"""The call graph of an index: worked out when asked, so that a changed file is right at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dowse.lookup.calls.impact import Impact, Spans, impact
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.outlines import Outlines
from dowse.lookup.calls.question import CallQuery, CallTree
from dowse.lookup.calls.roots import Asked, Roots
from dowse.lookup.calls.tree import call_tree
from dowse.lookup.calls.world import World
from dowse.lookup.symbols.question import Definition
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

    def callers(self, definition: Definition, query: CallQuery) -> CallTree:
        """Who calls exactly this definition; the query says how far and how surely. Nobody, if it is there no more."""
        record = definition.record
        with self._world() as world:
            files = world.catalogue.files_named(record.path.rpartition("/")[2])
            mine = [it.key for it in files if (it.collection, it.path) == (record.collection, record.path)]
            places = [
                Place(key, definition.ordinal) for key in mine if _is_at(world.catalogue.outline(key), definition)
            ]
            return call_tree(world, query, Asked(Roots(world).with_constructors(places), ()))

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
