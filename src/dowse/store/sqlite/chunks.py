"""Chunks of a record in SQLite: what is unchanged stays where it is, the rest is replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import apsw

from dowse.model import Record, public_chunk_id
from dowse.store.base import UNENCODED, Piece
from dowse.store.sqlite.database import Row, fetch
from dowse.store.sqlite.late_words import LateWords
from dowse.store.sqlite.rows import as_json, join_trail
from dowse.store.sqlite.seals import intact, seal
from dowse.text.names import names

_MOVE = "UPDATE chunks SET ordinal = ?, public_id = ?, role = ?, start_line = ?, end_line = ?, seal = ? WHERE id = ?"
SEALED = "ordinal, public_id, role, start_line, end_line, digest, title, trail, text, names, tags, path"
_INSERT = f"INSERT INTO chunks ({SEALED}, seal, record) VALUES ({', '.join('?' * 14)})"
_ROLE = 2
_CONTENT = 5  # from here on, the values do not change with the place of a chunk
_LABELS = 5  # among those


class Before(Enum):
    """What was there of a record that is written: nothing, or chunks whose words from the record are the same or not.

    Of a new one nothing has to be looked for, which is half of the work.
    """

    NOTHING = 0
    OTHER_WORDS = 1
    SAME_WORDS = 2


@dataclass(frozen=True, slots=True)
class _Kept:
    """The rows that may stay, by role, digest, trail and text: their keys and contents; and those that are damaged."""

    sound: Mapping[tuple[str, bytes, str, str], list[tuple[int, Row]]]
    damaged: list[int]


_NOTHING_KEPT = _Kept({}, [])


def put_chunks(
    connection: apsw.Connection, words: LateWords, key: int, record: Record, pieces: Sequence[Piece], before: Before
) -> list[int]:
    """Rows whose words are unchanged only move to their new place, which spares the words index and the vector.

    Returns the seals of all, in their order.
    """
    kept = _NOTHING_KEPT if before is Before.NOTHING else _kept(connection, key)
    labels = record.labels
    seals: list[int] = []
    for piece in pieces:
        trail, place = join_trail(piece.chunk.trail), _place(record, piece)
        same = kept.sound.get((piece.chunk.role, piece.digest, trail, piece.chunk.text))
        wanted = "" if piece.chunk.role in UNENCODED else labels
        if before is Before.SAME_WORDS and same and same[-1][1][_LABELS] == wanted:
            row_key, content = same.pop()
            seals.append(seal((*place, *content)))
            connection.execute(_MOVE, (*place, seals[-1], row_key))
            continue
        read = _read(record, trail, piece, labels)
        seals.append(seal((*place, piece.digest, *read)))
        connection.execute(_INSERT, (*place, piece.digest, *read, seals[-1], key))
        words.add((connection.last_insert_rowid(), *read))
    left = [row_key for rows in kept.sound.values() for row_key, _ in rows]
    delete_chunks(connection, words, [*left, *kept.damaged])
    return seals


def _kept(connection: apsw.Connection, key: int) -> _Kept:
    sound: defaultdict[tuple[str, bytes, str, str], list[tuple[int, Row]]] = defaultdict(list)
    damaged: list[int] = []
    keys = fetch(connection, "SELECT id FROM chunks WHERE record = ? ORDER BY ordinal DESC", (key,))
    rows = _rows(connection, [row[0] for row in keys]) if keys else []
    if rows is None:
        return _Kept({}, [row[0] for row in keys])
    for row_key, sealed, *values in rows:
        if intact(sealed, values):
            content = tuple(values[_CONTENT:])
            digest, _, trail, text = content[:4]
            sound[values[_ROLE], digest, trail, text].append((row_key, content))
        else:
            damaged.append(row_key)
    return _Kept(sound, damaged)


def _place(record: Record, piece: Piece) -> Row:
    chunk = piece.chunk
    return chunk.ordinal, public_chunk_id(record.path, chunk.ordinal), chunk.role, chunk.start_line, chunk.end_line


def _read(record: Record, trail: str, piece: Piece, labels: str) -> Row:
    """What the words index reads."""
    if piece.chunk.role in UNENCODED:
        return "", trail, piece.chunk.text, "", "", ""
    return record.title, trail, piece.chunk.text, _names(record, trail, piece), labels, record.path


def _names(record: Record, trail: str, piece: Piece) -> str:
    return names(f"{record.title} {trail} {piece.chunk.text}") if piece.names is None else piece.names


def _rows(connection: apsw.Connection, keys: Sequence[int]) -> list[Row] | None:
    """Key, seal and what is sealed of these chunks, in this order; None where that is no text any more."""
    order = {key: place for place, key in enumerate(keys)}
    statement = f"SELECT id, seal, {SEALED} FROM chunks WHERE id IN (SELECT value FROM json_each(?))"
    try:
        return sorted(fetch(connection, statement, (as_json(list(keys)),)), key=lambda row: order[row[0]])
    except UnicodeDecodeError:
        return None


def delete_chunks(connection: apsw.Connection, words: LateWords, keys: Sequence[int]) -> None:
    if not keys:
        return
    rows = _rows(connection, keys)
    if rows is not None and all(intact(sealed, values) for _, sealed, *values in rows):
        words.remove((row_key, *values[_CONTENT + 1 :]) for row_key, _, *values in rows)
    else:
        # FTS5 takes out the words it is told, and what they were nobody knows any more.
        words.spoil()
    for table, column in (("vectors", "chunk"), ("next_vectors", "chunk"), ("chunks", "id")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in keys])
