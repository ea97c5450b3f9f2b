"""What can be known about a git repository without running git: where it is and what it ignores."""

from __future__ import annotations

import os
from pathlib import Path

from dowse.ingest.sources.git.confine import GIT, OBJECTS, find_common_directory, find_git_directory, small_text
from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules, load_ignore_file

GIT_IGNORE_FILE = ".gitignore"
HEAD = "HEAD"
_BRANCH = "ref: refs/heads/"


def is_work_tree(directory: str) -> bool:
    """Whether a repository's work tree begins at this directory."""
    if not os.path.lexists(f"{directory}/.git"):
        return False  # of nearly all directories, so it is told quickly
    git_directory = git_directory_of(directory)
    return git_directory is not None and os.path.lexists(git_directory / HEAD)


def has_other_git(directory: str) -> bool:
    """Whether its `.git` leads to a repository that this is no work tree of."""
    return os.path.lexists(f"{directory}/{GIT}") and bool(find_git_directory(directory)[1])


def is_git_directory(place: str) -> bool:
    """Whether git would keep a repository here: what every one of them has."""
    if not os.path.lexists(f"{place}/{HEAD}"):
        return False  # as nearly all directories, so it is told quickly
    objects, refs, packed = (Path(place, name) for name in (OBJECTS, "refs", "packed-refs"))
    try:
        return objects.is_dir() and (refs.is_dir() or packed.is_file())
    except OSError:
        return False


def is_bare(place: str) -> bool:
    """Whether git keeps a repository in this directory itself, so that none of its files is anybody's.

    Whoever has listed it need only ask where there is a `HEAD`. Like git, it takes one with a `.git` for a work tree.
    """
    return is_git_directory(place) and not os.path.lexists(f"{place}/.git")


def work_tree_above(directory: str) -> str | None:
    """The top of the work tree that holds this directory, or the directory itself if it is one."""
    places = [directory, *map(str, Path(directory).parents)]
    return next((place for place in places if is_work_tree(place)), None)


def branch_at(directory: str) -> str | None:
    """The branch of the work tree that holds this directory; None outside of one and at a commit without a branch."""
    top = work_tree_above(directory)
    git_directory = None if top is None else git_directory_of(top)
    return None if git_directory is None else branch_in(git_directory) or None


def branch_in(git_directory: Path) -> str:
    """The branch that the work tree of this git directory is at; empty if it is at none."""
    head = small_text(git_directory / HEAD, errors="replace").strip()
    return head.removeprefix(_BRANCH) if head.startswith(_BRANCH) else ""


def rules_above(directory: str) -> IgnoreRules:
    """What the repository around the directory says about its entries, without its own ignore file.

    None of it counts when the directory as a whole is ignored: it was asked for by name.
    """
    top = work_tree_above(directory)
    if top is None:
        return NO_RULES
    place = _with_slash(top)
    exclude = load_ignore_file(str(common_directory_of(top) / "info" / "exclude"), place)
    rules = IgnoreRules((exclude,)) if exclude else NO_RULES
    for name in directory.removeprefix(place.rstrip("/")).split("/")[1:]:
        rules = rules.entering(place, GIT_IGNORE_FILE)
        if rules.ignores(place, name + "/"):
            return NO_RULES
        place += name + "/"
    return rules


def _with_slash(directory: str) -> str:
    return directory.rstrip("/") + "/"


def git_directory_of(directory: str) -> Path | None:
    """Where `.git` is; a linked work tree and a submodule have a file in its place that names it. None where it leads
    to a repository that this directory is no work tree of."""
    found, refusal = find_git_directory(directory)
    return None if refusal else found


def common_directory_of(top: str) -> Path:
    """Linked work trees share one directory, named in a file, and with it `info/exclude`."""
    return find_common_directory(git_directory_of(top) or Path(top, GIT))[0]
