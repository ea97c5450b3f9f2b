"""Reader processes that answer questions next to the shared server.

One interpreter runs one thread at a time, so many clients would otherwise wait for one processor while others are idle.
"""

from __future__ import annotations

import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

import mcp_types as types

from dowse.engine import Engine
from dowse.ingest.worker_process import receive_message, send_message, send_message_bytes
from dowse.processes import collect_garbage_rarely
from dowse.server.mcp import CallableTool, CallScheduler, ScheduledCall, answer_call, bind_tools
from dowse.server.runtime import ServerRuntime, log_to_stderr, make_profile
from dowse.server.sharing.hello import ClientArguments

log = logging.getLogger("dowse.readers")

MAX_READERS: Final = max(0, min(3, (os.cpu_count() or 1) - 1))
# Tools whose answers come only from the index, by profile. Other tools report on the server itself, or write.
ANSWERED_FROM_INDEX: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset({"search", "fetch", "grep", "symbols", "calls", "why", "related"})
}
_READER_IDLE_SECONDS: Final = 60.0
_QUESTIONS_AHEAD: Final = 3
_CONNECTIONS_PER_EXTRA_QUESTION: Final = 12  # waiting connections
_READER_START_INTERVAL_S: Final = 10.0
# -P: modules in the directory where the server was started are not to be trusted.
_READER_PROGRAM: Final = (
    "import sys; sys.path[:] = sys.argv[1:]; from dowse.server.readers import run_reader; run_reader()"
)


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """One tool call, by a client that was started with `client`."""

    client: ClientArguments
    tool: str
    arguments: Mapping[str, object]


def make_remote_call(client: ClientArguments, tool: str, arguments: Mapping[str, object]) -> RemoteCall | None:
    """Return the question, or None for a tool that only the server itself can answer."""
    return RemoteCall(client, tool, arguments) if tool in ANSWERED_FROM_INDEX.get(client.profile, ()) else None


class ReaderProcess:
    """One process, asked one question at a time. It ends when its input does, so it never outlives the server."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _READER_PROGRAM, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,
        )
        self.pid = self._process.pid
        self._questions = cast(BinaryIO, self._process.stdin).fileno()
        self._answers = cast(BinaryIO, self._process.stdout).fileno()
        send_message(self._questions, dict(flags))
        receive_message(self._answers)

    def ask(self, question: RemoteCall) -> None:
        """Send a question; raise OSError if the process has ended."""
        send_message(self._questions, question)

    def receive_answer(self) -> types.CallToolResult:
        """Return the answer to the oldest unanswered question; raise EOFError if the process has ended."""
        return types.CallToolResult.model_validate_json(receive_message(self._answers))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class ReaderPool:
    """Starts a process when calls of many connections wait, and ends it after a minute without work.

    `is_quiet` reports that the index is current and no job runs. Otherwise the server itself answers, because only it
    knows which files its watcher has seen change.
    """

    def __init__(
        self, turns: CallScheduler, flags: Mapping[str, object], is_quiet: Callable[[], bool], most: int = MAX_READERS
    ) -> None:
        self._turns = turns
        self._flags = flags
        self._is_quiet = is_quiet
        self._most = most
        self._lock = threading.Lock()
        self._running: set[ReaderProcess] = set()
        self._threads = 0
        self._start_at = 0.0
        self._closed = False
        turns.on_overload = self._start

    def pids(self) -> list[int]:
        return sorted(it.pid for it in self._running)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for reader in self._running:
                reader.close()

    def _start(self) -> None:
        """Start a process if one may start; called for every call that waits in a crowd, so it must be quick."""
        if self._threads >= self._most or time.monotonic() < self._start_at:
            return
        with self._lock:
            if self._closed or self._threads >= self._most:
                return
            self._threads += 1
            self._start_at = time.monotonic() + _READER_START_INTERVAL_S
        threading.Thread(target=self._run, name="dowse-reader", daemon=True).start()

    def _run(self) -> None:
        reader = None
        try:
            reader = ReaderProcess(self._flags)
            with self._lock:
                self._running.add(reader)
            if not self._closed:
                log.info("started reader process %d", reader.pid)
                self._serve(reader)
        except (OSError, EOFError, ValueError) as error:
            if not self._closed:
                log.warning("a reader process ended: %s", error or type(error).__name__)
        finally:
            with self._lock:
                self._threads -= 1
                if reader is not None:
                    self._running.discard(reader)
            if reader is not None:
                reader.close()

    def _serve(self, reader: ReaderProcess) -> None:
        """Pass questions on to the process, a few ahead and more in a larger crowd: this thread may wait long for the
        interpreter, the process must not."""
        pending: deque[tuple[object, ScheduledCall]] = deque()
        try:
            while pending or not self._closed:
                max_pending = _QUESTIONS_AHEAD + self._turns.count_waiting() // _CONNECTIONS_PER_EXTRA_QUESTION
                while len(pending) < max_pending and (
                    taken := self._turns.take_remote_call(0 if pending else _READER_IDLE_SECONDS)
                ):
                    pending.append(taken)
                    if self._is_quiet():
                        reader.ask(cast(RemoteCall, taken[1].question))
                    else:
                        self._turns.give_back(*pending.pop())
                if not pending:
                    return
                call = pending[0][1]
                call.outcome = reader.receive_answer()
                pending.popleft()
                call.done()
        finally:
            for connection, call in reversed(pending):
                self._turns.give_back(connection, call)


# --- the process itself ---


def run_reader() -> None:
    """Answer questions from stdin to stdout until stdin ends."""
    questions, answers = os.dup(0), os.dup(1)
    for descriptor in (0, 1):  # no printed text may get between the answers
        os.dup2(2, descriptor)
    log_to_stderr(os.environ)
    try:
        flags = pickle.loads(receive_message(questions))
        collect_garbage_rarely()
        send_message_bytes(answers, b"ready")
        _answer_questions(flags, questions, answers)
    except (EOFError, OSError):
        pass
    os._exit(0)


def _answer_questions(flags: Mapping[str, object], questions: int, answers: int) -> None:
    tools: dict[ClientArguments, Mapping[str, CallableTool]] = {}
    server_runtime = ServerRuntime(on_open=_trust_server)
    while True:
        question: RemoteCall = pickle.loads(receive_message(questions))
        if question.client not in tools:
            tools[question.client] = _bind_tools(question.client, flags, server_runtime)
        result = answer_call(tools[question.client][question.tool], dict(question.arguments))
        send_message_bytes(answers, result.model_dump_json(by_alias=True, exclude_unset=True).encode())


def _bind_tools(
    client: ClientArguments, flags: Mapping[str, object], server_runtime: ServerRuntime
) -> Mapping[str, CallableTool]:
    profile = make_profile(
        client.profile,
        roots=client.paths,
        flags=flags,
        environment=os.environ,
        cwd=Path(client.cwd),
        server_runtime=server_runtime,
    )
    return bind_tools(profile)


def _trust_server(engine: Engine) -> None:
    """Disable checks that the server does: it asks only while its watcher knows of no change, and has one process per
    processor."""
    engine.freshness.set_pending_source(dict)
    engine.use_one_thread_when(lambda: True)
