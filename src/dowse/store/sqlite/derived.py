"""Files that belong to an index: logs, locks, sidecars and the job log."""

from __future__ import annotations

from glob import escape
from pathlib import Path
from typing import Final

from dowse.errors import IndexUnusable

LOG_SUFFIXES: Final = ("-wal", "-shm", "-journal")
SIDECAR_SUFFIXES: Final = ("-vectors", "-lines")
_LOCK_SUFFIXES = (".lock", ".lock.next", ".lock.turn")
INDEX_FILE_SUFFIXES: Final = (
    *LOG_SUFFIXES,
    *_LOCK_SUFFIXES,
    ".leader",
    ".encoding",
    ".background",
    "-jobs",
    "-jobs.new",
    *(cache + part for cache in SIDECAR_SUFFIXES for part in ("", ".new", ".damaged", *_LOCK_SUFFIXES)),
)
"""Suffixes of these files. A quarantined index has QUARANTINE after its name instead."""

QUARANTINE_SUFFIX: Final = ".damaged-"


def index_files(index: Path) -> list[Path]:
    """Return the index and all its files that exist, including unfinished and quarantined ones."""
    candidates = (
        index.with_name(f"{index.name}{new}{suffix}") for new in ("", ".new") for suffix in ("", *INDEX_FILE_SUFFIXES)
    )
    quarantined = index.parent.glob(f"{escape(index.name + QUARANTINE_SUFFIX)}*")
    return sorted(it for it in (*candidates, *quarantined) if it.exists())


def reject_symlinks(index: Path) -> None:
    """Raise IndexUnusable if one of these files is a symlink.

    A repository may ship symlinks with these names, which would redirect writes elsewhere.
    """
    for suffix in INDEX_FILE_SUFFIXES:
        if Path(f"{index}{suffix}").is_symlink():
            raise IndexUnusable(f"{index}{suffix} is a symlink, which is not allowed for index files; remove it")
