"""The indexes in the data directory: roots, size, age and users of each, and how to delete one.

A caller names one of the indexes found here. User input never becomes a path, no link is followed, and only files that
belong to an index are deleted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import BadInput
from dowse.live.heal import is_index
from dowse.live.leader import leader_of
from dowse.model import FILES
from dowse.paths import INDEX_FILE_NAME, DataPaths, is_directory
from dowse.server.sharing.client import socket_owner
from dowse.server.sharing.hello import DaemonUnavailable, socket_paths, try_lock
from dowse.store.sqlite.derived import index_files
from dowse.store.sqlite.inspect import inspect_index
from dowse.store.sqlite.locks import LockTimeout, busy_message, file_lock, write_lock
from dowse.store.sqlite.signing import Signer


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index in the data directory, named after its folder. Without `roots` it is unreadable: damaged, or from a
    newer version."""

    name: str
    index: Path
    roots: tuple[Path, ...]
    size: int
    changed_at: float

    @property
    def missing_roots(self) -> tuple[Path, ...]:
        return tuple(it for it in self.roots if not is_directory(it))

    @property
    def is_abandoned(self) -> bool:
        return bool(self.roots) and len(self.missing_roots) == len(self.roots)


def stored_indexes(places: DataPaths) -> list[StoredIndex]:
    """List indexes by name; only directories that contain an index of this user count."""
    found: list[StoredIndex] = []
    signer = Signer.of(places)
    with suppress(OSError), os.scandir(places.indexes) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    found.append(_inspect_stored_index(Path(entry.path), signer))
    return sorted(found, key=lambda it: it.name)


def _inspect_stored_index(folder: Path, signer: Signer) -> StoredIndex:
    index = folder / INDEX_FILE_NAME
    status = index.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or not is_index(index):
        raise OSError("no index of this user")
    files = {it.name: it.lstat() for it in index_files(index)}  # before looking into it, which touches its log
    log = files.get(f"{INDEX_FILE_NAME}-wal", status)
    changed_at = max(status.st_mtime, log.st_mtime if log.st_size else 0.0)
    roots = tuple(Path(it.root) for it in inspect_index(index, signer).collections if it.source == FILES)
    return StoredIndex(folder.name, index, roots, sum(it.st_size for it in files.values()), changed_at)


def find_stored_index(indexes: Sequence[StoredIndex], target: str, cwd: Path) -> StoredIndex:
    """Find the index by its name, its root or its location; raise if none or several match."""
    place = Path(os.path.abspath(cwd / Path(target).expanduser()))  # noqa: PTH100 - a root that is gone has no links
    matches = (
        [it for it in indexes if target == it.name],
        [it for it in indexes if place in (it.index, it.index.parent)],
        [it for it in indexes if it.roots == (place,)],
        [it for it in indexes if len(it.roots) == 1 and target == it.roots[0].name],
    )
    for candidates in matches:
        if len(candidates) > 1:
            raise BadInput(
                f"{target[:200]!r} is ambiguous: {', '.join(it.name for it in candidates)}; pass one of these"
            )
        if candidates:
            return candidates[0]
    raise BadInput(f"no index with name or root {target[:200]!r}; `dowse indexes` lists all")


def describe_index_user(stored: StoredIndex, places: DataPaths) -> str:
    """Name the process that serves the index or writes to it, for a sentence; empty if there is none."""
    if leader := leader_of(stored.index):
        return f"process {leader} serves {stored.name}"
    with suppress(OSError, DaemonUnavailable):
        place = socket_paths(stored.index, places.data_dir, Path(os.environ.get("TMPDIR") or "/tmp").absolute())
        if place.lock.exists():
            lock = try_lock(place.lock)
            if lock is None:
                return f"process {socket_owner(place)} serves {stored.name}"
            os.close(lock)
    return ""


def delete_stored_index(stored: StoredIndex, places: DataPaths) -> None:
    """Delete the files of the index while nobody else uses it; raise BadInput or IndexBusy that names the user."""
    if user := describe_index_user(stored, places):
        raise BadInput(f"{user}; stop it, then delete the index")
    with write_lock(stored.index, 0.0, "dowse indexes delete"):
        try:
            with file_lock(Path(f"{stored.index}.encoding"), 0.0):
                _delete_index_files(stored)
        except LockTimeout:
            raise BadInput(f"{busy_message(stored.index)}; then delete the index") from None


def _delete_index_files(stored: StoredIndex) -> None:
    """Delete relative to an open directory, so that a link put in its place meanwhile has no effect."""
    folder = os.open(stored.index.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Delete the index first: without it, the remains of an interrupted deletion are only leftovers.
        names = sorted((it.name for it in index_files(stored.index)), key=lambda it: it != INDEX_FILE_NAME)
        for name in names:
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    with suppress(OSError):  # the directory also contains foreign files
        stored.index.parent.rmdir()
