"""What lies beside an index file and belongs to it: logs, locks, caches, the journal of jobs."""

from __future__ import annotations

from glob import escape
from pathlib import Path
from typing import Final

from dowse.errors import IndexUnusable

LOGS: Final = ("-wal", "-shm", "-journal")
CACHES: Final = ("-vectors", "-lines")
_LOCK = (".lock", ".lock.next", ".lock.turn")
SUFFIXES: Final = (
    *LOGS,
    *_LOCK,
    ".leader",
    ".encoding",
    ".background",
    "-jobs",
    "-jobs.new",
    *(cache + part for cache in CACHES for part in ("", ".new", ".damaged", *_LOCK)),
)
"""Of its own; a damaged index that was set aside has a name that begins with QUARANTINE after the index's."""

QUARANTINE: Final = ".damaged-"


def belongings(index: Path) -> list[Path]:
    """The index and what lies beside it, unfinished or set aside, too, as far as it is there."""
    own = (index.with_name(f"{index.name}{new}{suffix}") for new in ("", ".new") for suffix in ("", *SUFFIXES))
    aside = index.parent.glob(f"{escape(index.name + QUARANTINE)}*")
    return sorted(it for it in (*own, *aside) if it.exists())


def refuse_links(index: Path) -> None:
    """A repository may come with links in the place of these files: what is written to them would go elsewhere."""
    for suffix in SUFFIXES:
        if Path(f"{index}{suffix}").is_symlink():
            raise IndexUnusable(f"{index}{suffix} is a link, and no index is kept behind one; remove it")
