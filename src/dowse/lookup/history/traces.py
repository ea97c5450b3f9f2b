"""What the store knows of the names of files in one history."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from dowse.lookup.history.question import COMMIT, PARENTS, RENAMES, TOUCHES, of_moment
from dowse.model import Link, Record, Scope
from dowse.store.base import Store

_RENAMED = "R"


class StoredTraces:
    """Made for one question, because it keeps what was read for that."""

    def __init__(self, store: Store, history: str) -> None:
        self._store = store
        self._history = history
        self._scope = Scope(collections=(history,), kinds=(COMMIT,))
        self._read: dict[str, list[tuple[Record, Link]]] = {}

    def touching(self, name: str) -> AbstractSet[str]:
        return {record.path for record, link in self._links(name) if link.kind == TOUCHES}

    def arrivals(self, name: str) -> Mapping[str, str]:
        found = ((record, self._name_before(record, name)) for record, link in self._links(name) if _renamed(link))
        return {record.path: before for record, before in found if before}

    def departures(self, name: str) -> AbstractSet[str]:
        return {record.path for record, link in self._links(name) if link.kind == RENAMES}

    def parents(self) -> Mapping[str, tuple[str, ...]]:
        """Read once for each state of the index: of a long history it takes a while."""
        return self._store.remembered(f"parents in {self._history}", lambda: self._parents(self._scope))

    def parents_at(self, moment_ns: int) -> Mapping[str, tuple[str, ...]]:
        return self._parents(of_moment(self._scope, moment_ns))

    def _parents(self, scope: Scope) -> Mapping[str, tuple[str, ...]]:
        return {it.path: tuple(it.facets[0].split()) for it in self._store.glances(scope, (PARENTS,))}

    def _links(self, name: str) -> list[tuple[Record, Link]]:
        if name not in self._read:
            found = self._store.linking((name,), (TOUCHES, RENAMES))
            self._read[name] = [(record, link) for record, link in found if record.collection == self._history]
        return self._read[name]

    def _name_before(self, record: Record, name: str) -> str:
        links = self._store.links(record)
        return next((it.target for it in links if it.kind == RENAMES and it.context == name), "")


def _renamed(link: Link) -> bool:
    return link.kind == TOUCHES and link.context.startswith(_RENAMED)
