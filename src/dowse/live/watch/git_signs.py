"""Where a repository shows that branches, commits or what it ignores have changed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from dowse.ingest.sources.git.repository import common_directory_of, git_directory_of, is_work_tree

_MAX_REF_DIRECTORIES = 1000  # names of branches with slashes; a repository may hold anything


@dataclass(frozen=True, slots=True)
class Signs:
    """A directory outside of what is indexed, and the names in it that tell something; None: all of them."""

    directory: str
    git: frozenset[str] | None
    rules: frozenset[str] = frozenset()

    def tell(self, name: str) -> Literal["git", "rules"] | None:
        if name in self.rules:
            return "rules"
        told = name in self.git if self.git is not None else not name.endswith(".lock")
        return "git" if told else None


def signs_of(top: str) -> list[Signs]:
    """The signs of the repository whose work tree begins at `top`; nothing if there is none."""
    own = git_directory_of(top)
    if own is None or not is_work_tree(top):
        return []
    common = str(common_directory_of(top))
    info = Signs(f"{common}/info", frozenset(), frozenset(("exclude",)))
    shared = Signs(common, frozenset(("packed-refs",)), frozenset(("info",)))  # which need not be there yet
    heads = [Signs(it, None) for it in _below(f"{common}/refs/heads")]
    return [Signs(str(own), frozenset(("HEAD", "index"))), shared, info, *heads]


def _below(directory: str) -> list[str]:
    found: list[str] = []
    for place, _, _ in os.walk(directory):
        found.append(place)
        if len(found) >= _MAX_REF_DIRECTORIES:
            break
    return found
