"""How long is waited, told by clocks that the tests move."""

from __future__ import annotations

import threading
from collections.abc import Mapping

import pytest

from dowse.live.job import JobContext, JobWork
from dowse.live.jobs import JobQueue
from dowse.live.maintenance import RETRY_AFTER_S, Backoff


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def work(task: JobContext) -> Mapping[str, object]:
    return {}


def fail(task: JobContext) -> Mapping[str, object]:
    raise ValueError("no")


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_what_holds_long_enough_is_over_and_a_break_begins_anew(clock: Clock) -> None:
    patience = Backoff(JobQueue(), clock)
    assert not patience.has_held_for("a", True, 5.0)
    clock.now += 4.9
    assert not patience.has_held_for("a", True, 5.0)
    assert not patience.has_held_for("b", True, 4.0), "each name waits by itself"
    clock.now += 0.2
    assert patience.has_held_for("a", True, 5.0)
    assert patience.has_held_for("a", True, 5.0), "and stays so"
    assert not patience.has_held_for("a", False, 5.0)
    assert not patience.has_held_for("a", True, 5.0)
    assert patience.has_held_for("c", True, 0.0)


def test_a_rest_comes_before_the_wait(clock: Clock) -> None:
    patience = Backoff(JobQueue(), clock)
    patience.restart_after("a", 60.0)
    clock.now += 64.9
    assert not patience.has_held_for("a", True, 5.0)
    clock.now += 0.2
    assert patience.has_held_for("a", True, 5.0)


@pytest.mark.parametrize("one", [work, fail])
def test_once_waits_for_the_last_job_of_its_kind_and_a_while_longer(clock: Clock, one: JobWork) -> None:
    jobs = JobQueue(clock)
    patience = Backoff(jobs, clock)
    asked: list[float] = []
    patience.submit_once("a", lambda: asked.append(clock.now))
    assert asked == [100.0]
    job = jobs.submit("a", one)
    assert jobs.wait(job, 20)
    patience.submit_once("b", lambda: asked.append(clock.now))
    assert len(asked) == 2, "each kind is asked for by itself"
    clock.now += RETRY_AFTER_S
    patience.submit_once("a", lambda: asked.append(clock.now))
    assert len(asked) == 2
    clock.now += 0.1
    patience.submit_once("a", lambda: asked.append(clock.now))
    patience.submit_once("a", lambda: asked.append(clock.now), 1_000.0)
    assert len(asked) == 3
    jobs.close(5)


def test_once_leaves_alone_what_is_under_way(clock: Clock) -> None:
    jobs, go_on, asked = JobQueue(clock), threading.Event(), list[float]()
    job = jobs.submit("a", lambda task: {"waited": go_on.wait(20)})
    clock.now += 1_000.0
    Backoff(jobs, clock).submit_once("a", lambda: asked.append(clock.now))
    go_on.set()
    assert jobs.wait(job, 20)
    assert asked == []
    jobs.close(5)
