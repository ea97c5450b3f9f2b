"""Processes that answer beside the shared server: the same answers, and nothing lost when one dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Event

import anyio
import mcp_types as types
import pytest

from dowse.server.mcp import CallableTool, CallScheduler, answer_call, bind_tools
from dowse.server.readers import ANSWERED_FROM_INDEX, ReaderPool, make_remote_call
from dowse.server.runtime import ServerRuntime, make_profile
from dowse.server.sharing.hello import ClientArguments

CLIENTS = 12
FOR_EVER_S = 3600.0
TEXTS = {
    "docs/retries.md": "# Retries\n\nA failed request is tried again with exponential backoff.\n",
    "src/client.py": "def send(request):\n    return retry(request)\n\n\ndef retry(request):\n    return request\n",
}
CALLS = {
    "search": {"query": "exponential backoff"},
    "fetch": {"id": "docs/retries.md"},
    "grep": {"pattern": "retr"},
    "symbols": {"name": "retry"},
    "calls": {"name": "retry"},
    "why": {"target": "src/client.py:2"},
    "related": {"target": "src/client.py"},
}


class Server:
    """The parts of a shared server that answer calls; `busy` keeps its own thread from answering."""

    def __init__(self, root: Path) -> None:
        self.asked = ClientArguments("core", (str(root),), str(root))
        self.server_runtime = ServerRuntime()
        profile = make_profile(
            "core", roots=(root,), flags={}, environment=os.environ, cwd=root, server_runtime=self.server_runtime
        )
        self.tools: dict[str, CallableTool] = bind_tools(profile)
        self.turns = CallScheduler(1, FOR_EVER_S)
        self.is_quiet = True
        self.readers = ReaderPool(self.turns, {}, lambda: self.is_quiet, most=1)
        self.answered_here = 0

    def answer_here(self, tool: str) -> types.CallToolResult:
        self.answered_here += 1
        return answer_call(self.tools[tool], CALLS[tool])

    async def ask(self, connection: int, tool: str) -> types.CallToolResult:
        question = make_remote_call(self.asked, tool, CALLS[tool])
        return await self.turns.run(connection, partial(self.answer_here, tool), question)

    def ask_all(self, tools: list[str], meanwhile: Callable[[Event], Awaitable[None]]) -> list[types.CallToolResult]:
        """Each tool asked by a client of its own, while the server's thread waits for the gate."""
        gate, answers = Event(), dict[int, types.CallToolResult]()

        async def keep(number: int, tool: str) -> None:
            answers[number] = await self.ask(number, tool)

        async def main() -> None:
            async with anyio.create_task_group() as clients:
                clients.start_soon(self.turns.run, "busy", gate.wait)
                await anyio.wait_all_tasks_blocked()
                async with anyio.create_task_group() as waiting:
                    for number, tool in enumerate(tools):
                        waiting.start_soon(keep, number, tool)
                    waiting.start_soon(meanwhile, gate)
                gate.set()

        anyio.run(main)
        return [answers[number] for number in range(len(tools))]


async def wait_for_answers(gate: Event) -> None:
    """The gate stays closed: only a reader can answer."""


async def open_gate(gate: Event) -> None:
    gate.set()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    root = tmp_path / "root"
    for name, text in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = Server(root)
    made.server_runtime.runtimes()[0].engine().index([root])
    yield made
    made.readers.close()
    made.server_runtime.close()


def facts(result: types.CallToolResult) -> dict[str, object]:
    return {"content": result.content, "data": result.structured_content, "is_error": result.is_error}


def test_a_reader_answers_as_the_server_does_while_that_is_busy(server: Server) -> None:
    assert set(CALLS) == ANSWERED_FROM_INDEX["core"]
    here = {tool: answer_call(server.tools[tool], arguments) for tool, arguments in CALLS.items()}
    assert not any(it.is_error for it in here.values())
    tools = [*CALLS, *CALLS]
    answers = server.ask_all(tools, wait_for_answers)
    assert [facts(it) for it in answers] == [facts(here[tool]) for tool in tools]
    assert server.answered_here == 0


def test_few_clients_start_no_process(server: Server) -> None:
    server.ask_all(["search"] * 3, open_gate)
    assert server.readers.pids() == []
    assert server.answered_here == 3


def test_the_server_answers_what_a_killed_reader_was_asked(server: Server) -> None:
    server.ask_all(["search"] * CLIENTS, wait_for_answers)
    (pid,) = server.readers.pids()
    os.kill(pid, signal.SIGKILL)
    answers = server.ask_all(["search"] * CLIENTS, open_gate)
    assert not any(it.is_error for it in answers)
    assert server.answered_here > 0


def test_the_server_answers_itself_while_files_change(server: Server) -> None:
    server.ask_all(["search"] * CLIENTS, wait_for_answers)
    server.is_quiet = False
    server.ask_all(["search"] * CLIENTS, open_gate)
    assert server.answered_here == CLIENTS


def test_a_reader_ends_with_its_server(server: Server) -> None:
    server.ask_all(["search"] * CLIENTS, wait_for_answers)
    (pid,) = server.readers.pids()
    server.readers.close()
    for _ in range(500):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_tools_of_the_server_itself_are_never_asked_elsewhere() -> None:
    asked = ClientArguments("core", (), "/")
    assert make_remote_call(asked, "status", {}) is None
    assert make_remote_call(asked, "index", {}) is None
    assert make_remote_call(ClientArguments("rifflux", (), "/"), "search_rifflux", {}) is None
