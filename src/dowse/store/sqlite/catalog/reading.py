"""Records and their chunks, symbols, links, calls and texts, read back from SQLite."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Sequence

from dowse.errors import IndexDamaged
from dowse.model import Call, Link, Record, Stored, Symbol
from dowse.store.sqlite.catalog.base import CatalogBase
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.rows import (
    RECORD_COLUMNS,
    RECORDS,
    STORED,
    STORED_COLUMNS,
    SYMBOL_COLUMNS,
    record_of,
    stored_of,
    symbol_of,
    unpacked,
)
from dowse.store.sqlite.seals import Unsound


class Reading(CatalogBase):
    def load(self, keys: Sequence[int]) -> list[Stored]:
        try:
            rows = self._chunk_rows(keys)
        except IndexDamaged as error:
            self._damage.note("catalog", str(error.__cause__))
            rows = [row for key in keys for row in self._readable(key)]
        found = {stored.key: stored for stored in self._damage.sound(rows, stored_of)}
        return [found[key] for key in keys if key in found]

    def _chunk_rows(self, keys: Sequence[int]) -> list[Row]:
        return self.db.rows(
            f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )

    def _readable(self, key: int) -> list[Row]:
        """The row of this chunk, as far as it can be read."""
        try:
            return self._chunk_rows([key])
        except IndexDamaged:
            return []

    def places(self, keys: Sequence[int]) -> dict[int, tuple[str, str, int]]:
        rows = self.db.rows(
            f"SELECT chunks.id, collections.name, records.path, chunks.ordinal FROM {STORED} "
            "WHERE chunks.id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return {key: (collection, path, ordinal) for key, collection, path, ordinal in rows}

    def kinds_of(self, keys: Sequence[int]) -> dict[int, str]:
        rows = self.db.rows(
            "SELECT chunks.id, records.kind FROM json_each(?) AS wanted CROSS JOIN chunks ON chunks.id = wanted.value "
            "CROSS JOIN records ON records.id = chunks.record",
            (json.dumps(list(keys)),),
        )
        return dict(rows)

    def text_lengths(self, keys: Sequence[int]) -> dict[int, int]:
        rows = self.db.rows(
            "SELECT id, length(text) FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(list(keys)),),
        )
        return dict(rows)

    def by_chunk_id(self, chunk_id: str, collection: str | None = None) -> list[Stored]:
        return self._stored("chunks.public_id = ?", chunk_id, collection)

    def records(self, path: str, collection: str | None = None) -> list[Record]:
        rows = self.db.rows(
            f"SELECT {RECORD_COLUMNS} FROM {RECORDS} WHERE records.path = ? AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id",
            (path, collection),
        )
        return list(self._damage.sound(rows, record_of))

    def chunks(self, record: Record) -> list[Stored]:
        return self._stored("records.path = ?", record.path, record.collection)

    def _stored(self, condition: str, value: str, collection: str | None) -> list[Stored]:
        rows = self.db.rows(
            f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE {condition} AND collections.name = coalesce(?, "
            "collections.name) ORDER BY collections.id, records.path, chunks.ordinal",
            (value, collection),
        )
        return list(self._damage.sound(rows, stored_of))

    def symbols(self, record: Record) -> list[Symbol]:
        return [symbol_of(row) for row in self._details("symbols", SYMBOL_COLUMNS, record)]

    def links(self, record: Record) -> list[Link]:
        return [Link(*row) for row in self._details("links", "links.kind, target, line, context", record)]

    def calls(self, record: Record) -> list[Call]:
        return [
            Call(*row)
            for row in self._details("calls", "calls.name, callee, line, symbol, arguments, calls.kind", record)
        ]

    def text(self, record: Record) -> str:
        rows = self._details("texts", "body", record, order="texts.record")
        try:
            return unpacked(rows[0][0]) if rows else ""
        except (zlib.error, UnicodeDecodeError):
            self._damage.note("records", f"the text of {record.path!r} can not be unpacked")
            raise Unsound(record.path) from None

    def _details(self, table: str, columns: str, record: Record, order: str = "ordinal") -> list[Row]:
        return self.db.rows(
            f"SELECT {columns} FROM {table} JOIN records ON records.id = {table}.record JOIN collections "
            f"ON collections.id = records.collection WHERE records.path = ? AND collections.name = ? ORDER BY {order}",
            (record.path, record.collection),
        )

    def export(self) -> Iterator[Stored]:
        """File by file as they are when it is their turn: one long look at everything would hold up the log."""
        rows = self.db.rows(f"SELECT records.id FROM {RECORDS} ORDER BY collections.name, records.path")
        statement = f"SELECT {STORED_COLUMNS} FROM {STORED} WHERE chunks.record = ? ORDER BY chunks.ordinal"
        for key in rows:
            yield from self._damage.sound(self.db.rows(statement, key), stored_of)
