"""A source lists items with their versions and reads them; files and labelled corpora are sources."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from dowse.model import Freshness, Item, Omissions

_MOST_COUNTED = 200  # suffixes, and names of directories


@dataclass(slots=True)
class Listing:
    """Everything a source offers now.

    `refused` are paths it will not offer, with the reason. `unseen` are path prefixes it could not
    look into: nothing below them may be taken for deleted. `vacant` means that there is nothing at all
    where the items should be, as in a directory whose disk is not mounted. `left_out` counts the files that the source
    leaves out by itself, by reason and suffix; `passed_over` the directories that it does not look into, by name.
    """

    items: list[Item] = field(default_factory=list)
    refused: list[tuple[str, str]] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    vacant: bool = False
    left_out: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)

    def omissions(self) -> Omissions:
        """What is not offered, in a form to keep."""
        files: dict[str, dict[str, int]] = {}
        for (reason, suffix), count in self.left_out.most_common(_MOST_COUNTED):
            files.setdefault(reason, {})[suffix] = count
        return Omissions(files, dict(self.passed_over.most_common(_MOST_COUNTED)))


@dataclass(frozen=True, slots=True)
class Reach:
    """How far to look. `hidden`: also names that begin with a dot; `ignored`: also what ignore files and settings
    leave out; `under`: only below this directory; `max_depth`: 1 is the files directly there, 0 is any depth."""

    under: str = ""
    hidden: bool = False
    ignored: bool = False
    max_depth: int = 0


class Source(Protocol):
    def listing(self) -> Listing: ...

    def read(self, item: Item) -> tuple[Item, bytes]:
        """The item's content and the version it belongs to, which may be newer than the one listed.

        Several threads may read at a time. Raises Unreadable with the reason when it cannot be indexed.
        """
        ...

    def freshness(self, item: Item) -> Freshness:
        """How the item's version compares with what is there now."""
        ...
