"""Runs every agent program beside busy processes, and counts what its model was shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.hosts import HOSTS, Host, environment, install
from agents.scripted_model import Conversation, scripted_model
from measuring import say
from processes import serving
from report import Section, table
from timing import p

QUESTION = "what happens when indexing is killed in the middle"
FRONT_CPU_S = 0.1
FRONT_MB = 20
_RUN_S = 180
_ESCAPES = re.compile(r"\\+(u[0-9a-f]{4}|[nrt])?")
_NO_LETTERS = re.compile(r"[^A-Za-z]+")


@dataclass
class Outcome:
    """What was counted for one host."""

    host: Host
    shown: int = 0
    uncut: int = 0
    sizes: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Front:
    """The time one `dowse mcp` process takes to its tool list, and what it has used after one search."""

    ready_ms: float
    cpu_s: float
    resident_mb: float


def measure(root: Path, work: Path, *, runs: int, busy: int) -> tuple[Section, bool]:
    """`root` is the project that is asked about; it is indexed first."""
    install(HOSTS, work / "agents")
    with tempfile.TemporaryDirectory(prefix="dowse-agents-") as folder:
        place = Path(folder).resolve()
        variables = {"DOWSE_DATA_DIR": str(place / "data"), "DOWSE_ENCODER": "static", "DOWSE_SHARE": "true"}
        command = [str(Path(sys.executable).with_name("dowse")), "mcp", "--root", str(root)]
        dowse = _Dowse(command, variables)
        dowse.run("index", str(root))
        expected = dowse.answer()
        with busy_processes(busy):
            fronts = [dowse.front() for _ in range(runs)]
            outcomes = [_run_host(host, dowse, place, work / "agents", root, expected, runs) for host in HOSTS]
        dowse.stop()
    return _section(outcomes, fronts, runs, busy), _is_good(outcomes, fronts, runs)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Processes that use all the processor time they are given."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class _Dowse:
    """The server under test, as a host starts it."""

    def __init__(self, command: Sequence[str], variables: Mapping[str, str]) -> None:
        self.command = command
        self.variables = variables
        self._environment = os.environ | dict(variables)

    def run(self, *words: str) -> None:
        subprocess.run([self.command[0], *words], env=self._environment, check=False, stdout=subprocess.DEVNULL)

    def stop(self) -> None:
        """The next run finds no shared server."""
        self.run("daemon", "stop", *self.command[2:])

    def answer(self) -> Mapping[str, Any]:
        """The tool result that every host is handed."""
        with serving(self.command, self._environment, Path.cwd()) as server:
            return server.call("search", {"query": QUESTION})

    def front(self) -> Front:
        """Start one with no shared server running, list its tools, then ask one question."""
        self.stop()
        began = time.perf_counter()
        with serving(self.command, self._environment, Path.cwd()) as server:
            server.list_tools()
            ready_ms = (time.perf_counter() - began) * 1000
            server.call("search", {"query": QUESTION})
            return Front(ready_ms, *_cost(server.pid))


def _cost(pid: int) -> tuple[float, float]:
    """Processor seconds so far, and resident megabytes."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return seconds, int(resident.split()[1]) / 1024


def _run_host(
    host: Host, dowse: _Dowse, place: Path, packages: Path, root: Path, expected: Mapping[str, Any], runs: int
) -> Outcome:
    outcome = Outcome(host)
    for number in range(runs):
        say(f"agents: {host.name}, run {number + 1} of {runs}")
        dowse.stop()
        home = place / f"{host.binary}-{number}"
        conversation = Conversation(QUESTION)
        with scripted_model(conversation) as base:
            host.configure(home, dowse.command, dowse.variables, base)
            binary = str(packages / "node_modules" / ".bin" / host.binary)
            output = _run(host.arguments(binary, QUESTION), environment(host, home, base), root)
        _count(outcome, conversation, output, expected)
    return outcome


def _run(command: Sequence[str], variables: Mapping[str, str], root: Path) -> str:
    """Everything the host printed; one that hangs is ended, and its output says so."""
    try:
        done = subprocess.run(
            command, env=dict(variables), cwd=root, stdin=subprocess.DEVNULL, capture_output=True, timeout=_RUN_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"did not end within {_RUN_S} s"
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _count(outcome: Outcome, conversation: Conversation, output: str, expected: Mapping[str, Any]) -> None:
    if not outcome.host.asks:
        connected = "Connected" in output and "Disconnected" not in output
        outcome.shown += connected
        outcome.problems += [] if connected else [_last_line(output)]
        return
    shown = bool(conversation.shown_tools())
    outcome.shown += shown
    results = conversation.tool_results()
    missing = missing_parts("".join(results), expected)
    outcome.uncut += bool(results) and not missing
    outcome.sizes += [sum(map(len, results))] if results else []
    if not shown:
        outcome.problems.append(f"no tool in the first request; {_last_line(output)}")
    elif missing:
        outcome.problems.append(f"the answer lacks {', '.join(missing)}")


def missing_parts(read: str, expected: Mapping[str, Any]) -> list[str]:
    """Which hits of the answer the model did not read whole; escapes and white space do not count."""
    hits = (expected["result"].get("structuredContent") or {}).get("hits", [])
    plain = _plain(read)
    lacking = [f"hit {rank}" for rank, hit in enumerate(hits, 1) if _plain(str(hit["text"])) not in plain]
    return lacking if hits else ["every hit: the server found none"]


def _plain(text: str) -> str:
    """ASCII letters alone: hosts hand on JSON inside JSON, and the text form has line numbers."""
    return _NO_LETTERS.sub("", _ESCAPES.sub("", text))


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it printed nothing"


def _is_good(outcomes: Sequence[Outcome], fronts: Sequence[Front], runs: int) -> bool:
    complete = all(it.shown == runs and (it.uncut == runs or not it.host.asks) for it in outcomes)
    cheap = p([it.cpu_s for it in fronts], 50) <= FRONT_CPU_S and max(it.resident_mb for it in fronts) <= FRONT_MB
    return complete and cheap


def _section(outcomes: Sequence[Outcome], fronts: Sequence[Front], runs: int, busy: int) -> Section:
    hosts = [
        [
            outcome.host.name,
            f"{outcome.shown} of {runs}",
            f"{outcome.uncut} of {runs}" if outcome.host.asks else "–",
            f"{max(outcome.sizes):,}" if outcome.sizes else "–",
        ]
        for outcome in outcomes
    ]
    cost = [
        ["spawn → `tools/list` reply", _spread([it.ready_ms for it in fronts], "ms", 0), ""],
        ["CPU time, after one search", _spread([it.cpu_s for it in fronts], "s", 2), f"≤ {FRONT_CPU_S} s"],
        ["resident memory, after one search", _spread([it.resident_mb for it in fronts], "MB", 1), f"≤ {FRONT_MB} MB"],
    ]
    problems = [f"- {outcome.host.name}: {problem}" for outcome in outcomes for problem in outcome.problems]
    lines = [
        f"Each host ran {runs} times next to {busy} busy processes, with a separate home directory and a scripted "
        "model on loopback. The index existed, but no shared server was running at the start.",
        "",
        *table(["host", "tools in the first request", "complete answer", "characters read by the model, max"], hosts),
        "",
        "Cost of one `dowse mcp` process, started the same way:",
        "",
        *table(["what", "median (max)", "aim"], cost),
        *(["", *problems] if problems else []),
    ]
    return Section("agents", "Agents", lines)


def _spread(values: Sequence[float], unit: str, digits: int) -> str:
    return f"{p(values, 50):,.{digits}f} {unit} ({max(values):,.{digits}f})"
