"""Check an index, find damage, and repair it from the catalog."""

from __future__ import annotations

import json
import re
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import apsw

from dowse.errors import BadInput, IndexBusy, IndexDamaged, PartDamaged
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.damage import (
    REBUILDING,
    WORDS_PART,
    HealthState,
    mark_finished,
    mark_unfinished,
    unfinished_rebuilds,
)
from dowse.store.sqlite.database import (
    APPLICATION_ID,
    MIGRATIONS,
    VECTORS_SCRIPT,
    Database,
    Row,
    fetch_rows,
    make_defensive,
    read_first_bytes,
)
from dowse.store.sqlite.line_index import LineIndexCache, line_sidecar_path
from dowse.store.sqlite.line_log import read_line_header
from dowse.store.sqlite.locks import has_waiting_writer
from dowse.store.sqlite.rows import UNENCODED_CHUNKS_SQL, checksum_details, matches_checksum
from dowse.store.sqlite.vectors import VectorIndexCache, vector_sidecar_path
from dowse.store.sqlite.writer import (
    CALL_COLUMNS,
    LINK_COLUMNS,
    SqliteWriter,
    delete_chunks,
    is_merge_due,
    merge_segments,
)
from dowse.store.sqlite.writer import CHUNK_CHECKSUM_COLUMNS as CHUNKS
from dowse.store.sqlite.writer import SYMBOL_CHECKSUM_COLUMNS as SYMBOLS
from dowse.store.types import ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY, DroppedRecord, Finding, Progress
from dowse.text.tokenize import last_simple_name

# --------------------------------------------------------------------------------------------------
# Health checks and repair as methods of the store.

_REPAIRED_KEY = "mended"
_PROBE_SECONDS = 5.0
_UNOWNED_RECORDS_SQL = (
    "SELECT id FROM records WHERE id NOT IN (SELECT record FROM texts) "
    "OR collection NOT IN (SELECT id FROM collections)"
)
_RECORD_LOCATION_SQL = (
    "SELECT collections.name, records.path FROM records LEFT JOIN collections ON collections.id = records.collection "
    "WHERE records.id = ?"
)


class SqliteMaintenance:
    def __init__(
        self,
        db: Database,
        health: HealthState,
        catalog: SqliteCatalog,
        writer: SqliteWriter,
        vectors: VectorIndexCache,
        lines: LineIndexCache,
    ) -> None:
        self.db = db
        self._health = health
        self._catalog = catalog
        self._writer = writer
        self._vectors = vectors
        self._lines = lines

    def damaged_parts(self) -> Mapping[str, str]:
        if self.db.damage and not self._health.problems():
            self._health.record("catalog", self.db.damage)  # the reader did not know which part it was
        self.db.damage = ""
        if self.db.is_closed:
            return self._health.problems()
        try:
            token = self._catalog.metadata().get(_REPAIRED_KEY, "")
            mending = self.db.cached_by_revision("mending parts", lambda: unfinished_rebuilds(self.db.reader()))
        except IndexDamaged as error:
            return {**self._health.problems(), "catalog": str(error)}
        # Another process may have repaired the damage found by this one.
        return dict.fromkeys(mending, REBUILDING) | self._health.problems(token)

    def probe(self) -> None:
        found = self.check(deep=False, progress=lambda stage, done, total: None)
        try:
            found += page_findings(self.db, _PROBE_SECONDS)
        except IndexDamaged as error:
            found.append(Finding("catalog", "problem", str(error.__cause__ or error)))
        for finding in found:
            if finding.state == "problem":
                self._health.record(finding.part, finding.text)

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        found: list[Finding] = []
        try:
            found.extend(self._findings(deep, progress))
        except (IndexDamaged, apsw.CorruptError, apsw.SQLError) as error:
            reason = error.__cause__ or error
            found.append(Finding("catalog", "problem", f"the file cannot be read ({reason})", "dowse doctor --fix"))
        return found

    def _findings(self, deep: bool, progress: Progress) -> Iterator[Finding]:
        yield from quick_findings(self.db)
        if deep:
            yield from deep_findings(self.db, progress)
        yield from sidecar_findings(self.db, deep=deep)

    def begin_repair(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[DroppedRecord]:
        damaged = frozenset(parts)
        if "catalog" in damaged:
            raise IndexDamaged(f"{self.db.path} cannot be repaired in place; run `dowse rebuild`")
        lost: list[DroppedRecord] = []
        if "records" in damaged:
            rebuild_indexes(self.db)
            lost = self._drop_damaged(frozenset(available), progress)
        if "words" in damaged:
            clear_text_index(self.db)
        if damaged & {"names", "records"}:
            rebuild_symbol_names(self.db)
        if "vectors" in damaged:
            drop_vectors(self.db)
        if damaged & {"vectors", "sidecars"}:
            self._vectors.forget()
            self._lines.forget()
        return lost

    def finish_repair(self, progress: Progress) -> None:
        fill_text_index(self.db, progress)
        with self.db.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO manifest (key, value) VALUES (?, hex(randomblob(8)))", (_REPAIRED_KEY,)
            )

    def optimize(self, progress: Progress) -> None:
        """Merge the segments of the text index if enough was written.

        A waiting writer or a full disk postpones the rest. Damage is recorded for a later repair.
        """
        if not is_merge_due(self._writer.fts_buffer.written, lambda: self._catalog.counts().chunks):
            return
        with suppress(PartDamaged, IndexBusy, BadInput), self._health.attribute_to(WORDS_PART):
            if merge_segments(self.db, lambda: not has_waiting_writer(self.db.path), progress):
                self._writer.fts_buffer.written = 0

    def checkpoint(self) -> None:
        self.db.checkpoint("TRUNCATE")

    def _drop_damaged(self, available: frozenset[str], progress: Progress) -> list[DroppedRecord]:
        """Drop damaged records of available collections. Others stay: partial content beats none."""

        keys = {*mismatched_records(self.db, progress), *(key for (key,) in self.db.rows(_UNOWNED_RECORDS_SQL))}
        lost: list[DroppedRecord] = []
        for key in sorted(keys):
            with self._writer.batch() as connection:
                collection, path = _record_location(connection, key)
                if collection is None or collection in available:
                    self._writer.delete_record(connection, key)
                    lost.append(DroppedRecord(collection or "", path))
        with self._writer.batch() as connection:
            self._drop_orphans(connection)
        return lost

    def _drop_orphans(self, connection: apsw.Connection) -> None:
        chunks = fetch_rows(connection, "SELECT id FROM chunks WHERE record NOT IN (SELECT id FROM records)")
        delete_chunks(connection, self._writer.fts_buffer, [key for (key,) in chunks])
        for table in ("texts", "symbols", "traits", "links", "calls", "layouts"):
            connection.execute(f"DELETE FROM {table} WHERE record NOT IN (SELECT id FROM records)")
        for table in ("vectors", "next_vectors"):
            connection.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT id FROM chunks)")


def _record_location(connection: apsw.Connection, key: int) -> tuple[str | None, str]:
    """Return collection and path, as far as they can be read."""
    try:
        ((collection, path),) = fetch_rows(connection, _RECORD_LOCATION_SQL, (key,))
    except UnicodeDecodeError:
        return None, "a record with an unreadable path"
    return collection, path


# --------------------------------------------------------------------------------------------------
# Checks that only count rows: whether the parts of an index agree.

REPAIR_COMMAND = "dowse doctor --fix"
_INDEX_COMMAND = "dowse index"


@dataclass(frozen=True, slots=True)
class _OrphanCheck:
    """Rows whose owner is missing; no transaction leaves any."""

    part: str
    description: str
    sql: str


_ORPHAN_CHECKS = (
    _OrphanCheck(
        "records", "records without a collection", "records WHERE collection NOT IN (SELECT id FROM collections)"
    ),
    _OrphanCheck("records", "chunks without a record", "chunks WHERE record NOT IN (SELECT id FROM records)"),
    _OrphanCheck("records", "texts without a record", "texts WHERE record NOT IN (SELECT id FROM records)"),
    _OrphanCheck("records", "records without a text", "records WHERE lined AND id NOT IN (SELECT record FROM texts)"),
    _OrphanCheck("vectors", "vectors without a chunk", "vectors WHERE chunk NOT IN (SELECT id FROM chunks)"),
    _OrphanCheck(
        "catalog",
        "collections that do not match their copies",
        "collections WHERE twin IS NOT name || char(31) || root",
    ),
)


def quick_findings(db: Database) -> Iterator[Finding]:
    """Count rows in one snapshot, without reading their content."""
    with db.snapshot():
        yield from _count_words(db)
        yield from _count_vectors(db)
        yield from _count_orphans(db)


def _count_rows(db: Database, sql: str) -> int:
    return int(db.rows(f"SELECT count(*) FROM {sql}")[0][0])


def _count_words(db: Database) -> Iterator[Finding]:
    if WORDS_PART in unfinished_rebuilds(db.reader()):
        yield Finding(
            WORDS_PART, "problem", f"the full-text index is {REBUILDING} and not complete yet", REPAIR_COMMAND
        )
        return
    chunks, indexed = _count_rows(db, "chunks"), _count_rows(db, "words_docsize")
    if chunks == indexed:
        yield Finding(WORDS_PART, "ok", f"all {chunks:,} chunks are in the full-text index")
    else:
        yield Finding(
            WORDS_PART, "problem", f"{indexed:,} of {chunks:,} chunks are in the full-text index", REPAIR_COMMAND
        )


def _count_vectors(db: Database) -> Iterator[Finding]:
    vectors, next_vectors = _count_rows(db, "vectors"), _count_rows(db, "next_vectors")
    chunks = _count_rows(db, "chunks") - _count_rows(db, UNENCODED_CHUNKS_SQL)
    if next_vectors:
        text = f"{next_vectors:,} of {chunks:,} chunks have vectors of the next encoder, which is not active yet"
        yield Finding("vectors", "warning", text, _INDEX_COMMAND)
    if vectors < chunks:
        yield Finding("vectors", "warning", f"{vectors:,} of {chunks:,} chunks have vectors", _INDEX_COMMAND)
    else:
        yield Finding("vectors", "ok", f"{vectors:,} of {chunks:,} chunks have vectors")


def _count_orphans(db: Database) -> Iterator[Finding]:
    found = [(it, count) for it in _ORPHAN_CHECKS if (count := _count_rows(db, it.sql))]
    for it, count in found:
        yield Finding(it.part, "problem", f"{count:,} {it.description}", REPAIR_COMMAND)
    if not found:
        yield Finding("records", "ok", f"{_count_rows(db, 'records'):,} records, no orphaned rows")


# --------------------------------------------------------------------------------------------------
# Finds records that differ from what was written, by comparing every row with its checksum.

_RECORDS_PER_READ = 200
_RECORD_CHECKSUM_COLUMNS = "path, kind, title, digest, chunking, tags, aliases, facets, details"
_BASES_COLUMN, _ATTRIBUTES_COLUMN = (
    SYMBOLS.replace(" ", "").split(",").index(name) for name in ("bases", "attributes")
)


def mismatched_records(db: Database, progress: Progress) -> Iterator[int]:
    """Yield the keys of records whose rows do not match their checksums."""
    keys = [key for (key,) in db.rows("SELECT id FROM records ORDER BY id")]
    for start in range(0, len(keys), _RECORDS_PER_READ):
        progress("checking records", start, len(keys))
        yield from _mismatched(db, keys[start : start + _RECORDS_PER_READ])
    progress("checking records", len(keys), len(keys))


def count_without_checksum(db: Database) -> int:
    """Count the records that were written before checksums existed."""
    return int(db.rows("SELECT count(*) FROM records WHERE seal IS NULL")[0][0])


def _mismatched(db: Database, keys: Sequence[int]) -> list[int]:
    try:
        with db.snapshot():
            rows = _RecordRows(db, keys[0], keys[-1])
            return [key for key in keys if not rows.is_intact(key)]
    except IndexDamaged:
        # Some row cannot even be read: search one by one.
        return list(keys) if len(keys) == 1 else [bad for key in keys for bad in _mismatched(db, [key])]


class _RecordRows:
    """All rows of the records in a range of keys."""

    def __init__(self, db: Database, first: int, last: int) -> None:
        self._range = (first, last)
        self._db = db
        own_values = db.rows(
            f"SELECT id, seal, {_RECORD_CHECKSUM_COLUMNS} FROM records WHERE id BETWEEN ? AND ?", self._range
        )
        self._records = {row[0]: row for row in own_values}
        self._chunks = self._load_table("chunks", f"seal, {CHUNKS}")
        self._symbols = self._load_table("symbols", SYMBOLS)
        self._links = self._load_table("links", LINK_COLUMNS)
        self._calls = self._load_table("calls", CALL_COLUMNS)
        self._traits = self._load_table("traits", "kind, value, symbol", order="kind")
        self._texts = self._load_table("texts", "body", order="record")
        self._layouts = self._load_table("layouts", "body", order="record")

    def _load_table(self, table: str, columns: str, order: str = "ordinal") -> defaultdict[int, list[Row]]:
        rows = self._db.rows(
            f"SELECT record, {columns} FROM {table} WHERE record BETWEEN ? AND ? ORDER BY record, {order}", self._range
        )
        grouped: defaultdict[int, list[Row]] = defaultdict(list)
        for key, *values in rows:
            grouped[key].append(tuple(values))
        return grouped

    def is_intact(self, key: int) -> bool:
        """Return whether a record is intact; one without checksum, or deleted meanwhile, counts as intact."""
        if key not in self._records or self._records[key][1] is None:
            return True
        _, sealed, *own_values = self._records[key]
        chunks = self._chunks[key]
        if not matches_checksum(sealed, own_values) or not all(matches_checksum(row[0], row[1:]) for row in chunks):
            return False
        symbols = self._symbols[key]
        body = b"".join(row[0] for table in (self._texts, self._layouts) for row in table[key])
        details = checksum_details(sorted(row[0] for row in chunks), symbols, self._links[key], self._calls[key], body)
        return details == own_values[-1] and set(self._traits[key]) == _expected_traits(symbols)


def _expected_traits(symbols: Sequence[Row]) -> set[Row]:
    """Return the traits derived from these symbols, which are stored for lookup."""
    return {
        (kind, last_simple_name(text), row[0])
        for row in symbols
        for kind, column in (("base", _BASES_COLUMN), ("attribute", _ATTRIBUTES_COLUMN))
        if row[column] != "[]"
        for text in json.loads(row[column])
    }


# --------------------------------------------------------------------------------------------------
# Checks that read the whole index: pages, full-text indexes and checksums.

_STEPS_PER_CLOCK_CHECK = 10_000  # SQLite instructions between two looks at the clock
_MAX_COMPLAINTS = 50  # messages from SQLite; the first ones are enough
_FTS_PARTS = {"words": "words", "symbol_grams": "names"}
_PART_BY_TABLE_PREFIX = {
    "words": "words",
    "symbol_": "names",
    "sqlite_autoindex_symbol_names": "names",
    "vector": "vectors",
    "next_vectors": "vectors",
}
_INDEX_PATTERN = re.compile(r"(missing from|entries in|non-unique entry in) index (\S+)")
_TREE_PATTERN = re.compile(r"Tree (\d+)")
_FTS_PATTERN = re.compile(r"\bfts5.* table \"?(?:main\.)?(\w+)", re.IGNORECASE)


def deep_findings(db: Database, progress: Progress) -> Iterator[Finding]:
    yield from _check_pages(db, progress)
    yield from _check_full_text(db, progress)
    yield from _check_records(db, progress)
    yield from _check_names(db)
    yield from _check_vectors(db, progress)


def _check_pages(db: Database, progress: Progress) -> Iterator[Finding]:
    progress("checking pages", 0, 1)
    found = page_findings(db)
    progress("checking pages", 1, 1)
    yield from found or [Finding("catalog", "ok", "all pages of the file are intact")]


def page_findings(db: Database, within_s: float | None = None) -> list[Finding]:
    """Return the problems SQLite reports. A time limit makes the check quicker; unchecked pages count as sound."""
    how = "integrity_check" if within_s is None else "quick_check"
    # A new connection, because an open one would compare full-text indexes with its outdated cache.
    with closing(Database(db.path, create=False, signer=db.signer)) as newly:
        if within_s is not None:
            end = time.monotonic() + within_s
            newly.reader().set_progress_handler(lambda: time.monotonic() > end, _STEPS_PER_CLOCK_CHECK)
        try:
            complaints = [str(row[0]) for row in newly.rows(f"PRAGMA {how}({_MAX_COMPLAINTS})")]
        except apsw.InterruptError:
            return []
    if complaints == ["ok"]:
        return []
    roots = {page: name for name, page in db.rows("SELECT tbl_name, rootpage FROM sqlite_schema WHERE rootpage > 0")}
    parts: dict[str, str] = {}
    for complaint in complaints:
        parts.setdefault(_damaged_part(complaint, roots), " ".join(complaint.split()))
    return [Finding(part, "problem", complaint, REPAIR_COMMAND) for part, complaint in parts.items()]


def _damaged_part(complaint: str, roots: dict[int, str]) -> str:
    """Return the part a message of SQLite is about; the catalog if it does not say."""
    if found := _FTS_PATTERN.search(complaint):
        return _FTS_PARTS.get(found[1], "catalog")
    if found := _TREE_PATTERN.search(complaint):
        return _part_of_table(roots.get(int(found[1]), ""))
    # An index can be rebuilt from its table, whose rows have checksums.
    if found := _INDEX_PATTERN.search(complaint):
        owner = _part_of_table(found[2])
        return "records" if owner == "catalog" else owner
    return "catalog"


def _part_of_table(name: str) -> str:
    return next((part for start, part in _PART_BY_TABLE_PREFIX.items() if name.startswith(start)), "catalog")


def _check_full_text(db: Database, progress: Progress) -> Iterator[Finding]:
    """Let FTS5 compare its indexes with their content; its check is a write statement."""
    for done, (table, part) in enumerate(_FTS_PARTS.items()):
        progress("checking words", done, len(_FTS_PARTS))
        if part in unfinished_rebuilds(db.reader()):
            continue
        try:
            with db.transaction() as connection:
                connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")
        except (IndexDamaged, apsw.SQLError) as error:
            yield Finding(
                part,
                "problem",
                f"the index of {part} does not match the catalog ({error.__cause__ or error})",
                REPAIR_COMMAND,
            )
        except (BadInput, IndexBusy) as error:
            yield Finding(part, "warning", f"the index of {part} was not compared with the catalog: {error}")
        else:
            yield Finding(part, "ok", f"the index of {part} matches the catalog")
    progress("checking words", len(_FTS_PARTS), len(_FTS_PARTS))


def _check_records(db: Database, progress: Progress) -> Iterator[Finding]:
    damaged, before = sum(1 for _ in mismatched_records(db, progress)), count_without_checksum(db)
    if damaged:
        yield Finding("records", "problem", f"{damaged:,} records do not match their checksums", REPAIR_COMMAND)
    else:
        yield Finding("records", "ok", "all records match their checksums")
    if before:
        text = f"{before:,} records have no checksum (written by an older Dowse)"
        yield Finding("records", "warning", text, "dowse index --force")


def _check_names(db: Database) -> Iterator[Finding]:
    ((missing,),) = db.rows(
        "SELECT count(*) FROM (SELECT DISTINCT folded FROM symbols WHERE folded NOT IN (SELECT name FROM symbol_names))"
    )
    if missing:
        yield Finding(
            "names", "problem", f"{missing:,} symbol names are missing from the index of names", REPAIR_COMMAND
        )


def _check_vectors(db: Database, progress: Progress) -> Iterator[Finding]:
    for table in ("vectors", "next_vectors"):
        ((total, sizes),) = db.rows(f"SELECT count(*), count(DISTINCT length(vector)) FROM {table}")
        rows, done, damaged = db.stream(f"SELECT vector, seal FROM {table}"), 0, int(sizes > 1)
        while part := list(islice(rows, 10_000)):
            damaged += sum(not _is_vector_intact(vector, checksum) for vector, checksum in part)
            done += len(part)
            progress("checking vectors", done, total)
        if damaged:
            yield Finding("vectors", "problem", f"{damaged:,} vectors do not match their checksums", REPAIR_COMMAND)


def _is_vector_intact(vector: object, checksum: object) -> bool:
    return isinstance(vector, bytes) and (checksum is None or zlib.crc32(vector) == checksum)


# --------------------------------------------------------------------------------------------------
# Checks the header of an index file, and whether it fits the content.

_SQLITE_MAGIC = b"SQLite format 3\x00"
_HEADER_LENGTH = 100
# Bytes that SQLite always writes: end of the page size, reserved space, payload fractions, schema format, encoding.
_CONSTANT_BYTES = {20: b"\x00", 21: b"\x40\x20\x20", 44: b"\x00\x00\x00\x04", 56: b"\x00\x00\x00\x01", 72: bytes(20)}
# Written only with the first table. That may still be in the log alone; then the file is one empty page.
_WRITTEN_WITH_TABLES = (44, 56)
_PAGE_COUNT_OFFSET, _ONE_PAGE = 28, b"\x00\x00\x00\x01"
_FORMAT_VERSIONS_OFFSET = 18  # write and read version: rollback journal or write-ahead log


def find_header_problem(index: Path) -> str:
    """Return what is wrong with the header of an existing file, as the end of a sentence; empty if nothing is.

    A file of a newer Dowse, or of another program, is not a problem: its header fits its content.
    """
    try:
        header = read_first_bytes(index, _HEADER_LENGTH)
    except OSError:
        return ""  # opening the file reports why it cannot be read
    if not header:
        return ""
    if not header.startswith(_SQLITE_MAGIC):
        return "does not have the header of an index"
    if not _has_constant_bytes(header) or not set(header[_FORMAT_VERSIONS_OFFSET : _FORMAT_VERSIONS_OFFSET + 2]) <= {
        1,
        2,
    }:
        return "has a damaged header"
    return _version_problem(index)


def _has_constant_bytes(header: bytes) -> bool:
    is_new = header[_PAGE_COUNT_OFFSET : _PAGE_COUNT_OFFSET + 4] == _ONE_PAGE
    expected = {
        at: bytes(4) if is_new and at in _WRITTEN_WITH_TABLES else value for at, value in _CONSTANT_BYTES.items()
    }
    return all(header[at : at + len(value)] == value for at, value in expected.items())


def _version_problem(index: Path) -> str:
    """Return a problem if the header claims another program or version, but the tables are exactly ours."""
    try:
        connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            make_defensive(connection)
            ((application,),) = fetch_rows(connection, "PRAGMA application_id")
            ((version,),) = fetch_rows(connection, "PRAGMA user_version")
            holds = (
                _table_shapes(connection)
                if (application, version) != (APPLICATION_ID, len(MIGRATIONS))
                else frozenset()
            )
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError):
        return ""  # opening the file reports it
    return "has a header version that does not match its tables" if holds and holds == _expected_tables() else ""


def _expected_tables() -> frozenset[str]:
    connection = apsw.Connection(":memory:")
    for script in MIGRATIONS:
        connection.execute(script.read_text(encoding="utf-8"))
    return _table_shapes(connection)


def _table_shapes(connection: apsw.Connection) -> frozenset[str]:
    """Return the tables with their number of columns; spaces and quotes in the SQL vary with a table's history."""
    rows = fetch_rows(
        connection, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    return frozenset(f"{name}{len(str(sql).split(','))}" for name, sql in rows)


# --------------------------------------------------------------------------------------------------
# Rebuilds parts of an index from the catalog, in transactions small enough for the write-ahead log.

_CHUNKS_PER_FILL = 2_000
_INDEXED_COLUMNS = "title, trail, text, names, tags, path"
_FILL_SQL = (
    f"INSERT INTO words (rowid, {_INDEXED_COLUMNS}) SELECT id, {_INDEXED_COLUMNS} FROM chunks WHERE id > ? AND id <= ?"
)
_NEXT_CHUNKS_SQL = "SELECT max(id), count(*) FROM (SELECT id FROM chunks WHERE id > ? ORDER BY id LIMIT ?)"


def clear_text_index(db: Database) -> None:
    """Clear the text index; searches skip it until it is complete again."""
    with db.transaction() as connection:
        mark_unfinished(connection, WORDS_PART)
        connection.execute("INSERT INTO words (words) VALUES ('delete-all')")


def fill_text_index(db: Database, progress: Progress, at_once: int = _CHUNKS_PER_FILL) -> None:
    """Fill a cleared text index, resuming where an interrupted run stopped."""
    with db.transaction() as connection:
        so_far = unfinished_rebuilds(connection).get(WORDS_PART)
        if so_far is None:
            return
        if not so_far:
            connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
        ((total,),) = fetch_rows(connection, "SELECT count(*) FROM chunks")
        last = int(so_far or 0)
        ((done,),) = fetch_rows(connection, "SELECT count(*) FROM chunks WHERE id <= ?", (last,))
    while (step := _fill_next(db, last, at_once)) is not None:
        last, done = step[0], done + step[1]
        progress("rebuilding the full-text index", done, total)
        db.checkpoint("PASSIVE")


def _fill_next(db: Database, last: int, at_once: int) -> tuple[int, int] | None:
    """Index the next chunks; return the last key and their number, or None when all are done."""
    with db.transaction() as connection:
        ((until, count),) = fetch_rows(connection, _NEXT_CHUNKS_SQL, (last, at_once))
        if not count:
            mark_finished(connection, WORDS_PART)
            return None
        connection.execute(_FILL_SQL, (last, until))
        mark_unfinished(connection, WORDS_PART, str(until))
        return until, count


def rebuild_symbol_names(db: Database) -> None:
    """Rebuild the symbol names and their trigrams; they are few enough for one transaction."""
    with db.transaction() as connection:
        connection.execute("INSERT INTO symbol_grams (symbol_grams) VALUES ('delete-all')")
        connection.execute("DELETE FROM symbol_names")
        connection.execute("INSERT INTO symbol_names (name) SELECT DISTINCT folded FROM symbols ORDER BY folded")
        connection.execute("INSERT INTO symbol_grams (rowid, name) SELECT id, name FROM symbol_names")


def drop_vectors(db: Database) -> None:
    """Drop both vector indexes and their fingerprints. Vectors are encoded again or come from the shared cache."""
    with db.transaction() as connection:
        connection.execute("DROP TABLE vectors; DROP TABLE next_vectors")
        connection.execute("DELETE FROM manifest WHERE key IN (?, ?)", (ACTIVE_ENCODER_KEY, NEXT_ENCODER_KEY))
        connection.execute(
            "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks (id), vector BLOB NOT NULL)"
        )
        connection.execute(VECTORS_SCRIPT.read_text(encoding="utf-8"))
        for table in ("vectors", "next_vectors"):
            connection.execute(f"ALTER TABLE {table} ADD COLUMN seal INTEGER")
        db.sign(connection)


def rebuild_indexes(db: Database) -> None:
    """Rebuild SQLite's own indexes from their tables, one transaction each."""
    names = db.rows("SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY name")
    for (name,) in names:
        with db.transaction() as connection:
            connection.execute(f'REINDEX "{name}"')
        db.checkpoint("PASSIVE")


# --------------------------------------------------------------------------------------------------
# Checks of the sidecar files; damaged ones are quarantined and rebuilt.


def sidecar_findings(db: Database, *, deep: bool) -> Iterator[Finding]:
    for path, is_intact in (
        (vector_sidecar_path(db.path), _are_vectors_intact),
        (line_sidecar_path(db.path), _are_lines_intact),
    ):
        if not path.exists():
            continue
        problem = _open_problem(path) or ("" if not deep or is_intact(db, path) else "is damaged")
        if problem and _is_of_another_version(path):
            yield Finding("sidecars", "ok", f"{path.name} was made by another version; `dowse index` replaces it")
        elif problem:
            yield Finding("sidecars", "problem", f"{path.name} {problem}", REPAIR_COMMAND)
        else:
            yield Finding("sidecars", "ok", f"{path.name} is {'intact' if deep else 'present'}")


def _is_of_another_version(path: Path) -> bool:
    from dowse.store.sqlite.vector_math import is_of_another_version

    return is_of_another_version(path)


def _open_problem(path: Path) -> str:
    if not path.is_file():
        return "is not a file"
    readable = _open_vectors(path) if path.name.endswith("-vectors") else read_line_header(path)
    return "" if readable else "is incomplete, or of another version"


def _open_vectors(path: Path) -> object:
    from dowse.store.sqlite.vector_math import open_vector_sidecar  # imports numpy

    return open_vector_sidecar(path)


def _are_lines_intact(db: Database, path: Path) -> bool:
    from dowse.store.sqlite.line_segment import LineIndexDamaged
    from dowse.store.sqlite.line_state import open_line_sidecar

    sidecar = open_line_sidecar(path)
    if sidecar is None:
        return False
    try:
        for column in sidecar.segment.columns.values():
            column.load()
    except LineIndexDamaged:
        return False
    return True


def _are_vectors_intact(db: Database, path: Path) -> bool:
    """Compare all rows with the table, except those changed since; the file has no checksum of its rows."""
    from dowse.store.sqlite.vector_math import CodedRows, open_vector_sidecar, read_blocks
    from dowse.store.sqlite.vectors import vector_changes_since

    sidecar = open_vector_sidecar(path)
    if sidecar is None:
        return False
    with db.snapshot():
        changes = vector_changes_since(db, sidecar.position)
        if changes is None:
            return True  # from another history of the index: never used for this one
        rows = CodedRows.of(sidecar.block).with_changes(changes.vectors)
        table = db.stream("SELECT chunk, vector FROM vectors ORDER BY chunk")
        try:
            return all(rows.agrees(part) for part in read_blocks(table))
        except IndexDamaged:
            return False
