"""Questions to git about a repository's past: hardened, bounded in time, and answered or refused in one sentence."""

from __future__ import annotations

import shutil
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.running import run_git

# What a repository may configure for commands that look at commits: programs, and files that need not be there.
_HARDENED = (
    "-c", "log.showSignature=false",
    "-c", "diff.external=",
    "-c", "diff.orderFile=/dev/null",
    "-c", "diff.ignoreSubmodules=none",
    "-c", "blame.ignoreRevsFile=",
    "-c", "core.quotePath=false",
    "--literal-pathspecs",
)  # fmt: skip
_MAX_REASON_CHARS = 200


def ask(directory: Path, *command: str, given: bytes = b"") -> bytes:
    """What git prints; BadInput says why it does not."""
    answer = attempt(directory, *command, given=given)
    if isinstance(answer, str):
        raise BadInput(f"git could not read {directory}: {answer}")
    return answer


def attempt(directory: Path, *command: str, given: bytes = b"") -> bytes | str:
    """What git prints, or the first line of what it complains about."""
    git = shutil.which("git")
    if git is None:
        return "git is not installed"
    done = run_git(git, str(directory), *_HARDENED, *command, given=given)
    if done is None:
        return "it took too long"
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        return (complaint[0] if complaint else f"exit code {done.returncode}")[:_MAX_REASON_CHARS]
    return done.stdout
