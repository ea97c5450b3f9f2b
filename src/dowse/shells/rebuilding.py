"""A new index in the place of an old one: built beside it, then swapped in, so that a kill leaves the old one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dowse.errors import BadInput, DowseError
from dowse.ingest.embed import Progress
from dowse.model import SyncReport
from dowse.places import Places
from dowse.shells.workspace import Workspace

_SQLITE_HEADER = b"SQLite format 3\x00"
_SIDE_FILES = ("-wal", "-shm")


def rebuild(workspace: Workspace, progress: Progress) -> SyncReport:
    """Index every root the old index knew from nothing."""
    _check_replaceable(workspace)
    roots = _roots(workspace)
    fresh = replace(workspace, index=workspace.index.with_name(workspace.index.name + ".new"))
    remove(fresh.index)
    with fresh.open(create=True) as engine:
        report = engine.index(roots, progress=progress)
        engine.settle()
    _swap(fresh.index, workspace.index)
    return report


def remove(index: Path) -> bool:
    existed = index.exists()
    for path in (index, *(index.with_name(index.name + suffix) for suffix in _SIDE_FILES)):
        path.unlink(missing_ok=True)
    return existed


def _swap(fresh: Path, index: Path) -> None:
    for suffix in _SIDE_FILES:
        index.with_name(index.name + suffix).unlink(missing_ok=True)
    fresh.replace(index)
    remove(fresh)


def _roots(workspace: Workspace) -> list[Path]:
    """The roots an old index knew, if it can still be read and they still exist; else the workspace's own."""
    known: list[Path] = []
    try:
        with workspace.open(create=False) as engine:
            known = [Path(it.root) for it in engine.collections()]
    except DowseError:
        pass  # damaged, foreign or not there: that is why it is being made anew
    return [it for it in known if it.is_dir()] or [workspace.root]


def _check_replaceable(workspace: Workspace) -> None:
    """Only what is, or was made to be, an index is ever replaced."""
    index = workspace.index
    if not index.exists() or Places.of(workspace.settings).data_dir in index.parents:
        return
    with open(index, "rb") as file:
        if file.read(len(_SQLITE_HEADER)) not in (_SQLITE_HEADER, b""):
            raise BadInput(f"{index} is no index and is not replaced; name another --index")
