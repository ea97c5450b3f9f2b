"""The same questions asked of git, which reads every commit again for each."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from histories.asking import Question
from measuring import say
from timing import ms

MESSAGES, CHANGES = "git log --grep", "git log -S"
_ASKED = {MESSAGES: 5, CHANGES: 1}
"""How many questions: one over all changes takes as long as hundreds over all messages."""


def ask_git(repository: Path, commits: Sequence[str], asked: Sequence[Question]) -> dict[str, list[float]]:
    """Milliseconds of each question, over the same commits."""
    given = "".join(f"{it}\n" for it in commits).encode()
    ways = {
        MESSAGES: lambda it: ["-i", "--all-match", *(f"--grep={word}" for word in it.text.split())],
        CHANGES: lambda it: [f"-S{max(it.text.split(), key=len)}"],
    }
    times: dict[str, list[float]] = {}
    for name, options in ways.items():
        say(f"history: {name}")
        times[name] = [ms(_log, repository, options(it), given) for it in asked[: _ASKED[name]]]
    return times


def _log(repository: Path, options: Sequence[str], given: bytes) -> None:
    """What it finds is of no interest; objects that are missing may end it early, which only makes it quicker."""
    subprocess.run(
        ["git", "-C", str(repository), "log", "--stdin", "--no-walk=unsorted", "--format=%H", *options],
        input=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "GIT_NO_LAZY_FETCH": "1"},
        check=False,
    )
