"""Connections, transactions and snapshots of one SQLite file."""

from __future__ import annotations

import errno
import os
import stat
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from sys import getsizeof
from typing import Any, Final, TypeVar

import apsw

from dowse.errors import DowseError, IndexBusy, IndexDamaged, IndexUnusable, NotIndexed
from dowse.store.sqlite.derived import reject_symlinks
from dowse.store.sqlite.locks import FileLock, LockTimeout, busy_message, file_lock, translate_errors, write_lock
from dowse.store.sqlite.signing import Signer

# --------------------------------------------------------------------------------------------------
# Keeps the write-ahead log short: a slow reader may delay writers, but must not fill the disk.

LONG_LOG_BYTES = 16_000_000
"""Bytes: a longer log is truncated after each transaction, if no reader needs it."""
MAX_LOG_BYTES = 60_000_000
"""Bytes: a transaction that may exceed this waits until readers release the log."""
_LOG_BYTES_PER_TEXT_BYTE = 7  # bytes of log per byte of text: ordinary text takes four, random letters six
_DEFAULT_TEXT_BYTES = 3_000_000  # bytes of text assumed if unknown
_SHORT_WAIT_MS = 20


class WriteAheadLog:
    def __init__(self, index: Path, busy_ms: int) -> None:
        self._index = index
        self._file = Path(f"{index}-wal")
        self._busy_ms = busy_ms

    def size(self) -> int:
        try:
            return self._file.stat().st_size
        except FileNotFoundError:
            return 0

    def make_room(self, connection: apsw.Connection, text_bytes: int = 0) -> None:
        """Truncate the log before a transaction if needed; raise IndexBusy if a reader prevents it."""
        limit = max(0, MAX_LOG_BYTES - _LOG_BYTES_PER_TEXT_BYTE * (text_bytes or _DEFAULT_TEXT_BYTES))
        if self.size() <= limit:
            return
        self._truncate(connection, self._busy_ms)
        if (size := self.size()) > limit:
            raise IndexBusy(
                f"cannot write to {self._index}: another process has held an old snapshot for more than "
                f"{self._busy_ms / 1000:g} s (log: {size // 1_000_000} MB); end that process (it may be suspended), "
                "or try again later; searching still works"
            )

    def shorten(self, connection: apsw.Connection) -> None:
        """Truncate a long log after a transaction, as far as readers allow."""
        if self.size() > LONG_LOG_BYTES:
            self._truncate(connection, _SHORT_WAIT_MS)

    def _truncate(self, connection: apsw.Connection, wait_ms: int) -> None:
        with _temporary_busy_timeout(connection, wait_ms, self._busy_ms):
            try:
                # First everything that no reader needs, without waiting; then the rest.
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                return


@contextmanager
def _temporary_busy_timeout(connection: apsw.Connection, wait_ms: int, afterwards_ms: int) -> Iterator[None]:
    connection.set_busy_timeout(wait_ms)
    try:
        yield
    finally:
        connection.set_busy_timeout(afterwards_ms)


# --------------------------------------------------------------------------------------------------
# The writing connection to one SQLite file: transactions in turn, and the write lock.


class Writer:
    """Shared by all threads of a process. The connection is opened when first needed."""

    def __init__(self, path: Path, busy_ms: int, connect: Callable[[], apsw.Connection]) -> None:
        self._path = path
        self._busy_s = busy_ms / 1000
        self._connect = connect
        self._connection: apsw.Connection | None = None
        self._lock = threading.RLock()
        self._exclusive_lock = threading.Lock()
        self._log = WriteAheadLog(path, busy_ms)
        self._file_identity: tuple[int, int] | None = None
        self.is_exclusive = False
        self.problem = ""

    @contextmanager
    def transaction(self, text_bytes: int) -> Iterator[apsw.Connection]:
        with self._lock, translate_errors(self._path):
            connection = self._get_connection()
            if connection.in_transaction:
                with _savepoint(connection):
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
        """Begin in the order of waiting; SQLite alone would prefer whoever writes one transaction after another."""
        self.check_place()
        self._log.make_room(connection, text_bytes)
        try:
            with file_lock(Path(f"{self._path}.lock.turn"), self._busy_s) as lock:
                self._report_lock_problem(lock)
                connection.execute("BEGIN IMMEDIATE")
        except LockTimeout:
            raise IndexBusy(busy_message(self._path, self._busy_s)) from None

    @contextmanager
    def exclusive(self, timeout_s: float, what: str) -> Iterator[None]:
        with write_lock(self._path, timeout_s, what) as lock:
            self._report_lock_problem(lock)
            # Where files have no locks, threads of this process still take turns.
            if not self._exclusive_lock.acquire(timeout=timeout_s):
                raise IndexBusy(busy_message(self._path, timeout_s, ours=True))
            self.is_exclusive = True
            try:
                yield
            finally:
                self.is_exclusive = False
                self._exclusive_lock.release()

    def checkpoint(self, how: str) -> None:
        with self._lock, translate_errors(self._path), suppress(apsw.BusyError, apsw.LockedError):
            self._get_connection().execute(f"PRAGMA wal_checkpoint({how})")

    def check_place(self) -> None:
        """Raise if the file was removed or replaced, because writes to it would be lost."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise NotIndexed(f"the index {self._path} was removed; run `dowse index` to create a new one") from None
        self._file_identity = self._file_identity or (status.st_dev, status.st_ino)
        if self._file_identity != (status.st_dev, status.st_ino):
            raise IndexBusy(f"{self._path} was replaced by another index; try again")

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def _get_connection(self) -> apsw.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _report_lock_problem(self, lock: FileLock) -> None:
        if lock.problem and not self.problem:
            import logging  # not needed for searching

            self.problem = lock.problem
            logging.getLogger("dowse.store").warning("%s", self.problem)


@contextmanager
def _savepoint(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("SAVEPOINT part")
    try:
        yield
        connection.execute("RELEASE part")
    except BaseException:
        with suppress(apsw.SQLError):
            connection.execute("ROLLBACK TO part; RELEASE part")
        raise


Value = TypeVar("Value")
Row = tuple[Any, ...]

APPLICATION_ID = 0x444F5753  # "DOWS": distinguishes an index from other SQLite files
_READER_PRAGMAS = "PRAGMA query_only=ON; PRAGMA mmap_size=268435456; PRAGMA cache_size=-16000;"
_WRITER_PRAGMAS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=16777216; "
    "PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY;"
)

_DEFENSIVE = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
)


def fetch_rows(connection: apsw.Connection, statement: str, values: Sequence[object] = ()) -> list[Row]:
    """Return all rows of a query."""
    return connection.execute(statement, values).fetchall()


VECTORS_SCRIPT = Path(__file__).with_name("vectors.sql")
# Script n migrates a file from version n to n + 1; the first one creates the schema.
MIGRATIONS = (
    Path(__file__).with_name("schema.sql"),
    VECTORS_SCRIPT,
    Path(__file__).with_name("code.sql"),
    Path(__file__).with_name("seals.sql"),
    Path(__file__).with_name("sources.sql"),
    Path(__file__).with_name("layouts.sql"),
)


class Database:
    """Opens the file for reading at once; creates the writing connection, and the file, when first needed."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        busy_timeout_s: float = 10.0,
        scripts: tuple[Path, ...] = MIGRATIONS,
        signer: Signer | None = None,
    ) -> None:
        """Open the index at this path. Without a signer, any file is trusted."""
        self.path = path
        self.signer = signer
        self.damage = ""  # the last read error, from any caller
        self.is_closed = False
        self._busy_ms = max(1, int(busy_timeout_s * 1000))
        self._scripts = scripts
        self._local = threading.local()
        # Each thread owns its connection, which closes when the thread ends.
        self._connections: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._writer = Writer(path, self._busy_ms, self._open_writer)
        if not path.exists() and not create:
            raise NotIndexed(f"there is no index at {path}; run `dowse index` first")
        with translate_errors(path):
            reject_symlinks(path)
            self._prepare(create)
            self._writer.check_place()

    # --- reading ---

    def reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with translate_errors(self.path):
                connection = self._open_reader()
            self._local.connection = connection
        return connection

    def _open_reader(self) -> apsw.Connection:
        try:
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.path.exists():
                raise NotIndexed(f"the index {self.path} was removed; run `dowse index` to create a new one") from None
            # In a read-only directory the write-ahead log cannot be shared, but nobody else can change the file either.
            if os.access(self.path.parent, os.W_OK):
                raise
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS, query="?immutable=1")

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Return all rows of a query on this thread's connection."""
        try:
            with translate_errors(self.path):
                return fetch_rows(self.reader(), statement, values)
        except IndexDamaged as error:
            self.damage = str(error.__cause__ or error)
            raise

    def stream(self, statement: str) -> Iterator[Row]:
        """Yield rows one by one, for results that may not fit into memory."""
        with translate_errors(self.path):
            yield from self.reader().execute(statement)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Give this thread a consistent snapshot to read from; snapshots may nest.

        Inside, cached values need no check whether the file has changed. That check takes longer than most cached
        reads.
        """
        if getattr(self._local, "in_snapshot", False):
            yield
            return
        with translate_errors(self.path):
            connection = self.reader()
            connection.execute("SAVEPOINT snapshot")
        try:
            self._refresh_cache()
            self._local.in_snapshot = True
            yield
        finally:
            self._local.in_snapshot = False
            # Nothing was written. After some errors SQLite has already ended the savepoint, and a damaged page fails
            # here again. The original error is the one to report.
            with suppress(apsw.Error):
                connection.execute("RELEASE snapshot")

    def cached_by_revision(self, name: str, make: Callable[[], Value]) -> Value:
        """Return the value of `make`, cached for this thread until the file changes."""
        if not getattr(self._local, "in_snapshot", False):
            self._refresh_cache()
        cache: dict[str, Value] = self._local.cache
        if name not in cache:
            cache[name] = make()
        return cache[name]

    def _refresh_cache(self) -> None:
        version = self._data_version()
        if getattr(self._local, "version", None) != version:
            self._local.version, self._local.cache = version, {}

    def _data_version(self) -> object:
        """Return a number that changes with each commit. Called often per query, so the usual wrapper is skipped."""
        try:
            return self.reader().execute("PRAGMA data_version").get
        except apsw.Error:
            with translate_errors(self.path):
                raise

    # --- writing ---

    def transaction(self, text_bytes: int = 0) -> AbstractContextManager[apsw.Connection]:
        """Open a write transaction over about `text_bytes` of text; wait for other writers up to the busy timeout.

        Inside another transaction, open a savepoint that can fail alone.
        """
        return self._writer.transaction(text_bytes)

    def sign(self, connection: apsw.Connection) -> None:
        """Sign the schema and the collections. Required in every transaction that changes them, or the index is
        rejected later."""
        if self.signer is not None:
            self.signer.sign(connection)

    def exclusive(self, timeout_s: float, what: str = "dowse") -> AbstractContextManager[None]:
        """Hold the write lock, which one process at a time can own; the system releases it when the owner dies."""
        return self._writer.exclusive(timeout_s, what)

    @property
    def is_exclusive(self) -> bool:
        """Return whether this process owns the write lock."""
        return self._writer.is_exclusive

    @property
    def problem(self) -> str:
        """Return why file locks do not work here; empty if they do."""
        return self._writer.problem

    def checkpoint(self, how: str) -> None:
        """Write the log back into the file, as far as readers allow."""
        self._writer.checkpoint(how)

    def close(self) -> None:
        self.is_closed = True
        self._writer.close()
        for connection in list(self._connections):
            connection.close()
        self._connections.clear()
        self._local = threading.local()

    # --- opening ---

    def _prepare(self, create: bool) -> None:
        exists = self.path.exists() and self.path.stat().st_size > 0
        version = int(self.rows("PRAGMA user_version")[0][0]) if exists else 0
        if version == len(self._scripts):
            return
        if not create and version == 0:
            raise NotIndexed(f"{self.path} has no usable index yet; run `dowse index` first")
        if not self.path.exists():
            self._create_private_file()
        self._migrate()

    def _create_private_file(self) -> None:
        """Create the file for its owner alone, because indexed content may be private; its log inherits the mode.

        This must happen before any connection exists: closing the file again would drop SQLite's locks on it.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _migrate(self) -> None:
        with self.exclusive(self._busy_ms / 1000, "preparing the index"), self.transaction() as connection:
            ((version,),) = fetch_rows(connection, "PRAGMA user_version")
            try:
                for script in self._scripts[version:]:
                    connection.execute(script.read_text(encoding="utf-8"))
            except apsw.SQLError as error:
                raise IndexDamaged(
                    f"{self.path} does not match its index version {version} ({error}); run `dowse rebuild`"
                ) from error
            connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={len(self._scripts)}")
            self.sign(connection)

    def _open_writer(self) -> apsw.Connection:
        return self._connect(apsw.SQLITE_OPEN_READWRITE, _WRITER_PRAGMAS)

    def _connect(self, flags: int, pragmas: str, query: str = "") -> apsw.Connection:
        name = f"file:{_uri_path(self.path)}{query}"
        connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_URI)
        try:
            connection.set_busy_timeout(self._busy_ms)
            make_defensive(connection)
            with connection:  # one snapshot: another process may be changing the file
                self._check(connection)
            if flags & apsw.SQLITE_OPEN_READWRITE:
                connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
            connection.execute(pragmas).fetchall()  # a pragma that returns rows blocks the next ones until it is read
        except apsw.SQLError as error:
            connection.close()
            # Our statements are valid, so the schema must be damaged.
            raise IndexDamaged(f"{self.path} is damaged ({error}); run `dowse rebuild`") from error
        except (apsw.Error, DowseError, UnicodeDecodeError):
            connection.close()
            raise
        self._connections.add(connection)
        return connection

    def _check(self, connection: apsw.Connection) -> None:
        """Raise unless the file is empty, or an index of a supported version made by this user's Dowse."""
        ((application,),) = fetch_rows(connection, "PRAGMA application_id")
        ((version,),) = fetch_rows(connection, "PRAGMA user_version")
        ((tables,),) = fetch_rows(connection, "SELECT count(*) FROM sqlite_schema")
        current, problem = len(self._scripts), ""
        if application != APPLICATION_ID and tables:
            problem = f"{self.path} is an SQLite file, but not a Dowse index; choose another --index"
        elif version > current:
            problem = (
                f"{self.path} was written by a newer Dowse (index version {version}, this one reads up to "
                f"{current}); upgrade Dowse, or choose another --index"
            )
        if problem and self.signer is not None and self.signer.has_signed(connection, current):
            raise IndexDamaged(f"{self.path} has a damaged header; run `dowse rebuild`")
        if problem:
            raise IndexUnusable(problem)
        if tables and self.signer is not None:
            self.signer.verify(connection, self.path, self._scripts[:version])


def make_defensive(connection: apsw.Connection) -> None:
    """Disable triggers, views and schema functions, which an untrusted file could abuse."""
    for option, value in _DEFENSIVE:
        connection.config(option, value)


def _uri_path(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.absolute()))


# --------------------------------------------------------------------------------------------------
# Reads the first bytes of an index file without losing locks on it.

_VFS_FLAGS = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY


def read_first_bytes(index: Path, count: int) -> bytes:
    """Return up to `count` bytes; raise OSError.

    Reads through SQLite, which keeps the file open while this process has locks on it. Closing another descriptor would
    release all of them, and another process could then remove the log.
    """
    if not stat.S_ISREG(index.stat().st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(index))
    try:
        file = apsw.VFSFile("", str(index.absolute()), [_VFS_FLAGS, 0])
        try:
            return file.xRead(count, 0)
        finally:
            file.xClose()
    except (apsw.CantOpenError, apsw.IOError) as error:
        code = errno.EIO if os.access(index, os.R_OK) else errno.EACCES
        raise OSError(code, os.strerror(code), str(index)) from error


# --------------------------------------------------------------------------------------------------
# A thread-safe LRU cache, limited by entries and bytes.

KeptValue = TypeVar("KeptValue")

_MISSING: Final = object()


class _CacheEntry:
    """A cache entry: the first thread to get its lock computes the value, the others wait."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.content: Any = _MISSING
        self.size = 0


class LruCache:
    """Shared by all threads; evicts the least recently used entries.

    `make` runs under the lock of its entry. So it may request other entries only in an order without cycles, and must
    not take a lock under which others request entries.
    """

    def __init__(self, max_entries: int, max_bytes: int) -> None:
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _CacheEntry] = OrderedDict()
        self._size = 0

    def get_or_make(self, name: Hashable, make: Callable[[], KeptValue]) -> KeptValue:
        """Return the cached value, computing it with `make` if needed."""
        with self._lock:
            entry = self._entries.setdefault(name, _CacheEntry())
            self._entries.move_to_end(name)
        if entry.content is _MISSING:
            with entry.lock:
                if entry.content is _MISSING:
                    entry.content = content = make()
                    self._account(name, entry, deep_size(content))
        value: KeptValue = entry.content
        return value

    def drop(self, name: Hashable) -> None:
        with self._lock:
            self._size -= self._entries.pop(name).size if name in self._entries else 0

    def _account(self, name: Hashable, entry: _CacheEntry, size: int) -> None:
        """Record the size and evict entries. The newest one stays, however large."""
        with self._lock:
            if self._entries.get(name) is entry:
                entry.size = size
                self._size += size
            while len(self._entries) > 1 and (len(self._entries) > self._max_entries or self._size > self._max_bytes):
                self._size -= self._entries.popitem(last=False)[1].size


def deep_size(value: object) -> int:
    """Return the size in memory including the elements; shared elements count each time."""
    if isinstance(value, dict):
        return getsizeof(value) + sum(map(getsizeof, value)) + sum(map(deep_size, value.values()))
    return getsizeof(value) + (sum(map(getsizeof, value)) if isinstance(value, (list, frozenset)) else 0)
