"""What of a bare repository's directory is somebody's: nothing but the work trees that lie in it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from dowse.ingest.sources.doors import looked_up
from dowse.ingest.sources.git.confine import small_text
from dowse.ingest.sources.git.repository import is_bare

_GIT = ".git"


class BareGround:
    """Which directories of a root belong to a bare repository; each is looked at once. The root is the empty path."""

    __slots__ = ("_known", "_root")

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, str | None] = {"": root if is_bare(root) else None}

    def around(self, directory: str) -> str | None:
        """Where the bare repository is that the directory belongs to; None of others, as of work trees in one."""
        return looked_up(directory, self._known, self._look_at)

    def has_wanted(self, directory: str) -> bool:
        """Whether files in it may be wanted, as far as bare repositories go: for now, work trees come and go."""
        bare = self.around(directory)
        return bare is None or any(it.startswith(f"{self._absolute(directory)}/") for it in work_trees_in(bare))

    def reaches(self, directory: str) -> bool:
        """The same, or it is a bare repository itself, which is worth a look whatever is in it."""
        return self.around(directory) == self._absolute(directory) or self.has_wanted(directory)

    def _look_at(self, directory: str) -> str | None:
        place = self._absolute(directory)
        around = self._known[directory.rpartition("/")[0]]
        if around is None:
            return place if is_bare(place) else None
        return None if _has_git(place) else around

    def _absolute(self, directory: str) -> str:
        return f"{self._root}/{directory}" if directory else self._root


def ways_in(bare: str) -> set[str]:
    """The names in a bare repository of directories that are work trees or lead to some."""
    return {it.removeprefix(f"{bare}/").partition("/")[0] for it in work_trees_in(bare)}


def work_trees_in(bare: str) -> list[str]:
    """The tops of those right in its directory, and of those deeper down that git has noted.

    Also of one that names no repository any more, because all of it was moved: its files are somebody's all the same.
    """
    return [it for it in dict.fromkeys((*_folders(bare), *_noted(bare))) if _has_git(it)]


def _noted(bare: str) -> Iterator[str]:
    for folder in _folders(f"{bare}/worktrees"):
        named = small_text(Path(folder, "gitdir")).rstrip("\r\n")
        top, _, name = os.path.normpath(f"{folder}/{named}" if named[:1] != "/" else named).rpartition("/")
        if name == _GIT and top.startswith(f"{bare}/"):
            yield top


def _has_git(place: str) -> bool:
    return os.path.lexists(f"{place}/{_GIT}")


def _folders(place: str) -> list[str]:
    try:
        with os.scandir(place) as scan:
            return sorted(entry.path for entry in scan if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
