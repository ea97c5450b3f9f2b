"""Questions to git about a repository's past: bounded in time, and answered or refused in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from dowse.errors import BadInput
from dowse.ingest.sources.git.bounded import Finished
from dowse.ingest.sources.git.loose import EVERY
from dowse.ingest.sources.git.running import MOST_BYTES, ask_history, ask_work_tree, why_unfinished
from dowse.ingest.sources.git.traps import trap_in
from dowse.text.surrogates import is_text, spelt_out

NAMES_ARE_NAMES = "--literal-pathspecs"
_MAX_REASON_CHARS = 200
_GRAVE = ("fatal:", "error:")
_SPELT_OUT = re.compile(rb"\\x([89a-f][0-9a-f])")


def ask(directory: Path, *command: str, given: bytes = b"") -> bytes:
    """What git prints; BadInput says why it does not."""
    answer = attempt(directory, *command, given=given)
    if isinstance(answer, str):
        raise BadInput(f"git could not read {directory}: {answer}")
    return answer


def attempt(directory: Path, *command: str, given: bytes = b"", most_bytes: int = MOST_BYTES) -> bytes | str:
    """What git prints, or why it does not, in a line."""
    if trap := trap_in(str(directory)):
        return trap
    done = ask_history(str(directory), NAMES_ARE_NAMES, *command, given=given, most_bytes=most_bytes)
    return _told(done, str(directory))


def attempt_in(
    top: str, directory: str, *command: str, given: bytes = b"", most_bytes: int = MOST_BYTES
) -> bytes | str:
    """The same of a command in a directory of the work tree that begins at `top`."""
    return _told(ask_work_tree(top, directory, *command, given=given, most_bytes=most_bytes), directory)


def _told(done: Finished | None, directory: str) -> bytes | str:
    if done is None:
        return why_unfinished(directory)
    if done.returncode:
        return (_complaint(done.stderr) or f"exit code {done.returncode}")[:_MAX_REASON_CHARS]
    return done.stdout


def _complaint(said: bytes) -> str:
    """What it ended for, which warnings may stand before."""
    lines = said.decode(errors="replace").strip().split("\n")
    return next((it for it in lines if it.startswith(_GRAVE)), lines[0])


def path_of(name: bytes) -> str:
    """As git prints it, told as everywhere."""
    return spelt_out(name)


def spellings(paths: Iterable[str]) -> list[str]:
    """The names that may be told so, as git and the system are given them: with the bytes that are spelt out, or with
    just these letters."""
    return list(dict.fromkeys(name for path in paths for name in (path, _name_of(path))))


def is_called_so(directory: Path, path: str) -> bool:
    """Whether this is a name, and no path with its parts divided by backslashes or with spaces around it: the last
    commit has something of just these letters, or any commit of the bytes that are spelt out, or with the spaces."""
    if not is_text(path):
        return False
    name = _name_of(path)
    return _tells(directory, "ls-tree", "--full-tree", "HEAD", "--", path) or (
        (name != path or path != path.strip()) and _tells(directory, "log", "-1", "--format=%H", *EVERY, "--", name)
    )


def _tells(directory: Path, *command: str) -> bool:
    answer = attempt(directory, *command)
    return not isinstance(answer, str) and bool(answer)


def _name_of(path: str) -> str:
    if "\\x" not in path or not is_text(path):
        return path
    return os.fsdecode(_SPELT_OUT.sub(lambda it: bytes.fromhex(it[1].decode("ascii")), path.encode()))
