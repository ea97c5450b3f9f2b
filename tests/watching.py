"""Helpers for tests of watching: places, waiting, and a watcher with what it handed on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from dowse.live.watch import ChangeBatch, Watcher, WatchTarget, WatchTiming

Follow = Callable[..., "Following"]
# Long enough for a file to be made and written within it, on a busy machine, too.
QUICK = WatchTiming(debounce_s=0.2, git_debounce_s=0.4, poll_s=0.1, bulk_threshold=100)


def all_but(*excluded: str) -> Callable[[str], bool]:
    return lambda path: not any(part in excluded for part in path.split("/"))


def place(root: Path, collection: str = "c", *, excluded: tuple[str, ...] = ("ignored", ".git")) -> WatchTarget:
    return WatchTarget(collection, root, all_but(*excluded), all_but(*excluded))


def covers(known: Collection[str], path: str) -> bool:
    """Whether the path, or a directory above it, is known."""
    parts = path.split("/")
    return any("/".join(parts[:end]) in known for end in range(1, len(parts) + 1))


class Following:
    """A watcher with the batches it handed on; the first comparison of everything is done."""

    def __init__(self, watcher: Watcher, batches: list[ChangeBatch]) -> None:
        self.watcher = watcher
        self.batches = batches

    def settle(self) -> None:
        """Take everything handed on so far for indexed."""
        while self.batches:
            self.watcher.done(self.batches.pop(0))

    def paths(self) -> set[str]:
        return {path for batch in self.batches for path in batch.paths}

    def wholes(self) -> list[str]:
        return [batch.why for batch in self.batches if batch.compare_all]

    def pending(self, collection: str = "c") -> frozenset[str] | None:
        known = self.watcher.pending()
        return None if known is None else known[collection]
