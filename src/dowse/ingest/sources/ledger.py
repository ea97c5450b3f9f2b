"""Writes down what a survey meets: items, what is refused and why, and where it could not look."""

from __future__ import annotations

import errno
import os
import stat
from collections import Counter

from dowse.ingest.sources.base import Listing
from dowse.ingest.sources.regular_file import kind_of
from dowse.ingest.sources.selection import hold_nothing
from dowse.model import Item
from dowse.text.globs import Matcher
from dowse.text.secrets import HELD_BACK
from dowse.text.surrogates import is_text, spelt_out

NO_SUFFIX = "no suffix"


class TooManyItems(Exception):
    """A survey that only counts has met more items than it was to count."""


class Ledger:
    """One survey's findings below `root`, which is absolute and resolved; with `most`, it raises TooManyItems at the
    first item beyond that."""

    __slots__ = (
        "_held",
        "_items",
        "_left_out",
        "_max_file_bytes",
        "_most",
        "_passed_over",
        "_refused",
        "_root",
        "_unseen",
    )

    def __init__(self, root: str, max_file_bytes: int, held: Matcher = hold_nothing, most: int | None = None) -> None:
        self._root = root
        self._held = held
        self._max_file_bytes = max_file_bytes
        self._most = most
        self._items: dict[str, Item] = {}
        self._refused: dict[str, str] = {}
        self._unseen: set[str] = set()
        self._left_out: Counter[tuple[str, str]] = Counter()
        self._passed_over: set[str] = set()

    def listing(self) -> Listing:
        items = [self._items[path] for path in sorted(self._items)]
        names = Counter(it.rpartition("/")[2] + "/" for it in self._passed_over)
        listing = Listing(items, sorted(self._refused.items()), sorted(self._unseen), left_out=self._left_out)
        listing.passed_over = names
        return listing

    def leave_out(self, path: str, reason: str) -> None:
        """Counts a regular file; no path is kept, because there may be millions."""
        stem, _, suffix = path.rpartition("/")[2].rpartition(".")
        self._left_out[reason, f".{suffix.lower()}" if stem else NO_SUFFIX] += 1

    def pass_over(self, directory: str) -> None:
        """Counts a directory that is not looked into, once."""
        self._passed_over.add(spelt_out(directory))

    def add(self, path: str, status: os.stat_result) -> None:
        """An entry that is not a directory, by the status of itself, not of what it may link to."""
        if stat.S_ISLNK(status.st_mode):
            self._add_link(path)
        elif not stat.S_ISREG(status.st_mode):
            self.refuse(path, f"{kind_of(status.st_mode)}, not a regular file")
        elif self._held(path):
            self.refuse(path, HELD_BACK)
        elif status.st_size > self._max_file_bytes:
            self.refuse(path, too_large(status.st_size, self._max_file_bytes))
        elif not is_text(path):
            self.refuse(path, "its name is not valid UTF-8; rename it")
        else:
            self._items[path] = Item(path, status.st_size, status.st_mtime_ns)
            if self._most is not None and len(self._items) > self._most:
                raise TooManyItems

    def refuse(self, path: str, reason: str) -> None:
        self._refused[spelt_out(path)] = reason

    def close(self, directory: str, error: OSError) -> None:
        """A directory that could not be looked into; one that is gone is not refused, for now."""
        self._unseen.add(spelt_out(directory + "/") if directory else "")
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            self.refuse(directory or ".", f"the directory cannot be read: {error.strerror}")

    def adopt_closed(self, other: Ledger) -> None:
        """Takes over only where another survey could not look."""
        self._unseen |= other._unseen
        for prefix in other._unseen:
            directory = prefix.rstrip("/") or "."
            if directory in other._refused:
                self._refused[directory] = other._refused[directory]

    def _add_link(self, path: str) -> None:
        """A link to something in the root is left out silently: its target is listed under its own name."""
        try:
            target = os.path.realpath(f"{self._root}/{path}", strict=True)
        except OSError as error:
            loops = error.errno == errno.ELOOP
            self.refuse(path, "a symbolic link that leads to itself" if loops else "a broken symbolic link")
            return
        if target != self._root and not target.startswith(self._root.rstrip("/") + "/"):
            self.refuse(path, "a symbolic link that points out of the collection; links are not followed")


def too_large(size: int, limit: int) -> str:
    return f"{size / 1e6:,.1f} MB, larger than max_file_bytes ({limit / 1e6:,.1f} MB)"
