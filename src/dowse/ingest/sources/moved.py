"""Detect that a directory was indexed under another path, by its inode or by its content."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.model import ItemVersion
from dowse.safe_open import open_below, read_file

SAMPLED_PATHS: Final = 50
# Inodes are reused, so an equal inode alone proves little.
_MIN_PRESENT_SHARE: Final = 0.5
_MIN_UNCHANGED_SHARE: Final = 0.9
_MAX_COMPARED_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class IndexedRoot:
    """An indexed root: its path, the identity of its directory, and a sample of its files.

    `commits` is a sample of each history below it, by the root of the history: a bare repository has no files.
    """

    root: Path
    identity: str
    files: Callable[[], Mapping[str, ItemVersion]]  # loaded only if it decides
    commits: Callable[[], Mapping[str, Iterable[str]]] = dict


@dataclass(frozen=True, slots=True, order=True)
class RootMatch:
    """How well a directory matches an indexed one; greater is better."""

    same_directory: bool
    share: float


def root_identity_key(root: str) -> str:
    """Return the metadata key under which an index stores the identity of a root."""
    return f"identity {root}"


def read_root_identity(place: Path) -> str:
    """Return device and inode, which a directory keeps when it is renamed; empty if it does not exist."""
    try:
        status = place.stat()
    except (OSError, ValueError):
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def sample_paths(paths: Iterable[str]) -> list[str]:
    """Return at most SAMPLED_PATHS of the paths, evenly spaced."""
    ordered = sorted(paths)
    return ordered[:: max(1, -(-len(ordered) // SAMPLED_PATHS))]


def match_moved_root(traces: IndexedRoot, place: Path) -> RootMatch | None:
    """Return how well the directory matches, or None unless it is clearly the indexed one, moved here."""
    if not may_have_moved(traces, place):
        return None
    same = _has_same_identity(traces, place)
    results = [_compare_file(place, path, version) for path, version in traces.files().items()]
    results = results or [(it, it) for it in _check_commits(traces, place)]
    present, unchanged = (sum(it[which] for it in results) / max(1, len(results)) for which in (0, 1))
    fits = present >= _MIN_PRESENT_SHARE if same else unchanged >= _MIN_UNCHANGED_SHARE
    return RootMatch(same, unchanged) if fits else None


def may_have_moved(traces: IndexedRoot, place: Path) -> bool:
    """Return whether the indexed directory can now be at this place.

    That is so if its old path is gone, or is a link to this place. It is also so if the old path holds another
    directory while this one has the indexed identity.
    """
    before = traces.root
    if not before.exists():
        return True
    if not _has_no_links(before):
        return Path(os.path.realpath(before)) == place
    return _has_same_identity(traces, place) and read_root_identity(before) != traces.identity


def _has_same_identity(traces: IndexedRoot, place: Path) -> bool:
    return bool(traces.identity) and read_root_identity(place) == traces.identity


def _has_no_links(root: Path) -> bool:
    """Return whether the path has no link in it. Roots are stored without links, so one that leads elsewhere is
    another."""
    return os.path.realpath(root) == str(root)


def _check_commits(traces: IndexedRoot, place: Path) -> Iterator[bool]:
    """Yield for each sampled commit whether git has it here. A hash identifies its content, so no time is compared."""
    from dowse.git.repositories import has_commits  # few roots have no files

    for history_root, names in traces.commits().items():
        yield from has_commits(str(place / Path(history_root).relative_to(traces.root)), names)


def _compare_file(place: Path, path: str, version: ItemVersion) -> tuple[bool, bool]:
    """Return whether a file is there, and whether it is the indexed version."""
    try:
        with open_below(str(place), path) as handle:
            status = os.fstat(handle)
            unchanged = status.st_size == version.size and (
                status.st_mtime_ns == version.mtime_ns or _digest(handle) == version.digest
            )
            return True, unchanged
    except (OSError, ValueError):
        return False, False


def _digest(handle: int) -> str:
    return hashlib.sha256(read_file(handle, _MAX_COMPARED_BYTES)[1]).hexdigest()
