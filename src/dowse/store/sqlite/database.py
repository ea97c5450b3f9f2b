"""Connections to one SQLite file: read-only ones per thread, one for writing, and who may write."""

from __future__ import annotations

import fcntl
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from dowse.errors import BadInput, IndexBusy, IndexDamaged, IndexUnusable, NotIndexed

Value = TypeVar("Value")
Row = tuple[Any, ...]

APPLICATION_ID = 0x444F5753  # "DOWS": tells our files from any other SQLite file
_LOCK_POLL_S = 0.05
_READER_PRAGMAS = "PRAGMA query_only=ON; PRAGMA mmap_size=268435456; PRAGMA cache_size=-16000;"
_WRITER_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216; "
    "PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY;"
)

_WHOLE = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_PART = ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part; RELEASE part")


def fetch(connection: apsw.Connection, statement: str, values: Sequence[object] = ()) -> list[Row]:
    """All rows of a query; what their columns hold is known where the query is written."""
    return connection.execute(statement, values).fetchall()


VECTORS = Path(__file__).with_name("vectors.sql")
# The n-th script takes a file from version n to n + 1; the first one makes an empty file an index.
MIGRATIONS = (
    Path(__file__).with_name("schema.sql"),
    VECTORS,
    Path(__file__).with_name("code.sql"),
    Path(__file__).with_name("seals.sql"),
)


class Database:
    """Opens for reading at once; the writing connection is made, and the file created, when first needed."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        busy_timeout_s: float = 10.0,
        scripts: tuple[Path, ...] = MIGRATIONS,
    ) -> None:
        self.path = path
        self._busy_ms = max(1, int(busy_timeout_s * 1000))
        self._scripts = scripts
        self._local = threading.local()
        # The threads own their connections: they close with the thread that used them.
        self._opened: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._writer: apsw.Connection | None = None
        self._write_turn = threading.RLock()
        if not path.exists() and not create:
            raise NotIndexed(f"there is no index at {path}; run `dowse index` first")
        with _explained(path):
            self._prepare(create)

    # --- reading ---

    def reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with _explained(self.path):
                connection = self._open_reader()
            self._local.connection = connection
        return connection

    def _open_reader(self) -> apsw.Connection:
        try:
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A write-ahead log can not be shared from a directory we may not write to; nobody can change it either.
            if not self.path.exists() or os.access(self.path.parent, os.W_OK):
                raise
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS, query="?immutable=1")

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query, read on this thread's connection."""
        with _explained(self.path):
            return fetch(self.reader(), statement, values)

    def stream(self, statement: str) -> Iterator[Row]:
        """The rows one by one, for what may not fit into memory."""
        with _explained(self.path):
            yield from self.reader().execute(statement)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Whatever this thread reads inside is of one moment."""
        with _explained(self.path):
            self.reader().execute("BEGIN")
        try:
            yield
        finally:
            self.reader().execute("COMMIT")

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        """What `make` gave for this thread, made anew when the file has changed since."""
        ((version,),) = self.rows("PRAGMA data_version")
        if getattr(self._local, "version", None) != version:
            self._local.version, self._local.memory = version, {}
        memory: dict[str, Value] = self._local.memory
        if name not in memory:
            memory[name] = make()
        return memory[name]

    # --- writing ---

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """One write, whole or not at all; waits for other writers up to the busy timeout.

        Inside another one it is a part of that, which can fail alone.
        """
        with self._write_turn, _explained(self.path):
            connection = self._writing_connection()
            begin, end, undo = _PART if connection.in_transaction else _WHOLE
            connection.execute(begin)
            try:
                yield connection
                connection.execute(end)
            except BaseException:
                # A failed COMMIT may have rolled back already.
                with suppress(apsw.SQLError):
                    connection.execute(undo)
                raise

    @contextmanager
    def exclusive(self, timeout_s: float) -> Iterator[None]:
        """The lock that lets one process at a time index; the system drops it when its holder dies."""
        if not self._write_turn.acquire(timeout=timeout_s):
            raise IndexBusy(_busy_sentence(self.path, timeout_s))
        try:
            with write_lock(self.path, timeout_s):
                yield
        finally:
            self._write_turn.release()

    def checkpoint(self, how: str) -> None:
        """Give the log's pages back to the file; a reader in the way is no reason to fail."""
        with self._write_turn, suppress(apsw.BusyError, apsw.LockedError):
            self._writing_connection().execute(f"PRAGMA wal_checkpoint({how})")

    def close(self) -> None:
        with self._write_turn:
            for connection in list(self._opened):
                connection.close()
            self._opened.clear()
            self._writer = None
            self._local = threading.local()

    # --- opening ---

    def _prepare(self, create: bool) -> None:
        exists = self.path.exists() and self.path.stat().st_size > 0
        version = self._version() if exists else 0
        current = len(self._scripts)
        if version > current:
            raise IndexUnusable(
                f"{self.path} was written by a newer Dowse (index version {version}, this one reads up to "
                f"{current}); upgrade Dowse, or name another --index"
            )
        if version == current:
            return
        if not create and version == 0:
            raise NotIndexed(f"{self.path} has no usable index yet; run `dowse index` first")
        if not self.path.exists():
            self._make_private()
        self._migrate()

    def _make_private(self) -> None:
        """What is indexed may be private: the file is made for its owner alone, and its log takes after it.

        Before any connection: to close a file once more would drop the locks SQLite holds on it.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _version(self) -> int:
        ((application,),) = self.rows("PRAGMA application_id")
        ((version,),) = self.rows("PRAGMA user_version")
        ((tables,),) = self.rows("SELECT count(*) FROM sqlite_schema")
        if application != APPLICATION_ID and tables:
            raise IndexUnusable(f"{self.path} is an SQLite file, but not a Dowse index; name another --index")
        return int(version)

    def _migrate(self) -> None:
        with self.exclusive(self._busy_ms / 1000), self.transaction() as connection:
            ((version,),) = fetch(connection, "PRAGMA user_version")
            for script in self._scripts[version:]:
                connection.execute(script.read_text(encoding="utf-8"))
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={len(self._scripts)}")

    def _writing_connection(self) -> apsw.Connection:
        if self._writer is None:
            self._writer = self._connect(apsw.SQLITE_OPEN_READWRITE, _WRITER_PRAGMAS)
        return self._writer

    def _connect(self, flags: int, pragmas: str, query: str = "") -> apsw.Connection:
        name = f"file:{_uri_path(self.path)}{query}"
        connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI)
        try:
            connection.set_busy_timeout(self._busy_ms)
            connection.execute(pragmas)
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        except apsw.Error:
            connection.close()
            raise
        self._opened.add(connection)
        return connection


def _uri_path(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.absolute()))


@contextmanager
def write_lock(path: Path, timeout_s: float) -> Iterator[None]:
    """Whoever holds it may write to the index at this path, or put another one in its place."""
    with _explained(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _lock(descriptor, path, timeout_s)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: Path, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise IndexBusy(_busy_sentence(path, timeout_s)) from None
            time.sleep(_LOCK_POLL_S)
        else:
            return


def _busy_sentence(path: Path, waited_s: float) -> str:
    return (
        f"another process or job is writing to {path} (waited {waited_s:g} s); searching works meanwhile, "
        "try again when it is done or raise --lock-timeout-s"
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """SQLite's complaints as ours: what it is about and what to do next."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError):
        raise IndexBusy(
            f"another process holds the write lock of {path}; searching works meanwhile, "
            "try again when it is done or raise --lock-timeout-s"
        ) from None
    except (apsw.NotADBError, apsw.CorruptError, UnicodeDecodeError) as error:
        raise IndexDamaged(f"{path} is damaged or not an index ({error}); `dowse rebuild` makes it anew") from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.FullError, apsw.IOError, OSError) as error:
        raise BadInput(f"can not use {path} as an index: {error}; check the path, or name another --index") from error
