"""Which parts of an index are damaged, quarantined or being repaired."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import apsw

from dowse.errors import IndexDamaged, PartDamaged
from dowse.store.sqlite.database import Row, fetch_rows
from dowse.store.sqlite.rows import ChecksumMismatch

Value = TypeVar("Value")

_log = logging.getLogger(__name__)


class HealthState:
    """The damaged parts, each with the first reason found."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problems: dict[str, str] = {}
        self._state: str | None = None

    def problems(self, state: str | None = None) -> dict[str, str]:
        """Return the damage found in this state of the index; a new state clears it."""
        with self._lock:
            if state != self._state and state is not None:
                if self._state is not None:
                    self._problems.clear()
                self._state = state
            return dict(self._problems)

    def record(self, part: str, reason: str) -> None:
        with self._lock:
            known = part in self._problems
            self._problems.setdefault(part, reason)
        if not known:
            _log.info("damaged %s in the index: %s", part, reason)

    @contextmanager
    def attribute_to(self, part: str) -> Iterator[None]:
        """Attribute every read error inside to this part and raise PartDamaged."""
        try:
            yield
        except (IndexDamaged, apsw.CorruptError, apsw.SQLError) as error:
            reason = str(error.__cause__ or error)
            self.record(part, reason)
            raise PartDamaged(part, reason) from error

    def skip_damaged(self, rows: Iterable[Row], make: Callable[[Row], Value]) -> Iterator[Value]:
        """Convert rows, recording and skipping those that do not match their checksums."""
        for row in rows:
            try:
                yield make(row)
            except ChecksumMismatch as error:
                self.record("records", str(error))


# --------------------------------------------------------------------------------------------------
# Quarantines damaged files instead of deleting them, one of each kind, so that the cause can be examined.


def quarantine(path: Path) -> bool:
    """Move a damaged or unreadable sidecar aside; return whether its path is free."""
    quarantined = path.with_name(f"{path.name}.damaged")
    try:
        path.replace(quarantined)
    except FileNotFoundError:
        return True
    except OSError as error:
        _log.warning("cannot move the damaged file %s aside: %s", path, error)
        return False
    _log.warning("%s was damaged: moved to %s and rebuilt", path, quarantined)
    return True


# --------------------------------------------------------------------------------------------------
# Metadata entries that mark unfinished rebuilds, so that they survive an interruption.

WORDS_PART = "words"
_REBUILD_KEY_PREFIX = "mending "
REBUILDING = "being rebuilt"


def unfinished_rebuilds(connection: apsw.Connection) -> dict[str, str]:
    """Return the unfinished parts with their progress."""
    rows = fetch_rows(
        connection,
        "SELECT key, value FROM manifest WHERE key BETWEEN ? AND ?",
        (_REBUILD_KEY_PREFIX, f"{_REBUILD_KEY_PREFIX}~"),
    )
    return {key.removeprefix(_REBUILD_KEY_PREFIX): value for key, value in rows}


def mark_unfinished(connection: apsw.Connection, part: str, value: str = "") -> None:
    connection.execute(
        "INSERT OR REPLACE INTO manifest (key, value) VALUES (?, ?)", (_REBUILD_KEY_PREFIX + part, value)
    )


def mark_finished(connection: apsw.Connection, part: str) -> None:
    connection.execute("DELETE FROM manifest WHERE key = ?", (_REBUILD_KEY_PREFIX + part,))
