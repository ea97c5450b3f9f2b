"""What can be told of a watcher."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dowse.live.watch.lookout import Lookout, Method


@dataclass(frozen=True, slots=True)
class PlaceStatus:
    """How one collection is watched; `why` it is not watched, or only polled."""

    collection: str
    root: str
    method: Method
    why: str
    directories: int
    pending: int


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """`method` is the weakest of all places; `since` is when it was started, in seconds since 1970."""

    running: bool
    method: Method
    why: str
    places: tuple[PlaceStatus, ...]
    directories: int
    events: int
    batches: int
    restarts: int
    pending: int
    since: float | None


def status_of(
    lookouts: Sequence[Lookout], *, running: bool, problem: str, restarts: int, since: float | None
) -> WatchStatus:
    places = tuple(_place(it) for it in lookouts)
    methods = {it.method for it in places} if running else {"off"}
    return WatchStatus(
        running=running,
        method="polling" if "polling" in methods else "inotify" if "inotify" in methods else "off",
        why="; ".join(dict.fromkeys(filter(None, (problem, *(it.why for it in places))))),
        places=places,
        directories=sum(it.directories for it in places),
        events=sum(it.received for it in lookouts),
        batches=sum(it.gather.sent for it in lookouts),
        restarts=restarts,
        pending=sum(it.pending for it in places),
        since=since,
    )


def _place(lookout: Lookout) -> PlaceStatus:
    place, eye = lookout.place, lookout.eye
    directories = eye.directories if eye else 0
    return PlaceStatus(
        place.collection, str(place.root), lookout.method, lookout.why, directories, lookout.gather.count()
    )
