"""What can be known about a git repository without running git: where it is and what it ignores."""

from __future__ import annotations

import os
from pathlib import Path

from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules, load_ignore_file

GIT_IGNORE_FILE = ".gitignore"


def is_work_tree(directory: str) -> bool:
    """Whether a repository's work tree begins at this directory."""
    git_directory = _git_directory(directory)
    return git_directory is not None and os.path.lexists(git_directory / "HEAD")


def work_tree_above(directory: str) -> str | None:
    """The top of the work tree that holds this directory, or the directory itself if it is one."""
    places = [directory, *map(str, Path(directory).parents)]
    return next((place for place in places if is_work_tree(place)), None)


def rules_above(directory: str) -> IgnoreRules:
    """What the repository around the directory says about its entries, without its own ignore file.

    None of it counts when the directory as a whole is ignored: it was asked for by name.
    """
    top = work_tree_above(directory)
    if top is None:
        return NO_RULES
    place = _with_slash(top)
    exclude = load_ignore_file(str(_common_directory(top) / "info" / "exclude"), place)
    rules = IgnoreRules((exclude,)) if exclude else NO_RULES
    for name in directory.removeprefix(place.rstrip("/")).split("/")[1:]:
        rules = rules.entering(place, GIT_IGNORE_FILE)
        if rules.ignores(place, name + "/"):
            return NO_RULES
        place += name + "/"
    return rules


def _with_slash(directory: str) -> str:
    return directory.rstrip("/") + "/"


def _git_directory(directory: str) -> Path | None:
    """Where `.git` is; a linked work tree and a submodule have a file in its place that names it."""
    entry = Path(directory, ".git")
    try:
        if entry.is_dir():
            return entry
        text = entry.read_text(errors="surrogateescape") if entry.is_file() else ""
    except OSError:
        return None
    prefix, _, target = text.partition(": ")
    return Path(directory, target.rstrip("\r\n")) if prefix == "gitdir" and target else None


def _common_directory(top: str) -> Path:
    """Linked work trees share one directory, named in a file, and with it `info/exclude`."""
    git_directory = _git_directory(top) or Path(top, ".git")
    try:
        target = (git_directory / "commondir").read_text(errors="surrogateescape")
    except OSError:
        return git_directory
    return git_directory / target.rstrip("\r\n")
