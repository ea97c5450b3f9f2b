"""Follows the files of places on a thread of its own, and knows at any moment what is not indexed yet."""

from __future__ import annotations

import logging
import math
import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from dowse.live.watch.base import RESTART, START, Batch, Place, Reason, Timing
from dowse.live.watch.bell import Bell
from dowse.live.watch.inotify import Inotify, Notifier
from dowse.live.watch.lookout import Lookout, Means
from dowse.live.watch.status import WatchStatus, status_of

MAX_RESTARTS = 5
_FORGIVEN_AFTER_S = 600.0
_FIRST_RESTART_S = 0.1
_PATIENCE_S = 0.25  # how long a question waits while a large new directory is taken in
_NAP_S = 0.01  # what comes within it is read at once: a storm does not wake the thread for each file
_LONGEST_SLEEP_S = 60.0
_CLOSE_S = 0.9

log = logging.getLogger("dowse.watch")


class Watcher:
    """Hands batches of changes to `submit`, which returns at once; `done` says that one is indexed,
    `missed` that it will not be."""

    def __init__(
        self,
        places: Sequence[Place],
        submit: Callable[[Batch], None],
        timing: Timing,
        *,
        notifier: Callable[[], Notifier] = Inotify,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._lock = threading.Lock()
        self._lookouts = [Lookout(it, Means(timing, notifier, clock, self._lock)) for it in places]
        self._submit = submit
        self._clock = clock
        self._now = now
        self._closing = threading.Event()
        self._bell: Bell | None = None
        self._thread = threading.Thread(target=self._live, name="dowse-watch", daemon=True)
        self._running = False
        self._since: float | None = None
        self._restarts = 0
        self._failures = 0
        self._problem = ""

    def start(self) -> None:
        """Once; everything is compared when all is being watched."""
        self._bell = Bell()
        self._since = self._now()
        self._running = True
        self._thread.start()

    def close(self) -> None:
        self._closing.set()
        if self._bell is not None:
            self._bell.ring()
            self._thread.join(_CLOSE_S)

    def done(self, batch: Batch) -> None:
        with self._lock:
            for it in self._lookouts:
                if it.place.collection == batch.collection:
                    it.gather.done(batch)

    def missed(self, batch: Batch) -> None:
        """It could not be indexed: it stays pending, and all is compared in a while."""
        with self._lock:
            for it in self._lookouts:
                if it.place.collection == batch.collection:
                    it.gather.missed(batch, self._clock())
        if self._bell is not None:
            self._bell.ring()

    def pending(self) -> Mapping[str, frozenset[str]] | None:
        """By collection, what changed before this call and is not indexed yet; None when that can not be known."""
        if not self._running or self._bell is None or not self._lock.acquire(timeout=_PATIENCE_S):
            return None
        try:
            due = self._due_at()
            answer = self._pending()
            if answer is None or self._due_at() < due:
                self._bell.ring()  # what was read here is the thread's to hand on, sooner than it knows
        except Exception as error:  # noqa: BLE001 - whatever breaks watching must not break the question
            self._break(error)
            self._bell.ring()
            return None
        finally:
            self._lock.release()
        return answer

    def status(self) -> WatchStatus:
        with self._lock:
            return status_of(
                self._lookouts,
                running=self._running,
                problem=self._problem,
                restarts=self._restarts,
                since=self._since,
            )

    def _pending(self) -> Mapping[str, frozenset[str]] | None:
        are_sure = [it.look() for it in self._lookouts]
        known = {it.place.collection: it.gather.pending() for it in self._lookouts}
        sure = {collection: paths for collection, paths in known.items() if paths is not None}
        return sure if all(are_sure) and len(sure) == len(known) else None

    def _due_at(self) -> float:
        times = (it.gather.due_at() for it in self._lookouts)
        return min((at for at in times if at is not None), default=math.inf)

    def _break(self, error: Exception) -> None:
        self._running = False
        self._problem = f"watching failed ({type(error).__name__}: {error})"

    # --- the thread ---------------------------------------------------------------------------

    def _live(self) -> None:
        reason = START
        while not self._closing.is_set() and self._failures <= MAX_RESTARTS:
            began = self._clock()
            try:
                self._follow(reason)
            except Exception as error:  # noqa: BLE001 - whatever it is, watching begins again
                self._break(error)
            if not self._closing.is_set():
                self._fail(began)
            reason = RESTART
        self._end()

    def _follow(self, reason: Reason) -> None:
        """Until it is closed, or breaks."""
        self._running = True
        for it in self._lookouts:
            it.open(reason)
        self._problem = ""
        while self._running and not self._closing.is_set():
            for it in self._lookouts:
                self._hand_on(it)
            self._wait()
            for it in self._lookouts:
                with self._lock:
                    it.look()
                it.look_around()

    def _hand_on(self, lookout: Lookout) -> None:
        while True:
            with self._lock:
                due = lookout.gather.take(self._clock())
            if due is None:
                return
            if lookout.prepared(due):
                self._send(due.batch)
            else:
                self.done(due.batch)  # when the root is back, all of it is compared

    def _send(self, batch: Batch) -> None:
        try:
            self._submit(batch)
        except Exception:
            self.done(batch)  # it is not on its way; after the restart, all is compared
            raise

    def _wait(self) -> None:
        """Until there is something to read, to hand on or to look at."""
        poll = select.poll()
        bell = self._bell.fileno() if self._bell else -1
        for handle in (bell, *(it.fileno() for it in self._lookouts)):
            if handle >= 0:
                poll.register(handle, select.POLLIN)
        ready = poll.poll(max(0.0, self._next_at() - self._clock()) * 1000)
        if self._bell and any(handle == bell for handle, _ in ready):
            self._bell.hush()
        if any(handle != bell for handle, _ in ready):
            self._closing.wait(_NAP_S)

    def _next_at(self) -> float:
        with self._lock:
            return min([self._clock() + _LONGEST_SLEEP_S, self._due_at(), *(it.next_at() for it in self._lookouts)])

    def _fail(self, began: float) -> None:
        """Wait a little longer each time, so that what breaks at once does not keep the machine busy."""
        if self._clock() - began >= _FORGIVEN_AFTER_S:
            self._failures = 0
        self._failures += 1
        if self._failures > MAX_RESTARTS:
            self._problem += f"; given up after {MAX_RESTARTS} restarts, start the server again"
            log.error("%s", self._problem)
            return
        self._restarts += 1
        log.warning("%s; started again", self._problem)
        self._closing.wait(_FIRST_RESTART_S * 2 ** (self._failures - 1))

    def _end(self) -> None:
        self._running = False
        for it in self._lookouts:
            it.close()
        if self._bell is not None:
            self._bell.take_down()
