"""Whether a repository has the commits that another place is known to have had."""

from __future__ import annotations

from collections.abc import Iterable

from dowse.ingest.sources.git.refs import is_name, lines
from dowse.ingest.sources.git.repositories import git_directory_at
from dowse.ingest.sources.git.repository import is_git_directory
from dowse.ingest.sources.git.running import ask_history


def held(home: str, names: Iterable[str]) -> list[bool]:
    """By the root of a history, and in the order of the names; none of them where no repository is."""
    asked = list(names)
    given = [it for it in asked if is_name(it)]  # anything else is nothing we ever wrote
    there = _commits(str(git_directory_at(home)), given)
    return [it in there for it in asked]


def _commits(git_directory: str, names: list[str]) -> set[str]:
    if not names or not is_git_directory(git_directory):
        return set()
    told = ask_history(git_directory, "cat-file", "--batch-check=%(objecttype)", given=lines(names))
    kinds = [] if told is None or told.returncode else told.stdout.splitlines()
    return {name for name, kind in zip(names, kinds, strict=False) if kind == b"commit"}
