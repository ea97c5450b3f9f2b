"""Whatever is asked, the index, its log and the files beside it stay as they are, to the byte and the nanosecond."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dowse.paths import DataPaths
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.line_index import line_sidecar_path
from dowse.store.sqlite.vectors import vector_sidecar_path
from support import write

QUESTIONS = (
    ("search", "--mode", "lexical", "alpha"),
    ("search", "--mode", "hybrid", "alpha"),
    ("search", "--mode", "semantic", "alpha"),
    ("search", "--files", "alpha"),
    ("grep", "alpha"),
    ("grep", "--regex", "al.ha"),
    ("symbols", "f1"),
    ("calls", "f1"),
    ("find", "f1"),
    ("read", "f1.py"),
    ("status",),
    ("export",),
)

State = dict[str, tuple[int, bytes]]


@pytest.fixture
def environment(root: Path, tmp_path: Path) -> dict[str, str]:
    code = {f"f{number}.py": f"def f{number}():\n    return f{number + 1}()  # alpha\n" for number in range(20)}
    write(root, code | {"a.md": f"# A\n\nalpha beta\n\n{os.urandom(800_000).hex()}\n"})
    variables = os.environ | {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    subprocess.run([sys.executable, "-m", "dowse", "index"], cwd=root, env=variables, check=True)
    return variables


def state(index: Path) -> State:
    """All but what readers share in memory through a file: their marks in the log, which SQLite keeps in `-shm`."""
    files = (it for it in index.parent.iterdir() if not it.name.endswith("-shm"))
    return {it.name: (it.stat().st_mtime_ns, it.read_bytes()) for it in files}


def with_a_log(index: Path) -> SqliteStore:
    """Something is left in the log for as long as this stays open."""
    store = SqliteStore(index)
    store.writer.note("some", "thing")
    assert Path(f"{index}-wal").stat().st_size > 0
    return store


def remove_sidecars(index: Path) -> None:
    for file in (line_sidecar_path(index), vector_sidecar_path(index)):
        file.unlink(missing_ok=True)


def damage_sidecars(index: Path) -> None:
    for file in (line_sidecar_path(index), vector_sidecar_path(index)):
        content = bytearray(file.read_bytes() if file.exists() else b"x" * 10_000)
        content[len(content) // 2] ^= 0xFF
        file.write_bytes(content)


CONDITIONS: dict[str, Callable[[Path], object]] = {
    "whole": lambda index: None,
    "without sidecars": remove_sidecars,
    "with damaged sidecars": damage_sidecars,
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_no_question_writes(root: Path, tmp_path: Path, environment: dict[str, str], condition: str) -> None:
    index = DataPaths(tmp_path / "data").index_path(root.resolve())
    assert line_sidecar_path(index).exists()
    CONDITIONS[condition](index)
    store = with_a_log(index)
    before = state(index)
    for words in QUESTIONS:
        done = subprocess.run(
            [sys.executable, "-m", "dowse", *words], cwd=root, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stdout, (words, done.stderr)
        assert state(index) == before, words
    store.close()
