"""A background job: its state, progress and estimated end, and the handle its work receives."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

JobStatus = Literal["queued", "running", "retry_wait", "completed", "failed", "cancelled"]
JobProgress = Callable[[str, int, int], None]

_MIN_SAMPLE_S: Final = 0.25  # shorter samples measure the clock rather than the work
_MAX_ETA_S: Final = 3e8  # ten years
_RATE_TIME_CONSTANT_S: Final = 10.0  # time constant of the smoothed rate


@dataclass(frozen=True, slots=True)
class JobContext:
    """The handle a job's work receives; call it with every step to report progress.

    The call raises `Cancelled` once the job has to stop.
    """

    step: JobProgress
    name: Callable[[str], None]
    has_waiting: Callable[[], bool]
    """Return whether another job is waiting. Long work that can resume later should return then."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.step(stage, done, total)

    def set_current(self, what: str) -> JobContext:
        """Set the name of the object being worked on."""
        self.name(what)
        return self


JobWork = Callable[[JobContext], Mapping[str, object]]


def _ignore_work(work: JobWork) -> None:
    pass


@dataclass(slots=True)
class ProgressRate:
    """Smoothed progress rate of the current stage. A clock jump costs one sample and nothing else."""

    stage: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None  # per second
    _sampled_done: int = 0
    _sampled_at: float = 0.0

    def note(self, stage: str, done: int, total: int, now: float) -> None:
        restarts = stage != self.stage or done < self.done or total != self.total
        self.stage, self.done, self.total = stage, done, total
        if restarts:
            self.rate = None
        seconds = now - self._sampled_at
        if restarts or seconds < 0:
            self._sampled_done, self._sampled_at = done, now
        elif seconds >= _MIN_SAMPLE_S:
            self._sample(done - self._sampled_done, seconds)
            self._sampled_done, self._sampled_at = done, now

    def _sample(self, count: int, seconds: float) -> None:
        weight = 1 - math.exp(-seconds / _RATE_TIME_CONSTANT_S)
        rate = count / seconds
        self.rate = rate if self.rate is None else self.rate + weight * (rate - self.rate)

    @property
    def eta_s(self) -> float | None:
        """Seconds to the end of the stage; None while the rate is unknown."""
        seconds = max(0, self.total - self.done) / self.rate if self.rate else math.inf
        return seconds if seconds < _MAX_ETA_S else None


@dataclass(slots=True, eq=False)
class Job:
    """A unit of background work and its progress. Times are seconds of the queue's clock, except `began_at`."""

    kind: str
    work: JobWork
    key: Hashable = None
    background: bool = False
    on_abandoned: Callable[[JobWork], object] = _ignore_work  # called with the work once it is certain not to be done
    id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    status: JobStatus = "queued"
    requests: int = 1
    submitted: float = 0.0
    started: float | None = None
    finished: float | None = None
    began_at: float | None = None  # wall-clock time, for the job history
    result: Mapping[str, object] | None = None
    error: str | None = None
    retries: int = 0
    current: str = ""
    stop: str = ""  # the reason to stop, once there is one
    progress_rate: ProgressRate = field(default_factory=ProgressRate)

    @property
    def stage(self) -> str:
        return self.progress_rate.stage

    @property
    def done(self) -> int:
        return self.progress_rate.done

    @property
    def total(self) -> int:
        return self.progress_rate.total

    @property
    def eta_s(self) -> float | None:
        return self.progress_rate.eta_s if self.status == "running" else None


@dataclass(slots=True)
class Throttle:
    """A throttle: is due at most once per period."""

    period_s: float
    _last: float | None = None

    def is_due(self, now: float) -> bool:
        if self._last is not None and 0 <= now - self._last < self.period_s:
            return False
        self._last = now
        return True
