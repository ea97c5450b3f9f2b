"""Confines a repository to its own directory: whoever wrote the files below a root must not be able to name another
repository of this machine whose history is then indexed.

A git directory, its object store and its refs may lead out of the repository only where the other side proves that it
belongs to this work tree, or where the user named the place. Hard links cannot be told from files.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from dowse.ingest.sources.git.loose import entries
from dowse.text.surrogates import spelt_out

GIT: Final = ".git"
OBJECTS: Final = "objects"
_COMMON: Final = "commondir"
_MAX_CHARS: Final = 4096 + 16  # the longest path and what stands before it
_MAX_CONFIG_CHARS: Final = 1_000_000
_MAX_NAMES_BYTES: Final = 100_000
_UNREADABLE_NAME: Final = '"'  # is never taken for a place inside of the repository
_MAX_SHOWN_CHARS: Final = 200
# Files that hold or name commits; others, such as hooks and lists of ignored files, may be links.
_FILES: Final = ("HEAD", "packed-refs", "shallow", _COMMON, "gitdir", "index", "info/grafts")
_FOLDERS: Final = (OBJECTS, "refs", "reftable")
_SHARED_INDEX: Final = "sharedindex."
_CORE_WORK_TREE: Final = re.compile(r"^\s*worktree\s*=\s*(.*?)\s*$", re.IGNORECASE)
_SECTION: Final = re.compile(r"^\s*\[\s*([^\]]*?)\s*\]")
_REF_STORE_ELSEWHERE: Final = re.compile(r"^\s*refstorage\s*=.*://", re.IGNORECASE | re.MULTILINE)

_named: set[str] = set()


def allow_git_directories(places: Iterable[str]) -> None:
    """Let repositories of this process use what lies in these directories, and in no others. Only a flag or a variable
    names them, so all engines of a process have the same."""
    _named.clear()
    _named.update(os.path.realpath(Path(it).expanduser()) for it in places if it)


def find_git_directory(directory: str) -> tuple[Path | None, str]:
    """Return where `.git` of this directory leads, if anywhere, and why that may not be used, if so."""
    entry = Path(directory, GIT)
    try:
        if stat.S_ISDIR(entry.lstat().st_mode):
            return entry, ""
        target: Path | None = entry if entry.is_dir() else _named_by(entry)
    except OSError:
        return None, ""
    if target is None:
        return None, ""
    place = os.path.realpath(target)
    is_own = _is_inside(place, os.path.realpath(directory)) or _is_named(place) or _points_back(place, directory)
    return target, "" if is_own else _refusal(entry, place)


def find_common_directory(git_directory: Path) -> tuple[Path, str]:
    """Return the directory that the work trees of a repository share, and why another that is named may not be it."""
    name = _text_to_git(git_directory / _COMMON)
    if not name:
        return git_directory, ""
    own, common = os.path.realpath(git_directory), os.path.realpath(git_directory / name.rstrip("\r\n"))
    if common in (own, _repository_of(own)) or _is_named(common):
        return git_directory / name.rstrip("\r\n"), ""
    return git_directory, _refusal(git_directory / _COMMON, common)


def find_escape(git_directory: str) -> str:
    """Return why git must not be run here: what of the repository leads out of it, and where to; empty if nothing.

    A place that the user named is vouched for, with all that it uses itself.
    """
    common, refusal = find_common_directory(Path(git_directory))
    if refusal:
        return refusal
    homes = tuple(dict.fromkeys((os.path.realpath(git_directory), os.path.realpath(common))))
    for home in homes:
        for link, target in _links_in(home):
            if not any(_is_inside(target, it) for it in homes) and not _is_named(target):
                return _refusal(link, target)
        if _REF_STORE_ELSEWHERE.search(small_text(Path(home, "config"), most_chars=_MAX_CONFIG_CHARS)):
            return f"{_shown(home)}/config names another place for refs; remove extensions.refStorage from it"
    return _escape_by_alternates(f"{homes[-1]}/{OBJECTS}")


def find_foreign_owner(place: str, root: str) -> str:
    """Return why a repository around a root does not count: like git, Dowse trusts none that another user made."""
    git_directory, _ = find_git_directory(place)
    if git_directory is None or place == root or not _is_inside(root, place) or _is_named(os.path.realpath(place)):
        return ""
    if {os.lstat(f"{place}/{GIT}").st_uid, git_directory.stat().st_uid} == {os.geteuid()}:
        return ""
    return f"{_shown(place)}/{GIT} belongs to another user; to allow that, name {_shown(place)} with --git-directories"


def small_text(file: Path, errors: str = "surrogateescape", most_chars: int = _MAX_CHARS) -> str:
    """What git writes into a file to name something; empty if that is not what is there."""
    try:
        # A pipe in its place would never be read to its end.
        if not file.is_file():
            return ""
        with open(file, encoding="utf-8", errors=errors) as opened:
            text = opened.read(most_chars)
    except OSError:
        return ""
    return "" if "\0" in text else text


def _named_by(file: Path) -> Path | None:
    prefix, _, target = small_text(file).partition(": ")
    return Path(file.parent, target.rstrip("\r\n")) if prefix == "gitdir" and target else None


def _points_back(git_directory: str, directory: str) -> bool:
    """Whether the repository there says that its work tree is this directory. Only its owner can write that: git does
    for linked work trees and for submodules."""
    top = os.path.realpath(directory)
    if repository := _repository_of(git_directory):
        noted = small_text(Path(git_directory, "gitdir")).rstrip("\r\n")
        entry = Path(git_directory, noted)
        is_listed = entry.name == GIT and os.path.realpath(entry.parent) == top
        common = small_text(Path(git_directory, _COMMON)).rstrip("\r\n")
        return is_listed and os.path.realpath(Path(git_directory, common)) == repository
    configured = (_configured_work_tree(Path(git_directory, name)) for name in ("config.worktree", "config"))
    return any(os.path.realpath(Path(git_directory, it)) == top for it in configured if it)


def _repository_of(git_directory: str) -> str:
    """The common directory that a linked work tree's own one lies in, by its path; empty of all others."""
    folder, _, name = git_directory.rpartition("/worktrees/")
    return folder if name and "/" not in name else ""


def _configured_work_tree(config: Path) -> str:
    section, value = "", ""
    for line in small_text(config, most_chars=_MAX_CONFIG_CHARS).splitlines():
        if found := _SECTION.match(line):
            section = found[1].lower()
        elif section == "core" and (found := _CORE_WORK_TREE.match(line)):
            value = found[1].strip('"')
    return value


class _CleanFolder(NamedTuple):
    """A folder without links: its state when it was read, and the folders in it."""

    inode: int
    changed_ns: int
    folders: tuple[str, ...]


# To look into every folder of objects before each command would take longer than many a command.
_clean: dict[str, _CleanFolder] = {}
_MAX_CLEAN: Final = 50_000
_SETTLED_NS: Final = 2_000_000_000  # a folder changed later than this before it was read may change unnoticed


def _links_in(home: str) -> Iterator[tuple[str, str]]:
    """Every symbolic link among what holds or names commits, and where it leads."""
    linked = [f"worktrees/{it.name}" for it in entries(f"{home}/worktrees")]
    names = [*_FILES, "worktrees", *linked, *(f"{it}/{file}" for it in linked for file in _FILES)]
    names += [it.name for it in entries(home) if it.name.startswith(_SHARED_INDEX)]
    yield from ((place, os.path.realpath(place)) for it in names if _is_link(place := f"{home}/{it}"))
    waiting = [f"{home}/{it}" for it in (*_FOLDERS, *(f"{it}/refs" for it in linked))]
    seen: set[str] = set()
    while waiting:
        place = waiting.pop()
        if _is_link(place):
            target = os.path.realpath(place)
            yield place, target
            place = target  # what it leads to may hold others
        if place not in seen:
            seen.add(place)
            waiting += _links_and_folders(place)


def _is_link(place: str) -> bool:
    return os.path.islink(place)  # noqa: PTH114 (a Path raises where a name is too long)


def _links_and_folders(place: str) -> tuple[str, ...]:
    """Those in the folder; none in what is no folder."""
    try:
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode):
            return ()
        known = _clean.get(place)
        if known is not None and (known.inode, known.changed_ns) == (status.st_ino, status.st_ctime_ns):
            return known.folders
        with os.scandir(place) as scan:
            found = [(it.path, it.is_symlink()) for it in scan if it.is_symlink() or it.is_dir()]
    except OSError:
        return ()
    paths = tuple(path for path, _ in found)
    if not any(is_link for _, is_link in found) and status.st_ctime_ns + _SETTLED_NS < time.time_ns():
        if len(_clean) >= _MAX_CLEAN:
            _clean.clear()
        _clean[place] = _CleanFolder(status.st_ino, status.st_ctime_ns, paths)
    return paths


def _escape_by_alternates(objects: str) -> str:
    file = Path(objects, "info", "alternates")
    for line in _text_to_git(file).split("\n"):
        if line and not line.startswith("#"):
            # Git takes `..` out of the text before it follows links; what is quoted only git can read.
            target = os.path.realpath(os.path.normpath(Path(objects, line)))
            if line.startswith('"') or not _is_named(target):
                return _refusal(file, target)
    return ""


def _text_to_git(file: Path) -> str:
    """What git reads in a file that names places: all up to a zero byte. Nothing where there is no file."""
    try:
        if not file.is_file():
            return ""
        with open(file, "rb") as opened:
            content = opened.read(_MAX_NAMES_BYTES + 1)
    except OSError:
        return ""
    return os.fsdecode(content.partition(b"\0")[0]) if len(content) <= _MAX_NAMES_BYTES else _UNREADABLE_NAME


def _is_named(place: str) -> bool:
    return any(_is_inside(place, it) for it in _named)


def _is_inside(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip("/") + "/")


def _refusal(place: Path | str, target: str) -> str:
    return (
        f"{_shown(place)} leads out of its repository, to {_shown(target)}; "
        "to allow that, name the directory with --git-directories"
    )


def _shown(place: Path | str) -> str:
    return spelt_out(str(place))[:_MAX_SHOWN_CHARS]
