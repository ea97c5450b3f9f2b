"""An index that follows its files: by one of those that serve it, and by another when that one dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import Cancelled
from dowse.live.job import JobContext
from dowse.live.jobs import CheckWork, JobQueue, RepairWork
from dowse.live.leader import leader_of
from dowse.live.maintenance import Maintenance
from dowse.model import Query
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.locks import write_lock
from support import eventually, write

QUICK = Settings(
    encoder="hashing", debounce_ms=30, git_debounce_s=0.05, reconcile_s=0, freshness_timeout_ms=0, workers=1
)
Make = Callable[..., "Server"]


class Server:
    """What works behind a server, without its tools."""

    def __init__(self, root: Path, data: Path, settings: Settings, vectors: bool) -> None:
        self.settings = replace(settings, data_dir=data)
        self.index = data / "index.db"
        self.jobs = JobQueue(retry_waits_s=(0.05, 0.1, 0.2))
        self._engine: Engine | None = None
        self._turn = threading.Lock()
        self.upkeep = Maintenance(self.engine, self.jobs, self.settings, self.index, vectors=vectors, tick_s=0.02)
        self.upkeep.add_roots([root])
        self.upkeep.start()

    def engine(self) -> Engine:
        with self._turn:
            if self._engine is None:
                self._engine = Engine(self.settings, self.index, create=True)
            return self._engine

    def finds(self, word: str) -> list[str]:
        answer = self.engine().search(Query(word, recipe="lexical"))
        return [hit.stored.record.path for hit in answer.hits]

    def pending(self) -> Mapping[str, frozenset[str]] | None:
        """What the engine is told when it asks before an answer."""
        return self.upkeep._watch_manager.pending()

    def close(self) -> None:
        self.upkeep.close()
        self.jobs.close(5)
        if self._engine:
            self._engine.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "root", {"a.md": "# Alpha\n\nanchor\n", "b.md": "# Beta\n\nbeacon\n"})
    return tmp_path / "root"


@pytest.fixture
def serve(root: Path, tmp_path: Path) -> Iterator[Make]:
    servers: list[Server] = []

    def make(settings: Settings = QUICK, *, vectors: bool = True) -> Server:
        servers.append(Server(root, tmp_path / "data", settings, vectors))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def test_a_new_root_is_indexed_and_gets_vectors(serve: Make) -> None:
    server = serve()
    eventually(lambda: server.finds("anchor") == ["a.md"])
    eventually(lambda: server.engine().status().counts.vectors == 2)


def test_what_changes_is_followed(serve: Make, root: Path) -> None:
    server = serve()
    eventually(lambda: server.upkeep.leader_status().watch and server.finds("anchor"))
    (root / "a.md").write_text("# Alpha\n\nharbour\n")
    eventually(lambda: server.finds("harbour") == ["a.md"] and server.finds("anchor") == [])
    (root / "b.md").rename(root / "c.md")
    eventually(lambda: server.finds("beacon") == ["c.md"])
    (root / "c.md").unlink()
    eventually(lambda: server.finds("beacon") == [])
    write(root, {"deep/er/d.md": "# Delta\n\ndune\n"})
    eventually(lambda: server.finds("dune") == ["deep/er/d.md"])
    eventually(lambda: server.engine().status().counts.vectors == 2)


def test_one_leads_and_the_next_takes_over(serve: Make, root: Path) -> None:
    first = serve()
    eventually(lambda: first.upkeep.leader_status().leading)
    second = serve()
    eventually(lambda: second.finds("anchor"))
    assert not second.upkeep.leader_status().leading
    assert second.upkeep.leader_status().watch is None
    first.upkeep.close()
    eventually(lambda: second.upkeep.leader_status().leading)
    (root / "a.md").write_text("# Alpha\n\nharbour\n")
    eventually(lambda: second.finds("harbour") == ["a.md"])


def test_one_that_is_closed_while_it_looks_around_leaves_nothing_behind(serve: Make) -> None:
    server = serve()
    eventually(lambda: server.upkeep.leader_status().watch)
    looking, go_on, engine = threading.Event(), threading.Event(), server.engine()

    def held() -> Engine:
        looking.set()
        go_on.wait(60)
        return engine

    server.upkeep._engine = held
    assert looking.wait(60)
    server.upkeep.close()
    go_on.set()
    eventually(lambda: not server.upkeep._thread.is_alive())
    assert server.upkeep.leader_status().watch is None
    assert leader_of(server.index) is None


def test_what_changed_while_nobody_led_is_found_at_the_start(serve: Make, root: Path) -> None:
    first = serve()
    eventually(lambda: first.finds("anchor"))
    first.upkeep.close()
    (root / "a.md").write_text("# Alpha\n\nharbour\n")
    (root / "b.md").unlink()
    second = serve()
    eventually(lambda: second.finds("harbour") == ["a.md"] and second.finds("beacon") == [])


def test_every_collection_of_the_index_is_followed(serve: Make, root: Path, tmp_path: Path) -> None:
    server = serve()
    eventually(lambda: server.finds("anchor"))
    other = tmp_path / "other"
    write(other, {"o.md": "# Omega\n\norchard\n"})
    with Engine(server.settings, server.index, create=False) as engine:
        engine.index([other])
    eventually(lambda: (watch := server.upkeep.leader_status().watch) and len(watch.targets) == 2)
    write(other, {"p.md": "# Pi\n\npebble\n"})
    eventually(lambda: server.finds("pebble") == ["p.md"])


def test_without_watching_it_indexes_once(serve: Make, root: Path) -> None:
    server = serve(replace(QUICK, watch=False))
    eventually(lambda: server.finds("anchor"))
    keeping = server.upkeep.leader_status()
    assert not keeping.enabled and not keeping.leading and keeping.watch is None


def test_everything_is_compared_now_and_then(serve: Make, root: Path) -> None:
    server = serve(replace(QUICK, reconcile_s=0.1))
    eventually(lambda: server.finds("anchor"))
    eventually(lambda: any(it.kind == "reconcile" and it.status == "completed" for it in server.jobs.all()))


def test_vectors_of_what_another_process_indexed_are_made(serve: Make, root: Path) -> None:
    server = serve()
    eventually(lambda: server.engine().status().counts.vectors == 2)
    with Engine(replace(server.settings, watch=False), server.index, create=False) as engine:
        write(root, {"n.md": "# Nu\n\nnarwhal\n"})
        engine.index([root], vectors=False)
    eventually(lambda: server.engine().status().counts.vectors == 3)


def test_a_root_that_goes_keeps_what_was_indexed_and_is_followed_when_it_is_back(serve: Make, root: Path) -> None:
    server = serve()
    eventually(lambda: server.upkeep.leader_status().watch and server.finds("anchor"))
    away = root.with_name("away")
    root.rename(away)
    time.sleep(0.3)
    assert server.finds("anchor") == ["a.md"]
    away.rename(root)
    (root / "a.md").write_text("# Alpha\n\nharbour\n")
    eventually(lambda: server.finds("harbour") == ["a.md"])


def test_an_index_that_can_not_be_opened_is_told_and_tried_again(serve: Make, root: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index.db").mkdir()
    server = serve()
    eventually(lambda: server.upkeep.leader_status().problem)
    (tmp_path / "data" / "index.db").rmdir()
    eventually(lambda: server.finds("anchor") == ["a.md"])
    eventually(lambda: not server.upkeep.leader_status().problem)


def test_a_leader_that_is_stopped_is_told(serve: Make, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "dowse", "watch", "--index", str(tmp_path / "data" / "index.db")]
    environment = os.environ | {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    leader = subprocess.Popen(command, cwd=tmp_path / "root", env=environment, stderr=subprocess.PIPE)
    try:
        eventually(lambda: leader_of(tmp_path / "data" / "index.db") == leader.pid)
        server = serve()
        eventually(lambda: server.upkeep.leader_status().leader == leader.pid)
        assert not server.upkeep.leader_status().problem
        leader.send_signal(signal.SIGSTOP)
        eventually(lambda: f"kill -CONT {leader.pid}" in server.upkeep.leader_status().problem)
        leader.send_signal(signal.SIGCONT)
        eventually(lambda: not server.upkeep.leader_status().problem)
    finally:
        leader.kill()
        leader.communicate()


def test_what_can_not_be_followed_is_said_to_be_missing_from_answers(serve: Make, root: Path) -> None:
    server = serve(replace(QUICK, lock_timeout_s=0.05))
    eventually(lambda: server.upkeep.leader_status().watch and server.finds("anchor"))
    eventually(lambda: server.pending() == {"root": frozenset()})
    with write_lock(server.index, 60):
        (root / "a.md").write_text("# Alpha\n\nharbour\n")
        eventually(lambda: (job := server.jobs.last("follow")) and job.status == "failed")
        seen = server.engine().search(Query("harbour", recipe="lexical")).completeness.disk_freshness
        assert (seen.pending, seen.examples) == (1, ("a.md",))


def test_a_job_that_was_cancelled_leaves_its_files_pending(serve: Make, root: Path) -> None:
    server = serve()
    eventually(lambda: server.pending() == {"root": frozenset()})
    begun, go_on = threading.Event(), threading.Event()

    def hold(task: object) -> dict[str, object]:
        begun.set()
        go_on.wait(60)
        return {}

    server.jobs.submit("hold", hold)
    assert begun.wait(60)
    (root / "a.md").write_text("# Alpha\n\nharbour\n")
    eventually(lambda: server.jobs.running("follow"))
    job = server.jobs.running("follow")
    assert job and server.jobs.cancel(job.id)
    go_on.set()
    eventually(lambda: server.pending() == {"root": frozenset({"a.md"})})
    assert server.engine().search(Query("harbour", recipe="lexical")).completeness.disk_freshness.pending == 1


def test_damage_that_only_the_answers_of_another_server_meet_is_mended(
    serve: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse.live.maintenance._STANDBY_REPAIR_DELAY_S", 0.1)
    leader = serve()
    eventually(lambda: leader.upkeep.leader_status().leading and leader.engine().status().counts.vectors == 2)
    other = serve()
    with closing(apsw.Connection(str(other.index))) as connection:
        connection.set_busy_timeout(10_000)  # encoding may be going on
        connection.execute("UPDATE chunks SET seal = seal + 1 WHERE path = 'a.md'")
    assert other.finds("anchor") == []
    eventually(lambda: other.finds("anchor") == ["a.md"] and not other.engine().health.damaged_parts())
    for server in (leader, other):
        eventually(lambda server=server: (job := server.jobs.last("heal")) is None or job.finished is not None)
    assert list(other.index.parent.glob("*.damaged-*")) == [], "two who mend at once take nothing for damage"


def test_vectors_that_another_process_began_and_left_are_made(
    serve: Make, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dowse.live.maintenance._ENCODE_RETRY_S", 0.1)
    data = tmp_path / "data"
    with Engine(replace(QUICK, encoder="none", data_dir=data), data / "index.db", create=True) as engine:
        engine.index([root])
    with closing(SqliteStore(data / "index.db", create=False)) as store, store.encoding(60):
        server = serve()
        eventually(lambda: server.pending() == {"root": frozenset()})
        eventually(lambda: (job := server.jobs.last("encode")) and job.status == "completed")
        assert server.engine().status().counts.vectors == 0
    eventually(lambda: server.engine().status().counts.vectors == 2)


@pytest.mark.parametrize("wanted", [False, True])
def test_a_check_gives_way_to_other_work(serve: Make, root: Path, wanted: bool) -> None:
    server = serve()
    eventually(lambda: server.engine().status().counts.vectors == 2)
    steps: list[str] = []
    task = JobContext(lambda stage, done, total: steps.append(stage), lambda what: None, lambda: wanted)
    check = CheckWork(RepairWork(server.settings, server.index, root, lambda: None))
    if wanted:
        with pytest.raises(Cancelled, match="other work is waiting"):
            check(task)
        assert not steps
    else:
        assert check(task) == {"mended": []}
        assert steps
