"""Commits of a repository as a source of records."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.errors import Unreadable
from dowse.git.commit import DEFAULT_REDACTION, Redaction
from dowse.git.diff_tree import parse_seconds
from dowse.git.refs import is_object_hash, read_refs, read_shallow_commits, to_stdin_lines
from dowse.git.repository import ALL_REFS_OPTIONS, REF_KINDS
from dowse.git.runner import explain_unfinished, run_on_history
from dowse.ingest.sources.base import Listing, format_cutoff_reason
from dowse.model import Freshness, Item
from dowse.paths import is_intact_root, is_redirected_root

if TYPE_CHECKING:
    from dowse.git.diff_tree import CommitReader

COMMIT_SOURCE_KIND: Final = "commit"
COMMIT_FORMAT: Final = "with the files of all merges, and counts that are too small said to be"
"""Change this, and the version below, whenever the content read for a commit changes."""
_VERSION_BASE: Final = 3  # raise it by two
WHOLE_HISTORY: Final = "history"
"""Stands for all commits in a list of refused items."""
_MAX_PROBLEM_CHARS: Final = 200
_MAX_GIT_COUNT: Final = 2**31 - 1  # git cannot parse a larger number
_MIN_AHEAD, _MAX_AHEAD = 8, 256


class CommitSource:
    """The newest `max_commits` commits, newest first.

    `only` limits the listing to these commits, which must be reachable; `cut` is then the first commit left out, with
    the reason. Reading starts git processes that run until `close`; reading after that starts new ones.
    """

    def __init__(
        self,
        git_directory: Path,
        max_commits: int,
        diff_lines: int,
        only: tuple[str, ...] | None = None,
        cut: tuple[str, str] | None = None,
        withholding: Redaction = DEFAULT_REDACTION,
    ) -> None:
        self.root = git_directory
        self._max_commits = max_commits
        self._diff_lines = diff_lines
        self._only = only
        self._cut = cut
        self._withholding = withholding
        self._lock = threading.Lock()
        self._order: list[str] = []
        self._positions: dict[str, int] = {}
        self._ahead = _MIN_AHEAD
        self._reader: CommitReader | None = None

    def listing(self) -> Listing:
        self.close()
        listing = self._build_listing(read_shallow_commits(str(self.root)))
        with self._lock:
            self._order = [it.path for it in listing.items]
            self._positions = {path: place for place, path in enumerate(self._order)}
        return listing

    def read(self, item: Item) -> tuple[Item, bytes]:
        if not is_object_hash(item.path):
            raise Unreadable("not a full commit hash")
        with self._lock:
            if self._reader is None:
                if is_redirected_root(self.root):
                    raise Unreadable(f"{self.root} now leads elsewhere", lasting=False)
                from dowse.git.diff_tree import CommitReader

                shallow = read_shallow_commits(str(self.root))
                self._reader = CommitReader(str(self.root), self._diff_lines, shallow, withholding=self._withholding)
            reader = self._reader
            self._read_ahead(reader, item.path)
        return Item(item.path, item.size, item.mtime_ns, COMMIT_SOURCE_KIND), reader.read_commit(item.path)

    def freshness(self, item: Item) -> Freshness:
        """Return whether the repository is there.

        A commit never changes; the next sync checks whether it is reachable.
        """
        return "fresh" if is_intact_root(self.root) else "gone"

    def close(self) -> None:
        with self._lock:
            reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _read_ahead(self, reader: CommitReader, name: str) -> None:
        """Request the next commits in listing order, and more of them as long as they are read in that order.

        Requests go out when half of the previous ones are left, because a request takes time in proportion to its
        length.
        """
        position = self._positions.get(name)
        if position is None:
            return
        is_expected = reader.is_expected(name)
        middle = min(position + self._ahead // 2, len(self._order) - 1)
        if is_expected and reader.is_expected(self._order[middle]):
            return
        self._ahead = min(2 * self._ahead, _MAX_AHEAD) if is_expected else _MIN_AHEAD
        reader.request(self._order[position : position + self._ahead])

    def _build_listing(self, shallow: frozenset[str]) -> Listing:
        refs = None if is_redirected_root(self.root) else read_refs(str(self.root))
        if refs is None:
            return _partial_listing([], f"{self.root} cannot be read; its indexed commits were kept")
        items, problem = self._list_items(refs.heads, shallow)
        most = self._max_commits
        refused = [(it.path, format_older_commits(self.root, refs.heads, most)) for it in items[most:]]
        refused += [self._cut] if self._cut else []
        items = items[:most]
        if not problem:
            return Listing(items, refused)
        return _partial_listing(
            items, f"git could not list all commits ({problem}); indexed commits were kept", refused
        )

    def _list_items(self, heads: Sequence[str], shallow: frozenset[str]) -> tuple[list[Item], str]:
        """Return the wanted commits, plus one if there are more, and the reason if git could not list them all."""
        if self._only is not None:
            return self._rev_list(("--no-walk",), self._only, shallow) if self._only else ([], "")
        most = _max_count_option(self._max_commits)
        items, problem = self._rev_list((most, *ALL_REFS_OPTIONS), heads, shallow)
        return (self._list_from_readable_tips(most, heads, shallow) if problem else None) or (items, problem)

    def _list_from_readable_tips(
        self, most: str, heads: Sequence[str], shallow: frozenset[str]
    ) -> tuple[list[Item], str] | None:
        """List from the readable ref tips only, and say what is wrong with the others; None if that is unknown."""
        from dowse.git.refs import read_ref_tips  # only needed for a damaged repository

        ends = read_ref_tips(self.root, heads)
        if ends is None:
            return None
        items, problem = self._rev_list((most,), ends.readable, shallow)
        return items, ends.sentence() or problem or "a branch or tag points to no object"

    def _rev_list(self, options: Sequence[str], tips: Sequence[str], shallow: frozenset[str]) -> tuple[list[Item], str]:
        """List commits as far as git gets, and the reason if it stops early."""
        finished = run_on_history(
            str(self.root), "rev-list", "--timestamp", *options, "--stdin", stdin=to_stdin_lines(tips)
        )
        if finished is None:
            return [], explain_unfinished(str(self.root))
        items = [self._parse_item(line, shallow) for line in finished.stdout.splitlines()]
        problem = finished.stderr.decode(errors="replace").strip().rpartition("\n")[2][:_MAX_PROBLEM_CHARS]
        return items, (problem or f"exit code {finished.returncode}") if finished.returncode else ""

    def _parse_item(self, line: bytes, shallow: frozenset[str]) -> Item:
        at, _, name = line.partition(b" ")
        path = name.decode("ascii")
        return Item(path, self._version(path in shallow), parse_seconds(at) * 10**9, COMMIT_SOURCE_KIND)

    def _version(self, is_edge: bool) -> int:
        """Return a version for a commit, stored as its size, so that a change makes the commit be read again.

        A commit never changes, but its indexed content may: by another limit of diff lines, or when a shallow clone
        fetches the parents. The number is at most -3, because other numbers stand for older formats.
        """
        return -(2 * self._diff_lines + is_edge + _VERSION_BASE)


def list_newest_commits(git_directory: Path, heads: Sequence[str], max_commits: int) -> list[str] | None:
    """Return the hashes that a listing has, plus the first one left out; None if git fails."""
    finished = run_on_history(
        str(git_directory),
        "rev-list",
        _max_count_option(max_commits),
        *ALL_REFS_OPTIONS,
        "--stdin",
        stdin=to_stdin_lines(heads),
    )
    return None if finished is None or finished.returncode else finished.stdout.decode("ascii").split()


def format_older_commits(git_directory: Path, heads: Sequence[str], max_commits: int) -> str:
    """Return the reason for the first commit left out, which stands for all older ones."""
    counted = run_on_history(str(git_directory), "rev-list", "--count", *ALL_REFS_OPTIONS, *heads)
    others = None
    if counted is not None and not counted.returncode:
        others = max(0, int(counted.stdout) - max_commits - 1)  # some may have disappeared since the listing
    return format_cutoff_reason(f"max_commits ({max_commits:,})", others, "older commit", "older commits")


def _max_count_option(max_commits: int) -> str:
    return f"--max-count={min(max_commits + 1, _MAX_GIT_COUNT)}"


def _partial_listing(items: list[Item], problem: str, refused: Sequence[tuple[str, str]] = ()) -> Listing:
    return Listing(items, [*refused, (WHOLE_HISTORY, problem)], unreadable_prefixes=[""])


# --------------------------------------------------------------------------------------------------
# Compute the commits added and removed between two states of a repository, if there are few.

_MAX_TIPS: Final = 1_000


# Part of the stored text, so that texts from older, less reliable versions never compare equal.
_FORMAT_MARK: Final = "by listing what may have gone"


@dataclass(frozen=True, slots=True)
class RefUpdate:
    added: tuple[str, ...]
    removed: tuple[str, ...]


def snapshot_ref_tips(git_directory: Path) -> str:
    """Return a storable text that identifies everything reachable; empty if there are too many tips or git fails."""
    refs = read_refs(str(git_directory))
    if refs is None:
        return ""
    listing = run_on_history(
        str(git_directory), "for-each-ref", "--format=%(objectname)", *(f"refs/{kind}/" for kind in REF_KINDS)
    )
    if listing is None or listing.returncode:
        return ""
    tips = sorted({*refs.heads, *filter(is_object_hash, listing.stdout.decode("ascii", "replace").split())})
    edge = hashlib.sha256(
        " ".join([_FORMAT_MARK, *sorted(read_shallow_commits(str(git_directory)))]).encode()
    ).hexdigest()
    return " ".join([edge, *tips]) if len(tips) <= _MAX_TIPS else ""


def compare_ref_tips(git_directory: Path, before: str, now: str, most: int) -> RefUpdate | None:
    """Compare two texts of `snapshot_ref_tips`; None if more than `most` commits came or went, or if that is unknown.

    Git finds common ancestors by commit dates and stops early where dates go backwards. So both lists are complete, but
    `added` may include commits that were there before, and `removed` some that still are.
    """
    edge, *old = before.split() or [""]
    same_edge, *new = now.split() or ["-"]
    if edge != same_edge:
        return None  # the shallow boundary changed
    came, went = _list_reachable(git_directory, new, old, most), _list_reachable(git_directory, old, new, most)
    if came is None or went is None or len(came) > most or len(went) > most:
        return None
    return RefUpdate(came, went)


def compare_newest_commits(
    git_directory: Path, known: AbstractSet[str], max_commits: int, most: int
) -> tuple[RefUpdate, tuple[str, str] | None] | None:
    """Return exactly which commits enter and leave the newest `max_commits`, and the first one beyond them with the
    reason.

    None if there are more than `most`, or if git fails. Commit dates can be wrong, so git's own order of all commits is
    read.
    """
    refs = read_refs(str(git_directory))
    names = None if refs is None else list_newest_commits(git_directory, refs.heads, max_commits)
    if refs is None or names is None:
        return None
    newest = names[:max_commits]
    ref_update = RefUpdate(tuple(it for it in newest if it not in known), tuple(known - {*newest}))
    if len(ref_update.added) > most or len(ref_update.removed) > most:
        return None
    beyond = names[max_commits:]
    return ref_update, (beyond[0], format_older_commits(git_directory, refs.heads, max_commits)) if beyond else None


def _list_reachable(
    git_directory: Path, tips: Sequence[str], others: Sequence[str], most: int
) -> tuple[str, ...] | None:
    """List the commits reachable from the tips but not from the others; None if one of them no longer exists."""
    command = ("rev-list", f"--max-count={most + 1}", "--stdin")
    listing = run_on_history(str(git_directory), *command, stdin=to_stdin_lines([*tips, *(f"^{it}" for it in others)]))
    if listing is None or listing.returncode:
        return None
    return tuple(listing.stdout.decode("ascii").split()) if tips else ()
