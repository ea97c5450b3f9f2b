"""What keeps git waiting for ever: a pipe or a device in the place of a file that it reads."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.confine import small_text
from dowse.ingest.sources.git.loose import loose
from dowse.ingest.sources.git.repository import HEAD
from dowse.ingest.sources.regular_file import kind_of
from dowse.text.surrogates import spelt_out

_READ_BY_GIT: Final = (
    HEAD, "config", "config.worktree", "commondir", "packed-refs", "shallow", ".mailmap", "info/attributes",
    "info/grafts", "objects/info/alternates", "objects/info/commit-graph",
    "objects/info/commit-graphs/commit-graph-chain", "objects/pack/multi-pack-index",
)  # fmt: skip
OF_WORK_TREES: Final = ("index", "info/exclude")
"""What it reads besides where files are listed or compared; a history depends on neither."""


def trap_in(git_directory: str, *others: str) -> str:
    """Why git would never come to an end over it, or these of its files; empty if it would."""
    common = str(Path(git_directory, small_text(Path(git_directory, "commondir")).rstrip("\r\n")))
    for place in dict.fromkeys((git_directory, common)):
        for name in (*_READ_BY_GIT, *others, *_odd_refs(place)):
            if kind := _trap_at(Path(place, name)):
                return f"{spelt_out(name)} in it is {kind}, for which git would wait for ever"
    return ""


def _odd_refs(git_directory: str) -> Iterator[str]:
    """Those that are no plain files, as nearly all are, which their folder tells."""
    return (name for name, entry in loose(git_directory) if not entry.is_file(follow_symlinks=False))


def _trap_at(place: Path) -> str:
    try:
        mode = place.stat().st_mode
    except OSError:
        return ""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else kind_of(mode)
