"""A root with its data directory, whose agents share one server: as processes, by hand or with the official client."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from dowse.server.sharing.client import LaunchConfig, connect_socket, exchange_hello
from support import eventually

DOWSE = str(Path(sys.executable).with_name("dowse"))
DEADLINE_S = 60.0
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"},
    },
}  # fmt: skip
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def call(number: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def is_alive(pid: int) -> bool:
    """Whether any thread of it runs; what its parent has not taken note of yet does not count."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return len(threads) > 1 or Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@dataclass(frozen=True, slots=True)
class Agent:
    """The official client of one `dowse mcp`."""

    portal: BlockingPortal
    client: Client
    errors: Path

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        return self.portal.call(partial(self.client.call_tool, tool, arguments, read_timeout_seconds=DEADLINE_S))

    def ask(self, tool: str, /, **arguments: Any) -> Any:
        result = self.call(tool, **arguments)
        assert not result.is_error, result
        return result.structured_content or result.content[0].text  # type: ignore[union-attr]


class ByHand:
    """The pipes of one `dowse mcp`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def say(self, *messages: object) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps(message).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def has_read(self) -> bool:
        """Whether nothing of what was said is in its pipe any more."""
        assert self.process.stdin is not None
        (left,) = struct.unpack("i", fcntl.ioctl(self.process.stdin, termios.FIONREAD, bytes(4)))
        return left == 0

    def shake_hands(self) -> None:
        self.say(INITIALIZE, INITIALIZED)
        assert self.hear()["result"]["serverInfo"]["name"] == "dowse"

    def ask(self, number: int | str, tool: str, **arguments: Any) -> dict[str, Any]:
        self.say(call(number, tool, **arguments))
        answer = self.hear()
        assert answer["id"] == number
        return answer

    def leave(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)


@dataclass(frozen=True, slots=True)
class Site:
    root: Path
    data: Path

    def environment(self, **variables: str) -> dict[str, str]:
        ours = {"DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "hashing"}
        return {name: it for name, it in os.environ.items() if name != "DOWSE_SHARE"} | ours | variables

    def run(self, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [DOWSE, *words],
            cwd=self.root,
            env=self.environment(**variables),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
            check=False,
        )

    def start(self, **variables: str) -> LaunchConfig:
        environment = self.environment(**variables)
        return LaunchConfig.of("core", roots=(), flags={}, environment=environment, cwd=self.root)

    def state(self) -> Mapping[str, Any]:
        """What the server tells of itself; empty if there is none."""
        connection = connect_socket(self.start().socket_paths)
        if connection is None:
            return {}
        with connection:
            return exchange_hello(connection, self.start().hello("status")) or {}

    def pid(self) -> int:
        return int(self.state()["pid"])

    @contextmanager
    def by_hand(self, *words: str, **variables: str) -> Iterator[ByHand]:
        command = [DOWSE, "mcp", *words]
        process = subprocess.Popen(
            command,
            cwd=self.root,
            env=self.environment(**variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            try:
                yield ByHand(process)
            finally:
                process.kill()

    @contextmanager
    def agent(self, *words: str, **variables: str) -> Iterator[Agent]:
        errors = self.root.with_name(f"stderr-{time.monotonic_ns()}.txt")
        program = StdioServerParameters(
            command=DOWSE,
            args=["mcp", *words],
            env=self.environment(**variables),
            cwd=self.root,
        )
        with ExitStack() as stack:
            log = stack.enter_context(open(errors, "w", encoding="utf-8"))
            portal = stack.enter_context(start_blocking_portal())
            client = stack.enter_context(portal.wrap_async_context_manager(Client(stdio_client(program, errlog=log))))
            yield Agent(portal, client, errors)

    def connection(self) -> socket.socket:
        """A client that does not have to be one of ours."""
        connection = connect_socket(self.start().socket_paths)
        assert connection is not None
        connection.settimeout(DEADLINE_S)
        return connection

    def end(self) -> None:
        """No server is left behind, whatever state a test has brought it into."""
        if state := self.state():
            os.kill(state["pid"], signal.SIGKILL)
            eventually(lambda: not is_alive(state["pid"]))
