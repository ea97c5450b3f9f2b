"""What the last commit and the index of a work tree have at each path, as plumbing lists it: no file is looked at."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from dowse.ingest.sources.git.asking import attempt_in
from dowse.ingest.sources.git.repository import git_directory_of
from dowse.ingest.sources.git.running import MOST_LISTED_BYTES
from dowse.ingest.sources.git.work_tree.astray import leads_astray
from dowse.ingest.sources.git.work_tree.head import is_unborn

LINK: Final = "120000"
SUBMODULE: Final = "160000"
_FILE: Final = "100"
_TRUE: Final = b"true"
_NS: Final = 1_000_000_000
_MOST_NOTED_BYTES: Final = 3 * MOST_LISTED_BYTES
_COMMITTED = re.compile(rb"(\d+) \w+ ([0-9a-f]+)\t([^\0]+)\0")
# What git notes of a file stands behind its name; a version of git that tells it otherwise has noted nothing.
_STAGED = re.compile(rb"(\S) (\d+) ([0-9a-f]+) (\d)\t([^\0]+)\0((?: .*\n)*)")
_NOTED = re.compile(
    rb" +ctime: (\d+):(\d+)\n +mtime: (\d+):(\d+)\n +dev: \d+\tino: (\d+)\n"
    rb" +uid: (\d+)\tgid: (\d+)\n +size: (\d+)\t.*\n"
)


class Entry(NamedTuple):
    """As git writes both: six digits that tell a kind of file, and the name of an object."""

    mode: str
    name: str

    @property
    def is_file(self) -> bool:
        return self.mode.startswith(_FILE)


class Noted(NamedTuple):
    """The state of a file when git last knew that it is what the index has."""

    changed_ns: int
    written_ns: int
    inode: int
    user: int
    group: int
    size: int


class Staged(NamedTuple):
    """`is_expected`: not left out of the work tree, nor told to be taken as it is. `is_merged`: without conflict."""

    entry: Entry
    noted: Noted | None
    is_expected: bool
    is_merged: bool


class Habits(NamedTuple):
    """What the file system of a work tree can tell, by its configuration."""

    has_modes: bool
    has_links: bool


def committed_entries(top: str, directory: str) -> dict[str, Entry] | str:
    """Of the last commit, below the directory; none before the first one. Where git can not tell, why."""
    tree = attempt_in(top, directory, "ls-tree", "-r", "-z", "HEAD", "--", ".", most_bytes=MOST_LISTED_BYTES)
    if isinstance(tree, str):
        return {} if is_unborn(Path(git_directory_of(top) or top)) else tree
    return dict(_committed(tree))


def _committed(output: bytes) -> Iterator[tuple[str, Entry]]:
    for mode, name, path in (row.groups() for row in _COMMITTED.finditer(output)):
        called = os.fsdecode(path)
        if not leads_astray(called):
            yield called, _entry(mode, name)


def staged_entries(top: str, directory: str) -> dict[str, Staged] | str:
    """Of the index, below the directory; where git can not tell, why."""
    told = attempt_in(top, directory, "ls-files", "--cached", "-v", "-s", "--debug", "-z", most_bytes=_MOST_NOTED_BYTES)
    return told if isinstance(told, str) else dict(_staged(told))


def _staged(output: bytes) -> Iterator[tuple[str, Staged]]:
    for tag, mode, name, stage, path, noted in (row.groups() for row in _STAGED.finditer(output)):
        # A small letter: the user has told git to assume it is unchanged. S: a sparse checkout leaves it out.
        is_expected = tag.isupper() and tag != b"S"
        called = os.fsdecode(path)
        if not leads_astray(called):
            yield called, Staged(_entry(mode, name), _noted(noted), is_expected, stage == b"0")


def _entry(mode: bytes, name: bytes) -> Entry:
    return Entry(sys.intern(mode.decode()), name.decode())


def _noted(told: bytes) -> Noted | None:
    found = _NOTED.fullmatch(told)
    if found is None:
        return None
    changed_s, changed_ns, written_s, written_ns, *others = map(int, found.groups())
    return Noted(changed_s * _NS + changed_ns, written_s * _NS + written_ns, *others)


def habits(top: str) -> Habits:
    told = attempt_in(top, top, "config", "-z", "--type=bool", "--get-regexp", r"^core\.(filemode|symlinks)$")
    rows = (row.partition(b"\n") for row in (b"" if isinstance(told, str) else told).split(b"\0"))
    said = {name: value == _TRUE for name, _, value in rows}
    return Habits(said.get(b"core.filemode", True), said.get(b"core.symlinks", True))
