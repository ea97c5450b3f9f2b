"""kill -9 while a history is read: no git process stays, and the next run goes on where it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import apsw
import pytest
from served import Served, children_of, is_running

from dowse.places import Places
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


class Dowse:
    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "none", "DOWSE_WORKERS": "2"}
        self.index = Places(data).index_of(root.resolve())

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dowse", *words]
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *words: str) -> bytes:
        process = self.start(*words)
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        return out

    def commits(self) -> int:
        """How many are in the index now, asked without Dowse."""
        try:
            with apsw.Connection(str(self.index), flags=apsw.SQLITE_OPEN_READONLY) as connection:
                rows = connection.execute("SELECT count(*) FROM records WHERE kind = 'commit'").fetchall()
                return int(rows[0][0])
        except apsw.Error:
            return 0


def test_a_killed_run_goes_on_where_it_was(large: Path, tmp_path: Path) -> None:
    dowse = Dowse(large, tmp_path / "data")
    process = dowse.start("index")
    eventually(lambda: dowse.commits() > 0, "no commit is indexed")
    children = children_of(process.pid)
    process.kill()
    process.communicate()
    done = dowse.commits()
    assert 0 < done < COMMITS
    eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")
    report = json.loads(dowse.run("index", "--json"))["history"]
    assert (report["indexed"], report["unchanged"]) == (COMMITS - done, done)
    fresh = Dowse(large, tmp_path / "fresh")
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
    dowse = Dowse(repo.place, tmp_path / "data")
    found = json.loads(dowse.run("search", "--json", "climb", "ridge"))
    assert "Climb the ridge" in found["hits"][0]["text"]
    assert b"1 commits: 0 indexed, 1 unchanged" in dowse.run("index")
    assert b"commits" not in Dowse(repo.place, tmp_path / "other").run("index", "--no-git")
