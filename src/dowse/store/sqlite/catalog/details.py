"""The rows of one record: itself, and what hangs on it beside its chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import apsw

from dowse.model import Call, Link, Record, Symbol
from dowse.store.sqlite.chunks import Before
from dowse.store.sqlite.database import Row, fetch
from dowse.store.sqlite.rows import as_json, packed
from dowse.store.sqlite.seals import seal
from dowse.store.sqlite.symbols import put_symbols

LINKS = "ordinal, kind, target, line, context"
CALLS = "ordinal, name, callee, line, symbol, arguments, kind"
_ADD_LINKS = f"INSERT INTO links (record, {LINKS}) VALUES (?, ?, ?, ?, ?, ?)"
_ADD_CALLS = f"INSERT INTO calls (record, {CALLS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"


class Lists(NamedTuple):
    """What a record has several of, as it is stored."""

    tags: str
    aliases: str
    facets: str


def put_record(
    connection: apsw.Connection, collection: int, record: Record, lists: Lists, lined: bool
) -> tuple[int, Before]:
    """The record's key, and what was there of it."""
    tags, aliases, facets = lists
    inherited = (tags, aliases, record.title)
    before = fetch(
        connection,
        "SELECT id, tags, aliases, title FROM records WHERE collection = ? AND path = ?",
        (collection, record.path),
    )
    values = (
        *inherited, record.kind, record.size, record.mtime_ns, record.digest, record.chunking, record.settled,
        facets, record.at_ns, lined,
    )  # fmt: skip
    ((key,),) = fetch(
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
        return int(key), Before.NOTHING
    return int(key), Before.SAME_WORDS if before == [(key, *inherited)] else Before.OTHER_WORDS


def lists_of(record: Record) -> Lists:
    tags, aliases = (as_json(list(it)) if it else "[]" for it in (record.tags, record.aliases))
    return Lists(tags, aliases, as_json(dict(record.facets)) if record.facets else "{}")


def delete_details(connection: apsw.Connection, key: int) -> None:
    for table in ("symbols", "traits", "links", "calls"):
        connection.execute(f"DELETE FROM {table} WHERE record = ?", (key,))


def put_details(
    connection: apsw.Connection,
    key: int,
    symbols: Sequence[Symbol],
    links: Sequence[Link],
    calls: Sequence[Call],
) -> tuple[list[Row], list[Row], list[Row]]:
    """The rows of symbols, links and calls that were written, without the key of their record."""
    symbol_rows = put_symbols(connection, key, symbols)
    call_rows: list[Row] = [(place, *it) for place, it in enumerate(calls)]
    link_rows: list[Row] = [(place, it.kind, it.target, it.line, it.context) for place, it in enumerate(links)]
    for statement, rows in ((_ADD_CALLS, call_rows), (_ADD_LINKS, link_rows)):
        if rows:
            connection.executemany(statement, [(key, *row) for row in rows])
    return symbol_rows, link_rows, call_rows


def put_text(connection: apsw.Connection, key: int, text: str | None, before: Before) -> bytes:
    """What is kept of the text, if it is to be kept."""
    is_new = before is Before.NOTHING
    if text is None:
        if not is_new:
            connection.execute("DELETE FROM texts WHERE record = ?", (key,))
        return b""
    body = packed(text)
    if is_new or fetch(connection, "SELECT body FROM texts WHERE record = ?", (key,)) != [(body,)]:
        connection.execute("INSERT OR REPLACE INTO texts (record, body) VALUES (?, ?)", (key, body))
    return body


def seal_record(connection: apsw.Connection, key: int, record: Record, lists: Lists, details: int) -> None:
    own = (record.path, record.kind, record.title, record.digest, record.chunking, *lists, details)
    connection.execute("UPDATE records SET details = ?, seal = ? WHERE id = ?", (details, seal(own), key))
