"""What lies beside an index file and belongs to it: logs, locks, caches, the journal of jobs."""

from __future__ import annotations

from typing import Final

LOGS: Final = ("-wal", "-shm")
CACHES: Final = ("-vectors", "-lines")
_LOCK = (".lock", ".lock.next", ".lock.turn")
SUFFIXES: Final = (
    *LOGS,
    "-journal",
    *_LOCK,
    ".leader",
    ".encoding",
    "-jobs",
    "-jobs.new",
    *(cache + part for cache in CACHES for part in ("", ".new", ".damaged", *_LOCK)),
)
"""Of its own; a damaged index that was set aside has a name that begins with QUARANTINE after the index's."""

QUARANTINE: Final = ".damaged-"
