"""The state of a repository's branches, tags and heads, read from its files without running git."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.ingest.sources.git.repository import small_text

# Not the stash, not notes, and not what a server keeps of others' proposals.
KINDS: Final = ("heads", "tags", "remotes")
_HEX: Final = frozenset("0123456789abcdef")
_WHOLE_FILES: Final = ("packed-refs", "shallow", "reftable/tables.list")


@dataclass(frozen=True, slots=True)
class Refs:
    """`token` differs whenever anything that a history is made from may have changed; `heads` are the commits that
    work trees are at without a branch."""

    token: str
    heads: tuple[str, ...]


def refs_of(git_directory: str) -> Refs | None:
    """None where no repository is, or none that may be read."""
    try:
        head = small_text(Path(git_directory, "HEAD"))
        if not head:
            return None
        heads = [head, *(small_text(it / "HEAD") for it in _linked(git_directory))]
        digest = hashlib.sha256("\0".join(heads).encode(errors="surrogateescape"))
        for line in (*_stamps(git_directory), *_loose(git_directory)):
            digest.update(line.encode(errors="surrogateescape"))
    except OSError:
        return None
    detached = sorted({it.strip() for it in heads if is_name(it.strip())})
    return Refs(digest.hexdigest(), tuple(detached))


def is_name(text: str) -> bool:
    """Whether it is the whole name of an object, and nothing that git could take for anything else."""
    return len(text) in (40, 64) and _HEX.issuperset(text)


def shallow_of(git_directory: str) -> frozenset[str]:
    """The commits whose parents were not fetched."""
    try:
        lines = Path(git_directory, "shallow").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return frozenset()
    return frozenset(filter(is_name, lines))


def _linked(git_directory: str) -> list[Path]:
    """Where the linked work trees keep their heads."""
    try:
        with os.scandir(f"{git_directory}/worktrees") as scan:
            return sorted(Path(entry.path) for entry in scan)
    except OSError:
        return []


def _stamps(git_directory: str) -> Iterator[str]:
    """Of files that git replaces as a whole, so that what they are shows whether they changed."""
    for name in _WHOLE_FILES:
        try:
            status = Path(git_directory, name).stat()
        except OSError:
            continue
        yield f"\0{name} {status.st_size} {status.st_mtime_ns} {status.st_ino}"


def _loose(git_directory: str) -> Iterator[str]:
    for kind in KINDS:
        for place, folders, names in os.walk(f"{git_directory}/refs/{kind}"):
            folders.sort()
            for name in sorted(names):
                if not name.endswith(".lock"):
                    yield f"\0{place}/{name} {small_text(Path(place, name))}"
