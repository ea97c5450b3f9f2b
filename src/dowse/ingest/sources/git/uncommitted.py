"""Which lines of a work tree differ from its last commit, told without running anything the repository configures.

`git diff` of a work tree would run filters and diff programs; so names and objects come from plumbing, and lines are
compared here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from dowse.ingest.sources.git.listing import list_work_tree
from dowse.ingest.sources.git.repository import work_tree_above
from dowse.ingest.sources.git.running import run_git

MAX_BYTES = 2_000_000  # of a file whose lines are compared; a larger one counts as changed as a whole
MAX_PAIRS = 4_000_000  # of lines that may have to be compared; beyond that all between the same ends counts as changed
Spans = tuple[tuple[int, int], ...]
"""First and last lines, from 1."""
_ASTRAY = frozenset({"", ".", "..", ".git"})


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """Changed lines by path, relative to the directory; lines of deleted files are not there any more.

    `problem` says why nothing could be told.
    """

    lines: dict[str, Spans]
    deleted: tuple[str, ...] = ()
    problem: str = ""


def uncommitted(directory: Path) -> Uncommitted:
    directory = directory.resolve()
    top, git = work_tree_above(str(directory)), shutil.which("git")
    if git is None or top is None:
        return Uncommitted({}, problem=f"{directory} is in no git work tree" if git else "git is not installed")
    committed = _committed(git, str(directory))
    listed = list_work_tree(top, str(directory))
    if committed is None or listed is None:
        return Uncommitted({}, problem=f"git could not list {directory}")
    lines: dict[str, Spans] = {}
    for path in sorted(name for name in listed.names if not name.endswith("/")):
        found = _changed_lines(git, directory, path, committed.get(path))
        if found:
            lines[path] = found
    return Uncommitted(lines, tuple(sorted(it for it in committed if not os.path.lexists(directory / it))))


def _committed(git: str, directory: str) -> dict[str, str] | None:
    """The object of every file in the last commit; none before the first one."""
    if _failed(git, directory, "rev-parse", "--verify", "--quiet", "HEAD"):
        return {}
    tree = run_git(git, directory, "ls-tree", "-r", "-z", "HEAD", "--", ".")
    if tree is None or tree.returncode:
        return None
    return dict(_files(tree.stdout))


def _failed(git: str, directory: str, *command: str) -> bool:
    done = run_git(git, directory, *command)
    return done is None or done.returncode != 0


def _files(output: bytes) -> Iterator[tuple[str, str]]:
    for entry in output.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        mode, _, rest = about.partition(b" ")
        if mode in (b"100644", b"100755"):
            yield os.fsdecode(name), rest.rpartition(b" ")[2].decode("ascii")


def _changed_lines(git: str, directory: Path, path: str, committed: str | None) -> Spans:
    after = _read(directory, path)
    if after is None or _object_id(after, committed or "") == committed:
        return ()
    before = None if committed is None else _blob(git, str(directory), committed)
    if before is None or len(after) > MAX_BYTES or len(before) > MAX_BYTES:
        return ((1, after.count(b"\n") + 1),)
    return changed_spans(_lines(before), _lines(after))


def _read(directory: Path, path: str) -> bytes | None:
    """A file below the directory; a name that leads elsewhere, which only a crafted index has, is none."""
    place = directory / path
    if _ASTRAY & set(path.split("/")) or os.path.realpath(place.parent) != str(place.parent):
        return None
    try:
        return place.read_bytes() if stat.S_ISREG(os.lstat(place).st_mode) else None
    except OSError:
        return None


def _object_id(content: bytes, like: str) -> str:
    """What git calls this content, with whichever hash the repository uses."""
    digest = hashlib.sha256 if len(like) == 64 else hashlib.sha1
    return digest(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _blob(git: str, directory: str, name: str) -> bytes | None:
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
