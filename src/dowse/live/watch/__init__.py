"""Follows files as they change: events are hints of what to look at, never what is indexed."""

from __future__ import annotations

from dowse.live.watch.base import Batch, Place, Timing
from dowse.live.watch.limits import Limits, limits
from dowse.live.watch.places import place_of
from dowse.live.watch.status import PlaceStatus, WatchStatus
from dowse.live.watch.watcher import Watcher

__all__ = ["Batch", "Limits", "Place", "PlaceStatus", "Timing", "WatchStatus", "Watcher", "limits", "place_of"]
