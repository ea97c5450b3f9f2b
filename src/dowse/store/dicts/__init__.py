"""A store of dicts: slow, plain, and the oracle that every other backend is compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from dowse.store.dicts.calls import DictCalls
from dowse.store.dicts.catalog import DictCatalog
from dowse.store.dicts.definitions import DictDefinitions
from dowse.store.dicts.lines import found_lines, lines_of
from dowse.store.health import AlwaysSound, Progress
from dowse.store.texts import FoundLines, LineQuery


class DictStore(AlwaysSound, DictCatalog, DictDefinitions, DictCalls):
    def find_lines(self, query: LineQuery) -> FoundLines:
        is_inside = self._within(query.scope)
        within = [name for name, entry in self._entries.items() if is_inside(entry.record)]
        texts = {name: entry.text for name, entry in self._entries.items() if entry.text is not None}
        return found_lines(texts, [name for name in within if name in texts], query)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        entry = self._entries.get((collection, path))
        lines = lines_of(entry.text or "") if entry else []
        return [tuple(lines[max(first, 1) - 1 : max(last, 0)]) for first, last in spans]

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        yield

    def waited_for(self) -> bool:
        return False

    def tidy(self, progress: Progress) -> None:
        pass

    def settle(self) -> None:
        pass

    def close(self) -> None:
        pass
