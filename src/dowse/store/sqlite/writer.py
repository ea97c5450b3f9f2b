"""Writing to one SQLite file: one connection, transactions in turn, and the lock of whoever indexes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from dowse.errors import IndexBusy, NotIndexed
from dowse.store.sqlite.explain import busy_sentence, explained
from dowse.store.sqlite.locks import Lock, TooLong, locked, write_lock
from dowse.store.sqlite.log import Log


class Writer:
    """For all threads of a process. The connection is made when it is first needed."""

    def __init__(self, path: Path, busy_ms: int, connect: Callable[[], apsw.Connection]) -> None:
        self._path = path
        self._busy_s = busy_ms / 1000
        self._connect = connect
        self._connection: apsw.Connection | None = None
        self._turn = threading.RLock()
        self._exclusive_turn = threading.Lock()
        self._log = Log(path, busy_ms)
        self._file: tuple[int, int] | None = None
        self.is_exclusive = False
        self.problem = ""

    @contextmanager
    def transaction(self, text_bytes: int) -> Iterator[apsw.Connection]:
        with self._turn, explained(self._path):
            connection = self._opened()
            if connection.in_transaction:
                with _part_of(connection):
                    yield connection
                return
            self._begin(connection, text_bytes)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # A failed COMMIT may have rolled back already.
                with suppress(apsw.SQLError):
                    connection.execute("ROLLBACK")
                raise
            self._log.shorten(connection)

    def _begin(self, connection: apsw.Connection, text_bytes: int) -> None:
        """In the order of waiting: SQLite alone lets whoever writes one transaction after another go first."""
        self.check_place()
        self._log.make_room(connection, text_bytes)
        try:
            with locked(Path(f"{self._path}.lock.turn"), self._busy_s) as lock:
                self._warn(lock)
                connection.execute("BEGIN IMMEDIATE")
        except TooLong:
            raise IndexBusy(busy_sentence(self._path, self._busy_s)) from None

    @contextmanager
    def exclusive(self, timeout_s: float, what: str) -> Iterator[None]:
        with write_lock(self._path, timeout_s, what) as lock:
            self._warn(lock)
            # Where files have no locks, the threads of this process still take turns.
            if not self._exclusive_turn.acquire(timeout=timeout_s):
                raise IndexBusy(busy_sentence(self._path, timeout_s, ours=True))
            self.is_exclusive = True
            try:
                yield
            finally:
                self.is_exclusive = False
                self._exclusive_turn.release()

    def checkpoint(self, how: str) -> None:
        with self._turn, explained(self._path), suppress(apsw.BusyError, apsw.LockedError):
            self._opened().execute(f"PRAGMA wal_checkpoint({how})")

    def check_place(self) -> None:
        """What is written to a file that was removed or replaced would be lost with it."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise NotIndexed(f"the index {self._path} was removed; `dowse index` makes a new one") from None
        self._file = self._file or (status.st_dev, status.st_ino)
        if self._file != (status.st_dev, status.st_ino):
            raise IndexBusy(f"another index was put in the place of {self._path}; try again with that one")

    def close(self) -> None:
        with self._turn:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _opened(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _warn(self, lock: Lock) -> None:
        if lock.problem and not self.problem:
            import logging  # which a search has no need for

            self.problem = lock.problem
            logging.getLogger("dowse.store").warning("%s", self.problem)


@contextmanager
def _part_of(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("SAVEPOINT part")
    try:
        yield
        connection.execute("RELEASE part")
    except BaseException:
        with suppress(apsw.SQLError):
            connection.execute("ROLLBACK TO part; RELEASE part")
        raise
