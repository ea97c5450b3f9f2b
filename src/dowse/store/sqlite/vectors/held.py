"""The vectors of an index as a process holds them: few exactly in memory, many through a sidecar file."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.errors import BadInput, IndexBusy
from dowse.model import Scored
from dowse.store.sqlite.database import Database, write_lock
from dowse.store.sqlite.vectors.changes import Position, latest, since

if TYPE_CHECKING:
    from dowse.store.sqlite.vectors.coded import CodedRows
    from dowse.store.sqlite.vectors.exact import ExactRows, Vector

EXACT_UP_TO = 30_000
"""Vectors up to which comparing all of them is quick enough, and a cold start needs no file."""

_BUILD_TIMEOUT_S = 60.0  # for another process that is building
_BUILD_AGAIN_AFTER_S = 300.0  # when the disk was full or may not be written to
_ALL = "SELECT chunk, vector FROM vectors ORDER BY chunk"


def sidecar_of(index: Path) -> Path:
    return index.with_name(f"{index.name}-vectors")


class HeldVectors:
    """Follows what any process commits; the table is the truth, and whatever disagrees with it is made anew."""

    def __init__(self, db: Database, exact_up_to: int = EXACT_UP_TO) -> None:
        self._db = db
        self._exact_up_to = exact_up_to
        self._sidecar = sidecar_of(db.path)
        self._turn = threading.Lock()
        self._rows: ExactRows | CodedRows | None = None
        self._position: Position | None = None
        self._no_build_before = 0.0

    def near(self, vector: Vector, allowed: Sequence[int] | None, limit: int) -> list[Scored]:
        from dowse.store.sqlite.vectors.coded import BlockDamaged

        try:
            return self._near(vector, allowed, limit)
        except BlockDamaged:
            self._repair()
            return self._near(vector, allowed, limit)

    def _near(self, vector: Vector, allowed: Sequence[int] | None, limit: int) -> list[Scored]:
        import numpy as np

        with self._turn:
            rows = self._rows
        if rows is None or not len(rows) or limit < 1:
            return []
        return rows.near(vector, None if allowed is None else np.array(allowed, dtype=np.int64), limit)

    def refresh(self) -> bool:
        """Follow the index; reads only what has changed, as long as the log tells what that is."""
        with self._turn:
            rows, position = self._rows, self._position
            changes = since(self._db, position) if rows is not None and position else None
            if rows is None or changes is None:
                self._load()
                return True
            self._rows, self._position = rows.changed(changes.vectors), changes.position
            if self._outgrown(self._rows):
                self._load()
            return True

    def prepare(self) -> None:
        """Spare the next reader the building, where there is something to build."""
        ((highest,),) = self._db.rows("SELECT max(chunk) FROM vectors")
        # Keys start at one and are never used twice: there are at most as many vectors.
        if (highest or 0) > self._exact_up_to and (self._many() or self._sidecar.exists()):
            self.refresh()

    def forget(self) -> None:
        """Leave no copy of vectors that are gone from the table."""
        with self._turn:
            self._rows = self._position = None
            self._drop_sidecar()

    # --- loading ---

    def _load(self) -> None:
        """From the sidecar if it can be followed to here, else from the table."""
        if self._adopt_sidecar() and not self._outgrown(self._rows):
            return
        if self._many():
            if not self._build() and self._rows is None:
                self._read_all()
        else:
            self._read_few()

    def _adopt_sidecar(self) -> bool:
        from dowse.store.sqlite.vectors.coded import CodedRows
        from dowse.store.sqlite.vectors.sidecar import opened

        self._rows = self._position = None
        sidecar = opened(self._sidecar)
        changes = since(self._db, sidecar.position) if sidecar else None
        if sidecar is None or changes is None:
            return False
        self._rows, self._position = CodedRows.of(sidecar.block).changed(changes.vectors), changes.position
        return True

    def _build(self) -> bool:
        """A new sidecar, unless another process has made it meanwhile; False where that can not be done."""
        from dowse.store.sqlite.vectors.sidecar import write

        # Read before the vectors: what is committed in between is met again in the log, which does no harm.
        position = latest(self._db)
        if position is None or time.monotonic() < self._no_build_before:
            return False
        held = self._rows, self._position
        try:
            with write_lock(self._sidecar, _BUILD_TIMEOUT_S):
                if not self._adopt_sidecar() or self._outgrown(self._rows):
                    write(self._sidecar, self._db.stream(_ALL), position)
                    self._adopt_sidecar()
        except (OSError, BadInput, IndexBusy):
            self._no_build_before = time.monotonic() + _BUILD_AGAIN_AFTER_S
            self._rows, self._position = held
            return False
        return self._rows is not None

    def _read_all(self) -> None:
        from dowse.store.sqlite.vectors.coded import Block, CodedRows, parts_of

        self._position = latest(self._db)
        self._rows = CodedRows.of(Block.of(parts_of(self._db.stream(_ALL))))

    def _read_few(self) -> None:
        from dowse.store.sqlite.vectors.exact import ExactRows

        self._position = latest(self._db)
        self._rows = ExactRows.of(self._db.stream(_ALL))
        self._drop_sidecar()

    def _repair(self) -> None:
        with self._turn:
            if self._drop_sidecar():
                self._load()
            else:
                self._read_all()

    def _drop_sidecar(self) -> bool:
        """Whether there is none now; one that can not be removed does no harm where it is not adopted."""
        try:
            self._sidecar.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    # --- sizes ---

    def _many(self) -> bool:
        """Whether there are more than can be searched exactly; reads no more than needed to know."""
        return bool(self._db.rows("SELECT 1 FROM vectors LIMIT 1 OFFSET ?", (self._exact_up_to,)))

    def _outgrown(self, rows: ExactRows | CodedRows | None) -> bool:
        from dowse.store.sqlite.vectors.coded import CodedRows

        return rows.wasteful if isinstance(rows, CodedRows) else rows is not None and len(rows) > self._exact_up_to
