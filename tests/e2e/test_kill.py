"""kill -9 in the middle of indexing: the next run goes on where it was; two at once take turns."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from dowse.places import Places
from support import write

FILES = 300


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rng = random.Random(7)
    words = ["alpha", "beta", "gamma", "delta", "retry", "cache", "index", "token", "query", "chunk"]

    def text() -> str:
        return "\n\n".join(f"## Part {part}\n\n{' '.join(rng.choices(words, k=80))}" for part in range(5))

    write(tmp_path / "root", {f"d{n % 7}/f{n}.md": f"# File {n}\n\n{text()}\n" for n in range(FILES)})
    return tmp_path / "root"


class Dowse:
    """The command in processes of its own, on one root with one data directory."""

    def __init__(self, root: Path, data: Path) -> None:
        self.root = root
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "hashing"}
        self.index = Places(data).index_of(root.resolve())

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "dowse", *words]
        return subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, *words: str) -> bytes:
        process = self.start(*words)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out

    def indexed(self) -> int:
        """How many files are in the index now, asked without Dowse."""
        try:
            connection = apsw.Connection(str(self.index), flags=apsw.SQLITE_OPEN_READONLY)
            with connection:
                return int(connection.execute("SELECT count(*) FROM records").fetchall()[0][0])
        except apsw.Error:
            return 0

    def check(self) -> None:
        connection = apsw.Connection(str(self.index))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        orphans = (
            "SELECT count(*) FROM chunks WHERE record NOT IN (SELECT id FROM records)",
            "SELECT count(*) FROM vectors WHERE chunk NOT IN (SELECT id FROM chunks)",
        )
        assert [connection.execute(query).fetchall() for query in orphans] == [[(0,)], [(0,)]]
        connection.close()


def test_work_done_before_a_kill_is_kept(corpus: Path, tmp_path: Path) -> None:
    dowse = Dowse(corpus, tmp_path / "data")
    process = dowse.start("index")
    deadline = time.monotonic() + 60
    while dowse.indexed() < 0.4 * FILES and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = dowse.indexed()
    assert kept >= 0.3 * FILES
    dowse.check()
    out = dowse.run("index", "--json")
    assert f'"unchanged": {kept}'.encode() in out


def test_two_processes_indexing_one_root_take_turns(corpus: Path, tmp_path: Path) -> None:
    alone = Dowse(corpus, tmp_path / "alone")
    alone.run("index")
    both = Dowse(corpus, tmp_path / "both")
    processes = [both.start("index", "--lock-timeout-s", "100") for _ in range(2)]
    results = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], results
    assert both.run("export") == alone.run("export")
    both.check()
