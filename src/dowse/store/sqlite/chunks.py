"""Chunks of a record in SQLite: what is unchanged stays where it is, the rest is replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import apsw

from dowse.model import Record, public_chunk_id
from dowse.store.base import Piece
from dowse.store.sqlite.database import Row, fetch
from dowse.store.sqlite.late_words import LateWords
from dowse.store.sqlite.rows import as_json, join_trail
from dowse.text.names import names

_MOVE = "UPDATE chunks SET ordinal = ?, public_id = ?, role = ?, start_line = ?, end_line = ? WHERE id = ?"
_INSERT = (
    "INSERT INTO chunks (ordinal, public_id, role, start_line, end_line, record, digest, title, trail, text, names, "
    "tags, path) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def put_chunks(
    connection: apsw.Connection, words: LateWords, key: int, record: Record, pieces: Sequence[Piece], *, reuse: bool
) -> None:
    """Rows whose words are unchanged only move to their new place, which spares the words index and the vector."""
    kept = _kept(connection, key)
    tags = " ".join((*record.tags, *record.aliases))
    for piece in pieces:
        trail = join_trail(piece.chunk.trail)
        same = kept.get((piece.digest, trail, piece.chunk.text))
        if reuse and same:
            connection.execute(_MOVE, (*_place(record, piece), same.pop()))
            continue
        content = (record.title, trail, piece.chunk.text, _names(record, trail, piece), tags, record.path)
        connection.execute(_INSERT, (*_place(record, piece), key, piece.digest, *content))
        words.add((connection.last_insert_rowid(), *content))
    delete_chunks(connection, words, [row_key for left in kept.values() for row_key in left])


def _kept(connection: apsw.Connection, key: int) -> dict[tuple[bytes, str, str], list[int]]:
    kept: defaultdict[tuple[bytes, str, str], list[int]] = defaultdict(list)
    rows = fetch(
        connection, "SELECT id, digest, trail, text FROM chunks WHERE record = ? ORDER BY ordinal DESC", (key,)
    )
    for row_key, *content in rows:
        kept[tuple(content)].append(row_key)
    return kept


def _place(record: Record, piece: Piece) -> Row:
    chunk = piece.chunk
    return chunk.ordinal, public_chunk_id(record.path, chunk.ordinal), chunk.role, chunk.start_line, chunk.end_line


def _names(record: Record, trail: str, piece: Piece) -> str:
    return names(f"{record.title} {trail} {piece.chunk.text}") if piece.names is None else piece.names


def delete_chunks(connection: apsw.Connection, words: LateWords, keys: Sequence[int]) -> None:
    if not keys:
        return
    rows = fetch(
        connection,
        "SELECT id, title, trail, text, names, tags, path FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
        (as_json(list(keys)),),
    )
    words.remove(rows)
    for table, column in (("vectors", "chunk"), ("next_vectors", "chunk"), ("chunks", "id")):
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(key,) for key in keys])
