"""A log of which vectors came and went, so that whoever holds them follows by reading only what changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from dowse.store.base import ANSWERING
from dowse.store.sqlite.database import Database

KEPT = 100_000  # newest changes; whoever is further behind reads everything anew
_MAKER = f"(SELECT value FROM manifest WHERE key = '{ANSWERING}')"


class Position(NamedTuple):
    """A point in the history of one index."""

    epoch: int
    token: int


class Moment(NamedTuple):
    """A position, and whose vectors the table holds there; they are another's only after the log began anew."""

    position: Position
    made_by: str | None


@dataclass(frozen=True, slots=True)
class Changes:
    """What every changed chunk has now, None for no vector, and the moment after that."""

    vectors: Mapping[int, bytes | None]
    moment: Moment


def shorten(connection: apsw.Connection) -> None:
    connection.execute("DELETE FROM vector_changes WHERE epoch <= (SELECT max(epoch) FROM vector_changes) - ?", (KEPT,))


def latest(db: Database) -> Moment:
    """Where the index is now; the log always has an entry."""
    ((epoch, token, made_by),) = db.rows(
        f"SELECT epoch, token, {_MAKER} FROM vector_changes ORDER BY epoch DESC LIMIT 1"
    )
    return Moment(Position(epoch, token), made_by)


def since(db: Database, position: Position) -> Changes | None:
    """What changed after a position; None if it is not, or no longer, in this index's log."""
    # One statement, so that the position, the changes and the vectors are of one moment.
    rows = db.rows(
        f"SELECT epoch, token, vector_changes.chunk, vectors.vector, {_MAKER} FROM vector_changes "
        "LEFT JOIN vectors ON vectors.chunk = vector_changes.chunk WHERE epoch >= ? ORDER BY epoch",
        (position.epoch,),
    )
    if not rows or Position(*rows[0][:2]) != position:
        return None
    vectors = {key: blob for _, _, key, blob, _ in rows[1:]}
    return Changes(vectors, Moment(Position(*rows[-1][:2]), rows[-1][4]))
