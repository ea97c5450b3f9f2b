"""A server ends soon, however it is told to and whatever it is doing, and takes its children along."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from served import HELLO, Served, children_of, is_running

from dowse.server import mcp
from dowse.server import runtime as server_runtime
from dowse.server import shutdown as leaving
from dowse.store.sqlite.locks import has_waiting_writer, write_lock
from support import eventually, write

PROMISED_S = 5.0
LIMIT_S = 60.0  # for a machine with much else to do: what hangs, hangs for ever
MANY = 1_500
MANY_UNREAD = 1_000  # more than a server leaves unanswered, and few enough for a pipe to hold
MANY_CALLS = 300

Start = Callable[..., Served]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(3)
    words = [f"word{number}" for number in range(500)]
    root = tmp_path_factory.mktemp("large")

    def code(number: int) -> str:
        return "\n".join(f"def f{number}_{i}(a):\n    return '{' '.join(rng.choices(words, k=40))}'" for i in range(8))

    write(root, {f"d{number % 9}/f{number}.py": code(number) for number in range(MANY)})
    return root


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Served] = []

    def start_one(root: Path, **variables: str) -> Served:
        started.append(Served(root, tmp_path / "data", **variables))
        return started[-1]

    yield start_one
    for served in started:
        served.close()


def idle(start: Start, root: Path, large: Path, stack: ExitStack) -> Served:
    served = start(root)
    served.greet()
    served.ask("tools/call", {"name": "index", "arguments": {}})
    return served


def indexing(start: Start, root: Path, large: Path, stack: ExitStack) -> Served:
    served = start(large)
    served.greet()
    eventually(lambda: served.count("records") > 0)
    assert children_of(served.process.pid)
    return served


def encoding(start: Start, root: Path, large: Path, stack: ExitStack) -> Served:
    """With a transformer, which is busy with so many chunks for minutes; quick vectors come first."""
    served = start(large, DOWSE_ENCODER="granite", DOWSE_INCLUDE="d0/**")
    served.greet()
    eventually(lambda: served.count("vectors") > 100 or served.count("next_vectors") > 0, "no vectors")
    return served


def blocked(start: Start, root: Path, large: Path, stack: ExitStack) -> Served:
    """A tool that waits for a lock somebody else holds."""
    served = idle(start, root, large, stack)
    stack.enter_context(write_lock(served.index, 60.0))
    served.begin("tools/call", {"name": "index", "arguments": {"force": True}})
    eventually(lambda: has_waiting_writer(served.index))
    return served


def close_input(served: Served) -> None:
    assert served.process.stdin is not None
    served.process.stdin.close()


def narrow(served: Served) -> None:
    """A few answers fill its output."""
    assert served.process.stdout is not None
    fcntl.fcntl(served.process.stdout, fcntl.F_SETPIPE_SZ, 4_096)


def test_all_that_is_waited_for_at_the_end_takes_less_than_five_seconds() -> None:
    """On the way out that waits longest: the end of the input, an answer that never comes, work that never ends."""
    waits = (
        mcp._STDIO_LAST_ANSWERS_SECONDS,
        mcp._LAST_WRITE_SECONDS,
        leaving._LAST_WORK_SECONDS,
        leaving._PARENT_CHECK_SECONDS,
    )
    assert sum(waits) < PROMISED_S
    assert server_runtime._JOB_SHUTDOWN_SECONDS < leaving._LAST_WORK_SECONDS


STATES = (idle, indexing, encoding, blocked)
ENDS: dict[str, Callable[[Served], None]] = {
    "EOF": close_input,
    "SIGTERM": lambda served: served.process.send_signal(signal.SIGTERM),
    "SIGINT": lambda served: served.process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("state", STATES, ids=lambda it: it.__name__)
def test_it_ends_in_time_and_so_do_its_children(start: Start, root: Path, large: Path, state, how: str) -> None:
    write(root, {"a.md": "# A\n\nalpha\n", "b.py": "def b():\n    pass\n"})
    with ExitStack() as stack:
        served = state(start, root, large, stack)
        children = children_of(served.process.pid)
        ENDS[how](served)
        assert served.process.wait(LIMIT_S) == 0
        eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")


@pytest.mark.parametrize("closes_input", [False, True])
@pytest.mark.parametrize("state", [idle, blocked], ids=lambda it: it.__name__)
def test_it_ends_when_nobody_takes_its_answers(
    start: Start, root: Path, large: Path, state, closes_input: bool
) -> None:
    """Its client lives, and may even write on; the next answer tells that it is not read."""
    write(root, {"a.md": "# A\n\nalpha\n"})
    with ExitStack() as stack:
        served = state(start, root, large, stack)
        assert served.process.stdout is not None
        served.process.stdout.close()
        served.begin("ping", {})
        if closes_input:
            close_input(served)
        assert served.process.wait(LIMIT_S) == 0
        assert served.process.stderr is not None
        assert b"Traceback" not in served.process.stderr.read()


@pytest.mark.parametrize("state", [idle, indexing, blocked], ids=lambda it: it.__name__)
def test_it_ends_when_many_answers_are_unread_and_its_input_is_closed(
    start: Start, root: Path, large: Path, state
) -> None:
    """So many that it does not read on, up to the end of its input: its client lives, and keeps its end open."""
    write(root, {"a.md": "# A\n\nalpha\n"})
    with ExitStack() as stack:
        served = state(start, root, large, stack)
        narrow(served)
        for _ in range(MANY_UNREAD):
            served.begin("ping", {})
        children = children_of(served.process.pid)
        close_input(served)
        eventually(lambda: served.process.poll() is not None, "it waits for its client to read")
        assert served.process.returncode == 0
        eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")


def test_calls_that_take_long_do_not_keep_it_from_reading_up_to_the_end(start: Start, root: Path, large: Path) -> None:
    """As many as there are threads for reading and calling: the input is read all the same."""
    write(root, {"a.md": "# A\n\nalpha\n"})
    with ExitStack() as stack:
        served = start(root, DOWSE_LOCK_TIMEOUT_S="3600")
        served.greet()
        served.ask("tools/call", {"name": "index", "arguments": {}})
        stack.enter_context(write_lock(served.index, 60.0))
        for _ in range(MANY_CALLS):
            served.begin("tools/call", {"name": "index", "arguments": {"force": True}})
        close_input(served)
        assert served.process.wait(LIMIT_S) == 0


def test_a_slow_reader_that_has_closed_its_end_gets_every_answer(start: Start, root: Path, large: Path) -> None:
    with ExitStack() as stack:
        served = idle(start, root, large, stack)
        narrow(served)
        for _ in range(MANY_UNREAD):
            last = served.begin("ping", {})
        close_input(served)
        time.sleep(0.3)  # it has stopped to read by now, as a rule
        assert served.process.stdout is not None
        answered = [json.loads(line)["id"] for line in served.process.stdout]
        assert answered[-1] == last and len(answered) == MANY_UNREAD


def test_no_child_outlives_a_server_that_is_killed(start: Start, root: Path, large: Path) -> None:
    with ExitStack() as stack:
        served = indexing(start, root, large, stack)
        children = children_of(served.process.pid)
        served.process.kill()
        served.process.wait()
        eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")


CLIENT = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-m", "dowse", "mcp"], stdin=int(sys.argv[1]))
time.sleep(600)
"""


@pytest.mark.parametrize("busy", [False, True])
def test_it_ends_with_its_client_although_its_input_stays_open(
    root: Path, large: Path, tmp_path: Path, busy: bool
) -> None:
    write(root, {"a.md": "# A\n\nalpha\n"})
    reading, writing = os.pipe()
    environment = os.environ | {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(reading)],
        cwd=large if busy else root,
        env=environment,
        stdout=subprocess.PIPE,
        pass_fds=[reading],
    )
    try:
        assert client.stdout is not None
        os.write(writing, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}).encode())
        os.write(writing, b"\n")
        assert client.stdout.readline()  # it serves
        (server, *children) = children_of(client.pid)
        client.kill()
        client.wait()
        eventually(lambda: not is_running(server), "the server outlives its client", LIMIT_S)
        eventually(lambda: not any(map(is_running, children)), f"{children} outlive it")
    finally:
        client.kill()
        client.communicate()
        os.close(reading)
        os.close(writing)


def test_work_that_never_ends_keeps_nobody() -> None:
    assert left("ShutdownGuard(lambda: Event().wait()).exit_now()") == 0


def test_work_ends_while_the_last_words_are_written() -> None:
    script = "ended = Event(); ShutdownGuard(ended.set).exit_within(3600); ended.wait(); sys.exit(3)"
    assert left(script) == 3


def test_it_leaves_once_whoever_asks_and_however_often() -> None:
    script = """
leaving = ShutdownGuard(lambda: print("ended", flush=True))
leaving.exit_within(3600)
leaving.exit_within(3600)
leaving.exit_now()
"""
    assert left(script, says=b"ended\n") == 0


def test_a_system_without_threads_to_spare_keeps_nobody() -> None:
    script = """
def refused(self):
    raise RuntimeError("can't start new thread")
threading.Thread.start = refused
ShutdownGuard(Event().wait).exit_now()
"""
    assert left(script) == 0


def test_a_parent_that_was_gone_before_the_server_was_ready_is_noticed() -> None:
    orphan = """
import os, time, dowse.server
started_by = os.getppid()
print(os.getpid(), flush=True)
while os.getppid() == started_by:
    time.sleep(0.01)
from dowse.server.shutdown import ShutdownGuard
ShutdownGuard(lambda: None).watch()
time.sleep(600)
"""
    script = "import subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', sys.argv[1]])\ntime.sleep(600)"
    with subprocess.Popen([sys.executable, "-c", script, orphan], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
        eventually(lambda: not is_running(pid), "it outlives whoever started it", LIMIT_S)


def left(script: str, says: bytes = b"") -> int:
    """What a process that does this ends with."""
    imports = "import sys, threading; from threading import Event; from dowse.server.shutdown import ShutdownGuard\n"
    run = subprocess.run([sys.executable, "-c", imports + script], timeout=60, capture_output=True)
    assert run.stdout == says
    return run.returncode
