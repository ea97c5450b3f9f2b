"""Looks at everything again and again, where the system does not tell of changes."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

from dowse.ingest.sources.git.bare import ways_in, work_trees_in
from dowse.ingest.sources.git.repository import HEAD, is_bare
from dowse.live.watch.base import Place, Sight
from dowse.live.watch.git_signs import Signs, signs_of
from dowse.live.watch.names import GIT_ENTRY, is_rules
from dowse.text.surrogates import is_text

_SHARE = 10  # of the time, at most one part in so many is spent looking

_Stamp = tuple[int, int, int, int]


class Polling:
    """Compares the place with how it was at the last look. A large one is looked at less often than it might be."""

    def __init__(self, place: Place, every_s: float, clock: Callable[[], float]) -> None:
        self._place = place
        self._root = str(place.root)
        self._every_s = every_s
        self._clock = clock
        self.received = 0
        self.directories = 0
        self.next_at = 0.0
        self._known = self._timed()

    def look(self) -> list[Sight]:
        before, self._known = self._known, self._timed()
        changed = {sight for sight, _ in before.items() ^ self._known.items()}
        self.received += len(changed)
        return sorted({it if it.kind == "file" else Sight(it.kind) for it in changed})

    def close(self) -> None:
        """There is nothing to give back."""

    def _timed(self) -> dict[Sight, _Stamp]:
        began = self._clock()
        found = dict(self._walk())
        self.next_at = self._clock() + max(self._every_s, _SHARE * (self._clock() - began))
        return found

    def _walk(self) -> Iterator[tuple[Sight, _Stamp]]:
        """Everything that would be told if it changed, with what shows that it did."""
        self.directories = 0
        waiting = [""]
        while waiting:
            directory = waiting.pop()
            self.directories += 1
            entries = _entries(f"{self._root}/{directory}")
            bare = f"{self._root}/{directory}".removesuffix("/")
            if any(entry.name == HEAD for entry in entries) and is_bare(bare):
                yield from _made(bare)
                ways = ways_in(bare)
                entries = [entry for entry in entries if entry.name in ways]
            for entry in entries:
                path = f"{directory}/{entry.name}" if directory else entry.name
                if entry.name == GIT_ENTRY:
                    yield from self._signs(f"{self._root}/{directory}")
                elif entry.is_dir(follow_symlinks=False):
                    if self._place.wanted_dir(path):
                        waiting.append(path)
                elif is_rules(path):
                    yield from _stamped(Sight("rules", path), entry.path)
                elif is_text(path) and self._place.wanted(path):
                    yield from _stamped(Sight("file", path), entry.path)

    def _signs(self, top: str) -> Iterator[tuple[Sight, _Stamp]]:
        for signs in signs_of(top):
            for name in _names(signs):
                kind = signs.tell(name)
                if kind is not None:
                    place = f"{signs.directory}/{name}"
                    yield from _stamped(Sight(kind, place), place)


def _entries(directory: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as scan:
            return list(scan)
    except OSError:
        return []


def _made(bare: str) -> Iterator[tuple[Sight, _Stamp]]:
    """What shows that a bare repository, or a work tree in it, has come or gone."""
    for place in (f"{bare}/{HEAD}", *(f"{it}/{GIT_ENTRY}" for it in work_trees_in(bare))):
        yield from _stamped(Sight("rules", place), place)


def _names(signs: Signs) -> list[str]:
    return [entry.name for entry in _entries(signs.directory)]


def _stamped(sight: Sight, place: str) -> Iterator[tuple[Sight, _Stamp]]:
    try:
        status = os.lstat(place)
    except OSError:
        return
    if not stat.S_ISDIR(status.st_mode):
        yield sight, (status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode)
