"""One job: what it is, how far it is, when it will be done, and what its work is given."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

Status = Literal["queued", "running", "retry_wait", "completed", "failed", "cancelled"]
Progress = Callable[[str, int, int], None]

_SAMPLE_S: Final = 0.25  # shorter stretches say more about the clock than about the work
_NEVER_S: Final = 3e8  # ten years
_MEMORY_S: Final = 10.0  # how far back the rate remembers


@dataclass(frozen=True, slots=True)
class Task:
    """What the work of a job is given: call it with every step, as progress.

    The call raises `Cancelled` once the job has to stop.
    """

    step: Progress
    name: Callable[[str], None]
    wanted: Callable[[], bool]
    """Whether another job is waiting: long work that can go on later should return."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.step(stage, done, total)

    def on(self, what: str) -> Task:
        """Say what is being worked on."""
        self.name(what)
        return self


Work = Callable[[Task], Mapping[str, object]]


def _nothing(work: Work) -> None:
    pass


@dataclass(slots=True)
class Pace:
    """How quickly the current stage goes, smoothed; a clock that jumps costs a sample and nothing else."""

    stage: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None  # per second
    _sampled_done: int = 0
    _sampled_at: float = 0.0

    def note(self, stage: str, done: int, total: int, now: float) -> None:
        begins_anew = stage != self.stage or done < self.done or total != self.total
        self.stage, self.done, self.total = stage, done, total
        if begins_anew:
            self.rate = None
        seconds = now - self._sampled_at
        if begins_anew or seconds < 0:
            self._sampled_done, self._sampled_at = done, now
        elif seconds >= _SAMPLE_S:
            self._sample(done - self._sampled_done, seconds)
            self._sampled_done, self._sampled_at = done, now

    def _sample(self, count: int, seconds: float) -> None:
        weight = 1 - math.exp(-seconds / _MEMORY_S)
        rate = count / seconds
        self.rate = rate if self.rate is None else self.rate + weight * (rate - self.rate)

    @property
    def eta_s(self) -> float | None:
        """Seconds to the end of the stage; None while nothing is known."""
        seconds = max(0, self.total - self.done) / self.rate if self.rate else math.inf
        return seconds if seconds < _NEVER_S else None


@dataclass(slots=True, eq=False)
class Job:
    """A unit of background work and how far it is; times are seconds of the queue's clock, but for `began_at`."""

    kind: str
    work: Work
    key: Hashable = None
    background: bool = False
    unless_done: Callable[[Work], object] = _nothing  # told what was not done, once that is certain
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: Status = "queued"
    requests: int = 1
    submitted: float = 0.0
    started: float | None = None
    finished: float | None = None
    began_at: float | None = None  # of the wall clock, for those who read of it later
    result: Mapping[str, object] | None = None
    error: str | None = None
    retries: int = 0
    current: str = ""
    stop: str = ""  # why it has to stop, once it has to
    pace: Pace = field(default_factory=Pace)

    @property
    def stage(self) -> str:
        return self.pace.stage

    @property
    def done(self) -> int:
        return self.pace.done

    @property
    def total(self) -> int:
        return self.pace.total

    @property
    def eta_s(self) -> float | None:
        return self.pace.eta_s if self.status == "running" else None


@dataclass(slots=True)
class Every:
    """Lets something happen at most once in a while."""

    period_s: float
    _last: float | None = None

    def is_due(self, now: float) -> bool:
        if self._last is not None and 0 <= now - self._last < self.period_s:
            return False
        self._last = now
        return True
