"""The log of which texts came and went, so that whoever holds their lines follows by reading only what changed."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dowse.store.sqlite.database import Database, fetch
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.rows import as_json

if TYPE_CHECKING:
    from dowse.store.sqlite.lines.build import TextFile

_KEPT = 100_000  # newest changes; whoever is further behind reads everything anew
_NAMES = (
    "SELECT texts.record, records.path, collections.name FROM texts JOIN records ON records.id = texts.record "
    "JOIN collections ON collections.id = records.collection"
)


class Position(NamedTuple):
    """A point in the history of one index."""

    epoch: int
    token: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Which records' texts came, went or became others, and where that leads."""

    records: tuple[int, ...]
    position: Position


def latest(db: Database) -> Position:
    """Where the index is now; the log always has an entry."""
    ((epoch, token),) = db.rows("SELECT epoch, token FROM text_changes ORDER BY epoch DESC LIMIT 1")
    return Position(epoch, token)


def since(db: Database, position: Position) -> Changes | None:
    """What changed after a position; None if it is not, or no longer, in this index's log."""
    rows = db.rows("SELECT epoch, token, record FROM text_changes WHERE epoch >= ? ORDER BY epoch", (position.epoch,))
    if not rows or Position(*rows[0][:2]) != position:
        return None
    return Changes(tuple(dict.fromkeys(record for _, _, record in rows[1:])), Position(*rows[-1][:2]))


def shorten(db: Database) -> None:
    ((oldest, newest),) = db.rows("SELECT min(epoch), max(epoch) FROM text_changes")
    if newest - oldest > 2 * _KEPT:
        with db.transaction() as connection:
            fetch(connection, "DELETE FROM text_changes WHERE epoch <= ?", (newest - _KEPT,))


def packed_bytes(db: Database, records: Sequence[int]) -> int:
    """How much the texts of these records take in the table."""
    ((size,),) = db.rows(
        "SELECT total(length(body)) FROM texts WHERE record IN (SELECT value FROM json_each(?))",
        (as_json(list(records)),),
    )
    return int(size)


def some_texts(db: Database, damage: Damage, records: Sequence[int]) -> Iterator[TextFile]:
    """The texts of those of the records that have one."""
    rows = db.rows(f"{_NAMES} WHERE texts.record IN (SELECT value FROM json_each(?))", (as_json(list(records)),))
    return _texts(db, damage, rows)


def all_texts(db: Database, damage: Damage) -> Iterator[TextFile]:
    """Every text, in the order of paths."""
    return _texts(db, damage, db.rows(_NAMES))


def _texts(db: Database, damage: Damage, rows: Sequence[tuple[int, str, str]]) -> Iterator[TextFile]:
    """One by one: all of them may not fit into memory. One that is damaged is left out."""
    from dowse.store.sqlite.lines.build import TextFile
    from dowse.store.sqlite.lines.segment import FileName

    for path, collection, record in sorted((path, collection, record) for record, path, collection in rows):
        ((body,),) = db.rows("SELECT body FROM texts WHERE record = ?", (record,))
        try:
            text = zlib.decompress(body)
        except zlib.error:
            damage.note("records", f"the text of {path!r} can not be unpacked")
            continue
        yield TextFile(record, FileName(path, collection), text)
