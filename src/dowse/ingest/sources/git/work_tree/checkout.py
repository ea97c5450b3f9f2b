"""The repository that is met at a place: its work tree, and the directories git keeps it in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import spellings
from dowse.ingest.sources.git.repository import (
    common_directory_of,
    git_directory_of,
    is_git_directory,
    work_tree_above,
)
from dowse.ingest.sources.regular_file import opened_below, read_whole

MAX_BYTES = 10_000_000  # of a file that is compared with the last commit


@dataclass(frozen=True, slots=True)
class Checkout:
    """`git_directory` is of this work tree, `common` the one all work trees of the repository share; both resolved.
    A bare repository has no work tree."""

    top: Path | None
    git_directory: Path
    common: Path

    def current(self, path: str) -> bytes | None:
        """What the work tree has at this path; None if that is no regular file. BadInput if it is too large a one."""
        if self.top is None:
            return None
        found = (_read(self.top, name) for name in spellings([path]))
        return next((it for it in found if it is not None), None)


def _read(top: Path, name: str) -> bytes | None:
    try:
        with opened_below(str(top), name) as handle:
            status, content = read_whole(handle, MAX_BYTES)
    except (OSError, ValueError):
        return None
    if status.st_size > MAX_BYTES:
        raise BadInput(f"{name!r} has {status.st_size:,} bytes; files of more than {MAX_BYTES:,} are not compared")
    return content


def checkout_at(place: Path) -> Checkout | None:
    """None outside of any repository."""
    top = work_tree_above(str(place))
    if top is not None:
        own = git_directory_of(top) or Path(top, ".git")
        return Checkout(Path(top), _resolved(own), _resolved(common_directory_of(top)))
    if is_git_directory(str(place)):
        return Checkout(None, _resolved(place), _resolved(place))
    return None


def _resolved(directory: Path) -> Path:
    return Path(os.path.realpath(directory))
