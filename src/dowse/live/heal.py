"""Repair a damaged index, or rebuild it from the files."""

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
from dowse.encoders.choose import AUTO_ENCODER, is_local_encoder
from dowse.engine import Engine
from dowse.errors import BadInput, DowseError, IndexDamaged, IndexForeign
from dowse.ingest.embed import ProgressCallback
from dowse.model import FILES, SyncReport
from dowse.paths import DataPaths, is_intact_root
from dowse.store.sqlite.database import APPLICATION_ID, read_first_bytes
from dowse.store.sqlite.derived import (
    INDEX_FILE_SUFFIXES,
    LOG_SUFFIXES,
    QUARANTINE_SUFFIX,
    SIDECAR_SUFFIXES,
    reject_symlinks,
)
from dowse.store.sqlite.health import find_header_problem
from dowse.store.sqlite.inspect import inspect_index
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.signing import Signer
from dowse.store.types import ENCODER_SETTING_KEY

# --------------------------------------------------------------------------------------------------
# Rebuilds an index: the new one is built beside the old one and swapped in, so that a kill leaves the old one intact.

_SQLITE_HEADER = b"SQLite format 3\x00"
_APPLICATION_ID_OFFSET = 68

rebuild_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class IndexRebuild:
    """Rebuild of one index. `root` is indexed if the old index does not say which roots it had."""

    settings: Settings
    index: Path
    root: Path
    now: Callable[[], datetime] = datetime.now

    def run(self, progress: ProgressCallback, *, drop_missing: bool = False, keep_old: bool = False) -> SyncReport:
        """Index every root of the old index from scratch, under the write lock.

        `keep_old` sets the old index aside instead of deleting it.
        """
        self.check_replaceable()
        reject_symlinks(self.index)
        new_index = self.index.with_name(f"{self.index.name}.new")
        with write_lock(self.index, self.settings.lock_timeout_s):
            known = self._load_known_roots()
            roots = self._choose_roots(known, drop_missing)
            try:
                remove_index(new_index)
                with Engine(self._settings_with_encoder(), new_index, create=True) as engine:
                    report = engine.index(roots, vectors=False, progress=progress)
                    report.notes += engine.histories.index_history(progress=progress).notes
                    report.add(engine.indexing.encode(progress=progress))
                    engine.indexing.checkpoint()
                # Without a trusted root, another program may have made the file: do not delete it.
                self._swap(new_index, keep_old or not known)
            finally:
                remove_index(new_index)
        return report

    def _settings_with_encoder(self) -> Settings:
        """Return the settings with the encoder chosen for the old index, unless the user names another."""
        stored_encoder = inspect_index(self.index, Signer.of(DataPaths.of(self.settings))).metadata.get(
            ENCODER_SETTING_KEY, ""
        )
        use_stored = self.settings.encoder == AUTO_ENCODER and is_local_encoder(stored_encoder)
        return replace(self.settings, encoder=stored_encoder) if use_stored else self.settings

    def check_replaceable(self, *, any_sqlite: bool = False) -> None:
        """Raise BadInput unless the file is a Dowse index, is empty, or lies at the standard path of the root."""
        index = self.index
        if not index.exists() or index == DataPaths.of(self.settings).index_path(self.root):
            return
        try:
            replaceable = is_index(index, any_sqlite=any_sqlite)
        except OSError as error:
            raise BadInput(f"cannot use {index} as an index: {error.strerror}; choose another path") from error
        if not replaceable:
            raise BadInput(f"{index} is not a Dowse index, so it is not replaced; choose another path or delete it")

    def _swap(self, new_index: Path, keep_old: bool) -> None:
        """Replace the old index. It is checkpointed first, so that a kill in between leaves it complete without its
        log."""
        if keep_old:
            self._set_aside()
        else:
            # A damaged index has nothing worth keeping.
            with suppress(DowseError), Engine(self.settings, self.index, create=False) as old:
                old.indexing.checkpoint()
        for suffix in (*LOG_SUFFIXES, *SIDECAR_SUFFIXES):
            _sidecar_path(self.index, suffix).unlink(missing_ok=True)
        new_index.replace(self.index)
        for suffix in SIDECAR_SUFFIXES:
            # Each cache names its index, so a leftover cache is detected and rebuilt if a kill happens here.
            with suppress(FileNotFoundError):
                _sidecar_path(new_index, suffix).replace(_sidecar_path(self.index, suffix))

    def _set_aside(self) -> None:
        """Give the old index a second name. The file stays in place until the new one replaces it."""
        if not self.index.exists() or not self.index.stat().st_size:
            return
        for older in self.index.parent.glob(f"{escape(self.index.name + QUARANTINE_SUFFIX)}*"):
            older.unlink(missing_ok=True)
        aside = _sidecar_path(self.index, f"{QUARANTINE_SUFFIX}{self.now():%Y%m%dT%H%M%S}")
        os.link(self.index, aside)
        for suffix in LOG_SUFFIXES:
            with suppress(FileNotFoundError):
                _sidecar_path(self.index, suffix).replace(_sidecar_path(aside, suffix))
        rebuild_log.info("replaced the index %s; the old one is kept as %s", self.index, aside)

    def _load_known_roots(self) -> list[Path]:
        """Return the roots of the old index that can be read and trusted.

        Histories and memories are found again from their roots. An index at the standard path of a root only yields
        roots below it.
        """
        info = inspect_index(self.index, Signer.of(DataPaths.of(self.settings)))
        known = [Path(it.root) for it in info.collections if it.source == FILES]
        home_root = DataPaths.of(self.settings).root_of_index(self.index, self.root)
        return [it for it in known if home_root is None or it.is_relative_to(home_root)]

    def _choose_roots(self, known: list[Path], drop_missing: bool) -> list[Path]:
        """Return the known roots that exist, else the given root."""
        missing = [str(it) for it in known if not is_intact_root(it)]
        if missing and not drop_missing:
            raise BadInput(
                f"{', '.join(missing)} is missing; make it available, or pass --drop-missing to leave it out"
            )
        return [it for it in known if is_intact_root(it)] or [self.root]


def is_index(file: Path, *, any_sqlite: bool = False) -> bool:
    """Return whether the file is, or was, a Dowse index as far as its first bytes tell, or is empty."""
    header = read_first_bytes(file, 100)
    ours = header[_APPLICATION_ID_OFFSET : _APPLICATION_ID_OFFSET + 4] == APPLICATION_ID.to_bytes(4)
    return not header or (header.startswith(_SQLITE_HEADER) and (ours or any_sqlite)) or _has_lock_file(file)


def remove_index(index: Path) -> bool:
    """Delete an index and its sidecar files; return whether it existed."""
    existed = index.exists()
    for suffix in ("", *INDEX_FILE_SUFFIXES):
        _sidecar_path(index, suffix).unlink(missing_ok=True)
    return existed


def _sidecar_path(index: Path, suffix: str) -> Path:
    return index.with_name(index.name + suffix)


def _has_lock_file(index: Path) -> bool:
    """Recognize an index without its first page: only Dowse puts a lock file of this name beside it."""
    return _sidecar_path(index, ".lock").exists()


def repair_or_rebuild(settings: Settings, index: Path, root: Path, progress: ProgressCallback) -> tuple[str, ...]:
    """Find and repair damage; return a sentence for each repair.

    Searches keep working meanwhile, because a new index is built beside the old one. `root` is indexed if the old index
    cannot be read for its roots.
    """
    reasons = find_header_problem(index)
    try:
        if reasons:
            raise IndexDamaged(f"{index} {reasons}")
        with Engine(settings, index, create=True) as engine:
            found = {
                it.part: it.text for it in engine.health.check(deep=True, progress=progress) if it.state == "problem"
            }
            found |= engine.health.damaged_parts()
            if not found:
                # The damaged part may have been rewritten since, together with its file. Without this the damage mark
                # would stay forever.
                engine.health.clear_damage_marks(progress=progress)
                return ()
            if "catalog" not in found:
                mended = engine.health.repair(found, progress=progress)
                if not mended.still_damaged:
                    return mended.done
                found = dict(mended.still_damaged)
            reasons = "; ".join(found.values())
    except (IndexDamaged, IndexForeign) as error:
        reasons = str(error.__cause__ or error).partition(";")[0]  # drop the message's own next step: rebuilding is it
    IndexRebuild(settings, index, root).run(progress, drop_missing=True, keep_old=True)
    return (f"the index was damaged ({reasons}) and was rebuilt from the files",)
