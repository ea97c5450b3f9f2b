"""What the call graph is worked out from, in the store of dicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dowse.model import (
    Symbol,
)
from dowse.store.call_facts import Facts, FileName, Named, Place, Site
from dowse.store.dicts.state import Entry, State
from dowse.text.expressions import split_passed
from dowse.text.names import last_name

if TYPE_CHECKING:
    pass


class DictCalls(State):
    @contextmanager
    def moment(self) -> Iterator[None]:
        yield

    def stamps(self, keys: Sequence[int]) -> dict[int, str]:
        return {
            key: f"{it.collection}/{it.path} {it.digest} {it.chunking} {it.mtime_ns}"
            for key, it in ((key, entry.record) for key, entry in self._keyed() if key in keys)
        }

    def facts(self, keys: Sequence[int]) -> list[Facts]:
        return [
            Facts(key, it.record, it.symbols, tuple(link for link in it.links if link.kind == "import"))
            for key, it in self._keyed()
            if key in keys
        ]

    def files_named(self, name: str) -> list[FileName]:
        found = ((key, it.record) for key, it in self._keyed() if it.record.path.rpartition("/")[2] == name)
        return [FileName(key, it.collection, self._collections[it.collection].root, it.path) for key, it in found]

    def named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[Named]:
        folded = {name.lower() for name in names}
        found = [
            it
            for it, symbol in self._definitions()
            if it.name.lower() in folded
            and (not kinds or it.kind in kinds)
            and (within is None or it.place.record in within)
            and (not modifier or modifier in symbol.modifiers)
        ]
        return found[: limit or None]

    def extending(self, names: Sequence[str]) -> list[Named]:
        folded = {name.lower() for name in names}
        return [it for it, symbol in self._definitions() if not folded.isdisjoint(map(last_name, symbol.bases))]

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        imports = (link for entry in self._entries.values() for link in entry.links if link.kind == "import")
        parts = (it.context.partition("=") for it in imports if it.target in targets)
        return sorted({local for local, _, imported in parts if imported == member})

    def sites(self, names: Sequence[str], limit: int) -> list[Site]:
        found = [it for key, _ in self._keyed() for it in self.sites_in(key) if it.name in names]
        return found[:limit]

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[Site]:
        calls = dict(self._keyed())[key].calls
        found = [
            Site(key, place, it.name, callee, it.line, it.symbol, it.arguments, it.kind, passed)
            for place, it in enumerate(calls)
            for callee, passed in [split_passed(it.callee)]
            if (not kind or it.kind == kind) and having in it.callee
        ]
        return sorted(found, key=lambda it: (it.line, it.ordinal))

    def _keyed(self) -> list[tuple[int, Entry]]:
        """Every record with a key, ordered by collection and path."""
        return [(key, entry) for key, (_, entry) in enumerate(sorted(self._entries.items()), 1)]

    def _definitions(self) -> Iterator[tuple[Named, Symbol]]:
        for key, entry in self._keyed():
            trails: list[tuple[str, ...]] = []
            for ordinal, it in enumerate(entry.symbols):
                trails.append(() if it.parent is None else (*trails[it.parent], entry.symbols[it.parent].name))
                place, record = Place(key, ordinal), entry.record
                yield Named(place, it.name, it.kind, trails[-1], record.collection, record.path), it
