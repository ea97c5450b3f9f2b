"""The look at the disk before an answer: which files are not as the index knows them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dowse.engine.clock import Clock
from dowse.errors import DowseError
from dowse.ingest.disk.disk import Disk
from dowse.ingest.disk.known import known_of
from dowse.ingest.disk.stamps import Stamp
from dowse.model import Collection, Skipped
from dowse.store.base import Store

Place = tuple[str, str]  # collection and path
Pending = Callable[[], Mapping[str, frozenset[str]] | None]

# Up to so many files, every question looks at all of them.
SMALL: Final = 2_000
# Otherwise looking takes at most this long at a time, and this part of all time.
_SLICE_S: Final = 0.03
_SHARE: Final = 10
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


class _Pass:
    """One look at everything, perhaps in several slices."""

    def __init__(self, begun: float, steps: Iterator[Place | None]) -> None:
        self.begun = begun
        self.found: set[Place] = set()
        self._steps = steps

    def go_on(self, is_over: Callable[[], bool]) -> tuple[int, bool]:
        """How many steps were made, and whether they were the last ones."""
        count = 0
        for count, place in enumerate(self._steps, 1):
            if place is not None:
                self.found.add(place)
            if count % 32 == 0 and is_over():
                return count, False
        return count, True


class Look:
    """Shared by all threads, which look one after another; `first_s` is how long the first look may take."""

    def __init__(
        self, store: Store, disk_of: Callable[[Collection], Disk | None], clock: Clock, first_s: float
    ) -> None:
        self._store = store
        self._disk_of = disk_of
        self._clock = clock
        self._slice_s = max(first_s, _SLICE_S)
        self._turn = threading.Lock()
        self._pending: Pending | None = None
        self._disks: dict[str, Disk | None] = {}
        self._suspects: set[Place] = set()
        self._pass: _Pass | None = None
        self._due = 0.0
        self._seen_at = 0.0

    def watched_by(self, pending: Pending) -> None:
        self._pending = pending

    def take(self) -> Sighting:
        begun = self._clock.now()
        with self._turn:
            looked = self._look(begun) if self._seen_at < begun else 0  # another thread has, while this one waited
            outstanding, notes = self._checked(self._suspects)
            return Sighting(self._as_of(), self._seen_at >= begun, looked, outstanding, tuple(notes))

    def check(self, places: Iterable[Place]) -> dict[Place, Stamp]:
        """Which of these differ now."""
        with self._turn:
            return self._checked(set(places))[0]

    def is_known(self, place: Place) -> bool:
        return bool(self._store.versions(place[0], (place[1],)))

    def is_small(self) -> bool:
        return self._store.counts().records <= SMALL

    # --- finding what may differ ---

    def _look(self, begun: float) -> int:
        """How many files were looked at: those a watcher says have changed, or all if there is none that can know."""
        pending = self._pending() if self._pending else None
        if pending is None:
            return self._sweep(begun)
        self._suspects = {(collection, path) for collection, paths in pending.items() for path in paths}
        self._pass, self._seen_at = None, begun
        return len(self._suspects)

    def _sweep(self, begun: float) -> int:
        began = self._clock.elapsed()
        if began < self._due:
            return 0
        if self._pass is None:
            self._pass = _Pass(begun, self._steps())
        count, is_done = self._pass.go_on(lambda: self._clock.elapsed() - began > self._slice_s)
        if is_done:
            self._suspects, self._seen_at, self._pass = self._pass.found, self._pass.begun, None
        else:
            self._suspects |= self._pass.found
        self._slice_s = _SLICE_S
        self._due = 0.0 if self.is_small() else began + _SHARE * (self._clock.elapsed() - began)
        return count

    def _steps(self) -> Iterator[Place | None]:
        for collection, disk in self._there():
            skipped = [it for it in self._store.skipped() if it.collection == collection.name]
            try:
                for path in disk.sweep(known_of(self._store, collection.name), skipped, collection.synced_at):
                    yield None if path is None else (collection.name, path)
            except DowseError:
                continue  # the root has gone just now; the next look tells

    # --- judging it ---

    def _checked(self, places: set[Place]) -> tuple[dict[Place, Stamp], list[str]]:
        if len(places) > _MANY:
            return dict.fromkeys(places, Stamp("file")), self._missing()
        found: dict[Place, Stamp] = {}
        for collection, disk in self._there():
            paths = {path for name, path in places if name == collection.name}
            if paths:
                versions = self._store.versions(collection.name, paths)
                outstanding = disk.outstanding(paths, versions, self._skipped(collection.name))
                found |= {(collection.name, path): stamp for path, stamp in outstanding.items()}
        return found, self._missing()

    def _skipped(self, collection: str) -> dict[str, Skipped]:
        return {it.path: it for it in self._store.skipped() if it.collection == collection}

    def _there(self) -> Iterator[tuple[Collection, Disk]]:
        for collection in self._store.collections():
            disk = self._disk(collection)
            if disk and disk.is_there():
                yield collection, disk

    def _missing(self) -> list[str]:
        disks = [(it.root, self._disk(it)) for it in self._store.collections()]
        return [f"{root} is not there now" for root, disk in disks if disk and not disk.is_there()]

    def _disk(self, collection: Collection) -> Disk | None:
        if collection.name not in self._disks:
            self._disks[collection.name] = self._disk_of(collection)
        return self._disks[collection.name]

    def _as_of(self) -> float:
        """A sync sees everything, too."""
        synced = min((it.synced_at for it in self._store.collections()), default=0.0)
        return max(self._seen_at, synced)
