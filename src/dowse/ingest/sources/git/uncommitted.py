"""Which lines of a work tree differ from its last commit, told without running anything the repository configures.

`git diff` of a work tree would run filters and diff programs; so lines are compared here.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from dowse.ingest.sources.git.changed import changed
from dowse.ingest.sources.git.content import holds
from dowse.ingest.sources.git.entries import Entry
from dowse.ingest.sources.git.running import run_git
from dowse.ingest.sources.regular_file import ChangingError, opened_below, read_whole

MAX_BYTES = 2_000_000  # of a file whose lines are compared; a larger one counts as changed as a whole
MAX_PAIRS = 4_000_000  # of lines that may have to be compared; beyond that all between the same ends counts as changed
Spans = tuple[tuple[int, int], ...]
"""First and last lines, from 1."""
EVERY_LINE: Spans = ((1, sys.maxsize),)
"""Of a file that is not read to count them."""


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Changed lines by path, relative to the directory; lines of deleted files are not there any more.

    `problem` says why nothing could be told.
    """

    lines: dict[str, Spans]
    problem: str = ""


def uncommitted(directory: Path) -> Uncommitted:
    directory = directory.resolve()
    found, git = changed(directory), shutil.which("git")
    if found.problem or git is None:
        return Uncommitted({}, found.problem)
    lines = ((path, _changed_lines(git, str(directory), path, found.committed.get(path))) for path in found.paths)
    return Uncommitted({path: spans for path, spans in lines if spans})


def _changed_lines(git: str, directory: str, path: str, committed: Entry | None) -> Spans:
    known = committed.name if committed is not None and committed.is_file else ""
    try:
        with opened_below(directory, path) as handle:
            status, after = read_whole(handle, MAX_BYTES)
    except ChangingError:
        return EVERY_LINE
    except OSError:
        return ()
    if known and holds(directory, path, known):
        return ()
    before = _blob(git, directory, known) if known else b""
    if before is None or status.st_size > MAX_BYTES:
        return EVERY_LINE
    return changed_spans(_lines(before), _lines(after)) if known else ((1, after.count(b"\n") + 1),)


def _blob(git: str, directory: str, name: str) -> bytes | None:
    """None if it is too large, or missing."""
    told = run_git(git, directory, "cat-file", "-s", name)
    if told is None or told.returncode or int(told.stdout) > MAX_BYTES:
        return None
    read = run_git(git, directory, "cat-file", "blob", name)
    return None if read is None or read.returncode else read.stdout


def _lines(content: bytes) -> list[bytes]:
    """Without line ends, which a checkout may have changed."""
    return [line.rstrip(b"\r") for line in content.split(b"\n")]


def changed_spans(before: list[bytes], after: list[bytes]) -> Spans:
    """The lines of `after` that are not in `before`; where lines were taken out, those on both sides."""
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if len(old) * len(new) > MAX_PAIRS:
        return ((start + 1, start + len(new)),)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    spans = (_span(tag, start + low, start + high, len(after)) for tag, _, _, low, high in matcher.get_opcodes())
    return tuple(span for span in spans if span)


def alike(before: list[bytes], after: list[bytes]) -> int:
    """How many lines from the beginning are the same."""
    pairs = zip(before, after, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _span(tag: str, low: int, high: int, count: int) -> tuple[int, int] | None:
    if tag == "equal":
        return None
    return (max(low, 1), min(low + 1, count)) if tag == "delete" else (low + 1, high)
