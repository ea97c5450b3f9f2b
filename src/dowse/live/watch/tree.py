"""Follows the directories of one place through inotify: what their events mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dowse.ingest.sources.git.bare import BareGround
from dowse.ingest.sources.git.repository import HEAD, work_tree_above
from dowse.live.watch.base import Place, Sight
from dowse.live.watch.git_signs import Signs
from dowse.live.watch.inotify import (
    ATTRIB,
    CREATE,
    DELETE,
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
from dowse.live.watch.names import GIT_ENTRY, is_rules
from dowse.live.watch.watches import Watches
from dowse.text.surrogates import is_text

_APPEARED = CREATE | MOVED_TO
_CAME_OR_WENT = _APPEARED | DELETE | MOVED_FROM
_ROOT_LEFT = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED


class RootGone(Exception):
    """There is no directory at the root, or none that may be read."""


class Tree:
    """One queue of events for one place; owns the notifier."""

    def __init__(self, place: Place, notifier: Notifier) -> None:
        self._place = place
        self._notifier = notifier
        self._watches = Watches(place, notifier)
        self._is_over = False
        self.received = 0
        try:
            # Looked at before it is watched: if it is replaced in between, the two differ, and that will be noticed.
            self._identity = _identity(place.root)
            self._enter_root()
        except BaseException:
            self.close()
            raise

    @property
    def directories(self) -> int:
        return len(self._watches)

    def fileno(self) -> int:
        return self._notifier.fileno()

    def is_there(self) -> bool:
        """Whether the root still is the directory that is watched; moving one above it tells no one."""
        return not self._is_over and _identity(self._place.root) == self._identity

    def look(self) -> list[Sight]:
        """What was seen since the last look, each thing once."""
        seen: dict[Sight, None] = {}
        try:
            for event in self._notifier.read():
                self.received += 1
                for sight in self._sights(event, seen):
                    seen[sight] = None
        except CanNotWatch:
            seen[Sight("lost")] = None
        return list(seen)

    def close(self) -> None:
        self._notifier.close()

    def _enter_root(self) -> None:
        for _ in self._watches.enter(""):
            pass  # everything is compared anyway
        if not self._watches:
            raise RootGone
        root = str(self._place.root)
        above = work_tree_above(root)
        if above is not None and above != root:
            self._watches.add_signs(above)

    def _sights(self, event: Event, seen: Iterable[Sight]) -> Iterator[Sight]:
        if event.mask & OVERFLOW:
            yield Sight("lost")
        for signs in self._watches.signs(event.watch):
            yield from _told(signs, event)
        directory = self._watches.directory(event.watch)
        if directory is not None and event.name:
            path = f"{directory}/{event.name}" if directory else event.name
            yield from self._of_entry(path, event, seen)
        elif directory is not None:
            yield from self._of_itself(directory, event.mask)
        if event.mask & IGNORED:
            self._watches.forget(event.watch)

    def _of_itself(self, directory: str, mask: int) -> Iterator[Sight]:
        """Only the root has no watched directory above it that would tell the same."""
        if not directory and mask & _ROOT_LEFT:
            self._is_over = True  # also when another comes in its place, which may even get its number
        elif not directory and mask & ATTRIB:
            yield from (Sight("lost") for _ in self._watches.rights_changed(directory))
        elif mask & UNMOUNT:
            yield Sight("tree", directory)

    def _of_entry(self, path: str, event: Event, seen: Iterable[Sight]) -> Iterator[Sight]:
        if event.name == HEAD and event.mask & _CAME_OR_WENT:
            yield Sight("rules")  # perhaps a bare repository comes or goes with its head
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
            yield from self._watches.rights_changed(path)
            return
        if mask & MOVED_FROM:
            self._watches.leave(path)
        if self._place.wanted_dir(path):
            if mask & _APPEARED:
                yield from self._watches.enter(path)
            yield Sight("tree", path)
        elif mask & _APPEARED and self._is_bare_ground(path.rpartition("/")[0]):
            yield Sight("rules")  # it may become a work tree in the next moment

    def _is_bare_ground(self, directory: str) -> bool:
        return BareGround(str(self._place.root)).around(directory) is not None


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
