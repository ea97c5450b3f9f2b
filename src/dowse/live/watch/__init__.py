"""Follows files as they change: events are hints of what to look at, never what is indexed."""

from __future__ import annotations

from dowse.live.watch.base import Batch, Place, Timing
from dowse.live.watch.places import place_of
from dowse.live.watch.status import PlaceStatus, WatchStatus
from dowse.live.watch.watcher import Watcher

__all__ = ["Batch", "Place", "PlaceStatus", "Timing", "WatchStatus", "Watcher", "place_of"]
