"""The history of a repository as a source: every commit that a branch, a tag or a work tree leads to."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.errors import Unreadable
from dowse.ingest.sources.base import Listing
from dowse.ingest.sources.budget import beyond
from dowse.ingest.sources.git.loose import EVERY
from dowse.ingest.sources.git.reading.parsing import seconds
from dowse.ingest.sources.git.refs import is_name, lines, refs_of, shallow_of
from dowse.ingest.sources.git.running import ask_history, why_unfinished
from dowse.ingest.sources.git.withholding import MASKING, Withholding
from dowse.model import Freshness, Item
from dowse.places import is_stored_root, leads_elsewhere

if TYPE_CHECKING:
    from dowse.ingest.sources.git.reading.reader import Reader

FORM: Final = "commit"
TOLD: Final = "with the files of all merges, and counts that are too small said to be"
"""To be changed whenever more or other things are told of a commit, with its manner."""
_TELLING: Final = 3  # to be raised by two with that
WHOLE: Final = "history"
"""Stands for all commits among what was refused."""
_MOST_SAID: Final = 200
_MOST_COUNTED: Final = 2**31 - 1  # what is more is no number to git
_FIRST_AHEAD, _MOST_AHEAD = 8, 256


class CommitSource:
    """Newest first, at most so many; if `only` is given, just these, which must be reachable, and `cut` is the first
    that is left out, with the reason, if one is.

    Reading starts processes that stay until it is closed; after that it may be read again.
    """

    def __init__(
        self,
        git_directory: Path,
        max_commits: int,
        delta_lines: int,
        only: tuple[str, ...] | None = None,
        cut: tuple[str, str] | None = None,
        withholding: Withholding = MASKING,
    ) -> None:
        self.root = git_directory
        self._max_commits = max_commits
        self._delta_lines = delta_lines
        self._only = only
        self._cut = cut
        self._withholding = withholding
        self._turn = threading.Lock()
        self._order: list[str] = []
        self._places: dict[str, int] = {}
        self._ahead = _FIRST_AHEAD
        self._reader: Reader | None = None

    def listing(self) -> Listing:
        self.close()
        listing = self._listing(shallow_of(str(self.root)))
        with self._turn:
            self._order = [it.path for it in listing.items]
            self._places = {path: place for place, path in enumerate(self._order)}
        return listing

    def read(self, item: Item) -> tuple[Item, bytes]:
        if not is_name(item.path):
            raise Unreadable("it is no whole name of a commit")
        with self._turn:
            if self._reader is None:
                if leads_elsewhere(self.root):
                    raise Unreadable(f"{self.root} leads elsewhere now", lasting=False)
                from dowse.ingest.sources.git.reading.reader import (
                    Reader,  # with logging behind it, which few questions need
                )

                shallow = shallow_of(str(self.root))
                self._reader = Reader(str(self.root), self._delta_lines, shallow, withholding=self._withholding)
            reader = self._reader
            self._read_ahead(reader, item.path)
        return Item(item.path, item.size, item.mtime_ns, FORM), reader.told(item.path)

    def freshness(self, item: Item) -> Freshness:
        """What a name stands for never changes; whether anything still leads to it, the next sync tells."""
        return "fresh" if is_stored_root(self.root) else "gone"

    def close(self) -> None:
        with self._turn:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _read_ahead(self, reader: Reader, name: str) -> None:
        """As far as it pays: what is read in the order of the listing is expected further and further ahead. Whoever
        reads asks for more when half of it is left, since to ask takes as long as it is."""
        place = self._places.get(name)
        if place is None:
            return
        is_expected = reader.is_expected(name)
        middle = min(place + self._ahead // 2, len(self._order) - 1)
        if is_expected and reader.is_expected(self._order[middle]):
            return
        self._ahead = min(2 * self._ahead, _MOST_AHEAD) if is_expected else _FIRST_AHEAD
        reader.expect(self._order[place : place + self._ahead])

    def _listing(self, shallow: frozenset[str]) -> Listing:
        refs = None if leads_elsewhere(self.root) else refs_of(str(self.root))
        if refs is None:
            return _in_part([], f"{self.root} can not be read; what was indexed of it was kept")
        items, said = self._items(refs.heads, shallow)
        most = self._max_commits
        refused = [(it.path, beyond_newest(self.root, refs.heads, most)) for it in items[most:]]
        refused += [self._cut] if self._cut else []
        items = items[:most]
        if not said:
            return Listing(items, refused)
        return _in_part(items, f"git could not list all of it ({said}); what was indexed was kept", refused)

    def _items(self, heads: Sequence[str], shallow: frozenset[str]) -> tuple[list[Item], str]:
        """Those that are wanted, and one more if there are others; and what keeps git from coming to the end."""
        if self._only is not None:
            return self._listed(("--no-walk",), self._only, shallow) if self._only else ([], "")
        most = _most(self._max_commits)
        items, said = self._listed((most, *EVERY), heads, shallow)
        return (self._salvaged(most, heads, shallow) if said else None) or (items, said)

    def _salvaged(self, most: str, heads: Sequence[str], shallow: frozenset[str]) -> tuple[list[Item], str] | None:
        """What those ends lead to that can be read, and what is wrong with the others; None if that is not known."""
        from dowse.ingest.sources.git.ends import ends_of  # of a damaged repository only

        ends = ends_of(self.root, heads)
        if ends is None:
            return None
        items, said = self._listed((most,), ends.readable, shallow)
        return items, ends.sentence() or said or "a branch or a tag names no object"

    def _listed(self, how: Sequence[str], tips: Sequence[str], shallow: frozenset[str]) -> tuple[list[Item], str]:
        """As far as git comes, and what keeps it from coming further."""
        finished = ask_history(str(self.root), "rev-list", "--timestamp", *how, "--stdin", given=lines(tips))
        if finished is None:
            return [], why_unfinished(str(self.root))
        items = [self._item(line, shallow) for line in finished.stdout.splitlines()]
        said = finished.stderr.decode(errors="replace").strip().rpartition("\n")[2][:_MOST_SAID]
        return items, (said or f"exit code {finished.returncode}") if finished.returncode else ""

    def _item(self, line: bytes, shallow: frozenset[str]) -> Item:
        at, _, name = line.partition(b" ")
        path = name.decode("ascii")
        return Item(path, self._manner(path in shallow), seconds(at) * 10**9, FORM)

    def _manner(self, is_edge: bool) -> int:
        """A commit never changes, but what is told of it may: with more or fewer lines, or when the parents of one at
        the edge of a shallow clone come to be there. It stands in the place of a size, so that it is read anew.

        A negative number of at least three, because others were of a time when less was told."""
        return -(2 * self._delta_lines + is_edge + _TELLING)


def newest_names(git_directory: Path, heads: Sequence[str], max_commits: int) -> list[str] | None:
    """Those of a listing and of the first that is left out; None if git can not come to the end."""
    finished = ask_history(str(git_directory), "rev-list", _most(max_commits), *EVERY, "--stdin", given=lines(heads))
    return None if finished is None or finished.returncode else finished.stdout.decode("ascii").split()


def beyond_newest(git_directory: Path, heads: Sequence[str], max_commits: int) -> str:
    """What is said of the first commit that is left out, which stands for all older ones."""
    counted = ask_history(str(git_directory), "rev-list", "--count", *EVERY, *heads)
    others = None
    if counted is not None and not counted.returncode:
        others = max(0, int(counted.stdout) - max_commits - 1)  # meanwhile, some may be gone
    return beyond(f"max_commits ({max_commits:,})", others, "older commit", "older commits")


def _most(max_commits: int) -> str:
    return f"--max-count={min(max_commits + 1, _MOST_COUNTED)}"


def _in_part(items: list[Item], problem: str, refused: Sequence[tuple[str, str]] = ()) -> Listing:
    return Listing(items, [*refused, (WHOLE, problem)], unseen=[""])
