"""The line index: open, refresh and answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dowse.errors import BadInput
from dowse.model import EVERYTHING, Scope
from dowse.store.sqlite.damage import HealthState, quarantine
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.line_log import (
    TextChanges,
    compressed_bytes,
    latest_text_position,
    load_all_texts,
    load_texts_of,
    read_line_header,
    text_changes_since,
    trim_text_log,
)
from dowse.store.sqlite.locks import LockTimeout, file_lock
from dowse.store.sqlite.rows import RECORDS_SQL
from dowse.store.sqlite.scope import ScopeCompiler
from dowse.store.types import LineMatches, LineQuery

if TYPE_CHECKING:
    from dowse.store.sqlite.line_segment import Array
    from dowse.store.sqlite.line_state import LineIndexState

# --------------------------------------------------------------------------------------------------
# The line index of a process: one large segment from the sidecar, and small ones for later changes.

Value = TypeVar("Value")

MAX_BYTES_WITHOUT_SIDECAR = 500_000
"""Compressed bytes of text up to which each process builds its index in memory instead of using a file."""

_LINE_BUILD_TIMEOUT_S = 120.0  # waiting for another process to build
_LINE_BUILD_RETRY_S = 300.0  # after a full or read-only disk
_MAX_APPLIED_BYTES = 32_000_000  # compressed bytes of changed texts a query applies; for more, the sidecar is rebuilt
# After an indexing run fewer changes trigger a rebuild: compressed bytes per byte of text, within these bounds.
_STALE_SHARE = 0.02
_MIN_STALE_BYTES = 250_000
_MAX_STALE_BYTES = 4_000_000
_MANY_FILES = 2_000  # files


def line_sidecar_path(index: Path) -> Path:
    return index.with_name(f"{index.name}-lines")


class LineIndexCache:
    """Applies the commits of any process. The table is authoritative; anything that disagrees with it is rebuilt.

    Queries write nothing: a missing or damaged sidecar is rebuilt by whoever writes to the index.
    """

    def __init__(
        self, db: Database, without_file_up_to: int = MAX_BYTES_WITHOUT_SIDECAR, damage: HealthState | None = None
    ) -> None:
        self._db = db
        self._health = damage or HealthState()
        self._without_file_up_to = without_file_up_to
        self._sidecar = line_sidecar_path(db.path)
        self._lock = threading.Lock()
        self._state: LineIndexState | None = None
        self._no_build_before = 0.0
        self._sidecar_is_bad = False

    def query(self, run: Callable[[LineIndexState], Value]) -> Value:
        """Run a query on the current index; repair damage it meets and run it again."""
        from dowse.store.sqlite.line_segment import LineIndexDamaged

        try:
            return run(self._current())
        except LineIndexDamaged:
            return run(self._repair())

    def prepare(self) -> None:
        """Rebuild a missing or outdated sidecar, so that the next reader does not have to."""
        trim_text_log(self._db)
        if not self._is_large():
            return
        header = read_line_header(self._sidecar)
        changes = text_changes_since(self._db, header.position) if header else None
        if self._sidecar_is_bad or header is None or changes is None or self._is_stale(changes, header.text_bytes):
            with self._lock:
                self._state = self._build_sidecar(force=True) or self._state

    def forget(self) -> None:
        """Drop the sidecar; the next query rebuilds the index."""
        with self._lock:
            self._state = None
            self._sidecar.unlink(missing_ok=True)

    # --- applying changes ---

    def _current(self) -> LineIndexState:
        # Checked for every query, which reads one row of the log if nothing has changed.
        current = self._state
        if current is not None and current.position == latest_text_position(self._db):
            return current
        with self._lock:
            self._state = (self._state and self._apply_changes(self._state)) or self._load()
            return self._state

    def _apply_changes(self, state: LineIndexState) -> LineIndexState | None:
        """Apply all changes since the state; None if the log does not cover them, or they are too large."""
        with self._db.snapshot():
            changes = text_changes_since(self._db, state.position)
            if changes is None or compressed_bytes(self._db, changes.records) > _MAX_APPLIED_BYTES:
                return None
            return state.with_changes(
                changes.records, load_texts_of(self._db, self._health, changes.records), changes.position
            )

    def _load(self) -> LineIndexState:
        if not self._is_large():
            return self._build_in_memory()
        loaded = None if self._sidecar_is_bad else self._load_sidecar()
        return (
            loaded or (self._build_sidecar(force=False) if self._db.is_exclusive else None) or self._build_in_memory()
        )

    def _load_sidecar(self) -> LineIndexState | None:
        """Load the sidecar and apply later changes, if possible."""
        from dowse.store.sqlite.line_state import LineIndexState, open_line_sidecar

        sidecar = open_line_sidecar(self._sidecar)
        return self._apply_changes(LineIndexState.of(sidecar.segment, sidecar.position)) if sidecar else None

    def _build_sidecar(self, *, force: bool) -> LineIndexState | None:
        """Build a new sidecar and load it, unless another process just did; None if it cannot be written."""
        from dowse.store.sqlite.line_state import write_line_sidecar

        if time.monotonic() < self._no_build_before:
            return None
        known = read_line_header(self._sidecar)
        try:
            with file_lock(Path(f"{self._sidecar}.lock"), _LINE_BUILD_TIMEOUT_S):
                if (force and read_line_header(self._sidecar) == known) or self._load_sidecar() is None:
                    self._quarantine_bad_sidecar()
                    with self._db.snapshot():
                        write_line_sidecar(
                            self._sidecar, load_all_texts(self._db, self._health), latest_text_position(self._db)
                        )
                self._sidecar_is_bad = False
                return self._load_sidecar()
        except (OSError, BadInput, LockTimeout):
            self._no_build_before = time.monotonic() + _LINE_BUILD_RETRY_S
            return None

    def _quarantine_bad_sidecar(self) -> None:
        """Quarantine a damaged or unreadable sidecar."""
        from dowse.store.sqlite.line_state import open_line_sidecar

        if self._sidecar.is_file() and (self._sidecar_is_bad or open_line_sidecar(self._sidecar) is None):
            quarantine(self._sidecar)

    def _build_in_memory(self) -> LineIndexState:
        from dowse.store.sqlite.line_segment import build_segment
        from dowse.store.sqlite.line_state import LineIndexState

        with self._db.snapshot():
            return LineIndexState.of(
                build_segment(load_all_texts(self._db, self._health)), latest_text_position(self._db)
            )

    def _repair(self) -> LineIndexState:
        with self._lock:
            self._sidecar_is_bad = True
            self._health.record("sidecars", f"{self._sidecar.name} does not match its checksums")
            self._state = self._build_in_memory()
            return self._state

    # --- sizes ---

    def _is_large(self) -> bool:
        """Return whether a sidecar is worthwhile; reads no more texts than needed to know."""
        ((count, size),) = self._db.rows(
            "SELECT count(*), total(length(body)) FROM (SELECT body FROM texts LIMIT ?)", (_MANY_FILES,)
        )
        return bool(count == _MANY_FILES or size > self._without_file_up_to)

    def _is_stale(self, changes: TextChanges, text_bytes: int) -> bool:
        limit = min(max(_STALE_SHARE * text_bytes, _MIN_STALE_BYTES), _MAX_STALE_BYTES)
        return compressed_bytes(self._db, changes.records) > limit or len(changes.records) > _MANY_FILES


class SqliteLines:
    def __init__(self, db: Database, health: HealthState, scopes: ScopeCompiler, without_file_up_to: int) -> None:
        self.db = db
        self.cache = LineIndexCache(db, without_file_up_to, health)
        self._scopes = scopes

    def find_lines(self, query: LineQuery) -> LineMatches:
        from dowse.store.sqlite.line_query import find_matching_lines

        scope = self._scopes.simplify(query.scope)
        inside = None if scope == EVERYTHING else self._scopes.cached("records", scope, lambda: self._records(scope))
        return self.cache.query(lambda state: find_matching_lines(state, query, inside))

    def _records(self, scope: Scope) -> Array:
        import numpy as np

        condition, values = self._scopes.condition(scope)
        rows = self.db.rows(f"SELECT records.id FROM {RECORDS_SQL} WHERE {condition}", values)
        return np.array([row[0] for row in rows], dtype=np.int64)

    def lines_between(self, collection: str, path: str, spans: Sequence[tuple[int, int]]) -> list[tuple[str, ...]]:
        rows = self.db.rows(
            f"SELECT records.id FROM {RECORDS_SQL} WHERE records.path = ? AND collections.name = ?", (path, collection)
        )
        return self.cache.query(lambda state: state.lines_between(rows[0][0], spans)) if rows else [()] * len(spans)
