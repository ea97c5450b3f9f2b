"""Compare the index with the disk before an answer, and reindex small changes inline."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dowse.engine.core import Clock, EngineCore, TimePoint
from dowse.engine.history_index import HistoryIndex
from dowse.engine.index_service import IndexService, keeps_deleted_files
from dowse.errors import DowseError, IndexBusy
from dowse.ingest.disk_scan import (
    IGNORE_FILE_NAMES,
    MISSING_STAMP,
    CollectionDisk,
    FileStamp,
    KnownFiles,
    load_known_files,
)
from dowse.ingest.sources.files import FileSource
from dowse.model import (
    COMMITS,
    Collection,
    DiskFreshness,
    Freshness,
    Item,
    Record,
    SkippedItem,
    Step,
)
from dowse.store.base import Store

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


# --------------------------------------------------------------------------------------------------
# Repeated full passes over the files that take only a share of the time.

FileKey = tuple[str, str]  # collection and path

# A pass that takes no longer than this is made for every query; longer ones take at most 1/10 of the time.
_CHEAP_PASS_S: Final = 0.02
_PASS_TIME_DIVISOR: Final = 10


class ResumablePass:
    """A resumable pass over steps, each of which may yield a place; it may take several time slices."""

    def __init__(self, steps: Callable[[], Iterator[FileKey | None]], elapsed: Callable[[], float]) -> None:
        self._make_steps = steps
        self._elapsed = elapsed
        self._steps: Iterator[FileKey | None] | None = None
        self._started_at = TimePoint()
        self._due = 0.0
        # Start of the last completed pass.
        self.seen_at = TimePoint()

    def resume(self, begun: TimePoint, slice_s: float, *, always: bool) -> tuple[int, set[FileKey]]:
        """Continue the pass; return the number of steps made and the places they yielded."""
        started = self._elapsed()
        if started < self._due:
            return 0, set()
        if self._steps is None:
            self._steps, self._started_at = self._make_steps(), begun
        found: set[FileKey] = set()
        count = 0
        for count, place in enumerate(self._steps, 1):
            if place is not None:
                found.add(place)
            if count % 32 == 0 and self._elapsed() - started > slice_s:
                break
        else:
            self._steps, self.seen_at = None, self._started_at
        took_s = self._elapsed() - started
        self._due = 0.0 if always or took_s <= _CHEAP_PASS_S else started + _PASS_TIME_DIVISOR * took_s
        return count, found

    def end(self, seen_at: TimePoint) -> None:
        """Finish the pass early, because the watcher knows everything up to this moment."""
        self._steps, self.seen_at = None, seen_at


# --------------------------------------------------------------------------------------------------
# Disk scan before an answer: finds files that differ from the index.

PendingChanges = Callable[[], Mapping[str, frozenset[str]] | None]

# Up to this many files, every query checks all of them.
MAX_SMALL_INDEX_FILES: Final = 2_500
# Time limit of a scan; the next query resumes it.
_SCAN_SLICE_S: Final = 0.03
# More differing files than this are reported as found, without a second check of each.
_MAX_RECHECKED_FILES: Final = 500


@dataclass(frozen=True, slots=True)
class ScanResult:
    """`outstanding` are the files that differ. All changes up to `as_of` are known; this is the start of the scan if it
    was `complete`."""

    as_of: float
    complete: bool
    checked: int
    outstanding: Mapping[FileKey, FileStamp]
    notes: tuple[str, ...] = ()


class DiskScan:
    """Disk scan shared by all threads, one at a time. `patience_s` limits the first scan, and every scan of a small
    index."""

    def __init__(
        self, store: Store, disk_of: Callable[[Collection], CollectionDisk | None], clock: Clock, patience_s: float
    ) -> None:
        self._store = store
        self._disk_of = disk_of
        self._clock = clock
        self._patience_s = max(patience_s, _SCAN_SLICE_S)
        self._is_first = True
        self._turn = threading.Lock()
        self._pending: PendingChanges | None = None
        self._disks: dict[str, tuple[str, CollectionDisk | None]] = {}  # with the root of each, which may move
        self._suspects: set[FileKey] = set()
        self._outstanding: Mapping[FileKey, FileStamp] = {}
        self._is_reported = False
        self._known: dict[str, KnownFiles] = {}
        self._moved = ResumablePass(self._moved_steps, clock.elapsed)
        self._changed = ResumablePass(self._changed_steps, clock.elapsed)

    def set_pending_source(self, pending: PendingChanges) -> None:
        self._pending = pending

    def has_nothing_pending(self) -> bool:
        pending = self._pending() if self._pending else None
        return pending is not None and not any(pending.values())

    @property
    def is_watched(self) -> bool:
        """Whether a watcher indexes changes."""
        return self._pending is not None

    def scan(self) -> ScanResult:
        started = self._clock.time_point()
        with self._turn, self._store.catalog.snapshot():
            looked = (
                self._collect_changes(started) if self._complete_up_to() < started else 0
            )  # another thread scanned meanwhile
            is_complete = self._complete_up_to() >= started
            if len(self._suspects) <= _MAX_RECHECKED_FILES or (is_complete and not self._is_reported):
                self._outstanding = self._check_stamps(self._suspects)
                self._suspects = set(self._outstanding)  # checked again by every scan until they no longer differ
            return ScanResult(self._as_of(), is_complete, looked, self._outstanding, self._missing_notes())

    def check(self, places: Iterable[FileKey]) -> dict[FileKey, FileStamp]:
        """Return which of these files differ now."""
        with self._turn:
            return self._check_stamps(set(places))

    def is_known(self, place: FileKey) -> bool:
        return bool(self._store.catalog.versions(place[0], (place[1],)))

    def is_small(self) -> bool:
        """Return whether the index has few files. Commits do not count: `newest` checks histories."""
        sizes = self._store.catalog.sizes()
        return (
            sum(sizes.get(it.name, 0) for it in self._store.catalog.collections() if it.source != COMMITS)
            <= MAX_SMALL_INDEX_FILES
        )

    # --- finding candidates ---

    def _collect_changes(self, started: TimePoint) -> int:
        """Collect candidates from the watcher, or by a scan if it does not know; return the number of files checked."""
        pending = self._pending() if self._pending else None
        self._is_reported = pending is not None
        if pending is None:
            return self._sweep(started)
        self._suspects = {(collection, path) for collection, paths in pending.items() for path in paths}
        self._outstanding = dict.fromkeys(self._suspects, FileStamp("file"))
        self._moved.end(started)
        self._changed.end(started)
        return len(self._suspects)

    def _sweep(self, started: TimePoint) -> int:
        """Scan names, which is quick, then every file if that is due."""
        always = self.is_small()
        slice_s = self._patience_s if always or self._is_first else _SCAN_SLICE_S
        looked, moved = self._moved.resume(started, slice_s, always=always)
        more, changed = self._changed.resume(started, slice_s, always=always)
        self._suspects |= moved | changed
        self._is_first = False
        return looked + more

    def _moved_steps(self) -> Iterator[FileKey | None]:
        for collection, disk in self._available_disks():
            known = self._known.get(collection.name) or self._read_known(collection.name)
            yield from _as_places(collection.name, disk.find_moved(known, collection.synced_at))

    def _changed_steps(self) -> Iterator[FileKey | None]:
        for collection, disk in self._available_disks():
            known = self._read_known(collection.name)
            skipped = self._skipped_items(collection.name).values()
            yield from _as_places(collection.name, disk.find_changed(known, skipped))

    def _read_known(self, collection: str) -> KnownFiles:
        """Load the indexed names and versions. This is slow, so name scans reuse the last load; `check` reads the store
        itself."""
        self._known[collection] = load_known_files(self._store.catalog, collection)
        return self._known[collection]

    # --- checking candidates ---

    def _check_stamps(self, places: set[FileKey]) -> dict[FileKey, FileStamp]:
        found: dict[FileKey, FileStamp] = {}
        for collection, disk in self._available_disks():
            paths = {path for name, path in places if name == collection.name}
            if paths:
                versions = self._store.catalog.versions(collection.name, paths)
                outstanding = disk.find_outstanding(paths, versions, self._skipped_items(collection.name))
                dropped = not keeps_deleted_files(self._store.catalog, collection.name)
                found |= {
                    (collection.name, it): stamp
                    for it, stamp in outstanding.items()
                    if dropped or stamp != MISSING_STAMP
                }
        return found

    def _skipped_items(self, collection: str) -> dict[str, SkippedItem]:
        return {it.path: it for it in self._store.catalog.skipped_items() if it.collection == collection}

    def _available_disks(self) -> Iterator[tuple[Collection, CollectionDisk]]:
        for collection in self._store.catalog.collections():
            disk = self._disk(collection)
            if disk and disk.is_there():
                yield collection, disk

    def _missing_notes(self) -> tuple[str, ...]:
        disks = [(it.root, self._disk(it)) for it in self._store.catalog.collections() if it.listed]
        return tuple(f"{root} is missing" for root, disk in disks if disk and not disk.is_there())

    def _disk(self, collection: Collection) -> CollectionDisk | None:
        root, disk = self._disks.get(collection.name, ("", None))
        if root != collection.root:
            disk = self._disk_of(collection)
            self._disks[collection.name] = collection.root, disk
        return disk

    def _complete_up_to(self) -> TimePoint:
        return min(self._moved.seen_at, self._changed.seen_at)

    def _as_of(self) -> float:
        """Return the time up to which all changes are known. A sync counts as a scan; histories are checked
        elsewhere."""
        synced = min((it.synced_at for it in self._store.catalog.collections() if it.source != COMMITS), default=0.0)
        return max(self._complete_up_to().now, synced)


def _as_places(collection: str, paths: Iterator[str | None]) -> Iterator[FileKey | None]:
    try:
        for path in paths:
            yield None if path is None else (collection, path)
    except DowseError:
        return  # the root has just disappeared; the next scan reports it


# --------------------------------------------------------------------------------------------------
# Inline reindexing of a few files before an answer, with a bounded wait.

RefreshPaths = Callable[[str, tuple[str, ...]], object]


class InlineReindex:
    """Runs one repair at a time on its own thread. A repair that exceeds the wait continues in the background."""

    def __init__(self, refresh: RefreshPaths, elapsed: Callable[[], float]) -> None:
        self._refresh = refresh
        self._elapsed = elapsed
        self._turn = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._running: Future[str] | None = None

    def run(self, wanted: Mapping[str, tuple[str, ...]], wait_s: float) -> str:
        """Index these paths by collection; return why they are not indexed (yet), or an empty string."""
        deadline = self._elapsed() + wait_s
        is_mine = False
        while not is_mine:
            running, is_mine = self._start_or_join(wanted)
            try:
                reason = running.result(max(0.0, deadline - self._elapsed()))
            except TimeoutError:
                return "indexing continues in the background"
        return reason

    def close(self, patience_s: float) -> None:
        """Wait briefly for the running repair."""
        from concurrent.futures import wait

        with self._turn:
            pool, running = self._pool, self._running
            self._pool = None
        if running:
            wait([running], patience_s)
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)

    def _start_or_join(self, wanted: Mapping[str, tuple[str, ...]]) -> tuple[Future[str], bool]:
        """Start the repair; if another one is running, return that instead, to be awaited first."""
        from concurrent.futures import ThreadPoolExecutor  # imports logging, which few queries need

        with self._turn:
            is_free = self._running is None or self._running.done()
            if self._running is None or is_free:
                self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="dowse-repair")
                self._running = self._pool.submit(self._repair, wanted)
            return self._running, is_free

    def _repair(self, wanted: Mapping[str, tuple[str, ...]]) -> str:
        try:
            for collection, paths in wanted.items():
                self._refresh(collection, paths)
        except IndexBusy:
            return "the index is being written to"
        except (DowseError, OSError) as error:
            return str(error)
        except Exception as error:  # logged, because the caller may have stopped waiting
            import logging

            logging.getLogger(__name__).exception("cannot index files before an answer")
            return f"{type(error).__name__}: {error}"
        return ""


# --------------------------------------------------------------------------------------------------
# Freshness of answers: find changed files, index them first if that is quick, and report the rest.

# Reindexing rates used to decide what fits into the time an answer may wait. The rest is left to a sync or the watcher.
_FILES_PER_SECOND: Final = 80
_BYTES_PER_SECOND: Final = 4_000_000
# The repair budget is clamped to this range; unfinished work continues in the background.
_MIN_REPAIR_SECONDS: Final = 0.25
_MAX_REPAIR_SECONDS: Final = 5.0
_REINDEX_HINT: Final = "run `dowse index` to update the index"
_MAX_EXAMPLES: Final = 3
_MAX_TRIED_FILES: Final = 10_000
_REPAIR_CLOSE_WAIT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class FreshnessResult:
    """The freshness of an answer, and the step that determined it."""

    disk_freshness: DiskFreshness
    step: Step


class FreshnessChecker:
    def __init__(self, look: DiskScan, inline_reindex: InlineReindex, clock: Clock, repair_s: float) -> None:
        self._disk_scan = look
        self._inline_reindex = inline_reindex
        self._clock = clock
        self._repair_s = repair_s
        worth_s = min(max(repair_s, _MIN_REPAIR_SECONDS), _MAX_REPAIR_SECONDS)
        self._most_files, self._most_bytes = int(worth_s * _FILES_PER_SECOND), int(worth_s * _BYTES_PER_SECOND)
        # Files whose reindexing changed nothing, by stamp. They are not tried again until they change.
        self._tried: dict[FileKey, FileStamp] = {}

    def check(self) -> FreshnessResult:
        """Check the disk before an answer."""
        began = self._clock.elapsed()
        return self._repair_and_report(self._disk_scan.scan(), began)

    def check_files(self, places: Iterable[FileKey], as_of: float = 0.0) -> FreshnessResult | None:
        """Check files that an answer found; None if nothing could be done about them."""
        began = self._clock.elapsed()
        outstanding = self._disk_scan.check(places)
        if not self._select_quick(outstanding):
            return None
        return self._repair_and_report(ScanResult(as_of, False, len(outstanding), outstanding), began)

    def close(self) -> None:
        self._inline_reindex.close(_REPAIR_CLOSE_WAIT_S)

    def _repair_and_report(self, scan_result: ScanResult, began: float) -> FreshnessResult:
        quick = self._select_quick(scan_result.outstanding)
        why = self._inline_reindex.run(self._paths_by_collection(quick), self._repair_s) if quick else ""
        left = (
            self._recheck(scan_result.outstanding, quick, why)
            if quick
            else self._files_to_report(scan_result.outstanding)
        )
        paths = sorted(path for _, path in left)
        why = why or ("" if self._disk_scan.is_watched or set(left) <= set(quick) else _REINDEX_HINT)
        notes = tuple(filter(None, (why if left else "", *scan_result.notes)))
        seen = DiskFreshness(scan_result.as_of, len(paths), tuple(paths[:_MAX_EXAMPLES]), notes, scan_result.complete)
        took_ms = (self._clock.elapsed() - began) * 1000
        found = len(scan_result.outstanding)
        note = f"{found:,} changed, {max(0, found - len(left)):,} indexed before the answer" if found else ""
        return FreshnessResult(seen, Step("freshness", scan_result.checked, found, round(took_ms, 3), note))

    def _select_quick(self, outstanding: Mapping[FileKey, FileStamp]) -> list[FileKey]:
        """Return the changed files to index before the answer: few, small, and not tried before."""
        untried = [it for it, stamp in outstanding.items() if self._tried.get(it) != stamp]
        if not self._repair_s or len(untried) > self._most_files:
            return []
        room = self._most_bytes
        quick: list[FileKey] = []
        for place in sorted(untried, key=lambda it: (outstanding[it].size, it)):
            room -= outstanding[place].size
            if room >= 0 and outstanding[place].kind != "directory" and self._path_to_reindex(place) is not None:
                quick.append(place)
        return quick

    def _paths_by_collection(self, places: Iterable[FileKey]) -> dict[str, tuple[str, ...]]:
        ways: defaultdict[str, list[str]] = defaultdict(list)
        for place in places:
            ways[place[0]].append(self._path_to_reindex(place) or "")
        return {collection: () if "" in paths else tuple(paths) for collection, paths in ways.items()}

    def _path_to_reindex(self, place: FileKey) -> str | None:
        """Return the path to reindex. For an ignore file this is its directory; None if that is the root of a large
        index."""
        directory, _, name = place[1].rpartition("/")
        if name not in IGNORE_FILE_NAMES:
            return place[1]
        return directory if directory or self._disk_scan.is_small() else None

    def _recheck(self, before: Mapping[FileKey, FileStamp], quick: list[FileKey], why: str) -> list[FileKey]:
        after = self._disk_scan.check(before)
        if not why:
            self._remember(quick, before, after)
        return self._files_to_report(after)

    def _remember(
        self, quick: list[FileKey], before: Mapping[FileKey, FileStamp], after: Mapping[FileKey, FileStamp]
    ) -> None:
        if len(self._tried) > _MAX_TRIED_FILES:
            self._tried.clear()
        # Deleted files that stay indexed because the root is empty are not remembered: retrying them is cheap.
        self._tried |= {it: before[it] for it in quick if after.get(it) == before[it] != MISSING_STAMP}

    def _files_to_report(self, outstanding: Mapping[FileKey, FileStamp]) -> list[FileKey]:
        """Return the changed files to report. Files that are not indexed and need not be are left out."""
        return [it for it, stamp in outstanding.items() if self._tried.get(it) != stamp or self._disk_scan.is_known(it)]


# --------------------------------------------------------------------------------------------------
# Ref check before an answer: finds histories that differ from their repositories.

# Slower checks are not made for every query, but take at most 1/10 of the time. Other load may have delayed a single
# check, so the fastest of a few counts.
_CHEAP_REF_CHECK_S: Final = 0.005
_REF_CHECK_DIVISOR: Final = 10
_TIMED_REF_CHECKS: Final = 3
_HISTORY_CLOSE_WAIT_S: Final = 2.0


class RefCheck:
    """Finds outdated histories and updates them if few commits changed.

    `outdated` returns the outdated histories with the state of their repositories. The answer waits for
    `inline_reindex` at most `repair_s`.
    """

    def __init__(
        self,
        outdated: Callable[[], Mapping[str, str]],
        inline_reindex: InlineReindex,
        elapsed: Callable[[], float],
        repair_s: float,
    ) -> None:
        self._find_outdated = outdated
        self._inline_reindex = inline_reindex
        self._elapsed = elapsed
        self._repair_s = repair_s
        self._turn = threading.Lock()
        self._due = 0.0
        self._took_s = deque([0.0] * _TIMED_REF_CHECKS, maxlen=_TIMED_REF_CHECKS)
        self._seen: Mapping[str, str] = {}
        # States whose repair changed nothing. They are not tried again until they change.
        self._tried: dict[str, str] = {}

    def check(self) -> tuple[str, ...]:
        """Update outdated histories if that is quick; return sentences about those left."""
        outdated = self._poll()
        untried = [name for name, state in outdated.items() if self._tried.get(name) != state]
        if untried and self._repair_s:
            reason = self._inline_reindex.run(dict.fromkeys(untried, ()), self._repair_s)
            left = self._find_outdated()
            self._remember(outdated, left, untried)
            self._seen = left
            return _outdated_sentences(left, reason)
        return _outdated_sentences(outdated, "")

    def close(self) -> None:
        self._inline_reindex.close(_HISTORY_CLOSE_WAIT_S)

    def _poll(self) -> Mapping[str, str]:
        with self._turn:
            began = self._elapsed()
            if began >= self._due:
                self._seen = self._find_outdated()
                self._took_s.append(self._elapsed() - began)
                quickest_s = min(self._took_s)
                self._due = 0.0 if quickest_s <= _CHEAP_REF_CHECK_S else began + _REF_CHECK_DIVISOR * quickest_s
            return self._seen

    def _remember(self, before: Mapping[str, str], after: Mapping[str, str], tried: Iterable[str]) -> None:
        self._tried = {name: before[name] for name in tried if after.get(name) == before[name]}


def _outdated_sentences(outdated: Iterable[str], reason: str) -> tuple[str, ...]:
    why = f" ({reason})" if reason else ""
    return tuple(f"the latest git changes of {name} are not in this answer{why}" for name in outdated)


class FreshnessService:
    """Compares the index with the disk and the repositories before an answer."""

    def __init__(self, core: EngineCore, indexing: IndexService, histories: HistoryIndex) -> None:
        self._core = core
        self._settings = core.settings
        self._sources = core.sources
        self._indexing = indexing
        clock, repair_s = core.clock, core.settings.freshness_timeout_ms / 1000
        self._disk_scan = DiskScan(core.store, self._disk, clock, repair_s)
        # Waiting for the lock may take half of the time, which leaves the other half for the work.
        inline_reindex = InlineReindex(
            lambda name, paths: indexing.refresh_paths(name, paths, repair_s / 2), clock.elapsed
        )
        self._checker = FreshnessChecker(self._disk_scan, inline_reindex, clock, repair_s)
        newest = InlineReindex(lambda name, _: histories.index_new_commits(name, repair_s / 2), clock.elapsed)
        self._ref_check = RefCheck(histories.outdated_complete_histories, newest, clock.elapsed, repair_s)

    def close(self) -> None:
        self._checker.close()
        self._ref_check.close()

    def check_histories(self) -> tuple[str, ...]:
        """Index new commits if that is quick; return sentences about those left."""
        return self._ref_check.check()

    def check_files(self, places: Iterable[FileKey], as_of: float = 0.0) -> FreshnessResult | None:
        """Check files that an answer found; None if nothing could be done about them."""
        return self._checker.check_files(places, as_of)

    def notes(self) -> tuple[str, ...]:
        """Return sentences about changed files that are not indexed yet."""
        return self.ensure().sentences()

    def set_pending_source(self, pending: PendingChanges) -> None:
        """Use this callback for pending changes instead of scanning all files.

        It returns paths by collection, or None while it does not know.
        """
        self._disk_scan.set_pending_source(pending)

    def has_nothing_pending(self) -> bool:
        """Return whether a watcher is active and every change it saw is indexed."""
        return self._disk_scan.has_nothing_pending()

    def freshness_of(self, record: Record) -> Freshness:
        """Compare the record's file with the disk."""
        return self._sources.source_of(record.collection).freshness(Item(record.path, record.size, record.mtime_ns))

    def check(self) -> FreshnessResult:
        repair_s = self._settings.freshness_timeout_ms / 1000
        new = self._indexing.index_new_memory_folders(repair_s / 2) if repair_s else ()
        freshness_result, notes = self._checker.check(), (*new, *self._ref_check.check())
        seen = replace(freshness_result.disk_freshness, notes=(*freshness_result.disk_freshness.notes, *notes))
        return replace(freshness_result, disk_freshness=seen) if notes else freshness_result

    def ensure(self) -> DiskFreshness:
        return self.check().disk_freshness

    def _disk(self, collection: Collection) -> CollectionDisk | None:
        """Return the disk view of a collection; None if it is not a directory, for example a named corpus."""
        source = self._sources.source_of(collection.name)
        if not isinstance(source, FileSource) or not source.root.is_absolute():
            return None
        return CollectionDisk(source, now_ns=lambda: int(self._core.clock.now() * 1e9))
