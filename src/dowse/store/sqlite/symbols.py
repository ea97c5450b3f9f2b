"""Definitions and references by name."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from sys import intern
from typing import NamedTuple, TypeVar

from dowse.errors import PartDamaged
from dowse.model import FILE_KINDS, Link, Record, Scope, Symbol
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.damage import HealthState
from dowse.store.sqlite.database import Database, Row
from dowse.store.sqlite.fts import METRIC_COLUMNS, CandidateQuery, build_candidate_query
from dowse.store.sqlite.rows import (
    RECORD_COLUMNS,
    RECORDS_SQL,
    SYMBOL_COLUMNS,
    compressed_contains,
    parse_facets,
    record_from_row,
    symbol_from_row,
    to_json,
)
from dowse.store.types import (
    HEADING_KIND,
    TYPE_SYMBOL_KINDS,
    CodeFacts,
    DefinedName,
    Definition,
    IndexedFile,
    NamedDefinition,
    NamedFile,
    StoredCall,
    SymbolMatches,
    SymbolQuery,
    SymbolRef,
)
from dowse.text.regex import EXACT, PREFIX, SUBSTRING, lines_matching_regex

# --------------------------------------------------------------------------------------------------
# Matches queries against the distinct names of symbols.

_GRAM_LENGTH = 3
_MAX_GRAMS = 3  # more trigrams cost more than the names they exclude


class NameMatch(NamedTuple):
    """A matching name in the index; sorts best first."""

    match_rank: int
    length: int
    text: str


def matching_names(
    db: Database, damage: HealthState, query: SymbolQuery, all_names: Callable[[], bytes]
) -> list[NameMatch]:
    """Return the names that match any of the query's, best first. `all_names` returns them one per line."""
    if query.matching == "exact":
        texts: Iterable[str] = (name.lower() for name in query.names)
        return _best_first(NameMatch(EXACT, len(text), text) for text in texts)
    if query.matching == "regex":
        texts = (
            text for pattern in query.names for text in lines_matching_regex(pattern, all_names(), ignore_case=True)
        )
        return _best_first(NameMatch(EXACT, len(text), text) for text in texts)
    return _best_first(name for part in query.names for name in names_containing(db, damage, part.lower()))


def _best_first(names: Iterable[NameMatch]) -> list[NameMatch]:
    """Return each name once, with its best match."""
    best: dict[str, NameMatch] = {}
    for name in names:
        if name.text not in best or name < best[name.text]:
            best[name.text] = name
    return sorted(best.values())


def names_containing(db: Database, damage: HealthState, part: str) -> list[NameMatch]:
    """Return the names that contain `part`, which is in lower case."""
    with suppress(PartDamaged), damage.attribute_to("names"):
        return _search_index(db, part)
    return [NameMatch(*row) for row in db.rows(*_search_sql(part, "(SELECT DISTINCT folded AS name FROM symbols)"))]


def _search_sql(part: str, names: str) -> tuple[str, tuple[str, ...]]:
    match_rank = (
        f"CASE WHEN name = ? THEN {EXACT} WHEN substr(name, 1, length(?)) = ? THEN {PREFIX} ELSE {SUBSTRING} END"
    )
    found = f"SELECT {match_rank}, length(name), name FROM {names} WHERE instr(name, ?) > 0"
    return found, (part, part, part, part)


def _search_index(db: Database, part: str) -> list[NameMatch]:
    found, values = _search_sql(part, "symbol_names")
    if len(part) < _GRAM_LENGTH or "\0" in part:
        rows = db.rows(found, values)
    else:
        grams = "id IN (SELECT rowid FROM symbol_grams WHERE symbol_grams MATCH ?)"
        rows = db.rows(f"{found} AND {grams}", (*values, _sample_grams(part)))
    return [NameMatch(*row) for row in rows]


def _sample_grams(part: str) -> str:
    """Return a few trigrams spread over the part. Each is quoted, so nothing in it is syntax."""
    last = len(part) - _GRAM_LENGTH
    starts = sorted({round(step * last / (_MAX_GRAMS - 1)) for step in range(_MAX_GRAMS)})
    return " AND ".join('"' + part[start : start + _GRAM_LENGTH].replace('"', '""') + '"' for start in starts)


def names_as_lines(db: Database) -> bytes:
    """Return all names, one per line; names that contain a line end are left out."""
    rows = db.rows("SELECT name FROM symbol_names WHERE instr(name, char(10)) = 0")
    return "\n".join(name for (name,) in rows).encode()


_MAX_CACHED_CHUNKS = 100_000  # chunks with cached names
_DEFINED_IN_SQL = (
    "SELECT chunks.id, symbols.name, symbols.kind FROM json_each(?) AS picked CROSS JOIN chunks CROSS JOIN symbols "
    "WHERE chunks.id = picked.value AND symbols.record = chunks.record AND symbols.kind != ? "
    "AND symbols.start_line BETWEEN chunks.start_line AND chunks.end_line"
)
_CHUNKS_DEFINING_SQL = (
    "SELECT chunks.id FROM json_each(?) AS named CROSS JOIN symbols CROSS JOIN records CROSS JOIN collections "
    "CROSS JOIN chunks WHERE symbols.folded = lower(named.value) AND symbols.name = named.value "
    "AND symbols.kind != ? AND records.id = symbols.record AND collections.id = records.collection{within} "
    "AND chunks.record = symbols.record AND symbols.start_line BETWEEN chunks.start_line AND chunks.end_line "
    "ORDER BY symbols.kind NOT IN ({types}), records.path, symbols.start_line, collections.name LIMIT ?"
)
_GROUP_COLUMN_COUNT = 3  # columns of a group
_TYPE_KINDS_SQL = ", ".join(f"'{kind}'" for kind in TYPE_SYMBOL_KINDS)

_RECORD_OFFSET = 21  # offset of the record's columns in a loaded row
_LOADED_COLUMNS = f"symbols.record, symbols.ordinal, {SYMBOL_COLUMNS}, {RECORD_COLUMNS}"
_PICKED_SQL = (
    "json_each(?) AS picked CROSS JOIN symbols CROSS JOIN records CROSS JOIN collections "
    "WHERE symbols.record = picked.value ->> 0 AND symbols.ordinal = picked.value ->> 1 "
    "AND records.id = symbols.record AND collections.id = records.collection"
)
# Climbs from the parent of each picked symbol. The climb stops at a parent that does not precede its child, so that it
# always ends.
_ENCLOSING_NAMES_SQL = """
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

Value = TypeVar("Value")

_IN_LIST_SQL = "IN (SELECT value FROM json_each(?))"
# Must be written exactly as in the index records_name, or SQLite does not use that index.
_FILE_NAME_SQL = "replace(path, rtrim(path, replace(path, '/', '')), '')"
_NAME_SEPARATOR = "\x1f"
_ENCLOSING_SQL = (
    "(WITH RECURSIVE above (name, parent, height) AS ("
    "SELECT up.name, up.parent, 1 FROM symbols AS up WHERE up.record = symbols.record AND up.ordinal = symbols.parent "
    "UNION ALL SELECT up.name, up.parent, height + 1 FROM symbols AS up JOIN above ON up.ordinal = above.parent "
    "WHERE up.record = symbols.record AND height < 100) "
    "SELECT group_concat(name, char(31)) FROM (SELECT name FROM above ORDER BY height DESC))"
)
_NAMED_COLUMNS = (
    f"symbols.record, symbols.ordinal, symbols.name, symbols.kind, {_ENCLOSING_SQL}, collections.name, records.path"
)
_SITE_COLUMNS = "calls.record, calls.ordinal, calls.name, callee, line, symbol, arguments, calls.kind"
_JOIN_RECORD_SQL = f"JOIN records ON records.id = %s.record JOIN {RECORDS_SQL.removeprefix('records JOIN ')}"


class SqliteSymbols:
    def __init__(self, db: Database, health: HealthState, catalog: SqliteCatalog) -> None:
        self.db = db
        self._health = health
        self._catalog = catalog
        self._scopes = catalog.scopes

    # --- definitions and files ---

    def definitions(self, query: SymbolQuery) -> SymbolMatches:
        with self.db.snapshot():
            names = matching_names(self.db, self._health, query, self._name_lines) if query.names else None
            best = self._rank_best(query, names)
            total = self._count_matches(query, names) if len(best) == query.limit else len(best)
            before = self._count_matches(replace(query, min_metrics={}), names) if query.min_metrics else total
            return SymbolMatches(self._load_definitions(best), total, before)

    def definitions_at(self, record: Record, line: int) -> list[Definition]:
        with self.db.snapshot():
            rows = self.db.rows(
                f"SELECT {_LOADED_COLUMNS} FROM collections CROSS JOIN records CROSS JOIN symbols "
                "WHERE collections.name = ? AND records.collection = collections.id AND records.path = ? "
                "AND symbols.record = records.id AND symbols.kind != ? AND start_line <= ? AND end_line >= ? "
                "ORDER BY end_line - start_line, symbols.ordinal DESC",
                (record.collection, record.path, HEADING_KIND, line, line),
            )
            return self._with_trails(rows)

    def definitions_in_chunks(self, keys: Sequence[int]) -> dict[int, tuple[DefinedName, ...]]:
        """Cached per state of the records, because the same chunks are candidates again and again."""
        known: dict[int, tuple[DefinedName, ...]] = self._catalog.cached_by_revision("names defined in chunks", dict)
        if unknown := [key for key in keys if key not in known]:
            if len(known) > _MAX_CACHED_CHUNKS:
                known.clear()
            found: defaultdict[int, list[DefinedName]] = defaultdict(list)
            for key, name, kind in self.db.rows(_DEFINED_IN_SQL, (to_json(unknown), HEADING_KIND)):
                found[key].append(DefinedName(name, kind))
            known |= {key: tuple(found[key]) for key in unknown}
        return {key: known.get(key, ()) for key in keys}

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        condition, values = self._scopes.condition(scope, as_they_come=True)
        statement = _CHUNKS_DEFINING_SQL.format(within=f" AND {condition}" if condition else "", types=_TYPE_KINDS_SQL)
        rows = self.db.rows(statement, (to_json(names), HEADING_KIND, *values, limit))
        return list(dict.fromkeys(row[0] for row in rows))

    def definition_kinds(self) -> frozenset[str]:
        statement = "SELECT DISTINCT kind FROM symbols WHERE kind != ?"
        return self._catalog.cached_by_revision(
            "definition kinds", lambda: frozenset(row[0] for row in self.db.rows(statement, (HEADING_KIND,)))
        )

    def definition_count(self) -> int:
        statement = "SELECT (SELECT count(*) FROM symbols) - (SELECT count(*) FROM symbols WHERE kind = 'heading')"
        return self._catalog.cached_by_revision("definitions", lambda: int(self.db.rows(statement)[0][0]))

    def record_count(self) -> int:
        return self._catalog.count(Scope(kinds=FILE_KINDS))

    def files(self) -> list[IndexedFile]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path, records.size, records.facets FROM {RECORDS_SQL} "
            "WHERE records.kind IN (SELECT value FROM json_each(?)) ORDER BY collections.name, records.path",
            (to_json(list(FILE_KINDS)),),
        )
        known = {text: parse_facets(text) for text in {row[3] for row in rows}}  # few distinct values
        return [IndexedFile(name, path, size, known[facets]) for name, path, size, facets in rows]

    def files_with_definitions(self) -> set[tuple[str, str]]:
        rows = self.db.rows(
            f"SELECT collections.name, records.path FROM {RECORDS_SQL} "
            "WHERE EXISTS (SELECT 1 FROM symbols WHERE symbols.record = records.id AND symbols.kind != ?)",
            (HEADING_KIND,),
        )
        return {(name, path) for name, path in rows}

    def lossy_records(self) -> set[tuple[str, str]]:
        rows = self.db.rows(f"SELECT records.id, collections.name, records.path FROM {RECORDS_SQL}")
        return {(name, path) for key, name, path in rows if self._is_lossy(key)}

    def _is_lossy(self, record: int) -> bool:
        rows = self.db.rows("SELECT body FROM texts WHERE record = ?", (record,))
        return any(compressed_contains(body, "\ufffd") for (body,) in rows)

    def _name_lines(self) -> bytes:
        return self._catalog.cached_by_revision("symbol names", lambda: names_as_lines(self.db))

    def _candidates(self, query: SymbolQuery, names: Sequence[str] | None) -> CandidateQuery:
        owners = lambda: [it.text for it in names_containing(self.db, self._health, query.parent.lower())]  # noqa: E731
        return build_candidate_query(self.db.reader(), query, names, owners, self._scopes.condition(query.scope))

    def _count_matches(self, query: SymbolQuery, names: Sequence[NameMatch] | None) -> int:
        chosen = self._candidates(query, _name_texts(names))
        return int(self.db.rows(f"SELECT count(*) {chosen.sql}", chosen.values)[0][0])

    def _rank_best(self, query: SymbolQuery, names: Sequence[NameMatch] | None) -> list[Row]:
        """Return rows of equally ranked groups in order; path and line decide within a group."""
        chosen = self._candidates(query, _name_texts(names))
        rows = self.db.rows(
            f"SELECT {_rank_columns(query)} {chosen.sql} ORDER BY {_rank_order(query, names)} LIMIT ?",
            (*chosen.values, query.limit or -1),
        )
        return self._with_ties(rows, query) if rows and len(rows) == query.limit else rows

    def _with_ties(self, rows: list[Row], query: SymbolQuery) -> list[Row]:
        """Complete the last row's group, which the limit may have cut, and keep its first rows by path and line."""
        last = rows[-1][:_GROUP_COLUMN_COUNT]
        chosen = self._candidates(query, last[:1])
        group = f"({_group_columns(query)}) IS (?, ?, ?)"
        tied = self.db.rows(f"SELECT {_rank_columns(query)} {chosen.sql} AND {group}", (*chosen.values, *last))
        above = [row for row in rows if row[:_GROUP_COLUMN_COUNT] != last]
        if len(above) + len(tied) > len(rows):
            tied = self._first_by_location(tied, len(rows) - len(above))
        return above + tied

    def _first_by_location(self, rows: Sequence[Row], count: int) -> list[Row]:
        found = self.db.rows(
            f"SELECT picked.key FROM {_PICKED_SQL} "
            "ORDER BY records.path, symbols.start_line, collections.name, symbols.ordinal LIMIT ?",
            (to_json([row[_GROUP_COLUMN_COUNT:] for row in rows]), count),
        )
        return [rows[key] for (key,) in found]

    def _load_definitions(self, rows: Sequence[Row]) -> list[Definition]:
        """Load these rows, ordered by group, then by path and line."""
        groups = {group: place for place, group in enumerate(dict.fromkeys(row[:_GROUP_COLUMN_COUNT] for row in rows))}
        order = {row[_GROUP_COLUMN_COUNT:]: groups[row[:_GROUP_COLUMN_COUNT]] for row in rows}
        loaded = self.db.rows(f"SELECT {_LOADED_COLUMNS} FROM {_PICKED_SQL}", (to_json(list(order)),))
        loaded.sort(key=lambda row: (order[row[:2]], *_location_key(row)))
        return self._with_trails(loaded)

    def _with_trails(self, rows: Sequence[Row]) -> list[Definition]:
        symbols = [symbol_from_row(row[2:_RECORD_OFFSET]) for row in rows]
        parents = [(row[0], _valid_parent(row[1], symbol)) for row, symbol in zip(rows, symbols, strict=True)]
        trails: defaultdict[int, list[str]] = defaultdict(list)
        for place, name in self.db.rows(_ENCLOSING_NAMES_SQL, (to_json(parents),)):
            trails[place].append(name)
        found = [
            (symbol, tuple(trails[place]), *row) for place, (row, symbol) in enumerate(zip(rows, symbols, strict=True))
        ]
        return list(
            self._health.skip_damaged(
                found, lambda it: Definition(record_from_row(it[_RECORD_OFFSET + 2 :]), it[3], *it[:2])
            )
        )

    # --- call graph ---

    def fingerprints(self, keys: Sequence[int]) -> dict[int, str]:
        rows = self.db.rows(
            f"SELECT id, collection || '/' || path || ' ' || digest || ' ' || chunking || ' ' || mtime_ns "
            f"FROM records WHERE id {_IN_LIST_SQL}",
            (_to_ascii_json(list(keys)),),
        )
        return dict(rows)

    def facts(self, keys: Sequence[int]) -> list[CodeFacts]:
        chosen = (_to_ascii_json(list(keys)),)
        records = self.db.rows(
            f"SELECT records.id, {RECORD_COLUMNS} FROM {RECORDS_SQL} WHERE records.id {_IN_LIST_SQL}", chosen
        )
        symbols = self.db.rows(
            f"SELECT record, {SYMBOL_COLUMNS} FROM symbols WHERE record {_IN_LIST_SQL} ORDER BY record, ordinal", chosen
        )
        imports = self.db.rows(
            f"SELECT record, kind, target, line, context FROM links WHERE record {_IN_LIST_SQL} AND kind = 'import' "
            "ORDER BY record, ordinal",
            chosen,
        )
        symbols_of = _group_by_key((row[0], symbol_from_row(row[1:])) for row in symbols)
        imports_of = _group_by_key((row[0], Link(*row[1:])) for row in imports)
        return list(
            self._health.skip_damaged(
                records, lambda row: CodeFacts(row[0], record_from_row(row[1:]), symbols_of[row[0]], imports_of[row[0]])
            )
        )

    def files_named(self, name: str) -> list[NamedFile]:
        rows = self.db.rows(
            f"SELECT records.id, collections.name, root, path FROM {RECORDS_SQL} WHERE {_FILE_NAME_SQL} = ? "
            "ORDER BY collections.name, path",
            (name,),
        )
        return [NamedFile(*row) for row in rows]

    def definitions_named(
        self,
        names: Sequence[str],
        *,
        kinds: Sequence[str] = (),
        within: Sequence[int] | None = None,
        modifier: str = "",
        limit: int = 0,
    ) -> list[NamedDefinition]:
        conditions = [f"symbols.folded {_IN_LIST_SQL}"]
        values: list[object] = [_to_ascii_json([name.lower() for name in names])]
        for column, chosen in (("symbols.kind", kinds or None), ("symbols.record", within)):
            if chosen is not None:
                conditions.append(f"{column} {_IN_LIST_SQL}")
                values.append(_to_ascii_json(list(chosen)))
        if modifier:
            conditions.append("instr(symbols.modifiers, ?) > 0")
            values.append(_to_ascii_json(modifier))
        rows = self.db.rows(
            f"SELECT {_NAMED_COLUMNS} FROM symbols {_JOIN_RECORD_SQL % 'symbols'} WHERE {' AND '.join(conditions)} "
            "ORDER BY collections.name, records.path, symbols.ordinal LIMIT ?",
            (*values, limit or -1),
        )
        return list(map(_definition_from_row, rows))

    def definitions_extending(self, names: Sequence[str]) -> list[NamedDefinition]:
        rows = self.db.rows(
            f"SELECT DISTINCT {_NAMED_COLUMNS} FROM traits JOIN symbols ON symbols.record = traits.record "
            f"AND symbols.ordinal = traits.symbol {_JOIN_RECORD_SQL % 'traits'} "
            f"WHERE traits.kind = 'base' AND traits.value {_IN_LIST_SQL} "
            "ORDER BY collections.name, records.path, symbols.ordinal",
            (_to_ascii_json([name.lower() for name in names]),),
        )
        return list(map(_definition_from_row, rows))

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        rows = self.db.rows(
            "SELECT DISTINCT substr(context, 1, instr(context, '=') - 1) FROM links WHERE kind = 'import' "
            f"AND target {_IN_LIST_SQL} AND substr(context, instr(context, '=') + 1) = ? ORDER BY 1",
            (_to_ascii_json(list(targets)), member),
        )
        return [local for (local,) in rows]

    def sites(self, names: Sequence[str], limit: int) -> list[StoredCall]:
        rows = self.db.rows(
            f"SELECT {_SITE_COLUMNS} FROM calls {_JOIN_RECORD_SQL % 'calls'} WHERE calls.name {_IN_LIST_SQL} "
            "ORDER BY collections.name, records.path, line, calls.ordinal LIMIT ?",
            (_to_ascii_json(list(names)), limit),
        )
        return list(map(_site_from_row, rows))

    def sites_in(self, key: int, *, kind: str = "", having: str = "") -> list[StoredCall]:
        conditions = ["record = ?"]
        values: list[object] = [key]
        for condition, value in (("kind = ?", kind), ("instr(callee, ?) > 0", having)):
            if value:
                conditions.append(condition)
                values.append(value)
        rows = self.db.rows(
            f"SELECT {_SITE_COLUMNS} FROM calls WHERE {' AND '.join(conditions)} ORDER BY line, ordinal", tuple(values)
        )
        return list(map(_site_from_row, rows))


def _group_columns(query: SymbolQuery) -> str:
    """Return the columns that define a group; only path and line distinguish its members."""
    measure = METRIC_COLUMNS[query.order] if query.order else "NULL"
    return f"symbols.folded, symbols.kind NOT IN ({_TYPE_KINDS_SQL}), {measure}"


def _rank_columns(query: SymbolQuery) -> str:
    return f"{_group_columns(query)}, symbols.record, symbols.ordinal"


def _rank_order(query: SymbolQuery, names: Sequence[NameMatch] | None) -> str:
    by_measure = f"{METRIC_COLUMNS[query.order]} DESC, " if query.order else ""  # nulls come last
    by_kind = f"symbols.kind NOT IN ({_TYPE_KINDS_SQL})"
    if names is None:
        return f"{by_measure}{by_kind}, length(symbols.folded), symbols.folded"
    ranks = [it.match_rank for it in names]
    steps = [f"(named.key >= {bisect_left(ranks, level)})" for level in (PREFIX, SUBSTRING)]
    return f"{by_measure}{' + '.join(steps)}, {by_kind}, named.key"


def _name_texts(names: Sequence[NameMatch] | None) -> list[str] | None:
    return None if names is None else [it.text for it in names]


def _location_key(row: Row) -> Row:
    """Return path, line, collection and ordinal of a loaded row."""
    return row[_RECORD_OFFSET + 1], row[4], row[_RECORD_OFFSET], row[1]


def _valid_parent(ordinal: int, symbol: Symbol) -> int | None:
    return symbol.parent if symbol.parent is not None and symbol.parent < ordinal else None


def _site_from_row(row: Row) -> StoredCall:
    record, ordinal, name, written, line, symbol, arguments, kind = row
    callee, _, passed = written.partition("\t")
    # Interned, because many sites are held in memory and share a name and a kind.
    return StoredCall(record, ordinal, intern(name), callee, line, symbol, arguments, intern(kind), passed)


def _to_ascii_json(value: object) -> str:
    """Encode as ASCII JSON: a name may contain surrogates, which UTF-8 cannot encode."""
    return json.dumps(value)


def _definition_from_row(row: Row) -> NamedDefinition:
    record, ordinal, name, kind, trail, collection, path = row
    return NamedDefinition(
        SymbolRef(record, ordinal), name, kind, tuple(trail.split(_NAME_SEPARATOR)) if trail else (), collection, path
    )


def _group_by_key(pairs: Iterable[tuple[int, Value]]) -> defaultdict[int, tuple[Value, ...]]:
    lists: defaultdict[int, list[Value]] = defaultdict(list)
    for key, value in pairs:
        lists[key].append(value)
    return defaultdict(tuple, {key: tuple(values) for key, values in lists.items()})
