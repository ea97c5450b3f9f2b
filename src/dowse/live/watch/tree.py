"""Follows the directories of one place through inotify: which are watched, and what their events mean."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from dowse.ingest.sources.repository import work_tree_above
from dowse.live.watch.base import Place, Sight
from dowse.live.watch.git_signs import Signs, signs_of
from dowse.live.watch.inotify import (
    ATTRIB,
    CREATE,
    DELETE_SELF,
    IGNORED,
    IS_DIRECTORY,
    MODIFY,
    MOVE_SELF,
    MOVED_FROM,
    MOVED_TO,
    OVERFLOW,
    UNMOUNT,
    CanNotWatch,
    Event,
    Notifier,
)
from dowse.live.watch.names import GIT_ENTRY, is_rules, is_text

_APPEARED = CREATE | MOVED_TO
_ROOT_LEFT = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED


class RootGone(Exception):
    """There is no directory at the root."""


class Tree:
    """One queue of events for one place. Directories are entered only where the place wants it, links never."""

    def __init__(self, place: Place, notifier: Notifier) -> None:
        self._place = place
        self._root = str(place.root)
        self._notifier = notifier
        self._watched: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        self._signs: dict[int, list[Signs]] = {}
        self._closed: set[str] = set()
        self._is_over = False
        self.received = 0
        self._identity = self._enter_root()

    @property
    def directories(self) -> int:
        return len(self._paths) + len(self._signs)

    def fileno(self) -> int:
        return self._notifier.fileno()

    def is_there(self) -> bool:
        """Whether the root still is the directory that is watched; moving one above it tells no one."""
        return not self._is_over and _identity(self._place.root) == self._identity

    def look(self) -> list[Sight]:
        seen: dict[Sight, None] = {}
        try:
            for event in self._notifier.read():
                self.received += 1
                for sight in self._sights(event, seen):
                    seen[sight] = None
        except CanNotWatch:
            return [*seen, Sight("lost")]
        return list(seen)

    def close(self) -> None:
        self._notifier.close()

    # --- which directories are watched --------------------------------------------------------

    def _enter_root(self) -> tuple[int, int]:
        # Looked at before it is watched: if it is replaced in between, the two differ, and that will be noticed.
        identity = _identity(self._place.root)
        try:
            if identity is None:
                raise RootGone
            for _ in self._enter(""):
                pass
            if not self._watched:
                raise RootGone
            above = work_tree_above(self._root)
            if above is not None and above != self._root:
                self._add_signs(above)
        except BaseException:
            self.close()
            raise
        return identity

    def _enter(self, top: str) -> Iterator[Sight]:
        """Watch a directory and all in it. Each is watched first and listed then, so that nothing slips between."""
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            if not self._watch(directory):
                continue
            for name, is_directory in self._entries(directory):
                path = f"{directory}/{name}" if directory else name
                if name == GIT_ENTRY:
                    self._add_signs(self._absolute(directory))
                    yield Sight("rules")
                elif is_rules(path):
                    yield Sight("rules")
                elif is_directory and self._place.wanted_dir(path):
                    waiting.append(path)

    def _watch(self, directory: str) -> bool:
        try:
            watch = self._notifier.add(self._absolute(directory), follow=not directory)
        except OSError as error:
            self._close_off(directory, error)
            return False
        known = self._paths.get(watch)
        if known is not None and known != directory:
            self._watched.pop(known, None)  # it was moved, and this is where to
        self._paths[watch] = directory
        self._watched[directory] = watch
        return True

    def _entries(self, directory: str) -> list[tuple[str, bool]]:
        try:
            with os.scandir(self._absolute(directory)) as scan:
                return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in scan]
        except OSError as error:
            self._close_off(directory, error)
            return []

    def _close_off(self, directory: str, error: OSError) -> None:
        """One that is gone again is no loss; one that may not be read is tried again when its rights change."""
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            self._closed.add(directory)

    def _add_signs(self, top: str) -> None:
        for signs in signs_of(top):
            try:
                watch = self._notifier.add(signs.directory, follow=True)
            except OSError:
                continue  # not every repository has every one of them
            if signs not in (known := self._signs.setdefault(watch, [])):
                known.append(signs)

    def _leave(self, top: str) -> None:
        """Stop watching a directory that was moved away, and all in it."""
        for directory in [it for it in self._watched if it == top or it.startswith(top + "/")]:
            watch = self._watched.pop(directory)
            if self._paths.get(watch) == directory:
                del self._paths[watch]
                self._notifier.remove(watch)
        self._closed = {it for it in self._closed if it != top and not it.startswith(top + "/")}

    def _forget(self, watch: int) -> None:
        """The system has ended this watch."""
        self._signs.pop(watch, None)
        directory = self._paths.pop(watch, None)
        if directory is not None and self._watched.get(directory) == watch:
            del self._watched[directory]

    def _absolute(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root

    # --- what events mean ---------------------------------------------------------------------

    def _sights(self, event: Event, seen: Iterable[Sight]) -> Iterator[Sight]:
        if event.mask & OVERFLOW:
            yield Sight("lost")
        for signs in self._signs.get(event.watch, ()):
            yield from _told(signs, event)
        directory = self._paths.get(event.watch)
        if directory is not None and event.name:
            path = f"{directory}/{event.name}" if directory else event.name
            yield from self._of_entry(path, event, seen)
        elif directory is not None:
            yield from self._of_itself(directory, event.mask)
        if event.mask & IGNORED:
            self._forget(event.watch)

    def _of_itself(self, directory: str, mask: int) -> Iterator[Sight]:
        """Only the root has no watched directory above it that would tell the same."""
        if not directory and mask & _ROOT_LEFT:
            self._is_over = True  # also when another comes in its place, which may even get its number
        elif not directory and mask & ATTRIB:
            yield from (Sight("lost") for _ in self._rights_changed(directory))
        elif mask & UNMOUNT:
            yield Sight("tree", directory)

    def _of_entry(self, path: str, event: Event, seen: Iterable[Sight]) -> Iterator[Sight]:
        if event.name == GIT_ENTRY:
            if not event.mask & (ATTRIB | MODIFY):
                yield Sight("rules")
        elif is_rules(path):
            yield Sight("rules")
        elif not is_text(path):
            return  # never indexed, nor anything below it
        elif event.mask & IS_DIRECTORY:
            yield from self._of_directory(path, event.mask)
        elif (sight := Sight("file", path)) in seen or self._place.wanted(path):
            yield sight

    def _of_directory(self, path: str, mask: int) -> Iterator[Sight]:
        if mask & ATTRIB:
            yield from self._rights_changed(path)
            return
        if mask & MOVED_FROM:
            self._leave(path)
        if self._place.wanted_dir(path):
            if mask & _APPEARED:
                yield from self._enter(path)
            yield Sight("tree", path)

    def _rights_changed(self, directory: str) -> Iterator[Sight]:
        """Touching a directory changes nothing in it; what may be read of it does."""
        is_open = os.access(self._absolute(directory), os.R_OK | os.X_OK)
        if not is_open and directory in self._watched:
            self._closed.add(directory)
            yield Sight("tree", directory)
        elif is_open and directory in self._closed:
            self._closed.discard(directory)
            yield from self._enter(directory)
            yield Sight("tree", directory)


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        status = root.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _told(signs: Signs, event: Event) -> Iterator[Sight]:
    kind = signs.tell(event.name) if event.name and not event.mask & MODIFY else None
    if kind is not None:
        yield Sight(kind)
