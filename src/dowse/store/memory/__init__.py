"""A store of dicts: slow, plain, and the oracle that every other backend is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dowse.store.health import AlwaysSound
from dowse.store.memory.calls import MemoryCalls
from dowse.store.memory.catalog import MemoryCatalog
from dowse.store.memory.definitions import MemoryDefinitions
from dowse.store.memory.lines import found_lines, lines_of
from dowse.store.texts import FoundLines, LineQuery
from dowse.text.scopes import inside


class MemoryStore(AlwaysSound, MemoryCatalog, MemoryDefinitions, MemoryCalls):
    def find_lines(self, query: LineQuery) -> FoundLines:
        is_inside = inside(query.scope)
        within = [name for name, entry in self._entries.items() if is_inside(entry.record)]
        return found_lines({name: entry.text for name, entry in self._entries.items()}, within, query)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        entry = self._entries.get((collection, path))
        lines = lines_of(entry.text) if entry else []
        return [tuple(lines[max(first, 1) - 1 : max(last, 0)]) for first, last in spans]

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        yield

    def waited_for(self) -> bool:
        return False

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass
