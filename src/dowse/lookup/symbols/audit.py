"""Which files of known languages yielded no definition, and why: what an answer about definitions can not see."""

from __future__ import annotations

from pathlib import PurePosixPath

from dowse.errors import BadInput
from dowse.lookup.symbols.question import Audit, Silent
from dowse.store.base import Store
from dowse.store.definitions import FileFacts


def audit(store: Store, least_bytes: int = 500) -> Audit:
    """Silent are the files of at least this size; what was skipped counts as unreadable if its like is known."""
    if least_bytes < 0:
        raise BadInput(f"a file size must be 0 or more, not {least_bytes}")
    known = [it for it in store.files() if "language" in it.facets]
    defining, lossy = store.defining(), store.lossy()
    silent = [it for it in known if (it.collection, it.path) not in defining]
    suffixes = {PurePosixPath(it.path).suffix.lower() for it in known}
    return Audit(
        files=len(known),
        with_definitions=len(known) - len(silent),
        unreadable=sum(PurePosixPath(it.path).suffix.lower() in suffixes for it in store.skipped()),
        lossy=sum((it.collection, it.path) in lossy for it in known),
        silent=tuple(Silent(it.path, it.collection, it.size, _reason(it)) for it in silent if it.size >= least_bytes),
    )


def _reason(file: FileFacts) -> str:
    return file.facets.get("unparsed") or file.facets.get("empty", "")
