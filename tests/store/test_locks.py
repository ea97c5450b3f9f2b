"""Turns to write: in the order of waiting, with the holder told, lost with its process, and without locks at all."""

from __future__ import annotations

import errno
import fcntl
import json
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dowse.errors import IndexBusy, NotIndexed
from dowse.model import Scope
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.locks import LockTimeout, file_lock, has_waiting_writer, lock_path, read_lock_owner, write_lock
from dowse.store.types import ColumnWeights
from dowse.text.tokenize import parse_query
from support import eventually

HOLD = """
import sys, time
from pathlib import Path
from dowse.store.sqlite import SqliteStore
store = SqliteStore(Path(sys.argv[1]))
with store.writing(10, "dowse index"):
    print("held", flush=True)
    sys.stdin.readline()
    store.writer.add_collection("/written")
print("done", flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    SqliteStore(tmp_path / "i.db").close()
    return tmp_path / "i.db"


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the write lock until it is sent a line."""
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_the_holder_is_named(path: Path) -> None:
    assert read_lock_owner(path) is None
    with holder(path) as process, pytest.raises(IndexBusy) as busy, write_lock(path, 0.1):
        pass
    said = str(busy.value)
    assert said.startswith(f"process {process.pid} (dowse index, for ") and " s) is writing to " in said
    assert "searching still works" in said and "stopped" not in said
    with write_lock(path, 10.0, "this test"):
        told = read_lock_owner(path)
        assert told is not None and (told.pid, told.what, told.stopped) == (os.getpid(), "this test", False)
    assert read_lock_owner(path) is None


def test_a_stopped_holder_is_told_reading_goes_on_and_it_can_finish(path: Path) -> None:
    reader = SqliteStore(path, create=False)
    with holder(path) as process:
        process.send_signal(signal.SIGSTOP)
        eventually(lambda: (read_lock_owner(path) or pytest.fail("it is gone")).stopped)
        told = rf"process {process.pid} \(dowse index, for \d+ s, stopped\)"
        with pytest.raises(IndexBusy, match=told), reader.writing(0.1):
            pass
        assert reader.words.match(parse_query("x"), Scope(), ColumnWeights(), 5) == []
        process.send_signal(signal.SIGCONT)
        out, _ = process.communicate("go\n", timeout=60)
    assert out == "done\n"
    assert [it.root for it in reader.catalog.collections()] == ["/written"]
    with reader.writing(10.0):
        pass
    reader.close()


def test_a_killed_holder_holds_nothing(path: Path) -> None:
    with holder(path) as process:
        process.kill()
        process.wait()
        assert read_lock_owner(path) is None
        with write_lock(path, 10.0):
            pass


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"pid": "x"}', b'{"pid": -1, "started": "0", "what": "", "since": 0}',
     b'{"pid": 1, "started": 0, "what": 3, "since": null}', b"9" * 5_000],
)  # fmt: skip
def test_whatever_a_lock_file_holds_it_names_nobody(path: Path, content: bytes) -> None:
    lock_path(path).write_bytes(content)
    assert read_lock_owner(path) is None
    with write_lock(path, 1.0):
        assert read_lock_owner(path) is not None


def test_another_process_of_the_same_number_is_not_named(path: Path) -> None:
    note = {"pid": os.getpid(), "started": "1", "what": "long ago", "since": 0.0, "stopped": False}
    lock_path(path).write_text(json.dumps(note))
    assert read_lock_owner(path) is None


def write_again_and_again(path: Path, until: object) -> None:
    while not until.is_set():  # type: ignore[attr-defined]
        with write_lock(path, 60.0):
            time.sleep(0.03)


def test_who_writes_again_and_again_starves_nobody(path: Path) -> None:
    """Each of the others gets its turns, however greedy one of them is."""
    context = multiprocessing.get_context("spawn")
    until = context.Event()
    greedy = [context.Process(target=write_again_and_again, args=(path, until)) for _ in range(2)]
    for process in greedy:
        process.start()
    try:
        eventually(lambda: read_lock_owner(path) is not None)
        for _ in range(10):
            with write_lock(path, 30.0):
                pass
    finally:
        until.set()
        for process in greedy:
            process.join(60)


def test_a_holder_sees_that_somebody_waits(path: Path) -> None:
    store = SqliteStore(path)

    def wait() -> None:
        with write_lock(path, 60.0):
            pass

    waiting = threading.Thread(target=wait)
    with store.writing(1.0):
        assert not store.has_waiting_writer()
        waiting.start()
        eventually(store.has_waiting_writer)
    waiting.join()
    assert not has_waiting_writer(path)
    store.close()


def test_a_transaction_gets_its_turn_between_those_of_a_long_run(path: Path) -> None:
    """Vectors are stored while another process writes one transaction after another."""
    long_run, other = SqliteStore(path), SqliteStore(path, busy_timeout_s=20.0)
    done = threading.Event()

    def write() -> None:
        with long_run.writing(1.0):
            while not done.is_set():
                with long_run.writer.batch():
                    long_run.writer.note("busy", str(time.monotonic()))
                    time.sleep(0.15)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        eventually(lambda: "busy" in other.catalog.metadata())
        for number in range(8):
            other.writer.note("other", str(number))
    finally:
        done.set()
        thread.join()
    assert other.catalog.metadata()["other"] == "7"
    long_run.close()
    other.close()


def test_a_lock_file_that_was_removed_locks_nobody_in(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.lock"
    with file_lock(file, 1.0):
        file.unlink()
        # Another file: whoever removes one lets the next come, and no more.
        with file_lock(file, 1.0), pytest.raises(LockTimeout), file_lock(file, 0.05):
            pass


def test_who_waits_for_a_lock_file_that_was_removed_waits_for_the_next_one(tmp_path: Path) -> None:
    file = tmp_path / "a.lock"
    got = threading.Event()

    def wait() -> None:
        with file_lock(file, 60.0):
            got.set()

    with ExitStack() as first:
        first.enter_context(file_lock(file, 1.0))
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)  # it has opened the file by now, and if not, nothing is tested but nothing fails
        file.unlink()
        with file_lock(file, 1.0):
            first.close()
            assert not got.wait(0.5)
    thread.join()
    assert got.is_set()


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP, errno.EINVAL])
def test_where_files_have_no_locks_it_says_so_once_and_writes(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    def refuse(descriptor: int, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    stores = [SqliteStore(path, busy_timeout_s=30.0) for _ in range(2)]
    assert stores[0].problem == ""
    with caplog.at_level(logging.WARNING, "dowse.store"):
        threads = [threading.Thread(target=add_many, args=(it, place)) for place, it in enumerate(stores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(caplog.messages) == 2  # one for each store
    assert "has no locks" in stores[0].problem and "--index" in stores[0].problem
    assert len(stores[0].catalog.collections()) == 20
    for store in stores:
        store.close()


def add_many(store: SqliteStore, place: int) -> None:
    for number in range(10):
        with store.writing(10.0):
            store.writer.add_collection(f"/{place}/{number}")


def test_other_failures_of_a_lock_are_failures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(descriptor: int, how: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(Exception, match="Input/output error"), SqliteStore(path).writing(1.0):
        pass


def test_one_process_at_a_time_makes_vectors_and_others_write_meanwhile(path: Path) -> None:
    one, other = SqliteStore(path), SqliteStore(path)
    with one.encoding(1.0):
        with pytest.raises(IndexBusy, match="is making the vectors"), other.encoding(0.0):
            pass
        with other.writing(1.0):
            other.writer.add_collection("/x")
    with other.encoding(0.0):
        pass
    one.close()
    other.close()


# --- an index that goes away ---


def test_what_is_written_to_an_index_that_was_removed_is_not_lost_silently(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    store.writer.add_collection("/x")
    for file in tmp_path.glob("i.db*"):
        file.unlink()
    with pytest.raises(NotIndexed, match="was removed"):
        store.writer.add_collection("/y")
    with pytest.raises(NotIndexed, match="was removed"), store.writing(1.0):
        store.writer.add_collection("/y")
    store.close()
    again = SqliteStore(path)
    assert [it.root for it in again.catalog.collections()] == []
    again.writer.add_collection("/y")
    again.close()


def test_nothing_is_written_to_an_index_that_was_replaced(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    SqliteStore(tmp_path / "new.db").close()
    (tmp_path / "new.db").replace(path)
    with pytest.raises(IndexBusy, match="was replaced by another index"):
        store.writer.add_collection("/y")
    store.close()
