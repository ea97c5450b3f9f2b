"""Collections, records, chunks, links and metadata."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from dowse.errors import IndexDamaged
from dowse.model import (
    EVERYTHING,
    Call,
    Collection,
    DocumentLayout,
    IndexCounts,
    ItemVersion,
    Link,
    Record,
    RecordSummary,
    Scope,
    SkippedItem,
    StoredChunk,
    Symbol,
)
from dowse.store.base import RevisionCache
from dowse.store.sqlite.damage import HealthState
from dowse.store.sqlite.database import Database, Row
from dowse.store.sqlite.rows import (
    CHUNK_COLUMNS,
    CHUNKS_SQL,
    RECORD_COLUMNS,
    RECORDS_SQL,
    SYMBOL_COLUMNS,
    UNENCODED_CHUNKS_SQL,
    ChecksumMismatch,
    chunk_from_row,
    decode_layout,
    decompress_text,
    record_from_row,
    symbol_from_row,
    to_json,
)
from dowse.store.sqlite.scope import ScopeCompiler, ScopeMembers
from dowse.store.types import REVISION_KEY
from dowse.text.unicode import is_valid_name

if TYPE_CHECKING:
    pass

Value = TypeVar("Value")

_NEWEST_FIRST_SQL = "ORDER BY coalesce(records.at_ns, records.mtime_ns) DESC, collections.name, records.path"
_VERSIONS_SQL = "SELECT records.path, size, mtime_ns, digest, chunking, settled"
# Two statements, because each of them can use the index of paths and their OR cannot.
_AT_OR_BELOW_SQL = tuple(
    f" FROM json_each(?) AS place CROSS JOIN collections CROSS JOIN records WHERE collections.name = ? "
    f"AND records.collection = collections.id AND {condition}"
    for condition in (
        "records.path = place.value",
        "records.path > place.value || '/' AND records.path < place.value || '0'",  # the character after "/"
    )
)


class SqliteCatalog:
    """Reads collections, records, their parts, links and metadata."""

    def __init__(self, db: Database, health: HealthState) -> None:
        self.db = db
        self._health = health
        self._derived_cache = RevisionCache()
        self._member_cache = RevisionCache()  # a lock of its own: computing another cached value may need a scope
        self.scopes = ScopeCompiler(db, self.current_members, self._records_by_kind)

    # --- the index ---

    def snapshot(self) -> AbstractContextManager[None]:
        return self.db.snapshot()

    def metadata(self) -> Mapping[str, str]:
        return dict(self._cached_rows("SELECT key, value FROM manifest"))

    def _cached_rows(self, statement: str) -> list[Row]:
        """Return all rows of a small table that every answer needs, cached until the file changes."""
        return self.db.cached_by_revision(statement, lambda: self.db.rows(statement))

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        return self._derived_cache.get(name, self._revision, make)

    def _revision(self) -> str:
        return self.metadata().get(REVISION_KEY, "")

    def current_members(self) -> ScopeMembers:
        """Return the facet and link cache of the current records."""
        return self._member_cache.get("members", self._revision, lambda: ScopeMembers(self.db))

    def collections(self) -> list[Collection]:
        rows = self._cached_rows("SELECT name, root, listed, synced_at, source FROM collections ORDER BY id")
        return [Collection(*row) for row in rows]

    def skipped_items(self) -> list[SkippedItem]:
        rows = self._cached_rows(
            "SELECT collections.name, skipped.path, reason, size, mtime_ns FROM skipped "
            "JOIN collections ON collections.id = skipped.collection ORDER BY collections.id, skipped.path"
        )
        return [SkippedItem(*row) for row in rows]

    # --- records and their parts ---

    def load(self, keys: Sequence[int]) -> list[StoredChunk]:
        try:
            rows = self._chunk_rows(keys)
        except IndexDamaged as error:
            self._health.record("catalog", str(error.__cause__))
            rows = [row for key in keys for row in self._read_chunk_row(key)]
        found = {stored.key: stored for stored in self._health.skip_damaged(rows, chunk_from_row)}
        return [found[key] for key in keys if key in found]

    def _chunk_rows(self, keys: Sequence[int]) -> list[Row]:
        return self.db.rows(
            f"SELECT {CHUNK_COLUMNS} FROM {CHUNKS_SQL} WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )

    def _read_chunk_row(self, key: int) -> list[Row]:
        """Return the row of this chunk, or nothing if it cannot be read."""
        try:
            return self._chunk_rows([key])
        except IndexDamaged:
            return []

    def chunk_places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        rows = self.db.rows(
            f"SELECT chunks.id, collections.name, records.path, chunks.ordinal FROM {CHUNKS_SQL} "
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return {key: (collection, path, ordinal) for key, collection, path, ordinal in rows}

    def chunk_kinds(self, keys: Sequence[int]) -> dict[int, str]:
        rows = self.db.rows(
            "SELECT chunks.id, records.kind FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value "
            "CROSS JOIN records ON records.id = chunks.record",
            (json.dumps(list(keys)),),
        )
        return dict(rows)

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        rows = self.db.rows(
            "SELECT id, length(text) FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return dict(rows)

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[StoredChunk]:
        return self._load_chunks("chunks.public_id = ?", chunk_id, collection)

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        rows = self.db.rows(
            f"SELECT {RECORD_COLUMNS} FROM {RECORDS_SQL} WHERE records.path = ? AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id",
            (path, collection),
        )
        return list(self._health.skip_damaged(rows, record_from_row))

    def chunks(self, record: Record) -> list[StoredChunk]:
        return self._load_chunks("records.path = ?", record.path, record.collection)

    def _load_chunks(self, condition: str, value: str, collection: str | None) -> list[StoredChunk]:
        rows = self.db.rows(
            f"SELECT {CHUNK_COLUMNS} FROM {CHUNKS_SQL} WHERE {condition} AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id, records.path, chunks.ordinal",
            (value, collection),
        )
        return list(self._health.skip_damaged(rows, chunk_from_row))

    def symbols(self, record: Record) -> list[Symbol]:
        return [symbol_from_row(row) for row in self._detail_rows("symbols", SYMBOL_COLUMNS, record)]

    def links(self, record: Record) -> list[Link]:
        return [Link(*row) for row in self._detail_rows("links", "links.kind, target, line, context", record)]

    def calls(self, record: Record) -> list[Call]:
        return [
            Call(*row)
            for row in self._detail_rows("calls", "calls.name, callee, line, symbol, arguments, calls.kind", record)
        ]

    def text(self, record: Record) -> str:
        rows = self._detail_rows("texts", "body", record, order="texts.record")
        try:
            return decompress_text(rows[0][0]) if rows else ""
        except (zlib.error, UnicodeDecodeError):
            self._health.record("records", f"cannot decompress the text of {record.path!r}")
            raise ChecksumMismatch(record.path) from None

    def layout(self, record: Record) -> DocumentLayout | None:
        rows = self._detail_rows("layouts", "body", record, order="layouts.record")
        try:
            return decode_layout(rows[0][0]) if rows else None
        except (zlib.error, ValueError, TypeError):
            self._health.record("records", f"cannot read the layout of {record.path!r}")
            raise ChecksumMismatch(record.path) from None

    def _detail_rows(self, table: str, columns: str, record: Record, order: str = "ordinal") -> list[Row]:
        return self.db.rows(
            f"SELECT {columns} FROM {table} JOIN records ON records.id = {table}.record JOIN collections "
            f"ON collections.id = records.collection WHERE records.path = ? AND collections.name = ? ORDER BY {order}",
            (record.path, record.collection),
        )

    def export(self) -> Iterator[StoredChunk]:
        """Read record by record: one long snapshot would keep the write-ahead log from being truncated."""
        rows = self.db.rows(f"SELECT records.id FROM {RECORDS_SQL} ORDER BY collections.name, records.path")
        statement = f"SELECT {CHUNK_COLUMNS} FROM {CHUNKS_SQL} WHERE chunks.record = ? ORDER BY chunks.ordinal"
        for key in rows:
            yield from self._health.skip_damaged(self.db.rows(statement, key), chunk_from_row)

    # --- records by scope, link and version; counts ---

    def versions(self, collection: str, subpaths: Iterable[str] | None = None) -> dict[str, ItemVersion]:
        if subpaths is None:
            rows = self.db.rows(f"{_VERSIONS_SQL} FROM {RECORDS_SQL} WHERE collections.name = ?", (collection,))
        else:
            places = to_json([place.removesuffix("/") for place in subpaths if is_valid_name(place)])
            rows = [
                row for source in _AT_OR_BELOW_SQL for row in self.db.rows(_VERSIONS_SQL + source, (places, collection))
            ]
        return {
            path: ItemVersion(size, mtime_ns, digest, chunking, bool(settled))
            for path, size, mtime_ns, digest, chunking, settled in rows
        }

    def kinds(self) -> frozenset[str]:
        return frozenset(self._records_by_kind())

    def _records_by_kind(self) -> dict[str, int]:
        return dict(self._cached_rows("SELECT kind, count(*) FROM records GROUP BY kind"))

    def records_with_facet(self, name: str) -> list[tuple[str, str, str]]:
        statement = (
            f"SELECT collections.name, records.path, found.value FROM {RECORDS_SQL} "
            "JOIN json_each(records.facets) AS found WHERE found.key = ? ORDER BY collections.id, records.path"
        )
        return self.db.cached_by_revision(f"facet {name}", lambda: self.db.rows(statement, (name,)))

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        with self.db.reader():  # one snapshot for all kinds
            kinds = dict.fromkeys(scope.kinds) or self.kinds()
            rows = [row for kind in kinds for row in self._newest_rows(replace(scope, kinds=()), kind, limit)]
        return list(self._health.skip_damaged(sorted(rows, key=_newest_first_key)[:limit], record_from_row))

    def _newest_rows(self, scope: Scope, kind: str, limit: int | None) -> list[Row]:
        """Query one kind, because the time index begins with the kind."""
        condition, values = self.scopes.condition(scope, as_they_come=limit is not None)
        return self.db.rows(
            f"SELECT {RECORD_COLUMNS} FROM records CROSS JOIN collections ON collections.id = records.collection "
            f"WHERE records.kind = ? AND {condition or 'true'} {_NEWEST_FIRST_SQL} LIMIT ?",
            (kind, *values, -1 if limit is None else limit),
        )

    def summaries(self, scope: Scope, facets: Sequence[str]) -> list[RecordSummary]:
        facet_columns = "".join(", coalesce(json_extract(records.facets, ?), '')" for _ in facets)
        with self.db.reader():
            condition, values = self.scopes.condition(scope)
            rows = self.db.rows(
                f"SELECT records.path, title, coalesce(records.at_ns, records.mtime_ns){facet_columns} "
                f"FROM {RECORDS_SQL} WHERE {condition or 'true'} {_NEWEST_FIRST_SQL}",
                (*(f'$."{it}"' for it in facets), *values),
            )
        return [
            RecordSummary(path, title, moment_ns, tuple(facet_values)) for path, title, moment_ns, *facet_values in rows
        ]

    def targets(self, kinds: Sequence[str], scope: Scope) -> list[tuple[str, str]]:
        with self.db.reader():  # one snapshot for both queries
            condition, values = self.scopes.condition(scope)
            inside = f"FROM {RECORDS_SQL} WHERE {condition or 'true'}"
            paths: dict[int, str] = dict(self.db.rows(f"SELECT records.id, records.path {inside}", values))
            rows = self.db.rows(
                f"SELECT DISTINCT record, target FROM links WHERE record IN (SELECT records.id {inside}) "
                "AND kind IN (SELECT value FROM json_each(?))",
                (*values, to_json(list(kinds))),
            )
        return [(paths[record], target) for record, target in rows]

    def count(self, scope: Scope) -> int:
        with self.db.reader():
            condition, values = self.scopes.condition(scope)
            ((found,),) = self.db.rows(f"SELECT count(*) FROM {RECORDS_SQL} WHERE {condition or 'true'}", values)
        return int(found)

    def links_to(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        rows = self.db.rows(
            f"SELECT links.kind, target, line, context, {RECORD_COLUMNS} FROM json_each(?) AS wanted "
            "CROSS JOIN links ON links.target = wanted.value JOIN records ON records.id = links.record "
            "JOIN collections ON collections.id = records.collection "
            "WHERE (? = '[]' OR links.kind IN (SELECT value FROM json_each(?))) "
            f"{_NEWEST_FIRST_SQL}, links.ordinal",
            (to_json(sorted({it for it in targets if is_valid_name(it)})), *[to_json(list(kinds))] * 2),
        )
        return list(self._health.skip_damaged(rows, lambda row: (record_from_row(row[4:]), Link(*row[:4]))))

    def anchors_named(self, name: str, kinds: Sequence[str]) -> list[str]:
        if not is_valid_name(name):
            return []
        end = f"#{name}"
        rows = self.db.rows(
            "SELECT DISTINCT target FROM links WHERE substr(target, ?) = ? "
            "AND kind IN (SELECT value FROM json_each(?)) ORDER BY target",
            (-len(end), end, to_json(list(kinds))),
        )
        return [target for (target,) in rows]

    def records_with_links(self, kinds: Sequence[str], scope: Scope = EVERYTHING) -> list[tuple[Record, list[Link]]]:
        with self.db.reader():  # one snapshot for all queries
            condition, values = self.scopes.condition(scope)
            within = f"record IN (SELECT records.id FROM {RECORDS_SQL} WHERE {condition})" if condition else "true"
            rows = self.db.rows(
                f"SELECT record, kind, target, line, context FROM links WHERE {within} "
                "AND kind IN (SELECT value FROM json_each(?)) ORDER BY record, ordinal",
                (*values, to_json(list(kinds))),
            )
            linking = "SELECT collection FROM records WHERE id IN (SELECT value FROM json_each(?))"
            records = self.db.rows(
                f"SELECT records.id, {RECORD_COLUMNS} FROM {RECORDS_SQL} WHERE collections.id IN ({linking}) "
                f"AND {condition or 'true'} ORDER BY collections.name, records.path",
                (to_json(list({row[0] for row in rows})), *values),
            )
        links: defaultdict[int, list[Link]] = defaultdict(list)
        for key, *link in rows:
            links[key].append(Link(*link))
        return list(self._health.skip_damaged(records, lambda row: (record_from_row(row[1:]), links[row[0]])))

    def sizes(self) -> dict[str, int]:
        return dict(
            self._cached_rows(
                "SELECT collections.name, (SELECT count(*) FROM records WHERE collection = collections.id) "
                "FROM collections ORDER BY id"
            )
        )

    def counts(self, scope: Scope = EVERYTHING) -> IndexCounts:
        scope = self.scopes.simplify(scope)
        if scope == EVERYTHING:
            return self.db.cached_by_revision("counts", self._count_all)
        return self.db.cached_by_revision(f"counts of {scope}", lambda: self._count_within(scope))

    def _count_within(self, scope: Scope) -> IndexCounts:
        condition, values = self.scopes.condition(scope)
        records = f"SELECT records.id FROM {RECORDS_SQL} WHERE {condition}"
        chunks = f"SELECT id FROM chunks WHERE record IN ({records})"
        parts = [
            f"records WHERE id IN ({records})",
            *(f"{table} WHERE record IN ({records})" for table in ("chunks", "symbols", "links", "calls")),
            *(f"{table} WHERE chunk IN ({chunks})" for table in ("vectors", "next_vectors")),
            f"{UNENCODED_CHUNKS_SQL} AND record IN ({records})",
        ]
        return IndexCounts(*(int(self.db.rows(f"SELECT count(*) FROM {it}", values)[0][0]) for it in parts))

    def _count_all(self) -> IndexCounts:
        tables = ("records", "chunks", "symbols", "links", "calls", "vectors", "next_vectors")
        return IndexCounts(*map(self._count_of_rows, (*tables, UNENCODED_CHUNKS_SQL)))

    def _count_of_rows(self, table: str) -> int:
        try:
            return int(self.db.rows(f"SELECT count(*) FROM {table}")[0][0])
        except IndexDamaged as error:
            self._health.record("catalog", str(error.__cause__))
            return 0

    def record_places(self, scope: Scope) -> Mapping[int, tuple[str, str]]:
        return self.scopes.record_places(scope)


def _newest_first_key(row: Row) -> tuple[int, str, str]:
    """Sort key equal to _NEWEST_FIRST, for rows of several kinds."""
    name, path, mtime_ns, at_ns = row[0], row[1], row[5], row[12]
    return -(mtime_ns if at_ns is None else at_ns), name, path
