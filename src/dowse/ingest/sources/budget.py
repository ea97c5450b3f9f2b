"""How much of a source is taken: so many files, so many bytes; what is beyond is left out and said in one row."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from dowse.ingest.sources.base import Listing, Source
from dowse.model import Freshness, Item, Skipped

_BEYOND: Final = "beyond "
_OTHERS: Final = re.compile(rf"{_BEYOND}[^:]*: it and (?:the )?([0-9,]*[0-9]) ")


@dataclass(frozen=True, slots=True)
class Budget:
    max_files: int
    max_total_bytes: int

    def room(self, items: list[Item]) -> tuple[int, str]:
        """How many of the items are taken, and which limit the next one is beyond, if any."""
        fitting = (total <= self.max_total_bytes for total in accumulate(it.size for it in items))
        within_bytes = next((place for place, fits in enumerate(fitting) if not fits), len(items))
        if min(within_bytes, self.max_files) >= len(items):
            return len(items), ""
        if self.max_files <= within_bytes:
            return self.max_files, f"max_files ({self.max_files:,})"
        return within_bytes, f"max_total_bytes ({self.max_total_bytes / 1e6:,.1f} MB)"


@dataclass(frozen=True, slots=True)
class Budgeted:
    """A source cut to a budget, in the order of paths, so that it is the same files each time.

    The first path that is left out stands for all that follow. A part of a source can not tell where that is: for it
    `cut` is the row that the last look at the whole has left.
    """

    source: Source
    budget: Budget
    cut: Skipped | None = None

    def listing(self) -> Listing:
        listing = self.source.listing()
        items = sorted(listing.items, key=lambda it: it.path)
        return _left_by(self.cut, listing, items) if self.cut else self._within(listing, items)

    def read(self, item: Item) -> tuple[Item, bytes]:
        return self.source.read(item)

    def freshness(self, item: Item) -> Freshness:
        return self.source.freshness(item)

    def _within(self, listing: Listing, items: list[Item]) -> Listing:
        taken, limit = self.budget.room(items)
        if not limit:
            return listing
        others = len(items) - taken - 1
        order = "in the order of paths"
        reason = beyond(limit, others, f"file that follows it {order}", f"files that follow it {order}")
        return replace(listing, items=items[:taken], refused=[*listing.refused, (items[taken].path, reason)])


def beyond(limit: str, others: int | None, one: str, many: str) -> str:
    """Why the first one that is left out is, and how many others it stands for, if that is known."""
    if others == 0:
        return f"{_BEYOND}{limit}: it is left out"
    told = f"all {many}" if others is None else f"1 {one}" if others == 1 else f"the {others:,} {many}"
    return f"{_BEYOND}{limit}: it and {told} are left out"


def left_out(skipped: Skipped) -> int:
    """How many a row stands for: itself, and those that it tells of."""
    told = _OTHERS.match(skipped.reason)
    return 1 + (int(told[1].replace(",", "")) if told else 0)


def cut_of(skipped: Iterable[Skipped], collection: str) -> Skipped | None:
    """The row of a collection that stands for everything beyond its budget."""
    return next((it for it in skipped if it.collection == collection and is_cut(it)), None)


def is_cut(skipped: Skipped) -> bool:
    return skipped.reason.startswith(_BEYOND)


def _left_by(cut: Skipped, listing: Listing, items: list[Item]) -> Listing:
    taken = [it for it in items if it.path < cut.path]
    itself = [(cut.path, cut.reason)] if any(it.path == cut.path for it in items) else []
    return replace(listing, items=taken, refused=[*listing.refused, *itself])
