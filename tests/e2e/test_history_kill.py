"""kill -9 while a history is read: no git process stays, and the next run goes on where it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commanded import Dowse
from served import Served, children_of, is_running

from gits import Repo
from support import eventually

COMMITS = 4_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    repo = Repo(tmp_path_factory.mktemp("large") / "root")
    repo.commit("First", {"a.md": "# A\n\nalpha\n"})
    repo.many(COMMITS - 1)
    repo.run("reset", "-q", "--hard")
    return repo.place


def without_vectors(root: Path, data: Path) -> Dowse:
    return Dowse(root, data, DOWSE_ENCODER="none", DOWSE_WORKERS="2")


def test_a_killed_run_goes_on_where_it_was(large: Path, tmp_path: Path) -> None:
    dowse = without_vectors(large, tmp_path / "data")
    process = dowse.start("index")
    eventually(lambda: dowse.records("commit") > 0, "no commit is indexed")
    children = children_of(process.pid)
    process.kill()
    process.communicate()
    done = dowse.records("commit")
    assert 0 < done < COMMITS
    eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")
    report = json.loads(dowse.run("index", "--json"))["history"]
    assert (report["indexed"], report["unchanged"]) == (COMMITS - done, done)
    fresh = without_vectors(large, tmp_path / "fresh")
    fresh.run("index")
    assert dowse.run("export", "--json") == fresh.run("export", "--json")


def is_git(pid: int) -> bool:
    try:
        return "diff-tree" in Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("killed", [False, True])
def test_no_git_process_outlives_a_server(large: Path, tmp_path: Path, killed: bool) -> None:
    served = Served(large, tmp_path / "data")
    try:
        served.greet()
        eventually(lambda: any(map(is_git, children_of(served.process.pid))), "no history is read")
        children = children_of(served.process.pid)
        if killed:
            served.process.kill()
            served.process.wait()
        else:
            assert served.process.stdin is not None
            served.process.stdin.close()
            assert served.process.wait(60) == 0
        eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")
    finally:
        served.close()


def test_the_first_search_answers_before_all_of_a_history_is_read(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "root")
    repo.commit("Climb the ridge", {"a.md": "# A\n\nalpha\n"})
    dowse = without_vectors(repo.place, tmp_path / "data")
    found = json.loads(dowse.run("search", "--json", "climb", "ridge"))
    assert "Climb the ridge" in found["hits"][0]["text"]
    assert b"1 commits: 0 indexed, 1 unchanged" in dowse.run("index")
    assert b"commits" not in without_vectors(repo.place, tmp_path / "other").run("index", "--no-git")
