"""File watching. Events are hints about which files to check; the index always reads the files themselves."""

from __future__ import annotations

from dowse.live.watch.debounce import ChangeBatch, WatchTarget, WatchTiming
from dowse.live.watch.watcher import Watcher, WatchStatus, WatchTargetStatus, watch_target_of

__all__ = [
    "ChangeBatch",
    "WatchStatus",
    "WatchTarget",
    "WatchTargetStatus",
    "WatchTiming",
    "Watcher",
    "watch_target_of",
]
