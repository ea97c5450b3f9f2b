"""The look at the disk before an answer: which files are not as the index knows them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dowse.engine.clock import Clock, Moment
from dowse.engine.indexing import is_kept
from dowse.engine.rounds import Place, Round
from dowse.errors import DowseError
from dowse.ingest.disk.disk import Disk
from dowse.ingest.disk.known import Known, known_of
from dowse.ingest.disk.stamps import NOTHING, Stamp
from dowse.model import COMMITS, Collection, Skipped
from dowse.store.base import Store

Pending = Callable[[], Mapping[str, frozenset[str]] | None]

# Up to so many files, every question looks at all of them.
SMALL: Final = 2_500
# How long a look may take; it goes on with the next question.
_SLICE_S: Final = 0.03
# So many that differ are told as they were found, without looking at each once more.
_MANY: Final = 500


@dataclass(frozen=True, slots=True)
class Sighting:
    """`outstanding` are the files that differ. `as_of` is the moment up to which everything is known, the beginning of
    this look if it was `complete`."""

    as_of: float
    complete: bool
    looked: int
    outstanding: Mapping[Place, Stamp]
    notes: tuple[str, ...] = ()


class Look:
    """Shared by all threads, which look one after another; `patience_s` is how long the first look may take, and
    every look at few files."""

    def __init__(
        self, store: Store, disk_of: Callable[[Collection], Disk | None], clock: Clock, patience_s: float
    ) -> None:
        self._store = store
        self._disk_of = disk_of
        self._clock = clock
        self._patience_s = max(patience_s, _SLICE_S)
        self._is_first = True
        self._turn = threading.Lock()
        self._pending: Pending | None = None
        self._disks: dict[str, tuple[str, Disk | None]] = {}  # each with the root it is of, which may move
        self._suspects: set[Place] = set()
        self._outstanding: Mapping[Place, Stamp] = {}
        self._is_told = False
        self._known: dict[str, Known] = {}
        self._moved = Round(self._moved_steps, clock.elapsed)
        self._changed = Round(self._changed_steps, clock.elapsed)

    def watched_by(self, pending: Pending) -> None:
        self._pending = pending

    def has_nothing_pending(self) -> bool:
        pending = self._pending() if self._pending else None
        return pending is not None and not any(pending.values())

    @property
    def is_watched(self) -> bool:
        """Whether there is somebody who brings in, in time, what changed."""
        return self._pending is not None

    def take(self) -> Sighting:
        begun = self._clock.moment()
        with self._turn, self._store.moment():
            looked = self._look(begun) if self._seen_at() < begun else 0  # another thread has, while this one waited
            is_complete = self._seen_at() >= begun
            if len(self._suspects) <= _MANY or (is_complete and not self._is_told):
                self._outstanding = self._checked(self._suspects)
                self._suspects = set(self._outstanding)  # what differed goes on to be watched until it does not
            return Sighting(self._as_of(), is_complete, looked, self._outstanding, self._missing())

    def check(self, places: Iterable[Place]) -> dict[Place, Stamp]:
        """Which of these differ now."""
        with self._turn:
            return self._checked(set(places))

    def is_known(self, place: Place) -> bool:
        return bool(self._store.versions(place[0], (place[1],)))

    def is_small(self) -> bool:
        """By files alone: of histories another look tells."""
        sizes = self._store.sizes()
        return sum(sizes.get(it.name, 0) for it in self._store.collections() if it.source != COMMITS) <= SMALL

    # --- finding what may differ ---

    def _look(self, begun: Moment) -> int:
        """How many files were looked at: those a watcher says have changed, or all if there is none that can know."""
        pending = self._pending() if self._pending else None
        self._is_told = pending is not None
        if pending is None:
            return self._sweep(begun)
        self._suspects = {(collection, path) for collection, paths in pending.items() for path in paths}
        self._outstanding = dict.fromkeys(self._suspects, Stamp("file"))
        self._moved.end(begun)
        self._changed.end(begun)
        return len(self._suspects)

    def _sweep(self, begun: Moment) -> int:
        """Names first, which is quick; then every file, if it is time to."""
        always = self.is_small()
        slice_s = self._patience_s if always or self._is_first else _SLICE_S
        looked, moved = self._moved.go_on(begun, slice_s, always=always)
        more, changed = self._changed.go_on(begun, slice_s, always=always)
        self._suspects |= moved | changed
        self._is_first = False
        return looked + more

    def _moved_steps(self) -> Iterator[Place | None]:
        for collection, disk in self._there():
            known = self._known.get(collection.name) or self._read_known(collection.name)
            yield from _placed(collection.name, disk.moved(known, collection.synced_at))

    def _changed_steps(self) -> Iterator[Place | None]:
        for collection, disk in self._there():
            known = self._read_known(collection.name)
            skipped = self._skipped(collection.name).values()
            yield from _placed(collection.name, disk.changed(known, skipped))

    def _read_known(self, collection: str) -> Known:
        """To read all of it takes a while: names are compared with what was read last, and judged by what is known."""
        self._known[collection] = known_of(self._store, collection)
        return self._known[collection]

    # --- judging it ---

    def _checked(self, places: set[Place]) -> dict[Place, Stamp]:
        found: dict[Place, Stamp] = {}
        for collection, disk in self._there():
            paths = {path for name, path in places if name == collection.name}
            if paths:
                versions = self._store.versions(collection.name, paths)
                outstanding = disk.outstanding(paths, versions, self._skipped(collection.name))
                dropped = not is_kept(self._store, collection.name)
                found |= {
                    (collection.name, it): stamp for it, stamp in outstanding.items() if dropped or stamp != NOTHING
                }
        return found

    def _skipped(self, collection: str) -> dict[str, Skipped]:
        return {it.path: it for it in self._store.skipped() if it.collection == collection}

    def _there(self) -> Iterator[tuple[Collection, Disk]]:
        for collection in self._store.collections():
            disk = self._disk(collection)
            if disk and disk.is_there():
                yield collection, disk

    def _missing(self) -> tuple[str, ...]:
        disks = [(it.root, self._disk(it)) for it in self._store.collections() if it.listed]
        return tuple(f"{root} is not there now" for root, disk in disks if disk and not disk.is_there())

    def _disk(self, collection: Collection) -> Disk | None:
        root, disk = self._disks.get(collection.name, ("", None))
        if root != collection.root:
            disk = self._disk_of(collection)
            self._disks[collection.name] = collection.root, disk
        return disk

    def _seen_at(self) -> Moment:
        return min(self._moved.seen_at, self._changed.seen_at)

    def _as_of(self) -> float:
        """A sync sees everything, too; of histories another look tells."""
        synced = min((it.synced_at for it in self._store.collections() if it.source != COMMITS), default=0.0)
        return max(self._seen_at().now, synced)


def _placed(collection: str, paths: Iterator[str | None]) -> Iterator[Place | None]:
    try:
        for path in paths:
            yield None if path is None else (collection, path)
    except DowseError:
        return  # the root has gone just now; the next look tells
