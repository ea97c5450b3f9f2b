"""The position of the line index in the change log, and the header of its file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dowse.store.sqlite.damage import HealthState
from dowse.store.sqlite.database import Database, fetch_rows
from dowse.store.sqlite.rows import to_json

if TYPE_CHECKING:
    from dowse.store.sqlite.line_segment import TextFile

_TEXT_LOG_LENGTH = 100_000  # log entries; a process further behind reads everything again
_TEXT_NAMES_SQL = (
    "SELECT texts.record, records.path, collections.name FROM texts JOIN records ON records.id = texts.record "
    "JOIN collections ON collections.id = records.collection"
)


class TextLogPosition(NamedTuple):
    """A point in the history of one index."""

    epoch: int
    token: int


@dataclass(frozen=True, slots=True)
class TextChanges:
    """The records whose texts were added, removed or changed, and the position after that."""

    records: tuple[int, ...]
    position: TextLogPosition


def latest_text_position(db: Database) -> TextLogPosition:
    """Return the current position; the log is never empty."""
    ((epoch, token),) = db.rows("SELECT epoch, token FROM text_changes ORDER BY epoch DESC LIMIT 1")
    return TextLogPosition(epoch, token)


def text_changes_since(db: Database, position: TextLogPosition) -> TextChanges | None:
    """Return the changes after a position; None if the log does not, or no longer, contain it."""
    rows = db.rows("SELECT epoch, token, record FROM text_changes WHERE epoch >= ? ORDER BY epoch", (position.epoch,))
    if not rows or TextLogPosition(*rows[0][:2]) != position:
        return None
    return TextChanges(tuple(dict.fromkeys(record for _, _, record in rows[1:])), TextLogPosition(*rows[-1][:2]))


def trim_text_log(db: Database) -> None:
    ((oldest, newest),) = db.rows("SELECT min(epoch), max(epoch) FROM text_changes")
    if newest - oldest > 2 * _TEXT_LOG_LENGTH:
        with db.transaction() as connection:
            fetch_rows(connection, "DELETE FROM text_changes WHERE epoch <= ?", (newest - _TEXT_LOG_LENGTH,))


def compressed_bytes(db: Database, records: Sequence[int]) -> int:
    """Return the compressed size of the texts of these records."""
    ((size,),) = db.rows(
        "SELECT total(length(body)) FROM texts WHERE record IN (SELECT value FROM json_each(?))",
        (to_json(list(records)),),
    )
    return int(size)


def load_texts_of(db: Database, damage: HealthState, records: Sequence[int]) -> Iterator[TextFile]:
    """Yield the texts of these records, without those that have none."""
    rows = db.rows(
        f"{_TEXT_NAMES_SQL} WHERE texts.record IN (SELECT value FROM json_each(?))", (to_json(list(records)),)
    )
    return _load_texts(db, damage, rows)


def load_all_texts(db: Database, damage: HealthState) -> Iterator[TextFile]:
    """Yield every text, ordered by path."""
    return _load_texts(db, damage, db.rows(_TEXT_NAMES_SQL))


def _load_texts(db: Database, damage: HealthState, rows: Sequence[tuple[int, str, str]]) -> Iterator[TextFile]:
    """Yield texts one by one, because all of them may not fit into memory; damaged ones are skipped."""
    from dowse.store.sqlite.line_segment import SegmentFileName, TextFile

    for path, collection, record in sorted((path, collection, record) for record, path, collection in rows):
        ((body,),) = db.rows("SELECT body FROM texts WHERE record = ?", (record,))
        try:
            text = zlib.decompress(body)
        except zlib.error:
            damage.record("records", f"cannot decompress the text of {path!r}")
            continue
        yield TextFile(record, SegmentFileName(path, collection), text)


# --------------------------------------------------------------------------------------------------
# The header of a line index sidecar; readable without importing numpy.

LINE_HEADER_BYTES = 4_096  # reserved before the first array
_LINE_MAGIC = b"DOWSELIN"
_LINE_FORMAT = 1  # increase with any change of the layout or the tokenizer: other files are rebuilt
_LINE_HEADER_STRUCT = struct.Struct("<8sIqqQQQII")


class LineHeader(NamedTuple):
    magic: bytes
    layout: int
    epoch: int
    token: int
    size: int
    text_bytes: int
    table_at: int
    table_checksum: int
    header_checksum: int = 0  # checksum of the fields above

    @classmethod
    def of(
        cls, position: TextLogPosition, *, size: int, table_at: int, table_checksum: int, text_bytes: int
    ) -> LineHeader:
        header = cls(_LINE_MAGIC, _LINE_FORMAT, *position, size, text_bytes, table_at, table_checksum)
        return header._replace(header_checksum=zlib.crc32(_LINE_HEADER_STRUCT.pack(*header)))

    @classmethod
    def read(cls, file: BinaryIO) -> LineHeader | None:
        start = file.read(_LINE_HEADER_STRUCT.size)
        if len(start) < _LINE_HEADER_STRUCT.size:
            return None
        header = cls(*_LINE_HEADER_STRUCT.unpack(start))
        intact = header.header_checksum == zlib.crc32(_LINE_HEADER_STRUCT.pack(*header._replace(header_checksum=0)))
        return header if intact and header[:2] == (_LINE_MAGIC, _LINE_FORMAT) else None

    def pack(self) -> bytes:
        return _LINE_HEADER_STRUCT.pack(*self)

    @property
    def position(self) -> TextLogPosition:
        return TextLogPosition(self.epoch, self.token)


def read_line_header(path: Path) -> LineHeader | None:
    """Return the header; None if the sidecar is missing, truncated or of another format."""
    try:
        with open(path, "rb") as file:
            header = LineHeader.read(file)
            return header if header and path.stat().st_size == header.size else None
    except OSError:
        return None
