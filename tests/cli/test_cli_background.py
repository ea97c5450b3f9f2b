"""What a command leaves to be done is finished by a process in the background: one, when it is due, and no other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dowse import processes
from dowse.cli.index import is_background_run_due
from dowse.live.job import Job
from dowse.live.job_log import JobLog, LoggedJob
from dowse.live.leader import LeaderLock
from dowse.paths import DataPaths
from dowse.processes import is_on_battery, process_by_pid
from support import Run, command_line, eventually, write

LONG = 150
CHUNKS = 90  # more than are encoded at once, so that the quick encoder answers first
NOW = 1_000_000.0
JOB = LoggedJob("a", "encode", "completed", NOW - 60, NOW - 90, 30.0, 1, "", result={"embedded": 5})


@pytest.mark.parametrize(
    ("last", "lacking", "due"),
    [
        (None, 1, True),
        (replace(JOB, state="interrupted"), 1, True),
        (JOB, 65, True),
        (JOB, 64, False),  # a model is not loaded for a few chunks after every edit
        (replace(JOB, at=NOW - 601), 1, True),
        (replace(JOB, state="cancelled", result=None), 5_000, False),
        (replace(JOB, state="failed", result=None), 5_000, False),
        (replace(JOB, result={"embedded": 0}), 5_000, False),  # it may never come to anything
        (replace(JOB, kind="history", result={"indexed": 7}), 5_000, True),
        (replace(JOB, state="running", result=None), 5_000, False),
    ],
)
def test_when_a_try_is_due(last: LoggedJob | None, lacking: int, due: bool) -> None:
    assert is_background_run_due(last, lacking, NOW) == due


Supply = dict[str, str]
MAINS_ON, MAINS_OFF = {"type": "Mains", "online": "1"}, {"type": "Mains", "online": "0"}
FULL, EMPTYING = {"type": "Battery", "status": "Full"}, {"type": "Battery", "status": "Discharging"}


@pytest.mark.parametrize(
    ("supplies", "expected"),
    [
        ([], False),
        ([MAINS_ON], False),
        ([MAINS_OFF, EMPTYING], True),
        ([EMPTYING], True),
        ([MAINS_ON, EMPTYING], False),
        ([{"type": "USB", "online": "1"}, EMPTYING], False),
        ([MAINS_OFF, FULL], False),
        ([EMPTYING | {"scope": "Device"}], False),  # of a mouse
        ([{}], False),
    ],
)
def test_battery(supplies: list[Supply], expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_POWER_SUPPLY_DIRECTORY", make_supplies(tmp_path, supplies))
    assert is_on_battery() == expected


def make_supplies(folder: Path, supplies: list[Supply]) -> Path:
    for number, supply in enumerate(supplies):
        write(folder, {f"power/supply{number}/{name}": f"{text}\n" for name, text in supply.items()})
    return folder / "power"


# --- whether one is started ---


@pytest.fixture
def filled(root: Path) -> Path:
    write(root, {f"{number}.md": f"# Note {number}\n\nstatement {number} on topic\n" for number in range(CHUNKS)})
    return root


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Commands that would have been started."""
    commands: list[list[str]] = []
    true_popen = subprocess.Popen

    def note(command: list[str], **facts: Any) -> object:
        if "--finish" not in command:
            return true_popen(command, **facts)
        commands.append(command)
        return None

    monkeypatch.setattr("dowse.cli.index.subprocess.Popen", note)
    return commands


@pytest.fixture
def run(filled: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(filled)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(filled.parent / "data"))
    monkeypatch.setenv("DOWSE_BACKGROUND", "true")
    monkeypatch.setattr(processes, "_POWER_SUPPLY_DIRECTORY", filled.parent / "nothing")
    return command_line(capsys)


@pytest.fixture
def index(filled: Path) -> Path:
    return DataPaths(filled.parent / "data").index_path(filled.resolve())


def test_a_first_search_leaves_the_better_vectors_to_the_background(
    run: Run, started: list[list[str]], filled: Path
) -> None:
    code, out, _ = run("search", "statement 7", "--encoder-threads", "1", "--no-git")
    assert code == 0 and "static-256 ready, granite-embedding-30m-english 0%" in out
    (command,) = started
    assert command[:5] == [sys.executable, "-P", "-m", "dowse", "index"]
    assert command[5:] == ["--finish", f"--root={filled.resolve()}", "--encoder-threads=1", "--no-git"]
    run("grep", "statement")
    assert len(started) == 2  # any command that meets it, as long as nobody has begun


@pytest.mark.parametrize("words", [("--no-background",), ("--encoder", "none"), ("--encoder", "static")])
def test_none_is_started_where_it_is_off_or_nothing_is_left(
    run: Run, started: list[list[str]], words: tuple[str, ...]
) -> None:
    assert run("search", "statement 7", *words)[0] == 0
    assert started == []


def test_none_is_started_on_battery(
    run: Run, started: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "_POWER_SUPPLY_DIRECTORY", make_supplies(tmp_path, [EMPTYING]))
    assert run("search", "statement 7")[0] == 0
    assert started == []


def test_none_is_started_beside_a_server(run: Run, started: list[list[str]], index: Path) -> None:
    server = LeaderLock(index)
    assert server.try_acquire()
    try:
        assert run("search", "statement 7")[0] == 0
    finally:
        server.close()
    assert started == []


def test_none_is_started_soon_after_one_was_cancelled(run: Run, started: list[list[str]], index: Path) -> None:
    assert run("search", "statement 7")[0] == 0
    job = Job("encode", lambda task: {}, status="cancelled", error="cancelled: stopped on request")
    JobLog(index).note(job, 0.0)
    assert run("search", "statement 7")[0] == 0
    assert len(started) == 1


# --- the process itself ---

# Beside busy processes one of the lowest priority gets nothing done: here it has that of the test.
FINISH = """
from dowse import processes
from dowse.cli import main

processes._LOWEST = 0
main(["index", "--finish"])
"""

# Stops itself as soon as a part of the chunks is encoded and recorded, so that no machine is too fast for a test.
FINISH_A_PART = f"""
import os
import signal
from dowse.live import jobs
from dowse.live.job_log import JobLog

def note_and_stop(history, job, clock, note=JobLog.note):
    note(history, job, clock)
    if job.kind == "encode" and 0 < job.done < job.total:
        JobLog.note = note
        os.kill(os.getpid(), signal.SIGSTOP)

jobs._NOTED_EVERY_S = 0.0
JobLog.note = note_and_stop
{FINISH}
"""


class Project:
    """Commands in processes of their own."""

    def __init__(self, root: Path) -> None:
        self.root, data = root, root.parent / "data"
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER_THREADS": "1"}
        self.index = DataPaths(data).index_path(root.resolve())
        self._begun: list[subprocess.Popen[bytes]] = []

    def run(self, *words: str) -> str:
        command = [sys.executable, "-m", "dowse", *words]
        return subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, text=True).stdout

    def finish(self, script: str = FINISH) -> subprocess.Popen[bytes]:
        """The process in the background."""
        process = subprocess.Popen([sys.executable, "-c", script], cwd=self.root, env=self.environment)
        self._begun.append(process)
        return process

    def finish_a_part(self) -> subprocess.Popen[bytes]:
        """The process in the background, stopped after it has recorded that some chunks are encoded."""
        process = self.finish(FINISH_A_PART)
        state = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        assert state is not None and state.si_code == os.CLD_STOPPED
        return process

    def jobs(self) -> list[LoggedJob]:
        return [it for it in JobLog(self.index).recent_jobs(100) if it.kind == "encode"]

    def lacks(self) -> bool:
        return "granite-embedding-30m-english" in self.run("search", "statement 7")

    def close(self) -> None:
        for process in self._begun:
            process.kill()
            process.wait()


@pytest.fixture
def project(root: Path) -> Iterator[Project]:
    """With quick vectors, and so many others to make that it takes some seconds."""
    words = " ".join(f"word{number}" for number in range(40))
    write(root, {f"{number}.md": f"# Note {number}\n\nstatement {number} {words}\n" for number in range(LONG)})
    made = Project(root)
    assert made.lacks()
    yield made
    made.close()


def test_it_holds_nothing_of_its_command_and_has_the_lowest_priority(project: Project) -> None:
    project.environment["DOWSE_BACKGROUND"] = "true"
    project.run("search", "statement 7")  # reads its output to the end, which comes before that of the process
    lease = Path(f"{project.index}.background")
    eventually(lambda: lease.exists() and lease.read_text())
    process = process_by_pid(int(lease.read_text()))
    try:
        eventually(lambda: os.getpriority(os.PRIO_PROCESS, process.pid) == 19)
        assert os.getsid(process.pid) == process.pid
        if sys.platform == "linux":
            streams = [str(Path(f"/proc/{process.pid}/fd/{number}").readlink()) for number in range(3)]
            assert streams == [os.devnull] * 3
    finally:
        os.kill(process.pid, signal.SIGKILL)
        eventually(lambda: not process.is_alive())


def test_killed_it_goes_on_where_it_was_until_everything_is_encoded(project: Project) -> None:
    process = project.finish_a_part()
    process.kill()
    process.wait()
    (killed,) = project.jobs()
    assert (killed.state, killed.total) == ("interrupted", LONG) and project.lacks()
    assert project.finish().wait() == 0
    done = project.jobs()[0]
    assert done.state == "completed" and done.result is not None
    assert 0 < float(done.result["embedded"]) <= LONG - killed.done
    assert not project.lacks()


def test_one_is_enough_and_it_ends_when_told_to(project: Project) -> None:
    process = project.finish_a_part()
    assert project.finish().wait() == 0
    assert [it.pid for it in project.jobs()] == [process.pid]
    process.terminate()
    process.send_signal(signal.SIGCONT)
    assert process.wait() == 0
    told = json.loads(project.run("jobs", "--json", "-k", "1"))["jobs"][0]
    assert (told["name"], told["status"]) == ("encode", "cancelled")
    assert told["error"] == "cancelled: the process received a stop signal"


def test_who_indexes_by_hand_takes_over(project: Project) -> None:
    process = project.finish_a_part()
    process.send_signal(signal.SIGCONT)
    project.run("index")
    assert process.wait() in (0, -signal.SIGKILL) and not project.lacks()


def test_it_ends_when_a_server_does_the_same(project: Project) -> None:
    process, server = project.finish_a_part(), LeaderLock(project.index)
    assert server.try_acquire()
    process.send_signal(signal.SIGCONT)
    try:
        assert process.wait() == 0
    finally:
        server.close()
    assert project.jobs()[0].error == f"cancelled: process {os.getpid()} serves this index and continues"
