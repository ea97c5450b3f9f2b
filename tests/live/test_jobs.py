"""The queue: one job after another, each with a story."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping

import pytest

from dowse.errors import IndexBusy
from dowse.live.jobs import KEPT_JOBS, Job, Jobs, Progress


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    queue = Jobs(retry_waits_s=(0.01, 0.01, 0.01))
    yield queue
    queue.close()


def finished(job: Job) -> Job:
    deadline = time.monotonic() + 10
    while job.finished is None and time.monotonic() < deadline:
        time.sleep(0.005)
    return job


def test_a_job_runs_and_keeps_its_result(jobs: Jobs) -> None:
    def work(progress: Progress) -> Mapping[str, object]:
        progress("reading", 3, 4)
        return {"files": 4}

    job = finished(jobs.submit("index", work))
    assert (job.status, job.result, job.error, job.retries) == ("completed", {"files": 4}, None, 0)
    assert (job.stage, job.done, job.total) == ("reading", 3, 4)
    assert jobs.all() == [job] and jobs.running() is None
    assert jobs.elapsed_s(job) >= 0


def test_a_failure_is_told_and_the_queue_goes_on(jobs: Jobs) -> None:
    def fail(progress: Progress) -> Mapping[str, object]:
        raise ValueError("no such luck")

    assert finished(jobs.submit("bad", fail)).error == "ValueError: no such luck"
    assert finished(jobs.submit("good", lambda progress: {})).status == "completed"


@pytest.mark.parametrize(
    ("failures", "status", "retries"), [(1, "completed", 1), (3, "completed", 3), (9, "failed", 3)]
)
def test_a_busy_index_is_tried_again(jobs: Jobs, failures: int, status: str, retries: int) -> None:
    left = [failures]

    def work(progress: Progress) -> Mapping[str, object]:
        left[0] -= 1
        if left[0] >= 0:
            raise IndexBusy("busy")
        return {}

    job = finished(jobs.submit("index", work))
    assert (job.status, job.retries) == (status, retries)


def test_closing_cancels_what_is_queued_and_lets_the_running_one_end() -> None:
    queue = Jobs()
    started, release = threading.Event(), threading.Event()

    def work(progress: Progress) -> Mapping[str, object]:
        started.set()
        release.wait(10)
        return {}

    running = queue.submit("running", work)
    waiting = queue.submit("waiting", lambda progress: {})
    started.wait(10)
    threading.Timer(0.1, release.set).start()
    queue.close(timeout_s=5)
    assert running.status == "completed"
    assert (waiting.status, waiting.error) == ("failed", "cancelled: the server is shutting down")


def test_only_the_last_finished_jobs_are_kept(jobs: Jobs) -> None:
    for number in range(KEPT_JOBS + 20):
        finished(jobs.submit(str(number), lambda progress: {}))
    assert len(jobs.all()) <= KEPT_JOBS + 1
    assert jobs.all()[-1].name == str(KEPT_JOBS + 19)


def test_order_is_kept(jobs: Jobs) -> None:
    done: list[int] = []

    def work(number: int) -> Callable[[Progress], Mapping[str, object]]:
        return lambda progress: {"n": done.append(number)}

    last = [jobs.submit(str(number), work(number)) for number in range(20)][-1]
    finished(last)
    assert done == list(range(20))
