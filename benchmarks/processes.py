"""What new processes cost: cold searches, and the memory of a server."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from timing import ms

ASKED = 10
FEW = 10


def run_ms(command: Sequence[str], environment: Mapping[str, str], root: Path) -> float:
    quiet = subprocess.DEVNULL
    return ms(lambda: subprocess.run(command, env=environment, cwd=root, stdout=quiet, stderr=quiet, check=False))


def cold(environment: Mapping[str, str], root: Path, queries: Sequence[str]) -> list[list[str]]:
    dowse = [sys.executable, "-m", "dowse", "search", "--json", "--mode"]
    lexical = [run_ms([*dowse, "lexical", text], environment, root) for text in queries[:15]]
    hybrid = [run_ms([*dowse, "hybrid", text], environment, root) for text in queries[:7]]
    bare = [run_ms([sys.executable, "-c", "pass"], environment, root) for _ in range(10)]
    return [
        ["cold `dowse search --mode lexical`, new process", f"{statistics.median(lexical):.0f} ms", "< 300 ms"],
        ["cold `dowse search`, hybrid, hashing encoder", f"{statistics.median(hybrid):.0f} ms", ""],
        ["an empty Python process, for comparison", f"{statistics.median(bare):.0f} ms", ""],
    ]


def serving_memory(environment: Mapping[str, str], root: Path) -> list[list[str]]:
    """Resident memory of `dowse mcp` after the handshake and ten hybrid searches.

    The index is made with the hashing encoder: a few files with one of their own show the transformer's memory.
    """
    few = root.parent / "few"
    few.mkdir()
    for path in sorted(root.glob("*/*"))[:FEW]:
        shutil.copy(path, few)
    own = ["--root", str(few), "--index", str(root.parent / "few.db")]
    figures = {"hashing": _resident_mb(environment, root, []), "auto": _resident_mb(environment, few, own)}
    return [[f"memory of `dowse mcp`, encoder {name}", f"{mb:.0f} MB", ""] for name, mb in figures.items()]


def _resident_mb(environment: Mapping[str, str], root: Path, flags: Sequence[str]) -> float:
    command = [sys.executable, "-m", "dowse", "mcp", "--encoder", "auto" if flags else "hashing", *flags]
    with serving(command, environment, root) as server:
        server.call("index", {})
        for number in range(ASKED):
            server.call("search", {"query": f"word {number}"})
        return resident_mb(server.pid)


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024


@contextmanager
def serving(command: Sequence[str], environment: Mapping[str, str], root: Path) -> Iterator[Server]:
    """An MCP server on its standard input and output, after the handshake."""
    with subprocess.Popen(command, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("the server has no pipes")
        yield Server(process.pid, process.stdin, process.stdout)
        process.stdin.close()


class Server:
    def __init__(self, pid: int, to: IO[bytes], back: IO[bytes]) -> None:
        self.pid = pid
        self._to, self._back = to, back
        self._asked = 0
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        self.greeting: dict[str, Any] = self.ask("initialize", hello)["result"]
        self._send({"method": "notifications/initialized"})

    def list_tools(self) -> dict[str, Any]:
        return self.ask("tools/list", {})

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while line := self._back.readline():
            reply: dict[str, Any] = json.loads(line)
            if reply.get("id") == self._asked:
                return reply
        raise SystemExit(f"the server ended before it answered {method}")

    def _send(self, message: Mapping[str, object]) -> None:
        self._to.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._to.flush()
