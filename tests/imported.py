"""Repositories made in one go from a description: any shape of history, with the dates and authors a test wants."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

START = 1_700_000_000
LATER = START + 10_000_000  # of what git itself is told to commit
GIT_VARIABLES = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True, slots=True)
class Made:
    """A commit: paths with their new content (None: deleted), and renames (old, new) without any other change."""

    message: str
    files: Mapping[str, str | None] = field(default_factory=dict)
    renames: Sequence[tuple[str, str]] = ()
    parents: tuple[int, ...] | None = None  # by their numbers; None: the one before
    branch: str = "main"
    author: str = "Ann <ann@example.org>"
    at: int | None = None  # None: a minute after the one before


def run(directory: Path, *command: str, given: bytes = b"") -> str:
    done = subprocess.run(
        ["git", "-C", str(directory), "-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main", *command],
        input=given,
        env={**os.environ, **GIT_VARIABLES, "GIT_AUTHOR_DATE": f"@{LATER} +0000", **_committer()},
        check=True,
        capture_output=True,
    )
    return done.stdout.decode(errors="replace")


def _committer() -> dict[str, str]:
    return {
        "GIT_AUTHOR_NAME": "Ann",
        "GIT_AUTHOR_EMAIL": "ann@example.org",
        "GIT_COMMITTER_NAME": "Ann",
        "GIT_COMMITTER_EMAIL": "ann@example.org",
        "GIT_COMMITTER_DATE": f"@{LATER} +0000",
    }


def repository(folder: Path, commits: Sequence[Made], *, check_out: bool = True) -> list[str]:
    """Makes it in this folder; the hashes of the commits, in their order."""
    folder.mkdir(parents=True, exist_ok=True)
    run(folder, "init", "-q")
    if not commits:
        return []
    marks = folder / ".git" / "marks"
    run(folder, "fast-import", "--quiet", f"--export-marks={marks}", given=_stream(commits))
    if check_out:
        run(folder, "reset", "-q", "--hard")
    by_mark = dict(line.split() for line in marks.read_text().splitlines())
    marks.unlink()
    return [by_mark[f":{number}"] for number in range(1, len(commits) + 1)]


def _stream(commits: Sequence[Made]) -> bytes:
    return b"".join(_commit(number, it) for number, it in enumerate(commits, 1))


def _commit(number: int, made: Made) -> bytes:
    at = START + 60 * number if made.at is None else made.at
    message = made.message.encode()
    lines = [
        f"commit refs/heads/{made.branch}\nmark :{number}\nauthor {made.author} {at} +0000\n"
        f"committer {made.author} {at} +0000\ndata {len(message)}\n".encode()
        + message
        + b"\n"
    ]
    parents = made.parents if made.parents is not None else ((number - 1,) if number > 1 else ())
    kinds = ("from", *["merge"] * len(parents))
    lines += [f"{kind} :{parent}\n".encode() for kind, parent in zip(kinds, parents, strict=False)]
    lines += [f"R {_quoted(old)} {_quoted(new)}\n".encode() for old, new in made.renames]
    for path, text in made.files.items():
        lines.append(_change(path, text))
    return b"".join([*lines, b"\n"])


def _change(path: str, text: str | None) -> bytes:
    if text is None:
        return f"D {_quoted(path)}\n".encode()
    data = text.encode()
    return f"M 100644 inline {_quoted(path)}\ndata {len(data)}\n".encode() + data + b"\n"


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
