"""Who last wrote each line of a file, as it is in the work tree now.

Only commits are given to git to look at: of a work tree it would run the filters a repository configures. Lines that
differ from the last commit are told apart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import ask, path_of
from dowse.ingest.sources.git.reading.parsing import seconds
from dowse.ingest.sources.git.withholding import LEFT_OUT, MASKING, Withholding
from dowse.ingest.sources.git.work_tree.checkout import MAX_BYTES as MAX_FILE_BYTES
from dowse.ingest.sources.git.work_tree.head import blob, committed, lines_of
from dowse.ingest.sources.git.work_tree.uncommitted import MAX_BYTES, MAX_PAIRS, alike

MAX_LINES = 2000
# A configuration may name a file of commits to pass over, which need not be there.
_COMMAND = ("blame", "--porcelain", "--no-textconv", "--no-progress", "--no-ignore-revs-file", "--encoding=UTF-8")
_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(frozen=True, slots=True)
class Writing:
    """Which commit a line is from (empty: it is not committed yet), who wrote that and when, and where the line stood
    in it."""

    commit: str = ""
    author: str = ""
    email: str = ""
    at: float = 0.0
    path: str = ""
    line: int = 0


NOT_COMMITTED = Writing()


@dataclass(frozen=True, slots=True)
class BlamedLine:
    line: int
    content: str
    writing: Writing


@dataclass(frozen=True, slots=True)
class Blame:
    """`total`: how many lines the file has. `cut`: how many of those that were asked for are left out."""

    lines: tuple[BlamedLine, ...]
    total: int
    cut: int = 0


def blame(
    git_directory: Path,
    path: str,
    start_line: int,
    end_line: int,
    current: bytes | None,
    withholding: Withholding = MASKING,
) -> Blame:
    """The lines from the first to the last one; `current` is what the work tree has, None where there is none."""
    if withholding.is_left_out(path):
        raise BadInput(f"the lines of {path!r} are not told: {LEFT_OUT}; ask for another file")
    name, before = _committed(git_directory, path)
    content = before if current is None else current
    if content is None:
        raise BadInput(f"{path!r} is not a file of this repository's last commit; give a path from its top")
    lines = lines_of(content)
    if start_line > len(lines):
        raise BadInput(f"{path!r} has {len(lines):,} lines; startLine {start_line:,} is beyond them")
    last = min(end_line, len(lines), start_line + MAX_LINES - 1)
    places = same_lines(lines_of(before or b""), lines) if current is not None else list(range(1, len(lines) + 1))
    wanted = [it for it in places[start_line - 1 : last] if it]
    written = _written(git_directory, name, min(wanted), max(wanted)) if wanted else {}
    shown = lines_of(withholding.masked(content)[0])
    rows = (
        BlamedLine(number, _text(shown[number - 1]), written.get(places[number - 1], NOT_COMMITTED))
        for number in range(start_line, last + 1)
    )
    return Blame(tuple(rows), len(lines), min(end_line, len(lines)) - last)


def _committed(git_directory: Path, path: str) -> tuple[str, bytes | None]:
    """What git calls the file, and what the last commit has in it; None where that is nothing."""
    name, known = committed(git_directory, path)
    content = blob(git_directory, known, MAX_FILE_BYTES) if known else None
    if isinstance(content, str):
        raise BadInput(f"git could not tell what the last commit has in {path!r}: {content}")
    return name, content


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def same_lines(before: list[bytes], after: list[bytes]) -> list[int]:
    """For each line of `after`, which one of `before` it is, from 1; 0 if it is new."""
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    places = [*range(1, start + 1), *([0] * len(new)), *range(len(before) - end + 1, len(before) + 1)]
    if len(old) * len(new) > MAX_PAIRS or sum(map(len, new)) > MAX_BYTES:
        return places
    for first, second, count in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for at in range(count):
            places[start + second + at] = start + first + at + 1
    return places


def _written(git_directory: Path, path: str, first: int, last: int) -> dict[int, Writing]:
    """By line of the last commit."""
    return dict(_parsed(ask(git_directory, *_COMMAND, "-L", f"{first},{last}", "HEAD", "--", path)))


def _parsed(output: bytes) -> Iterator[tuple[int, Writing]]:
    """What is known of a commit stands behind its first line only."""
    known: dict[bytes, dict[bytes, bytes]] = {}
    commit, line, number = b"", 0, 0
    for row in output.split(b"\n"):
        if header := _HEADER.fullmatch(row):
            commit, line, number = header[1], int(header[2]), int(header[3])
            known.setdefault(commit, {})
        elif row.startswith(b"\t"):
            yield number, _writing(commit, line, known[commit])
        elif commit:
            name, _, value = row.partition(b" ")
            known[commit][name] = value


def _writing(commit: bytes, line: int, facts: dict[bytes, bytes]) -> Writing:
    return Writing(
        commit.decode("ascii"),
        _text(facts.get(b"author", b"")),
        _text(facts.get(b"author-mail", b"")).removeprefix("<").removesuffix(">"),
        float(seconds(facts.get(b"author-time", b"0"))),
        path_of(_unquoted(facts.get(b"filename", b""))),
        line,
    )


def _unquoted(name: bytes) -> bytes:
    if not name.startswith(b'"'):
        return name
    return _ESCAPE.sub(lambda it: _ESCAPED.get(it[1]) or _other(it[1]), name[1:-1])


def _other(escaped: bytes) -> bytes:
    return bytes([int(escaped, 8)]) if len(escaped) == 3 else escaped
