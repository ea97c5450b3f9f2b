"""Which files of a work tree `git status` would tell, without running anything the repository configures.

`git status` would run filters to compare files; so names, objects and what git has noted of its files come from
plumbing, and files are compared here.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dowse.ingest.sources.doors import looked_up
from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.content import blob_name, holds
from dowse.ingest.sources.git.entries import (
    LINK,
    SUBMODULE,
    Entry,
    Habits,
    Noted,
    Staged,
    committed_entries,
    habits,
    staged_entries,
)
from dowse.ingest.sources.git.listing import list_work_tree
from dowse.ingest.sources.git.repository import git_directory_of, is_work_tree, work_tree_above

_ASTRAY = frozenset({"", ".", "..", ".git"})
_WORD = 0xFFFFFFFF  # the index keeps this much of a number
_RACY_NS = 20_000_000  # a file written this shortly before the index may have been written once more


@dataclass(frozen=True, slots=True)
class Changed:
    """Paths relative to the directory, sorted: staged or not, new, changed or gone; a nested repository that is not
    tracked has a trailing slash. `committed` is what the last commit has. `problem` says why nothing could be told."""

    paths: tuple[str, ...] = ()
    committed: Mapping[str, Entry] = field(default_factory=dict)
    problem: str = ""


def changed(directory: Path) -> Changed:
    place = str(directory.resolve())
    top, git = work_tree_above(place), shutil.which("git")
    if git is None or top is None:
        return Changed(problem=f"{place} is in no git work tree" if git else "git is not installed")
    noted_ns = _written_ns(top)
    committed, staged = committed_entries(git, top, place), staged_entries(git, top, place)
    listed = list_work_tree(top, place)
    if committed is None or staged is None or listed is None:
        return Changed(problem=f"git could not list {place}")
    work_tree = _WorkTree(place, habits(git, place), noted_ns)
    found = {
        *(name for name in listed.names if name not in staged),
        *_staged_changes(committed, staged),
        *(path for path, it in staged.items() if it.is_expected and not work_tree.has(path, it)),
    }
    return Changed(tuple(sorted(found)), committed)


def _staged_changes(committed: Mapping[str, Entry], staged: Mapping[str, Staged]) -> Iterator[str]:
    yield from (path for path in committed if path not in staged)
    yield from (path for path, it in staged.items() if not it.is_merged or committed.get(path) != it.entry)


def _written_ns(top: str) -> int:
    """When git last wrote down the states of files."""
    try:
        return Path(git_directory_of(top) or "", "index").stat().st_mtime_ns
    except OSError:
        return 0


class _WorkTree:
    """The files below a directory; none is reached through a link, as git reaches none."""

    __slots__ = ("_directory", "_habits", "_known", "_noted_ns")

    def __init__(self, directory: str, habits: Habits, noted_ns: int) -> None:
        self._directory = directory
        self._habits = habits
        self._noted_ns = noted_ns
        self._known = {"": True}

    def has(self, path: str, staged: Staged) -> bool:
        """Whether what lies at the path is what the index has."""
        status, entry = self._status(path), staged.entry
        if status is None or self._mode(status, entry) != entry.mode:
            return False
        if entry.mode == SUBMODULE:
            return _is_at(f"{self._directory}/{path}", entry.name)
        if staged.noted is not None and staged.noted.size not in (0, status.st_size & _WORD):
            return False
        if staged.noted is not None and self._is_as_noted(status, staged.noted):
            return True
        if stat.S_ISLNK(status.st_mode):
            return _leads(f"{self._directory}/{path}", entry.name)
        return holds(self._directory, path, entry.name)

    def _mode(self, status: os.stat_result, entry: Entry) -> str:
        """As git would write it, where the file system tells it; else as it is written."""
        if stat.S_ISDIR(status.st_mode):
            return SUBMODULE
        if stat.S_ISLNK(status.st_mode):
            return LINK
        if not stat.S_ISREG(status.st_mode):
            return ""
        is_told = self._habits.has_links if entry.mode == LINK else self._habits.has_modes or not entry.is_file
        usual = "100755" if status.st_mode & stat.S_IXUSR else "100644"
        return usual if is_told else entry.mode

    def _is_as_noted(self, status: os.stat_result, noted: Noted) -> bool:
        """So that nobody has written to it since; git itself notes no size where it can not be sure of that."""
        now = Noted(
            status.st_ctime_ns,
            status.st_mtime_ns,
            status.st_ino & _WORD,
            status.st_uid & _WORD,
            status.st_gid & _WORD,
            status.st_size & _WORD,
        )
        return now == noted and noted.size > 0 and noted.written_ns + _RACY_NS < self._noted_ns

    def _status(self, path: str) -> os.stat_result | None:
        """None where nothing is, and of a name that leads elsewhere, which only a crafted index has."""
        folder, _, name = path.rpartition("/")
        return self._entry(path) if name not in _ASTRAY and looked_up(folder, self._known, self._is_plain) else None

    def _is_plain(self, folder: str) -> bool:
        parent, _, name = folder.rpartition("/")
        status = self._entry(folder) if self._known[parent] and name not in _ASTRAY else None
        return status is not None and stat.S_ISDIR(status.st_mode)

    def _entry(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self._directory}/{path}")
        except OSError:
            return None


def _leads(link: str, name: str) -> bool:
    try:
        target = os.fsencode(os.readlink(link))  # noqa: PTH115 (a Path would tidy it up)
    except OSError:
        return False
    return blob_name([target], len(target), name) == name


def _is_at(place: str, commit: str) -> bool:
    """Of a submodule; one that is not checked out has not moved."""
    git_directory = git_directory_of(place) if is_work_tree(place) else None
    head = "" if git_directory is None else attempt(git_directory, "rev-parse", "--verify", "--quiet", "HEAD")
    return isinstance(head, str) or head.decode("ascii", "replace").strip() == commit
