"""A log of which vectors came and went, so that whoever holds them follows by reading only what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from dowse.store.sqlite.database import Database

KEPT = 100_000  # newest changes; whoever is further behind reads everything anew

# A token makes each entry one of its kind: the same number in another index, or in an older copy of this one that
# went another way, is told apart.
_TRACK = """
CREATE TABLE IF NOT EXISTS vector_changes (
  epoch INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk INTEGER NOT NULL,
  token INTEGER NOT NULL DEFAULT (random())
);
CREATE TRIGGER IF NOT EXISTS vectors_added AFTER INSERT ON vectors BEGIN
  INSERT INTO vector_changes (chunk) VALUES (new.chunk);
END;
CREATE TRIGGER IF NOT EXISTS vectors_removed AFTER DELETE ON vectors BEGIN
  INSERT INTO vector_changes (chunk) VALUES (old.chunk);
END;
"""
_NO_CHUNK = 0


class Position(NamedTuple):
    """A point in the history of one index."""

    epoch: int
    token: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What every changed chunk has now, None for no vector, and the position after that."""

    vectors: Mapping[int, bytes | None]
    position: Position


def track(connection: apsw.Connection) -> None:
    """Begin the log where there is none, and keep it short."""
    connection.execute(_TRACK)
    connection.execute("DELETE FROM vector_changes WHERE epoch <= (SELECT max(epoch) FROM vector_changes) - ?", (KEPT,))


def clear(connection: apsw.Connection) -> None:
    """Remove every vector; no earlier position is found again, so nobody goes on with what they hold."""
    track(connection)
    connection.execute("DROP TRIGGER vectors_removed; DELETE FROM vectors; DELETE FROM vector_changes;")
    connection.execute("INSERT INTO vector_changes (chunk) VALUES (?)", (_NO_CHUNK,))
    connection.execute(_TRACK)


def latest(db: Database) -> Position | None:
    """Where the index is now; None as long as nothing is logged."""
    if not db.rows("SELECT 1 FROM sqlite_schema WHERE name = 'vector_changes'"):
        return None
    rows = db.rows("SELECT epoch, token FROM vector_changes ORDER BY epoch DESC LIMIT 1")
    return Position(*rows[0]) if rows else None


def since(db: Database, position: Position) -> Changes | None:
    """What changed after a position; None if it is not, or no longer, in this index's log."""
    if latest(db) is None:
        return None
    # One statement, so that the position, the changes and the vectors are of one moment.
    rows = db.rows(
        "SELECT epoch, token, vector_changes.chunk, vectors.vector FROM vector_changes "
        "LEFT JOIN vectors ON vectors.chunk = vector_changes.chunk WHERE epoch >= ? ORDER BY epoch",
        (position.epoch,),
    )
    if not rows or Position(*rows[0][:2]) != position:
        return None
    return Changes({key: blob for _, _, key, blob in rows[1:]}, Position(*rows[-1][:2]))
