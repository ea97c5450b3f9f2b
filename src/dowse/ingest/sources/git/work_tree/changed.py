"""Which files of a work tree `git status` would tell, without running anything the repository configures.

`git status` would run filters to compare files; so names, objects and what git has noted of its files come from
plumbing, and files are compared here.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from dowse.ingest.sources.doors import looked_up
from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.repository import git_directory_of, is_work_tree, work_tree_above
from dowse.ingest.sources.git.work_tree.content import Likeness, blob_name, likeness
from dowse.ingest.sources.git.work_tree.conversions import PLAIN, Conversion, conversions
from dowse.ingest.sources.git.work_tree.entries import (
    LINK,
    SUBMODULE,
    Entry,
    Noted,
    Staged,
    committed_entries,
    habits,
    staged_entries,
)
from dowse.ingest.sources.git.work_tree.listing import list_work_tree

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
    top = work_tree_above(place)
    if top is None:
        return Changed(problem=f"{place} is in no git work tree")
    noted_ns = _written_ns(top)
    committed, staged = committed_entries(top, place), staged_entries(top, place)
    if isinstance(committed, str) or isinstance(staged, str):
        why = committed if isinstance(committed, str) else staged
        return Changed(problem=f"git could not list {place}: {why}")
    listed = list_work_tree(top, place)
    if listed is None:
        return Changed(problem=f"git could not list {place}")
    found = {
        *(name for name in listed.names if name not in staged),
        *_staged_changes(committed, staged),
        *_WorkTree(top, place, noted_ns).differing(staged),
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


class _Doubt(Enum):
    """Whether what lies there is what the index has, as far as the file alone tells."""

    NONE = auto()
    IF_LINE_ENDS_ARE_CONVERTED = auto()
    IF_A_FILTER_MADE_IT = auto()
    HOPELESS = auto()


class _WorkTree:
    """The files below a directory; none is reached through a link, as git reaches none."""

    __slots__ = ("_directory", "_habits", "_known", "_noted_ns", "_top")

    def __init__(self, top: str, directory: str, noted_ns: int) -> None:
        self._top = top
        self._directory = directory
        self._habits = habits(top)
        self._noted_ns = noted_ns
        self._known = {"": True}

    def differing(self, staged: Mapping[str, Staged]) -> Iterator[str]:
        """The paths at which something else lies than the index has."""
        judged = ((path, self._doubt(path, it)) for path, it in staged.items() if it.is_expected)
        doubts = {path: it for path, it in judged if it is not _Doubt.NONE}
        asked = [path for path, it in doubts.items() if it is not _Doubt.HOPELESS]
        known = conversions(self._top, self._directory, asked)
        return (path for path, it in doubts.items() if not _is_dispelled(it, known.get(path, PLAIN)))

    def _doubt(self, path: str, staged: Staged) -> _Doubt:
        status, entry = self._status(path), staged.entry
        if status is None or self._mode(status, entry) != entry.mode:
            return _Doubt.HOPELESS
        if entry.mode == SUBMODULE:
            return _certain(_is_at(f"{self._directory}/{path}", entry.name))
        noted = staged.noted if staged.noted is not None and staged.noted.size else None
        if noted is not None and noted.size != status.st_size & _WORD:
            return _Doubt.HOPELESS
        is_as_noted = noted is not None and _as_noted(status) == noted
        if noted is not None and is_as_noted and noted.written_ns + _RACY_NS < self._noted_ns:
            return _Doubt.NONE
        if stat.S_ISLNK(status.st_mode):
            return _certain(_leads(f"{self._directory}/{path}", entry.name))
        return _doubt_about(likeness(self._directory, path, entry.name), noted, is_as_noted)

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

    def _status(self, path: str) -> os.stat_result | None:
        """None where nothing is."""
        return self._entry(path) if looked_up(path.rpartition("/")[0], self._known, self._is_plain) else None

    def _is_plain(self, folder: str) -> bool:
        status = self._entry(folder) if self._known[folder.rpartition("/")[0]] else None
        return status is not None and stat.S_ISDIR(status.st_mode)

    def _entry(self, path: str) -> os.stat_result | None:
        try:
            return os.lstat(f"{self._directory}/{path}")
        except OSError:
            return None


def _certain(is_same: bool) -> _Doubt:
    return _Doubt.NONE if is_same else _Doubt.HOPELESS


def _as_noted(status: os.stat_result) -> Noted:
    return Noted(
        status.st_ctime_ns,
        status.st_mtime_ns,
        status.st_ino & _WORD,
        status.st_uid & _WORD,
        status.st_gid & _WORD,
        status.st_size & _WORD,
    )


def _doubt_about(found: Likeness, noted: Noted | None, is_as_noted: bool) -> _Doubt:
    if found is Likeness.SAME:
        return _Doubt.NONE
    if found is Likeness.OTHER_LINE_ENDS:
        # As long as git noted it, it has the line ends that it had then; git notes no size where it is not sure.
        return _Doubt.IF_LINE_ENDS_ARE_CONVERTED if noted is None else _Doubt.NONE
    return _Doubt.IF_A_FILTER_MADE_IT if is_as_noted else _Doubt.HOPELESS


def _is_dispelled(doubt: _Doubt, conversion: Conversion) -> bool:
    if doubt is _Doubt.IF_A_FILTER_MADE_IT:
        return conversion.of_content
    return doubt is _Doubt.IF_LINE_ENDS_ARE_CONVERTED and conversion.of_line_ends


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
