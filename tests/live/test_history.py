"""What jobs there were is known after a restart and a kill, from whatever lies in the journal's place."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import IndexBusy
from dowse.live import job_log as journal
from dowse.live.job import Job, JobContext
from dowse.live.job_log import MAX_LOGGED_JOBS, JobLog, LoggedJob, format_job_line, parse_job_line, summarize_result
from dowse.live.jobs import JobQueue
from dowse.processes import this_process

DEADLINE_S = 120
SLEEPER = """
import sys, time
from pathlib import Path
from dowse.live.job_log import JobLog
from dowse.live.jobs import JobQueue

def work(task):
    task.set_current("docs")("reading", 3, 10)
    print("running", flush=True)
    while True:
        time.sleep(0.05)
        task("reading", 4, 10)

jobs = JobQueue(history=JobLog(Path(sys.argv[1])))
jobs.wait(jobs.submit("index", work))
"""
WRITER = """
import sys
from pathlib import Path
from dowse.live.job_log import JobLog
from dowse.live.jobs import JobQueue
from dowse.live import job_log

job_log._JOB_LOG_LOCK_WAIT_S = 60.0  # whoever rewrites it may be held up on a busy machine
jobs = JobQueue(history=JobLog(Path(sys.argv[1])))
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    assert jobs.wait(jobs.submit(f"{sys.argv[2]}-{number}", lambda task: {"text": "x" * 40}), 120)
assert not jobs.problem
"""


def nothing(task: JobContext) -> Mapping[str, object]:
    return {}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return tmp_path / "index" / "index.db"


@pytest.fixture
def history(index: Path) -> JobLog:
    return JobLog(index)


@pytest.fixture
def jobs(history: JobLog) -> Iterator[JobQueue]:
    queue = JobQueue(retry_waits_s=(0.0,), history=history)
    yield queue
    queue.close()


def ran(jobs: JobQueue, kind: str = "index", work: object = nothing) -> Job:
    job = jobs.submit(kind, work)  # type: ignore[type-var]
    assert jobs.wait(job, DEADLINE_S)
    return job


def start(script: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *words]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def sleeper(index: Path) -> Iterator[subprocess.Popen[str]]:
    """A process with a job that runs until it is told to stop."""
    with start(SLEEPER, str(index)) as process:
        assert process.stdout is not None and process.stdout.readline() == "running\n"
        yield process
        process.kill()


# --- what is told ---


def test_jobs_are_known_afterwards(jobs: JobQueue, index: Path) -> None:
    def work(task: JobContext) -> Mapping[str, object]:
        task.set_current("docs")("reading", 3, 4)
        return {"indexed": 3, "notes": ["long"], "root": "docs"}

    def fail(task: JobContext) -> Mapping[str, object]:
        raise ValueError("no such luck")

    def busy(task: JobContext) -> Mapping[str, object]:
        raise IndexBusy("somebody writes")

    before = time.time()
    good, bad, late = ran(jobs, "index", work), ran(jobs, "bad", fail), ran(jobs, "busy", busy)
    third, second, first = JobLog(index).recent_jobs(10)
    assert (first.id, first.kind, first.state, first.current) == (good.id, "index", "completed", "docs")
    assert (first.stage, first.done, first.total) == ("reading", 3, 4)
    assert first.result == {"indexed": 3, "root": "docs"} and first.error is None
    assert (second.id, second.state, second.error) == (bad.id, "failed", "ValueError: no such luck")
    assert (third.id, third.state, third.error, third.retries) == (late.id, "failed", "somebody writes", 1)
    assert before <= first.began_at <= first.at <= time.time() and first.seconds >= 0
    assert JobLog(index).recent_jobs(1) == [third]
    assert jobs.problem == ""


def test_a_running_job_is_seen_from_outside(jobs: JobQueue, index: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def work(task: JobContext) -> Mapping[str, object]:
        begun.set()
        go_on.wait(DEADLINE_S)
        return {}

    job = jobs.submit("index", work)
    waiting = jobs.submit("other", nothing)
    begun.wait(DEADLINE_S)
    assert jobs.cancel(waiting.id)
    seen = {it.id: it.state for it in JobLog(index).recent_jobs(10)}
    assert seen == {job.id: "running", waiting.id: "cancelled"}
    go_on.set()
    jobs.wait(job, DEADLINE_S)
    assert {it.id: it.state for it in JobLog(index).recent_jobs(10)} == {job.id: "completed", waiting.id: "cancelled"}


def test_progress_is_noted_now_and_then(index: Path) -> None:
    now = [100.0]
    jobs = JobQueue(clock=lambda: now[0], history=JobLog(index), wall_clock=lambda: 5e8)
    seen: list[LoggedJob] = []

    def work(task: JobContext) -> Mapping[str, object]:
        for done in range(50):
            task("reading", done, 100)
            now[0] += 0.25
        seen.extend(JobLog(index, now=lambda: 0.0).recent_jobs(1))
        return {}

    ran(jobs, "index", work)
    jobs.close()
    (last,) = seen
    assert (last.state, last.done) == ("running", 48)
    assert (last.seconds, last.eta_s) == (12.0, pytest.approx(13.0))
    assert last.began_at == 5e8
    states = [json.loads(line)["done"] for line in JobLog(index).path.read_bytes().split()]
    assert states == [0, 8, 16, 24, 32, 40, 48, 49]


def test_the_time_left_shrinks_while_nothing_is_heard() -> None:
    job = LoggedJob("i", "k", "running", 100.0, 90.0, 10.0, 1, "", eta_s=20.0)
    assert (job.duration_at(105.0), job.eta_at(105.0)) == (15.0, 15.0)
    assert (job.duration_at(50.0), job.eta_at(50.0)) == (10.0, 20.0)
    assert job.eta_at(1000.0) == 0.0


# --- other processes ---


def test_a_killed_process_leaves_an_interrupted_job(sleeper: subprocess.Popen[str], history: JobLog) -> None:
    (job,) = history.recent_jobs(5)
    assert (job.state, job.pid) == ("running", sleeper.pid)
    sleeper.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + DEADLINE_S
    while history.recent_jobs(5)[0].state == "running":  # nobody has waited for it yet: it is a zombie
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert history.recent_jobs(5)[0].state == "interrupted"
    sleeper.wait(DEADLINE_S)
    assert history.recent_jobs(5)[0].state == "interrupted"


def test_a_stopped_process_still_runs_its_job(sleeper: subprocess.Popen[str], history: JobLog) -> None:
    sleeper.send_signal(signal.SIGSTOP)
    assert history.recent_jobs(5)[0].state == "running"


def test_a_job_is_stopped_from_another_process(sleeper: subprocess.Popen[str], history: JobLog) -> None:
    history.request_stop("another")
    history.request_stop(history.recent_jobs(5)[0].id)
    assert sleeper.wait(DEADLINE_S) == 0
    (job,) = history.recent_jobs(5)
    assert (job.state, job.error) == ("cancelled", "cancelled: stopped on request")


def test_a_number_that_went_to_another_process_is_no_sign_of_life(history: JobLog) -> None:
    job = Job("index", nothing, status="running")
    history.note(job, 0.0)
    text = history.path.read_text()
    history.path.write_text(text.replace(f'"start":"{this_process().start}"', '"start":"1"'))
    assert history.recent_jobs(1)[0].state == "interrupted"


def test_four_processes_write_at_once(index: Path, history: JobLog) -> None:
    run_writers(index, 20)
    seen = history.recent_jobs(1000)
    assert {it.kind for it in seen} == {f"{name}-{number}" for name in "abcd" for number in range(20)}
    assert {it.state for it in seen} == {"completed"}


def test_four_processes_write_while_it_is_trimmed(index: Path, history: JobLog) -> None:
    """An end that got lost would leave a job that is interrupted."""
    run_writers(index, 250)
    seen = history.recent_jobs(1000)
    assert len(seen) >= MAX_LOGGED_JOBS and {it.state for it in seen} == {"completed"}
    assert history.path.stat().st_size <= journal.MAX_JOB_LOG_BYTES + 4_000
    assert all(parse_job_line(line) for line in history.path.read_bytes().split(b"\n") if line)


def run_writers(index: Path, each: int) -> None:
    processes = [start(WRITER, str(index), name, str(each)) for name in "abcd"]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.wait(DEADLINE_S) for process in processes] == [0] * 4
    for process in processes:
        process.communicate()


# --- its size ---


def test_it_is_trimmed_to_the_last_jobs(history: JobLog) -> None:
    size, number = 0, 0
    while number == 0 or history.path.stat().st_size > size:
        size = history.path.stat().st_size if number else 0
        history.note(Job(f"job {number}", nothing, status="completed"), 0.0)
        number += 1
    assert journal.MAX_JOB_LOG_BYTES * 0.95 < size <= journal.MAX_JOB_LOG_BYTES
    kept = [f"job {it}" for it in range(number - 1, number - 1 - MAX_LOGGED_JOBS, -1)]
    assert [it.kind for it in history.recent_jobs(1000)] == kept
    assert not history.path.with_name(history.path.name + ".new").exists()
    assert history.path.stat().st_mode & 0o777 == 0o600


def test_what_a_job_was_told_is_not_trimmed_away(history: JobLog) -> None:
    told, over, other = (Job(name, nothing, status="running") for name in ("told", "over", "other"))
    for job in (told, over):
        history.note(job, 0.0)
        history.request_stop(job.id)
    over.status = "completed"
    history.note(over, 0.0)
    for _ in range(1000):
        history.note(other, 0.0)
    assert history.path.stat().st_size < journal.MAX_JOB_LOG_BYTES / 2
    assert (
        history.is_stop_requested(told.id)
        and not history.is_stop_requested(over.id)
        and not history.is_stop_requested(other.id)
    )


def test_long_jobs_are_trimmed_by_size(history: JobLog) -> None:
    for _ in range(300):
        history.note(
            Job("x" * 90, nothing, status="completed", error="é" * 900, current="\N{GRINNING FACE}" * 900), 0.0
        )
    assert history.path.stat().st_size <= journal.MAX_JOB_LOG_BYTES + 4_000
    assert 30 < len(history.recent_jobs(1000)) <= MAX_LOGGED_JOBS


def test_a_line_that_comes_while_it_is_written_anew_is_in_the_new_one(
    history: JobLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse.live.job_log._JOB_LOG_LOCK_WAIT_S", 60.0)
    history.note(Job("old", nothing, status="completed"), 0.0)
    with open(history.path) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        late = threading.Thread(target=history.note, args=(Job("late", nothing, status="completed"), 0.0))
        late.start()
        time.sleep(0.05)
        aside = history.path.with_name("aside")
        aside.write_bytes(history.path.read_bytes())
        aside.replace(history.path)
    late.join(DEADLINE_S)
    assert [it.kind for it in history.recent_jobs(10)] == ["late", "old"]


def test_of_a_huge_file_the_end_is_read(history: JobLog) -> None:
    history.path.parent.mkdir()
    history.path.write_bytes(b"x\n" * 3_000_000)
    history.note(Job("index", nothing, status="completed"), 0.0)
    assert len(history.recent_jobs(10)) == 1 and history.path.stat().st_size < 1_000


def test_jobs_come_in_the_order_they_were_last_heard_of(history: JobLog) -> None:
    one, two = Job("one", nothing, status="running"), Job("two", nothing, status="running")
    history.note(one, 0.0)
    history.note(two, 0.0)
    one.status = "completed"
    history.note(one, 0.0)
    assert [it.kind for it in history.recent_jobs(10)] == ["one", "two"]


# --- whatever lies there ---

HOSTILE = {
    "binary": bytes(range(256)) * 20,
    "nothing": b"",
    "a line cut short": b'{"id":"x","kind":"ind',
    "no object": b'[]\n"x"\n7\nnull\ntrue\n',
    "deep": b"[" * 15_000,
    "a number too long": b'{"at":' + b"9" * 9_000 + b"}",
    "a stop that is none": b'{"stop":7}\n{"stop":\n{"stop":null}\n{"stop":"x"}}\n',
    "huge": b"x" * 5_000_000,
    "many empty lines": b"\n" * 300_000,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_lines_that_make_no_sense_are_skipped(history: JobLog, jobs: JobQueue, content: bytes) -> None:
    history.path.parent.mkdir()
    history.path.write_bytes(content)
    assert history.recent_jobs(10) == [] and not history.is_stop_requested("x")
    job = ran(jobs)
    assert [(it.id, it.state) for it in history.recent_jobs(10)] == [(job.id, "completed")]
    assert jobs.problem == "" and history.path.stat().st_size <= max(len(content), journal.MAX_JOB_LOG_BYTES)


GOOD = LoggedJob("i", "index", "completed", 1.0, 1.0, 1.0, 7, "9", result={"n": 1})
WRONG = [
    ("id", 7), ("kind", None), ("state", "queued"), ("state", []), ("at", -1), ("at", "1"), ("at", 1e300),
    ("at", float("nan")), ("began_at", 10**400), ("seconds", float("inf")), ("pid", 0), ("pid", -1), ("pid", 2**31),
    ("pid", True), ("start", 5), ("requests", 1.5), ("done", -1), ("total", 2**60), ("eta_s", "soon"),
    ("result", [1]), ("result", {"x": [1]}), ("result", {"x": float("nan")}), ("result", {"x": 10**400}), ("error", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_field_of_another_type_spoils_its_line(name: str, value: object) -> None:
    row = json.loads(format_job_line(GOOD))
    assert parse_job_line(json.dumps(row).encode()) == GOOD
    assert parse_job_line(json.dumps({**row, name: value}).encode()) is None


@pytest.mark.parametrize("name", ["id", "kind", "state", "at", "began_at", "seconds", "pid", "start"])
def test_a_field_that_is_missing_spoils_its_line(name: str) -> None:
    row = json.loads(format_job_line(GOOD))
    del row[name]
    assert parse_job_line(json.dumps(row).encode()) is None


def test_fields_of_a_later_version_are_left_alone() -> None:
    assert parse_job_line(json.dumps({**json.loads(format_job_line(GOOD)), "colour": "red"}).encode()) == GOOD


TEXTS = st.text(st.characters(codec=None), max_size=600)


@given(TEXTS, TEXTS, st.dictionaries(TEXTS, TEXTS | st.integers() | st.floats() | st.none(), max_size=30))
def test_any_job_becomes_one_line_and_comes_back(kind: str, error: str, result: dict[str, object]) -> None:
    job = LoggedJob(
        "i", kind, "failed", 1.0, 1.0, 1.0, 7, "9", current=error, error=error, result=summarize_result(result)
    )
    line = format_job_line(job)
    assert b"\n" not in line and len(line) < 16_000
    back = parse_job_line(line)
    assert back is not None and format_job_line(back) == line
    assert back.error is not None and (back.error + back.kind).isprintable() and len(back.error) == min(len(error), 400)


@given(st.binary(max_size=200))
def test_any_line_can_be_read(line: bytes) -> None:
    assert parse_job_line(line) is None


def in_the_way(kind: str, path: Path, victim: Path) -> None:
    path.parent.mkdir()
    if kind == "directory":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/full")
    else:
        path.parent.rmdir()
        path.parent.write_text("a file where the directory should be")


@pytest.mark.parametrize("kind", ["directory", "link", "pipe", "device", "file"])
def test_what_is_no_journal_fails_no_job_and_is_told_once(
    kind: str, jobs: JobQueue, history: JobLog, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    victim = tmp_path / "precious"
    victim.write_text("mine")
    in_the_way(kind, history.path, victim)
    with caplog.at_level(logging.WARNING):
        assert ran(jobs).status == "completed" and ran(jobs).status == "completed"
    assert history.recent_jobs(10) == []
    assert str(history.path) in jobs.problem
    assert len([it for it in caplog.records if "cannot write the job history" in it.message]) == 1
    assert victim.read_text() == "mine"


def test_a_full_disk_fails_no_job(jobs: JobQueue, history: JobLog, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(jobs)
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:10]))
    assert ran(jobs, "cut short").status == "completed"
    assert "the disk is full" in jobs.problem
    monkeypatch.undo()
    history.note(Job("later", nothing, status="completed"), 0.0)
    assert [it.kind for it in history.recent_jobs(10)] == ["later", "index"]


def test_one_who_holds_the_journal_and_was_stopped_keeps_nobody(jobs: JobQueue, history: JobLog) -> None:
    ran(jobs)
    script = f"import fcntl, time; f = open({str(history.path)!r}); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True)"
    with start(f"{script}; time.sleep(600)") as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        assert ran(jobs, "later").status == "completed"
        assert {it.kind for it in history.recent_jobs(10)} == {"index", "later"}
        holder.kill()
