"""Periodic work of a server: watch, sync, git changes, checkpoints."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled, DowseError, IndexDamaged
from dowse.live.job import Job
from dowse.live.jobs import JobQueue, MaintenanceRequests
from dowse.live.leader import LeaderLock, leader_of
from dowse.live.watch import ChangeBatch, Watcher, WatchStatus, WatchTiming, watch_target_of
from dowse.processes import process_by_pid

# --------------------------------------------------------------------------------------------------
# Debouncer for state that must be polled, with a bound on the time spent polling.

_STATE_POLL_DIVISOR: Final = 20  # polling takes at most 1/20 of the time


class GitDebouncer:
    """Debounces polled items that differ from the index, each with its state.

    Work is due once no state has changed for `quiet_s`. It is due again after `again_s` if the work changed nothing.
    """

    def __init__(self, quiet_s: float, again_s: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._quiet_s = quiet_s
        self._again_s = again_s
        self._timer = timer
        self._states: Mapping[str, str] = {}
        self._since = 0.0
        self._next_poll_at = 0.0
        self._last_due: tuple[Mapping[str, str], float] | None = None

    def is_due(self, differing: Callable[[], Mapping[str, str]], now: float) -> bool:
        self._poll(differing, now)
        if not self._states or now - self._since < self._quiet_s or self._was_just_due(now):
            return False
        self._last_due = self._states, now
        return True

    def _poll(self, differing: Callable[[], Mapping[str, str]], now: float) -> None:
        if now < self._next_poll_at:
            return
        began = self._timer()
        states = differing()
        self._next_poll_at = now + _STATE_POLL_DIVISOR * (self._timer() - began)
        if states != self._states:
            self._states, self._since = states, now

    def _was_just_due(self, now: float) -> bool:
        return (
            self._last_due is not None and self._last_due[0] == self._states and now - self._last_due[1] < self._again_s
        )


# --------------------------------------------------------------------------------------------------
# Backoff: time for other processes to act first, and the wait before a failed job is submitted again.

RETRY_AFTER_S: Final = 30.0  # after a job has failed


class Backoff:
    """Timers by name, polled once a second."""

    def __init__(self, jobs: JobQueue, clock: Callable[[], float]) -> None:
        self._jobs = jobs
        self._clock = clock
        self._waiting_since: dict[str, float] = {}

    def has_held_for(self, name: str, holds: bool, for_s: float) -> bool:
        """Return whether the condition has held for `for_s` seconds without interruption."""
        if not holds:
            self._waiting_since.pop(name, None)
            return False
        return self._clock() - self._waiting_since.setdefault(name, self._clock()) >= for_s

    def restart_after(self, name: str, for_s: float) -> None:
        """Restart the timer after `for_s` seconds."""
        self._waiting_since[name] = self._clock() + for_s

    def submit_once(self, kind: str, submit: Callable[[], object], again_s: float = RETRY_AFTER_S) -> None:
        """Submit a job of this kind, unless one is queued, running or ended within the last `again_s` seconds."""
        last = self._jobs.last(kind)
        ended = None if last is None else last.finished
        if last is None or (ended is not None and self._jobs.clock() - ended > again_s):
            submit()


# --------------------------------------------------------------------------------------------------
# Watch management of the leading process: it watches every collection and reconciles all of them periodically.


class WatchManager:
    """Owns the watcher of the engine it is attached to."""

    def __init__(self, requests: MaintenanceRequests, settings: Settings, clock: Callable[[], float]) -> None:
        self._requests = requests
        self._settings = settings
        self._clock = clock
        self._watcher: Watcher | None = None
        self._watched_roots: tuple[str, ...] = ()
        self._engine: Engine | None = None
        self._reconcile_at: float | None = None  # time of the next full reconciliation

    def attach_to(self, engine: Engine) -> None:
        """Attach to an engine: from now on its answers query this object for pending changes."""
        if engine is not self._engine:
            engine.freshness.set_pending_source(self.pending)
            self._engine = engine

    def watch(self, engine: Engine) -> None:
        """Watch every collection. A new watcher starts with a full comparison, to catch changes missed before."""
        roots = _watched_roots(engine)
        if self._watcher and roots == self._watched_roots:
            return
        if self._watcher:
            self._watcher.close()
        places = [watch_target_of(it.name, engine.indexing.files_of(it.name)) for it in engine.collections()]
        self._watcher, self._watched_roots = Watcher(places, self._submit_batch, WatchTiming.of(self._settings)), roots
        self._watcher.start()
        self._schedule_reconcile()

    def reconcile_when_due(self) -> None:
        if self._reconcile_at is not None and self._clock() >= self._reconcile_at:
            self._requests.compare(unless_done=lambda _: self._retry_soon())
            self._schedule_reconcile()

    def pending(self) -> Mapping[str, frozenset[str]] | None:
        """Return the changes seen but not yet indexed, by collection.

        None if unknown, for example while a collection added a moment ago is not watched yet.
        """
        watcher, engine = self._watcher, self._engine
        if watcher is None or engine is None or _watched_roots(engine) != self._watched_roots:
            return None
        return watcher.pending()

    def status(self) -> WatchStatus | None:
        watcher = self._watcher
        return watcher.status() if watcher else None

    def close(self) -> None:
        """Stop watching; `watch` may start again."""
        watcher, self._watcher, self._watched_roots = self._watcher, None, ()
        if watcher:
            watcher.close()

    def _submit_batch(self, batch: ChangeBatch) -> None:
        watcher = self._watcher
        if watcher is not None:
            self._requests.index_batch(batch, watcher)

    def _retry_soon(self) -> None:
        self._reconcile_at = self._clock() + RETRY_AFTER_S

    def _schedule_reconcile(self) -> None:
        self._reconcile_at = self._clock() + self._settings.reconcile_s if self._settings.reconcile_s else None


def _watched_roots(engine: Engine) -> tuple[str, ...]:
    return tuple(it.root for it in engine.collections())


# --------------------------------------------------------------------------------------------------
# Status of the process that keeps an index in sync with the disk.


@dataclass(frozen=True, slots=True)
class LeaderStatus:
    """Who keeps the index in sync with the disk, and how. `leader` is a process id, `problem` a sentence."""

    enabled: bool
    leading: bool
    leader: int | None
    watch: WatchStatus | None
    problem: str


def describe_suspended_leader(leader: int | None) -> str:
    """Describe the problem of a suspended leader, which still holds its lock; empty if it runs."""
    if leader is None or not process_by_pid(leader).is_stopped():
        return ""
    return f"process {leader} leads but is suspended, so changes are not watched; run `kill -CONT {leader}`"


maintenance_log = logging.getLogger("dowse.upkeep")

TICK_S = 1.0
_STANDBY_INDEX_DELAY_S = 3.0  # before a standby server indexes one of its roots itself
_STANDBY_ENCODE_DELAY_S = 30.0  # before it encodes vectors that no other process encodes
_STANDBY_REPAIR_DELAY_S = 5.0  # before it repairs damage that only its own answers may have met
_ENCODE_RETRY_S = 600.0  # if vectors are still missing: the encoding process may be gone, or the encoder back
_FIRST_CHECK_DELAY_S = 60.0  # of leading, before the whole index is checked
_CHECK_POLL_S = 3_600.0  # pause between tests whether a check is due
_CHECK_INTERVAL_S = 86_400.0
_CHECKED_LOG_ENTRIES = 200  # jobs read from the history
_FINAL_TICK_WAIT_S = 0.3


class Maintenance:
    """The maintenance jobs of one server on one index.

    With `settings.watch` the server leads or is on standby; without, it indexes once.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        jobs: JobQueue,
        settings: Settings,
        index: Path,
        *,
        vectors: bool = True,
        confirm: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        tick_s: float = TICK_S,
    ) -> None:
        self._engine = engine
        self._jobs = jobs
        self._settings = settings
        self._vectors = vectors
        self._clock = clock
        self._now = now
        self._tick_s = tick_s
        self._index = index
        self._requests = MaintenanceRequests(engine, jobs, settings, index, vectors=vectors)
        self._watch_manager = WatchManager(self._requests, settings, clock)
        self._leader_lock = LeaderLock(index)
        self._backoff = Backoff(jobs, clock)
        self._git_debouncer = GitDebouncer(settings.git_debounce_s, RETRY_AFTER_S)
        self._encoded_revision = ""  # revision of the index when vectors were last requested
        self._problem = ""
        self._confirm = confirm
        self._started = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dowse-upkeep", daemon=True)

    # --- interface for the server ---

    def add_roots(self, roots: Iterable[Path]) -> None:
        """Add roots to serve."""
        self._requests.add_roots(roots)

    def start(self) -> None:
        """Start maintenance, once. A server without roots does nothing."""
        if self._requests.roots and not self._started:
            self._started = True
            if not self._index.exists() and self._settings.watch and self._leader_lock.try_acquire():
                self._requests.index()
            self._thread.start()

    def close(self) -> None:
        """Stop submitting jobs and release the leader lock.

        A tick that takes longer than this call waits releases the lock when it ends.
        """
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(_FINAL_TICK_WAIT_S)
        if not self._thread.is_alive():
            self._stand_down()

    def index(self, *, force: bool = False) -> Job:
        """Compare the server's roots with the disk; histories and vectors follow in the background.

        The request confirms that the roots may be indexed, however broad they are.
        """
        self._confirm()
        return self._requests.index(force=force)

    def leader_status(self) -> LeaderStatus:
        leader = leader_of(self._index) if self._settings.watch else None
        return LeaderStatus(
            self._settings.watch,
            self._leader_lock.is_leader,
            leader,
            self._watch_manager.status(),
            self._problem or self._leader_lock.problem or describe_suspended_leader(leader),
        )

    # --- once per tick ---

    def _run(self) -> None:
        try:
            self._loop()
        finally:
            if self._stopping.is_set():
                self._stand_down()  # only this thread may: it could still take the lock or start to watch

    def _loop(self) -> None:
        while True:
            try:
                self._tick()
                self._problem = ""
            except Cancelled:
                return
            except IndexDamaged as error:
                self._report(error)
                if self._leader_lock.is_leader or not self._settings.watch:
                    self._heal()
            except Exception as error:  # noqa: BLE001 - the next tick may succeed, whatever the error
                self._report(error)
            if self._stopping.wait(self._tick_s) or (not self._settings.watch and not self._problem):
                return

    def _report(self, error: Exception) -> None:
        text = str(error) if isinstance(error, DowseError | OSError) else f"{type(error).__name__}: {error}"
        if text != self._problem:
            maintenance_log.warning("%s", text, exc_info=not isinstance(error, DowseError | OSError))
        self._problem = text

    def _tick(self) -> None:
        if not self._settings.watch:
            self._requests.index()
        elif self._leader_lock.try_acquire():
            self._run_leader()
        else:
            self._stand_down()
            self._run_standby()

    def _stand_down(self) -> None:
        self._watch_manager.close()
        if self._stopping.is_set():
            self._leader_lock.close()

    # --- the two roles ---

    def _run_leader(self) -> None:
        engine = self._engine()
        self._watch_manager.attach_to(engine)
        if self._has_unindexed_root(engine):
            self._backoff.submit_once("index", self._requests.index)
        self._watch_manager.watch(engine)
        self._watch_manager.reconcile_when_due()
        if engine.health.damaged_parts():
            self._heal()
        elif self._backoff.has_held_for("check", True, _FIRST_CHECK_DELAY_S) and self._is_check_due():
            self._requests.check()
        self._update_histories(engine)
        self._request_vectors(engine, 0.0)

    def _run_standby(self) -> None:
        engine = self._engine()
        self._watch_manager.attach_to(engine)
        if self._backoff.has_held_for("index", self._has_unindexed_root(engine), _STANDBY_INDEX_DELAY_S):
            self._backoff.submit_once("index", self._requests.index)
        if self._backoff.has_held_for("heal", bool(engine.health.damaged_parts()), _STANDBY_REPAIR_DELAY_S):
            self._heal()
        self._request_vectors(engine, _STANDBY_ENCODE_DELAY_S)

    # --- tasks of both roles ---

    def _has_unindexed_root(self, engine: Engine) -> bool:
        """Return whether a root of this server is in no collection yet."""
        known = {Path(it.root) for it in engine.collections()}
        return any(not known & {root, *root.parents} for root in self._requests.roots)

    def _heal(self) -> None:
        self._backoff.submit_once("heal", self._requests.heal)

    def _is_check_due(self) -> bool:
        """Return whether the last full check by any process is more than a day old."""
        self._backoff.restart_after("check", _CHECK_POLL_S)
        past = self._jobs.history.recent_jobs(_CHECKED_LOG_ENTRIES) if self._jobs.history else []
        checks = [it.at for it in past if it.kind in ("check", "heal") and it.state == "completed"]
        return self._now() - max(checks, default=0.0) > _CHECK_INTERVAL_S

    def _update_histories(self, engine: Engine) -> None:
        """Update histories. The repositories are polled because file events do not show every change of branches and
        tags."""
        if self._jobs.running("history") is None and self._git_debouncer.is_due(
            engine.histories.outdated_histories, self._clock()
        ):
            self._requests.read_history()

    def _request_vectors(self, engine: Engine, after_s: float) -> None:
        """Request vectors for changed records. A standby server first waits `after_s` for other processes to encode
        them."""
        if not self._vectors:
            return
        state = engine.state.revision()
        if not self._backoff.has_held_for("encode", engine.state.lacks_vectors(), after_s):
            return
        if state == self._encoded_revision:
            self._backoff.submit_once("encode", self._requests.encode, _ENCODE_RETRY_S)
        else:
            self._encoded_revision = state
            self._requests.encode()
