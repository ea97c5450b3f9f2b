"""The lines of an index as a process holds them: one large segment from the sidecar, and small ones of what changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from dowse.errors import BadInput
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.health.quarantine import set_aside
from dowse.store.sqlite.lines.changes import (
    Changes,
    all_texts,
    latest,
    packed_bytes,
    shorten,
    since,
    some_texts,
)
from dowse.store.sqlite.lines.header import header_of
from dowse.store.sqlite.locks import TooLong, locked

if TYPE_CHECKING:
    from dowse.store.sqlite.lines.state import State

Value = TypeVar("Value")

WITHOUT_FILE_UP_TO = 500_000
"""Bytes of packed texts that are read anew by each process sooner than a file would be worth it."""

_BUILD_TIMEOUT_S = 120.0  # for another process that is building
_BUILD_AGAIN_AFTER_S = 300.0  # when the disk was full or may not be written to
_MOST_FOLLOWED = 32_000_000  # bytes of packed texts: a question that finds more changed has the sidecar made anew
# After an indexing run less is enough: so many packed bytes for each byte of text, within these bounds.
_STALE_SHARE = 0.02
_LEAST_STALE = 250_000
_MOST_STALE = 4_000_000
_MANY = 2_000  # files


def lines_of(index: Path) -> Path:
    return index.with_name(f"{index.name}-lines")


class HeldLines:
    """Follows what any process commits; the table is the truth, and whatever disagrees with it is made anew.

    Answering writes nothing: a sidecar that is missing or bad is made by whoever writes to the index.
    """

    def __init__(
        self, db: Database, without_file_up_to: int = WITHOUT_FILE_UP_TO, damage: Damage | None = None
    ) -> None:
        self._db = db
        self._damage = damage or Damage()
        self._without_file_up_to = without_file_up_to
        self._sidecar = lines_of(db.path)
        self._turn = threading.Lock()
        self._held: State | None = None
        self._no_build_before = 0.0
        self._sidecar_is_bad = False

    def ask(self, question: Callable[[State], Value]) -> Value:
        """An answer from the lines as they are now; damage that it comes upon is repaired first."""
        from dowse.store.sqlite.lines.column import Damaged

        try:
            return question(self._current())
        except Damaged:
            return question(self._repaired())

    def prepare(self) -> None:
        """Spare the next reader the building, where there is much to build."""
        shorten(self._db)
        if not self._large():
            return
        header = header_of(self._sidecar)
        changes = since(self._db, header.position) if header else None
        if self._sidecar_is_bad or header is None or changes is None or self._stale(changes, header.text_bytes):
            with self._turn:
                self._held = self._built(anew=True) or self._held

    def forget(self) -> None:
        """Have the file made anew by whoever asks next."""
        with self._turn:
            self._held = None
            self._sidecar.unlink(missing_ok=True)

    # --- following ---

    def _current(self) -> State:
        # The log is asked each time: that is quicker than to be wrong, and reads one row if nothing has changed.
        held = self._held
        if held is not None and held.position == latest(self._db):
            return held
        with self._turn:
            self._held = (self._held and self._followed(self._held)) or self._loaded()
            return self._held

    def _followed(self, state: State) -> State | None:
        """The state as it is by now; None where it is not known, or too much to follow."""
        with self._db.moment():
            changes = since(self._db, state.position)
            if changes is None or packed_bytes(self._db, changes.records) > _MOST_FOLLOWED:
                return None
            return state.changed(changes.records, some_texts(self._db, self._damage, changes.records), changes.position)

    def _loaded(self) -> State:
        if not self._large():
            return self._in_memory()
        adopted = None if self._sidecar_is_bad else self._adopted()
        return adopted or (self._built(anew=False) if self._db.is_exclusive else None) or self._in_memory()

    def _adopted(self) -> State | None:
        """From the sidecar, if it can be followed to here."""
        from dowse.store.sqlite.lines.sidecar import opened
        from dowse.store.sqlite.lines.state import State

        sidecar = opened(self._sidecar)
        return self._followed(State.of(sidecar.segment, sidecar.position)) if sidecar else None

    def _built(self, *, anew: bool) -> State | None:
        """From a new sidecar, unless another process has made it meanwhile; None where that can not be done."""
        from dowse.store.sqlite.lines.sidecar import write

        if time.monotonic() < self._no_build_before:
            return None
        known = header_of(self._sidecar)
        try:
            with locked(Path(f"{self._sidecar}.lock"), _BUILD_TIMEOUT_S):
                if (anew and header_of(self._sidecar) == known) or self._adopted() is None:
                    self._refuse()
                    with self._db.moment():
                        write(self._sidecar, all_texts(self._db, self._damage), latest(self._db))
                self._sidecar_is_bad = False
                return self._adopted()
        except (OSError, BadInput, TooLong):
            self._no_build_before = time.monotonic() + _BUILD_AGAIN_AFTER_S
            return None

    def _refuse(self) -> None:
        """Set a file aside that is damaged, or that nobody can read."""
        from dowse.store.sqlite.lines.sidecar import opened

        if self._sidecar.is_file() and (self._sidecar_is_bad or opened(self._sidecar) is None):
            set_aside(self._sidecar)

    def _in_memory(self) -> State:
        from dowse.store.sqlite.lines.build import in_memory
        from dowse.store.sqlite.lines.state import State

        with self._db.moment():
            return State.of(in_memory(all_texts(self._db, self._damage)), latest(self._db))

    def _repaired(self) -> State:
        with self._turn:
            self._sidecar_is_bad = True
            self._damage.note("sidecars", f"{self._sidecar.name} does not match its checksums")
            self._held = self._in_memory()
            return self._held

    # --- sizes ---

    def _large(self) -> bool:
        """Whether a file is worth it; looks at no more texts than needed to know."""
        ((count, size),) = self._db.rows(
            "SELECT count(*), total(length(body)) FROM (SELECT body FROM texts LIMIT ?)", (_MANY,)
        )
        return bool(count == _MANY or size > self._without_file_up_to)

    def _stale(self, changes: Changes, text_bytes: int) -> bool:
        limit = min(max(_STALE_SHARE * text_bytes, _LEAST_STALE), _MOST_STALE)
        return packed_bytes(self._db, changes.records) > limit or len(changes.records) > _MANY
