"""A new index in the place of an old one: built beside it, then swapped in, so that a kill leaves the old one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dowse.errors import BadInput, DowseError
from dowse.ingest.embed import Progress
from dowse.model import SyncReport
from dowse.places import Places
from dowse.shells.workspace import Workspace
from dowse.store.sqlite.database import APPLICATION_ID
from dowse.store.sqlite.locks import write_lock

_SQLITE_HEADER = b"SQLite format 3\x00"
_APPLICATION_ID_AT = 68
_SIDE_FILES = ("-wal", "-shm")
_CACHES = ("-vectors", "-lines")
_LOCKS = (".lock", ".lock.next", ".lock.turn", ".encoding")


def rebuild(workspace: Workspace, progress: Progress, *, drop_missing: bool = False) -> SyncReport:
    """Index every root the old index knew from nothing; nobody else writes to it meanwhile."""
    check_replaceable(workspace)
    fresh = replace(workspace, index=workspace.index.with_name(workspace.index.name + ".new"))
    with write_lock(workspace.index, workspace.settings.lock_timeout_s):
        roots = _roots(workspace, drop_missing)
        remove(fresh.index)
        with fresh.open(create=True) as engine:
            report = engine.index(roots, progress=progress)
            engine.settle()
        _swap(fresh.index, workspace)
    return report


def remove(index: Path) -> bool:
    """Delete an index and what lies beside it; whether there was one."""
    existed = index.exists()
    caches = (f"{cache}{part}" for cache in _CACHES for part in ("", ".new", ".lock"))
    for suffix in ("", *_SIDE_FILES, *_LOCKS, *caches):
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    return existed


def check_replaceable(workspace: Workspace, *, any_sqlite: bool = False) -> None:
    """Only an index of ours is ever replaced, whatever lies in its standard place, or an empty file."""
    index = workspace.index
    if not index.exists() or index == Places.of(workspace.settings).index_of(workspace.root):
        return
    try:
        with open(index, "rb") as file:
            header = file.read(100)
    except OSError as error:
        raise BadInput(f"can not use {index} as an index: {error.strerror}; name another") from error
    ours = header[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4] == APPLICATION_ID.to_bytes(4)
    if header and not (header.startswith(_SQLITE_HEADER) and (ours or any_sqlite)):
        raise BadInput(f"{index} is no index of Dowse and is not replaced; name another, or remove it yourself")


def _swap(fresh: Path, workspace: Workspace) -> None:
    """The old index keeps its log until it holds everything by itself; only then the new one takes its place."""
    try:
        with workspace.open(create=False) as old:
            old.settle()
    except DowseError:
        pass  # damaged: there is nothing of it to keep
    for suffix in (*_SIDE_FILES, *_CACHES):
        workspace.index.with_name(workspace.index.name + suffix).unlink(missing_ok=True)
    fresh.replace(workspace.index)
    for suffix in _CACHES:
        # Each says which index it is of: one that is left behind is made anew, whenever this stops.
        with suppress(FileNotFoundError):
            fresh.with_name(fresh.name + suffix).replace(workspace.index.with_name(workspace.index.name + suffix))
    remove(fresh)


def _roots(workspace: Workspace, drop_missing: bool) -> list[Path]:
    """The roots an old index knew, if it can still be read; else the workspace's own."""
    try:
        with workspace.open(create=False) as engine:
            known = [Path(it.root) for it in engine.collections()]
    except DowseError:
        known = []  # damaged or not there: that is why it is being made anew
    missing = [str(it) for it in known if not it.is_dir()]
    if missing and not drop_missing:
        raise BadInput(
            f"{', '.join(missing)} is not there now; make it available, or pass --drop-missing to leave it out"
        )
    return [it for it in known if it.is_dir()] or [workspace.root]
