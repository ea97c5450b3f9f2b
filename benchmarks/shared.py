"""Many agents of one shared server: each a real `dowse mcp`, all of them asking at once."""

from __future__ import annotations

import json
import os
import re
import selectors
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from made_up import make_corpus
from measuring import say
from report import Section, table

CHUNKS = 2_000
ALONE_S = 5.0
WARM_S = 2.0
STARTS = 10
FRONT_CPU_S, FRONT_MB = 0.1, 20.0
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


@dataclass
class Agent:
    """One `dowse mcp`, which is asked for the next answer when it has given one."""

    process: subprocess.Popen[bytes]
    asked: int = 0
    since: float = 0.0
    times: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def back(self) -> IO[bytes]:
        assert self.process.stdout is not None
        return self.process.stdout

    def send(self, method: str, params: Mapping[str, object], *, notify: bool = False) -> None:
        assert self.process.stdin is not None
        self.asked += not notify
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if notify else {"id": self.asked})}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        self.since = time.monotonic()

    def hear(self) -> None:
        """The answer, which is timed and checked."""
        line = self.back.readline()
        self.times.append(time.monotonic() - self.since)
        answer = json.loads(line or b"{}")
        if answer.get("id") != self.asked or "error" in answer or answer["result"].get("isError"):
            self.errors.append(line[:300].decode(errors="replace") or "it ended")

    def shake_hands(self) -> None:
        for method, params in (("initialize", HELLO), ("tools/list", {})):
            self.send(method, params)
            self.hear()
        self.send("notifications/initialized", {}, notify=True)
        self.times.clear()

    def search(self, query: str) -> None:
        self.send("tools/call", {"name": "search", "arguments": {"query": query}})


@dataclass(frozen=True)
class Outcome:
    alone: Sequence[float]
    together: Sequence[float]
    errors: Sequence[str]
    server: tuple[float, float]
    front: tuple[float, float]
    front_cpu_s: float
    first_answer_s: float

    @property
    def ratio(self) -> float:
        return _percentile(self.together, 95) / _percentile(self.alone, 50)


def measure(work: Path, *, clients: int, seconds: float) -> tuple[Section, bool]:
    say(f"shared: {clients} clients, {seconds:g} s")
    work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dowse-shared-") as folder:
        outcome = _measured(Path(folder).resolve(), clients, seconds)
    light = outcome.front_cpu_s <= FRONT_CPU_S and outcome.front[0] <= FRONT_MB
    good = not outcome.errors and outcome.ratio <= clients and light
    return Section("shared", "Many clients on the shared server", _lines(outcome, clients, seconds)), good


def _measured(folder: Path, clients: int, seconds: float) -> Outcome:
    queries = make_corpus(folder / "root", CHUNKS).queries
    ours = {"DOWSE_DATA_DIR": str(folder / "data"), "DOWSE_ENCODER": "hashing", "DOWSE_SHARE": "true"}
    environment = os.environ | ours
    command = [sys.executable, "-m", "dowse"]
    subprocess.run([*command, "index"], cwd=folder / "root", env=environment, check=True, capture_output=True)
    try:
        with ExitStack() as stack:
            first = stack.enter_context(_agent(folder / "root", environment))
            first.shake_hands()
            _ask([first], queries, WARM_S)
            alone = _ask([first], queries, ALONE_S)
            starts = [_started(folder / "root", environment) for _ in range(STARTS)]
            agents = [first, *(stack.enter_context(_agent(folder / "root", environment)) for _ in range(clients - 1))]
            for agent in agents[1:]:
                agent.shake_hands()
            _ask(agents, queries, WARM_S)
            together = _ask(agents, queries, seconds)
            errors = [error for agent in agents for error in agent.errors]
            status = subprocess.run(
                [*command, "daemon", "status", "--json"], cwd=folder / "root", env=environment, capture_output=True
            )
            state = json.loads(status.stdout)
            server = _memory_mb(state["pid"], *state["readers"])
            front = _memory_mb(agents[-1].process.pid)
        cpu_s, answer_s = (statistics.median(it) for it in zip(*starts, strict=True))
        return Outcome(alone, together, errors, server, front, cpu_s, answer_s)
    finally:
        subprocess.run([*command, "daemon", "stop"], cwd=folder / "root", env=environment, capture_output=True)


@contextmanager
def _agent(root: Path, environment: Mapping[str, str]) -> Iterator[Agent]:
    command = [sys.executable, "-m", "dowse", "mcp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=root, env=environment, stdin=pipe, stdout=pipe) as process:
        yield Agent(process)
        assert process.stdin is not None
        process.stdin.close()


def _started(root: Path, environment: Mapping[str, str]) -> tuple[float, float]:
    """CPU-seconds of a front until it has listed the tools, and how long that took."""
    began = time.monotonic()
    with _agent(root, environment) as agent:
        agent.shake_hands()
        took = time.monotonic() - began
        ran_ns = int(Path(f"/proc/{agent.process.pid}/schedstat").read_text().split()[0])
    return ran_ns / 1e9, took


def _ask(agents: Sequence[Agent], queries: Sequence[str], seconds: float) -> list[float]:
    """Each agent asks one question after the other for as long; how long the answers took."""
    end = time.monotonic() + seconds
    for agent in agents:
        agent.times.clear()
    with selectors.DefaultSelector() as waiting:
        for number, agent in enumerate(agents):
            waiting.register(agent.back, selectors.EVENT_READ, agent)
            agent.search(queries[number % len(queries)])
        busy = len(agents)
        while busy:
            for key, _ in waiting.select():
                agent = key.data
                agent.hear()
                if time.monotonic() < end and not agent.errors:
                    agent.search(queries[(agent.asked * 7) % len(queries)])
                else:
                    waiting.unregister(agent.back)
                    busy -= 1
    return [it for agent in agents for it in agent.times]


def _memory_mb(*pids: int) -> tuple[float, float]:
    """Resident, and the share of it that would be free without these processes."""
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    sizes = [dict(re.findall(r"^(Rss|Pss): +(\d+) kB", text, re.MULTILINE)) for text in texts]
    return sum(int(it["Rss"]) for it in sizes) / 1024, sum(int(it["Pss"]) for it in sizes) / 1024


def _percentile(times: Sequence[float], percent: int) -> float:
    return sorted(times)[min(len(times) - 1, len(times) * percent // 100)]


def _lines(outcome: Outcome, clients: int, seconds: float) -> list[str]:
    def spread(times: Sequence[float]) -> str:
        figures = (_percentile(times, 50), _percentile(times, 95), max(times))
        return " / ".join(f"{it * 1000:.1f}" for it in figures) + " ms"

    rows = [
        ["one client: p50 / p95 / max", spread(outcome.alone), ""],
        [f"{clients} clients: p50 / p95 / max", spread(outcome.together), ""],
        [f"p95 of {clients} clients as a multiple of the p50 of one", f"{outcome.ratio:.1f}", f"≤ {clients}"],
        [f"answers of {clients} clients per second", f"{len(outcome.together) / seconds:,.0f}", ""],
        ["errors", f"{len(outcome.errors)}", "0"],
        ["server and its readers: RSS / PSS", "{:.0f} / {:.0f} MB".format(*outcome.server), ""],
        ["a front: RSS / PSS", "{:.1f} / {:.1f} MB".format(*outcome.front), f"≤ {FRONT_MB:g} MB RSS"],
        ["CPU of a front until its tool list", f"{outcome.front_cpu_s:.3f} s", f"≤ {FRONT_CPU_S:g} s"],
        ["time from start to tool list", f"{outcome.first_answer_s * 1000:.0f} ms", ""],
    ]
    complaints = [f"- {it}" for it in outcome.errors[:10]]
    return [
        f"{clients} `dowse mcp` processes on one index of {CHUNKS:,} chunks, with the hashing encoder. Each runs one "
        f"`search` after another for {seconds:g} s. Clients, fronts and server share the same cores.",
        "",
        *table(["what", "measured", "aim"], rows),
        *(["", *complaints] if complaints else []),
    ]
