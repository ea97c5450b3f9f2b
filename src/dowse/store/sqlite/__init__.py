"""The default backend: one SQLite file holds the catalog, the words index and the vectors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dowse.store.remember import Memory
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.late_words import LateWords
from dowse.store.sqlite.vectors import EXACT_UP_TO, HeldVectors, SqliteVectors
from dowse.store.sqlite.words import SqliteWords


class SqliteStore(SqliteCatalog, SqliteWords, SqliteVectors):
    def __init__(
        self, path: Path, *, create: bool = True, busy_timeout_s: float = 10.0, exact_up_to: int = EXACT_UP_TO
    ) -> None:
        self.db = Database(path, create=create, busy_timeout_s=busy_timeout_s)
        self._memory = Memory()
        self._late_words = LateWords()
        self._held = HeldVectors(self.db, exact_up_to)

    @contextmanager
    def writing(self, timeout_s: float) -> Iterator[None]:
        with self.db.exclusive(timeout_s):
            yield
            self.db.checkpoint("PASSIVE")
        self._held.prepare()

    def settle(self) -> None:
        self.db.checkpoint("TRUNCATE")

    def close(self) -> None:
        self.db.close()
