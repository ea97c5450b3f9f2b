"""Work behind the answers: jobs run one after another on one thread, and every job can be asked about."""

from __future__ import annotations

import queue
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dowse.errors import IndexBusy

RETRY_WAITS_S = (1.0, 2.0, 4.0)
KEPT_JOBS = 100  # finished ones that can still be asked about
Progress = Callable[[str, int, int], None]
Work = Callable[[Progress], Mapping[str, object]]


@dataclass(slots=True)
class Job:
    """A unit of background work and how far it is; times are seconds of the queue's clock."""

    name: str
    work: Work
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: str = "queued"
    submitted: float = 0.0
    finished: float | None = None
    result: Mapping[str, object] | None = None
    error: str | None = None
    retries: int = 0
    stage: str = ""
    done: int = 0
    total: int = 0

    def note(self, stage: str, done: int, total: int) -> None:
        self.stage, self.done, self.total = stage, done, total


class Jobs:
    """A sequential queue. Busy indexes are tried again after a wait; anything else fails the job, not the queue."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, retry_waits_s: tuple[float, ...] = RETRY_WAITS_S
    ) -> None:
        self.clock = clock
        self._retry_waits_s = retry_waits_s
        self._jobs: dict[str, Job] = {}
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, name: str, work: Work) -> Job:
        job = Job(name, work, submitted=self.clock())
        with self._turn:
            self._jobs[job.id] = job
            for old in [it for it in self._jobs.values() if it.finished is not None][:-KEPT_JOBS]:
                del self._jobs[old.id]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="dowse-jobs", daemon=True)
                self._thread.start()
        self._queue.put(job)
        return job

    def all(self) -> list[Job]:
        with self._turn:
            return list(self._jobs.values())

    def running(self) -> Job | None:
        return next((job for job in self.all() if job.status in ("queued", "running", "retry_wait")), None)

    def elapsed_s(self, job: Job) -> float:
        return (self.clock() if job.finished is None else job.finished) - job.submitted

    def close(self, timeout_s: float = 3.0) -> None:
        """Queued jobs fail; the running one may end by itself within the timeout."""
        self._stopping.set()
        for job in self.all():
            if job.status == "queued":
                self._end(job, "failed", error="cancelled: the server is shutting down")
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join(timeout_s)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            if job.status == "queued":
                self._attempt(job)

    def _attempt(self, job: Job) -> None:
        for wait_s in (*self._retry_waits_s, None):
            job.status = "running"
            try:
                result = job.work(job.note)
            except IndexBusy as error:
                if wait_s is None or self._wait(job, wait_s):
                    self._end(job, "failed", error=str(error))
                    return
            except Exception as error:  # noqa: BLE001 - a job may fail in any way; it must not take the queue along
                self._end(job, "failed", error=f"{type(error).__name__}: {error}")
                return
            else:
                self._end(job, "completed", result=result)
                return

    def _wait(self, job: Job, wait_s: float) -> bool:
        """Wait before another try; true if the server is shutting down meanwhile."""
        job.status = "retry_wait"
        job.retries += 1
        return self._stopping.wait(wait_s)

    def _end(
        self, job: Job, status: str, *, result: Mapping[str, object] | None = None, error: str | None = None
    ) -> None:
        job.result, job.error, job.finished = result, error, self.clock()
        job.status = status
