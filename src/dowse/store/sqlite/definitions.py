"""Definitions in SQLite: the narrowest index gives candidates, they are ranked as light rows, the best are loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dowse.model import Record, Symbol
from dowse.store.definitions import HEADING, TYPES, Definition, FileFacts, Found, Wanted
from dowse.store.sqlite.candidates import MEASURES, candidates
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
from dowse.store.sqlite.symbol_names import as_lines, matching_names, names_with

Place = tuple[int, int]  # of a symbol: its record's key and its ordinal
Rank = tuple[object, ...]

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
        with self.db.snapshot():
            near = matching_names(self.db, wanted, self._name_lines) if wanted.names else None
            measure = MEASURES[wanted.order] if wanted.order else "NULL"
            columns = f"symbols.folded, symbols.kind, symbols.record, symbols.ordinal, {measure}"
            rows = self._candidates(columns, wanted, near)
            before = self._count_of(replace(wanted, least={}), near) if wanted.least else len(rows)
            ranks = {(row[2], row[3]): _rank(row, near or {}) for row in rows}
            return Found(self._load(self._best(ranks, wanted.limit)), len(rows), before)

    def around(self, record: Record, line: int) -> list[Definition]:
        with self.db.snapshot():
            rows = self.db.rows(
                f"SELECT {_LOADED} FROM collections CROSS JOIN records CROSS JOIN symbols "
                "WHERE collections.name = ? AND records.collection = collections.id AND records.path = ? "
                "AND symbols.record = records.id AND symbols.kind != ? AND start_line <= ? AND end_line >= ? "
                "ORDER BY end_line - start_line, symbols.ordinal DESC",
                (record.collection, record.path, HEADING, line, line),
            )
            return self._with_trails(rows)

    def definition_kinds(self) -> frozenset[str]:
        statement = "SELECT DISTINCT kind FROM symbols WHERE kind != ?"
        return self.remembered(
            "definition kinds", lambda: frozenset(row[0] for row in self.db.rows(statement, (HEADING,)))
        )

    def definition_count(self) -> int:
        statement = "SELECT (SELECT count(*) FROM symbols) - (SELECT count(*) FROM symbols WHERE kind = 'heading')"
        return self.remembered("definitions", lambda: int(self.db.rows(statement)[0][0]))

    def record_count(self) -> int:
        return int(self.db.rows("SELECT count(*) FROM records")[0][0])

    def files(self) -> list[FileFacts]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path, records.size, records.facets FROM {RECORDS} "
            "ORDER BY collections.name, records.path"
        )
        return [FileFacts(name, path, size, facets_of(facets)) for name, path, size, facets in rows]

    def defining(self) -> set[tuple[str, str]]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path FROM {RECORDS} "
            "WHERE EXISTS (SELECT 1 FROM symbols WHERE symbols.record = records.id AND symbols.kind != ?)",
            (HEADING,),
        )
        return {(name, path) for name, path in rows}

    def lossy(self) -> set[tuple[str, str]]:
        texts = self.db.stream(
            f"SELECT collections.name, records.path, body FROM {RECORDS} JOIN texts ON texts.record = records.id"
        )
        return {(name, path) for name, path, body in texts if packed_has(body, "\ufffd")}

    def _name_lines(self) -> bytes:
        return self.remembered("symbol names", lambda: as_lines(self.db))

    def _candidates(self, columns: str, wanted: Wanted, near: Mapping[str, int] | None) -> list[Row]:
        names = None if near is None else list(near)
        chosen = candidates(self.db.reader(), wanted, names, lambda: names_with(self.db, [wanted.parent.lower()]))
        return self.db.rows(f"SELECT {columns} {chosen.sql}", chosen.values)

    def _count_of(self, wanted: Wanted, near: Mapping[str, int] | None) -> int:
        return int(self._candidates("count(*)", wanted, near)[0][0])

    def _best(self, ranks: Mapping[Place, Rank], limit: int) -> list[Place]:
        """The places in order. Paths and lines are looked up only of those that may be among the best."""
        places = sorted(ranks, key=ranks.__getitem__)
        if limit and len(places) > limit:
            worst = ranks[places[limit - 1]]
            places = [place for place in places if ranks[place] <= worst]
        rows = self.db.rows(
            "SELECT symbols.record, symbols.ordinal, records.path, symbols.start_line, collections.name "
            f"FROM {_PICKED}",
            (as_json(places),),
        )
        where = {(row[0], row[1]): row[2:] for row in rows}
        places.sort(key=lambda it: (ranks[it], where[it], it[1]))
        return places[:limit] if limit else places

    def _load(self, places: Sequence[Place]) -> list[Definition]:
        rows = {(row[0], row[1]): row for row in self.db.rows(f"SELECT {_LOADED} FROM {_PICKED}", (as_json(places),))}
        return self._with_trails([rows[place] for place in places])

    def _with_trails(self, rows: Sequence[Row]) -> list[Definition]:
        symbols = [symbol_of(row[2:21]) for row in rows]
        parents = [(row[0], _parent(row[1], symbol)) for row, symbol in zip(rows, symbols, strict=True)]
        trails: defaultdict[int, list[str]] = defaultdict(list)
        for place, name in self.db.rows(_AROUND, (as_json(parents),)):
            trails[place].append(name)
        return [
            Definition(record_of(row[21:]), row[1], symbol, tuple(trails[place]))
            for place, (row, symbol) in enumerate(zip(rows, symbols, strict=True))
        ]


def _rank(row: Row, near: Mapping[str, int]) -> Rank:
    name, kind, _, _, measure = row
    return measure is None, -(measure or 0), near.get(name, 0), kind not in TYPES, len(name), name


def _parent(ordinal: int, symbol: Symbol) -> int | None:
    return symbol.parent if symbol.parent is not None and symbol.parent < ordinal else None
