"""The write-ahead log stays under 64 MB, whoever reads meanwhile."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dowse.errors import IndexBusy
from dowse.model import Chunk, Record
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite import database as logs
from dowse.store.types import ChunkInput

LIMIT = 64_000_000
READ = """
import sys, time, apsw
connection = apsw.Connection(sys.argv[1], flags=apsw.SQLITE_OPEN_READONLY)
connection.execute("BEGIN")
connection.execute("SELECT count(*) FROM records").fetchall()
print("reading", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
print("done", flush=True)
time.sleep(600)
"""


class Sampled:
    """The longest the log of an index ever was, looked at all the time."""

    def __init__(self, index: Path) -> None:
        self.longest = 0
        self._file = Path(f"{index}-wal")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self) -> None:
        while not self._done.wait(0.002):
            if self._file.exists():
                self.longest = max(self.longest, self._file.stat().st_size)

    def __enter__(self) -> Sampled:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()


@contextmanager
def reading(path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process inside a read transaction, until it is sent a line."""
    command = [sys.executable, "-c", READ, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "reading\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "i.db", busy_timeout_s=0.3)
    opened.writer.add_collection("/c")
    yield opened
    opened.close()


def writing(store: SqliteStore, megabytes: int) -> Iterator[int]:
    """Files of a megabyte, four in a transaction; gives the bytes that were written by then, about."""
    rng = random.Random(1)
    for number in range(megabytes // 4):
        with store.writer.batch(4_000_000):
            for place in range(4):
                text = rng.randbytes(500_000).hex()
                pieces = [ChunkInput(Chunk(0, text, 1, 1), rng.randbytes(16), names="")]
                store.writer.put(Record("c", f"{number}/{place}.md", "doc", "", 1, 1, "d", "c"), pieces, text=text)
        yield (number + 1) * 4_000_000


def test_a_long_reader_makes_writing_wait_and_never_the_log_long(store: SqliteStore, tmp_path: Path) -> None:
    """More than 200 MB are written; whoever reads holds the log in the middle of it for a while."""
    refused = 0
    with Sampled(tmp_path / "i.db") as sampled, reading(tmp_path / "i.db") as reader:
        work = writing(store, 100)
        next(work)
        while True:
            try:
                next(work)
            except IndexBusy as busy:
                refused += 1
                assert "keeps" in str(busy) and "MB in its log; end that process" in str(busy)
                break
        assert store.catalog.export()  # reading goes on
        assert reader.stdin is not None and reader.stdout is not None
        reader.stdin.write("go\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "done\n"
        for _ in writing(store, 100):
            pass
    assert refused == 1
    assert 16_000_000 < sampled.longest < LIMIT
    assert Path(tmp_path / "i.db").stat().st_size > 100_000_000


def test_a_stopped_reader_holds_up_writing_until_it_goes_on(store: SqliteStore, tmp_path: Path) -> None:
    with Sampled(tmp_path / "i.db") as sampled, reading(tmp_path / "i.db") as reader:
        reader.send_signal(signal.SIGSTOP)
        with pytest.raises(IndexBusy, match="it may be stopped"):
            for _ in writing(store, 200):
                pass
        reader.send_signal(signal.SIGCONT)
        reader.kill()
        reader.wait()
        for _ in writing(store, 12):
            pass
    assert sampled.longest < LIMIT


def test_readers_that_come_and_go_all_the_time_hold_up_nobody(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db", busy_timeout_s=60.0)  # a busy machine may hold up a reader
    store.writer.add_collection("/c")
    done = threading.Event()

    def read() -> None:
        own = SqliteStore(tmp_path / "i.db", create=False)
        while not done.is_set():
            with own.db.moment():
                own.db.rows("SELECT count(*) FROM chunks")
                time.sleep(0.03)
        own.close()

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    with Sampled(tmp_path / "i.db") as sampled:
        for _ in writing(store, 60):
            pass
    done.set()
    for thread in threads:
        thread.join()
    store.close()
    assert sampled.longest < LIMIT


def test_a_long_log_is_emptied_at_once_when_nobody_reads(store: SqliteStore, tmp_path: Path) -> None:
    with store.writer.batch(20_000_000):
        store.writer.note("large", random.Random(1).randbytes(10_000_000).hex())
    assert (tmp_path / "i.db-wal").stat().st_size == 0


def test_a_large_file_waits_for_an_empty_log(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    emptied: list[int] = []
    empty = logs.WriteAheadLog._truncate

    def watched(log: logs.WriteAheadLog, *rest: object) -> None:
        empty(log, *rest)  # type: ignore[arg-type]
        emptied.append(log.size())

    store.writer.note("a", "b" * 100_000)
    assert (tmp_path / "i.db-wal").stat().st_size > 100_000
    monkeypatch.setattr(logs.WriteAheadLog, "_truncate", watched)
    with store.writer.batch(10_000_000):
        pass
    assert emptied == [0]


@pytest.mark.parametrize("whole", [lambda store: list(store.catalog.export()), lambda store: store.symbols.lossy()])
def test_what_reads_everything_is_no_long_reader(
    store: SqliteStore, tmp_path: Path, whole: Callable[[SqliteStore], object]
) -> None:
    """In the middle of it the log can be emptied."""
    for _ in writing(store, 8):
        pass
    writer = SqliteStore(tmp_path / "i.db", busy_timeout_s=0.3)
    original, sizes = store.db.rows, []

    def rows(*values: object) -> object:
        found = original(*values)  # type: ignore[arg-type]
        writer.writer.note("now", str(len(sizes)))
        writer.maintenance.settle()
        sizes.append((tmp_path / "i.db-wal").stat().st_size)
        return found

    store.db.rows = rows  # type: ignore[assignment, method-assign]
    whole(store)
    assert len(sizes) > 8 and set(sizes) == {0}
    writer.close()
