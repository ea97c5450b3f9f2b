"""The indexes in the data directory: what each is of, how large and old it is, who uses it; and deleting one.

A caller names one of those that were found here. No path is ever made of what was typed, no link is followed, and only
files that belong to an index are deleted.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import BadInput
from dowse.live.lead import leader_of
from dowse.live.rebuilding import is_index
from dowse.model import FILES
from dowse.places import INDEX_NAME, Places, is_directory
from dowse.shells.sharing.listening import holder
from dowse.shells.sharing.place import Unshared, meeting_place, try_lock
from dowse.store.sqlite.beside import belongings
from dowse.store.sqlite.explain import busy_sentence
from dowse.store.sqlite.locks import TooLong, locked, write_lock
from dowse.store.sqlite.peek import peek
from dowse.store.sqlite.signing import Signer


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """`name` is that of its directory. Without `roots` it can not be read: it is damaged, or of a newer version."""

    name: str
    index: Path
    roots: tuple[Path, ...]
    size: int
    changed_at: float

    @property
    def missing(self) -> tuple[Path, ...]:
        return tuple(it for it in self.roots if not is_directory(it))

    @property
    def is_abandoned(self) -> bool:
        return bool(self.roots) and len(self.missing) == len(self.roots)


def stored_indexes(places: Places) -> list[StoredIndex]:
    """By name; what is no directory with an index of this user in it is none."""
    found: list[StoredIndex] = []
    signer = Signer.of(places)
    with suppress(OSError), os.scandir(places.indexes) as entries:
        for entry in entries:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    found.append(_look_at(Path(entry.path), signer))
    return sorted(found, key=lambda it: it.name)


def _look_at(folder: Path, signer: Signer) -> StoredIndex:
    index = folder / INDEX_NAME
    status = index.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or not is_index(index):
        raise OSError("no index of this user")
    files = {it.name: it.lstat() for it in belongings(index)}  # before the look into it, which touches its log
    log = files.get(f"{INDEX_NAME}-wal", status)
    changed_at = max(status.st_mtime, log.st_mtime if log.st_size else 0.0)
    roots = tuple(Path(it.root) for it in peek(index, signer).collections if it.source == FILES)
    return StoredIndex(folder.name, index, roots, sum(it.st_size for it in files.values()), changed_at)


def named(indexes: Sequence[StoredIndex], target: str, cwd: Path) -> StoredIndex:
    """The one that is meant by its name, its root or where it lies; of several, none."""
    place = Path(os.path.abspath(cwd / Path(target).expanduser()))  # noqa: PTH100 - a root that is gone has no links
    ways = (
        [it for it in indexes if target == it.name],
        [it for it in indexes if place in (it.index, it.index.parent)],
        [it for it in indexes if it.roots == (place,)],
        [it for it in indexes if len(it.roots) == 1 and target == it.roots[0].name],
    )
    for found in ways:
        if len(found) > 1:
            raise BadInput(f"{target[:200]!r} may be {', '.join(it.name for it in found)}; name one of these")
        if found:
            return found[0]
    raise BadInput(f"no index is called {target[:200]!r} or is of it; `dowse indexes` lists them")


def user_of(stored: StoredIndex, places: Places) -> str:
    """The process that serves the index or writes to it, for a sentence; empty if nobody does."""
    if leader := leader_of(stored.index):
        return f"process {leader} serves {stored.name}"
    with suppress(OSError, Unshared):
        place = meeting_place(stored.index, places.data_dir, Path(os.environ.get("TMPDIR") or "/tmp").absolute())
        if place.lock.exists():
            lock = try_lock(place.lock)
            if lock is None:
                return f"process {holder(place)} serves {stored.name}"
            os.close(lock)
    return ""


def delete(stored: StoredIndex, places: Places) -> None:
    """Delete the files of the index while nobody else uses it; raises BadInput or IndexBusy, naming who does."""
    if user := user_of(stored, places):
        raise BadInput(f"{user}; stop it, then delete the index")
    with write_lock(stored.index, 0.0, "dowse indexes delete"):
        try:
            with locked(Path(f"{stored.index}.encoding"), 0.0):
                _unlink(stored)
        except TooLong:
            raise BadInput(f"{busy_sentence(stored.index)}; then delete the index") from None


def _unlink(stored: StoredIndex) -> None:
    """Below a directory that is held open, so that a link put in its place meanwhile leads nowhere."""
    folder = os.open(stored.index.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # The index first: without it, what is left of a deletion that was cut off is nothing but leftovers.
        names = sorted((it.name for it in belongings(stored.index)), key=lambda it: it != INDEX_NAME)
        for name in names:
            with suppress(FileNotFoundError, IsADirectoryError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    with suppress(OSError):  # something that is not ours lies there, too
        stored.index.parent.rmdir()
