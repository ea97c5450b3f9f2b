"""The protocol of a source of records, and the budget that bounds what one may deliver."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final, Protocol

from dowse.model import Freshness, Item, Omissions, SkippedItem

_MAX_COUNTED_NAMES = 200  # suffixes, and directory names


@dataclass(slots=True)
class Listing:
    """Everything a source offers now.

    - `refused`: paths that the source will not offer, with the reason.
    - `unreadable_prefixes`: path prefixes that could not be read; nothing below them counts as deleted.
    - `is_empty`: the root holds no file at all, as when its disk is not mounted.
    - `excluded_files`: number of files that the default rules omit, by reason and suffix.
    - `excluded_directories`: number of directories that the default rules omit, by name.
    """

    items: list[Item] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    unreadable_prefixes: list[str] = field(default_factory=list)
    is_empty: bool = False
    excluded_files: Counter[tuple[str, str]] = field(default_factory=Counter)
    excluded_directories: Counter[str] = field(default_factory=Counter)

    def omissions(self) -> Omissions:
        """Return the omitted files and directories in a form that can be stored."""
        files: dict[str, dict[str, int]] = {}
        for (reason, suffix), count in self.excluded_files.most_common(_MAX_COUNTED_NAMES):
            files.setdefault(reason, {})[suffix] = count
        return Omissions(files, dict(self.excluded_directories.most_common(_MAX_COUNTED_NAMES)))


@dataclass(frozen=True, slots=True)
class ListingScope:
    """How far to look for files.

    - `include_hidden`: include names that start with a dot.
    - `include_ignored`: include paths that ignore files and settings leave out.
    - `directory`: only below this directory.
    - `max_depth`: 1 is the files directly there; 0 is any depth.
    """

    directory: str = ""
    include_hidden: bool = False
    include_ignored: bool = False
    max_depth: int = 0


class Source(Protocol):
    def listing(self) -> Listing: ...

    def read(self, item: Item) -> tuple[Item, bytes]:
        """Return the item's content and version, which may be newer than the listed one.

        Several threads may read at a time. Raises Unreadable with the reason if the item cannot be indexed.
        """
        ...

    def freshness(self, item: Item) -> Freshness:
        """Compare the item's version with the current one."""
        ...


# --------------------------------------------------------------------------------------------------
# Limits on the number of files and bytes taken from a source. One row stands for everything beyond them.

_BEYOND_PREFIX: Final = "beyond "
_OTHERS_PATTERN: Final = re.compile(rf"{_BEYOND_PREFIX}[^:]*: it and (?:the )?([0-9,]*[0-9]) ")


@dataclass(frozen=True, slots=True)
class SourceBudget:
    max_files: int
    max_total_bytes: int

    def count_fitting(self, items: list[Item]) -> tuple[int, str]:
        """Return how many of the items fit, and the name of the limit that the next one exceeds, if any."""
        fitting = (total <= self.max_total_bytes for total in accumulate(it.size for it in items))
        within_bytes = next((place for place, fits in enumerate(fitting) if not fits), len(items))
        if min(within_bytes, self.max_files) >= len(items):
            return len(items), ""
        if self.max_files <= within_bytes:
            return self.max_files, f"max_files ({self.max_files:,})"
        return within_bytes, f"max_total_bytes ({self.max_total_bytes / 1e6:,.1f} MB)"


@dataclass(frozen=True, slots=True)
class BudgetedSource:
    """A source cut to a budget in path order, so that it always offers the same files.

    The first path beyond the budget stands for all that follow. A listing of a subtree cannot compute that path, so
    `cut` is the row that the last full listing stored.
    """

    source: Source
    budget: SourceBudget
    cut: SkippedItem | None = None

    def listing(self) -> Listing:
        listing = self.source.listing()
        items = sorted(listing.items, key=lambda it: it.path)
        return _cut_at_row(self.cut, listing, items) if self.cut else self._cut_to_budget(listing, items)

    def read(self, item: Item) -> tuple[Item, bytes]:
        return self.source.read(item)

    def freshness(self, item: Item) -> Freshness:
        return self.source.freshness(item)

    def _cut_to_budget(self, listing: Listing, items: list[Item]) -> Listing:
        taken, limit = self.budget.count_fitting(items)
        if not limit:
            return listing
        others = len(items) - taken - 1
        order = "in path order"
        reason = format_cutoff_reason(limit, others, f"file after it {order}", f"files after it {order}")
        return replace(listing, items=items[:taken], refused=[*listing.refused, (items[taken].path, reason)])


def format_cutoff_reason(limit: str, others: int | None, one: str, many: str) -> str:
    """Format the reason for the first path left out, with the number of others that it stands for, if known."""
    if others == 0:
        return f"{_BEYOND_PREFIX}{limit}: it is left out"
    others_text = f"all {many}" if others is None else f"1 {one}" if others == 1 else f"the {others:,} {many}"
    return f"{_BEYOND_PREFIX}{limit}: it and {others_text} are left out"


def count_left_out(skipped: SkippedItem) -> int:
    """Return how many items a row stands for, itself included."""
    match = _OTHERS_PATTERN.match(skipped.reason)
    return 1 + (int(match[1].replace(",", "")) if match else 0)


def find_cutoff(skipped: Iterable[SkippedItem], collection: str) -> SkippedItem | None:
    """Return the collection's row that stands for everything beyond its budget."""
    return next((it for it in skipped if it.collection == collection and is_cutoff(it)), None)


def is_cutoff(skipped: SkippedItem) -> bool:
    return skipped.reason.startswith(_BEYOND_PREFIX)


def _cut_at_row(cut: SkippedItem, listing: Listing, items: list[Item]) -> Listing:
    taken = [it for it in items if it.path < cut.path]
    cut_row = [(cut.path, cut.reason)] if any(it.path == cut.path for it in items) else []
    return replace(listing, items=taken, refused=[*listing.refused, *cut_row])
