"""A new index in the place of an old one: built beside it, then swapped in, so that a kill leaves the old one."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from glob import escape
from pathlib import Path

from dowse.config import Settings
from dowse.encoders.choose import AUTO, is_local
from dowse.engine import Engine
from dowse.errors import BadInput, DowseError
from dowse.ingest.embed import Progress
from dowse.model import FILES, SyncReport
from dowse.places import Places, is_stored_root
from dowse.store.base import ENCODER_SETTING
from dowse.store.sqlite.beside import CACHES, LOGS, QUARANTINE, SUFFIXES, refuse_links
from dowse.store.sqlite.database import APPLICATION_ID
from dowse.store.sqlite.first_bytes import first_bytes
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.peek import peek
from dowse.store.sqlite.signing import Signer

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
        refuse_links(self.index)
        fresh = self.index.with_name(f"{self.index.name}.new")
        with write_lock(self.index, self.settings.lock_timeout_s):
            known = self._known_roots()
            roots = self._roots(known, drop_missing)
            try:
                remove(fresh)
                with Engine(self._kept_settings(), fresh, create=True) as engine:
                    report = engine.index(roots, vectors=False, progress=progress)
                    report.notes += engine.index_history(progress=progress).notes
                    report.add(engine.encode(progress=progress))
                    engine.settle()
                # Without a root that can be trusted, somebody else may have made it: then it is not ours to delete.
                self._swap(fresh, keep_old or not known)
            finally:
                remove(fresh)
        return report

    def _kept_settings(self) -> Settings:
        """The encoder that was chosen for the old index makes the vectors of the new one, unless another is named."""
        kept = peek(self.index, Signer.of(Places.of(self.settings))).manifest.get(ENCODER_SETTING, "")
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
        if not self.index.exists() or not self.index.stat().st_size:
            return
        for older in self.index.parent.glob(f"{escape(self.index.name + QUARANTINE)}*"):
            older.unlink(missing_ok=True)
        aside = _beside(self.index, f"{QUARANTINE}{self.now():%Y%m%dT%H%M%S}")
        os.link(self.index, aside)
        for suffix in LOGS:
            with suppress(FileNotFoundError):
                _beside(self.index, suffix).replace(_beside(aside, suffix))
        _log.info("%s was set aside: it is %s now, and a new one has taken its place", self.index, aside)

    def _known_roots(self) -> list[Path]:
        """Those of the old index, if they can be read and trusted. What is read from a root besides its files is found
        again there. In the standard place of a root, only what lies below it."""
        seen = peek(self.index, Signer.of(Places.of(self.settings)))
        known = [Path(it.root) for it in seen.collections if it.source == FILES]
        own = Places.of(self.settings).root_of(self.index, self.root)
        return [it for it in known if own is None or it.is_relative_to(own)]

    def _roots(self, known: list[Path], drop_missing: bool) -> list[Path]:
        """What is known and there; else the root that was given."""
        missing = [str(it) for it in known if not is_stored_root(it)]
        if missing and not drop_missing:
            raise BadInput(
                f"{', '.join(missing)} is not there now; make it available, or pass --drop-missing to leave it out"
            )
        return [it for it in known if is_stored_root(it)] or [self.root]


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
