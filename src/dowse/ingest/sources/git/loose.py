"""The kinds of refs that count, and those of them that have a file of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from operator import attrgetter
from typing import Final

# Not the stash, not notes, and not what a server keeps of others' proposals.
KINDS: Final = ("heads", "tags", "remotes")
EVERY: Final = ("--branches", "--tags", "--remotes")
"""The same as git is asked for them."""


def loose(git_directory: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Each with the name it has in the repository, however deep."""
    folders = [f"refs/{kind}" for kind in KINDS]
    while folders:
        folder = folders.pop()
        for entry in entries(f"{git_directory}/{folder}"):
            if entry.is_dir(follow_symlinks=False):
                folders.append(f"{folder}/{entry.name}")
            elif not entry.name.endswith(".lock"):
                yield f"{folder}/{entry.name}", entry


def entries(folder: str) -> list[os.DirEntry[str]]:
    """By name; none where it can not be looked into."""
    try:
        with os.scandir(folder) as scan:
            return sorted(scan, key=attrgetter("name"))
    except OSError:
        return []
