"""The vectors of an index as a process holds them: few exactly in memory, many through a sidecar file."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dowse.errors import BadInput, OtherVectors
from dowse.model import Scored
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.health.damage import Damage
from dowse.store.sqlite.health.quarantine import set_aside
from dowse.store.sqlite.locks import TooLong, locked
from dowse.store.sqlite.vectors.changes import Moment, latest, since

if TYPE_CHECKING:
    from dowse.store.sqlite.vectors.coded import CodedRows
    from dowse.store.sqlite.vectors.exact import ExactRows, Keys, Vector

EXACT_UP_TO = 30_000
"""Vectors up to which comparing all of them is quick enough, and a cold start needs no file."""

_BUILD_TIMEOUT_S = 60.0  # for another process that is building
_BUILD_AGAIN_AFTER_S = 300.0  # when the disk was full or may not be written to
_ALL = "SELECT chunk, vector FROM vectors ORDER BY chunk"


def sidecar_of(index: Path) -> Path:
    return index.with_name(f"{index.name}-vectors")


@dataclass(frozen=True, slots=True)
class _Held:
    """Rows, and the moment of the index they are of: never changed, so that whoever has taken it can go on with it."""

    rows: ExactRows | CodedRows
    moment: Moment
    file: int | None = None  # the number of the sidecar they are from, if so


def _number_of(file: Path) -> int | None:
    try:
        return file.stat().st_ino
    except OSError:
        return None


class HeldVectors:
    """Follows what any process commits; the table is the truth, and whatever disagrees with it is made anew.

    Answering writes nothing: a sidecar that is missing or bad is made by whoever writes to the index.
    """

    def __init__(self, db: Database, exact_up_to: int = EXACT_UP_TO, damage: Damage | None = None) -> None:
        self._db = db
        self._damage = damage or Damage()
        self._exact_up_to = exact_up_to
        self._sidecar = sidecar_of(db.path)
        self._turn = threading.Lock()
        self._held: _Held | None = None
        self._no_build_before = 0.0
        self._sidecar_is_bad = False

    def near(self, vector: Vector, allowed: Keys | None, limit: int, made_by: str | None = None) -> list[Scored]:
        """Raises OtherVectors when these are not the vectors of the encoder that made the query's."""
        from dowse.store.sqlite.vectors.exact import BlockDamaged

        try:
            return self._near(vector, allowed, limit, made_by)
        except BlockDamaged:
            self._repair()
            return self._near(vector, allowed, limit, made_by)

    def _near(self, vector: Vector, allowed: Keys | None, limit: int, made_by: str | None) -> list[Scored]:

        with self._turn:
            held = self._held = self._held or self._load()
        if made_by is not None and made_by != held.moment.made_by:
            raise OtherVectors(f"the index's vectors are of {held.moment.made_by} now, not of {made_by}; ask again")
        if not len(held.rows) or limit < 1:
            return []
        return held.rows.near(vector, allowed, limit)

    def refresh(self) -> bool:
        """Follow the index; reads only what has changed, as long as the log tells what that is."""
        with self._turn:
            followed = self._followed()
            self._held = followed if followed and self._good_enough(followed) else self._load()
            return True

    def prepare(self) -> None:
        """After writing: spare readers the building, where there is something to build."""
        ((highest,),) = self._db.rows("SELECT max(chunk) FROM vectors")
        # Keys start at one and are never used twice: there are at most as many vectors.
        if (highest or 0) <= self._exact_up_to and not self._sidecar.exists():
            return
        with self._turn:
            if self._sidecar_is_bad:
                set_aside(self._sidecar)
            elif not self._many():
                self._drop_sidecar()
            if self._many():
                held = self._followed()
                good = held is not None and self._is_from_the_file(held) and not self._outgrown(held)
                self._held = held if good else self._load(writes=True)

    def _followed(self) -> _Held | None:
        """What is held, brought to the present; None where the log does not tell how."""
        held = self._held
        changes = since(self._db, held.moment.position) if held else None
        return _Held(held.rows.changed(changes.vectors), changes.moment, held.file) if held and changes else None

    def _good_enough(self, held: _Held) -> bool:
        """Whoever only reads goes on with what has become wasteful until a writer has made a better file."""
        return not self._outgrown(held) or (self._is_from_the_file(held) and not self._db.is_exclusive)

    def _is_from_the_file(self, held: _Held) -> bool:
        """Whether it is from the sidecar that lies there now."""
        return held.file is not None and held.file == _number_of(self._sidecar)

    def forget(self) -> None:
        """Leave no copy of vectors that are gone from the table."""
        with self._turn:
            self._held = None
            self._drop_sidecar()

    # --- loading ---

    def _load(self, *, writes: bool = False) -> _Held:
        """From the sidecar if it can be followed to here, else from the table."""
        held = None if self._sidecar_is_bad else self._adopted()
        if held and not self._outgrown(held):
            return held
        if not self._many():
            return self._few()
        built = self._built() if writes or self._db.is_exclusive else None
        return built or held or self._all()

    def _adopted(self) -> _Held | None:
        from dowse.store.sqlite.vectors.coded import CodedRows
        from dowse.store.sqlite.vectors.sidecar import opened

        number = _number_of(self._sidecar)  # before: if it is replaced now, the next one is looked at later
        sidecar = opened(self._sidecar)
        changes = since(self._db, sidecar.position) if sidecar else None
        if sidecar is None or changes is None:
            return None
        return _Held(CodedRows.of(sidecar.block).changed(changes.vectors), changes.moment, number)

    def _built(self) -> _Held | None:
        """From a new sidecar, unless another process has made it meanwhile; None where that can not be done."""
        from dowse.store.sqlite.vectors.sidecar import write

        if time.monotonic() < self._no_build_before:
            return None
        try:
            with locked(Path(f"{self._sidecar}.lock"), _BUILD_TIMEOUT_S):
                held = self._adopted()
                if held is None or self._outgrown(held):
                    self._refuse()
                    with self._db.moment():
                        write(self._sidecar, self._db.stream(_ALL), latest(self._db).position)
                    held = self._adopted()
                self._sidecar_is_bad = False
                return held
        except (OSError, BadInput, TooLong):
            self._no_build_before = time.monotonic() + _BUILD_AGAIN_AFTER_S
            return None

    def _refuse(self) -> None:
        """Set a file aside that nobody can read; one of another version is just replaced."""
        from dowse.store.sqlite.vectors.sidecar import is_of_another_version, opened

        readable = opened(self._sidecar) is not None or is_of_another_version(self._sidecar)
        if self._sidecar.is_file() and not readable:
            set_aside(self._sidecar)

    def _all(self) -> _Held:
        from dowse.store.sqlite.vectors.coded import Block, CodedRows, parts_of

        with self._db.moment():
            return _Held(CodedRows.of(Block.of(parts_of(self._db.stream(_ALL)))), latest(self._db))

    def _few(self) -> _Held:
        from dowse.store.sqlite.vectors.exact import ExactRows

        with self._db.moment():
            return _Held(ExactRows.of(self._db.stream(_ALL)), latest(self._db))

    def _repair(self) -> None:
        with self._turn:
            self._sidecar_is_bad = True
            self._damage.note("sidecars", f"{self._sidecar.name} does not match its checksums")
            self._held = self._all()

    def _drop_sidecar(self) -> None:
        """One that can not be removed does no harm where it is not adopted."""
        with suppress(OSError):
            self._sidecar.unlink(missing_ok=True)

    # --- sizes ---

    def _many(self) -> bool:
        """Whether there are more than can be searched exactly; reads no more than needed to know."""
        return bool(self._db.rows("SELECT 1 FROM vectors LIMIT 1 OFFSET ?", (self._exact_up_to,)))

    def _outgrown(self, held: _Held) -> bool:
        from dowse.store.sqlite.vectors.coded import CodedRows

        rows = held.rows
        return rows.wasteful if isinstance(rows, CodedRows) else len(rows) > self._exact_up_to
