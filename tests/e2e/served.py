"""`dowse mcp` as a client drives it: a process with pipes, one JSON message a line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import apsw

from dowse.paths import DataPaths

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def children_of(pid: int) -> list[int]:
    """All below it, too: as the system tells for each of its threads."""
    found: list[int] = []
    for thread in _threads_of(pid):
        with suppress(FileNotFoundError, ProcessLookupError):  # it ends while it is looked at
            for child in (thread / "children").read_text().split():
                found += [int(child), *children_of(int(child))]
    return found


def _threads_of(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return []


class Served:
    """A server on a root, before or after the handshake."""

    def __init__(
        self,
        root: Path,
        data: Path,
        stdin: int | IO[bytes] = subprocess.PIPE,
        words: Sequence[str] = (),
        **variables: str,
    ) -> None:
        self.root, self.index = root, DataPaths(data).index_path(root.resolve())
        self.environment = os.environ | {"DOWSE_DATA_DIR": str(data), "DOWSE_ENCODER": "hashing", **variables}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "dowse", "mcp", *words],
            cwd=root,
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._asked = 0

    def greet(self) -> None:
        self.ask("initialize", HELLO)
        self.send({"method": "notifications/initialized"})

    def send(self, message: Mapping[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, params: Mapping[str, object]) -> int:
        """Ask without waiting for the answer."""
        self._asked += 1
        self.send({"id": self._asked, "method": method, "params": params})
        return self._asked

    def ask(self, method: str, params: Mapping[str, object]) -> dict[str, Any]:
        number = self.begin(method, params)
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            reply: dict[str, Any] = json.loads(line)
            if reply.get("id") == number:
                return reply
        raise AssertionError(f"it ended before it answered {method}")

    def count(self, table: str) -> int:
        """How many rows a table of its index has now, asked without Dowse."""
        try:
            connection = apsw.Connection(str(self.index), flags=apsw.SQLITE_OPEN_READONLY)
            return int(connection.execute(f"SELECT count(*) FROM {table}").fetchall()[0][0])
        except apsw.Error:
            return 0

    def leave(self) -> None:
        """As a client does: it closes its end and waits."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.close()

    def close(self) -> None:
        """Whatever is left of it."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None and not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue
