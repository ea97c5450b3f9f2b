"""Finds the index of a directory that was renamed or moved, and brings it to where that directory's index belongs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import DowseError, IndexBusy
from dowse.ingest.sources.moved import SAMPLE, Likeness, Traces, has_left, identity_key, likeness
from dowse.model import COMMITS, FILES
from dowse.places import INDEX_NAME, Places
from dowse.store.sqlite.locks import write_lock
from dowse.store.sqlite.peek import peek, peek_files
from dowse.store.sqlite.signing import Signer

_LOOKED_AT: Final = 50
_PATIENCE_S: Final = 1.0
_LEADER: Final = f"{INDEX_NAME}.leader"
# What a process may leave behind in the place of an index that it never made.
_LEFTOVERS: Final = (f"{INDEX_NAME}.lock*", _LEADER, f"{INDEX_NAME}-jobs*")


@dataclass(frozen=True, slots=True)
class Found:
    """An index in the data directory; `home` is the root whose place it lies in, as far as it has that."""

    index: Path
    roots: tuple[Traces, ...]
    home: Traces | None

    def fit(self, folder: Path) -> tuple[Likeness, Path] | None:
        """How well it fits the folder, and which of its roots does; an index whose own directory is still there is
        never taken from it."""
        if self.home is None and len(self.roots) > 1:
            return None  # it was made for all of them
        if self.home is not None and not has_left(self.home, folder):
            return None
        fitting = [(found, it.root) for it in self.roots if (found := likeness(it, folder))]
        return max(fitting, default=None)


def take_over(settings: Settings, folder: Path, index: Path) -> str:
    """Make the index of this directory's former path its own, if there is one; what was done, in a sentence."""
    try:
        places = Places.of(settings)
        former = _adopt(places, folder, index) if settings.index is None else None
        if not index.exists() or (settings.index is not None and not _is_of_elsewhere(places, index, folder)):
            return ""
        with Engine(settings, index, create=False) as engine:
            return engine.relocate(folder, former)
    except DowseError as error:
        return f"an index that seems to be of {folder}, under its former path, can not be taken over: {error}"


def left_behind(places: Places) -> list[Found]:
    """The indexes of the data directory, the newest first; what is damaged or not ours is none."""
    found: list[tuple[float, Path]] = []
    with suppress(OSError):
        for entry in os.scandir(places.indexes):
            with suppress(OSError):
                index = Path(entry.path) / INDEX_NAME
                found.append((index.lstat().st_mtime, index))
    return [it for _, index in sorted(found, reverse=True)[:_LOOKED_AT] if (it := _look_at(places, index))]


def _look_at(places: Places, index: Path) -> Found | None:
    roots = _roots(places, index)
    home = next((it for it in roots if places.index_of(it.root) == index), None)
    return Found(index, roots, home) if roots else None


def _roots(places: Places, index: Path) -> tuple[Traces, ...]:
    """What the index knows of its roots; files and commits only of those that may be elsewhere by now."""
    seen = peek(index, Signer.of(places))

    def traces(root: str, name: str) -> Traces:
        identity = seen.manifest.get(identity_key(root), "")
        histories = {it.root: it.name for it in seen.collections if it.source == COMMITS}
        below = {it: name for it, name in histories.items() if Path(it).is_relative_to(root)}
        return Traces(Path(root), identity, partial(peek_files, index, name, SAMPLE), partial(_commits, index, below))

    return tuple(traces(it.root, it.name) for it in seen.collections if it.source == FILES)


def _commits(index: Path, histories: Mapping[str, str]) -> dict[str, list[str]]:
    return {root: list(peek_files(index, name, SAMPLE)) for root, name in histories.items()}


def _is_of_elsewhere(places: Places, index: Path, folder: Path) -> bool:
    """Whether an index that was named knows the folder, if at all, under another path."""
    return any(likeness(it, folder) for it in _roots(places, index))


def _adopt(places: Places, folder: Path, index: Path) -> Path | None:
    """Rename the directory of the index that fits best: in one step, and while nobody writes to it. The root it was of,
    if that was done."""
    fitting = [(*fit, it.index) for it in left_behind(places) if (fit := it.fit(folder))]
    if not fitting:
        return None
    _, root, former = max(fitting)
    with suppress(IndexBusy), write_lock(former, _PATIENCE_S):
        if former.exists() and not index.exists():
            return root if _rename(former.parent, index.parent) else None
    return None


def _rename(before: Path, now: Path) -> bool:
    for leftover in (it for name in _LEFTOVERS for it in now.glob(name)):
        leftover.unlink(missing_ok=True)
    # Fails where another process was quicker and has put its index there.
    with suppress(OSError):
        before.rename(now)
        # Whoever still leads there follows a path that is gone; the next one must be able to lead.
        (now / _LEADER).unlink(missing_ok=True)
        return True
    return False
