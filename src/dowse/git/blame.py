"""Who last changed each line, and the commits that touched a file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.git.commit import DEFAULT_REDACTION, FILE_EXCLUDED, Redaction
from dowse.git.diff_tree import parse_seconds
from dowse.git.repository import work_tree_above
from dowse.git.runner import decode_git_path, git_output, run_in_work_tree
from dowse.git.worktree import MAX_CHECKOUT_FILE_BYTES as MAX_FILE_BYTES
from dowse.git.worktree import (
    MAX_COMPARED_FILE_BYTES,
    MAX_LINE_PAIRS,
    count_common_prefix,
    find_committed_blob,
    read_blob,
    split_lines,
)
from dowse.text.secrets import mask_secrets

MAX_BLAMED_LINES = 2000
# The configuration may name a file of commits to ignore, which need not exist.
_BLAME_COMMAND = ("blame", "--porcelain", "--no-textconv", "--no-progress", "--no-ignore-revs-file", "--encoding=UTF-8")
_PORCELAIN_HEADER = re.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-7]{3})')
_ESCAPED_BYTES = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


@dataclass(frozen=True, slots=True)
class LineOrigin:
    """The origin of a line: commit (empty: not committed yet), author, time, and its path and line number in that
    commit."""

    commit: str = ""
    author: str = ""
    email: str = ""
    at: float = 0.0
    path: str = ""
    line: int = 0


UNCOMMITTED_ORIGIN = LineOrigin()


@dataclass(frozen=True, slots=True)
class BlamedLine:
    line: int
    content: str
    writing: LineOrigin


@dataclass(frozen=True, slots=True)
class Blame:
    """`total`: number of lines in the file. `cut`: number of requested lines left out."""

    lines: tuple[BlamedLine, ...]
    total: int
    cut: int = 0


def blame(
    git_directory: Path,
    path: str,
    start_line: int,
    end_line: int,
    current: bytes | None,
    withholding: Redaction = DEFAULT_REDACTION,
) -> Blame:
    """Blame a range of lines. `current` is the content in the work tree; None without one."""
    if withholding.is_excluded(path):
        raise BadInput(f"cannot blame {path!r}: {FILE_EXCLUDED}; ask for another file")
    name, before = _read_committed(git_directory, path)
    content = before if current is None else current
    if content is None:
        raise BadInput(f"{path!r} is not a file in the repository's last commit; give a path relative to its top")
    lines = split_lines(content)
    if start_line > len(lines):
        raise BadInput(f"{path!r} has {len(lines):,} lines; startLine {start_line:,} is beyond them")
    last = min(end_line, len(lines), start_line + MAX_BLAMED_LINES - 1)
    places = map_lines(split_lines(before or b""), lines) if current is not None else list(range(1, len(lines) + 1))
    wanted = [it for it in places[start_line - 1 : last] if it]
    origins = _blame_committed(git_directory, name, min(wanted), max(wanted)) if wanted else {}
    shown = split_lines(withholding.mask_secrets(content)[0])
    rows = (
        BlamedLine(number, _decode_line(shown[number - 1]), origins.get(places[number - 1], UNCOMMITTED_ORIGIN))
        for number in range(start_line, last + 1)
    )
    return Blame(tuple(rows), len(lines), min(end_line, len(lines)) - last)


def _read_committed(git_directory: Path, path: str) -> tuple[str, bytes | None]:
    """Return git's name for the file, and its content in the last commit; None if it has none."""
    name, known = find_committed_blob(git_directory, path)
    content = read_blob(git_directory, known, MAX_FILE_BYTES) if known else None
    if isinstance(content, str):
        raise BadInput(f"git could not read {path!r} in the last commit: {content}")
    return name, content


def _decode_line(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def map_lines(before: list[bytes], after: list[bytes]) -> list[int]:
    """Return for each line of `after` its line number in `before`, from 1; 0 if it is new."""
    start = count_common_prefix(before, after)
    end = count_common_prefix(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    places = [*range(1, start + 1), *([0] * len(new)), *range(len(before) - end + 1, len(before) + 1)]
    if len(old) * len(new) > MAX_LINE_PAIRS or sum(map(len, new)) > MAX_COMPARED_FILE_BYTES:
        return places
    for first, second, count in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for at in range(count):
            places[start + second + at] = start + first + at + 1
    return places


def _blame_committed(git_directory: Path, path: str, first: int, last: int) -> dict[int, LineOrigin]:
    """Blame lines of the last commit; return the origins by line number."""
    return dict(
        _parse_porcelain(git_output(git_directory, *_BLAME_COMMAND, "-L", f"{first},{last}", "HEAD", "--", path))
    )


def _parse_porcelain(output: bytes) -> Iterator[tuple[int, LineOrigin]]:
    """Parse porcelain output. The facts about a commit follow its first line only."""
    known: dict[bytes, dict[bytes, bytes]] = {}
    commit, line, number = b"", 0, 0
    for row in output.split(b"\n"):
        if header := _PORCELAIN_HEADER.fullmatch(row):
            commit, line, number = header[1], int(header[2]), int(header[3])
            known.setdefault(commit, {})
        elif row.startswith(b"\t"):
            yield number, _make_origin(commit, line, known[commit])
        elif commit:
            name, _, value = row.partition(b" ")
            known[commit][name] = value


def _make_origin(commit: bytes, line: int, facts: dict[bytes, bytes]) -> LineOrigin:
    return LineOrigin(
        commit.decode("ascii"),
        _decode_line(facts.get(b"author", b"")),
        _decode_line(facts.get(b"author-mail", b"")).removeprefix("<").removesuffix(">"),
        float(parse_seconds(facts.get(b"author-time", b"0"))),
        decode_git_path(_unquote_path(facts.get(b"filename", b""))),
        line,
    )


def _unquote_path(name: bytes) -> bytes:
    if not name.startswith(b'"'):
        return name
    return _ESCAPE.sub(lambda it: _ESCAPED_BYTES.get(it[1]) or _unescape(it[1]), name[1:-1])


def _unescape(escaped: bytes) -> bytes:
    return bytes([int(escaped, 8)]) if len(escaped) == 3 else escaped


# --------------------------------------------------------------------------------------------------
# Read subjects and file names of recent commits, without running anything the repository configures.

_NAME_OPTIONS = (
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
# Every field ends with a zero byte. Only the gap between two commits is an empty field: paths are never empty, and the
# mark keeps subjects from being so.
_SUBJECT_MARK = b":"
_LOG_FORMAT = f"--format=%x00{_SUBJECT_MARK.decode()}%s"


class LoggedCommit(NamedTuple):
    """A commit's subject, and the paths it changed below the requested directory."""

    subject: str
    paths: tuple[str, ...]


def recent_commits(directory: str, limit: int) -> list[LoggedCommit]:
    """Return the last commits that changed the directory, newest first, without merges; none outside of git."""
    top = work_tree_above(directory)
    if top is None:
        return []
    command = ("log", "--no-merges", f"--max-count={limit}", "--encoding=UTF-8", _LOG_FORMAT, *_NAME_OPTIONS)
    logged = run_in_work_tree(top, directory, *command, "HEAD", "--", ".")
    return [] if logged is None or logged.returncode else list(_parse_commits(logged.stdout))


def _parse_commits(output: bytes) -> Iterator[LoggedCommit]:
    for is_commit, fields in groupby(output.split(b"\0"), key=bool):
        subject, *names = fields if is_commit else [b""]
        if subject.startswith(_SUBJECT_MARK):
            message = mask_secrets(subject.removeprefix(_SUBJECT_MARK))[0].decode(errors="replace").strip()
            # The line break between message and files precedes the first path.
            names[:1] = [name.removeprefix(b"\n") for name in names[:1]]
            yield LoggedCommit(message, tuple(os.fsdecode(name) for name in names))
