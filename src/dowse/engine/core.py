"""State that every engine service shares: settings, store, encoder, sources, clock and spare threads."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from dowse.config import Settings
from dowse.engine.reranking import IndexRerankers
from dowse.engine.semantics import IndexEncoders
from dowse.errors import BadInput, Unreadable
from dowse.git.commit import Redaction
from dowse.git.refs import refs_token
from dowse.git.repositories import git_directory_of_history
from dowse.git.repository import common_directory_of, is_work_tree
from dowse.ingest.sources.base import Source
from dowse.ingest.sources.commits import CommitSource
from dowse.ingest.sources.files import MEMORIES_FOLDER, FileSource, memory_source
from dowse.lookup.targets import resolve_records, with_outer_paths
from dowse.model import COMMITS, FILES, MEMORIES, Collection, Item, Record, Scope
from dowse.paths import DataPaths
from dowse.search.stages.dedup import Preferences
from dowse.store.base import Store
from dowse.store.sqlite.derived import INDEX_FILE_SUFFIXES, QUARANTINE_SUFFIX
from dowse.store.view import StoreView
from dowse.text.globs import escape_glob
from dowse.text.unicode import decode

if TYPE_CHECKING:
    from concurrent.futures import Future

    from dowse.git.worktree import ChangedSpans
    from dowse.ingest.workers import WorkerPool

# --------------------------------------------------------------------------------------------------
# Spare threads that run lexical and semantic retrieval in parallel, and the rule by which background work yields to
# queries.

ThreadResult = TypeVar("ThreadResult")

_MAX_SPARE_THREADS: Final = 4
_THREADS_CLOSE_WAIT_S: Final = 2.0
_QUERY_QUIET_S: Final = 0.5
_MAX_YIELD_S: Final = 5.0
_QUIET_POLL_S: Final = 0.05


def count_spare_processors() -> int:
    """Return how many processors this process may use besides the one of the calling thread."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable - 1, _MAX_SPARE_THREADS)


class QueryActivity:
    """Remembers the time of the last query, so that long work in the same process yields to queries."""

    def __init__(
        self, elapsed: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._elapsed = elapsed
        self._sleep = sleep
        self._asked_at = float("-inf")

    def note(self) -> None:
        self._asked_at = self._elapsed()

    def wait_for_quiet(self, is_stopped: Callable[[], bool]) -> None:
        """Wait until no query has arrived for a moment, because queries come in bursts.

        The wait is bounded, so that background work makes progress under any load.
        """
        most = self._elapsed() + _MAX_YIELD_S
        while self._elapsed() < min(most, self._asked_at + _QUERY_QUIET_S) and not is_stopped():
            self._sleep(_QUIET_POLL_S)


class SpareThreads:
    """A small thread pool. If no thread is free, as under concurrent queries, the caller does the work itself."""

    def __init__(self, threads: int) -> None:
        self._free = threading.Semaphore(threads)
        self._threads = threads
        self._turn = threading.Lock()
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._running: list[threading.Thread] = []
        self._closed = False
        self.is_contended: Callable[[], bool] = lambda: False
        """Return whether other threads wait for a processor. A handover to another thread then costs more than it
        gains."""

    def begin(self, work: Callable[[], ThreadResult]) -> Callable[[], ThreadResult]:
        """Start the work and return a function that waits for its result, or that does the work when called."""
        if self.is_contended() or not self._free.acquire(blocking=False):
            return work
        from concurrent.futures import Future

        future: Future[ThreadResult] = Future()
        with self._turn:
            if self._closed or not self._ensure_thread():
                self._free.release()
                return work
            self._queue.put(partial(self._run_work, work, future))
        return future.result

    def close(self) -> None:
        """Wait briefly for running work. A model that does not answer must not block the exit."""
        with self._turn:
            self._closed = True
        for _ in self._running:
            self._queue.put(None)
        deadline = time.monotonic() + _THREADS_CLOSE_WAIT_S
        for thread in self._running:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _ensure_thread(self) -> bool:
        """Start a thread if fewer than allowed run; return whether there is any, since the system may refuse new ones.

        Threads stay alive because each has its own connection to the index. As daemons they do not block the exit.
        """
        if len(self._running) < self._threads:
            thread = threading.Thread(target=self._work, name="dowse-beside", daemon=True)
            with suppress(RuntimeError):
                thread.start()
                self._running.append(thread)
        return bool(self._running)

    def _work(self) -> None:
        while (work := self._queue.get()) is not None:
            work()

    def _run_work(self, work: Callable[[], ThreadResult], future: Future[ThreadResult]) -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - re-raised where the result is awaited
            self._free.release()
            future.set_exception(error)
        else:
            self._free.release()
            future.set_result(result)


# --------------------------------------------------------------------------------------------------
# Cache of uncommitted lines by file, valid until the file or its repository changes. Many memories may ask about one
# file.

_MAX_CACHED_FILES: Final = 1_000

_FileStamp = tuple[int, int, int, int]
_FileState = tuple[str | None, tuple[_FileStamp | None, ...]]


class UncommittedLinesCache:
    """Thread-safe: at worst two threads compute the same entry."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[_FileState, ChangedSpans]] = {}

    def lines_of(self, place: Path) -> ChangedSpans:
        """Return the lines of the work tree file that differ from the last commit; all lines if only one side has the
        file."""
        from dowse.git.runner import path_spellings
        from dowse.git.worktree import find_checkout, list_edited_lines

        checkout = find_checkout(place.parent)
        if checkout is None or checkout.top is None:
            return ()
        path = place.relative_to(checkout.top).as_posix()
        # Taken before anything is read, so that a concurrent change invalidates the entry next time.
        stamps = tuple(_work_tree_stamp(checkout.top / it) for it in path_spellings([path]))
        state = refs_token(str(checkout.common)), stamps
        known = self._known.get(place)
        if known is None or known[0] != state:
            known = state, list_edited_lines(checkout, path)
            self._store(place, known)
        return known[1]

    def _store(self, place: Path, known: tuple[_FileState, ChangedSpans]) -> None:
        if len(self._known) >= _MAX_CACHED_FILES:
            self._known.clear()
        self._known[place] = known


def _work_tree_stamp(place: Path) -> _FileStamp | None:
    try:
        status = place.stat()
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


WORK_TREES_KEY: Final = "work trees "
"""Metadata key prefix for the work trees of a repository; the name of its history follows."""


class TimePoint(NamedTuple):
    """A point in time, ordered by the monotonic clock; `now` is the wall-clock time shown to users."""

    elapsed: float = float("-inf")
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is the wall-clock time in seconds since 1970; `elapsed` is monotonic."""

    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic

    def time_point(self) -> TimePoint:
        return TimePoint(self.elapsed(), self.now())


SYSTEM_CLOCK = Clock()


class EngineCore:
    """State that all services of one open index share."""

    def __init__(self, settings: Settings, index: Path, store: Store, clock: Clock, workers: WorkerPool | None) -> None:
        places = DataPaths.of(settings)
        self.settings = settings
        self.index_path = index.resolve()
        self.store = store
        self.clock = clock
        self.sources = CollectionSources(self)
        self.workers = workers
        self.preferences = Preferences()
        self.edits = UncommittedLinesCache()
        self.spare_threads = SpareThreads(count_spare_processors())
        self.queries = QueryActivity()
        self.encoders = IndexEncoders(
            settings.encoder, places, store, api_key=settings.encoder_key, threads=settings.encoder_threads
        )
        self.rerankers = IndexRerankers(
            settings.reranker, places, model_dir=settings.reranker_model, key=settings.reranker_key
        )

    def close(self) -> None:
        self.spare_threads.close()
        if self.workers:
            self.workers.close()
        self.sources.close()
        self.store.close()

    def view(self) -> StoreView:
        """Return what readers may see, for one request."""
        return self.store.view()

    def collections(self) -> list[Collection]:
        """Return the collections read from files: roots and memory folders."""
        return [it for it in self.store.catalog.collections() if it.source != COMMITS]

    def histories(self) -> list[Collection]:
        """Return the collections read from repositories."""
        return [it for it in self.store.catalog.collections() if it.source == COMMITS]

    def collection(self, name: str) -> Collection:
        """Return the collection with this name."""
        found = next((it for it in self.store.catalog.collections() if it.name == name), None)
        if found is None:
            raise BadInput(f"no collection named {name!r}; `dowse status` lists them")
        return found

    def history_at(self, git_directory: Path) -> Collection | None:
        return next((it for it in self.histories() if git_directory_of_history(it.root) == git_directory), None)

    def file_roots(self) -> list[Path]:
        return [
            Path(it.root)
            for it in self.store.catalog.collections()
            if it.source == FILES and Path(it.root).is_absolute()
        ]

    def expand_scope(self, scope: Scope) -> Scope:
        """Return the scope with globs that also reach collections below a root."""
        return with_outer_paths(scope, self.store.catalog.collections())

    def record(self, path: str, collection: str | None = None) -> list[Record]:
        """Return every record with this path or reference (`memory:NAME`, `commit:HASH`). Several roots may each have
        one."""
        return resolve_records(self.view(), path, collection)

    def one_record(self, path: str, collection: str | None) -> Record:
        """Return the only record with this path; raise BadInput if there is none, or several."""
        records = self.record(path, collection)
        if len(records) != 1:
            known = f"{len(records)} collections have {path!r}; choose one" if records else f"{path!r} is not indexed"
            raise BadInput(known)
        return records[0]


class CollectionSources:
    """The source of each collection: files, memories or commits."""

    def __init__(self, core: EngineCore) -> None:
        self._core = core
        self._settings = core.settings
        self._known: dict[str, Source] = {}

    def close(self) -> None:
        for source in self._known.values():
            if isinstance(source, CommitSource):
                source.close()

    def set(self, collection: str, source: Source) -> None:
        self._known[collection] = source

    def forget(self, collection: str) -> None:
        """Drop a source that may have been made with other rules or for another root."""
        former = self._known.pop(collection, None)
        if isinstance(former, CommitSource):
            former.close()

    def source_of(self, collection: str) -> Source:
        source = self._known.get(collection)
        if source is None or isinstance(source, FileSource | CommitSource):
            known = self._core.collection(collection)
            root = git_directory_of_history(known.root) if known.source == COMMITS else Path(known.root)
            if source is None or source.root != root:  # another process may have relocated the collection
                source = self.commits_of(known) if known.source == COMMITS else self.files_at(root)
                self._known[collection] = source
        return source

    def commits_of(
        self, history: Collection, only: tuple[str, ...] | None = None, cut: tuple[str, str] | None = None
    ) -> CommitSource:
        place, settings = git_directory_of_history(history.root), self._settings
        withholding = self.redaction_for(self.work_trees(history) or [place])
        return CommitSource(place, settings.max_commits, settings.diff_lines, only, cut, withholding)

    def work_trees(self, history: Collection) -> list[Path]:
        """Return the work trees found below the roots that still belong to this repository."""
        noted: list[str] = json.loads(self._core.store.catalog.metadata().get(WORK_TREES_KEY + history.name) or "[]")
        home = git_directory_of_history(history.root)
        return [Path(it) for it in noted if is_work_tree(it) and common_directory_of(it).resolve() == home]

    def redaction_for(self, tops: Sequence[Path]) -> Redaction:
        """Return the filter for changes in a repository with these work trees.

        Files inside a root follow the rules of that root. Files outside every root are filtered as if the work tree
        were a root.
        """
        roots = self._core.file_roots()
        around = [(top, root) for top in tops for root in roots if top.is_relative_to(root)]
        inside = [(top, root) for top in tops for root in roots if root != top and root.is_relative_to(top)]
        judges = {root: self.files_at(root).left_out() for root in {root for _, root in (*around, *inside)}}
        ways = [(f"{top.relative_to(root).as_posix()}/".removeprefix("./"), judges[root]) for top, root in around]
        parts = [(f"{root.relative_to(top).as_posix()}/", judges[root]) for top, root in inside]
        outside = [] if around else [self.files_at(top).left_out() for top in tops]

        @lru_cache(maxsize=100_000)  # called once for each commit that touched a path
        def is_left_out(path: str) -> bool:
            within = [judge(path.removeprefix(way)) for way, judge in parts if path.startswith(way)]
            return (
                any(judge(way + path) for way, judge in ways)
                or any(within)
                or (not within and any(judge(path) for judge in outside))
            )

        return Redaction(is_left_out, self._settings.show_secrets)

    def read_text(self, record: Record) -> str | None:
        """Return the record's current text from its source; None if the source cannot read it."""
        source = self.source_of(record.collection)
        try:
            item, data = source.read(Item(record.path, record.size, record.mtime_ns))
        except Unreadable:
            return None
        if not isinstance(source, CommitSource):
            return decode(data)
        from dowse.ingest.extract.registry import extract  # imports every extractor

        return extract(item, data).text

    def files_of(self, collection: str) -> FileSource:
        """Return the source of a collection's files on disk."""
        return self.files_at(Path(self._core.collection(collection).root))

    def files_at(self, root: Path, subpaths: tuple[str, ...] = ()) -> FileSource:
        known = {Path(it.root): it for it in self._core.collections()}
        if root in known and known[root].source == MEMORIES:
            return memory_source(root, subpaths, show_secrets=self._settings.show_secrets)
        inner = frozenset(it for it in known if root in it.parents)
        return make_file_source(root, self._settings, subpaths, exclude=self._index_file_globs(root), barred=inner)

    def _source_kind(self, root: Path) -> str:
        """Return the source kind of a directory. Its name decides, so that memories are never indexed as documents."""
        is_kept = root == DataPaths.of(self._settings).memories.resolve()
        return MEMORIES if root.name == MEMORIES_FOLDER or is_kept else FILES

    def add_collection(self, root: Path) -> Collection:
        source = self._source_kind(root)
        name = f"{root.parent.name}.memories" if root.name == MEMORIES_FOLDER else ""
        return self._core.store.writer.add_collection(str(root), source=source, name=name)

    def _index_file_globs(self, root: Path) -> tuple[str, ...]:
        """Return globs for the index and its sidecar files, if they lie inside the root."""
        if root not in self._core.index_path.parents:
            return ()
        name = escape_glob("/" + self._core.index_path.relative_to(root).as_posix())
        file_globs = (f"{name}{new}{suffix}" for new in ("", ".new") for suffix in ("", *INDEX_FILE_SUFFIXES))
        return (f"{name}{QUARANTINE_SUFFIX}*", *file_globs)


def make_file_source(
    root: Path,
    settings: Settings,
    subpaths: tuple[str, ...] = (),
    *,
    exclude: Iterable[str] = (),
    barred: frozenset[Path] = frozenset(),
) -> FileSource:
    """Return the source of a root's files, without the data directory and the notes."""
    return FileSource(
        root,
        include=settings.include,
        exclude=(*settings.exclude, *exclude),
        default_excludes=settings.default_excludes,
        extensions=settings.extra_extensions,
        use_gitignore=settings.gitignore,
        show_secrets=settings.show_secrets,
        max_file_bytes=settings.max_file_bytes,
        max_document_bytes=settings.max_document_bytes,
        paths=subpaths,
        barred_directories=barred | {DataPaths.of(settings).data_dir, root / MEMORIES_FOLDER},
        is_stored=True,
    )
