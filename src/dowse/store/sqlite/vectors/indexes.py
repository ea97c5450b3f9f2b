"""The two vector indexes of a file: which encoders made them, and how the next one takes the first one's place."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from dowse.store.base import ANSWERING, NEXT
from dowse.store.sqlite.database import VECTORS, fetch
from dowse.store.sqlite.rows import ENCODED

_INCOMPLETE = (
    "SELECT 1 FROM chunks LEFT JOIN next_vectors ON next_vectors.chunk = chunks.id "
    f"WHERE next_vectors.chunk IS NULL AND {ENCODED} LIMIT 1"
)


class Made(NamedTuple):
    """The fingerprints of the encoders; `vectors` is the table that answers, `next_vectors` the other."""

    answering: str | None
    following: str | None

    def table_of(self, fingerprint: str | None) -> str | None:
        """Where vectors of this encoder belong; None where there is no place for them."""
        if fingerprint is None or fingerprint == self.answering:
            return "vectors"
        return "next_vectors" if fingerprint == self.following else None


def made(connection: apsw.Connection) -> Made:
    rows: dict[str, str] = dict(
        fetch(connection, "SELECT key, value FROM manifest WHERE key IN (?, ?)", (ANSWERING, NEXT))
    )
    return Made(rows.get(ANSWERING), rows.get(NEXT))


def begin(connection: apsw.Connection, fingerprint: str) -> None:
    answering, following = made(connection)
    if fingerprint == following:
        return
    connection.execute("DELETE FROM next_vectors")
    connection.execute("DELETE FROM manifest WHERE key = ?", (NEXT,))
    if fingerprint == answering:
        return
    if answering is None or not fetch(connection, "SELECT 1 FROM vectors LIMIT 1"):
        _take_over(connection, fingerprint)
    else:
        _note(connection, NEXT, fingerprint)


def switch(connection: apsw.Connection, made_by: str | None) -> bool:
    following = made(connection).following
    if following is None or made_by not in (None, following) or fetch(connection, _INCOMPLETE):
        return False
    _take_over(connection, following)
    connection.execute("DELETE FROM manifest WHERE key = ?", (NEXT,))
    return True


def _take_over(connection: apsw.Connection, fingerprint: str) -> None:
    """By renaming, which costs the same for any number of vectors."""
    connection.execute("DROP TABLE vectors; ALTER TABLE next_vectors RENAME TO vectors;")
    connection.execute(VECTORS.read_text(encoding="utf-8"))
    connection.execute("ALTER TABLE next_vectors ADD COLUMN seal INTEGER")
    _note(connection, ANSWERING, fingerprint)


def _note(connection: apsw.Connection, key: str, fingerprint: str) -> None:
    connection.execute("INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (key, fingerprint))
