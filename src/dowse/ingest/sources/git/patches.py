"""The lines that commits changed in some files, each patch cut where it becomes long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dowse.ingest.sources.git.asking import ask, spellings

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
    """Each begins with its commit; no line of a patch can look like one."""
    commit, lines, omitted = "", list[str](), 0
    for row in output.removesuffix(b"\n").split(b"\n"):
        if _HASH.fullmatch(row):
            if commit:
                yield commit, Patch("\n".join(lines), omitted)
            commit, lines, omitted = row.decode("ascii"), [], 0
        elif len(lines) < max_lines:
            lines.append(_shortened(row.decode("utf-8", "replace")))
        else:
            omitted += 1
    if commit:
        yield commit, Patch("\n".join(lines), omitted)


def _shortened(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}…"
