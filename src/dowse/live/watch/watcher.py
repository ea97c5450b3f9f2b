"""Watch roots for changes and report batches."""

from __future__ import annotations

import logging
import math
import os
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Literal

from dowse.ingest.sources.files import FileSource
from dowse.ingest.sources.walk import PathFilter, TrackedIgnoredFiles
from dowse.live.watch.debounce import (
    GIT_CHANGED,
    ROOT_RETURNED,
    WATCH_RESTARTED,
    WATCH_STARTED,
    ChangeBatch,
    ComparisonReason,
    Debouncer,
    DueBatch,
    WatchTarget,
    WatchTiming,
)
from dowse.live.watch.inotify import Inotify, InotifyBackend, Notifier, RootGone, WakePipe, WatchUnavailable
from dowse.live.watch.polling import PollingBackend, remote_file_system
from dowse.paths import is_intact_root

# --------------------------------------------------------------------------------------------------
# Watches one root with the best available backend, and notices when the root disappears and returns.

WatchMethod = Literal["inotify", "polling", "off"]


@dataclass(frozen=True, slots=True)
class WatchDependencies:
    """Dependencies shared by every root watch of a watcher. The lock guards state that queries and the watch thread
    share."""

    timing: WatchTiming
    notifier: Callable[[], Notifier]
    clock: Callable[[], float]
    lock: Lock


class RootWatch:
    """The watch of one root. Only the watch thread may open, check and close it; `read_events` and its results need the
    lock."""

    def __init__(self, place: WatchTarget, means: WatchDependencies) -> None:
        self.place = place
        self.debouncer = Debouncer(place.collection, means.timing)
        self.backend: InotifyBackend | PollingBackend | None = None
        self.is_missing = False
        self.why = ""
        self._means = means
        self._received_before = 0

    @property
    def method(self) -> WatchMethod:
        if self.backend is None:
            return "off"
        return "inotify" if isinstance(self.backend, InotifyBackend) else "polling"

    @property
    def event_count(self) -> int:
        return self._received_before + (self.backend.received if self.backend else 0)

    def fileno(self) -> int:
        return self.backend.fileno() if isinstance(self.backend, InotifyBackend) else -1

    def open(self, reason: ComparisonReason | None) -> bool:
        """(Re)start watching; with a reason, also schedule a full comparison. Return False if the root is missing."""
        self.close()
        self.place.reload_rules()
        backend = self._choose_backend()
        with self._means.lock:
            self.backend = backend
            self.is_missing = backend is None
            if backend is None:
                self.debouncer.forget()
            elif reason is not None:
                self.debouncer.compare(reason, self._means.clock())
        return backend is not None

    def close(self) -> None:
        with self._means.lock:
            if self.backend is not None:
                self._received_before += self.backend.received
                self.backend.close()
            self.backend = None
            self.is_missing = False

    def read_events(self) -> bool:
        """Read the events queued so far; return whether all changes are known. The caller holds the lock."""
        if not isinstance(self.backend, InotifyBackend):
            return self.is_missing and not self._is_there()
        self.debouncer.add_events(self.backend.read_events(), self._means.clock())
        return self.backend.is_there()

    def check_root(self) -> None:
        """Check what events do not report: polled files, and roots that disappeared or returned."""
        if self.is_missing:
            if self._is_there():
                self.open(ROOT_RETURNED)
        elif isinstance(self.backend, InotifyBackend):
            if not self.backend.is_there():
                self.open(ROOT_RETURNED)
        elif isinstance(self.backend, PollingBackend) and self._means.clock() >= self.backend.next_at:
            self._poll(self.backend)

    def next_at(self) -> float:
        """Return when `look_around` is due again."""
        usual = self._means.clock() + self._means.timing.poll_s
        return self.backend.next_at if isinstance(self.backend, PollingBackend) else usual

    def prepare(self, due: DueBatch) -> bool:
        """Update the watched directories if the rules changed; return False if the root is gone."""
        must_open = any(it.requires_rewatch for it in due.reasons)
        if must_open or (GIT_CHANGED in due.reasons and self.place.reload_rules()):
            with self._means.lock:
                self.debouncer.mark_incomplete(due.batch)  # neither backend sees changes made between the two
            return self.open(None)
        return True

    def _choose_backend(self) -> InotifyBackend | PollingBackend | None:
        every_s = self._means.timing.poll_s
        try:
            tree = self._open_inotify()
        except RootGone:
            self.why = f"{self.place.root} is missing or not readable; watching resumes when it is back"
            return None
        except WatchUnavailable as error:
            self.why = f"{error}; files are polled every {every_s:g} s"
            return PollingBackend(self.place, every_s, self._means.clock)
        self.why = ""
        return tree

    def _open_inotify(self) -> InotifyBackend:
        if not self._is_there():
            raise RootGone
        kind = remote_file_system(self.place.root)
        if kind is not None:
            raise WatchUnavailable(
                f"{self.place.root} is on a file system ({kind}) that hides changes by other machines"
            )
        return InotifyBackend(self.place, self._means.notifier())

    def _poll(self, backend: PollingBackend) -> None:
        if not self._is_there():
            self.open(ROOT_RETURNED)
            return
        events = backend.read_events()
        with self._means.lock:
            self.debouncer.add_events(events, self._means.clock())

    def _is_there(self) -> bool:
        return is_intact_root(self.place.root) and os.access(self.place.root, os.R_OK | os.X_OK)


# --------------------------------------------------------------------------------------------------
# Status of a watcher.


@dataclass(frozen=True, slots=True)
class WatchTargetStatus:
    """The watch of one collection; `why` says why it is off or only polled."""

    collection: str
    root: str
    method: WatchMethod
    why: str
    directories: int
    pending: int


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """`method` is the weakest of all roots; `since` is the start time in seconds since 1970."""

    running: bool
    method: WatchMethod
    why: str
    targets: tuple[WatchTargetStatus, ...]
    directories: int
    events: int
    batches: int
    restarts: int
    pending: int
    since: float | None


def watch_status(
    root_watches: Sequence[RootWatch], *, running: bool, problem: str, restarts: int, since: float | None
) -> WatchStatus:
    places = tuple(_target_status(it) for it in root_watches)
    methods = {it.method for it in places} if running else {"off"}
    return WatchStatus(
        running=running,
        method="polling" if "polling" in methods else "inotify" if "inotify" in methods else "off",
        why="; ".join(dict.fromkeys(filter(None, (problem, *(it.why for it in places))))),
        targets=places,
        directories=sum(it.directories for it in places),
        events=sum(it.event_count for it in root_watches),
        batches=sum(it.debouncer.sent for it in root_watches),
        restarts=restarts,
        pending=sum(it.pending for it in places),
        since=since,
    )


def _target_status(root_watch: RootWatch) -> WatchTargetStatus:
    place, backend = root_watch.place, root_watch.backend
    directories = backend.directories if backend else 0
    return WatchTargetStatus(
        place.collection, str(place.root), root_watch.method, root_watch.why, directories, root_watch.debouncer.count()
    )


MAX_RESTARTS = 5
_FAILURES_RESET_AFTER_S = 600.0
_FIRST_RESTART_DELAY_S = 0.1
_QUERY_LOCK_WAIT_S = 0.25  # how long a query waits while a large new directory is being scanned
_BURST_WAIT_S = 0.01  # collects a burst of events, so that it does not wake the thread for each file
_MAX_POLL_WAIT_S = 60.0
_CLOSE_WAIT_S = 0.9

watch_log = logging.getLogger("dowse.watch")


class Watcher:
    """Hands batches of changes to `submit`, which returns at once.

    The receiver calls `done` once a batch is indexed, or `mark_missed` if it will not be.
    """

    def __init__(
        self,
        places: Sequence[WatchTarget],
        submit: Callable[[ChangeBatch], None],
        timing: WatchTiming,
        *,
        notifier: Callable[[], Notifier] = Inotify,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.Lock()
        self._root_watches = [RootWatch(it, WatchDependencies(timing, notifier, clock, self._lock)) for it in places]
        self._submit = submit
        self._clock = clock
        self._now = now
        self._closing = threading.Event()
        self._wake_pipe: WakePipe | None = None
        self._thread = threading.Thread(target=self._run, name="dowse-watch", daemon=True)
        self._running = False
        self._since: float | None = None
        self._restarts = 0
        self._failures = 0
        self._problem = ""

    def start(self) -> None:
        """Start the thread, once. A full comparison follows as soon as everything is watched."""
        self._wake_pipe = WakePipe()
        self._since = self._now()
        self._running = True
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._wake_pipe is not None:
            self._wake_pipe.wake()
            self._thread.join(_CLOSE_WAIT_S)

    def done(self, batch: ChangeBatch) -> None:
        with self._lock:
            for root_watch in self._root_watches:
                if root_watch.place.collection == batch.collection:
                    root_watch.debouncer.mark_done(batch)

    def mark_missed(self, batch: ChangeBatch) -> None:
        """Mark a batch as not indexed: it stays pending, and the whole root is compared later."""
        with self._lock:
            for root_watch in self._root_watches:
                if root_watch.place.collection == batch.collection:
                    root_watch.debouncer.mark_missed(batch, self._clock())
        if self._wake_pipe is not None:
            self._wake_pipe.wake()

    def pending(self) -> Mapping[str, frozenset[str]] | None:
        """Return by collection the changes made before this call and not yet indexed; None if they are unknown."""
        if not self._running or self._wake_pipe is None or not self._lock.acquire(timeout=_QUERY_LOCK_WAIT_S):
            return None
        try:
            due = self._due_at()
            answer = self._pending()
            if answer is None or self._due_at() < due:
                self._wake_pipe.wake()  # wake the thread: a batch is due earlier than it expects
        except Exception as error:  # noqa: BLE001 - a watch error must not fail the query
            self._mark_broken(error)
            self._wake_pipe.wake()
            return None
        finally:
            self._lock.release()
        return answer

    def status(self) -> WatchStatus:
        with self._lock:
            return watch_status(
                self._root_watches,
                running=self._running,
                problem=self._problem,
                restarts=self._restarts,
                since=self._since,
            )

    def _pending(self) -> Mapping[str, frozenset[str]] | None:
        are_sure = [it.read_events() for it in self._root_watches]
        known = {it.place.collection: it.debouncer.pending() for it in self._root_watches}
        sure = {collection: paths for collection, paths in known.items() if paths is not None}
        return sure if all(are_sure) and len(sure) == len(known) else None

    def _due_at(self) -> float:
        times = (it.debouncer.due_at() for it in self._root_watches)
        return min((at for at in times if at is not None), default=math.inf)

    def _mark_broken(self, error: Exception) -> None:
        self._running = False
        self._problem = f"watching failed ({type(error).__name__}: {error})"

    # --- the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        reason = WATCH_STARTED
        while not self._closing.is_set() and self._failures <= MAX_RESTARTS:
            began = self._clock()
            try:
                self._watch_until_broken(reason)
            except Exception as error:  # noqa: BLE001 - watching restarts after any error
                self._mark_broken(error)
            if not self._closing.is_set():
                self._back_off(began)
            reason = WATCH_RESTARTED
        self._shut_down()

    def _watch_until_broken(self, reason: ComparisonReason) -> None:
        """Watch until closed or broken."""
        self._running = True
        for root_watch in self._root_watches:
            root_watch.open(reason)
        self._problem = ""
        while self._running and not self._closing.is_set():
            for root_watch in self._root_watches:
                self._emit_due(root_watch)
            self._wait()
            for root_watch in self._root_watches:
                with self._lock:
                    root_watch.read_events()
                root_watch.check_root()

    def _emit_due(self, root_watch: RootWatch) -> None:
        while True:
            with self._lock:
                due = root_watch.debouncer.take_due(self._clock())
            if due is None:
                return
            if root_watch.prepare(due):
                self._send(due.batch)
            else:
                self.done(due.batch)  # the whole root is compared once it returns

    def _send(self, batch: ChangeBatch) -> None:
        try:
            self._submit(batch)
        except Exception:
            self.done(batch)  # it was not submitted; the restart compares everything
            raise

    def _wait(self) -> None:
        """Wait until there are events to read, batches to emit or files to poll."""
        poll = select.poll()
        wake_pipe = self._wake_pipe.fileno() if self._wake_pipe else -1
        for handle in (wake_pipe, *(it.fileno() for it in self._root_watches)):
            if handle >= 0:
                poll.register(handle, select.POLLIN)
        ready = poll.poll(max(0.0, self._next_at() - self._clock()) * 1000)
        if self._wake_pipe and any(handle == wake_pipe for handle, _ in ready):
            self._wake_pipe.drain()
        if any(handle != wake_pipe for handle, _ in ready):
            self._closing.wait(_BURST_WAIT_S)

    def _next_at(self) -> float:
        with self._lock:
            return min([self._clock() + _MAX_POLL_WAIT_S, self._due_at(), *(it.next_at() for it in self._root_watches)])

    def _back_off(self, began: float) -> None:
        """Back off exponentially, so that an immediate failure does not keep the machine busy."""
        if self._clock() - began >= _FAILURES_RESET_AFTER_S:
            self._failures = 0
        self._failures += 1
        if self._failures > MAX_RESTARTS:
            self._problem += f"; gave up after {MAX_RESTARTS} restarts; restart the server"
            watch_log.error("%s", self._problem)
            return
        self._restarts += 1
        watch_log.warning("%s; restarting", self._problem)
        self._closing.wait(_FIRST_RESTART_DELAY_S * 2 ** (self._failures - 1))

    def _shut_down(self) -> None:
        self._running = False
        for root_watch in self._root_watches:
            root_watch.close()
        if self._wake_pipe is not None:
            self._wake_pipe.close()


# --------------------------------------------------------------------------------------------------
# Watch targets of a collection: the paths its source would list, as far as that can be decided quickly.


def watch_target_of(collection: str, source: FileSource) -> WatchTarget:
    """Return the watch target for a source. It covers every file the source lists, and may cover a few more."""
    bounds = _TargetFilter(source)
    return WatchTarget(collection, source.root, bounds.wants_directory, bounds.wants_file, bounds.reload_rules)


class _TargetFilter:
    """Path filter from globs, ignore files and one git query, all as of the last `reload_rules`."""

    def __init__(self, source: FileSource) -> None:
        self._source = source
        self._path_filter, self._tracked_ignored = self._load_rules()

    def wants_directory(self, path: str) -> bool:
        """Return whether to watch a directory. Bare repositories are included: only their existence matters, not their
        contents."""
        return self._path_filter.may_enter(path)

    def wants_file(self, path: str) -> bool:
        return self._path_filter.has_file(path)

    def reload_rules(self) -> bool:
        """Reload the rules. Concurrent queries are answered by the old or the new rules."""
        before = self._tracked_ignored
        self._path_filter, self._tracked_ignored = self._load_rules()
        for repository in list(before.files):
            self._path_filter.has_directory(repository)
        return before.files != self._tracked_ignored.files

    def _load_rules(self) -> tuple[PathFilter, TrackedIgnoredFiles]:
        tracked = TrackedIgnoredFiles()
        return self._source.path_filter(tracked), tracked


# --------------------------------------------------------------------------------------------------
# System limits on file watching.

_MAX_WATCHES_FILE = Path("/proc/sys/fs/inotify/max_user_watches")


def max_inotify_watches(file: Path = _MAX_WATCHES_FILE) -> int | None:
    """Return how many directories a user may watch at once; None if the system does not say."""
    try:
        return int(file.read_text())
    except (OSError, ValueError):
        return None
