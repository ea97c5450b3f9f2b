"""What the last commit has of a file, and whether there is one at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from dowse.errors import BadInput
from dowse.ingest.sources.git.asking import attempt, path_of, spellings
from dowse.ingest.sources.git.running import ask_history

_FILE: Final = b"100"


def is_unborn(git_directory: Path) -> bool:
    """Whether the first commit is still to be made: the head names a branch, and nothing is there. A branch that is
    there and can not be read is another matter."""
    told = attempt(git_directory, "symbolic-ref", "--quiet", "HEAD")
    if isinstance(told, str):
        return False
    branch = told.strip()
    # Of what is broken it only warns.
    found = ask_history(str(git_directory), "for-each-ref", "--format=%(refname)", os.fsdecode(branch))
    return found is not None and not found.returncode and branch not in (*found.stdout.split(), *found.stderr.split())


def committed(git_directory: Path, path: str) -> tuple[str, str]:
    """What git calls the file, and the object that the last commit has there, empty where that is none. BadInput where
    git can not tell."""
    found = attempt(git_directory, "ls-tree", "-z", "--full-tree", "HEAD", "--", *spellings([path])) if path else b""
    if isinstance(found, str):
        if not is_unborn(git_directory):
            raise BadInput(f"git could not read {git_directory}: {found}")
        found = b""
    for entry in found.split(b"\0"):
        about, _, name = entry.partition(b"\t")
        if about.startswith(_FILE) and path_of(name) == path:
            return os.fsdecode(name), about.rpartition(b" ")[2].decode("ascii")
    return path, ""


def blob(git_directory: Path, name: str, most_bytes: int) -> bytes | str:
    """What an object holds, or why that can not be told: it may be missing, or too large to be read."""
    told = attempt(git_directory, "cat-file", "-s", name)
    if isinstance(told, str):
        return told
    if int(told) > most_bytes:
        return f"it has {int(told):,} bytes; files of more than {most_bytes:,} are not compared"
    return attempt(git_directory, "cat-file", "blob", name)


def lines_of(content: bytes) -> list[bytes]:
    """Without their ends, which a checkout may have changed."""
    lines = [line.rstrip(b"\r") for line in content.split(b"\n")]
    return lines[:-1] if not lines[-1] else lines
