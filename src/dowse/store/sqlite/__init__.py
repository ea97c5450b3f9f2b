"""The default backend: one SQLite file holds the catalog, the words index, the vectors and the texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dowse.errors import BadInput, IndexBusy, PartDamaged
from dowse.store.health import Progress
from dowse.store.remember import Remembered
from dowse.store.sqlite import segments
from dowse.store.sqlite.calls import SqliteCalls
from dowse.store.sqlite.catalog import SqliteCatalog
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.definitions import SqliteDefinitions
from dowse.store.sqlite.explain import explained
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.health.mending import WORDS
from dowse.store.sqlite.health.store import SqliteHealth
from dowse.store.sqlite.late_words import LateWords
from dowse.store.sqlite.lines import WITHOUT_FILE_UP_TO, HeldLines, SqliteLines
from dowse.store.sqlite.locks import TooLong, locked, waited_for
from dowse.store.sqlite.members import Members
from dowse.store.sqlite.scopes import Scopes
from dowse.store.sqlite.signing import Signer
from dowse.store.sqlite.vectors import EXACT_UP_TO, HeldVectors, SqliteVectors
from dowse.store.sqlite.words import SqliteWords


class SqliteStore(SqliteHealth, SqliteDefinitions, SqliteCatalog, SqliteWords, SqliteVectors, SqliteLines, SqliteCalls):
    def __init__(
        self,
        path: Path,
        *,
        create: bool = True,
        busy_timeout_s: float = 10.0,
        exact_up_to: int = EXACT_UP_TO,
        lines_without_file_up_to: int = WITHOUT_FILE_UP_TO,
        signer: Signer | None = None,
    ) -> None:
        self.db = Database(path, create=create, busy_timeout_s=busy_timeout_s, signer=signer)
        self._worked_out = Remembered()
        self._damage = Damage()
        self._members = Remembered()  # under no lock of others: who remembers something else may ask for a scope
        self._scopes = Scopes(self.db, self._current_members, self._records_by_kind)
        self._late_words = LateWords()
        self._held = HeldVectors(self.db, exact_up_to, self._damage)
        self._lines = HeldLines(self.db, lines_without_file_up_to, self._damage)

    def _current_members(self) -> Members:
        return self._members.get("members", self._revision, lambda: Members(self.db))

    @contextmanager
    def writing(self, timeout_s: float, what: str = "indexing") -> Iterator[None]:
        with self.db.exclusive(timeout_s, what):
            yield
            self.db.checkpoint("PASSIVE")
        self._held.prepare()
        self._lines.prepare()

    def tidy(self, progress: Progress) -> None:
        """What is left because somebody waits, or the disk is full, is for another time; damage is noted, and mended
        by others."""
        if not segments.is_due(self._late_words.written, lambda: self.counts().chunks):
            return
        with suppress(PartDamaged, IndexBusy, BadInput), self._damage.within(WORDS):
            if segments.merge(self.db, lambda: not self.waited_for(), progress):
                self._late_words.written = 0

    def waited_for(self) -> bool:
        return waited_for(self.db.path)

    @contextmanager
    def encoding(self, timeout_s: float) -> Iterator[None]:
        with ExitStack() as turn:
            try:
                with explained(self.db.path):
                    turn.enter_context(locked(Path(f"{self.db.path}.encoding"), timeout_s))
            except TooLong:
                raise IndexBusy(f"another process or job makes the vectors of {self.db.path} now") from None
            yield
            self._held.prepare()

    @property
    def problem(self) -> str:
        """Why turns to write are not kept, if so."""
        return self.db.problem

    def settle(self) -> None:
        self.db.checkpoint("TRUNCATE")

    def close(self) -> None:
        self.db.close()
