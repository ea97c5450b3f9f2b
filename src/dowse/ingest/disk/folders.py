"""The directories of a root as they were last seen: which names have come since."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Set
from dataclasses import dataclass

from dowse.ingest.disk.stamps import RACY_NS, stamp_of
from dowse.ingest.sources.git.bare import ways_in
from dowse.ingest.sources.git.repository import HEAD, is_bare
from dowse.ingest.sources.judge import Judge


@dataclass(frozen=True, slots=True)
class _Folder:
    """`time_ns` is -1 where it proves nothing, so that it is read again."""

    time_ns: int
    folders: tuple[str, ...]


class Folders:
    """A directory's time moves when a name comes or goes, so that only those whose time moved are read."""

    def __init__(self, root: str, judge: Judge, now_ns: Callable[[], int]) -> None:
        self._root = root
        self._judge = judge
        self._now_ns = now_ns
        self._seen: dict[str, _Folder] = {}

    def moved_names(self, known: Mapping[str, Set[str]], since_ns: int) -> Iterator[str | None]:
        """Of directories in which names came or went: wanted files that are there, and known ones, there or not.

        One by one; None after each directory, so that one can stop there.

        `known` are names by directory, of every directory that holds something known, however deep. A directory that
        is seen for the first time is read for names only if it changed after `since_ns`, or came with one that did.
        """
        pending = [("", since_ns)]
        while pending:
            directory, oldest_ns = pending.pop()
            moved = yield from self._visit(directory, known, oldest_ns)
            folder = self._seen.get(directory)
            for inner in folder.folders if folder else ():
                # Below a directory that was moved here, times are those of before.
                arrived = moved and inner not in known and inner not in self._seen
                pending.append((inner, 0 if arrived else since_ns))
            yield None

    def _visit(self, directory: str, known: Mapping[str, Set[str]], oldest_ns: int) -> Generator[str, None, bool]:
        """Its names, if any may have come or gone; returns whether that is so."""
        place = f"{self._root}/{directory}" if directory else self._root
        before, begun_ns = self._seen.get(directory), self._now_ns()
        stamp = stamp_of(place)
        if before and before.time_ns == stamp.time_ns:
            return False
        try:
            files, folders = _entries(place)
        except OSError:
            # What is known in it is looked at one by one; a sync tells that it can not be read.
            self._seen.pop(directory, None)
            return False
        if HEAD in files and is_bare(place):
            files, folders = [], sorted(ways_in(place))  # it may have become a repository since it was judged
        prefix = f"{directory}/" if directory else ""
        entered = tuple(prefix + name for name in folders if self._enters(prefix + name, known))
        is_settled = begun_ns - stamp.time_ns >= RACY_NS
        self._seen[directory] = _Folder(stamp.time_ns if is_settled else -1, entered)
        if not before and stamp.time_ns < oldest_ns:
            return False
        here = known.get(directory, frozenset())
        yield from (prefix + name for name in here)
        yield from (prefix + name for name in files if name not in here and self._judge.has_file(prefix + name))
        return True

    def _enters(self, directory: str, known: Mapping[str, Set[str]]) -> bool:
        """What git tracks is there although it may be ignored."""
        return directory in known or self._judge.reaches(directory)


def _entries(place: str) -> tuple[list[str], list[str]]:
    """The names of the regular files and of the directories in it, links left out."""
    files: list[str] = []
    folders: list[str] = []
    with os.scandir(place) as scan:
        for entry in scan:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
    return files, folders
