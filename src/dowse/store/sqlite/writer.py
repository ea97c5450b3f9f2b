"""Writes records, collections and metadata to SQLite, one transaction each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from itertools import count
from pathlib import PurePath
from typing import NamedTuple

import apsw

from dowse.errors import BadInput, Unreadable
from dowse.model import FILES, Call, Collection, DocumentLayout, Link, Record, SkippedItem, Symbol, public_chunk_id
from dowse.store.sqlite.damage import WORDS_PART, mark_unfinished, unfinished_rebuilds
from dowse.store.sqlite.database import Database, Row, fetch_rows
from dowse.store.sqlite.rows import (
    checksum,
    checksum_details,
    compress_text,
    encode_layout,
    join_breadcrumb,
    matches_checksum,
    to_json,
)
from dowse.store.types import REVISION_KEY, UNENCODED_ROLES, ChunkInput, Progress
from dowse.text.tokenize import last_simple_name, subtokens

# --------------------------------------------------------------------------------------------------
# Buffers updates of the full-text indexes until the transaction commits.

_FTS_COLUMNS = "rowid, title, trail, text, names, tags, path"
_ADD_WORDS_SQL = f"INSERT INTO words ({_FTS_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"
_REMOVE_WORDS_SQL = f"INSERT INTO words (words, {_FTS_COLUMNS}) VALUES ('delete', ?, ?, ?, ?, ?, ?, ?)"
_ADD_NAME_SQL = "INSERT OR IGNORE INTO symbol_names (name) VALUES (?)"
_ADD_GRAMS_SQL = "INSERT INTO symbol_grams (rowid, name) SELECT id, name FROM symbol_names WHERE id > ?"


class FtsWriteBuffer:
    """Rows are key, title, breadcrumb, text, subtokens, tags and path of a chunk; symbol names are in lower case.

    SQLite makes FTS5 flush its memory whenever a savepoint, or a statement that might fail half-way, begins. A trigger
    counts as one. Written row by row, every chunk would become a segment that must be merged later. Written at the end
    of a transaction, hundreds of files become one segment.
    """

    def __init__(self) -> None:
        self._added: list[Row] = []
        self._removed: list[Row] = []
        self._names: set[str] = set()
        self._needs_rebuild = False
        self._depth = 0
        self.written = 0  # chunks since segments were last merged

    def add(self, row: Row) -> None:
        self._added.append(row)

    def remove(self, rows: Iterable[Row]) -> None:
        self._removed.extend(rows)

    def require_rebuild(self) -> None:
        """Mark the text index for a rebuild, because words to delete are unknown."""
        self._needs_rebuild = True

    def add_symbol_names(self, names: Iterable[str]) -> None:
        """Add symbol names. A rollback may leave unused ones, which find nothing."""
        self._names.update(names)

    @contextmanager
    def flush_on_commit(self, connection: apsw.Connection) -> Iterator[None]:
        """Write the buffer when the outermost of these contexts ends; one that fails discards its own rows."""
        added, removed = len(self._added), len(self._removed)
        self._depth += 1
        try:
            yield
            if self._depth == 1:
                self._flush(connection)
        except BaseException:
            del self._added[added:], self._removed[removed:]
            raise
        finally:
            self._depth -= 1

    def _flush(self, connection: apsw.Connection) -> None:
        if self._needs_rebuild:
            mark_unfinished(connection, WORDS_PART)
        if WORDS_PART in unfinished_rebuilds(connection):
            # Restart the rebuild: rows already filled in may be gone from the catalog.
            mark_unfinished(connection, WORDS_PART)
        else:
            # Additions first, because an added row may have been removed again; keys are never reused.
            connection.executemany(_ADD_WORDS_SQL, self._added)
            self.written += len(self._added)
            connection.executemany(_REMOVE_WORDS_SQL, self._removed)
        ((last,),) = fetch_rows(connection, "SELECT coalesce(max(id), 0) FROM symbol_names")
        connection.executemany(_ADD_NAME_SQL, [(name,) for name in sorted(self._names)])
        connection.execute(_ADD_GRAMS_SQL, (last,))
        self._added, self._removed, self._names, self._needs_rebuild = [], [], set(), False


# --------------------------------------------------------------------------------------------------
# Writes the chunks of a record: unchanged rows stay, the rest is replaced.

_MOVE_CHUNK_SQL = (
    "UPDATE chunks SET ordinal = ?, public_id = ?, role = ?, start_line = ?, end_line = ?, seal = ? WHERE id = ?"
)
CHUNK_CHECKSUM_COLUMNS = "ordinal, public_id, role, start_line, end_line, digest, title, trail, text, names, tags, path"
_INSERT_CHUNK_SQL = f"INSERT INTO chunks ({CHUNK_CHECKSUM_COLUMNS}, seal, record) VALUES ({', '.join('?' * 14)})"
_ROLE_COLUMN = 2
_CONTENT_OFFSET = 5  # first column whose value does not depend on the chunk's position
_LABELS_COLUMN = 5  # position among those columns


class PreviousContent(Enum):
    """What was stored of a record before: nothing, or chunks with the same or other words from the record itself.

    Nothing needs to be looked up for a new record, which saves half of the work.
    """

    NOTHING = 0
    OTHER_WORDS = 1
    SAME_WORDS = 2


@dataclass(frozen=True, slots=True)
class _ReusableRows:
    """Rows that may stay, as keys and contents by role, digest, breadcrumb and text; and the keys of damaged rows."""

    intact: Mapping[tuple[str, bytes, str, str], list[tuple[int, Row]]]
    damaged: list[int]


_NO_REUSABLE_ROWS = _ReusableRows({}, [])


def put_chunks(
    connection: apsw.Connection,
    words: FtsWriteBuffer,
    key: int,
    record: Record,
    pieces: Sequence[ChunkInput],
    before: PreviousContent,
) -> list[int]:
    """Write the chunks of a record and return their checksums in order.

    A row with unchanged words only moves to its new position. That saves updating the text index and the vector.
    """
    reusable = _NO_REUSABLE_ROWS if before is PreviousContent.NOTHING else _load_reusable_rows(connection, key)
    labels = record.labels
    checksums: list[int] = []
    for piece in pieces:
        trail, position = join_breadcrumb(piece.chunk.trail), _position_columns(record, piece)
        matches = reusable.intact.get((piece.chunk.role, piece.digest, trail, piece.chunk.text))
        expected_labels = "" if piece.chunk.role in UNENCODED_ROLES else labels
        if before is PreviousContent.SAME_WORDS and matches and matches[-1][1][_LABELS_COLUMN] == expected_labels:
            row_key, content = matches.pop()
            checksums.append(checksum((*position, *content)))
            connection.execute(_MOVE_CHUNK_SQL, (*position, checksums[-1], row_key))
            continue
        columns = _text_columns(record, trail, piece, labels)
        checksums.append(checksum((*position, piece.digest, *columns)))
        connection.execute(_INSERT_CHUNK_SQL, (*position, piece.digest, *columns, checksums[-1], key))
        words.add((connection.last_insert_rowid(), *columns))
    unused = [row_key for rows in reusable.intact.values() for row_key, _ in rows]
    delete_chunks(connection, words, [*unused, *reusable.damaged])
    return checksums


def _load_reusable_rows(connection: apsw.Connection, key: int) -> _ReusableRows:
    sound: defaultdict[tuple[str, bytes, str, str], list[tuple[int, Row]]] = defaultdict(list)
    damaged: list[int] = []
    keys = fetch_rows(connection, "SELECT id FROM chunks WHERE record = ? ORDER BY ordinal DESC", (key,))
    rows = _read_chunk_rows(connection, [row[0] for row in keys]) if keys else []
    if rows is None:
        return _ReusableRows({}, [row[0] for row in keys])
    for row_key, sealed, *values in rows:
        if matches_checksum(sealed, values):
            content = tuple(values[_CONTENT_OFFSET:])
            digest, _, trail, text = content[:4]
            sound[values[_ROLE_COLUMN], digest, trail, text].append((row_key, content))
        else:
            damaged.append(row_key)
    return _ReusableRows(sound, damaged)


def _position_columns(record: Record, piece: ChunkInput) -> Row:
    chunk = piece.chunk
    return chunk.ordinal, public_chunk_id(record.path, chunk.ordinal), chunk.role, chunk.start_line, chunk.end_line


def _text_columns(record: Record, trail: str, piece: ChunkInput, labels: str) -> Row:
    """Return the columns of the text index."""
    if piece.chunk.role in UNENCODED_ROLES:
        return "", trail, piece.chunk.text, "", "", ""
    return record.title, trail, piece.chunk.text, _subtokens(record, trail, piece), labels, record.path


def _subtokens(record: Record, trail: str, piece: ChunkInput) -> str:
    return subtokens(f"{record.title} {trail} {piece.chunk.text}") if piece.names is None else piece.names


def _read_chunk_rows(connection: apsw.Connection, keys: Sequence[int]) -> list[Row] | None:
    """Return key, checksum and checksummed columns of these chunks, in order; None if a text is invalid UTF-8."""
    order = {key: position for position, key in enumerate(keys)}
    statement = f"SELECT id, seal, {CHUNK_CHECKSUM_COLUMNS} FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    try:
        return sorted(fetch_rows(connection, statement, (to_json(list(keys)),)), key=lambda row: order[row[0]])
    except UnicodeDecodeError:
        return None


def delete_chunks(connection: apsw.Connection, words: FtsWriteBuffer, keys: Sequence[int]) -> None:
    if not keys:
        return
    rows = _read_chunk_rows(connection, keys)
    if rows is not None and all(matches_checksum(sealed, values) for _, sealed, *values in rows):
        words.remove((row_key, *values[_CONTENT_OFFSET + 1 :]) for row_key, _, *values in rows)
    else:
        # To delete a row, FTS5 needs its exact words, and these are unknown if the row is damaged.
        words.require_rebuild()
    for table, column in (("vectors", "chunk"), ("next_vectors", "chunk"), ("chunks", "id")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in keys])


# --------------------------------------------------------------------------------------------------
# Writes symbols so that they can be found by name, base and attribute.

_NO_STATS = (None,) * 7
SYMBOL_CHECKSUM_COLUMNS = (
    "ordinal, name, folded, kind, start_line, end_line, level, parent, signature, holds, parameters, "
    "modifiers, attributes, bases, cyclomatic, cognitive, nesting, arity, returns, calls_made, lambdas"
)


def put_symbols(connection: apsw.Connection, key: int, symbols: Sequence[Symbol]) -> list[Row]:
    """Write the symbols of a record; return their rows without the record key."""
    if not symbols:
        return []
    rows = list(_symbol_rows(symbols))
    places = ", ".join("?" * len(SYMBOL_CHECKSUM_COLUMNS.split(",")))
    connection.executemany(
        f"INSERT INTO symbols (record, {SYMBOL_CHECKSUM_COLUMNS}) VALUES (?, {places})", [(key, *row) for row in rows]
    )
    connection.executemany(
        "INSERT OR IGNORE INTO traits (kind, value, record, symbol) VALUES (?, ?, ?, ?)",
        list(_trait_rows(key, symbols)),
    )
    return rows


def _symbol_rows(symbols: Sequence[Symbol]) -> Iterator[Row]:
    for ordinal, symbol in enumerate(symbols):
        lists = (symbol.parameters, symbol.modifiers, symbol.attributes, symbol.bases)
        yield (
            ordinal, symbol.name, symbol.name.lower(), symbol.kind, symbol.start_line, symbol.end_line, symbol.level,
            symbol.parent, symbol.signature, symbol.value_expression, *map(_encode_list, lists),
            *(symbol.stats or _NO_STATS),
        )  # fmt: skip


def _encode_list(texts: tuple[str, ...]) -> str:
    """Encode a list, quickly if empty: each of a million symbols has four, most of them empty."""
    return to_json(texts) if texts else "[]"


def _trait_rows(key: int, symbols: Sequence[Symbol]) -> Iterator[Row]:
    for ordinal, symbol in enumerate(symbols):
        for kind, texts in (("base", symbol.bases), ("attribute", symbol.attributes)):
            for text in texts:
                yield kind, last_simple_name(text), key, ordinal


# --------------------------------------------------------------------------------------------------
# Writes the row of a record and everything attached to it except chunks.

LINK_COLUMNS = "ordinal, kind, target, line, context"
CALL_COLUMNS = "ordinal, name, callee, line, symbol, arguments, kind"
_ADD_LINKS_SQL = f"INSERT INTO links (record, {LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"
_ADD_CALLS_SQL = f"INSERT INTO calls (record, {CALL_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class RecordLists(NamedTuple):
    """The list-valued fields of a record, encoded as JSON."""

    tags: str
    aliases: str
    facets: str


def put_record(
    connection: apsw.Connection, collection: int, record: Record, lists: RecordLists, lined: bool
) -> tuple[int, PreviousContent]:
    """Insert or update the record; return its key and what was stored before."""
    tags, aliases, facets = lists
    inherited = (tags, aliases, record.title)
    before = fetch_rows(
        connection,
        "SELECT id, tags, aliases, title FROM records WHERE collection = ? AND path = ?",
        (collection, record.path),
    )
    values = (
        *inherited, record.kind, record.size, record.mtime_ns, record.digest, record.chunking, record.settled,
        facets, record.at_ns, lined,
    )  # fmt: skip
    ((key,),) = fetch_rows(
        connection,
        "INSERT INTO records (tags, aliases, title, kind, size, mtime_ns, digest, chunking, settled, facets, "
        "at_ns, lined, collection, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (collection, path) DO UPDATE SET kind = excluded.kind, title = excluded.title, "
        "size = excluded.size, mtime_ns = excluded.mtime_ns, digest = excluded.digest, chunking = excluded.chunking, "
        "settled = excluded.settled, tags = excluded.tags, aliases = excluded.aliases, facets = excluded.facets, "
        "at_ns = excluded.at_ns, lined = excluded.lined RETURNING id",
        (*values, collection, record.path),
    )
    if not before:
        return int(key), PreviousContent.NOTHING
    return int(key), PreviousContent.SAME_WORDS if before == [(key, *inherited)] else PreviousContent.OTHER_WORDS


def encode_lists(record: Record) -> RecordLists:
    tags, aliases = (to_json(list(it)) if it else "[]" for it in (record.tags, record.aliases))
    return RecordLists(tags, aliases, to_json(dict(record.facets)) if record.facets else "{}")


def delete_details(connection: apsw.Connection, key: int) -> None:
    for table in ("symbols", "traits", "links", "calls", "layouts"):
        connection.execute(f"DELETE FROM {table} WHERE record = ?", (key,))


def put_details(
    connection: apsw.Connection,
    key: int,
    symbols: Sequence[Symbol],
    links: Sequence[Link],
    calls: Sequence[Call],
) -> tuple[list[Row], list[Row], list[Row]]:
    """Write symbols, links and calls; return their rows without the record key."""
    symbol_rows = put_symbols(connection, key, symbols)
    call_rows: list[Row] = [(place, *it) for place, it in enumerate(calls)]
    link_rows: list[Row] = [(place, it.kind, it.target, it.line, it.context) for place, it in enumerate(links)]
    for statement, rows in ((_ADD_CALLS_SQL, call_rows), (_ADD_LINKS_SQL, link_rows)):
        if rows:
            connection.executemany(statement, [(key, *row) for row in rows])
    return symbol_rows, link_rows, call_rows


def put_text(connection: apsw.Connection, key: int, text: str | None, before: PreviousContent) -> bytes:
    """Store the compressed text, or remove it if there is none; return the stored bytes."""
    is_new = before is PreviousContent.NOTHING
    if text is None:
        if not is_new:
            connection.execute("DELETE FROM texts WHERE record = ?", (key,))
        return b""
    body = compress_text(text)
    if is_new or fetch_rows(connection, "SELECT body FROM texts WHERE record = ?", (key,)) != [(body,)]:
        connection.execute("INSERT OR REPLACE INTO texts (record, body) VALUES (?, ?)", (key, body))
    return body


def put_layout(connection: apsw.Connection, key: int, layout: DocumentLayout | None) -> bytes:
    """Store the layout of a document, if it has one; return the stored bytes."""
    if layout is None:
        return b""
    body = encode_layout(layout)
    connection.execute("INSERT OR REPLACE INTO layouts (record, body) VALUES (?, ?)", (key, body))
    return body


def update_checksums(connection: apsw.Connection, key: int, record: Record, lists: RecordLists, details: int) -> None:
    checksummed = (record.path, record.kind, record.title, record.digest, record.chunking, *lists, details)
    connection.execute("UPDATE records SET details = ?, seal = ? WHERE id = ?", (details, checksum(checksummed), key))


# --------------------------------------------------------------------------------------------------
# Writes and deletes records in SQLite, one transaction each.

_EXTRACTOR_CONSTRAINTS = (apsw.SQLITE_CONSTRAINT_NOTNULL, apsw.SQLITE_CONSTRAINT_CHECK, apsw.SQLITE_CONSTRAINT_DATATYPE)


def collection_id(connection: apsw.Connection, name: str) -> int:
    ((key,),) = fetch_rows(connection, "SELECT id FROM collections WHERE name = ?", (name,))
    return int(key)


def change_revision(connection: apsw.Connection) -> None:
    """Invalidate everything cached from the records, as of this transaction."""
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, hex(randomblob(16)))", (REVISION_KEY,))


class SqliteWriter:
    def __init__(self, db: Database) -> None:
        self.db = db
        self.fts_buffer = FtsWriteBuffer()

    # --- records ---

    def put(
        self,
        record: Record,
        pieces: Sequence[ChunkInput],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
        layout: DocumentLayout | None = None,
    ) -> None:
        with self.batch() as connection, _reject_unstorable():
            collection = collection_id(connection, record.collection)
            lists = encode_lists(record)
            key, before = put_record(connection, collection, record, lists, text is not None)
            if before is not PreviousContent.NOTHING:
                delete_details(connection, key)
            chunk_seals = put_chunks(connection, self.fts_buffer, key, record, pieces, before)
            rows = put_details(connection, key, symbols, links, calls)
            self.fts_buffer.add_symbol_names(it.name.lower() for it in symbols)
            body = put_text(connection, key, text, before) + put_layout(connection, key, layout)
            update_checksums(connection, key, record, lists, checksum_details(sorted(chunk_seals), *rows, body))
            change_revision(connection)
            connection.execute("DELETE FROM skipped WHERE collection = ? AND path = ?", (collection, record.path))

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE records SET size = ?, mtime_ns = ?, settled = ? WHERE collection = ? AND path = ?",
                (size, mtime_ns, settled, collection_id(connection, collection), path),
            )
            change_revision(connection)

    def drop(self, collection: str, paths: Iterable[str]) -> int:
        dropped = 0
        for path in paths:
            with self.batch() as connection:
                dropped += self._drop(connection, collection_id(connection, collection), path)
        return dropped

    def _drop(self, connection: apsw.Connection, collection: int, path: str) -> int:
        rows = fetch_rows(connection, "SELECT id FROM records WHERE collection = ? AND path = ?", (collection, path))
        for (key,) in rows:
            self.delete_record(connection, key)
        return len(rows)

    def delete_record(self, connection: apsw.Connection, key: int) -> None:
        chunks = fetch_rows(connection, "SELECT id FROM chunks WHERE record = ?", (key,))
        delete_chunks(connection, self.fts_buffer, [row[0] for row in chunks])
        delete_details(connection, key)
        connection.execute("DELETE FROM texts WHERE record = ?", (key,))
        connection.execute("DELETE FROM records WHERE id = ?", (key,))
        change_revision(connection)

    @contextmanager
    def batch(self, text_bytes: int = 0) -> Iterator[apsw.Connection]:
        """Open a transaction, or inside another one a savepoint that can fail alone."""
        with self.db.transaction(text_bytes) as connection, self.fts_buffer.flush_on_commit(connection):
            yield connection

    def skip(self, skipped: SkippedItem, *, drop: bool = True) -> None:
        with self.batch() as connection:
            collection = collection_id(connection, skipped.collection)
            if drop:
                self._drop(connection, collection, skipped.path)
            connection.execute(
                "INSERT OR REPLACE INTO skipped (collection, path, reason, size, mtime_ns) VALUES (?, ?, ?, ?, ?)",
                (collection, skipped.path, skipped.reason, skipped.size, skipped.mtime_ns),
            )

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        with self.db.transaction() as connection:
            key = collection_id(connection, collection)
            connection.executemany(
                "DELETE FROM skipped WHERE collection = ? AND path = ?", [(key, path) for path in paths]
            )

    # --- collections and metadata ---

    def add_collection(self, root: str, *, source: str = FILES, name: str = "") -> Collection:
        with self.db.transaction() as connection:
            taken = {row[0]: row[1] for row in connection.execute("SELECT root, name FROM collections")}
            if root not in taken:
                connection.execute(
                    "INSERT INTO collections (name, root, source) VALUES (?, ?, ?)",
                    (_free_name(name or PurePath(root).name or "root", set(taken.values())), root, source),
                )
            self.db.sign(connection)
            ((row),) = fetch_rows(
                connection, "SELECT name, root, listed, synced_at, source FROM collections WHERE root = ?", (root,)
            )
        return Collection(*row)

    def move_collection(self, name: str, root: str) -> None:
        with self.db.transaction() as connection:
            if fetch_rows(connection, "SELECT 1 FROM collections WHERE root = ?", (root,)):
                raise BadInput(f"cannot move a root to {root}: it is already indexed")
            connection.execute("UPDATE collections SET root = ? WHERE name = ?", (root, name))
            self.db.sign(connection)
            change_revision(connection)

    def remove_collection(self, name: str) -> None:
        with self.db.transaction() as connection:
            known = "SELECT id FROM collections WHERE name = ?"
            connection.execute(f"DELETE FROM skipped WHERE collection IN ({known})", (name,))
            connection.execute("DELETE FROM collections WHERE name = ?", (name,))
            self.db.sign(connection)
            change_revision(connection)

    def record_listing(self, collection: str, *, listed: int, at: float | None) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE collections SET listed = ?, synced_at = coalesce(?, synced_at) WHERE name = ?",
                (listed, at, collection),
            )

    def note(self, key: str, value: str) -> None:
        with self.db.transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (key, value))


def _free_name(base: str, taken: set[str]) -> str:
    name, number = base, 2
    while name in taken:
        name, number = f"{base}-{number}", number + 1
    return name


@contextmanager
def _reject_unstorable() -> Iterator[None]:
    """Turn values that cannot be stored into Unreadable, so that a faulty extractor does not stop a sync.

    A duplicate key is not the extractor's fault: it means the index is damaged.
    """
    try:
        yield
    except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, TypeError, UnicodeEncodeError) as error:
        if (
            isinstance(error, apsw.ConstraintError)
            and getattr(error, "extendedresult", 0) not in _EXTRACTOR_CONSTRAINTS
        ):
            raise
        raise Unreadable(f"cannot be stored ({type(error).__name__}: {error})"[:300]) from error


# --------------------------------------------------------------------------------------------------
# Merges the segments of the full-text index: each write adds one, and fewer are searched faster.

_MERGE_STAGE = "merging the full-text index"
_PAGES_PER_MERGE = 500  # per transaction: about 50 ms, short enough for other writers
_MIN_CHUNKS_TO_MERGE = 2_000  # chunks: fewer leave too few segments to matter
_MIN_SHARE_TO_MERGE = 0.2  # of all chunks: merging then takes little time compared with the writing


_CHANGES_WITHOUT_WORK = 1  # the row change that the command itself counts as


def is_merge_due(written: int, chunks: Callable[[], int]) -> bool:
    """Return whether enough chunks were written to merge segments."""
    return written >= _MIN_CHUNKS_TO_MERGE and written >= _MIN_SHARE_TO_MERGE * chunks()


def merge_segments(db: Database, should_continue: Callable[[], bool], progress: Progress) -> bool:
    """Merge step by step; return whether it finished with a single segment."""
    ((total,),) = db.rows("SELECT count(*) FROM words_data")
    pages = -_PAGES_PER_MERGE  # negative: include all segments, whatever their level
    for step in count():
        progress(_MERGE_STAGE, min(step * _PAGES_PER_MERGE, total), total)
        if not should_continue():
            return False
        with db.transaction() as connection:
            before = connection.total_changes()
            connection.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", (pages,))
            if connection.total_changes() - before <= _CHANGES_WITHOUT_WORK:
                break
        pages = _PAGES_PER_MERGE
    progress(_MERGE_STAGE, total, total)
    return True
