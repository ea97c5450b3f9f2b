"""Definitions in SQLite: the narrowest index gives candidates, they are ranked as light rows, the best are loaded."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from dowse.model import IN_FILES, Record, Scope, Symbol
from dowse.store.definitions import HEADING, TYPES, Definition, FileFacts, Found, Named, Wanted
from dowse.store.sqlite.candidates import MEASURES, Candidates, candidates
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.rows import (
    RECORD_COLUMNS,
    RECORDS,
    SYMBOL_COLUMNS,
    as_json,
    facets_of,
    packed_has,
    record_of,
    symbol_of,
)
from dowse.store.sqlite.symbol_names import Name, as_lines, matching_names, names_with
from dowse.text.matching import PART, PREFIX

_MOST_CHUNKS = 100_000  # whose names are kept
_DEFINED_IN = (
    "SELECT chunks.id, symbols.name, symbols.kind FROM json_each(?) AS picked CROSS JOIN chunks CROSS JOIN symbols "
    "WHERE chunks.id = picked.value AND symbols.record = chunks.record AND symbols.kind != ? "
    "AND symbols.start_line BETWEEN chunks.start_line AND chunks.end_line"
)
_CHUNKS_DEFINING = (
    "SELECT chunks.id FROM json_each(?) AS named CROSS JOIN symbols CROSS JOIN records CROSS JOIN collections "
    "CROSS JOIN chunks WHERE symbols.folded = lower(named.value) AND symbols.name = named.value "
    "AND symbols.kind != ? AND records.id = symbols.record AND collections.id = records.collection{within} "
    "AND chunks.record = symbols.record AND symbols.start_line BETWEEN chunks.start_line AND chunks.end_line "
    "ORDER BY symbols.kind NOT IN ({types}), records.path, symbols.start_line, collections.name LIMIT ?"
)
_GROUPED = 3  # columns of a group
_TYPES = ", ".join(f"'{kind}'" for kind in TYPES)

_RECORD = 21  # the column of what is loaded where the record begins
_LOADED = f"symbols.record, symbols.ordinal, {SYMBOL_COLUMNS}, {RECORD_COLUMNS}"
_PICKED = (
    "json_each(?) AS picked CROSS JOIN symbols CROSS JOIN records CROSS JOIN collections "
    "WHERE symbols.record = picked.value ->> 0 AND symbols.ordinal = picked.value ->> 1 "
    "AND records.id = symbols.record AND collections.id = records.collection"
)
# Climbs from each picked symbol's parent upwards. A parent precedes its children, or the climb ends.
_AROUND = """
WITH RECURSIVE climb (place, record, at, height) AS (
  SELECT picked.key, picked.value ->> 0, picked.value ->> 1, 0 FROM json_each(?) AS picked
  UNION ALL
  SELECT climb.place, climb.record, symbols.parent, climb.height + 1 FROM climb CROSS JOIN symbols
  WHERE symbols.record = climb.record AND symbols.ordinal = climb.at AND symbols.parent < symbols.ordinal
)
SELECT climb.place, symbols.name FROM climb CROSS JOIN symbols
WHERE symbols.record = climb.record AND symbols.ordinal = climb.at
ORDER BY climb.place, climb.height DESC
"""


class SqliteDefinitions(SqliteCatalog):
    def definitions(self, wanted: Wanted) -> Found:
        with self.db.moment():
            names = matching_names(self.db, self._damage, wanted, self._name_lines) if wanted.names else None
            best = self._best(wanted, names)
            total = self._count_of(wanted, names) if len(best) == wanted.limit else len(best)
            before = self._count_of(replace(wanted, least={}), names) if wanted.least else total
            return Found(self._load(best), total, before)

    def around(self, record: Record, line: int) -> list[Definition]:
        with self.db.moment():
            rows = self.db.rows(
                f"SELECT {_LOADED} FROM collections CROSS JOIN records CROSS JOIN symbols "
                "WHERE collections.name = ? AND records.collection = collections.id AND records.path = ? "
                "AND symbols.record = records.id AND symbols.kind != ? AND start_line <= ? AND end_line >= ? "
                "ORDER BY end_line - start_line, symbols.ordinal DESC",
                (record.collection, record.path, HEADING, line, line),
            )
            return self._with_trails(rows)

    def defined_in(self, keys: Sequence[int]) -> dict[int, tuple[Named, ...]]:
        """Kept for each state of the records, because the same chunks are candidates again and again."""
        known: dict[int, tuple[Named, ...]] = self.remembered("names defined in chunks", dict)
        if unknown := [key for key in keys if key not in known]:
            if len(known) > _MOST_CHUNKS:
                known.clear()
            found: defaultdict[int, list[Named]] = defaultdict(list)
            for key, name, kind in self.db.rows(_DEFINED_IN, (as_json(unknown), HEADING)):
                found[key].append(Named(name, kind))
            known |= {key: tuple(found[key]) for key in unknown}
        return {key: known.get(key, ()) for key in keys}

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        condition, values = self._scopes.condition(scope, as_they_come=True)
        statement = _CHUNKS_DEFINING.format(within=f" AND {condition}" if condition else "", types=_TYPES)
        rows = self.db.rows(statement, (as_json(names), HEADING, *values, limit))
        return list(dict.fromkeys(row[0] for row in rows))

    def definition_kinds(self) -> frozenset[str]:
        statement = "SELECT DISTINCT kind FROM symbols WHERE kind != ?"
        return self.remembered(
            "definition kinds", lambda: frozenset(row[0] for row in self.db.rows(statement, (HEADING,)))
        )

    def definition_count(self) -> int:
        statement = "SELECT (SELECT count(*) FROM symbols) - (SELECT count(*) FROM symbols WHERE kind = 'heading')"
        return self.remembered("definitions", lambda: int(self.db.rows(statement)[0][0]))

    def record_count(self) -> int:
        return self.count(Scope(kinds=IN_FILES))

    def files(self) -> list[FileFacts]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path, records.size, records.facets FROM {RECORDS} "
            "WHERE records.kind IN (SELECT value FROM json_each(?)) ORDER BY collections.name, records.path",
            (as_json(list(IN_FILES)),),
        )
        known = {text: facets_of(text) for text in {row[3] for row in rows}}  # few differ
        return [FileFacts(name, path, size, known[facets]) for name, path, size, facets in rows]

    def defining(self) -> set[tuple[str, str]]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path FROM {RECORDS} "
            "WHERE EXISTS (SELECT 1 FROM symbols WHERE symbols.record = records.id AND symbols.kind != ?)",
            (HEADING,),
        )
        return {(name, path) for name, path in rows}

    def lossy(self) -> set[tuple[str, str]]:
        rows = self.db.rows(f"SELECT records.id, collections.name, records.path FROM {RECORDS}")
        return {(name, path) for key, name, path in rows if self._is_lossy(key)}

    def _is_lossy(self, record: int) -> bool:
        rows = self.db.rows("SELECT body FROM texts WHERE record = ?", (record,))
        return any(packed_has(body, "\ufffd") for (body,) in rows)

    def _name_lines(self) -> bytes:
        return self.remembered("symbol names", lambda: as_lines(self.db))

    def _candidates(self, wanted: Wanted, names: Sequence[str] | None) -> Candidates:
        owners = lambda: [it.text for it in names_with(self.db, self._damage, wanted.parent.lower())]  # noqa: E731
        return candidates(self.db.reader(), wanted, names, owners, self._scopes.condition(wanted.scope))

    def _count_of(self, wanted: Wanted, names: Sequence[Name] | None) -> int:
        chosen = self._candidates(wanted, _texts(names))
        return int(self.db.rows(f"SELECT count(*) {chosen.sql}", chosen.values)[0][0])

    def _best(self, wanted: Wanted, names: Sequence[Name] | None) -> list[Row]:
        """Groups of equally good ones in order, and where they are; paths and lines decide within a group."""
        chosen = self._candidates(wanted, _texts(names))
        rows = self.db.rows(
            f"SELECT {_columns(wanted)} {chosen.sql} ORDER BY {_order(wanted, names)} LIMIT ?",
            (*chosen.values, wanted.limit or -1),
        )
        return self._with_ties(rows, wanted) if rows and len(rows) == wanted.limit else rows

    def _with_ties(self, rows: list[Row], wanted: Wanted) -> list[Row]:
        """The last row's group may go on: of all of it, those that come first by path and line."""
        last = rows[-1][:_GROUPED]
        chosen = self._candidates(wanted, last[:1])
        group = f"({_group(wanted)}) IS (?, ?, ?)"
        tied = self.db.rows(f"SELECT {_columns(wanted)} {chosen.sql} AND {group}", (*chosen.values, *last))
        above = [row for row in rows if row[:_GROUPED] != last]
        if len(above) + len(tied) > len(rows):
            tied = self._first(tied, len(rows) - len(above))
        return above + tied

    def _first(self, rows: Sequence[Row], count: int) -> list[Row]:
        found = self.db.rows(
            f"SELECT picked.key FROM {_PICKED} "
            "ORDER BY records.path, symbols.start_line, collections.name, symbols.ordinal LIMIT ?",
            (as_json([row[_GROUPED:] for row in rows]), count),
        )
        return [rows[key] for (key,) in found]

    def _load(self, rows: Sequence[Row]) -> list[Definition]:
        """In order: by group, then by place."""
        groups = {group: place for place, group in enumerate(dict.fromkeys(row[:_GROUPED] for row in rows))}
        order = {row[_GROUPED:]: groups[row[:_GROUPED]] for row in rows}
        loaded = self.db.rows(f"SELECT {_LOADED} FROM {_PICKED}", (as_json(list(order)),))
        loaded.sort(key=lambda row: (order[row[:2]], *_place(row)))
        return self._with_trails(loaded)

    def _with_trails(self, rows: Sequence[Row]) -> list[Definition]:
        symbols = [symbol_of(row[2:_RECORD]) for row in rows]
        parents = [(row[0], _parent(row[1], symbol)) for row, symbol in zip(rows, symbols, strict=True)]
        trails: defaultdict[int, list[str]] = defaultdict(list)
        for place, name in self.db.rows(_AROUND, (as_json(parents),)):
            trails[place].append(name)
        found = [
            (symbol, tuple(trails[place]), *row) for place, (row, symbol) in enumerate(zip(rows, symbols, strict=True))
        ]
        return list(self._damage.sound(found, lambda it: Definition(record_of(it[_RECORD + 2 :]), it[3], *it[:2])))


def _group(wanted: Wanted) -> str:
    """What is alike in these is told apart by its place only."""
    measure = MEASURES[wanted.order] if wanted.order else "NULL"
    return f"symbols.folded, symbols.kind NOT IN ({_TYPES}), {measure}"


def _columns(wanted: Wanted) -> str:
    return f"{_group(wanted)}, symbols.record, symbols.ordinal"


def _order(wanted: Wanted, names: Sequence[Name] | None) -> str:
    by_measure = f"{MEASURES[wanted.order]} DESC, " if wanted.order else ""  # nulls come last
    by_kind = f"symbols.kind NOT IN ({_TYPES})"
    if names is None:
        return f"{by_measure}{by_kind}, length(symbols.folded), symbols.folded"
    near = [it.near for it in names]
    steps = [f"(named.key >= {bisect_left(near, level)})" for level in (PREFIX, PART)]
    return f"{by_measure}{' + '.join(steps)}, {by_kind}, named.key"


def _texts(names: Sequence[Name] | None) -> list[str] | None:
    return None if names is None else [it.text for it in names]


def _place(row: Row) -> Row:
    """Path, line, collection and ordinal of what was loaded."""
    return row[_RECORD + 1], row[4], row[_RECORD], row[1]


def _parent(ordinal: int, symbol: Symbol) -> int | None:
    return symbol.parent if symbol.parent is not None and symbol.parent < ordinal else None
