"""Tells whether a directory is one that was indexed under another path: by its inode, or by what is in it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.ingest.sources.regular_file import opened_below, read_whole
from dowse.model import Version

SAMPLE: Final = 50
# Inodes are used again, so one that is the same proves little by itself.
_STILL_THERE: Final = 0.5
_ALIKE: Final = 0.9
_MAX_READ_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Traces:
    """What an index knows of one of its roots: where it was, which directory that was, and some of its files.

    `commits` are some of each history below it, by the root of that: a bare repository has no files.
    """

    root: Path
    identity: str
    files: Callable[[], Mapping[str, Version]]  # asked for only where they decide
    commits: Callable[[], Mapping[str, Iterable[str]]] = dict


@dataclass(frozen=True, slots=True, order=True)
class Likeness:
    """How sure it is that a directory is the one that was indexed; more is better."""

    same_directory: bool
    share: float


def identity_key(root: str) -> str:
    """Under this key an index notes the identity of a root."""
    return f"identity {root}"


def identity_of(place: Path) -> str:
    """Device and inode, which a directory keeps when it is renamed; nothing where there is none."""
    try:
        status = place.stat()
    except (OSError, ValueError):
        return ""
    return f"{status.st_dev}:{status.st_ino}"


def sample(paths: Iterable[str]) -> list[str]:
    """At most so many of them, evenly taken from all."""
    ordered = sorted(paths)
    return ordered[:: max(1, -(-len(ordered) // SAMPLE))]


def likeness(traces: Traces, place: Path) -> Likeness | None:
    """How well the directory fits, or None unless it is surely the one that was indexed, and was moved."""
    if not has_left(traces, place):
        return None
    same = _is_same(traces, place)
    kept = [_kept(place, path, version) for path, version in traces.files().items()]
    kept = kept or [(it, it) for it in _commits_kept(traces, place)]
    there, alike = (sum(it[which] for it in kept) / max(1, len(kept)) for which in (0, 1))
    fits = there >= _STILL_THERE if same else alike >= _ALIKE
    return Likeness(same, alike) if fits else None


def has_left(traces: Traces, place: Path) -> bool:
    """Whether what was indexed can be at this place now: nothing is where it was any more, or a link to the place,
    or another directory, while this one is the very one that was indexed."""
    before = traces.root
    if not before.exists():
        return True
    if not _is_itself(before):
        return Path(os.path.realpath(before)) == place
    return _is_same(traces, place) and identity_of(before) != traces.identity


def _is_same(traces: Traces, place: Path) -> bool:
    return bool(traces.identity) and identity_of(place) == traces.identity


def _is_itself(root: Path) -> bool:
    """Roots are noted without links; one that leads elsewhere now is another."""
    return os.path.realpath(root) == str(root)


def _commits_kept(traces: Traces, place: Path) -> Iterator[bool]:
    """Of each commit whether git has it here. A name stands for one content, so that no time need be compared."""
    from dowse.ingest.sources.git.holding import held  # few roots have no files

    for home, names in traces.commits().items():
        yield from held(str(place / Path(home).relative_to(traces.root)), names)


def _kept(place: Path, path: str, version: Version) -> tuple[bool, bool]:
    """Whether a file is there, and whether it is as it was indexed."""
    try:
        with opened_below(str(place), path) as handle:
            status = os.fstat(handle)
            alike = status.st_size == version.size and (
                status.st_mtime_ns == version.mtime_ns or _digest(handle) == version.digest
            )
            return True, alike
    except (OSError, ValueError):
        return False, False


def _digest(handle: int) -> str:
    return hashlib.sha256(read_whole(handle, _MAX_READ_BYTES)[1]).hexdigest()
