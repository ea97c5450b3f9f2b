"""Workers against parsers that crash, hang, lie and devour, and against being killed themselves."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from poison import garbled, poisonous

from dowse.errors import DowseError, ParserFailed, Unreadable
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.extract.registry import Extractor, extract
from dowse.ingest.pipeline import PrepareTask, prepare_file
from dowse.ingest.worker_process import send_message
from dowse.ingest.workers import WorkerPool, unpickle_answer
from dowse.model import Item
from support import eventually

OpenWorkers = Callable[..., WorkerPool]


@pytest.fixture
def open_workers() -> Iterator[OpenWorkers]:
    opened: list[WorkerPool] = []

    def open_one(timeout_s: float = 30.0, extract: Extractor = poisonous, **rest: int) -> WorkerPool:
        opened.append(WorkerPool(1, timeout_s, extract=extract, **rest))
        return opened[-1]

    yield open_one
    for workers in opened:
        workers.close()


def task(text: str, path: str = "a.py") -> PrepareTask:
    return PrepareTask(Item(path, len(text), 1), text.encode(), ChunkLimits())


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


CODE = "import os\n\n\nclass A:\n    def b(self):\n        return os.getcwd()\n"


@pytest.mark.parametrize(
    ("path", "text"), [("a.py", CODE), ("a.md", "# A\n\n[[b]] #tag"), ("a.txt", "ü"), ("a.py", "")]
)
def test_what_a_worker_prepares_is_what_would_be_prepared_here(open_workers: OpenWorkers, path: str, text: str) -> None:
    assert open_workers().prepare(task(text, path)) == prepare_file(task(text, path), extract)


FAILURES = [
    ("abort", "the parser crashed (signal 6)"),
    ("exit", "the parser ended its process (exit code 3)"),
    ("memory", "the parser ran out of memory"),
    ("nonsense", "the parser failed (TypeError: str is not an extract)"),
    ("raise", "the parser failed (ZeroDivisionError: by the parser)"),
]


@pytest.mark.parametrize(("text", "reason"), FAILURES)
def test_a_failure_has_its_reason_and_the_next_file_is_fine(open_workers: OpenWorkers, text: str, reason: str) -> None:
    workers = open_workers()
    with pytest.raises(ParserFailed) as failure:
        workers.prepare(task(text))
    assert str(failure.value) == reason
    assert workers.prepare(task(CODE)).extract.text == CODE
    assert len(workers.pids()) == 1


@pytest.mark.parametrize("text", ["hang", "sleep"])
def test_what_takes_too_long_is_ended(open_workers: OpenWorkers, text: str) -> None:
    workers = open_workers(timeout_s=0.5)
    with pytest.raises(ParserFailed, match=r"the parser took longer than 0\.5 s"):
        workers.prepare(task(text))
    assert workers.pids() == []


def test_time_to_wait_for_a_reader_is_not_counted(open_workers: OpenWorkers) -> None:
    """A worker whose answer nobody takes yet is not slow; its pipe holds less than the answer."""
    workers = open_workers(timeout_s=4.0)
    worker = workers._idle_or_new()
    send_message(worker._pipes[0].fileno(), task("word " * 20_000, "a.txt"))
    with pytest.raises(subprocess.TimeoutExpired):
        worker._process.wait(5.0)
    workers._discard(worker)


def test_a_refusal_is_passed_on(open_workers: OpenWorkers) -> None:
    with pytest.raises(Unreadable, match="it is not for us") as refusal:
        open_workers().prepare(task("refuse"))
    assert not refusal.value.lasting


@pytest.mark.parametrize("text", ["print", "read"])
def test_a_parser_has_no_part_in_the_conversation(open_workers: OpenWorkers, text: str) -> None:
    assert open_workers().prepare(task(text)).extract.text == text


@pytest.mark.parametrize(
    "text", ["garbage", "dows", "dows" + "\xff" * 8, "dows" + "\0" * 8, "dows" + "\0" * 7 + "\x04\x80\x05N."]
)
def test_garbage_as_an_answer_fails_the_file_only(open_workers: OpenWorkers, text: str) -> None:
    workers = open_workers(extract=garbled)
    raw = PrepareTask(Item("a.py", 1, 1), text.encode("latin-1"), ChunkLimits())
    with pytest.raises(ParserFailed, match="invalid answer"):
        workers.prepare(raw)
    assert workers.pids() == []


@given(st.binary(max_size=200))
def test_bytes_are_an_answer_or_an_error_of_one_kind(data: bytes) -> None:
    with suppress(pickle.UnpicklingError):
        unpickle_answer(data)


def test_nothing_is_run_that_an_answer_names() -> None:
    with pytest.raises(pickle.UnpicklingError, match="is not allowed in an answer"):
        unpickle_answer(pickle.dumps(os.getcwd))


def test_a_worker_that_can_not_be_ended_by_its_timer_is_ended_all_the_same(
    open_workers: OpenWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse.ingest.workers._GRACE_S", 0.5)
    workers = open_workers(timeout_s=0.5)
    with pytest.raises(ParserFailed, match="did not answer"):
        workers.prepare(task("deaf"))
    assert workers.pids() == []


def test_a_worker_that_is_killed_while_idle_is_replaced(open_workers: OpenWorkers) -> None:
    workers = open_workers()
    workers.prepare(task(CODE))
    (before,) = workers.pids()
    os.kill(before, signal.SIGKILL)
    eventually(lambda: not is_running(before))
    assert workers.prepare(task(CODE)).extract.text == CODE
    assert workers.pids() != [before]


def test_a_file_is_not_blamed_for_a_worker_that_is_killed_from_outside(
    open_workers: OpenWorkers, tmp_path: Path
) -> None:
    workers = open_workers(extract=slow_once)
    flag = tmp_path / "begun"
    killer = threading.Thread(target=lambda: (eventually(flag.exists), os.kill(workers.pids()[0], signal.SIGKILL)))
    killer.start()
    assert workers.prepare(task(str(flag))).extract.text == str(flag)
    killer.join()


def slow_once(item: Item, data: bytes) -> object:
    flag = Path(data.decode())
    if not flag.exists():
        flag.touch()
        time.sleep(600)
    return extract(item, data)


def test_warm_workers_are_used_again(open_workers: OpenWorkers) -> None:
    workers = open_workers()
    workers.prepare(task(CODE))
    before = workers.pids()
    workers.prepare(task(CODE))
    assert workers.pids() == before


def test_one_can_be_had_ready(open_workers: OpenWorkers) -> None:
    workers = open_workers()
    workers.warm()
    workers.warm()
    (ready,) = workers.pids()
    workers.prepare(task("x = 1"))
    assert workers.pids() == [ready]


def test_closing_ends_all_of_them_and_whoever_waits(open_workers: OpenWorkers) -> None:
    workers = open_workers()
    workers.prepare(task(CODE))
    outcome: list[str] = []

    def wait() -> None:
        try:
            workers.prepare(task("sleep"))
        except DowseError as error:
            outcome.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    (pid,) = workers.pids()
    eventually(lambda: not workers._idle)
    workers.close()
    waiting.join(60)
    assert outcome == ["indexing was stopped"]
    assert not is_running(pid)
    with pytest.raises(DowseError, match="stopped"):
        workers.prepare(task(CODE))


def test_a_process_that_can_not_be_started_is_no_fault_of_the_file(
    open_workers: OpenWorkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(Unreadable, match="cannot be started") as refusal:
        open_workers().prepare(task(CODE))
    assert not refusal.value.lasting
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(Unreadable, match="it exited with code 1"):
        open_workers().prepare(task(CODE))


def test_modules_of_the_directory_it_is_started_in_are_not_run(
    open_workers: OpenWorkers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("dowse", "pickle", "signal", "resource"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(1)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [it for it in sys.path if it])
    assert open_workers().prepare(task(CODE)).extract.text == CODE


PARENT = """
import signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has processes in the background ignore it
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.pipeline import PrepareTask
from dowse.ingest.workers import WorkerPool
from dowse.model import Item
from poison import poisonous
workers = WorkerPool(2, 600.0, extract=poisonous)
workers.prepare(PrepareTask(Item("a.py", 1, 1), b"x = 1", ChunkLimits()))
print(*workers.pids(), flush=True)
{then}
"""
THEN = {
    "idle": 'open("{flag}", "w").close(); time.sleep(600)',
    "busy": 'workers.prepare(PrepareTask(Item("a.py", 1, 1), b"sleep {flag}", ChunkLimits()))',
    "hung": 'workers.prepare(PrepareTask(Item("a.py", 1, 1), b"hang {flag}", ChunkLimits()))',
}


ENDS = [
    ("idle", signal.SIGKILL),
    ("busy", signal.SIGKILL),
    ("hung", signal.SIGKILL),
    ("hung", signal.SIGINT),
    ("busy", signal.SIGTERM),
]


@pytest.mark.parametrize(("state", "how"), ENDS)
def test_no_worker_outlives_its_parent(tmp_path: Path, state: str, how: signal.Signals) -> None:
    flag = tmp_path / "begun"
    script = "import sys; sys.path[:] = sys.argv[1:]\n" + PARENT.format(then=THEN[state].format(flag=flag))
    process = subprocess.Popen(
        [sys.executable, "-c", script, *sys.path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    pids = [int(pid) for pid in process.stdout.readline().split()]
    eventually(flag.exists)
    assert pids and all(is_running(pid) for pid in pids)
    process.send_signal(how)
    process.wait(60)
    process.stdout.close()
    eventually(lambda: not any(is_running(pid) for pid in pids))
