"""Processes that are to be killed: the command itself, forked where everything it needs is loaded.

What is added to the scenarios is killed by the tests and by the benchmark.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path

_LOADED = [
    "dowse.cli.index",
    "dowse.cli.watch",
    "dowse.cli.doctor",
    "dowse.server.mcp",
    "dowse.ingest.sync",
    "dowse.encoders.static",
    "numpy",
]
_HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "crashes", "version": "1"}}
_REQUESTS = (
    {"id": 1, "method": "initialize", "params": _HELLO},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {"name": "index", "arguments": {"force": True}}},
    {"id": 3, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "alpha"}}},
)


@dataclass(frozen=True, slots=True)
class Place:
    """A root with an index of its own."""

    root: Path
    index: Path
    data: Path

    def variables(self, encoder: str) -> dict[str, str]:
        return {"DOWSE_DATA_DIR": str(self.data), "DOWSE_INDEX": str(self.index), "DOWSE_ENCODER": encoder}


class Victim:
    """One run of the command line, in a process of its own; its input is a file, or nothing."""

    def __init__(self, place: Place, words: list[str], encoder: str = "hashing", stdin: Path | None = None) -> None:
        self._process = _loaded().Process(target=_run, args=(place, words, encoder, stdin or Path(os.devnull)))
        self._process.start()

    def kill(self) -> bool:
        """Whether it had not ended by itself."""
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


def _run(place: Place, words: list[str], encoder: str, stdin: Path) -> None:
    from dowse.cli import main

    os.chdir(place.root)
    os.environ.update(place.variables(encoder))
    for descriptor, file in enumerate((stdin, Path(os.devnull), Path(os.devnull))):
        os.dup2(os.open(file, os.O_RDWR), descriptor)
    main(words)


@dataclass(frozen=True, slots=True)
class Scenario:
    """`start` is told how often it was called. `fresh` begins with no index each time, `changes` edits files before.

    `lasting_s` is for what does not end by itself: over how long the kills are spread.
    """

    name: str
    start: Callable[[Place, int], Victim]
    fresh: bool = False
    changes: bool = True
    lasting_s: float = 0.0


def _switching(place: Place, turn: int) -> Victim:
    return Victim(place, ["index", "--switch-encoder"], "hashing" if turn % 2 else "static")


def _serving(place: Place, turn: int) -> Victim:
    """A server that is asked to index everything again, and then to search."""
    requests = place.data.with_name("requests")
    requests.write_text("".join(json.dumps({"jsonrpc": "2.0", **it}) + "\n" for it in _REQUESTS))
    return Victim(place, ["mcp"], stdin=requests)


SCENARIOS = (
    Scenario("first indexing", lambda place, turn: Victim(place, ["index"]), fresh=True, changes=False),
    Scenario("indexing changes", lambda place, turn: Victim(place, ["index"])),
    Scenario("full reindexing", lambda place, turn: Victim(place, ["index", "--force"]), changes=False),
    Scenario("switching encoders", _switching),
    Scenario("serving", _serving),
    Scenario("watching", lambda place, turn: Victim(place, ["watch", "--debounce-ms", "50"]), lasting_s=1.5),
    Scenario("repairing", lambda place, turn: Victim(place, ["doctor", "--fix"])),
)
