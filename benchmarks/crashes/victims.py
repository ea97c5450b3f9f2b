"""Processes that are to be killed: the command itself, forked where everything it needs is loaded, or a server.

What is added here is killed by the tests and by the benchmark.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Protocol

_LOADED = ["dowse.shells.cli.index", "dowse.engine", "dowse.ingest.sync", "dowse.encoders.hashing", "numpy"]
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "crashes", "version": "1"}}


class Victim(Protocol):
    def kill(self) -> bool:
        """Whether it had not ended by itself."""
        ...

    def wait(self, timeout_s: float) -> None:
        """Until it is gone."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """A root with an index of its own."""

    root: Path
    index: Path
    data: Path

    def variables(self, encoder: str) -> dict[str, str]:
        return {"DOWSE_DATA_DIR": str(self.data), "DOWSE_INDEX": str(self.index), "DOWSE_ENCODER": encoder}


@dataclass(frozen=True, slots=True)
class Scenario:
    """`start` is told how often it was called; `fresh` begins with no index each time; `changes` edits files before."""

    name: str
    start: Callable[[Place, int], Victim]
    fresh: bool = False
    changes: bool = True


class Command:
    """One run of the command line, in a process of its own that is forked from one with everything loaded."""

    def __init__(self, place: Place, words: list[str], encoder: str) -> None:
        self._process = _loaded().Process(target=_run, args=(place, words, encoder))
        self._process.start()

    def kill(self) -> bool:
        self._process.kill()
        self._process.join()
        return self._process.exitcode == -signal.SIGKILL

    def wait(self, timeout_s: float) -> None:
        self._process.join(timeout_s)
        if self._process.exitcode is None:
            raise TimeoutError(f"still running after {timeout_s:g} s")


def _loaded() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    return context


def _run(place: Place, words: list[str], encoder: str) -> None:
    from dowse.shells.cli import main

    os.chdir(place.root)
    os.environ.update(place.variables(encoder))
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    main(words)


class Server:
    """`dowse mcp`, told to index everything again."""

    def __init__(self, place: Place, *flags: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dowse", "mcp", *flags],
            cwd=place.root,
            env=os.environ | place.variables("hashing"),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._send({"id": 1, "method": "initialize", "params": _HELLO})
        self._send({"method": "notifications/initialized"})
        self._send({"id": 2, "method": "tools/call", "params": {"name": "index", "arguments": {"force": True}}})

    def kill(self) -> bool:
        self._process.kill()
        self._process.communicate()
        return self._process.returncode == -signal.SIGKILL

    def wait(self, timeout_s: float) -> None:
        """At the end of its input it answers and leaves."""
        self._process.communicate(timeout=timeout_s)

    def _send(self, message: Mapping[str, object]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._process.stdin.flush()


def _switching(place: Place, turn: int) -> Victim:
    return Command(place, ["index"], "hashing" if turn % 2 else "static")


SCENARIOS = (
    Scenario("first indexing", lambda place, turn: Command(place, ["index"], "hashing"), fresh=True, changes=False),
    Scenario("indexing changes", lambda place, turn: Command(place, ["index"], "hashing")),
    Scenario("indexing all again", lambda place, turn: Command(place, ["index", "--force"], "hashing"), changes=False),
    Scenario("switching encoders", _switching),
    Scenario("serving", lambda place, turn: Server(place)),
)
"""What is watching and mending files belongs here too, as soon as there are commands for it."""
