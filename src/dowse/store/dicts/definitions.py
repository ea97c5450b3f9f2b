"""Definitions of the dict store: every symbol is looked at, so that it is plain what the answer must be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dowse.model import IN_FILES, Record, Scope, Symbol
from dowse.store.definitions import HEADING, TYPES, Definition, FileFacts, Found, Named, Wanted
from dowse.store.dicts.state import State
from dowse.text.matching import EXACT, nearness, regex_search
from dowse.text.names import last_name


class DictDefinitions(State):
    """Over the entries of a store of dicts."""

    def definitions(self, wanted: Wanted) -> Found:
        near, fits = _near(wanted), _fits(wanted, self._within(wanted.scope))
        before = [it for it in self._all() if near(it.symbol.name.lower()) is not None and fits(it)]
        enough = [it for it in before if all(_reaches(it, name, bound) for name, bound in wanted.least.items())]

        def rank(it: Definition) -> tuple[object, ...]:
            name, size = it.symbol.name.lower(), measure(it, wanted.order) if wanted.order else None
            place = (it.record.path, it.symbol.start_line, it.record.collection, it.ordinal)
            return (size is None, -(size or 0), near(name), it.symbol.kind not in TYPES, len(name), name, *place)

        ranked = sorted(enough, key=rank)
        return Found(ranked[: wanted.limit or None], len(enough), len(before))

    def around(self, record: Record, line: int) -> list[Definition]:
        mine = [it for it in self._all() if (it.record.collection, it.record.path) == (record.collection, record.path)]
        holding = [it for it in mine if it.symbol.start_line <= line <= it.symbol.end_line]
        return sorted(holding, key=lambda it: (it.symbol.end_line - it.symbol.start_line, -it.ordinal))

    def defined_in(self, keys: Sequence[int]) -> dict[int, tuple[Named, ...]]:
        found: dict[int, tuple[Named, ...]] = {}
        for key in (it for it in keys if it in self._rows):
            stored = self._rows[key].stored
            place, lines = (stored.record.collection, stored.record.path), stored.chunk
            found[key] = tuple(
                Named(it.symbol.name, it.symbol.kind)
                for it in self._all()
                if (it.record.collection, it.record.path) == place
                and lines.start_line <= it.symbol.start_line <= lines.end_line
            )
        return found

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        inside = self._within(scope)
        found = [it for it in self._all() if it.symbol.name in names and inside(it.record)]
        found.sort(
            key=lambda it: (it.symbol.kind not in TYPES, it.record.path, it.symbol.start_line, it.record.collection)
        )
        keys = [
            key
            for it in found
            for key, row in self._rows.items()
            if (row.stored.record.collection, row.stored.record.path) == (it.record.collection, it.record.path)
            and row.stored.chunk.start_line <= it.symbol.start_line <= row.stored.chunk.end_line
        ]
        return list(dict.fromkeys(keys[:limit]))

    def definition_kinds(self) -> frozenset[str]:
        return frozenset(it.symbol.kind for it in self._all())

    def definition_count(self) -> int:
        return len(self._all())

    def record_count(self) -> int:
        return len(self.files())

    def files(self) -> list[FileFacts]:
        records = [entry.record for entry in self.entries() if entry.record.kind in IN_FILES]
        facts = [FileFacts(it.collection, it.path, it.size, it.facets) for it in records]
        return sorted(facts, key=lambda it: (it.collection, it.path))

    def defining(self) -> set[tuple[str, str]]:
        return {(it.record.collection, it.record.path) for it in self._all()}

    def lossy(self) -> set[tuple[str, str]]:
        return {(it.record.collection, it.record.path) for it in self.entries() if "\ufffd" in (it.text or "")}

    def _all(self) -> list[Definition]:
        return [
            Definition(entry.record, place, symbol, _trail(entry.symbols, place))
            for entry in self.entries()
            for place, symbol in enumerate(entry.symbols)
            if symbol.kind != HEADING
        ]


def measure(definition: Definition, name: str) -> int | None:
    symbol = definition.symbol
    if name == "lines":
        return symbol.end_line - symbol.start_line + 1
    return None if symbol.stats is None else int(getattr(symbol.stats, name))


def _reaches(definition: Definition, name: str, bound: int) -> bool:
    size = measure(definition, name)
    return size is not None and size >= bound


def _trail(symbols: Sequence[Symbol], place: int) -> tuple[str, ...]:
    """A parent precedes its children; what does not is none."""
    parent = symbols[place].parent
    if parent is None or not 0 <= parent < place:
        return ()
    return (*_trail(symbols, parent), symbols[parent].name)


def _near(wanted: Wanted) -> Callable[[str], int | None]:
    asked = [name.lower() for name in wanted.names]
    if not asked:
        return lambda name: EXACT
    if wanted.matching == "exact":
        return lambda name: EXACT if name in asked else None
    if wanted.matching == "regex":
        searches = [regex_search(pattern, ignore_case=True) for pattern in wanted.names]
        return lambda name: EXACT if any(search(name) for search in searches) else None
    return lambda name: nearness(name, asked)


def _fits(wanted: Wanted, is_inside: Callable[[Record], bool]) -> Callable[[Definition], bool]:
    modifiers = {it.lower() for it in wanted.modifiers}

    def fits(it: Definition) -> bool:
        symbol = it.symbol
        return (
            (not wanted.kinds or symbol.kind in wanted.kinds)
            and (not wanted.base or last_name(wanted.base) in map(last_name, symbol.bases))
            and (not wanted.attribute or last_name(wanted.attribute) in map(last_name, symbol.attributes))
            and (not wanted.parent or wanted.parent.lower() in it.parent.lower())
            and modifiers <= {it.lower() for it in symbol.modifiers}
            and is_inside(it.record)
            and (wanted.wanted is None or wanted.wanted(it.record.path))
        )

    return fits
