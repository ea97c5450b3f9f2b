"""What new processes cost: the command line on an index that is there."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from timing import timed

RUNS = 10


def rows(asked: Mapping[str, Sequence[str]], index: Path, environment: Mapping[str, str]) -> list[list[str]]:
    """What is asked of each verb; a median each."""
    found = [_row(verb, words, index, environment) for verb, words in asked.items()]
    bare = [_run([sys.executable, "-c", "pass"], environment) for _ in range(RUNS)]
    return [*found, ["an empty Python process, for comparison", f"{statistics.median(bare):.0f} ms", ""]]


def _row(verb: str, asked: Sequence[str], index: Path, environment: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", "dowse", *verb.split(), "--index", str(index)]
    took = [_run([*command, "--", it], environment) for it in asked[:RUNS]]
    return [f"cold `dowse {verb}`, new process", f"{statistics.median(took):.0f} ms", ""]


def _run(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """1 is the code of nothing found; what failed is not a time."""
    done, took_ms = timed(subprocess.run, command, env=environment, stdout=subprocess.DEVNULL, check=False)
    if done.returncode > 1:
        raise SystemExit(f"`{' '.join(command)}` failed; see above")
    return took_ms
