"""The call graph of an index: worked out when asked, so that a changed file is right at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dowse.lookup.calls.impact import Impact, Spans, impact
from dowse.lookup.calls.outlines import Outlines
from dowse.lookup.calls.question import CallQuery, CallTree
from dowse.lookup.calls.tree import call_tree
from dowse.lookup.calls.world import World
from dowse.store.base import Store


class CallGraph:
    """Keeps outlines of files from one question to the next; safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._outlines = Outlines()

    def calls(self, query: CallQuery) -> CallTree:
        with self._world() as world:
            return call_tree(world, query)

    def impact(self, changes: Mapping[str, Spans], query: CallQuery, collection: str | None = None) -> Impact:
        with self._world() as world:
            return impact(world, changes, query, collection)

    @contextmanager
    def _world(self) -> Iterator[World]:
        """What was worked out counts for one state of the records, which is the one that is read inside."""
        with self._store.moment():
            yield self._store.remembered("call graph", lambda: World(self._store, self._outlines))
