"""Memory is divided so that all together keep to it, and nobody gets too little to work."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.config import Settings
from dowse.errors import BadInput
from dowse.ingest.pipeline import MAX_AHEAD_BYTES
from dowse.ingest.workers import MAX_AUTOMATIC_WORKERS, MIN_WORKER_MB, WorkerLimits, divide_memory
from support import OpenEngine, write


def test_without_a_limit_there_is_none() -> None:
    assert divide_memory(3, 0) == WorkerLimits(3, 0, MAX_AHEAD_BYTES)


def test_by_default_there_is_one_for_each_core() -> None:
    assert 1 <= divide_memory(0, 0).workers <= MAX_AUTOMATIC_WORKERS


@given(workers=st.integers(1, 64), memory_mb=st.integers(100, 1_000_000))
def test_together_they_keep_to_it(workers: int, memory_mb: int) -> None:
    share = divide_memory(workers, memory_mb)
    assert share.workers * share.worker_bytes <= memory_mb * 1_000_000
    assert 1 <= share.workers <= workers
    assert share.worker_bytes >= min(memory_mb, MIN_WORKER_MB) * 1_000_000
    assert 0 < share.ahead_bytes <= min(MAX_AHEAD_BYTES, memory_mb * 1_000_000)


@pytest.mark.parametrize("memory_mb", [100, 0])
def test_files_are_parsed_with_little_and_with_any(root: Path, open_engine: OpenEngine, memory_mb: int) -> None:
    write(root, {"a.py": "def one():\n    return two()\n"})
    engine = open_engine(memory_mb=memory_mb)
    engine.index([root])
    assert engine.status().quarantined == ()
    assert engine.status().counts.symbols == 1


def test_a_file_that_needs_more_is_indexed_as_text_and_listed(root: Path, open_engine: OpenEngine) -> None:
    write(root, {"big.py": "x = [" + "a.b(c), " * 400_000 + "]\n", "small.py": "def one(): pass\n"})
    engine = open_engine(memory_mb=100)
    engine.index([root])
    assert [it.path for it in engine.status().quarantined] == ["big.py"]
    assert engine.status().counts.records == 2


@pytest.mark.parametrize("memory_mb", [-1, 1, 99])
def test_too_little_is_refused(memory_mb: int) -> None:
    with pytest.raises(BadInput, match="memory_mb must be between 100"):
        Settings(memory_mb=memory_mb)
