"""Helpers that tests import by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from dowse.cli import main
from dowse.engine import Engine
from dowse.ingest.workers import WorkerPool

OpenEngine = Callable[..., Engine]
Run = Callable[..., tuple[int, str, str]]
Stranger = Callable[..., int]


class SharedWorkers(WorkerPool):
    """Parser processes that outlive an engine: starting one takes longer than most tests."""

    def close(self) -> None:
        pass


@lru_cache(maxsize=1)
def shared_workers() -> SharedWorkers:
    return SharedWorkers(1, 30.0)


def write(root: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def eventually(holds: Callable[[], object], otherwise: str = "it never came true", within_s: float = 300.0) -> None:
    """Wait for it, looking every now and then; the deadline is for a product that is broken, so it is far away."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.01)


def command_line(capsys: pytest.CaptureFixture[str], *verb: str) -> Run:
    """`run(words…)` of `dowse`, in this process: exit code, stdout, stderr."""

    def run(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main((*verb, *words))
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run
