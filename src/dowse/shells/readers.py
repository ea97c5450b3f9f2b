"""Processes that answer questions beside the shared server. One interpreter runs one thread at a time, so many clients
would otherwise wait for one processor while the others have nothing to do."""

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
from dowse.ingest.workers.wire import receive, send, send_bytes
from dowse.processes import collect_garbage_rarely
from dowse.shells.backstage import Backstage
from dowse.shells.mcp import Call, Turns, answer_call
from dowse.shells.serving import log_to_stderr, make_profile
from dowse.shells.sharing.hello import Asked
from dowse.shells.tools import Bound, bind_all

log = logging.getLogger("dowse.readers")

MOST: Final = max(0, min(3, (os.cpu_count() or 1) - 1))
# Tools whose answers come from the index alone, by profile. Other tools tell of the server itself, or write.
ANSWERED_FROM_INDEX: Final[Mapping[str, frozenset[str]]] = {
    "core": frozenset({"search", "fetch", "grep", "symbols", "calls", "why", "related"})
}
_IDLE_S: Final = 60.0
_AHEAD: Final = 3
_ONE_MORE_AHEAD_FOR: Final = 12  # connections that wait
_START_AGAIN_S: Final = 10.0
# Modules in the directory where the server was started are not to be trusted (-P).
_START: Final = "import sys; sys.path[:] = sys.argv[1:]; from dowse.shells.readers import main; main()"


@dataclass(frozen=True, slots=True)
class Question:
    """One call of a tool, by a client that was started with `asked`."""

    asked: Asked
    tool: str
    arguments: Mapping[str, object]


def make_question(asked: Asked, tool: str, arguments: Mapping[str, object]) -> Question | None:
    """None for a tool that only the server itself can answer."""
    return Question(asked, tool, arguments) if tool in ANSWERED_FROM_INDEX.get(asked.profile, ()) else None


class Reader:
    """One process, asked one question at a time. It ends when its input does, so it never outlives the server."""

    def __init__(self, flags: Mapping[str, object]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,
        )
        self.pid = self._process.pid
        self._questions = cast(BinaryIO, self._process.stdin).fileno()
        self._answers = cast(BinaryIO, self._process.stdout).fileno()
        send(self._questions, dict(flags))
        receive(self._answers)

    def ask(self, question: Question) -> None:
        """Raises OSError where the process has ended."""
        send(self._questions, question)

    def receive_answer(self) -> types.CallToolResult:
        """To the question that was asked first of those without an answer. Raises EOFError where the process ended."""
        return types.CallToolResult.model_validate_json(receive(self._answers))

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Readers:
    """Starts a process when calls of many connections wait, and ends it when it has had nothing to do for a minute.

    `is_quiet` tells that the index is up to date and no job runs. Otherwise the server itself answers: it alone knows
    which files its watcher has seen change.
    """

    def __init__(
        self, turns: Turns, flags: Mapping[str, object], is_quiet: Callable[[], bool], most: int = MOST
    ) -> None:
        self._turns = turns
        self._flags = flags
        self._is_quiet = is_quiet
        self._most = most
        self._lock = threading.Lock()
        self._running: set[Reader] = set()
        self._threads = 0
        self._start_at = 0.0
        self._closed = False
        turns.on_crowd = self._start

    def pids(self) -> list[int]:
        return sorted(it.pid for it in self._running)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for reader in self._running:
                reader.close()

    def _start(self) -> None:
        """Called for every call that waits in a crowd, so it must be quick."""
        if self._threads >= self._most or time.monotonic() < self._start_at:
            return
        with self._lock:
            if self._closed or self._threads >= self._most:
                return
            self._threads += 1
            self._start_at = time.monotonic() + _START_AGAIN_S
        threading.Thread(target=self._run, name="dowse-reader", daemon=True).start()

    def _run(self) -> None:
        reader = None
        try:
            reader = Reader(self._flags)
            with self._lock:
                self._running.add(reader)
            if not self._closed:
                log.info("process %d answers beside this one", reader.pid)
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

    def _serve(self, reader: Reader) -> None:
        """A few questions are asked ahead, more in a larger crowd: this thread may wait long for the interpreter, the
        process must not."""
        asked: deque[tuple[object, Call]] = deque()
        try:
            while asked or not self._closed:
                ahead = _AHEAD + self._turns.count_waiting() // _ONE_MORE_AHEAD_FOR
                while len(asked) < ahead and (taken := self._turns.take_question(0 if asked else _IDLE_S)):
                    asked.append(taken)
                    if self._is_quiet():
                        reader.ask(cast(Question, taken[1].question))
                    else:
                        self._turns.give_back(*asked.pop())
                if not asked:
                    return
                call = asked[0][1]
                call.outcome = reader.receive_answer()
                asked.popleft()
                call.done()
        finally:
            for connection, call in reversed(asked):
                self._turns.give_back(connection, call)


# --- the process itself ---


def main() -> None:
    """Answer questions from stdin to stdout until stdin ends."""
    questions, answers = os.dup(0), os.dup(1)
    for descriptor in (0, 1):  # the pipes are ours alone: nothing that is printed may get between the answers
        os.dup2(2, descriptor)
    log_to_stderr(os.environ)
    try:
        flags = pickle.loads(receive(questions))
        collect_garbage_rarely()
        send_bytes(answers, b"ready")
        _answer_all(flags, questions, answers)
    except (EOFError, OSError):
        pass
    os._exit(0)


def _answer_all(flags: Mapping[str, object], questions: int, answers: int) -> None:
    tools: dict[Asked, Mapping[str, Bound]] = {}
    backstage = Backstage(on_open=_trust_server)
    while True:
        question: Question = pickle.loads(receive(questions))
        if question.asked not in tools:
            tools[question.asked] = _bind(question.asked, flags, backstage)
        result = answer_call(tools[question.asked][question.tool], dict(question.arguments))
        send_bytes(answers, result.model_dump_json(by_alias=True, exclude_unset=True).encode())


def _bind(asked: Asked, flags: Mapping[str, object], backstage: Backstage) -> Mapping[str, Bound]:
    profile = make_profile(
        asked.profile, roots=asked.paths, flags=flags, environment=os.environ, cwd=Path(asked.cwd), backstage=backstage
    )
    return bind_all(profile)


def _trust_server(engine: Engine) -> None:
    """The server asks only while its watcher knows of no change, and has one process for each processor."""
    engine.watched_by(dict)
    engine.spare_processors_when(lambda: True)
