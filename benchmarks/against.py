"""Two checkouts on one repository in one run: building the index, answers of a server, new processes, memory.

Both are asked by the same commands and tools, in turns, so that a busy machine slows both; the ratio of medians counts.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from processes import Server, resident_mb, run_ms, serving
from report import Section, table
from timing import children_costed, ms

MOST = 1.05
ROUNDS = 5
_DOWSE = (sys.executable, "-m", "dowse")
_DEFINED = re.compile(r"^def ([a-z]\w{5,})\(", re.MULTILINE)
_CALLED = re.compile(r"\b([a-z]\w{5,})\(")
_ASKED = 20  # times each tool is asked in a round
Figures = dict[str, list[float]]


def measure(before: Path, now: Path, repository: Path, rounds: int = ROUNDS) -> tuple[Section, bool]:
    checkouts = {"before": before, "now": now}
    figures: dict[str, Figures] = {name: {} for name in checkouts}
    for number in range(rounds):
        for name, checkout in checkouts.items() if number % 2 == 0 else reversed(checkouts.items()):
            with tempfile.TemporaryDirectory() as folder:
                for title, value in _measured(checkout, repository, Path(folder)):
                    figures[name].setdefault(title, []).append(value)
    medians = {title: [median(figures[name][title]) for name in checkouts] for title in figures["now"]}
    rows = [[title, f"{old:.1f}", f"{new:.1f}", f"{new / old:.2f}"] for title, (old, new) in medians.items()]
    lines = [
        f"{repository.name}: medians of {rounds} alternating rounds with the hashing encoder. "
        f"Target: at most {MOST} × before.",
        "",
        *table(["", "before", "now", "ratio"], rows),
    ]
    good = all(new <= MOST * old for old, new in medians.values())
    return Section("against", "Two checkouts compared", lines), good


def _measured(checkout: Path, repository: Path, folder: Path) -> Iterator[tuple[str, float]]:
    environment = os.environ | {
        "PYTHONPATH": str(checkout / "src"), "DOWSE_DATA_DIR": str(folder), "DOWSE_ENCODER": "hashing",
        "DOWSE_SHARE": "false", "DOWSE_BACKGROUND": "false", "DOWSE_WATCH": "false",
    }  # fmt: skip
    _, cost = children_costed(run_ms, [*_DOWSE, "index"], environment, repository)
    yield "index build, s", cost.wall_ms / 1000
    yield "index build, CPU s", cost.cpu_ms / 1000
    name = _most_used_function(repository)
    for title, words in (
        ("search", ["search", "--mode", "lexical", name]),
        ("hybrid search", ["search", "--mode", "hybrid", name]),
        ("grep", ["grep", name]),
        ("calls", ["calls", name]),
    ):
        yield f"{title}, new process, ms", median(_cold(words, environment, repository))
    with serving([*_DOWSE, "mcp"], environment, repository) as server:
        for tool, arguments in (
            ("search", {"query": f"how does {name} work"}),
            ("grep", {"pattern": name}),
            ("symbols", {"name": name}),
            ("calls", {"name": name}),
        ):
            yield f"{tool}, warm server, ms", median(_warm(server, tool, arguments))
        yield "server memory, MB", resident_mb(server.pid)


def _cold(words: Sequence[str], environment: Mapping[str, str], repository: Path) -> list[float]:
    return [run_ms([*_DOWSE, *words], environment, repository) for _ in range(3)]


def _warm(server: Server, tool: str, arguments: Mapping[str, object]) -> list[float]:
    server.call(tool, arguments)
    return [ms(server.call, tool, arguments) for _ in range(_ASKED)]


def _most_used_function(repository: Path) -> str:
    texts = [it.read_text(encoding="utf-8", errors="replace") for it in sorted(repository.rglob("*.py"))]
    defined = {name for text in texts for name in _DEFINED.findall(text)}
    used = Counter(name for text in texts for name in set(_CALLED.findall(text)) if name in defined)
    if not used:
        raise SystemExit(f"{repository} has no Python function to query; choose another repository")
    return used.most_common(1)[0][0]
