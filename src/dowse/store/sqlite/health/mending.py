"""Notes in the manifest of which indexes are being filled again: they outlive whoever was filling them."""

from __future__ import annotations

import apsw

from dowse.store.sqlite.database import fetch

WORDS = "words"
_PREFIX = "mending "
ANEW = "being made anew"


def unfinished(connection: apsw.Connection) -> dict[str, str]:
    """The indexes that are not whole, each with how far it is."""
    rows = fetch(connection, "SELECT key, value FROM manifest WHERE key BETWEEN ? AND ?", (_PREFIX, f"{_PREFIX}~"))
    return {key.removeprefix(_PREFIX): value for key, value in rows}


def note(connection: apsw.Connection, part: str, value: str = "") -> None:
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (_PREFIX + part, value))


def finished(connection: apsw.Connection, part: str) -> None:
    connection.execute("DELETE FROM manifest WHERE key = ?", (_PREFIX + part,))
