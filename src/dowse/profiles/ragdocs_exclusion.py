"""Which files are documents to the ragdocs contract, and what it takes for `excluded_files`, as globs: file names,
names without suffix, paths, globs."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dowse.errors import BadInput
from dowse.text.globs import MAX_GLOB_CHARS, compile_globs, literal

MAX_EXCLUDED = 200  # every file is compared with each of them

TOOL_DIRECTORIES = tuple(
    f"**/{it}/**" for it in (".venv", "venv", "build", "dist", ".git", "node_modules", "__pycache__", ".pytest_cache")
)
HIDDEN_DIRECTORIES = "**/.*/**"

_SUFFIXES = ("md", "markdown", "txt")  # those the contract knows
_WILDCARDS = "*?[{"


class DocumentFiles(NamedTuple):
    """Globs of the files that are documents (all, if empty), and of those that are none whatever else they are."""

    included: tuple[str, ...] = ()
    excluded: tuple[str, ...] = (*TOOL_DIRECTORIES, HIDDEN_DIRECTORIES)


ALL_DOCUMENTS = DocumentFiles()


def excluded_globs(names: Sequence[str], roots: Sequence[str]) -> tuple[str, ...]:
    """Globs that match the files meant; a path outside of the roots means none."""
    if len(names) > MAX_EXCLUDED:
        raise BadInput(f"excluded_files: {len(names):,} entries; at most {MAX_EXCLUDED} are taken, use globs")
    bases = [Path(root).as_posix() for root in roots]
    return tuple(dict.fromkeys(glob for name in names for glob in _globs(_checked(name), bases)))


def _checked(name: str) -> str:
    if not name.strip():
        raise BadInput("excluded_files: an entry is empty; name a file")
    if len(name) > MAX_GLOB_CHARS:
        raise BadInput(f"excluded_files: {name[:40]!r}… is longer than a path can be")
    return name.replace("\\", "/")


def _globs(name: str, roots: Sequence[str]) -> Iterator[str]:
    place = posixpath.normpath(name)
    base = next((it for it in roots if place == it or place.startswith(f"{it}/")), "")
    path = place.removeprefix(base).lstrip("/")
    if not path.strip() or path == ".":
        raise BadInput(f"excluded_files: {name!r} is everything; name files in it")
    if path == ".." or path.startswith("../"):
        return
    # A bare name means any file of that name, a path the one from the root.
    lead = "/" if "/" in name.rstrip("/") else ""
    yield lead + literal(path)
    if posixpath.splitext(path)[1].removeprefix(".") not in _SUFFIXES and not name.endswith("/"):
        yield f"{lead}{literal(path)}.{{{','.join(_SUFFIXES)}}}"
    if any(it in path for it in _WILDCARDS) and is_glob(path):
        yield lead + path


def is_glob(pattern: str) -> bool:
    """Brackets and braces may be nothing but part of a file's name."""
    try:
        compile_globs([pattern])
    except BadInput:
        return False
    return True
