"""What jobs there were, in every process that works on an index: a journal beside it that outlives them all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dowse.live import journal
from dowse.live.past import PastJob, as_json, in_short, line_of, parsed
from dowse.processes import Process, this_process

if TYPE_CHECKING:
    from dowse.live.job import Job

SUFFIX: Final = "-jobs"
KEPT_JOBS: Final = 200
INTERRUPTED: Final = "interrupted"
_KEPT_BYTES: Final = journal.MOST_BYTES // 2
_LOCK_WAIT_S: Final = 2.0
_STOP: Final = b'{"stop":'
_JOB: Final = b'{"id":'


class History:
    """The journal of one index; writing it never fails a job. Safe to use from several threads."""

    def __init__(self, index: Path, now: Callable[[], float] = time.time) -> None:
        self.path = index.with_name(index.name + SUFFIX)
        self.problem = ""
        self._now = now
        self._wait_s = _LOCK_WAIT_S
        self._told: set[str] = set()
        self._looked_at: tuple[int, int] | None = None
        self._to_stop: frozenset[str] = frozenset()

    def note(self, job: Job, clock: float) -> None:
        """Write down how far the job is; `clock` is the queue's time now."""
        at, process = self._now(), self._process
        past = PastJob(
            id=job.id,
            kind=job.kind,
            state=job.status,
            at=at,
            began_at=at if job.began_at is None else job.began_at,
            seconds=0.0 if job.started is None else max(0.0, clock - job.started),
            pid=process.pid,
            start=process.start,
            requests=job.requests,
            retries=job.retries,
            stage=job.stage,
            done=job.done,
            total=job.total,
            current=job.current,
            eta_s=job.eta_s,
            result=None if job.result is None else in_short(job.result),
            error=job.error,
        )
        self._append(line_of(past))

    def recent(self, limit: int) -> list[PastJob]:
        """The newest first; one whose process is gone was interrupted."""
        past = list(_folded(self._lines()).values())[-limit:]
        return [replace(it, state=INTERRUPTED) if _is_orphan(it) else it for it in reversed(past)]

    def ask_to_stop(self, id: str) -> None:
        """Tell the process that runs the job; it looks once a second."""
        self._append(_stop_line(id))

    def is_to_stop(self, id: str) -> bool:
        """Whether any process has asked for it; cheap as long as nothing was written."""
        try:
            state = journal.state(self.path)
        except OSError:
            return False
        if state != self._looked_at:
            self._looked_at, self._to_stop = state, _stopped(self._lines())
        return id in self._to_stop

    @cached_property
    def _process(self) -> Process:
        return this_process()

    def _append(self, line: bytes) -> None:
        try:
            is_sure = journal.append(self.path, line, _shortened, self._wait_s)
            # One who was stopped while it rewrote the journal is waited for once, not with every line.
            self._wait_s = _LOCK_WAIT_S if is_sure else 0.0
        except OSError as error:
            self._complain(f"jobs are not written down in {self.path}: {error.strerror or error}")

    def _lines(self) -> list[bytes]:
        try:
            return journal.lines(self.path)
        except OSError as error:
            self._complain(f"what jobs there were can not be read from {self.path}: {error.strerror or error}")
            return []

    def _complain(self, problem: str) -> None:
        if problem not in self._told:
            import logging  # rarely needed, and a search on the command line has no use for it

            self._told.add(problem)
            logging.getLogger("dowse.jobs").warning("%s; check the disk and its permissions", problem)
        self.problem = problem


def _folded(lines: Iterable[bytes]) -> dict[str, PastJob]:
    """The last word on each job, in the order they were last heard of."""
    jobs: dict[str, PastJob] = {}
    for line in lines:
        if line.startswith(_JOB) and (job := parsed(line)) is not None:
            jobs.pop(job.id, None)
            jobs[job.id] = job
    return jobs


def _stop_line(id: str) -> bytes:
    return _STOP + json.dumps(id).encode() + b"}"


def _stopped(lines: Iterable[bytes]) -> frozenset[str]:
    asked = (as_json(it) for it in lines if it.startswith(_STOP))
    return frozenset(it["stop"] for it in asked if isinstance(it, dict) and isinstance(it["stop"], str))


def _shortened(lines: Sequence[bytes]) -> Sequence[bytes]:
    """One line for each of the last jobs, and what they were told that they may not have heard yet."""
    jobs = list(_folded(lines).values())[-KEPT_JOBS:]
    kept = [line_of(it) for it in jobs]
    while sum(map(len, kept)) > _KEPT_BYTES:
        del kept[0]
    told = _stopped(lines) & {it.id for it in jobs if it.is_ongoing}
    return [*kept, *(_stop_line(id) for id in sorted(told))]


def _is_orphan(job: PastJob) -> bool:
    return job.is_ongoing and not Process(job.pid, job.start).is_alive()
