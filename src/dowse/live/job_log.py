"""The log of finished jobs, shared by processes."""

from __future__ import annotations

import fcntl
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from dowse.processes import Process, this_process

if TYPE_CHECKING:
    from dowse.live.job import Job

# --------------------------------------------------------------------------------------------------
# An append-only file of lines shared by several processes, with a bounded size.

MAX_JOB_LOG_BYTES: Final = 256_000
_MAX_LOG_READ_BYTES: Final = 4 * MAX_JOB_LOG_BYTES  # if another program let the file grow, its end is enough
_LOG_LOCK_POLL_S: Final = 0.01
# Never follow or wait for anything else found at the path: a link, a pipe or a device.
_SAFE_OPEN_FLAGS: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

CompactLines = Callable[[Sequence[bytes]], Sequence[bytes]]


def append_line(path: Path, line: bytes, shorten: CompactLines, wait_s: float) -> bool:
    """Append a line in one write; if the file is too large, keep only the lines `shorten` returns.

    Return False if another process kept rewriting the file for longer than `wait_s`: the line may be lost then.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _open_for_append(path, wait_s) as (file, is_locked):
        # Start on a new line, even after a line that a full disk or a crash cut short.
        data = b"\n" + line + b"\n"
        if os.write(file, data) < len(data):
            raise OSError("the disk is full")
        size = os.fstat(file).st_size
    if size > MAX_JOB_LOG_BYTES:
        _compact_log(path, shorten)
    return is_locked


def read_last_lines(path: Path) -> list[bytes]:
    """Return the lines near the end, in order; the first may be cut. Empty if there is no file."""
    try:
        file = _open_regular(path, os.O_RDONLY)
    except FileNotFoundError:
        return []
    try:
        return _read_log_lines(file)
    finally:
        os.close(file)


def file_state(path: Path) -> tuple[int, int]:
    """Return a value that changes when a line is appended or the file is replaced."""
    status = path.lstat()
    return status.st_ino, status.st_size


def _read_log_lines(file: int) -> list[bytes]:
    start = max(0, os.fstat(file).st_size - _MAX_LOG_READ_BYTES)
    return [it for it in os.pread(file, _MAX_LOG_READ_BYTES, start).split(b"\n") if it]


def _compact_log(path: Path, shorten: CompactLines) -> None:
    """Write the shortened lines to a new file and rename it. The exclusive lock keeps others from appending meanwhile.
    If another process holds the lock, it does the rewrite."""
    file = _open_regular(path, os.O_RDONLY)
    try:
        if _lock_log(file, fcntl.LOCK_EX, wait_s=0.0) and _is_file_at(file, path):
            new_path = path.with_name(path.name + ".new")
            _write_log(new_path, b"".join(it + b"\n" for it in shorten(_read_log_lines(file))))
            new_path.replace(path)
    finally:
        os.close(file)


def _write_log(path: Path, data: bytes) -> None:
    with open(_open_regular(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
        file.write(data)


@contextmanager
def _open_for_append(path: Path, wait_s: float) -> Iterator[tuple[int, bool]]:
    """Yield the open file at the path, and whether it is certain not to be replaced while open."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    file = _open_regular(path, flags)
    try:
        while (is_locked := _lock_log(file, fcntl.LOCK_SH, wait_s)) and not _is_file_at(file, path):
            os.close(file)
            file = _open_regular(path, flags)
        yield file, is_locked
    finally:
        os.close(file)


def _open_regular(path: Path, flags: int) -> int:
    file = os.open(path, flags | _SAFE_OPEN_FLAGS, 0o600)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(f"{path} is not a regular file")
    return file


def _lock_log(file: int, how: int, wait_s: float) -> bool:
    """Try to lock the file. Work goes on without the lock, because its owner may be suspended.

    Return True on a file system without locks.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_LOG_LOCK_POLL_S)
        except OSError:
            return True  # this file system has no locks
        else:
            return True


def _is_file_at(file: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), path.lstat())
    except FileNotFoundError:
        return False


# --------------------------------------------------------------------------------------------------
# Serialization of a job as one line of JSON. The reader trusts nothing: any program may have written the line.

ONGOING_STATES: Final = ("running", "retry_wait")
_JOB_STATES: Final = (*ONGOING_STATES, "completed", "failed", "cancelled")
_MAX_JOB_TIME: Final = 253_402_300_799.0  # the year 9999; anything later is not a time
_MAX_JOB_TEXT_CHARS: Final = 400
_MAX_WORD_CHARS: Final = 40  # keeps all lines about equally long
_MAX_RESULT_ENTRIES: Final = 20

ResultSummary = Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class LoggedJob:
    """The last logged state of a job, as of `at`. Times are wall-clock times; `seconds` is the duration so far."""

    id: str
    kind: str
    state: str
    at: float
    began_at: float
    seconds: float
    pid: int
    start: str
    requests: int = 1
    retries: int = 0
    stage: str = ""
    done: int = 0
    total: int = 0
    current: str = ""
    eta_s: float | None = None
    result: ResultSummary | None = None
    error: str | None = None

    @property
    def is_ongoing(self) -> bool:
        return self.state in ONGOING_STATES

    def duration_at(self, now: float) -> float:
        """Return the duration as of `now`; for a running job this includes the time since its last entry."""
        return self.seconds + max(0.0, now - self.at) if self.is_ongoing else self.seconds

    def eta_at(self, now: float) -> float | None:
        return None if self.eta_s is None else max(0.0, self.eta_s - max(0.0, now - self.at))


def summarize_result(result: Mapping[str, object]) -> ResultSummary:
    """Return the numbers and texts of a result. Lists are left out because they may be as long as the index."""
    known = [(key, it) for key, it in result.items() if isinstance(it, str) or _is_job_number(it)]
    return dict(known[:_MAX_RESULT_ENTRIES])


def format_job_line(job: LoggedJob) -> bytes:
    values = {
        name: _make_printable(value, _MAX_FIELD_CHARS.get(name, _MAX_WORD_CHARS)) for name, value in asdict(job).items()
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def parse_job_line(line: bytes) -> LoggedJob | None:
    """Parse a line; None if it is not a valid job."""
    row = parse_json_line(line)
    if not isinstance(row, dict):
        return None
    known = {it.name: row[it.name] for it in fields(LoggedJob) if it.name in row}
    if not all(_FIELD_CHECKS[name](value) for name, value in known.items()) or known.get("state") not in _JOB_STATES:
        return None
    try:
        return LoggedJob(
            **{name: _make_printable(it, _MAX_FIELD_CHARS.get(name, _MAX_WORD_CHARS)) for name, it in known.items()}
        )
    except TypeError:  # a required field is missing
        return None


def parse_json_line(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _make_printable(value: Any, longest: int) -> Any:  # noqa: ANN401 - strings become printable, other values stay
    if isinstance(value, dict):
        return {
            _make_printable(key, _MAX_WORD_CHARS): _make_printable(it, _MAX_WORD_CHARS) for key, it in value.items()
        }
    if isinstance(value, str) and not (len(value) <= longest and value.isprintable()):
        return "".join(it if it.isprintable() else "\N{REPLACEMENT CHARACTER}" for it in value[:longest])
    return value


def _is_job_text(value: object) -> bool:
    return isinstance(value, str)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _is_pid(value: object) -> bool:
    return isinstance(value, int) and _is_count(value) and 0 < value < 2**31


def _is_time(value: object) -> bool:
    # Compare first: the number may be too large for any other operation.
    return isinstance(value, int | float) and 0 <= value <= _MAX_JOB_TIME and math.isfinite(value)


def _is_result(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(it, str) or _is_job_number(it) for it in value.values())


def _is_job_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < 2**63


def _optional(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_FIELD_CHECKS: Final[Mapping[str, Callable[[object], bool]]] = {
    "id": _is_job_text, "kind": _is_job_text, "state": _is_job_text, "start": _is_job_text, "stage": _is_job_text,
    "current": _is_job_text,
    "at": _is_time, "began_at": _is_time, "seconds": _is_time, "pid": _is_pid,
    "requests": _is_count, "retries": _is_count, "done": _is_count, "total": _is_count,
    "eta_s": _optional(_is_time), "error": _optional(_is_job_text), "result": _optional(_is_result),
}  # fmt: skip
_MAX_FIELD_CHARS: Final = {"error": _MAX_JOB_TEXT_CHARS, "current": _MAX_JOB_TEXT_CHARS}


JOB_LOG_SUFFIX: Final = "-jobs"
MAX_LOGGED_JOBS: Final = 200
INTERRUPTED: Final = "interrupted"
_MAX_COMPACTED_BYTES: Final = MAX_JOB_LOG_BYTES // 2
_JOB_LOG_LOCK_WAIT_S: Final = 2.0
_STOP_LINE_PREFIX: Final = b'{"stop":'
_JOB_LINE_PREFIX: Final = b'{"id":'


class JobLog:
    """The job log of one index. Thread-safe; a failed write never fails a job."""

    def __init__(self, index: Path, now: Callable[[], float] = time.time) -> None:
        self.path = index.with_name(index.name + JOB_LOG_SUFFIX)
        self.problem = ""
        self._now = now
        self._wait_s = _JOB_LOG_LOCK_WAIT_S
        self._reported_problems: set[str] = set()
        self._log_state: tuple[int, int] | None = None
        self._stop_requested_ids: frozenset[str] = frozenset()

    def note(self, job: Job, clock: float) -> None:
        """Log the job's progress; `clock` is the current time of the queue's clock."""
        at, process = self._now(), self._process
        past = LoggedJob(
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
            result=None if job.result is None else summarize_result(job.result),
            error=job.error,
        )
        self._append(format_job_line(past))

    def recent_jobs(self, limit: int) -> list[LoggedJob]:
        """Return the last jobs, newest first. A running job whose process is gone counts as interrupted."""
        past = list(_latest_entries(self._lines()).values())[-limit:]
        return [replace(it, state=INTERRUPTED) if _is_interrupted(it) else it for it in reversed(past)]

    def request_stop(self, id: str) -> None:
        """Ask the process that runs the job to cancel it; it checks once a second."""
        self._append(_format_stop_line(id))

    def is_stop_requested(self, id: str) -> bool:
        """Return whether any process asked to cancel the job. Cheap while the log is unchanged."""
        try:
            state = file_state(self.path)
        except OSError:
            return False
        if state != self._log_state:
            self._log_state, self._stop_requested_ids = state, _stop_requests(self._lines())
        return id in self._stop_requested_ids

    @cached_property
    def _process(self) -> Process:
        return this_process()

    def _append(self, line: bytes) -> None:
        try:
            was_locked = append_line(self.path, line, _compact_job_lines, self._wait_s)
            # If a process was suspended while rewriting the log, wait for it once, not with every line.
            self._wait_s = _JOB_LOG_LOCK_WAIT_S if was_locked else 0.0
        except OSError as error:
            self._report_problem(f"cannot write the job history {self.path}: {error.strerror or error}")

    def _lines(self) -> list[bytes]:
        try:
            return read_last_lines(self.path)
        except OSError as error:
            self._report_problem(f"cannot read the job history {self.path}: {error.strerror or error}")
            return []

    def _report_problem(self, problem: str) -> None:
        if problem not in self._reported_problems:
            import logging  # imported late: rarely needed, and it slows down the start of a command-line search

            self._reported_problems.add(problem)
            logging.getLogger("dowse.jobs").warning("%s; check the disk and its permissions", problem)
        self.problem = problem


def _latest_entries(lines: Iterable[bytes]) -> dict[str, LoggedJob]:
    """Return the latest entry of each job, ordered by the time of that entry."""
    jobs: dict[str, LoggedJob] = {}
    for line in lines:
        if line.startswith(_JOB_LINE_PREFIX) and (job := parse_job_line(line)) is not None:
            jobs.pop(job.id, None)
            jobs[job.id] = job
    return jobs


def _format_stop_line(id: str) -> bytes:
    return _STOP_LINE_PREFIX + json.dumps(id).encode() + b"}"


def _stop_requests(lines: Iterable[bytes]) -> frozenset[str]:
    asked = (parse_json_line(it) for it in lines if it.startswith(_STOP_LINE_PREFIX))
    return frozenset(it["stop"] for it in asked if isinstance(it, dict) and isinstance(it["stop"], str))


def _compact_job_lines(lines: Sequence[bytes]) -> Sequence[bytes]:
    """Compact the log to one line for each recent job, plus cancel requests a running job may not have read yet."""
    jobs = list(_latest_entries(lines).values())[-MAX_LOGGED_JOBS:]
    entries = [format_job_line(it) for it in jobs]
    while sum(map(len, entries)) > _MAX_COMPACTED_BYTES:
        del entries[0]
    pending_stops = _stop_requests(lines) & {it.id for it in jobs if it.is_ongoing}
    return [*entries, *(_format_stop_line(id) for id in sorted(pending_stops))]


def _is_interrupted(job: LoggedJob) -> bool:
    return job.is_ongoing and not Process(job.pid, job.start).is_alive()
