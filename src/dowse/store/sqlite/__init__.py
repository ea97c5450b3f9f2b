"""The default backend: one SQLite file with catalog, text index, vectors and texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dowse.errors import IndexBusy
from dowse.model import EVERYTHING, Scope
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.damage import HealthState
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.fts import SqliteTextIndex
from dowse.store.sqlite.health import SqliteMaintenance
from dowse.store.sqlite.line_index import MAX_BYTES_WITHOUT_SIDECAR, SqliteLines
from dowse.store.sqlite.locks import LockTimeout, file_lock, has_waiting_writer, translate_errors
from dowse.store.sqlite.signing import Signer
from dowse.store.sqlite.symbols import SqliteSymbols
from dowse.store.sqlite.vectors import MAX_EXACT_VECTORS, SqliteVectors
from dowse.store.sqlite.writer import SqliteWriter
from dowse.store.view import StoreView


class SqliteStore:
    """One index file, put together from its parts."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        busy_timeout_s: float = 10.0,
        exact_up_to: int = MAX_EXACT_VECTORS,
        lines_without_file_up_to: int = MAX_BYTES_WITHOUT_SIDECAR,
        signer: Signer | None = None,
    ) -> None:
        self.db = db = Database(path, create=create, busy_timeout_s=busy_timeout_s, signer=signer)
        health = HealthState()
        self.catalog = SqliteCatalog(db, health)
        self.writer = SqliteWriter(db)
        self.words = SqliteTextIndex(db, health, self.catalog)
        self.vectors = SqliteVectors(db, health, self.catalog.scopes, exact_up_to)
        self.lines = SqliteLines(db, health, self.catalog.scopes, lines_without_file_up_to)
        self.symbols = SqliteSymbols(db, health, self.catalog)
        self.maintenance = SqliteMaintenance(
            db, health, self.catalog, self.writer, self.vectors.cache, self.lines.cache
        )

    def view(self, scope: Scope = EVERYTHING) -> StoreView:
        return StoreView(self, scope)

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        with self.db.exclusive(timeout_s, what):
            yield
            self.db.checkpoint("PASSIVE")
        self.vectors.cache.prepare()
        self.lines.cache.prepare()

    def has_waiting_writer(self) -> bool:
        return has_waiting_writer(self.db.path)

    @contextmanager
    def encoding(self, timeout_s: float) -> Iterator[None]:
        with ExitStack() as stack:
            try:
                with translate_errors(self.db.path):
                    stack.enter_context(file_lock(Path(f"{self.db.path}.encoding"), timeout_s))
            except LockTimeout:
                raise IndexBusy(f"another process or job is making the vectors of {self.db.path}; try later") from None
            yield
            self.vectors.cache.prepare()

    @property
    def problem(self) -> str:
        """Return why file locks do not work here; empty if they do."""
        return self.db.problem

    def close(self) -> None:
        self.db.close()
