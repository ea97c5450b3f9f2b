"""What the last commit has of a file, and which lines of the work tree's it has not."""

from __future__ import annotations

import os
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import ask, attempt, path_of, spellings
from dowse.ingest.sources.git.checkout import Checkout
from dowse.ingest.sources.git.uncommitted import MAX_BYTES, Spans, changed_spans


def committed(git_directory: Path, path: str) -> tuple[str, bytes | None]:
    """What git calls the file, and what the last commit has in it; None where that is nothing."""
    found = attempt(git_directory, "ls-tree", "-z", "--full-tree", "HEAD", "--", *spellings([path]))
    for entry in () if isinstance(found, str) else found.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        mode, _, rest = about.partition(b" ")
        if mode.startswith(b"100") and path_of(name) == path:
            content = ask(git_directory, "cat-file", "blob", rest.rpartition(b" ")[2].decode("ascii"))
            return os.fsdecode(name), content
    return path, None


def lines_of(content: bytes) -> list[bytes]:
    """Without their ends, which a checkout may have changed."""
    lines = [line.rstrip(b"\r") for line in content.split(b"\n")]
    return lines[:-1] if not lines[-1] else lines


def edited_lines(checkout: Checkout, path: str) -> Spans:
    """The lines of the work tree that the last commit has not; all of a file that only one of the two has. Nothing,
    where git does not tell."""
    try:
        _, old = committed(checkout.git_directory, path)
    except BadInput:
        return ()
    new = checkout.current(path)
    if old is None or new is None or max(len(old), len(new)) > MAX_BYTES:
        return () if old == new else ((1, len(lines_of(new or old or b""))),)
    return changed_spans(lines_of(old), lines_of(new))
