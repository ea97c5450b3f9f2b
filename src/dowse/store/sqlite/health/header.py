"""The first bytes of an index: whether SQLite wrote them, and whether they fit what the file holds."""

from __future__ import annotations

from pathlib import Path

import apsw

from dowse.store.sqlite.database import APPLICATION_ID, MIGRATIONS, fetch, make_defensive
from dowse.store.sqlite.first_bytes import first_bytes

_MAGIC = b"SQLite format 3\x00"
_BYTES = 100
# Where SQLite writes always the same: the end of the page size, reserved bytes, fractions, schema format, encoding.
_CONSTANT = {20: b"\x00", 21: b"\x40\x20\x20", 44: b"\x00\x00\x00\x04", 56: b"\x00\x00\x00\x01", 72: bytes(20)}
# What it writes only with the first table, which may still be in the log alone: then the file is one empty page.
_WITH_TABLES = (44, 56)
_PAGES_AT, _ONE_PAGE = 28, b"\x00\x00\x00\x01"
_VERSIONS_AT = 18  # of what may write and what may read: a rollback journal or a write-ahead log


def header_problem(index: Path) -> str:
    """What is wrong with the header of a file that is there, as the end of a sentence; empty if nothing is.

    A file of a newer Dowse, or of somebody else, has a header that fits what it holds.
    """
    try:
        header = first_bytes(index, _BYTES)
    except OSError:
        return ""  # whoever opens it is told why it can not be read
    if not header:
        return ""
    if not header.startswith(_MAGIC):
        return "does not begin like an index"
    if not _is_constant(header) or not set(header[_VERSIONS_AT : _VERSIONS_AT + 2]) <= {1, 2}:
        return "has a damaged header"
    return _disguised(index)


def _is_constant(header: bytes) -> bool:
    is_new = header[_PAGES_AT : _PAGES_AT + 4] == _ONE_PAGE
    expected = {at: bytes(4) if is_new and at in _WITH_TABLES else value for at, value in _CONSTANT.items()}
    return all(header[at : at + len(value)] == value for at, value in expected.items())


def _disguised(index: Path) -> str:
    """It says that it is another's, or of another version, and holds exactly what ours does."""
    try:
        connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            make_defensive(connection)
            ((application,),) = fetch(connection, "PRAGMA application_id")
            ((version,),) = fetch(connection, "PRAGMA user_version")
            holds = _tables(connection) if (application, version) != (APPLICATION_ID, len(MIGRATIONS)) else frozenset()
        finally:
            connection.close()
    except (apsw.Error, UnicodeDecodeError):
        return ""  # whoever opens it is told
    return "says in its header that it is of another version, and is not" if holds and holds == _ours() else ""


def _ours() -> frozenset[str]:
    connection = apsw.Connection(":memory:")
    for script in MIGRATIONS:
        connection.execute(script.read_text(encoding="utf-8"))
    return _tables(connection)


def _tables(connection: apsw.Connection) -> frozenset[str]:
    """With their columns, as they were declared; spaces and quotes differ with how a table came to be."""
    rows = fetch(connection, "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return frozenset(f"{name}{len(str(sql).split(','))}" for name, sql in rows)
