"""The lines that commits changed in some files, each patch cut where it becomes long.

They are read as they come, one commit after another: what is not shown is counted and let go, and a commit that git can
not tell costs no other its patch.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import NAMES_ARE_NAMES, path_of, spellings
from dowse.ingest.sources.git.patience import LONG_S
from dowse.ingest.sources.git.reading.channel import Channel, Frame
from dowse.ingest.sources.git.reading.reader import NO_CHANGES
from dowse.ingest.sources.git.refs import is_name
from dowse.ingest.sources.git.withholding import LEFT_OUT, MASKING, Withholding

MOST_CHARS = 16_000_000
"""Of all patches together."""
TOO_MUCH = "it was not read, because the patches before it are too much, or took too long; ask for fewer commits"
_COMMAND = (
    NAMES_ARE_NAMES,
    # What is larger is told to differ, and not how.
    "-c", "core.bigFileThreshold=2m",
    "diff-tree", "--stdin", "--always", "-r", "-p", "--cc", "--root", "-M50%", "-l400",
    "--no-ext-diff", "--no-textconv", "--no-color", "--",
)  # fmt: skip
_MAX_LINE_CHARS = 500
_AHEAD = 8  # commits that git is asked for at a time


@dataclass(frozen=True, slots=True)
class Patch:
    """`omitted`: how many lines more there are, or, if it was `cut`, were read before the rest was not waited for.
    `problem` says why there is nothing."""

    text: str
    omitted: int = 0
    cut: bool = False
    problem: str = ""


def patches(
    git_directory: Path,
    commits: Sequence[str],
    names: Sequence[str],
    max_lines: int,
    *,
    most_chars: int = MOST_CHARS,
    for_s: float = LONG_S,
    withholding: Withholding = MASKING,
) -> dict[str, Patch]:
    """By commit, of the files of these names or below them; of a merge what differs from all its parents."""
    found: dict[str, Patch] = {}
    until, chars = time.monotonic() + for_s, 0
    with closing(_frames(str(git_directory), commits, (*_COMMAND, *spellings(names)), for_s)) as frames:
        for commit, frame in frames:
            is_late = time.monotonic() >= until
            if frame is not None or not is_late:  # else it was ended for its silence
                found[commit] = _patch(frame, max_lines, withholding)
                chars += len(found[commit].text)
            if chars >= most_chars or is_late:
                break
    return found | {it: Patch("", problem=TOO_MUCH) for it in commits if it not in found}


def _frames(
    git_directory: str, commits: Sequence[str], command: Sequence[str], silence_s: float
) -> Generator[tuple[str, Frame | None], None, None]:
    """What git tells of each; nothing of one that it ends over, behind which another process goes on."""
    at = 0
    while at < len(commits):
        channel = _opened(git_directory, command, silence_s)
        try:
            channel.ask(commits[at : at + _AHEAD])
            frame: Frame | None = Frame(b"")
            while at < len(commits) and frame is not None and not frame.ends:
                frame = channel.receive()
                yield commits[at], frame
                channel.ask(commits[at + _AHEAD : at + _AHEAD + 1])
                at += 1
        finally:
            channel.close()


def _opened(git_directory: str, command: Sequence[str], silence_s: float) -> Channel:
    try:
        return Channel(git_directory, command, silence_s=silence_s)
    except OSError as error:
        raise BadInput(f"git could not read {git_directory}: {error.strerror or error}") from error


def _patch(frame: Frame | None, max_lines: int, withholding: Withholding) -> Patch:
    """What is told begins with the commit's name."""
    name, _, told = (frame.data if frame else b"").partition(b"\n")
    if frame is None or not is_name(name.decode(errors="replace")):
        return Patch("", problem=NO_CHANGES)
    told, left_out = withholding.told(told)
    if left_out and not told.strip():
        return Patch("", problem=LEFT_OUT)
    told = withholding.masked(told)[0].removesuffix(b"\n")
    rows = told.split(b"\n", max_lines)[:max_lines] if told else []
    text = "\n".join(_shortened(it) for it in _decoded(rows))
    return Patch(text, told.count(b"\n") + 1 - len(rows) if rows else 0, frame.cut)


def _decoded(rows: Iterable[bytes]) -> Iterator[str]:
    """What stands before the first hunk of a file has its names, which are told as everywhere."""
    is_heading = True
    for row in rows:
        is_heading = row.startswith(b"diff --") or (is_heading and not row.startswith(b"@@"))
        yield path_of(row) if is_heading else row.decode("utf-8", "replace")


def _shortened(line: str) -> str:
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}…"
