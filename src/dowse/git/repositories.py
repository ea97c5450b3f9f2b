"""Find the repositories below a root."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dowse.git.refs import is_object_hash, to_stdin_lines
from dowse.git.repository import (
    GIT_ENTRY,
    HEAD_FILE,
    OBJECTS_DIRECTORY,
    common_directory_of,
    find_escape,
    find_foreign_owner,
    find_git_directory,
    is_bare,
    is_git_directory,
    work_tree_above,
)
from dowse.git.runner import run_on_history
from dowse.text.unicode import escape_invalid_bytes

_MAX_SHOWN_PATH_CHARS = 4096  # the longest path


@dataclass(frozen=True, slots=True)
class FoundRepository:
    """A repository: its resolved common directory, and the tops of its work trees that were found."""

    git_directory: Path
    work_trees: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """The name of its history: that of its work tree, or of its directory if it has none or the work tree lies
        inside."""
        inside = self.git_directory.name == GIT_ENTRY
        place = self.git_directory.parent if inside else self.git_directory
        if self.work_trees and self.git_directory not in self.work_trees[0].parents:
            place = self.work_trees[0]
        return f"{place.name.removesuffix(GIT_ENTRY) or 'repository'}{GIT_ENTRY}"


@dataclass(slots=True)
class RepositoryDiscovery:
    """The repositories found, sentences about broken ones, and the reasons why some are not read, by path."""

    repositories: list[FoundRepository] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def find_repositories(root: Path, enters: Callable[[str], bool]) -> RepositoryDiscovery:
    """Find the repositories below the root, in directories that `enters` allows (relative, with `/`), and the one
    around it."""
    top = str(root.resolve())
    discovery = RepositoryDiscovery()
    trees: dict[Path, list[Path]] = {}
    for place in _candidate_directories(top, enters):
        _inspect(place, top, trees, discovery)
    # A linked work tree may be found before the main one, which must come first because it names the history.
    for git_directory, tops in trees.items():
        main = [it for it in tops if it == git_directory.parent]
        discovery.repositories.append(FoundRepository(git_directory, tuple(dict.fromkeys((*main, *tops)))))
    return discovery


def history_root_of(git_directory: Path, taken: Container[str]) -> str:
    """Return the root of a repository's history. A bare repository may itself be a root of files, and two collections
    cannot share a root."""
    return str(git_directory / OBJECTS_DIRECTORY) if str(git_directory) in taken else str(git_directory)


def git_directory_of_history(root: str) -> Path:
    """Return the git directory for a history root: the inverse of `history_root_of`."""
    place = Path(root)
    return place.parent if place.name == OBJECTS_DIRECTORY and not is_git_directory(root) else place


def _inspect(place: str, root: str, trees: dict[Path, list[Path]], discovery: RepositoryDiscovery) -> None:
    target, refusal = find_git_directory(place)
    common = Path(os.path.realpath(common_directory_of(place) if target and not refusal else target or place))
    refusal = refusal or find_escape(str(target or common)) or find_foreign_owner(place, root)
    if not os.path.lexists(common / HEAD_FILE) or not (refusal or is_git_directory(str(common))):
        is_elsewhere = target is not None and target.name != GIT_ENTRY
        where = (
            f"points to {_printable_place(target)}, which is not a repository"
            if is_elsewhere
            else "is not a repository"
        )
        discovery.problems.append(f"{_printable_place(place)}/{GIT_ENTRY} {where}: its history is not indexed")
    elif refusal:
        discovery.refused[_printable_place(place)] = refusal
    elif _printable_place(common) != str(common):
        discovery.problems.append(f"{_printable_place(common)} is not valid UTF-8: its history is not indexed")
    else:
        trees.setdefault(common, []).extend([Path(place)] if target else [])


def _printable_place(path: Path | str | None) -> str:
    return escape_invalid_bytes(str(path or ""))[:_MAX_SHOWN_PATH_CHARS]


def _candidate_directories(root: str, enters: Callable[[str], bool]) -> Iterator[str]:
    """Yield directories that may be or hold a repository. `enters` does not allow git's own directories."""
    above = work_tree_above(root)
    if above is not None and above != root:
        yield above
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        place = f"{root}/{directory}" if directory else root
        folders = _subdirectory_names(place)
        if GIT_ENTRY in folders or os.path.lexists(f"{place}/{GIT_ENTRY}") or is_bare(place):
            yield place
        prefix = f"{directory}/" if directory else ""
        waiting += [prefix + it for it in reversed(folders) if not it.startswith(".") and enters(prefix + it)]


def _subdirectory_names(place: str) -> list[str]:
    """Return subdirectory names, without links; none if unreadable, which the file listing reports."""
    try:
        with os.scandir(place) as scan:
            return sorted(entry.name for entry in scan if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


# --------------------------------------------------------------------------------------------------
# Check whether a repository has the commits that were indexed at another place.


def has_commits(home: str, names: Iterable[str]) -> list[bool]:
    """Return for each hash whether the repository of this history root has the commit."""
    hashes = list(names)
    valid = [it for it in hashes if is_object_hash(it)]  # anything else was never written by Dowse
    present = _existing_commits(str(git_directory_of_history(home)), valid)
    return [it in present for it in hashes]


def _existing_commits(git_directory: str, names: list[str]) -> set[str]:
    if not names or not is_git_directory(git_directory):
        return set()
    finished = run_on_history(git_directory, "cat-file", "--batch-check=%(objecttype)", stdin=to_stdin_lines(names))
    kinds = [] if finished is None or finished.returncode else finished.stdout.splitlines()
    return {name for name, kind in zip(names, kinds, strict=False) if kind == b"commit"}
