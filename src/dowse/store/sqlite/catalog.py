"""The truth in SQLite: records with their chunks, symbols and links, one transaction per record."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import TypeVar

import apsw

from dowse.errors import BadInput, IndexDamaged, Unreadable
from dowse.model import (
    FILES,
    Call,
    Collection,
    Counts,
    Link,
    Record,
    Scope,
    Skipped,
    Stored,
    Symbol,
    Version,
)
from dowse.store.base import REVISION, Piece
from dowse.store.remember import Memory
from dowse.store.sqlite.chunks import delete_chunks, put_chunks
from dowse.store.sqlite.database import Database, Row, fetch
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.late_words import LateWords
from dowse.store.sqlite.rows import (
    RECORD_COLUMNS,
    RECORDS,
    STORED,
    STORED_COLUMNS,
    SYMBOL_COLUMNS,
    as_json,
    packed,
    record_of,
    scope_condition,
    stored_of,
    symbol_of,
    unpacked,
)
from dowse.store.sqlite.seals import Unsound, details_seal, seal
from dowse.store.sqlite.symbols import put_symbols

Value = TypeVar("Value")

LINKS = "ordinal, kind, target, line, context"
CALLS = "ordinal, name, callee, line, symbol, arguments, kind"
_NEWEST_FIRST = "ORDER BY coalesce(records.at_ns, records.mtime_ns) DESC, collections.name, records.path"
_VERSIONS = "SELECT records.path, size, mtime_ns, digest, chunking, settled"
# One by one, because each of the two finds its rows by the index of paths.
_AT_OR_BELOW = tuple(
    f" FROM json_each(?) AS place CROSS JOIN collections CROSS JOIN records WHERE collections.name = ? "
    f"AND records.collection = collections.id AND {condition}"
    for condition in (
        "records.path = place.value",
        "records.path > place.value || '/' AND records.path < place.value || '0'",  # what follows a slash
    )
)


class SqliteCatalog:
    db: Database
    _memory: Memory
    _late_words: LateWords
    _damage: Damage

    # --- collections ---

    def collections(self) -> list[Collection]:
        rows = self._remembered("SELECT name, root, listed, synced_at, source FROM collections ORDER BY id")
        return [Collection(*row) for row in rows]

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        with self.db.transaction() as connection:
            taken = {row[0]: row[1] for row in connection.execute("SELECT root, name FROM collections")}
            if root not in taken:
                connection.execute(
                    "INSERT INTO collections (name, root, source) VALUES (?, ?, ?)",
                    (_free_name(name or PurePath(root).name or "root", set(taken.values())), root, source),
                )
        return next(collection for collection in self.collections() if collection.root == root)

    def move_collection(self, name: str, root: str) -> None:
        with self.db.transaction() as connection:
            if fetch(connection, "SELECT 1 FROM collections WHERE root = ?", (root,)):
                raise BadInput(f"{root} is indexed already; a root can not be moved there")
            connection.execute("UPDATE collections SET root = ? WHERE name = ?", (root, name))
            _renew_revision(connection)

    def mark(self, collection: str, *, listed: int, at: float | None) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE collections SET listed = ?, synced_at = coalesce(?, synced_at) WHERE name = ?",
                (listed, at, collection),
            )

    # --- one record at a time ---

    def versions(self, collection: str, under: Iterable[str] | None = None) -> dict[str, Version]:
        if under is None:
            rows = self.db.rows(f"{_VERSIONS} FROM {RECORDS} WHERE collections.name = ?", (collection,))
        else:
            places = as_json([place.removesuffix("/") for place in under if _is_text(place)])
            rows = [row for way in _AT_OR_BELOW for row in self.db.rows(_VERSIONS + way, (places, collection))]
        return {
            path: Version(size, mtime_ns, digest, chunking, bool(settled))
            for path, size, mtime_ns, digest, chunking, settled in rows
        }

    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str = "",
    ) -> None:
        with _storable(), self.batch() as connection:
            collection = _collection_id(connection, record.collection)
            key, same_words = _put_record(connection, collection, record)
            chunk_seals = put_chunks(connection, self._late_words, key, record, pieces, reuse=same_words)
            rows = _put_details(connection, key, symbols, links, calls)
            self._late_words.name(it.name.lower() for it in symbols)
            body = _put_text(connection, key, text)
            _seal(connection, key, record, details_seal(sorted(chunk_seals), *rows, body))
            _renew_revision(connection)
            connection.execute("DELETE FROM skipped WHERE collection = ? AND path = ?", (collection, record.path))

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE records SET size = ?, mtime_ns = ?, settled = ? WHERE collection = ? AND path = ?",
                (size, mtime_ns, settled, _collection_id(connection, collection), path),
            )
            _renew_revision(connection)

    def drop(self, collection: str, paths: Iterable[str]) -> int:
        dropped = 0
        for path in paths:
            with self.batch() as connection:
                dropped += self._drop(connection, _collection_id(connection, collection), path)
        return dropped

    def _drop(self, connection: apsw.Connection, collection: int, path: str) -> int:
        rows = fetch(connection, "SELECT id FROM records WHERE collection = ? AND path = ?", (collection, path))
        for (key,) in rows:
            self._forget_record(connection, key)
        return len(rows)

    def _forget_record(self, connection: apsw.Connection, key: int) -> None:
        chunks = fetch(connection, "SELECT id FROM chunks WHERE record = ?", (key,))
        delete_chunks(connection, self._late_words, [row[0] for row in chunks])
        _put_details(connection, key, (), (), ())
        connection.execute("DELETE FROM texts WHERE record = ?", (key,))
        connection.execute("DELETE FROM records WHERE id = ?", (key,))
        _renew_revision(connection)

    @contextmanager
    def batch(self, text_bytes: int = 0) -> Iterator[apsw.Connection]:
        """Inside another one, a part of it that can fail alone."""
        with self.db.transaction(text_bytes) as connection, self._late_words.until_the_end(connection):
            yield connection

    # --- what is left out ---

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        with self.batch() as connection:
            collection = _collection_id(connection, skipped.collection)
            if drop:
                self._drop(connection, collection, skipped.path)
            connection.execute(
                "INSERT OR REPLACE INTO skipped (collection, path, reason, size, mtime_ns) VALUES (?, ?, ?, ?, ?)",
                (collection, skipped.path, skipped.reason, skipped.size, skipped.mtime_ns),
            )

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        with self.db.transaction() as connection:
            key = _collection_id(connection, collection)
            connection.executemany(
                "DELETE FROM skipped WHERE collection = ? AND path = ?", [(key, path) for path in paths]
            )

    def kinds(self) -> frozenset[str]:
        return frozenset(kind for (kind,) in self._remembered("SELECT DISTINCT kind FROM records"))

    def faceted(self, name: str) -> list[tuple[str, str, str]]:
        statement = (
            f"SELECT collections.name, records.path, found.value FROM {RECORDS} "
            "JOIN json_each(records.facets) AS found WHERE found.key = ? ORDER BY collections.id, records.path"
        )
        return self.db.remembered(f"facet {name}", lambda: self.db.rows(statement, (name,)))

    def skipped(self) -> list[Skipped]:
        rows = self._remembered(
            "SELECT collections.name, skipped.path, reason, size, mtime_ns FROM skipped "
            "JOIN collections ON collections.id = skipped.collection ORDER BY collections.id, skipped.path"
        )
        return [Skipped(*row) for row in rows]

    # --- reading back ---

    def load(self, keys: Sequence[int]) -> list[Stored]:
        try:
            rows = self._chunk_rows(keys)
        except IndexDamaged as error:
            self._damage.note("catalog", str(error.__cause__))
            rows = [row for key in keys for row in self._readable(key)]
        found = {stored.key: stored for stored in self._damage.sound(rows, stored_of)}
        return [found[key] for key in keys if key in found]

    def _chunk_rows(self, keys: Sequence[int]) -> list[Row]:
        return self.db.rows(
            f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )

    def _readable(self, key: int) -> list[Row]:
        """The row of this chunk, as far as it can be read."""
        try:
            return self._chunk_rows([key])
        except IndexDamaged:
            return []

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        rows = self.db.rows(
            f"SELECT chunks.id, collections.name, records.path, chunks.ordinal FROM {STORED} "
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return {key: (collection, path, ordinal) for key, collection, path, ordinal in rows}

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        return self._stored("chunks.public_id = ?", chunk_id, collection)

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        rows = self.db.rows(
            f"SELECT {RECORD_COLUMNS} FROM {RECORDS} WHERE records.path = ? AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id",
            (path, collection),
        )
        return list(self._damage.sound(rows, record_of))

    def select(self, scope: Scope, limit: int | None = None) -> list[Record]:
        with self.db.reader() as connection:
            condition, values = scope_condition(connection, scope)
            rows = fetch(
                connection,
                f"SELECT {RECORD_COLUMNS} FROM {RECORDS} WHERE {condition or 'true'} {_NEWEST_FIRST} LIMIT ?",
                (*values, -1 if limit is None else limit),
            )
        return list(self._damage.sound(rows, record_of))

    def count(self, scope: Scope) -> int:
        with self.db.reader() as connection:
            condition, values = scope_condition(connection, scope)
            ((found,),) = fetch(
                connection, f"SELECT count(*) FROM {RECORDS} WHERE {condition or 'true'}", tuple(values)
            )
        return int(found)

    def linking(self, targets: Sequence[str], kinds: Sequence[str] = ()) -> list[tuple[Record, Link]]:
        rows = self.db.rows(
            f"SELECT links.kind, target, line, context, {RECORD_COLUMNS} FROM json_each(?) AS wanted "
            "CROSS JOIN links ON links.target = wanted.value JOIN records ON records.id = links.record "
            "JOIN collections ON collections.id = records.collection "
            "WHERE (? = '[]' OR links.kind IN (SELECT value FROM json_each(?))) "
            f"{_NEWEST_FIRST}, links.ordinal",
            (as_json(sorted({it for it in targets if _is_text(it)})), *[as_json(list(kinds))] * 2),
        )
        return list(self._damage.sound(rows, lambda row: (record_of(row[4:]), Link(*row[:4]))))

    def chunks(self, record: Record) -> list[Stored]:
        return self._stored("records.path = ?", record.path, record.collection)

    def _stored(self, condition: str, value: str, collection: str | None) -> list[Stored]:
        rows = self.db.rows(
            f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE {condition} AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id, records.path, chunks.ordinal",
            (value, collection),
        )
        return list(self._damage.sound(rows, stored_of))

    def symbols(self, record: Record) -> list[Symbol]:
        return [symbol_of(row) for row in self._details("symbols", SYMBOL_COLUMNS, record)]

    def links(self, record: Record) -> list[Link]:
        return [Link(*row) for row in self._details("links", "links.kind, target, line, context", record)]

    def calls(self, record: Record) -> list[Call]:
        return [
            Call(*row)
            for row in self._details("calls", "calls.name, callee, line, symbol, arguments, calls.kind", record)
        ]

    def text(self, record: Record) -> str:
        rows = self._details("texts", "body", record, order="texts.record")
        try:
            return unpacked(rows[0][0]) if rows else ""
        except (zlib.error, UnicodeDecodeError):
            self._damage.note("records", f"the text of {record.path!r} can not be unpacked")
            raise Unsound(record.path) from None

    def linked(self, kinds: Sequence[str]) -> list[tuple[Record, list[Link]]]:
        with self.db.reader():  # both queries see one state
            records = self.db.rows(
                f"SELECT records.id, {RECORD_COLUMNS} FROM {RECORDS} ORDER BY collections.name, records.path"
            )
            rows = self.db.rows(
                "SELECT record, kind, target, line, context FROM links WHERE kind IN (SELECT value FROM json_each(?)) "
                "ORDER BY record, ordinal",
                (as_json(list(kinds)),),
            )
        links: defaultdict[int, list[Link]] = defaultdict(list)
        for key, *link in rows:
            links[key].append(Link(*link))
        return list(self._damage.sound(records, lambda row: (record_of(row[1:]), links[row[0]])))

    def _details(self, table: str, columns: str, record: Record, order: str = "ordinal") -> list[Row]:
        return self.db.rows(
            f"SELECT {columns} FROM {table} JOIN records ON records.id = {table}.record JOIN collections "
            f"ON collections.id = records.collection WHERE records.path = ? AND collections.name = ? ORDER BY {order}",
            (record.path, record.collection),
        )

    def export(self) -> Iterator[Stored]:
        """File by file as they are when it is their turn: one long look at everything would hold up the log."""
        rows = self.db.rows(f"SELECT records.id FROM {RECORDS} ORDER BY collections.name, records.path")
        statement = f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE chunks.record = ? ORDER BY chunks.ordinal"
        for key in rows:
            yield from self._damage.sound(self.db.rows(statement, key), stored_of)

    def counts(self) -> Counts:
        return self.db.remembered("counts", self._count)

    def _count(self) -> Counts:
        tables = ("records", "chunks", "symbols", "links", "calls", "vectors", "next_vectors")
        return Counts(*map(self._count_of_rows, tables))

    def _count_of_rows(self, table: str) -> int:
        try:
            return int(self.db.rows(f"SELECT count(*) FROM {table}")[0][0])
        except IndexDamaged as error:
            self._damage.note("catalog", str(error.__cause__))
            return 0

    # --- the manifest ---

    def manifest(self) -> Mapping[str, str]:
        return dict(self._remembered("SELECT key, value FROM manifest"))

    def _remembered(self, statement: str) -> list[Row]:
        """Small tables that every answer looks at, read once for as long as the file does not change."""
        return self.db.remembered(statement, lambda: self.db.rows(statement))

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        return self._memory.get(name, lambda: self.manifest().get(REVISION, ""), make)

    def note(self, key: str, value: str) -> None:
        with self.db.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (key, value))


@contextmanager
def _storable() -> Iterator[None]:
    """What an extractor made up against its types is no reason to stop a sync."""
    try:
        yield
    except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, TypeError, UnicodeEncodeError) as error:
        raise Unreadable(f"can not be stored ({type(error).__name__}: {error})"[:300]) from error


def _free_name(base: str, taken: set[str]) -> str:
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


def _is_text(path: str) -> bool:
    """Whether a record can have this path: names that are not UTF-8 are never indexed."""
    return path.isascii() or not any("\ud800" <= character <= "\udfff" for character in path)


def _collection_id(connection: apsw.Connection, name: str) -> int:
    ((key,),) = fetch(connection, "SELECT id FROM collections WHERE name = ?", (name,))
    return int(key)


def _renew_revision(connection: apsw.Connection) -> None:
    """From this transaction on, nothing that is remembered of the records holds any more."""
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, hex(randomblob(16)))", (REVISION,))


def _put_record(connection: apsw.Connection, collection: int, record: Record) -> tuple[int, bool]:
    """The record's key, and whether what its chunks inherit from it in the words index is as before."""
    inherited = (as_json(list(record.tags)), as_json(list(record.aliases)), record.title)
    before = fetch(
        connection,
        "SELECT id, tags, aliases, title FROM records WHERE collection = ? AND path = ?",
        (collection, record.path),
    )
    values = (
        *inherited, record.kind, record.size, record.mtime_ns, record.digest, record.chunking, record.settled,
        as_json(dict(record.facets)), record.at_ns,
    )  # fmt: skip
    ((key,),) = fetch(
        connection,
        "INSERT INTO records (tags, aliases, title, kind, size, mtime_ns, digest, chunking, settled, facets, "
        "at_ns, collection, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (collection, path) "
        "DO UPDATE SET kind = excluded.kind, title = excluded.title, size = excluded.size, "
        "mtime_ns = excluded.mtime_ns, digest = excluded.digest, chunking = excluded.chunking, "
        "settled = excluded.settled, tags = excluded.tags, aliases = excluded.aliases, facets = excluded.facets, "
        "at_ns = excluded.at_ns RETURNING id",
        (*values, collection, record.path),
    )
    return int(key), before == [(key, *inherited)]


def _put_details(
    connection: apsw.Connection,
    key: int,
    symbols: Sequence[Symbol],
    links: Sequence[Link],
    calls: Sequence[Call],
) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of symbols, links and calls that were written, without the key of their record."""
    for table in ("symbols", "traits", "links", "calls"):
        connection.execute(f"DELETE FROM {table} WHERE record = ?", (key,))
    symbol_rows = put_symbols(connection, key, symbols)
    call_rows: list[Row] = [(place, *it) for place, it in enumerate(calls)]
    link_rows: list[Row] = [(place, it.kind, it.target, it.line, it.context) for place, it in enumerate(links)]
    connection.executemany(
        f"INSERT INTO calls (record, {CALLS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(key, *row) for row in call_rows]
    )
    connection.executemany(
        f"INSERT INTO links (record, {LINKS}) VALUES (?, ?, ?, ?, ?, ?)", [(key, *row) for row in link_rows]
    )
    return symbol_rows, link_rows, call_rows


def _put_text(connection: apsw.Connection, key: int, text: str) -> bytes:
    body = packed(text)
    if fetch(connection, "SELECT body FROM texts WHERE record = ?", (key,)) != [(body,)]:
        connection.execute("INSERT OR REPLACE INTO texts (record, body) VALUES (?, ?)", (key, body))
    return body


def _seal(connection: apsw.Connection, key: int, record: Record, details: int) -> None:
    lists = (as_json(list(record.tags)), as_json(list(record.aliases)), as_json(dict(record.facets)))
    own = (record.path, record.kind, record.title, record.digest, record.chunking, *lists, details)
    connection.execute("UPDATE records SET details = ?, seal = ? WHERE id = ?", (details, seal(own), key))
