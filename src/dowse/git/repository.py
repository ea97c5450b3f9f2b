"""Recognize repositories and work trees, and refuse directories that escape the root."""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from dowse.git.ignore import NO_RULES, IgnoreRules, load_ignore_file
from dowse.text.unicode import escape_invalid_bytes

# --------------------------------------------------------------------------------------------------
# The kinds of refs that count, and loose refs, which have a file each.

# Not the stash, not notes, and not the pull requests that a server keeps.
REF_KINDS: Final = ("heads", "tags", "remotes")
ALL_REFS_OPTIONS: Final = ("--branches", "--tags", "--remotes")
"""The same kinds as git options."""


def iterate_loose_refs(git_directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield each loose ref with its full name, at any depth."""
    folders = [f"refs/{kind}" for kind in REF_KINDS]
    while folders:
        folder = folders.pop()
        for entry in list_directory(f"{git_directory}/{folder}"):
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}/{entry.name}")
            elif not entry.name.endswith(".lock"):
                yield f"{folder}/{entry.name}", entry


def list_directory(folder: str) -> list[os.DirEntry[str]]:
    """Return the directory's entries by name; none if it cannot be read."""
    try:
        with os.scandir(folder) as scan:
            return sorted(scan, key=attrgetter("name"))
    except OSError:
        return []


# --------------------------------------------------------------------------------------------------
# Confine a repository to its own directory: files below a root must not be able to name another repository on this
# machine and have its history indexed.
#
# A git directory, its object store and its refs may lead out of the repository in two cases only: the other side proves
# that it belongs to this work tree, or the user named the place. Hard links cannot be told from files.

GIT_ENTRY: Final = ".git"
OBJECTS_DIRECTORY: Final = "objects"
_COMMON: Final = "commondir"
_MAX_SMALL_TEXT_CHARS: Final = 4096 + 16  # the longest path, and the prefix before it
_MAX_CONFIG_CHARS: Final = 1_000_000
_MAX_PATHS_FILE_BYTES: Final = 100_000
_UNREADABLE_PATH: Final = '"'  # never taken for a path inside the repository
_MAX_SHOWN_CHARS: Final = 200
# Files that hold or name commits. Others, such as hooks and exclude files, may be links.
_CONFINED_FILES: Final = ("HEAD", "packed-refs", "shallow", _COMMON, "gitdir", "index", "info/grafts")
_CONFINED_DIRECTORIES: Final = (OBJECTS_DIRECTORY, "refs", "reftable")
_SHARED_INDEX: Final = "sharedindex."
_CORE_WORK_TREE: Final = re.compile(r"^\s*worktree\s*=\s*(.*?)\s*$", re.IGNORECASE)
_SECTION: Final = re.compile(r"^\s*\[\s*([^\]]*?)\s*\]")
_REF_STORE_ELSEWHERE: Final = re.compile(r"^\s*refstorage\s*=.*://", re.IGNORECASE | re.MULTILINE)

_allowed: set[str] = set()


def allow_git_directories(places: Iterable[str]) -> None:
    """Allow the repositories of this process to use these directories, and no others outside of themselves.

    They come from a flag or an environment variable only, so all engines of a process share them.
    """
    _allowed.clear()
    _allowed.update(os.path.realpath(Path(it).expanduser()) for it in places if it)


def find_git_directory(directory: str) -> tuple[Path | None, str]:
    """Return the target of this directory's `.git`, if any, and the reason if it must not be used."""
    entry = Path(directory, GIT_ENTRY)
    try:
        if stat.S_ISDIR(entry.lstat().st_mode):
            return entry, ""
        target: Path | None = entry if entry.is_dir() else _read_gitdir_file(entry)
    except OSError:
        return None, ""
    if target is None:
        return None, ""
    place = os.path.realpath(target)
    is_own = _is_inside(place, os.path.realpath(directory)) or _is_allowed(place) or _points_back(place, directory)
    return target, "" if is_own else _escape_refusal(entry, place)


def find_common_directory(git_directory: Path) -> tuple[Path, str]:
    """Return the directory that a repository's work trees share, and the reason if the named one must not be used."""
    name = _read_as_git(git_directory / _COMMON)
    if not name:
        return git_directory, ""
    own, common = os.path.realpath(git_directory), os.path.realpath(git_directory / name.rstrip("\r\n"))
    if common in (own, _repository_of(own)) or _is_allowed(common):
        return git_directory / name.rstrip("\r\n"), ""
    return git_directory, _escape_refusal(git_directory / _COMMON, common)


def find_escape(git_directory: str) -> str:
    """Return why git must not run here: which part of the repository leads out of it, and where to; empty if none.

    A place that the user named is trusted, with everything that it refers to.
    """
    common, refusal = find_common_directory(Path(git_directory))
    if refusal:
        return refusal
    homes = tuple(dict.fromkeys((os.path.realpath(git_directory), os.path.realpath(common))))
    for home in homes:
        for link, target in _links_in(home):
            if not any(_is_inside(target, it) for it in homes) and not _is_allowed(target):
                return _escape_refusal(link, target)
        if _REF_STORE_ELSEWHERE.search(read_small_text(Path(home, "config"), max_chars=_MAX_CONFIG_CHARS)):
            return f"{_printable_path(home)}/config stores refs elsewhere; remove extensions.refStorage from it"
    return _escape_by_alternates(f"{homes[-1]}/{OBJECTS_DIRECTORY}")


def find_foreign_owner(place: str, root: str) -> str:
    """Return why a repository around a root is ignored: like git, Dowse does not trust one owned by another user."""
    git_directory, _ = find_git_directory(place)
    if git_directory is None or place == root or not _is_inside(root, place) or _is_allowed(os.path.realpath(place)):
        return ""
    if {os.lstat(f"{place}/{GIT_ENTRY}").st_uid, git_directory.stat().st_uid} == {os.geteuid()}:
        return ""
    shown = _printable_path(place)
    return f"{shown}/{GIT_ENTRY} belongs to another user; to allow it, pass --git-directories {shown}"


def read_small_text(file: Path, errors: str = "surrogateescape", max_chars: int = _MAX_SMALL_TEXT_CHARS) -> str:
    """Return the content of a small file that git uses to name something; empty if it is anything else."""
    try:
        # Reading from a pipe would never end.
        if not file.is_file():
            return ""
        with open(file, encoding="utf-8", errors=errors) as opened:
            text = opened.read(max_chars)
    except OSError:
        return ""
    return "" if "\0" in text else text


def _read_gitdir_file(file: Path) -> Path | None:
    prefix, _, target = read_small_text(file).partition(": ")
    return Path(file.parent, target.rstrip("\r\n")) if prefix == "gitdir" and target else None


def _points_back(git_directory: str, directory: str) -> bool:
    """Return whether the repository there names this directory as its work tree.

    Only its owner can write that. Git does so for linked work trees and submodules.
    """
    top = os.path.realpath(directory)
    if repository := _repository_of(git_directory):
        noted = read_small_text(Path(git_directory, "gitdir")).rstrip("\r\n")
        entry = Path(git_directory, noted)
        is_listed = entry.name == GIT_ENTRY and os.path.realpath(entry.parent) == top
        common = read_small_text(Path(git_directory, _COMMON)).rstrip("\r\n")
        return is_listed and os.path.realpath(Path(git_directory, common)) == repository
    configured = (_configured_work_tree(Path(git_directory, name)) for name in ("config.worktree", "config"))
    return any(os.path.realpath(Path(git_directory, it)) == top for it in configured if it)


def _repository_of(git_directory: str) -> str:
    """Return the common directory that the path of a linked work tree's git directory lies in; empty for any other."""
    folder, _, name = git_directory.rpartition("/worktrees/")
    return folder if name and "/" not in name else ""


def _configured_work_tree(config: Path) -> str:
    section, value = "", ""
    for line in read_small_text(config, max_chars=_MAX_CONFIG_CHARS).splitlines():
        if found := _SECTION.match(line):
            section = found[1].lower()
        elif section == "core" and (found := _CORE_WORK_TREE.match(line)):
            value = found[1].strip('"')
    return value


class _LinkFreeDirectory(NamedTuple):
    """A directory without links: its state when it was read, and its subdirectories."""

    inode: int
    changed_ns: int
    folders: tuple[str, ...]


# A cache, because reading every object directory before each command would take longer than many a command.
_link_free: dict[str, _LinkFreeDirectory] = {}
_MAX_LINK_FREE: Final = 50_000
_SETTLED_NS: Final = 2_000_000_000  # a directory changed this shortly before it was read may change again unnoticed


def _links_in(home: str) -> Iterator[tuple[str, str]]:
    """Yield every symbolic link among the files that hold or name commits, with its target."""
    linked = [f"worktrees/{it.name}" for it in list_directory(f"{home}/worktrees")]
    names = [*_CONFINED_FILES, "worktrees", *linked, *(f"{it}/{file}" for it in linked for file in _CONFINED_FILES)]
    names += [it.name for it in list_directory(home) if it.name.startswith(_SHARED_INDEX)]
    yield from ((place, os.path.realpath(place)) for it in names if _is_link(place := f"{home}/{it}"))
    waiting = [f"{home}/{it}" for it in (*_CONFINED_DIRECTORIES, *(f"{it}/refs" for it in linked))]
    seen: set[str] = set()
    while waiting:
        place = waiting.pop()
        if _is_link(place):
            target = os.path.realpath(place)
            yield place, target
            place = target  # the target may contain more links
        if place not in seen:
            seen.add(place)
            waiting += _links_and_folders(place)


def _is_link(place: str) -> bool:
    return os.path.islink(place)  # noqa: PTH114 (a Path raises where a name is too long)


def _links_and_folders(place: str) -> tuple[str, ...]:
    """Return the links and subdirectories of a directory; none if it is not one."""
    try:
        status = os.lstat(place)
        if not stat.S_ISDIR(status.st_mode):
            return ()
        known = _link_free.get(place)
        if known is not None and (known.inode, known.changed_ns) == (status.st_ino, status.st_ctime_ns):
            return known.folders
        with os.scandir(place) as scan:
            found = [(it.path, it.is_symlink()) for it in scan if it.is_symlink() or it.is_dir()]
    except OSError:
        return ()
    paths = tuple(path for path, _ in found)
    if not any(is_link for _, is_link in found) and status.st_ctime_ns + _SETTLED_NS < time.time_ns():
        if len(_link_free) >= _MAX_LINK_FREE:
            _link_free.clear()
        _link_free[place] = _LinkFreeDirectory(status.st_ino, status.st_ctime_ns, paths)
    return paths


def _escape_by_alternates(objects: str) -> str:
    file = Path(objects, "info", "alternates")
    for line in _read_as_git(file).split("\n"):
        if line and not line.startswith("#"):
            # Git resolves `..` in the text before it follows links. A quoted path only git can read.
            target = os.path.realpath(os.path.normpath(Path(objects, line)))
            if line.startswith('"') or not _is_allowed(target):
                return _escape_refusal(file, target)
    return ""


def _read_as_git(file: Path) -> str:
    """Return what git reads from a file that names paths: everything up to a zero byte. Empty if there is no file."""
    try:
        if not file.is_file():
            return ""
        with open(file, "rb") as opened:
            content = opened.read(_MAX_PATHS_FILE_BYTES + 1)
    except OSError:
        return ""
    return os.fsdecode(content.partition(b"\0")[0]) if len(content) <= _MAX_PATHS_FILE_BYTES else _UNREADABLE_PATH


def _is_allowed(place: str) -> bool:
    return any(_is_inside(place, it) for it in _allowed)


def _is_inside(place: str, folder: str) -> bool:
    return place == folder or place.startswith(folder.rstrip("/") + "/")


def _escape_refusal(place: Path | str, target: str) -> str:
    return (
        f"{_printable_path(place)} leads out of its repository, to {_printable_path(target)}; "
        "to allow it, pass that directory with --git-directories"
    )


def _printable_path(place: Path | str) -> str:
    return escape_invalid_bytes(str(place))[:_MAX_SHOWN_CHARS]


GIT_IGNORE_FILE = ".gitignore"
HEAD_FILE = "HEAD"
_BRANCH_PREFIX = "ref: refs/heads/"


def is_work_tree(directory: str) -> bool:
    """Return whether this directory is the top of a work tree."""
    if not os.path.lexists(f"{directory}/.git"):
        return False  # the common case, decided quickly
    git_directory = git_directory_of(directory)
    return git_directory is not None and os.path.lexists(git_directory / HEAD_FILE)


def has_foreign_git(directory: str) -> bool:
    """Return whether `.git` leads to a repository that this directory is not a work tree of."""
    return os.path.lexists(f"{directory}/{GIT_ENTRY}") and bool(find_git_directory(directory)[1])


def is_git_directory(place: str) -> bool:
    """Return whether this is a git directory, by the files that every one has."""
    if not os.path.lexists(f"{place}/{HEAD_FILE}"):
        return False  # the common case, decided quickly
    objects, refs, packed = (Path(place, name) for name in (OBJECTS_DIRECTORY, "refs", "packed-refs"))
    try:
        return objects.is_dir() and (refs.is_dir() or packed.is_file())
    except OSError:
        return False


def is_bare(place: str) -> bool:
    """Return whether this directory is a bare repository, so that none of its files are the user's.

    A caller that has listed the directory need only ask if it contains `HEAD`. Like git, a directory with `.git` counts
    as a work tree.
    """
    return is_git_directory(place) and not os.path.lexists(f"{place}/.git")


def work_tree_above(directory: str) -> str | None:
    """Return the top of the work tree that holds this directory, which may be the directory itself."""
    places = [directory, *map(str, Path(directory).parents)]
    return next((place for place in places if is_work_tree(place)), None)


def current_branch(directory: str) -> str | None:
    """Return the branch of the work tree that holds this directory; None outside of one, or with a detached HEAD."""
    top = work_tree_above(directory)
    git_directory = None if top is None else git_directory_of(top)
    return None if git_directory is None else branch_of_git_directory(git_directory) or None


def branch_of_git_directory(git_directory: Path) -> str:
    """Return the branch that HEAD of this git directory names; empty if detached."""
    head = read_small_text(git_directory / HEAD_FILE, errors="replace").strip()
    return head.removeprefix(_BRANCH_PREFIX) if head.startswith(_BRANCH_PREFIX) else ""


def ignore_rules_above(directory: str) -> IgnoreRules:
    """Return the ignore rules that the surrounding repository applies to the directory's entries, without its own
    ignore file.

    If the directory itself is ignored, no rules apply: the user asked for it by name.
    """
    top = work_tree_above(directory)
    if top is None:
        return NO_RULES
    place = _with_slash(top)
    exclude = load_ignore_file(str(common_directory_of(top) / "info" / "exclude"), place)
    rules = IgnoreRules((exclude,)) if exclude else NO_RULES
    for name in directory.removeprefix(place.rstrip("/")).split("/")[1:]:
        rules = rules.enter(place, GIT_IGNORE_FILE)
        if rules.ignores(place, name + "/"):
            return NO_RULES
        place += name + "/"
    return rules


def _with_slash(directory: str) -> str:
    return directory.rstrip("/") + "/"


def git_directory_of(directory: str) -> Path | None:
    """Return the git directory of a work tree; linked work trees and submodules name it in a `.git` file.

    None if it leads to a repository that this directory is not a work tree of.
    """
    found, refusal = find_git_directory(directory)
    return None if refusal else found


def common_directory_of(top: str) -> Path:
    """Return the git directory that linked work trees share, and with it `info/exclude`."""
    return find_common_directory(git_directory_of(top) or Path(top, GIT_ENTRY))[0]
