"""Any sequence of requests, ends, cancellations and jumps of the clock: no request is lost, and the order is told."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from dowse.errors import Cancelled, IndexBusy
from dowse.live.job import Job, JobContext
from dowse.live.jobs import JobQueue

DEADLINE_S = 60
RETRIES = 2
JOINING = "follow"


@dataclass
class Bench:
    """Where works wait to be told what to do."""

    entered: queue.Queue[tuple[int, ...]] = field(default_factory=queue.Queue)
    commands: queue.Queue[str] = field(default_factory=queue.Queue)


@dataclass(frozen=True)
class Errand:
    """The work of one request or several."""

    bench: Bench
    requests: tuple[int, ...]

    def joined(self, later: Errand) -> Errand:
        return Errand(self.bench, self.requests + later.requests)

    def __call__(self, task: JobContext) -> Mapping[str, object]:
        self.bench.entered.put(self.requests)
        while (command := self.bench.commands.get(timeout=DEADLINE_S)) == "step":
            task("working", 1, 2)
            self.bench.entered.put(())
        if command == "busy":
            raise IndexBusy("busy")
        if command == "fail":
            raise ValueError("fail")
        return {"command": command}


class Queue(RuleBasedStateMachine):
    """The model is a list of jobs that wait, the one in hand, and which requests each has taken on."""

    @initialize()
    def begin(self) -> None:
        self.now = 1000.0
        self.jobs = JobQueue(clock=lambda: self.now, retry_waits_s=(0.0,) * RETRIES)
        self.bench = Bench()
        self.waiting: list[Job] = []
        self.hand: Job | None = None
        self.tries = 0
        self.closed = False
        self.taken: dict[str, list[int]] = {}
        self.served: set[int] = set()
        self.known: list[Job] = []
        self.count = 0

    # --- what may happen ---

    @rule(kind=st.sampled_from([JOINING, "index"]), key=st.integers(1, 2), background=st.booleans())
    def submit(self, kind: str, key: int, background: bool) -> None:
        number, self.count = self.count, self.count + 1
        join = Errand.joined if kind == JOINING else None
        errand = Errand(self.bench, (number,))
        if self.closed:
            with pytest.raises(Cancelled):
                self.jobs.submit(kind, errand, key=key, background=background, join=join)
            return
        job = self.jobs.submit(kind, errand, key=key, background=background, join=join)
        queued = next((it for it in self.waiting if (it.kind, it.key) == (kind, key)), None)
        assert (job is queued) if queued else (job not in self.known)
        if queued is None:
            self.known.append(job)
            self.waiting.append(job)
        self.taken.setdefault(job.id, []).append(number)
        self.settle()

    @precondition(lambda self: self.hand is not None)
    @rule(command=st.sampled_from(["step", "complete", "fail", "busy"]))
    def tell(self, command: str) -> None:
        job = self.hand
        assert job is not None
        was_stopped = bool(job.stop)
        self.bench.commands.put(command)
        if command == "step" and not was_stopped:
            assert self.bench.entered.get(timeout=DEADLINE_S) == ()
        elif command == "busy" and not was_stopped and self.tries < RETRIES:
            self.tries += 1
            assert self.bench.entered.get(timeout=DEADLINE_S) == self.expected(job)
        else:
            self.end(job, {"step": "cancelled", "complete": "completed", "fail": "failed"}.get(command))

    @precondition(lambda self: bool(self.known))
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.known))
        assert self.jobs.cancel(job.id) == (job in self.waiting or job is self.hand)
        if job in self.waiting:
            self.waiting.remove(job)
            assert job.status == "cancelled"

    @rule(seconds=st.floats(-100, 100))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def close(self) -> None:
        self.jobs.close(timeout_s=0.0)
        assert all(job.status == "cancelled" for job in self.waiting)
        self.waiting, self.closed = [], True

    # --- the model ---

    def expected(self, job: Job) -> tuple[int, ...]:
        taken = self.taken[job.id]
        return tuple(taken if job.kind == JOINING else taken[:1])

    def settle(self) -> None:
        """The queue takes what waits, as soon as its hand is free."""
        if self.hand is not None or not self.waiting:
            return
        first = next((it for it in self.waiting if not it.background), self.waiting[0])
        assert self.bench.entered.get(timeout=DEADLINE_S) == self.expected(first)
        self.waiting.remove(first)
        self.hand, self.tries = first, 0
        self.served.update(self.taken[first.id])

    def end(self, job: Job, status: str | None) -> None:
        """Of one that was busy once too often, or when it had to stop, either word will do."""
        assert self.jobs.wait(job, DEADLINE_S)
        assert job.status in ((status,) if status else ("failed", "cancelled"))
        self.hand = None
        self.settle()

    # --- what always holds ---

    @invariant()
    def at_most_one_of_a_kind_and_key_is_queued(self) -> None:
        queued = [(it.kind, it.key) for it in self.jobs.all() if it.status == "queued"]
        assert len(queued) == len(set(queued)) == len(self.waiting)

    @invariant()
    def every_request_is_counted(self) -> None:
        assert all(job.requests == len(self.taken[job.id]) for job in self.known)

    @invariant()
    def progress_makes_sense(self) -> None:
        assert all(it.eta_s is None or it.eta_s >= 0 for it in self.jobs.all())
        assert all(self.jobs.elapsed_s(it) >= 0 for it in self.jobs.all())

    @invariant()
    def what_has_begun_takes_no_more_requests(self) -> None:
        begun = [it for it in self.known if it.started is not None]
        assert all(set(self.taken[it.id]) <= self.served for it in begun)

    def teardown(self) -> None:
        while self.hand is not None:
            self.tell("complete")
        self.jobs.close(DEADLINE_S)
        dropped = {it for job in self.known if job.status == "cancelled" for it in self.taken[job.id]}
        asked = {it for taken in self.taken.values() for it in taken}
        assert asked == self.served | dropped
        assert all(job.finished is not None for job in self.known)


Queue.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestQueue = Queue.TestCase
