"""Records on their way into SQLite and out of it, one transaction each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import apsw

from dowse.errors import Unreadable
from dowse.model import Call, Link, Record, Skipped, Symbol
from dowse.store.base import Piece
from dowse.store.sqlite.catalog.base import CatalogBase, collection_id, renew_revision
from dowse.store.sqlite.catalog.details import (
    delete_details,
    lists_of,
    put_details,
    put_record,
    put_text,
    seal_record,
)
from dowse.store.sqlite.chunks import Before, delete_chunks, put_chunks
from dowse.store.sqlite.database import fetch
from dowse.store.sqlite.seals import details_seal

_MADE_UP = (apsw.SQLITE_CONSTRAINT_NOTNULL, apsw.SQLITE_CONSTRAINT_CHECK, apsw.SQLITE_CONSTRAINT_DATATYPE)


class Writing(CatalogBase):
    def put(
        self,
        record: Record,
        pieces: Sequence[Piece],
        symbols: Sequence[Symbol] = (),
        links: Sequence[Link] = (),
        calls: Sequence[Call] = (),
        text: str | None = "",
    ) -> None:
        with self.batch() as connection, _storable():
            collection = collection_id(connection, record.collection)
            lists = lists_of(record)
            key, before = put_record(connection, collection, record, lists, text is not None)
            if before is not Before.NOTHING:
                delete_details(connection, key)
            chunk_seals = put_chunks(connection, self._late_words, key, record, pieces, before)
            rows = put_details(connection, key, symbols, links, calls)
            self._late_words.name(it.name.lower() for it in symbols)
            body = put_text(connection, key, text, before)
            seal_record(connection, key, record, lists, details_seal(sorted(chunk_seals), *rows, body))
            renew_revision(connection)
            connection.execute("DELETE FROM skipped WHERE collection = ? AND path = ?", (collection, record.path))

    def touch(self, collection: str, path: str, *, size: int, mtime_ns: int, settled: bool) -> None:
        with self.db.transaction() as connection:
            connection.execute(
                "UPDATE records SET size = ?, mtime_ns = ?, settled = ? WHERE collection = ? AND path = ?",
                (size, mtime_ns, settled, collection_id(connection, collection), path),
            )
            renew_revision(connection)

    def drop(self, collection: str, paths: Iterable[str]) -> int:
        dropped = 0
        for path in paths:
            with self.batch() as connection:
                dropped += self._drop(connection, collection_id(connection, collection), path)
        return dropped

    def _drop(self, connection: apsw.Connection, collection: int, path: str) -> int:
        rows = fetch(connection, "SELECT id FROM records WHERE collection = ? AND path = ?", (collection, path))
        for (key,) in rows:
            self._forget_record(connection, key)
        return len(rows)

    def _forget_record(self, connection: apsw.Connection, key: int) -> None:
        chunks = fetch(connection, "SELECT id FROM chunks WHERE record = ?", (key,))
        delete_chunks(connection, self._late_words, [row[0] for row in chunks])
        delete_details(connection, key)
        connection.execute("DELETE FROM texts WHERE record = ?", (key,))
        connection.execute("DELETE FROM records WHERE id = ?", (key,))
        renew_revision(connection)

    @contextmanager
    def batch(self, text_bytes: int = 0) -> Iterator[apsw.Connection]:
        """Inside another one, a part of it that can fail alone."""
        with self.db.transaction(text_bytes) as connection, self._late_words.until_the_end(connection):
            yield connection

    def skip(self, skipped: Skipped, *, drop: bool = True) -> None:
        with self.batch() as connection:
            collection = collection_id(connection, skipped.collection)
            if drop:
                self._drop(connection, collection, skipped.path)
            connection.execute(
                "INSERT OR REPLACE INTO skipped (collection, path, reason, size, mtime_ns) VALUES (?, ?, ?, ?, ?)",
                (collection, skipped.path, skipped.reason, skipped.size, skipped.mtime_ns),
            )

    def unskip(self, collection: str, paths: Iterable[str]) -> None:
        with self.db.transaction() as connection:
            key = collection_id(connection, collection)
            connection.executemany(
                "DELETE FROM skipped WHERE collection = ? AND path = ?", [(key, path) for path in paths]
            )


@contextmanager
def _storable() -> Iterator[None]:
    """What an extractor made up against its types is no reason to stop a sync. A key that is there twice is no fault of
    an extractor: then the index is damaged."""
    try:
        yield
    except (apsw.ConstraintError, apsw.MismatchError, apsw.TooBigError, TypeError, UnicodeEncodeError) as error:
        if isinstance(error, apsw.ConstraintError) and getattr(error, "extendedresult", 0) not in _MADE_UP:
            raise
        raise Unreadable(f"can not be stored ({type(error).__name__}: {error})"[:300]) from error
