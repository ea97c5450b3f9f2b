"""Which lines of a work tree differ from its last commit, told without running anything the repository configures.

`git diff` of a work tree would run filters and diff programs; so lines are compared here.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import spellings
from dowse.ingest.sources.git.work_tree.changed import changed
from dowse.ingest.sources.git.work_tree.checkout import Checkout, checkout_at
from dowse.ingest.sources.git.work_tree.content import Likeness, likeness
from dowse.ingest.sources.git.work_tree.head import blob, committed, lines_of
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
    found, checkout = changed(directory), checkout_at(directory)
    if found.problem or checkout is None:
        return Uncommitted({}, found.problem)
    entries = ((path, found.committed.get(path)) for path in found.paths)
    known = ((path, entry.name if entry is not None and entry.is_file else "") for path, entry in entries)
    lines = ((path, _changed_lines(checkout.git_directory, str(directory), path, name)) for path, name in known)
    return Uncommitted({path: spans for path, spans in lines if spans})


def edited_lines(checkout: Checkout, path: str) -> Spans:
    """The lines of the work tree that the last commit has not; all of a file that only one of the two has. Nothing,
    where git does not tell, and where there is no work tree."""
    if checkout.top is None:
        return ()
    try:
        called, known = committed(checkout.git_directory, path)
    except BadInput:
        return ()
    names = [called] if known else spellings([path])
    compared = (_changed_lines(checkout.git_directory, str(checkout.top), name, known) for name in names)
    found = next((spans for spans in compared if spans is not None), None)
    return EVERY_LINE if found is None and known else found or ()


def _changed_lines(git_directory: Path, directory: str, path: str, known: str) -> Spans | None:
    """Against the object that is known, all if none is; None where no regular file is."""
    try:
        with opened_below(directory, path) as handle:
            status, after = read_whole(handle, MAX_BYTES)
    except ChangingError:
        return EVERY_LINE
    except (OSError, ValueError):
        return None
    if known and likeness(directory, path, known) is not Likeness.NONE:
        return ()
    before = blob(git_directory, known, MAX_BYTES) if known else b""
    if isinstance(before, str) or status.st_size > MAX_BYTES:
        return EVERY_LINE
    lines = lines_of(after)
    return changed_spans(lines_of(before), lines) if known else ((1, max(1, len(lines))),)


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
    return (max(low, 1), max(min(low + 1, count), 1)) if tag == "delete" else (low + 1, high)
