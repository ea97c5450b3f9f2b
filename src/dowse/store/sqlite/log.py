"""The write-ahead log of an index, kept short: a reader that needs it may hold up writing, but not fill the disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from dowse.errors import IndexBusy

LONG = 16_000_000
"""Bytes: from here on the log is emptied after each transaction, if no reader needs it."""
MOST = 60_000_000
"""Bytes: no transaction begins that may make the log longer, until readers let go of it."""
_GROWTH = 7  # bytes of log for each byte of text; ordinary text takes four, random letters six
_UNTOLD = 3_000_000  # bytes of text, where nobody said how many
_SHORT_WAIT_MS = 20


class Log:
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
        """Before a transaction about so much text. Raises IndexBusy when a reader keeps the log from being emptied."""
        limit = max(0, MOST - _GROWTH * (text_bytes or _UNTOLD))
        if self.size() <= limit:
            return
        self._empty(connection, self._busy_ms)
        if (size := self.size()) > limit:
            raise IndexBusy(
                f"a process, perhaps a stopped one, has been reading {self._index} for more than "
                f"{self._busy_ms / 1000:g} s and keeps {size // 1_000_000} MB in its log: writing waits until it ends, "
                "searching works meanwhile"
            )

    def shorten(self, connection: apsw.Connection) -> None:
        """After a transaction; a reader in the way is no reason to fail."""
        if self.size() > LONG:
            self._empty(connection, _SHORT_WAIT_MS)

    def _empty(self, connection: apsw.Connection, wait_ms: int) -> None:
        with _patience(connection, wait_ms, self._busy_ms):
            try:
                # Whatever no reader needs any more, without waiting; then the rest.
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            except (apsw.BusyError, apsw.LockedError):
                return


@contextmanager
def _patience(connection: apsw.Connection, wait_ms: int, afterwards_ms: int) -> Iterator[None]:
    connection.set_busy_timeout(wait_ms)
    try:
        yield
    finally:
        connection.set_busy_timeout(afterwards_ms)
