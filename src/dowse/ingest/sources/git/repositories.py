"""The repositories at, around and below a root: each once, however many work trees it has."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dowse.ingest.sources.git.confine import GIT, OBJECTS, find_escape, find_foreign_owner, find_git_directory
from dowse.ingest.sources.git.repository import HEAD, common_directory_of, is_bare, is_git_directory, work_tree_above
from dowse.text.surrogates import spelt_out

_MOST_CHARS = 4096  # the longest path


@dataclass(frozen=True, slots=True)
class Found:
    """A repository by its common directory, resolved, and the tops of those of its work trees that were met."""

    git_directory: Path
    work_trees: tuple[Path, ...] = ()

    @property
    def name(self) -> str:
        """What its history is called: like its work tree, else, or if that lies in it, like its directory."""
        inside = self.git_directory.name == GIT
        place = self.git_directory.parent if inside else self.git_directory
        if self.work_trees and self.git_directory not in self.work_trees[0].parents:
            place = self.work_trees[0]
        return f"{place.name.removesuffix(GIT) or 'repository'}{GIT}"


@dataclass(slots=True)
class Discovery:
    """What was found, sentences on what looked like a repository and is none, and why some are not read, by place."""

    found: list[Found] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)


def repositories(root: Path, enters: Callable[[str], bool]) -> Discovery:
    """Those below the root, as far as `enters` lets in to directories (relative, with `/`), and the one around it."""
    top = str(root.resolve())
    discovery = Discovery()
    trees: dict[Path, list[Path]] = {}
    for place in _places(top, enters):
        _look_at(place, top, trees, discovery)
    # A linked work tree may be met before the one the repository lies in, which is to give it its name.
    for git_directory, tops in trees.items():
        own = [it for it in tops if it == git_directory.parent]
        discovery.found.append(Found(git_directory, tuple(dict.fromkeys((*own, *tops)))))
    return discovery


def home_of(git_directory: Path, taken: Container[str]) -> str:
    """The root of its history. A bare repository may be a root of files itself, and no two collections share one."""
    return str(git_directory / OBJECTS) if str(git_directory) in taken else str(git_directory)


def git_directory_at(root: str) -> Path:
    """The way back."""
    place = Path(root)
    return place.parent if place.name == OBJECTS and not is_git_directory(root) else place


def _look_at(place: str, root: str, trees: dict[Path, list[Path]], discovery: Discovery) -> None:
    target, refusal = find_git_directory(place)
    common = Path(os.path.realpath(common_directory_of(place) if target and not refusal else target or place))
    refusal = refusal or find_escape(str(target or common)) or find_foreign_owner(place, root)
    if not os.path.lexists(common / HEAD) or not (refusal or is_git_directory(str(common))):
        is_elsewhere = target is not None and target.name != GIT
        where = f"names {_printable(target)}, where no repository is" if is_elsewhere else "is no repository"
        discovery.problems.append(f"{_printable(place)}/{GIT} {where}: its history is not indexed")
    elif refusal:
        discovery.refused[_printable(place)] = refusal
    elif _printable(common) != str(common):
        discovery.problems.append(f"{_printable(common)} is no path in valid UTF-8: its history is not indexed")
    else:
        trees.setdefault(common, []).extend([Path(place)] if target else [])


def _printable(path: Path | str | None) -> str:
    return spelt_out(str(path or ""))[:_MOST_CHARS]


def _places(root: str, enters: Callable[[str], bool]) -> Iterator[str]:
    """Directories that may be or hold a repository; `enters` lets in to no directory that git keeps one in."""
    above = work_tree_above(root)
    if above is not None and above != root:
        yield above
    waiting = [""]
    while waiting:
        directory = waiting.pop()
        place = f"{root}/{directory}" if directory else root
        folders = _folders(place)
        if GIT in folders or os.path.lexists(f"{place}/{GIT}") or is_bare(place):
            yield place
        prefix = f"{directory}/" if directory else ""
        waiting += [prefix + it for it in reversed(folders) if not it.startswith(".") and enters(prefix + it)]


def _folders(place: str) -> list[str]:
    """By name, links left out; none where it may not be looked into, which the listing of files tells."""
    try:
        with os.scandir(place) as scan:
            return sorted(entry.name for entry in scan if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
