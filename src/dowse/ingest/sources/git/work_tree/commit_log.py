"""What the last commits of a work tree said and which files they touched, asked for without running anything of its."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from dowse.ingest.sources.git.repository import work_tree_above
from dowse.ingest.sources.git.running import ask_work_tree
from dowse.text.secrets import masked

_ONLY_NAMES = (
    "--name-only",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--no-decorate",
    "--ignore-submodules",
    "--relative",
)
# Every field ends with a zero byte, and only what lies between two commits is an empty field: names never are, and
# the mark keeps subjects from being.
_MARK = b":"
_FORMAT = f"--format=%x00{_MARK.decode()}%s"


class LoggedCommit(NamedTuple):
    """A commit's first line, and the paths it touched below the directory that was asked for."""

    subject: str
    paths: tuple[str, ...]


def recent_commits(directory: str, limit: int) -> list[LoggedCommit]:
    """The last commits that touched the directory, newest first, without merges; none outside of git."""
    top = work_tree_above(directory)
    if top is None:
        return []
    command = ("log", "--no-merges", f"--max-count={limit}", "--encoding=UTF-8", _FORMAT, *_ONLY_NAMES)
    logged = ask_work_tree(top, directory, *command, "HEAD", "--", ".")
    return [] if logged is None or logged.returncode else list(_commits(logged.stdout))


def _commits(output: bytes) -> Iterator[LoggedCommit]:
    for is_commit, fields in groupby(output.split(b"\0"), key=bool):
        subject, *names = fields if is_commit else [b""]
        if subject.startswith(_MARK):
            said = masked(subject.removeprefix(_MARK))[0].decode(errors="replace").strip()
            # The line break that separates a message from its files stands before the first of them.
            names[:1] = [name.removeprefix(b"\n") for name in names[:1]]
            yield LoggedCommit(said, tuple(os.fsdecode(name) for name in names))
