"""Which directories of a place are watched: all that are wanted, links never."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence

from dowse.ingest.sources.git.bare import ways_in
from dowse.ingest.sources.git.repository import HEAD, is_bare
from dowse.live.watch.base import Place, Sight
from dowse.live.watch.git_signs import Signs, signs_of
from dowse.live.watch.inotify import Notifier
from dowse.live.watch.names import GIT_ENTRY, is_rules


class Watches:
    """Paths are relative to the place's root, which is the empty one."""

    def __init__(self, place: Place, notifier: Notifier) -> None:
        self._place = place
        self._root = str(place.root)
        self._notifier = notifier
        self._numbers: dict[str, int] = {}
        self._paths: dict[int, str] = {}
        self._signs: dict[int, list[Signs]] = {}
        self._closed: set[str] = set()

    def __len__(self) -> int:
        return len(self._paths) + len(self._signs)

    def directory(self, watch: int) -> str | None:
        return self._paths.get(watch)

    def signs(self, watch: int) -> Sequence[Signs]:
        """Those of repositories that show in the directory of this watch."""
        return self._signs.get(watch, ())

    def enter(self, top: str) -> Iterator[Sight]:
        """Watch a directory and all in it. Each is watched first and listed then, so that nothing slips between."""
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            if not self._watch(directory):
                continue
            entries = self._entries(directory)
            if HEAD in entries and is_bare(self._absolute(directory)):
                yield Sight("rules")
                entries = dict.fromkeys(sorted(ways_in(self._absolute(directory))), True)
            for name, is_directory in entries.items():
                path = f"{directory}/{name}" if directory else name
                if name == GIT_ENTRY:
                    self.add_signs(self._absolute(directory))
                    yield Sight("rules")
                elif is_rules(path):
                    yield Sight("rules")
                elif is_directory and self._place.wanted_dir(path):
                    waiting.append(path)

    def add_signs(self, top: str) -> None:
        """Watch what tells of the repository whose work tree begins at this absolute path."""
        for signs in signs_of(top):
            try:
                watch = self._notifier.add(signs.directory, follow=True)
            except OSError:
                continue  # not every repository has every one of them
            if signs not in (known := self._signs.setdefault(watch, [])):
                known.append(signs)

    def leave(self, top: str) -> None:
        """Stop watching a directory that was moved away, and all in it."""
        for directory in [it for it in self._numbers if it == top or it.startswith(top + "/")]:
            watch = self._numbers.pop(directory)
            if self._paths.get(watch) == directory:  # and was not found elsewhere already
                del self._paths[watch]
                self._notifier.remove(watch)
        self._closed = {it for it in self._closed if it != top and not it.startswith(top + "/")}

    def forget(self, watch: int) -> None:
        """The system has ended this watch."""
        self._signs.pop(watch, None)
        directory = self._paths.pop(watch, None)
        if directory is not None and self._numbers.get(directory) == watch:
            del self._numbers[directory]

    def rights_changed(self, directory: str) -> Iterator[Sight]:
        """Touching a directory changes nothing in it; what may be read of it does."""
        is_open = os.access(self._absolute(directory), os.R_OK | os.X_OK)
        if not is_open and directory in self._numbers:
            self._closed.add(directory)
            yield Sight("tree", directory)
        elif is_open and directory in self._closed:
            self._closed.discard(directory)
            yield from self.enter(directory)
            yield Sight("tree", directory)

    def _watch(self, directory: str) -> bool:
        try:
            watch = self._notifier.add(self._absolute(directory), follow=not directory)
        except OSError as error:
            self._close_off(directory, error)
            return False
        self._paths[watch] = directory  # one known by another path was moved, and this is where to
        self._numbers[directory] = watch
        return True

    def _entries(self, directory: str) -> dict[str, bool]:
        """Its names, and whether each is of a directory."""
        try:
            with os.scandir(self._absolute(directory)) as scan:
                return {entry.name: entry.is_dir(follow_symlinks=False) for entry in scan}
        except OSError as error:
            self._close_off(directory, error)
            return {}

    def _close_off(self, directory: str, error: OSError) -> None:
        """One that is gone again is no loss; one that may not be read is tried again when its rights change."""
        if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            self._closed.add(directory)

    def _absolute(self, path: str) -> str:
        return f"{self._root}/{path}" if path else self._root
