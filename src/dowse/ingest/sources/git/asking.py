"""Questions to git about a repository's past: bounded in time, and answered or refused in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.running import ask_history
from dowse.text.surrogates import is_text

_NAMES_ARE_NAMES = "--literal-pathspecs"
_MAX_REASON_CHARS = 200
_EVERYTHING = ("--branches", "--tags", "--remotes")
_SPELT_OUT = re.compile(rb"\\x([89a-f][0-9a-f])")


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


def spellings(paths: Iterable[str]) -> list[str]:
    """The names that may be told so, as git and the system are given them: with the bytes that are spelt out, or with
    just these letters."""
    return list(dict.fromkeys(name for path in paths for name in (path, _name_of(path))))


def is_spelt_out(directory: Path, path: str) -> bool:
    """Whether a name with such bytes was meant, and no path with its parts divided by backslashes: something in the
    history has it."""
    name = _name_of(path)
    if name == path:
        return False
    known = attempt(directory, "log", "-1", "--format=%H", *_EVERYTHING, "--", name)
    return not isinstance(known, str) and bool(known)


def _name_of(path: str) -> str:
    if "\\x" not in path or not is_text(path):
        return path
    return os.fsdecode(_SPELT_OUT.sub(lambda it: bytes.fromhex(it[1].decode("ascii")), path.encode()))
