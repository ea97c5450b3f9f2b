"""Work behind the answers: jobs run one after another on one thread, and every job can be asked about."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Final, TypeVar, cast

from dowse.errors import Cancelled, IndexBusy
from dowse.live.job import Every, Job, Progress, Status, Task, Work

if TYPE_CHECKING:
    from dowse.live.history import History

__all__ = ["KEPT_JOBS", "RETRY_WAITS_S", "Job", "Jobs", "Progress", "Task", "Work"]

log = logging.getLogger("dowse.jobs")

RETRY_WAITS_S: Final = (1.0, 2.0, 4.0)
KEPT_JOBS: Final = 100  # finished ones that can still be asked about
SHUTTING_DOWN: Final = "the server is shutting down"
_NO_MORE_WORK: Final = " and takes no more work; ask again when it is back"
_ASKED_TO_STOP: Final = "it was asked to stop"
_NOTED_EVERY_S: Final = 2.0
_LOOK_EVERY_S: Final = 1.0

SomeWork = TypeVar("SomeWork", bound=Work)


class Jobs:
    """A sequential queue. Busy indexes are tried again after a wait; anything else fails the job, not the queue.

    `history`, if there is one, is told of every job that begins or ends, `on_end` of each that ran.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        retry_waits_s: tuple[float, ...] = RETRY_WAITS_S,
        history: History | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.clock = clock
        self.history = history
        self.on_end: Callable[[Job], object] = lambda job: None
        self._wall_clock = wall_clock
        self._retry_waits_s = retry_waits_s
        self._jobs: dict[str, Job] = {}
        self._changed = threading.Condition()
        self._closing = ""  # why, once it is
        self._thread: threading.Thread | None = None

    # --- asking for work ---

    def submit(
        self,
        kind: str,
        work: SomeWork,
        *,
        key: Hashable = None,
        background: bool = False,
        join: Callable[[SomeWork, SomeWork], SomeWork] | None = None,
        unless_done: Callable[[SomeWork], object] = lambda work: None,
    ) -> Job:
        """A new job, or the queued one of this kind and key, whose work `join` makes of both.

        Never a running one: it may have passed what this request is about. All work of one kind and key must be of
        one type. Background jobs run when no other is queued. `unless_done` is called with the work of a job that has
        failed or was cancelled, however often it was tried before.
        """
        with self._changed:
            if self._closing:
                is_server = self._closing == SHUTTING_DOWN
                raise Cancelled(f"{self._closing}{_NO_MORE_WORK if is_server else ''}")
            job = self._queued(kind, key)
            if job is None:
                told = cast("Callable[[Work], object]", unless_done)
                job = Job(kind, work, key, background, told, submitted=self.clock())
                self._add(job)
            else:
                job.work = join(cast("SomeWork", job.work), work) if join else job.work
                job.requests += 1
                job.background &= background
            self._changed.notify_all()
            return job

    def cancel(self, id: str) -> bool:
        """A queued job is over at once, a running one with its next step; False if there is nothing to stop."""
        with self._changed:
            job = self._jobs.get(id)
            if job is None or job.finished is not None:
                return False
            self._stop(job, _ASKED_TO_STOP)
            is_over = job.finished is not None
        if is_over:
            job.unless_done(job.work)
        return True

    def close(self, timeout_s: float = 3.0, patience_s: float = 0.5, *, why: str = SHUTTING_DOWN) -> None:
        """Queued jobs are cancelled. The running one may end by itself for as long as `patience_s`, then it is
        cancelled too; after the timeout it is left behind."""
        with self._changed:
            self._closing = why
            for job in self._unfinished("queued", "retry_wait"):
                self._stop(job, why)
            self._changed.notify_all()
        if self._thread is None:
            return
        self._thread.join(min(patience_s, timeout_s))
        with self._changed:
            for job in self._unfinished("running", "retry_wait"):
                self._stop(job, why)
        self._thread.join(max(0.0, timeout_s - patience_s))

    # --- asking about it ---

    def all(self) -> list[Job]:
        with self._changed:
            return list(self._jobs.values())

    def running(self, kind: str | None = None) -> Job | None:
        """The job in hand, else the first that waits; of this kind, if one is named."""
        with self._changed:
            waiting = [*self._unfinished("running", "retry_wait"), *self._unfinished("queued")]
            return next((job for job in waiting if kind in (None, job.kind)), None)

    def last(self, kind: str) -> Job | None:
        """The one that was asked for last."""
        return next((job for job in reversed(self.all()) if job.kind == kind), None)

    def wait(self, job: Job, timeout_s: float | None = None) -> bool:
        """Until the job has ended, however; False if it has not by then."""
        with self._changed:
            return self._changed.wait_for(lambda: job.finished is not None, timeout_s)

    def elapsed_s(self, job: Job) -> float:
        return max(0.0, (self.clock() if job.finished is None else job.finished) - job.submitted)

    @property
    def problem(self) -> str:
        """Why the history is not complete, if it is not."""
        return self.history.problem if self.history else ""

    # --- the queue; whoever calls these holds the lock ---

    def _add(self, job: Job) -> None:
        self._jobs[job.id] = job
        for old in [it for it in self._jobs.values() if it.finished is not None][:-KEPT_JOBS]:
            del self._jobs[old.id]
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="dowse-jobs", daemon=True)
            self._thread.start()

    def _unfinished(self, *statuses: Status) -> list[Job]:
        return [job for job in self._jobs.values() if job.status in statuses]

    def _queued(self, kind: str, key: Hashable) -> Job | None:
        return next((job for job in self._unfinished("queued") if (job.kind, job.key) == (kind, key)), None)

    def _next(self) -> Job | None:
        waiting = self._unfinished("queued")
        return next((job for job in waiting if not job.background), waiting[0] if waiting else None)

    def _stop(self, job: Job, why: str) -> None:
        job.stop = job.stop or why
        if job.status == "queued":
            self._end(job, "cancelled", error=f"cancelled: {why}")
        self._changed.notify_all()

    def _end(
        self, job: Job, status: Status, *, result: Mapping[str, object] | None = None, error: str | None = None
    ) -> None:
        job.result, job.error, job.status, job.finished = result, error, status, self.clock()
        self._note(job)
        self._changed.notify_all()

    # --- the thread ---

    def _run(self) -> None:
        while (job := self._take()) is not None:
            status, result, error = self._attempts(job)
            with self._changed:
                self._end(job, status, result=result, error=error)
            if status == "failed":
                log.warning("%s %s failed: %s", job.kind, job.current, error)
            try:
                if status != "completed":
                    job.unless_done(job.work)
                self.on_end(job)
            except Exception:
                log.exception("whoever waits for %s %s could not be told of its end", job.kind, job.current)

    def _take(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._closing) or self._next() is not None)
            job = self._next()
            if job is not None:
                job.status, job.started, job.began_at = "running", self.clock(), self._wall_clock()
                self._note(job)
            return job

    def _attempts(self, job: Job) -> tuple[Status, Mapping[str, object] | None, str | None]:
        task = self._task(job)
        for wait_s in (*self._retry_waits_s, None):
            try:
                return "completed", job.work(task), None
            except IndexBusy as error:
                if wait_s is None:
                    return "failed", None, str(error)
                self._wait_to_retry(job, wait_s)
            except Cancelled as error:
                return "cancelled", None, f"cancelled: {error}"
            except BaseException as error:  # noqa: BLE001 - a job may fail in any way; it must not take the queue along
                return "failed", None, f"{type(error).__name__}: {error}"
            if job.stop:
                break
        return "cancelled", None, f"cancelled: {job.stop}"

    def _wait_to_retry(self, job: Job, wait_s: float) -> None:
        with self._changed:
            job.status, job.retries = "retry_wait", job.retries + 1
            self._note(job)
            if self._closing:
                self._stop(job, self._closing)
            if not self._changed.wait_for(lambda: bool(job.stop), wait_s):
                job.status = "running"

    def _task(self, job: Job) -> Task:
        noted, looked = Every(_NOTED_EVERY_S), Every(_LOOK_EVERY_S)
        noted.is_due(self.clock())  # that it has begun was noted just now

        def step(stage: str, done: int, total: int) -> None:
            now = self.clock()
            job.pace.note(stage, done, total, now)
            if self.history and looked.is_due(now) and self.history.is_to_stop(job.id):
                self.cancel(job.id)
            if noted.is_due(now):
                self._note(job)
            if job.stop:
                raise Cancelled(job.stop)

        def name(what: str) -> None:
            job.current = what

        return Task(step, name, self._is_wanted)

    def _is_wanted(self) -> bool:
        with self._changed:
            return bool(self._closing) or any(not job.background for job in self._unfinished("queued"))

    def _note(self, job: Job) -> None:
        """What cannot be written down must not take the queue along."""
        try:
            if self.history:
                self.history.note(job, self.clock())
        except Exception:
            log.exception("%s %s was not written down", job.kind, job.current)
