"""Questions to git about a repository's past: bounded in time, and answered or refused in one sentence."""

from __future__ import annotations

from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.running import ask_history

_NAMES_ARE_NAMES = "--literal-pathspecs"
_MAX_REASON_CHARS = 200


def ask(directory: Path, *command: str, given: bytes = b"") -> bytes:
    """What git prints; BadInput says why it does not."""
    answer = attempt(directory, *command, given=given)
    if isinstance(answer, str):
        raise BadInput(f"git could not read {directory}: {answer}")
    return answer


def attempt(directory: Path, *command: str, given: bytes = b"") -> bytes | str:
    """What git prints, or the first line of what it complains about."""
    done = ask_history(str(directory), _NAMES_ARE_NAMES, *command, given=given)
    if done is None:
        return "git is not installed, or took too long"
    if done.returncode:
        complaint = done.stderr.decode(errors="replace").strip().splitlines()
        return (complaint[0] if complaint else f"exit code {done.returncode}")[:_MAX_REASON_CHARS]
    return done.stdout


def path_of(name: bytes) -> str:
    """As it is told everywhere: what is not UTF-8 is spelt out."""
    return name.decode(errors="backslashreplace")
