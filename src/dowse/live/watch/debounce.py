"""Debounce file events into batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from dowse.config import SETTINGS_FILE_NAME, Settings
from dowse.git.repository import GIT_IGNORE_FILE, common_directory_of, git_directory_of, is_work_tree
from dowse.ingest.sources.walk import DOWSE_IGNORE_FILE
from dowse.paths import ancestors_and_self

# --------------------------------------------------------------------------------------------------
# Data types of file watching: watch targets, file events, and the batches made of them.

MAX_DEBOUNCE_PERIODS = 10
"""A file that never stops changing is indexed after this many debounce periods."""


def _no_change() -> bool:
    return False


@dataclass(frozen=True, slots=True)
class WatchTarget:
    """A collection's root and the paths of interest in it, relative to the root with `/`.

    `reload_rules` reloads the rules behind both filters; true if the set of wanted directories may have changed.
    """

    collection: str
    root: Path
    wants_directory: Callable[[str], bool]
    wants_file: Callable[[str], bool]
    reload_rules: Callable[[], bool] = _no_change


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Files and directories of one collection to compare with the disk.

    `compare_all`: compare everything; `paths` are then only those known to differ.
    """

    collection: str
    paths: frozenset[str]
    compare_all: bool
    why: str


@dataclass(frozen=True, slots=True)
class WatchTiming:
    debounce_s: float = 0.5
    git_debounce_s: float = 5.0
    poll_s: float = 2.0
    bulk_threshold: int = 100
    retry_s: float = 30.0
    """Delay before a batch that could not be indexed is retried."""

    @classmethod
    def of(cls, settings: Settings) -> WatchTiming:
        return cls(settings.debounce_ms / 1000, settings.git_debounce_s, settings.poll_s, settings.bulk_threshold)


class FileEvent(NamedTuple):
    """A change seen by a watch backend.

    - `file`: a file changed
    - `tree`: a directory and everything below it changed
    - `git`: git changed branches or commits
    - `rules`: the ignore rules changed
    - `lost`: events were lost
    """

    kind: Literal["file", "tree", "git", "rules", "lost"]
    path: str = ""


@dataclass(frozen=True, slots=True)
class ComparisonReason:
    """The reason a whole root is compared.

    `incomplete`: the set of changed files is unknown until then. `requires_rewatch`: the directories to watch must be
    determined again first.
    """

    text: str
    wait: Literal["none", "files", "git", "again"] = "files"
    incomplete: bool = True
    requires_rewatch: bool = False


WATCH_STARTED = ComparisonReason("start", wait="none")
WATCH_RESTARTED = ComparisonReason("restart", wait="none")
ROOT_RETURNED = ComparisonReason("the root returned")
BULK_CHANGE = ComparisonReason("bulk")
RULES_CHANGED = ComparisonReason("ignore rules", requires_rewatch=True)
EVENTS_LOST = ComparisonReason("overflow", requires_rewatch=True)
GIT_CHANGED = ComparisonReason("git", wait="git", incomplete=False)
"""Not incomplete: every file that git writes causes an event itself."""
RETRY_FAILED = ComparisonReason("retry", wait="again", incomplete=False)
"""Not incomplete: the paths that were not indexed are remembered."""


@dataclass(slots=True)
class _EventSpan:
    """Time of the first and last event since the last batch."""

    first: float
    last: float

    def ready_at(self, quiet_s: float, disturbed: float = 0.0) -> float:
        return min(self.first + MAX_DEBOUNCE_PERIODS * quiet_s, max(self.last, disturbed) + quiet_s)


class DueBatch(NamedTuple):
    batch: ChangeBatch
    reasons: tuple[ComparisonReason, ...]


class Debouncer:
    """Changes of one collection, from the event to the index.

    A file is due once neither it nor newly arriving files have changed for the debounce period, at the latest after ten
    periods. So one file that changes all the time delays no other, and a burst becomes one batch. Beyond the bulk
    threshold single paths are dropped and the whole root is compared.
    """

    def __init__(self, collection: str, timing: WatchTiming) -> None:
        self._collection = collection
        self._timing = timing
        self._changed: dict[str, _EventSpan] = {}
        self._trees: set[str] = set()
        self._latest_arrival = 0.0
        self._comparisons: dict[ComparisonReason, _EventSpan] = {}
        self._in_progress: list[ChangeBatch] = []
        self._incomplete_batches: list[ChangeBatch] = []
        self._missed: set[str] = set()
        self._missed_incomplete = False  # because of the missed batches
        self.sent = 0

    def add_events(self, events: Iterable[FileEvent], now: float) -> None:
        for kind, path in events:
            if kind == "git":
                self.compare(GIT_CHANGED, now)
            elif kind in ("rules", "lost"):
                self.compare(RULES_CHANGED if kind == "rules" else EVENTS_LOST, now)
            elif path:
                self._note(path, kind == "tree", now)

    def compare(self, reason: ComparisonReason, now: float, *, since: float | None = None) -> None:
        """Schedule a comparison of the whole root."""
        span = self._comparisons.setdefault(reason, _EventSpan(now if since is None else since, now))
        span.last = now
        if reason.incomplete:
            self._changed.clear()
            self._trees.clear()

    def forget(self) -> None:
        """Drop all pending changes, because the root is gone."""
        self._changed.clear()
        self._trees.clear()
        self._comparisons.clear()
        self._clear_missed()

    def due_at(self) -> float | None:
        """Return when the next batch will be due if nothing else changes."""
        times = [*map(self._comparison_due_at, self._comparisons), *map(self._path_due_at, self._changed)]
        return min(times, default=None)

    def take_due(self, now: float) -> DueBatch | None:
        """Return a batch that is due; call again until the result is None."""
        reasons = tuple(it for it in self._comparisons if self._comparison_due_at(it) <= now)
        if reasons:
            return self._take_comparison(reasons)
        paths = frozenset(it for it in self._changed if self._path_due_at(it) <= now)
        if not paths:
            return None
        for path in paths:
            del self._changed[path]
        self._trees -= paths
        return DueBatch(self._emit(ChangeBatch(self._collection, paths, False, "files changed"), incomplete=False), ())

    def mark_done(self, batch: ChangeBatch) -> None:
        """Mark a batch as indexed. An equal batch may still be in progress."""
        for batches in (self._in_progress, self._incomplete_batches):
            if batch in batches:
                batches.remove(batch)

    def mark_incomplete(self, batch: ChangeBatch) -> None:
        """Mark a batch as incomplete: events may have been lost, so changes are unknown until it is indexed."""
        if batch in self._in_progress and batch not in self._incomplete_batches:
            self._incomplete_batches.append(batch)

    def mark_missed(self, batch: ChangeBatch, now: float) -> None:
        """Mark a batch as abandoned. Its paths join the next comparison of the whole root."""
        if batch in self._in_progress:
            self._missed |= batch.paths
            self._missed_incomplete |= (
                batch in self._incomplete_batches or len(self._missed) > self._timing.bulk_threshold
            )
            self.mark_done(batch)
            self.compare(RETRY_FAILED, now)

    def pending(self) -> frozenset[str] | None:
        """Return the paths seen but not yet indexed; None while they are unknown."""
        if self._missed_incomplete or self._incomplete_batches or any(it.incomplete for it in self._comparisons):
            return None
        return frozenset(self._changed).union(self._missed, *(it.paths for it in self._in_progress))

    def count(self) -> int:
        """Return the number of changes seen but not yet indexed; a whole root counts as one."""
        waiting = len(self._changed) + len(self._comparisons)
        return waiting + sum(1 if it.compare_all else len(it.paths) for it in self._in_progress)

    def _take_comparison(self, reasons: tuple[ComparisonReason, ...]) -> DueBatch:
        for reason in reasons:
            del self._comparisons[reason]
        why = ", ".join(it.text for it in reasons)
        batch = ChangeBatch(self._collection, frozenset(self._missed), True, why)
        incomplete = self._missed_incomplete or any(it.incomplete for it in reasons)
        self._clear_missed()
        return DueBatch(self._emit(batch, incomplete=incomplete), reasons)

    def _clear_missed(self) -> None:
        self._missed.clear()
        self._missed_incomplete = False

    def _emit(self, batch: ChangeBatch, *, incomplete: bool) -> ChangeBatch:
        self._in_progress.append(batch)
        if incomplete:
            self._incomplete_batches.append(batch)
        self.sent += 1
        return batch

    def _note(self, path: str, is_tree: bool, now: float) -> None:
        covering = self._covering_spans(path)
        for span in covering:
            span.last = now  # the covering tree waits until this path is quiet too
        if covering:
            return
        span = self._changed.get(path) or self._add_path(path, now)
        span.last = now
        if is_tree:
            self._absorb(path, span)
        if len(self._changed) > self._timing.bulk_threshold:
            self.compare(BULK_CHANGE, now, since=min(it.first for it in self._changed.values()))

    def _covering_spans(self, path: str) -> list[_EventSpan]:
        """Return the pending whole-root comparisons and trees that include this path."""
        comparisons = [span for reason, span in self._comparisons.items() if reason.incomplete]
        if comparisons or not self._trees:
            return comparisons
        return [self._changed[it] for it in ancestors_and_self(path) if it in self._trees]

    def _add_path(self, path: str, now: float) -> _EventSpan:
        self._latest_arrival = now
        self._changed[path] = _EventSpan(now, now)
        return self._changed[path]

    def _absorb(self, tree: str, span: _EventSpan) -> None:
        self._trees.add(tree)
        for path in [it for it in self._changed if it.startswith(tree + "/")]:
            span.first = min(span.first, self._changed.pop(path).first)
            self._trees.discard(path)

    def _path_due_at(self, path: str) -> float:
        return self._changed[path].ready_at(self._timing.debounce_s, self._latest_arrival)

    def _comparison_due_at(self, reason: ComparisonReason) -> float:
        timing = self._timing
        waits = {"none": 0.0, "files": timing.debounce_s, "git": timing.git_debounce_s, "again": timing.retry_s}
        return self._comparisons[reason].ready_at(waits[reason.wait])


# --------------------------------------------------------------------------------------------------
# Files of a repository that show a change of branches, commits or ignore rules.

_MAX_REF_DIRECTORIES = 1000  # branch names may contain slashes, and a repository may hold any number of them


@dataclass(frozen=True, slots=True)
class GitWatchDirectory:
    """A directory outside the indexed files, and the names in it that matter. `git` None: all names but lock files."""

    directory: str
    git: frozenset[str] | None
    rules: frozenset[str] = frozenset()

    def classify(self, name: str) -> Literal["git", "rules"] | None:
        if name in self.rules:
            return "rules"
        is_git = name in self.git if self.git is not None else not name.endswith(".lock")
        return "git" if is_git else None


def git_watch_directories(top: str) -> list[GitWatchDirectory]:
    """Return the directories to watch for the repository whose work tree starts at `top`; empty if there is none."""
    git_directory = git_directory_of(top)
    if git_directory is None or not is_work_tree(top):
        return []
    common = str(common_directory_of(top))
    info = GitWatchDirectory(f"{common}/info", frozenset(), frozenset(("exclude",)))
    shared = GitWatchDirectory(common, frozenset(("packed-refs",)), frozenset(("info",)))  # info/ may not exist yet
    heads = [GitWatchDirectory(it, None) for it in _list_ref_directories(f"{common}/refs/heads")]
    return [GitWatchDirectory(str(git_directory), frozenset(("HEAD", "index"))), shared, info, *heads]


def _list_ref_directories(directory: str) -> list[str]:
    found: list[str] = []
    for place, _, _ in os.walk(directory):
        found.append(place)
        if len(found) >= _MAX_REF_DIRECTORIES:
            break
    return found


# --------------------------------------------------------------------------------------------------
# File names with a meaning for the watcher.

GIT_ENTRY_NAME = ".git"
_IGNORE_FILE_NAMES = frozenset((DOWSE_IGNORE_FILE, GIT_IGNORE_FILE))


def is_ignore_rules_file(path: str) -> bool:
    """Return whether the file holds ignore rules for its directory or those below."""
    return path == SETTINGS_FILE_NAME or path.rpartition("/")[2] in _IGNORE_FILE_NAMES
