"""ripgrep on the same files and questions: what a scan of everything takes, and which lines it finds."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from timing import Cost, children_costed

Found = dict[str, frozenset[int]]
"""Lines by path."""

# The same files as the index has: all of them, whatever a .gitignore above the corpus or a configuration says.
COMMON = (
    "--no-config",
    "--no-ignore",
    "--hidden",
    "--no-messages",
    "--no-heading",
    "--with-filename",
    "--null",
    "-n",
    "-i",
)


@dataclass(frozen=True, slots=True)
class Pattern:
    """What to look for: any of the `terms`, with the flags that say how. `every`: only files that have each of them."""

    terms: tuple[str, ...]
    flags: tuple[str, ...] = field(default=())
    every: bool = False


def version() -> str:
    """Empty where it is not installed."""
    if shutil.which("rg") is None:
        return ""
    done = subprocess.run(["rg", "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split()[1]


def scan(pattern: Pattern, root: Path) -> tuple[Found, Cost]:
    """What it finds and what it costs; for terms that must all be there, of one run after the other."""
    if not pattern.every:
        return _run(pattern.terms, pattern.flags, root, ["."])
    found: Found = {}
    places, total = ["."], Cost(0.0, 0.0)
    for term in pattern.terms:
        found, cost = _run((term,), pattern.flags, root, places)
        places, total = sorted(found), Cost(total.wall_ms + cost.wall_ms, total.cpu_ms + cost.cpu_ms)
        if not places:
            break
    return found, total


def _run(terms: Sequence[str], flags: Sequence[str], root: Path, places: Sequence[str]) -> tuple[Found, Cost]:
    asked = [it for term in terms for it in ("-e", term)]
    command = ["rg", *COMMON, *flags, *asked, "--", *places]
    done, cost = children_costed(subprocess.run, command, cwd=root, stdout=subprocess.PIPE, check=False)
    if done.returncode > 1:
        raise SystemExit(f"ripgrep does not take {terms}; see above")
    return read(done.stdout), cost


def read(output: bytes) -> Found:
    lines: dict[str, set[int]] = {}
    for row in output.split(b"\n"):
        path, nul, rest = row.partition(b"\0")
        number = rest.partition(b":")[0]
        if nul and number.isdigit():
            lines.setdefault(path.decode(errors="surrogateescape").removeprefix("./"), set()).add(int(number))
    return {path: frozenset(it) for path, it in lines.items()}
