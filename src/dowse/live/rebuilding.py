"""A new index in the place of an old one: built beside it, then swapped in, so that a kill leaves the old one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from dowse.config import Settings
from dowse.encoders.choose import AUTO, is_local
from dowse.engine import Engine
from dowse.errors import BadInput, DowseError
from dowse.ingest.embed import Progress
from dowse.model import SyncReport
from dowse.places import Places, is_directory
from dowse.store.base import ENCODER_SETTING
from dowse.store.sqlite.beside import CACHES, LOGS, QUARANTINE, SUFFIXES
from dowse.store.sqlite.database import APPLICATION_ID, Database
from dowse.store.sqlite.first_bytes import first_bytes
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.peek import peek

_SQLITE_HEADER = b"SQLite format 3\x00"
_APPLICATION_ID_AT = 68

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """One index to be made anew: `root` is indexed where it does not tell which ones it held."""

    settings: Settings
    index: Path
    root: Path
    now: Callable[[], datetime] = datetime.now

    def run(self, progress: Progress, *, drop_missing: bool = False, keep_old: bool = False) -> SyncReport:
        """Index every root the old index knew from nothing; nobody else writes to it meanwhile.

        `keep_old` sets the old index aside instead of deleting it.
        """
        self.check_replaceable()
        fresh = self.index.with_name(f"{self.index.name}.new")
        with write_lock(self.index, self.settings.lock_timeout_s):
            roots = self._roots(drop_missing)
            try:
                remove(fresh)
                with Engine(self._kept_settings(), fresh, create=True) as engine:
                    report = engine.index(roots, vectors=False, progress=progress)
                    report.notes += engine.index_history(progress=progress).notes
                    report.add(engine.encode(progress=progress))
                    engine.settle()
                self._swap(fresh, keep_old)
            finally:
                remove(fresh)
        return report

    def _kept_settings(self) -> Settings:
        """The encoder that was chosen for the old index makes the vectors of the new one, unless another is named."""
        kept = peek(self.index).manifest.get(ENCODER_SETTING, "")
        is_kept = self.settings.encoder == AUTO and is_local(kept)
        return replace(self.settings, encoder=kept) if is_kept else self.settings

    def check_replaceable(self, *, any_sqlite: bool = False) -> None:
        """Only an index of ours is ever replaced, whatever lies in its standard place, or an empty file."""
        index = self.index
        if not index.exists() or index == Places.of(self.settings).index_of(self.root):
            return
        try:
            replaceable = is_index(index, any_sqlite=any_sqlite)
        except OSError as error:
            raise BadInput(f"can not use {index} as an index: {error.strerror}; name another") from error
        if not replaceable:
            raise BadInput(f"{index} is no index of Dowse and is not replaced; name another, or remove it yourself")

    def _swap(self, fresh: Path, keep_old: bool) -> None:
        """The old index keeps its log until it holds everything by itself; only then the new one takes its place."""
        if keep_old:
            self._set_aside()
        else:
            # If it is damaged there is nothing of it to keep.
            with suppress(DowseError), Engine(self.settings, self.index, create=False) as old:
                old.settle()
        for suffix in (*LOGS, *CACHES):
            _beside(self.index, suffix).unlink(missing_ok=True)
        fresh.replace(self.index)
        for suffix in CACHES:
            # Each says which index it is of: one that is left behind is made anew, whenever this stops.
            with suppress(FileNotFoundError):
                _beside(fresh, suffix).replace(_beside(self.index, suffix))

    def _set_aside(self) -> None:
        """The old file stays in its place until the new one takes it, and bears a second name from now on."""
        if not self.index.exists():
            return
        for older in self.index.parent.glob(f"{self.index.name}{QUARANTINE}*"):
            older.unlink(missing_ok=True)
        aside = _beside(self.index, f"{QUARANTINE}{self.now():%Y%m%dT%H%M%S}")
        os.link(self.index, aside)
        for suffix in LOGS:
            with suppress(FileNotFoundError):
                _beside(self.index, suffix).replace(_beside(aside, suffix))
        _log.warning("%s was damaged: it is %s now, and a new one has taken its place", self.index, aside)

    def _roots(self, drop_missing: bool) -> list[Path]:
        """The roots an old index knew, if it can still be read; else the one that was given."""
        known = _known_roots(self.index)
        own = Places.of(self.settings).root_of(self.index, self.root)
        known = [it for it in known if own is None or it.is_relative_to(own)]
        missing = [str(it) for it in known if not is_directory(it)]
        if missing and not drop_missing:
            raise BadInput(
                f"{', '.join(missing)} is not there now; make it available, or pass --drop-missing to leave it out"
            )
        return [it for it in known if is_directory(it)] or [self.root]


def _known_roots(index: Path) -> list[Path]:
    """As far as they can be read; each is kept twice, and where these differ, one of them may be there. What is read
    from a root besides its files is found again from there."""
    statement = (
        "SELECT root, substr(twin, instr(twin, char(31)) + 1) FROM collections WHERE source = 'files' ORDER BY id"
    )
    try:
        db = Database(index, create=False)
    except DowseError:
        return []  # damaged or not there: that is why it is being made anew
    try:
        rows = db.rows(statement)
    except DowseError:
        return []
    finally:
        db.close()
    return [Path(twin) if twin and is_directory(Path(twin)) else Path(root) for root, twin in rows]


def is_index(file: Path, *, any_sqlite: bool = False) -> bool:
    """Whether it is an index of ours, as far as its first bytes tell, was one, or is an empty file."""
    header = first_bytes(file, 100)
    ours = header[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4] == APPLICATION_ID.to_bytes(4)
    return not header or (header.startswith(_SQLITE_HEADER) and (ours or any_sqlite)) or _was_ours(file)


def remove(index: Path) -> bool:
    """Delete an index and what lies beside it; whether there was one."""
    existed = index.exists()
    for suffix in ("", *SUFFIXES):
        _beside(index, suffix).unlink(missing_ok=True)
    return existed


def _beside(index: Path, suffix: str) -> Path:
    return index.with_name(index.name + suffix)


def _was_ours(index: Path) -> bool:
    """Its first page may be gone, but only we lay such a file beside an index."""
    return _beside(index, ".lock").exists()
