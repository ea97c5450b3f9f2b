"""The lines that commits changed in some files, each patch cut where it becomes long."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.ingest.sources.git.asking import ask, path_of, spellings

_COMMAND = (
    # What is larger is told to differ, and not how.
    "-c", "core.bigFileThreshold=2m",
    "diff-tree", "--stdin", "-r", "-p", "--cc", "--root", "-M50%", "-l400",
    "--no-ext-diff", "--no-textconv", "--no-color",
)  # fmt: skip
_HASH = re.compile(rb"[0-9a-f]{40,64}")
_MAX_LINE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Patch:
    """`omitted`: how many lines more there are."""

    text: str
    omitted: int = 0


def patches(git_directory: Path, commits: Sequence[str], names: Sequence[str], max_lines: int) -> dict[str, Patch]:
    """By commit, of the files of these names or below them; of a merge what differs from all its parents."""
    if not commits:
        return {}
    given = "".join(f"{it}\n" for it in commits).encode("ascii")
    return dict(_parsed(ask(git_directory, *_COMMAND, "--", *spellings(names), given=given), max_lines))


def _parsed(output: bytes, max_lines: int) -> Iterator[tuple[str, Patch]]:
    for commit, rows in _by_commit(output):
        shown = [_shortened(it) for it in _decoded(rows[:max_lines])]
        yield commit, Patch("\n".join(shown), len(rows) - len(shown))


def _by_commit(output: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Each begins with its commit; no line of a patch can look like one."""
    commit, rows = "", list[bytes]()
    for row in output.removesuffix(b"\n").split(b"\n"):
        if not _HASH.fullmatch(row):
            rows.append(row)
            continue
        if commit:
            yield commit, rows
        commit, rows = row.decode("ascii"), []
    if commit:
        yield commit, rows


def _decoded(rows: Iterable[bytes]) -> Iterator[str]:
    """What stands before the first hunk of a file has its names, which are told as everywhere."""
    is_heading = True
    for row in rows:
        is_heading = row.startswith(b"diff --") or (is_heading and not row.startswith(b"@@"))
        yield path_of(row) if is_heading else row.decode("utf-8", "replace")


def _shortened(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}…"
