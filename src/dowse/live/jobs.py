"""Background jobs: queue, progress, cancellation and results."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar, cast

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled, IndexBusy
from dowse.live.heal import repair_or_rebuild
from dowse.live.job import Job, JobContext, JobStatus, JobWork, Throttle
from dowse.live.watch import ChangeBatch, Watcher
from dowse.model import SyncReport
from dowse.paths import is_intact_root

if TYPE_CHECKING:
    from dowse.live.job_log import JobLog

log = logging.getLogger("dowse.jobs")

RETRY_WAITS_S: Final = (1.0, 2.0, 4.0)
MAX_FINISHED_JOBS: Final = 100  # finished jobs that can still be queried
SHUTTING_DOWN: Final = "the server is shutting down"
_REFUSAL: Final = " and accepts no more jobs; try again after it restarts"
_STOP_REASON: Final = "stopped on request"
_LOG_INTERVAL_S: Final = 2.0
_STOP_POLL_S: Final = 1.0

SomeWork = TypeVar("SomeWork", bound=JobWork)


class JobQueue:
    """A sequential job queue. A busy index is retried after a wait; any other error fails the job, not the queue.

    `history`, if given, records the start and end of every job. `on_end` is called after each job that ran.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        retry_waits_s: tuple[float, ...] = RETRY_WAITS_S,
        history: JobLog | None = None,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        self.clock = clock
        self.history = history
        self.on_end: Callable[[Job], object] = lambda job: None
        self._wall_clock = wall_clock
        self._retry_waits_s = retry_waits_s
        self._jobs: dict[str, Job] = {}
        self._changed = threading.Condition()
        self._closing = ""  # the reason, once the queue is closing
        self._thread: threading.Thread | None = None

    # --- submitting work ---

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
        """Queue a new job, or join the queued one of this kind and key; `join` merges the work of both.

        A running job is never joined: it may have passed the point this request is about. All work of one kind and key
        must have the same type. Background jobs run when no other job is queued. `unless_done` is called with the work
        of a job that failed or was cancelled, after all retries.
        """
        with self._changed:
            if self._closing:
                is_server = self._closing == SHUTTING_DOWN
                raise Cancelled(f"{self._closing}{_REFUSAL if is_server else ''}")
            job = self._find_queued(kind, key)
            if job is None:
                callback = cast("Callable[[JobWork], object]", unless_done)
                job = Job(kind, work, key, background, callback, submitted=self.clock())
                self._add(job)
            else:
                job.work = join(cast("SomeWork", job.work), work) if join else job.work
                job.requests += 1
                job.background &= background
            self._changed.notify_all()
            return job

    def cancel(self, id: str) -> bool:
        """Cancel a job: a queued one at once, a running one at its next step. Return False if there is nothing to
        cancel."""
        with self._changed:
            job = self._jobs.get(id)
            if job is None or job.finished is not None:
                return False
            self._stop(job, _STOP_REASON)
            is_over = job.finished is not None
        if is_over:
            job.on_abandoned(job.work)
        return True

    def close(self, timeout_s: float = 3.0, patience_s: float = 0.5, *, why: str = SHUTTING_DOWN) -> None:
        """Cancel queued jobs, and the running one if it does not finish within `patience_s`.

        A job that still runs after `timeout_s` is abandoned.
        """
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

    # --- querying jobs ---

    def all(self) -> list[Job]:
        with self._changed:
            return list(self._jobs.values())

    def running(self, kind: str | None = None) -> Job | None:
        """Return the running job, else the first queued one; only of this kind, if given."""
        with self._changed:
            waiting = [*self._unfinished("running", "retry_wait"), *self._unfinished("queued")]
            return next((job for job in waiting if kind in (None, job.kind)), None)

    def last(self, kind: str) -> Job | None:
        """Return the most recently submitted job of this kind."""
        return next((job for job in reversed(self.all()) if job.kind == kind), None)

    def wait(self, job: Job, timeout_s: float | None = None) -> bool:
        """Wait until the job has ended, in whatever way. Return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: job.finished is not None, timeout_s)

    def elapsed_s(self, job: Job) -> float:
        return max(0.0, (self.clock() if job.finished is None else job.finished) - job.submitted)

    @property
    def problem(self) -> str:
        """The reason the history is incomplete, or an empty string."""
        return self.history.problem if self.history else ""

    # --- the queue; callers hold the lock ---

    def _add(self, job: Job) -> None:
        self._jobs[job.id] = job
        for old in [it for it in self._jobs.values() if it.finished is not None][:-MAX_FINISHED_JOBS]:
            del self._jobs[old.id]
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="dowse-jobs", daemon=True)
            self._thread.start()

    def _unfinished(self, *statuses: JobStatus) -> list[Job]:
        return [job for job in self._jobs.values() if job.status in statuses]

    def _find_queued(self, kind: str, key: Hashable) -> Job | None:
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
        self, job: Job, status: JobStatus, *, result: Mapping[str, object] | None = None, error: str | None = None
    ) -> None:
        job.result, job.error, job.status, job.finished = result, error, status, self.clock()
        self._note(job)
        self._changed.notify_all()

    # --- the thread ---

    def _run(self) -> None:
        while (job := self._take()) is not None:
            status, result, error = self._run_with_retries(job)
            with self._changed:
                self._end(job, status, result=result, error=error)
            if status == "failed":
                log.warning("%s %s failed: %s", job.kind, job.current, error)
            try:
                if status != "completed":
                    job.on_abandoned(job.work)
                self.on_end(job)
            except Exception:
                log.exception("the end callback of %s %s failed", job.kind, job.current)

    def _take(self) -> Job | None:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._closing) or self._next() is not None)
            job = self._next()
            if job is not None:
                job.status, job.started, job.began_at = "running", self.clock(), self._wall_clock()
                self._note(job)
            return job

    def _run_with_retries(self, job: Job) -> tuple[JobStatus, Mapping[str, object] | None, str | None]:
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
            except BaseException as error:  # noqa: BLE001 - a job may fail in any way; it must not stop the queue
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

    def _task(self, job: Job) -> JobContext:
        log_throttle, stop_throttle = Throttle(_LOG_INTERVAL_S), Throttle(_STOP_POLL_S)
        log_throttle.is_due(self.clock())  # the start was logged just now

        def step(stage: str, done: int, total: int) -> None:
            now = self.clock()
            job.progress_rate.note(stage, done, total, now)
            if self.history and stop_throttle.is_due(now) and self.history.is_stop_requested(job.id):
                self.cancel(job.id)
            if log_throttle.is_due(now):
                self._note(job)
            if job.stop:
                raise Cancelled(job.stop)

        def name(what: str) -> None:
            job.current = what

        return JobContext(step, name, self._has_waiting)

    def _has_waiting(self) -> bool:
        with self._changed:
            return bool(self._closing) or any(not job.background for job in self._unfinished("queued"))

    def _note(self, job: Job) -> None:
        """Log the job. A failure to write the log must not stop the queue."""
        try:
            if self.history:
                self.history.note(job, self.clock())
        except Exception:
            log.exception("cannot log %s %s", job.kind, job.current)


# --------------------------------------------------------------------------------------------------
# The work of a server's jobs: engine calls, each with the result it reports.

JobResult = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class IndexRootsWork:
    """Compare whole roots with the disk; all indexed roots if none is given."""

    engine: Callable[[], Engine]
    roots: tuple[Path, ...]
    force: bool
    on_done: Callable[[], object]

    def merge_with(self, other: IndexRootsWork) -> IndexRootsWork:
        return replace(other, force=self.force or other.force)

    def __call__(self, task: JobContext) -> JobResult:
        engine = self.engine()
        roots = self.roots or tuple(Path(it.root) for it in engine.collections())
        present = [it for it in roots if self.roots or is_intact_root(it)]
        task.set_current(", ".join(map(str, present)))
        report = engine.index(present, force=self.force, vectors=False, progress=task)
        report.notes += [f"{it} is missing; its index was kept" for it in roots if it not in present]
        engine.indexing.warm()
        self.on_done()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class IndexBatchesWork:
    """Index the changes the watcher saw in one collection; the whole collection if they are unknown or too many."""

    engine: Callable[[], Engine]
    collection: str
    bulk_threshold: int
    batches: tuple[ChangeBatch, ...]
    on_done: Callable[[Sequence[ChangeBatch]], object]

    def merge_with(self, other: IndexBatchesWork) -> IndexBatchesWork:
        return replace(other, batches=(*self.batches, *other.batches))

    def __call__(self, task: JobContext) -> JobResult:
        whys = sorted({it.why for it in self.batches if it.why})
        report = self._index_changes(task)
        self.on_done(self.batches)
        return {**asdict(report), "why": ", ".join(whys)}

    def _index_changes(self, task: JobContext) -> SyncReport:
        engine = self.engine()
        root = next((it.root for it in engine.collections() if it.name == self.collection), None)
        if root is None or not is_intact_root(Path(root)):
            return SyncReport(notes=[f"{root or self.collection} is missing; its index was kept"])
        paths = frozenset().union(*(it.paths for it in self.batches))
        task.set_current(root)
        if any(it.compare_all for it in self.batches) or len(paths) > self.bulk_threshold:
            report = engine.index([Path(root)], vectors=False, progress=task)
            engine.indexing.warm()
            return report
        return engine.indexing.refresh(self.collection, sorted(paths), progress=task)


@dataclass(frozen=True, slots=True)
class IndexHistoriesWork:
    """Update the histories of the repositories until other work waits."""

    engine: Callable[[], Engine]
    requeue: Callable[[], object]
    on_done: Callable[[], object]

    def __call__(self, task: JobContext) -> JobResult:
        engine = self.engine()
        task.set_current(", ".join(it.root for it in engine.histories.collections()))
        report = engine.histories.index_history(pause=task.has_waiting, progress=task)
        if task.has_waiting():
            self.requeue()
        else:
            self.on_done()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class EncodeWork:
    """Encode missing vectors until other work waits. Histories take precedence: their commits can be found by words
    first.

    `quick_only`: stop once semantic answers are possible.
    """

    engine: Callable[[], Engine]
    requeue: Callable[[], object]
    has_history_waiting: Callable[[], bool] = lambda: False
    quick_only: bool = False

    def __call__(self, task: JobContext) -> JobResult:
        def should_pause() -> bool:
            return task.has_waiting() or self.has_history_waiting()

        report = self.engine().indexing.encode(
            progress=task, pause=should_pause, quick_only=self.quick_only, behind_questions=True
        )
        if should_pause():
            self.requeue()
        return asdict(report)


@dataclass(frozen=True, slots=True)
class RepairWork:
    """Repair all damage: parts from the catalog, the catalog from the files."""

    settings: Settings
    index: Path
    root: Path
    on_done: Callable[[], object]

    def __call__(self, task: JobContext) -> JobResult:
        healed = repair_or_rebuild(self.settings, self.index, self.root, task.set_current(str(self.index)))
        for sentence in healed:
            log.warning("%s: %s", self.index, sentence)
        self.on_done()
        return {"mended": list(healed)}


@dataclass(frozen=True, slots=True)
class CheckWork:
    """Repair without a known damage: reads the whole index to find some, and stops if other work waits."""

    repair: RepairWork

    def __call__(self, task: JobContext) -> JobResult:
        def step(stage: str, done: int, total: int) -> None:
            if task.has_waiting():
                raise Cancelled("other work is waiting; the check runs later")
            task(stage, done, total)

        return self.repair(replace(task, step=step))


# --------------------------------------------------------------------------------------------------
# Job requests of a server that keeps its index in sync with the disk; each job submits its follow-up jobs.


class MaintenanceRequests:
    """Submits jobs in this order: files, quick vectors for them, histories, all other vectors. Each submits the
    next."""

    def __init__(
        self, engine: Callable[[], Engine], jobs: JobQueue, settings: Settings, index: Path, *, vectors: bool
    ) -> None:
        self.roots: tuple[Path, ...] = ()
        self._engine = engine
        self._jobs = jobs
        self._settings = settings
        self._index = index
        self._vectors = vectors

    def add_roots(self, roots: Iterable[Path]) -> None:
        """Add roots to serve."""
        self.roots = tuple(dict.fromkeys((*self.roots, *roots)))

    # --- files ---

    def index(self, *, force: bool = False) -> Job:
        """Compare the server's own roots with the disk."""
        work = IndexRootsWork(self._engine, self.roots, force, self._after_files)
        return self._jobs.submit("index", work, key=work.roots, join=IndexRootsWork.merge_with)

    def compare(self, unless_done: Callable[[IndexRootsWork], object]) -> Job:
        """Compare everything indexed with the disk."""
        work = IndexRootsWork(self._engine, (), False, self._after_files)
        return self._jobs.submit("reconcile", work, join=IndexRootsWork.merge_with, unless_done=unless_done)

    def index_batch(self, batch: ChangeBatch, watcher: Watcher) -> Job:
        """Index a batch of changes and report the outcome to the watcher."""

        def then(batches: Sequence[ChangeBatch]) -> None:
            for batch in batches:
                watcher.done(batch)
            if any(it.compare_all for it in batches):  # git may have run, or a repository may be new
                self.read_history()

        def missed(work: IndexBatchesWork) -> None:
            for batch in work.batches:
                watcher.mark_missed(batch)

        work = IndexBatchesWork(self._engine, batch.collection, self._settings.bulk_threshold, (batch,), then)
        kind = "reconcile" if batch.compare_all else "follow"
        return self._jobs.submit(kind, work, key=batch.collection, join=IndexBatchesWork.merge_with, unless_done=missed)

    def _after_files(self) -> None:
        if self._vectors and not self._engine().state.is_semantic_ready():
            self.encode_quickly()
        if self.read_history() is None:
            self.encode()

    # --- after the files ---

    def read_history(self) -> Job | None:
        """Index the histories after all work on files, or drop them if histories are disabled. Vectors follow."""
        if not self._settings.git and not self._engine().histories.collections():
            return None
        work = IndexHistoriesWork(self._engine, self.read_history, self.encode)
        return self._jobs.submit("history", work, background=True)

    def encode_quickly(self) -> Job:
        """Encode the vectors that semantic answers need, before histories, which may take long."""
        work = EncodeWork(self._engine, self.encode_quickly, quick_only=True)
        return self._jobs.submit("encode", work, key="quick")

    def encode(self) -> Job | None:
        """Encode missing vectors after all other work."""
        if not self._vectors:
            return None
        work = EncodeWork(self._engine, self.encode, lambda: self._jobs.running("history") is not None)
        return self._jobs.submit("encode", work, background=True)

    # --- damage ---

    def heal(self) -> Job:
        return self._jobs.submit("heal", self._repair_work())

    def check(self) -> Job:
        return self._jobs.submit("check", CheckWork(self._repair_work()), background=True)

    def _repair_work(self) -> RepairWork:
        return RepairWork(self._settings, self._index, self.roots[0], self.encode)
