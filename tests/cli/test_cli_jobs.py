"""`dowse jobs`: what any process did behind its answers, told and stopped from another one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.live.heal import remove_index
from dowse.live.job import Job, JobContext, ProgressRate
from dowse.live.job_log import JobLog
from dowse.server.runtime import ServerRuntime, make_profile
from support import Run, command_line, eventually, write

KEYS = {
    "job_id", "name", "status", "began_at", "elapsed_seconds", "stage", "done", "total", "current", "eta_seconds",
    "requests", "retries", "result", "error", "pid",
}  # fmt: skip


@pytest.fixture
def index(root: Path) -> Path:
    return root / "own.db"


@pytest.fixture
def run(root: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    write(root, {"a.md": "# A\n\nanchor\n"})
    monkeypatch.chdir(root)
    monkeypatch.setenv("DOWSE_INDEX", str(index))
    monkeypatch.setenv("DOWSE_DATA_DIR", str(root.parent / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    return command_line(capsys)


@pytest.fixture
def served(run: Run, root: Path, index: Path) -> None:
    """A server that has indexed, and was closed."""
    server_runtime = ServerRuntime()
    environment = {"DOWSE_INDEX": str(index), "DOWSE_DATA_DIR": str(root.parent / "data"), "DOWSE_ENCODER": "hashing"}
    make_profile("core", roots=(), flags={}, environment=environment, cwd=root, server_runtime=server_runtime)
    server_runtime.start()
    jobs = server_runtime.jobs
    eventually(lambda: any(it.finished for it in jobs.all()))
    server_runtime.close()


def nothing(task: JobContext) -> Mapping[str, object]:
    return {}


def listed(run: Run, *words: str) -> list[dict[str, Any]]:
    return json.loads(run("jobs", "--json", *words)[1])["jobs"]  # type: ignore[no-any-return]


def test_before_there_is_an_index_and_before_there_are_jobs(run: Run) -> None:
    code, _, err = run("jobs")
    assert code == 2 and "run `dowse index` first" in err
    run("index")
    code, out, _ = run("jobs")
    assert code == 1 and "no jobs yet" in out
    assert listed(run) == []


def test_what_a_server_did(run: Run, served: None, root: Path) -> None:
    *_, job = listed(run)
    assert job.keys() == KEYS
    assert (job["name"], job["status"], job["current"]) == ("index", "completed", str(root))
    assert job["result"]["indexed"] == 1 and job["eta_seconds"] is None
    code, out, _ = run("jobs")
    assert code == 0 and job["job_id"] in out and "1 indexed" in out


def test_a_running_one_says_how_far_it_is(run: Run, index: Path) -> None:
    pace = ProgressRate("reading", 3_000, 10_000, rate=100.0)
    JobLog(index).note(Job("index", nothing, status="running", current="docs", progress_rate=pace), 0.0)
    out = run("jobs")[1]
    assert "running" in out and "docs; reading 3,000 of 10,000, about " in out and " s left" in out
    assert listed(run)[0]["eta_seconds"] == pytest.approx(70, abs=20)


def test_only_as_many_as_asked_for_newest_first(run: Run, index: Path) -> None:
    for number in range(15):
        JobLog(index).note(Job(f"job{number}", nothing, status="failed", error="why"), 0.0)
    assert [it["name"] for it in listed(run, "-k", "2")] == ["job14", "job13"]
    assert len(listed(run)) == 10
    assert run("jobs")[1].count("why") == 10


def test_nothing_that_was_written_moves_the_terminal(run: Run, index: Path) -> None:
    JobLog(index).note(Job("a\x1b[2J\nb", nothing, status="failed", error="x\r\x9b\udc80y"), 0.0)
    out = run("jobs")[1]
    assert out.count("\n") == 1 and out[:-1].isprintable()
    assert listed(run)[0]["error"].startswith("x")


def test_a_job_is_cancelled_by_its_id(run: Run, index: Path) -> None:
    history = JobLog(index)
    running, over = Job("index", nothing, status="running"), Job("index", nothing, status="completed")
    history.note(running, 0.0)
    history.note(over, 0.0)
    code, out, _ = run("jobs", "--cancel", running.id)
    assert code == 0 and running.id in out and history.is_stop_requested(running.id)
    for wrong, sentence in ((over.id, "already completed and cannot be stopped"), ("x\n", "no job 'x\\n' on")):
        code, _, err = run("jobs", "--cancel", wrong)
        assert code == 2 and sentence in err and err.count("\n") == 1
    assert not history.is_stop_requested(over.id)


def test_what_can_not_be_read_is_an_error_that_says_why(run: Run, index: Path) -> None:
    run("index")
    JobLog(index).path.mkdir()
    code, _, err = run("jobs")
    assert code == 2 and "own.db-jobs" in err
    assert run("search", "anchor")[0] == 0


def test_the_journal_is_never_indexed_and_goes_with_its_index(run: Run, served: None, root: Path, index: Path) -> None:
    journal = JobLog(index).path
    journal.with_name(journal.name + ".new").write_text("left behind")
    run("index")
    with Engine(Settings(encoder="hashing", data_dir=root.parent / "data"), index, create=False) as engine:
        assert journal.exists() and engine.record(journal.name) == [] and engine.record("a.md")
        assert engine.status().counts.records == 1 and engine.status().skipped == ()
    jobs = listed(run)
    run("rebuild")
    assert jobs and listed(run) == jobs
    remove_index(index)
    assert [it.name for it in root.iterdir()] == ["a.md"]
