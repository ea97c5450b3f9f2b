"""Connections to one SQLite file: read-only ones per thread, and one for writing."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import apsw

from dowse.errors import DowseError, IndexDamaged, IndexUnusable, NotIndexed
from dowse.store.sqlite.beside import refuse_links
from dowse.store.sqlite.explain import explained
from dowse.store.sqlite.signing import Signer
from dowse.store.sqlite.writer import Writer

Value = TypeVar("Value")
Row = tuple[Any, ...]

APPLICATION_ID = 0x444F5753  # "DOWS": tells our files from any other SQLite file
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
    Path(__file__).with_name("sources.sql"),
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
        signer: Signer | None = None,
    ) -> None:
        """Without a signer, whatever lies there is trusted."""
        self.path = path
        self.signer = signer
        self.damage = ""  # what could not be read lately, whoever asked for it
        self.is_closed = False
        self._busy_ms = max(1, int(busy_timeout_s * 1000))
        self._scripts = scripts
        self._local = threading.local()
        # The threads own their connections: they close with the thread that used them.
        self._opened: weakref.WeakSet[apsw.Connection] = weakref.WeakSet()
        self._writer = Writer(path, self._busy_ms, self._open_writer)
        if not path.exists() and not create:
            raise NotIndexed(f"there is no index at {path}; run `dowse index` first")
        with explained(path):
            refuse_links(path)
            self._prepare(create)
            self._writer.check_place()

    # --- reading ---

    def reader(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            with explained(self.path):
                connection = self._open_reader()
            self._local.connection = connection
        return connection

    def _open_reader(self) -> apsw.Connection:
        try:
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if not self.path.exists():
                raise NotIndexed(f"the index {self.path} was removed; `dowse index` makes a new one") from None
            # A write-ahead log can not be shared from a directory we may not write to; nobody can change it either.
            if os.access(self.path.parent, os.W_OK):
                raise
            return self._connect(apsw.SQLITE_OPEN_READONLY, _READER_PRAGMAS, query="?immutable=1")

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """All rows of a query, read on this thread's connection."""
        try:
            with explained(self.path):
                return fetch(self.reader(), statement, values)
        except IndexDamaged as error:
            self.damage = str(error.__cause__ or error)
            raise

    def stream(self, statement: str) -> Iterator[Row]:
        """The rows one by one, for what may not fit into memory."""
        with explained(self.path):
            yield from self.reader().execute(statement)

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Whatever this thread reads inside is of one moment, so that nobody need ask whether what is remembered still
        holds: to ask takes longer than most of what is remembered. One may lie inside another."""
        if getattr(self._local, "is_in_moment", False):
            yield
            return
        with explained(self.path):
            connection = self.reader()
            connection.execute("SAVEPOINT moment")
        try:
            self._follow()
            self._local.is_in_moment = True
            yield
        finally:
            self._local.is_in_moment = False
            # Nothing was written; after some errors SQLite has ended it already, and of a damaged page it complains
            # once more. What went wrong inside is what is told.
            with suppress(apsw.Error):
                connection.execute("RELEASE moment")

    def remembered(self, name: str, make: Callable[[], Value]) -> Value:
        """What `make` gave for this thread, made anew when the file has changed since."""
        if not getattr(self._local, "is_in_moment", False):
            self._follow()
        memory: dict[str, Value] = self._local.memory
        if name not in memory:
            memory[name] = make()
        return memory[name]

    def _follow(self) -> None:
        version = self._data_version()
        if getattr(self._local, "version", None) != version:
            self._local.version, self._local.memory = version, {}

    def _data_version(self) -> object:
        """Asked for many times by each question, so without what others can afford."""
        try:
            return self.reader().execute("PRAGMA data_version").get
        except apsw.Error:
            with explained(self.path):
                raise

    # --- writing ---

    def transaction(self, text_bytes: int = 0) -> AbstractContextManager[apsw.Connection]:
        """One write, whole or not at all, of about so much text; waits for other writers up to the busy timeout.

        Inside another one it is a part of that, which can fail alone.
        """
        return self._writer.transaction(text_bytes)

    def sign(self, connection: apsw.Connection) -> None:
        """In each transaction that changes the schema or the collections: what is not signed is not opened again."""
        if self.signer is not None:
            self.signer.sign(connection)

    def exclusive(self, timeout_s: float, what: str = "dowse") -> AbstractContextManager[None]:
        """The lock that lets one process at a time index; the system drops it when its holder dies."""
        return self._writer.exclusive(timeout_s, what)

    @property
    def is_exclusive(self) -> bool:
        """Whether this process holds that lock."""
        return self._writer.is_exclusive

    @property
    def problem(self) -> str:
        """Why turns to write are not kept, if so."""
        return self._writer.problem

    def checkpoint(self, how: str) -> None:
        """Give the log's pages back to the file; a reader in the way is no reason to fail."""
        self._writer.checkpoint(how)

    def close(self) -> None:
        self.is_closed = True
        self._writer.close()
        for connection in list(self._opened):
            connection.close()
        self._opened.clear()
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
            self._make_private()
        self._migrate()

    def _make_private(self) -> None:
        """What is indexed may be private: the file is made for its owner alone, and its log takes after it.

        Before any connection: to close a file once more would drop the locks SQLite holds on it.
        """
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _migrate(self) -> None:
        with self.exclusive(self._busy_ms / 1000, "preparing the index"), self.transaction() as connection:
            ((version,),) = fetch(connection, "PRAGMA user_version")
            try:
                for script in self._scripts[version:]:
                    connection.execute(script.read_text(encoding="utf-8"))
            except apsw.SQLError as error:
                raise IndexDamaged(
                    f"{self.path} is not of version {version} as it says ({error}); `dowse rebuild` makes it anew"
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
            with connection:  # all of one moment: another process may be changing it
                self._check(connection)
            if flags & apsw.SQLITE_OPEN_READWRITE:
                connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 1)
            connection.execute(pragmas).fetchall()  # one that answers keeps those behind it waiting until it is read
        except apsw.SQLError as error:
            connection.close()
            # The statements are sound, so what they are about is not.
            raise IndexDamaged(f"{self.path} is damaged ({error}); `dowse rebuild` makes it anew") from error
        except (apsw.Error, DowseError, UnicodeDecodeError):
            connection.close()
            raise
        self._opened.add(connection)
        return connection

    def _check(self, connection: apsw.Connection) -> None:
        """Whether it is an index, of a version that can be read, and made by this user's Dowse; an empty file is."""
        ((application,),) = fetch(connection, "PRAGMA application_id")
        ((version,),) = fetch(connection, "PRAGMA user_version")
        ((tables,),) = fetch(connection, "SELECT count(*) FROM sqlite_schema")
        current, problem = len(self._scripts), ""
        if application != APPLICATION_ID and tables:
            problem = f"{self.path} is an SQLite file, but not a Dowse index; name another --index"
        elif version > current:
            problem = (
                f"{self.path} was written by a newer Dowse (index version {version}, this one reads up to "
                f"{current}); upgrade Dowse, or name another --index"
            )
        if problem and self.signer is not None and self.signer.made(connection, current):
            raise IndexDamaged(f"{self.path} has a header that is not its own; `dowse rebuild` makes it anew")
        if problem:
            raise IndexUnusable(problem)
        if tables and self.signer is not None:
            self.signer.check(connection, self.path, self._scripts[:version])


def make_defensive(connection: apsw.Connection) -> None:
    """What an unknown file can do, it must not do: no triggers, no views, no functions of its schema."""
    for option, value in _DEFENSIVE:
        connection.config(option, value)


def _uri_path(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path.absolute()))
