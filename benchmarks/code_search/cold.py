"""What new processes cost: the command line on an index that is there."""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from timing import Cost, children_costed

RUNS = 10


def rows(asked: Mapping[str, Sequence[str]], index: Path, environment: Mapping[str, str]) -> list[list[str]]:
    """What is asked of each verb; a median each."""
    found = [_row(verb, words, index, environment) for verb, words in asked.items()]
    bare = [_run([sys.executable, "-c", "pass"], environment) for _ in range(RUNS)]
    return [*found, ["an empty Python process, for comparison", *_medians(bare)]]


def _row(verb: str, asked: Sequence[str], index: Path, environment: Mapping[str, str]) -> list[str]:
    command = [sys.executable, "-m", "dowse", *verb.split(), "--index", str(index)]
    _run([*command, "--", asked[-1]], environment)  # compiles what is not compiled yet
    took = [_run([*command, "--", it], environment) for it in asked[:RUNS]]
    return [f"cold `dowse {verb}`, new process", *_medians(took)]


def _medians(costs: Sequence[Cost]) -> tuple[str, str]:
    wall, cpu = (statistics.median(getattr(it, name) for it in costs) for name in Cost._fields)
    return f"{wall:.0f} ms", f"CPU {cpu:.0f}"


def _run(command: Sequence[str], environment: Mapping[str, str]) -> Cost:
    """1 is the code of nothing found; what failed is not a time."""
    done, cost = children_costed(
        subprocess.run, command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False
    )
    if done.returncode > 1:
        raise SystemExit(f"`{' '.join(command)}` failed: {done.stderr.decode(errors='replace').strip()}")
    return cost
