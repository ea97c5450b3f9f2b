"""What the store knows of the names of files in one history."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from dowse.lookup.history.question import PARENTS, RENAMES, TOUCHES
from dowse.model import Link, Record, Scope
from dowse.store.base import Store

_RENAMED = "R"


class StoredTraces:
    def __init__(self, store: Store, history: str) -> None:
        self._store = store
        self._history = history

    def touching(self, name: str) -> AbstractSet[str]:
        return {record.path for record, _ in self._links(name, TOUCHES)}

    def arrivals(self, name: str) -> Mapping[str, str]:
        renamed = [record for record, link in self._links(name, TOUCHES) if link.context.startswith(_RENAMED)]
        return {record.path: before for record in renamed if (before := self._name_before(record, name))}

    def departures(self, name: str) -> AbstractSet[str]:
        return {record.path for record, _ in self._links(name, RENAMES)}

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Read once for each state of the index: of a long history it takes a while."""
        return self._store.remembered(f"parents in {self._history}", self._read_parents)

    def _read_parents(self) -> Mapping[str, tuple[str, ...]]:
        commits = self._store.select(Scope(collections=(self._history,)))
        return {it.path: tuple(it.facets.get(PARENTS, "").split()) for it in commits}

    def _links(self, name: str, kind: str) -> list[tuple[Record, Link]]:
        found = self._store.linking((name,), (kind,))
        return [(record, link) for record, link in found if record.collection == self._history]

    def _name_before(self, record: Record, name: str) -> str:
        links = self._store.links(record)
        return next((it.target for it in links if it.kind == RENAMES and it.context == name), "")
