"""kill -9 in the middle of indexing: the next run goes on where it was; two at once take turns."""

from __future__ import annotations

import random
import signal
import time
from pathlib import Path

import apsw
import pytest
from commanded import Dowse

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


def check(dowse: Dowse) -> None:
    connection = apsw.Connection(str(dowse.index))
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
    while dowse.records("doc") < 0.4 * FILES and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = dowse.records("doc")
    assert kept >= 0.3 * FILES
    check(dowse)
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
    check(both)
