"""The queue: one job after another, each with a story."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from dowse.errors import Cancelled, IndexBusy
from dowse.live.job import Job, JobContext, JobProgress
from dowse.live.jobs import MAX_FINISHED_JOBS, RETRY_WAITS_S, JobQueue

DEADLINE_S = 60


@pytest.fixture
def jobs() -> Iterator[JobQueue]:
    queue = JobQueue(retry_waits_s=(0.01, 0.01, 0.01))
    yield queue
    queue.close()


@dataclass
class Gate:
    """Work that takes steps until it is let go."""

    steps: bool = True
    entered: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def __call__(self, task: JobContext) -> Mapping[str, object]:
        self.entered.set()
        while not self.opened.wait(0.002):
            if self.steps:
                task("waiting", 0, 1)
        return {"wanted": task.has_waiting()}


@pytest.fixture
def held(jobs: JobQueue) -> Iterator[Gate]:
    """A job that runs, and keeps others waiting."""
    gate = Gate()
    jobs.submit("in the way", gate)
    assert gate.entered.wait(DEADLINE_S)
    yield gate
    gate.opened.set()


def ended(jobs: JobQueue, job: Job) -> Job:
    assert jobs.wait(job, DEADLINE_S)
    return job


def nothing(task: JobContext) -> Mapping[str, object]:
    return {}


def test_a_job_runs_and_keeps_its_result(jobs: JobQueue) -> None:
    def work(progress: JobProgress) -> Mapping[str, object]:
        progress("reading", 3, 4)
        return {"files": 4}

    job = ended(jobs, jobs.submit("index", work))
    assert (job.status, job.result, job.error, job.retries) == ("completed", {"files": 4}, None, 0)
    assert (job.stage, job.done, job.total) == ("reading", 3, 4)
    assert jobs.all() == [job] and jobs.running() is None
    assert jobs.elapsed_s(job) >= 0


@pytest.mark.parametrize("failure", [ValueError("no such luck"), SystemExit(3), KeyboardInterrupt()])
def test_a_failure_is_told_and_the_queue_goes_on(
    jobs: JobQueue, failure: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(task: JobContext) -> Mapping[str, object]:
        raise failure

    job = ended(jobs, jobs.submit("bad", fail))
    assert (job.status, job.error) == ("failed", f"{type(failure).__name__}: {failure}")
    assert ended(jobs, jobs.submit("good", nothing)).status == "completed"
    assert f"bad  failed: {type(failure).__name__}" in caplog.text


def test_the_queue_outlives_whoever_is_told_of_an_end(jobs: JobQueue, caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: object) -> Mapping[str, object]:
        raise ValueError("nobody listens")

    ended(jobs, jobs.submit("bad", fail, unless_done=fail))
    jobs.on_end = fail
    ended(jobs, jobs.submit("good", nothing))
    assert ended(jobs, jobs.submit("next", nothing)).status == "completed"
    assert "the end callback of" in caplog.text


@pytest.mark.parametrize(
    ("failures", "status", "retries"), [(1, "completed", 1), (3, "completed", 3), (9, "failed", 3)]
)
def test_a_busy_index_is_tried_again(jobs: JobQueue, failures: int, status: str, retries: int) -> None:
    left = [failures]

    def work(task: JobContext) -> Mapping[str, object]:
        left[0] -= 1
        if left[0] >= 0:
            raise IndexBusy("busy")
        return {}

    job = ended(jobs, jobs.submit("index", work))
    assert (job.status, job.retries) == (status, retries)
    assert job.error == ("busy" if status == "failed" else None)


def test_each_try_waits_twice_as_long() -> None:
    assert RETRY_WAITS_S == (1.0, 2.0, 4.0)
    jobs, tries = JobQueue(retry_waits_s=tuple(it / 20 for it in RETRY_WAITS_S)), list[float]()

    def work(task: JobContext) -> Mapping[str, object]:
        tries.append(time.monotonic())
        raise IndexBusy("busy")

    assert ended(jobs, jobs.submit("index", work)).status == "failed"
    jobs.close()
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert len(gaps) == 3 and all(gap >= wait / 20 for gap, wait in zip(gaps, RETRY_WAITS_S, strict=True))


# --- coalescing ---


def test_a_queued_job_takes_further_requests_and_a_running_one_none(jobs: JobQueue, held: Gate) -> None:
    first, second = jobs.submit("index", nothing, key=1), jobs.submit("index", nothing, key=1)
    other_key, other_kind = jobs.submit("index", nothing, key=2), jobs.submit("follow", nothing, key=1)
    again = jobs.submit("in the way", nothing)
    assert first is second and first.requests == 2
    assert len({first.id, other_key.id, other_kind.id, again.id}) == 4
    assert again.status == "queued"


@dataclass(frozen=True)
class Follow:
    paths: frozenset[str]

    def __call__(self, task: JobContext) -> Mapping[str, object]:
        return {"paths": sorted(self.paths)}

    def joined(self, later: Follow) -> Follow:
        return Follow(self.paths | later.paths)


def test_requests_are_joined(jobs: JobQueue, held: Gate) -> None:
    for path in "bac":
        job = jobs.submit("follow", Follow(frozenset(path)), key="docs", join=Follow.joined)
    held.opened.set()
    assert ended(jobs, job).result == {"paths": ["a", "b", "c"]}
    assert job.requests == 3


def test_what_can_not_be_joined_is_the_callers_failure(jobs: JobQueue, held: Gate) -> None:
    def refuse(one: Follow, two: Follow) -> Follow:
        raise ValueError("no")

    job = jobs.submit("follow", Follow(frozenset("a")))
    with pytest.raises(ValueError, match="no"):
        jobs.submit("follow", Follow(frozenset("b")), join=refuse)
    held.opened.set()
    assert ended(jobs, job).result == {"paths": ["a"]} and job.requests == 1


def test_background_jobs_run_when_nothing_else_is_queued(jobs: JobQueue, held: Gate) -> None:
    order: list[str] = []

    def work(name: str) -> Callable[[JobContext], Mapping[str, object]]:
        return lambda task: {"order": order.append(name), "wanted": task.has_waiting()}

    encode = jobs.submit("encode", work("encode"), background=True)
    follow = jobs.submit("follow", work("follow"))
    held.opened.set()
    ended(jobs, encode)
    assert order == ["follow", "encode"]
    assert follow.result is not None and follow.result["wanted"] is False


def test_a_background_job_that_is_asked_for_otherwise_waits_no_longer(jobs: JobQueue, held: Gate) -> None:
    jobs.submit("encode", nothing, background=True)
    job = jobs.submit("encode", nothing)
    assert job.requests == 2 and not job.background


def test_long_work_learns_that_another_job_waits(jobs: JobQueue, held: Gate) -> None:
    jobs.submit("follow", nothing)
    held.opened.set()
    done = ended(jobs, jobs.all()[0])
    assert done.result == {"wanted": True}


def test_order_is_kept(jobs: JobQueue) -> None:
    done: list[int] = []

    def work(number: int) -> Callable[[JobContext], Mapping[str, object]]:
        return lambda task: {"n": done.append(number)}

    last = [jobs.submit(str(number), work(number)) for number in range(20)][-1]
    ended(jobs, last)
    assert done == list(range(20))


# --- cancelling ---


def test_a_queued_job_is_cancelled_at_once(jobs: JobQueue, held: Gate) -> None:
    job = jobs.submit("index", Gate())
    assert jobs.cancel(job.id)
    assert (job.status, job.error) == ("cancelled", "cancelled: stopped on request")
    assert not jobs.cancel(job.id) and not jobs.cancel("nonsense")
    assert jobs.submit("index", nothing) is not job


def test_a_running_job_is_cancelled_with_its_next_step(jobs: JobQueue, held: Gate) -> None:
    (job,) = jobs.all()
    assert jobs.cancel(job.id)
    assert ended(jobs, job).status == "cancelled"
    assert ended(jobs, jobs.submit("next", nothing)).status == "completed"


def test_a_job_that_is_over_before_its_next_step_is_completed(jobs: JobQueue) -> None:
    gate = Gate(steps=False)
    job = jobs.submit("index", gate)
    assert gate.entered.wait(DEADLINE_S) and jobs.cancel(job.id)
    gate.opened.set()
    assert ended(jobs, job).status == "completed"


def test_a_waiting_try_is_cancelled_at_once() -> None:
    jobs, tried = JobQueue(retry_waits_s=(1000.0,)), threading.Event()

    def work(task: JobContext) -> Mapping[str, object]:
        tried.set()
        raise IndexBusy("busy")

    job = jobs.submit("index", work)
    assert tried.wait(DEADLINE_S) and jobs.cancel(job.id)
    assert ended(jobs, job).status == "cancelled"
    jobs.close()


# --- the end ---


def opens_at_the_end(queue: JobQueue, gate: Gate) -> Job:
    """A job that is queued until the queue is closed, which lets the running one go."""
    assert gate.entered.wait(DEADLINE_S)
    waiting = queue.submit("waiting", nothing, background=True)
    threading.Thread(target=lambda: queue.wait(waiting, DEADLINE_S) and gate.opened.set()).start()
    return waiting


def test_closing_cancels_what_is_queued_and_lets_the_running_one_end() -> None:
    queue, gate = JobQueue(), Gate(steps=False)
    running = queue.submit("running", gate)
    waiting = opens_at_the_end(queue, gate)
    queue.close(timeout_s=DEADLINE_S)
    assert running.status == "completed"
    assert (waiting.status, waiting.error) == ("cancelled", "cancelled: the server is shutting down")


def test_closing_cancels_the_running_one_when_its_patience_is_over() -> None:
    queue, gate = JobQueue(), Gate()
    running = queue.submit("running", gate)
    gate.entered.wait(DEADLINE_S)
    queue.close(timeout_s=DEADLINE_S, patience_s=0.01)
    assert (running.status, running.error) == ("cancelled", "cancelled: the server is shutting down")


def test_closing_is_patient_with_a_job_that_takes_steps() -> None:
    queue, gate = JobQueue(), Gate()
    running = queue.submit("running", gate)
    opens_at_the_end(queue, gate)
    queue.close(timeout_s=DEADLINE_S, patience_s=DEADLINE_S)
    assert (running.status, running.result) == ("completed", {"wanted": True})


def test_closing_leaves_behind_what_never_ends() -> None:
    queue, gate = JobQueue(), Gate(steps=False)
    stuck = queue.submit("stuck", gate)
    gate.entered.wait(DEADLINE_S)
    queue.close(timeout_s=0.05)
    assert stuck.status == "running" and not queue.wait(stuck, 0)
    gate.opened.set()
    ended(queue, stuck)


def test_closing_ends_a_wait_for_another_try() -> None:
    queue = JobQueue(retry_waits_s=(1000.0,))
    tried = threading.Event()

    def work(task: JobContext) -> Mapping[str, object]:
        tried.set()
        raise IndexBusy("busy")

    job = queue.submit("index", work)
    tried.wait(DEADLINE_S)
    queue.close(timeout_s=DEADLINE_S, patience_s=DEADLINE_S)
    assert (job.status, job.error) == ("cancelled", "cancelled: the server is shutting down")


def test_closing_leaves_no_time_for_another_try() -> None:
    queue, gate = JobQueue(retry_waits_s=(1000.0,)), Gate(steps=False)

    def work(task: JobContext) -> Mapping[str, object]:
        gate(task)
        raise IndexBusy("busy")

    job = queue.submit("index", work)
    opens_at_the_end(queue, gate)
    queue.close(timeout_s=DEADLINE_S, patience_s=DEADLINE_S)
    assert (job.status, job.error) == ("cancelled", "cancelled: the server is shutting down")


def test_a_closed_queue_takes_nothing() -> None:
    queue = JobQueue()
    queue.close()
    queue.close()
    with pytest.raises(Cancelled, match="shutting down"):
        queue.submit("late", nothing)
    assert queue.all() == []


# --- what can be asked ---


def test_only_the_last_finished_jobs_are_kept(jobs: JobQueue) -> None:
    for number in range(MAX_FINISHED_JOBS + 20):
        ended(jobs, jobs.submit(str(number), nothing))
    assert len(jobs.all()) <= MAX_FINISHED_JOBS + 1
    assert jobs.all()[-1].kind == str(MAX_FINISHED_JOBS + 19)


def test_what_runs_comes_before_what_waits(jobs: JobQueue) -> None:
    gate = Gate()
    waiting = jobs.submit("in the way", gate)
    gate.entered.wait(DEADLINE_S)
    encode = jobs.submit("encode", nothing, background=True)
    assert jobs.running() is waiting and jobs.running("encode") is encode and jobs.running("index") is None
    assert jobs.last("encode") is encode and jobs.last("index") is None
    gate.opened.set()
    assert ended(jobs, encode).status == "completed"


def test_a_job_says_what_it_is_at(jobs: JobQueue) -> None:
    gate = Gate()
    job = jobs.submit("index", lambda task: gate(task.set_current("docs")))
    gate.entered.wait(DEADLINE_S)
    assert job.current == "docs"
    gate.opened.set()
    ended(jobs, job)


def test_waiting_ends_when_its_time_is_over(jobs: JobQueue, held: Gate) -> None:
    (job,) = jobs.all()
    assert not jobs.wait(job, 0.01)


def test_a_clock_that_goes_backwards_breaks_nothing() -> None:
    times = iter([1000.0, 900.0, 800.0, *[10.0] * 1000])
    queue = JobQueue(clock=lambda: next(times))

    def work(task: JobContext) -> Mapping[str, object]:
        for done in range(10):
            task("reading", done, 10)
        return {}

    job = ended(queue, queue.submit("index", work))
    assert job.status == "completed" and queue.elapsed_s(job) == 0.0
    queue.close()


@pytest.mark.parametrize(("failures", "told"), [(0, 0), (3, 0), (4, 1)])
def test_what_was_not_done_in_the_end_is_told_once(jobs: JobQueue, failures: int, told: int) -> None:
    left, missed = [failures], list[object]()

    def work(task: JobContext) -> Mapping[str, object]:
        left[0] -= 1
        if left[0] >= 0:
            raise IndexBusy("busy")
        return {}

    jobs.submit("follow", work, unless_done=missed.append)
    ended(jobs, jobs.submit("another", nothing))
    assert missed == [work] * told


def test_what_was_cancelled_is_told_with_all_that_was_joined(jobs: JobQueue, held: Gate) -> None:
    missed = list[object]()
    for paths in ({"a"}, {"b"}):
        job = jobs.submit("follow", Follow(frozenset(paths)), join=Follow.joined, unless_done=missed.append)
    assert jobs.cancel(job.id)
    assert missed == [Follow(frozenset({"a", "b"}))]
