"""What a first answer costs in a new folder, what the rest of its index costs, and questions while that is made.

Every repository is indexed in a data directory of its own. Questions are asked of a server and by commands: in turns
while vectors are made in the background, and while they are not.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measuring import say
from processes import Server, run_ms, serving
from report import Section, table
from timing import children_costed, p

MAX_RATIO = 1.2
QUESTIONS = 100
LARGE_FILES = 5_000
_WORDS = ("handle", "redirect", "close", "header", "timeout", "route", "parse", "error", "stream", "test")
_DOWSE = [sys.executable, "-m", "dowse"]

Row = list[str]


def measure(repositories: Sequence[Path], work: Path) -> tuple[Section, bool]:
    work.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    for root in repositories:
        say(f"first answers: {root.name}")
        with tempfile.TemporaryDirectory(dir=work) as data:
            rows.append(_cost(root.resolve(), {**os.environ, "DOWSE_DATA_DIR": data}))
    largest = repositories[-1].resolve()
    ratios = {}
    for way, ratio_of in (("an MCP server", _served_ratio), ("commands", _command_ratio)):
        say(f"questions meanwhile: {way}")
        with tempfile.TemporaryDirectory(dir=work) as data:
            ratios[way] = ratio_of(largest, {**os.environ, "DOWSE_DATA_DIR": data})
    header = ["repository", "files, chunks", "first answer", "the rest", "encoding", f"{LARGE_FILES:,} such files"]
    lines = [
        "Wall-clock seconds / CPU seconds. The last column extrapolates from the number of files.",
        "",
        *table(header, rows),
        "",
        f"p50 of {QUESTIONS} questions during encoding, divided by the p50 without encoding "
        f"(aim: at most {MAX_RATIO}), {largest.name}: "
        + ", ".join(f"{way} {busy:.1f} / {idle:.1f} ms = {busy / idle:.2f}" for way, (busy, idle) in ratios.items())
        + ".",
    ]
    return Section("first", "First answers", lines), all(busy / idle <= MAX_RATIO for busy, idle in ratios.values())


def _cost(root: Path, environment: Mapping[str, str]) -> Row:
    def run(*words: str) -> dict[str, Any]:
        done = subprocess.run(
            [*_DOWSE, *words, "--json"], cwd=root, env=environment, capture_output=True, text=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    _, first = children_costed(run, "search", "how are errors handled")
    told, rest = children_costed(run, "index")
    status = run("status")
    files, chunks = status["records"], told["embedded"]
    rate = chunks / rest.cpu_ms * 1000
    large_s = LARGE_FILES / max(told["listed"], 1) * rest.cpu_ms / 1000
    return [
        root.name,
        f"{files:,} records, {chunks:,} chunks",
        f"{first.wall_ms / 1000:.1f} / {first.cpu_ms / 1000:.1f} s",
        f"{rest.wall_ms / 1000:.1f} / {rest.cpu_ms / 1000:.1f} s",
        f"{rate:.0f} chunks per CPU second",
        f"{large_s / 60:.0f} CPU minutes",
    ]


def questions() -> list[str]:
    """No two of them alike, so that nothing that was worked out before answers."""
    return [f"how does {_WORDS[n % 10]} work with {_WORDS[n // 10]} {n}" for n in range(QUESTIONS)]


def _served_ratio(root: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    with serving([*_DOWSE, "mcp"], environment, root) as server:
        time.sleep(1.0)  # until it has begun
        _encoding(server)
        _ask(server)  # what is worked out once
        busy = _ask(server)
        _encoding(server)
        _stop_encoding(server)
        return p(busy, 50), p(_ask(server), 50)


def _encoding(server: Server) -> None:
    """Until the better vectors are made, and nothing else is to be done."""
    while True:
        jobs = _unfinished(server)
        if {it["name"] for it in jobs} == {"encode"} and any(it.get("stage") == "encoding" for it in jobs):
            return
        if not jobs:
            raise SystemExit("encoding ended before the last question; pass a larger repository last")
        time.sleep(0.2)


def _stop_encoding(server: Server) -> None:
    while jobs := _unfinished(server):
        for job in jobs:
            server.call("index", {"cancel": job["job_id"]})
        time.sleep(0.2)


def _unfinished(server: Server) -> list[dict[str, Any]]:
    jobs = server.call("status", {})["result"]["structuredContent"].get("jobs", [])
    return [it for it in jobs if it["status"] in ("queued", "running", "retry_wait")]


def _ask(server: Server) -> list[float]:
    took = []
    for text in questions():
        began = time.perf_counter()
        server.call("search", {"query": text})
        took.append((time.perf_counter() - began) * 1000)
    return took


def _command_ratio(root: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """The process in the background is stopped and continued, question by question."""
    subprocess.run([*_DOWSE, "search", "first"], cwd=root, env=environment, stdout=subprocess.DEVNULL, check=False)
    busy, idle = [], []
    with subprocess.Popen([*_DOWSE, "index", "--finish"], cwd=root, env=environment) as process:
        time.sleep(5.0)  # until it has read what it needs
        for text in questions():
            for signal_number, times in ((signal.SIGCONT, busy), (signal.SIGSTOP, idle)):
                process.send_signal(signal_number)
                times.append(run_ms([*_DOWSE, "search", text], environment, root))
        if process.poll() is not None:
            raise SystemExit("encoding ended before the last question; pass a larger repository last")
        process.kill()
    return p(busy, 50), p(idle, 50)
