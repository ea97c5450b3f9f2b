"""Syncs with workers: the same index as without, whatever becomes of a parser, and what failed is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from poison import poisonous

from dowse.config import Settings
from dowse.engine import Engine
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.sources.files import FileSource
from dowse.ingest.sync import CollectionSync
from dowse.ingest.workers import WorkerPool
from dowse.model import Item, Query
from dowse.store.sqlite import SqliteStore
from dowse.tools.core_render import status_json
from oracle.dict_store import DictStore
from support import write

OLD = 1_600_000_000_000_000_000
OpenPoisoned = Callable[..., Engine]
CODE = "import os\n\n\nclass Thing{n}:\n    def method(self):\n        return os.path.join('a', str({n}))\n"


@pytest.fixture
def open_poisoned(tmp_path: Path) -> Iterator[OpenPoisoned]:
    """Engines on one index, whose parser can be poisoned."""
    opened: list[Engine] = []

    def open_one(count: int = 2, timeout_s: float = 30.0) -> Engine:
        settings = Settings(encoder="none", data_dir=tmp_path / "data")
        workers = WorkerPool(count, timeout_s, extract=poisonous)
        opened.append(Engine(settings, tmp_path / "i.db", create=True, workers=workers))
        return opened[-1]

    yield open_one
    for engine in opened:
        engine.close()


def pids(engine: Engine) -> list[int]:
    assert engine._core.workers is not None
    return engine._core.workers.pids()


def quarantined(engine: Engine) -> dict[str, str]:
    return {it.path: it.reason for it in engine.status().quarantined}


def everything(store: SqliteStore) -> list[object]:
    """All that a sync writes, with the keys of the chunks."""
    kept = []
    for stored in store.catalog.export():
        record = stored.record
        kept.append(
            (
                stored,
                store.catalog.symbols(record),
                store.catalog.links(record),
                store.catalog.calls(record),
                store.catalog.text(record),
            )
        )
    return [store.catalog.counts(), *kept]


def corpus(root: Path) -> None:
    write(root, {f"src/d{n % 5}/m{n}.py": CODE.format(n=n) * (1 + n % 4) for n in range(60)})
    write(root, {f"docs/{n}.md": f"# Page {n}\n\n## Part\n\n[[other]] text {n}\n" for n in range(50)})
    write(root, {"a.txt": "plain", "data.json": '{"a": 1}', "empty.py": "", "broken.py": "def f(:\n  class"})
    (root / "nul.py").write_bytes(b"a\0b")
    for path in root.rglob("*"):
        os.utime(path, ns=(OLD, OLD))


def test_any_number_of_workers_writes_the_same_index(root: Path, tmp_path: Path) -> None:
    corpus(root)
    found = []
    for count in (0, 1, 2, 4):
        store = SqliteStore(tmp_path / f"{count}.db")
        collection = store.writer.add_collection(str(root)).name
        workers = WorkerPool(count, 30.0) if count else None
        report = CollectionSync(FileSource(root), store, collection, ChunkLimits(), workers=workers).run()
        found.append((report, everything(store), store.catalog.skipped_items()))
        if workers:
            workers.close()
        store.close()
    assert found[0][0].indexed == 114 and found[0][0].skipped == 1
    assert found[1:] == found[:1] * 3


def test_many_files_with_a_few_poisonous_ones(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {f"m{n}.py": CODE.format(n=n) for n in range(30)})
    poison = {"m3.py": "abort", "m12.py": "hang", "m20.py": "nonsense", "m29.py": "memory"}
    write(root, {path: f"{word} Unmistakable\n" for path, word in poison.items()})
    engine = open_poisoned(timeout_s=3.0)
    report = engine.index([root])
    assert (report.indexed, report.skipped) == (30, 0)
    assert quarantined(engine) == {
        "m3.py": "the parser crashed (signal 6)",
        "m12.py": "the parser took longer than 3 s",
        "m20.py": "the parser failed (TypeError: str is not an extract)",
        "m29.py": "the parser ran out of memory",
    }
    hits = engine.search(Query("unmistakable", recipe="lexical")).hits
    assert {hit.stored.record.path for hit in hits} == set(poison)
    assert all(hit.stored.record.facets["language"] == "python" for hit in hits)
    assert engine.status().counts.symbols == 26 * 2


def test_what_failed_is_listed_until_it_changes(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {"good.py": CODE, "bad.py": "abort"})
    for path in root.iterdir():
        os.utime(path, ns=(OLD, OLD))
    engine = open_poisoned()
    engine.index([root])
    reason = "the parser crashed (signal 6)"
    listed = {"collection": root.name, "path": "bad.py", "reason": reason}
    assert status_json(engine.status(), engine)["quarantined"] == [listed]
    before = pids(engine)
    assert engine.index([root]).unchanged == 2
    assert pids(engine) == before  # nothing was parsed, so nothing crashed
    assert engine.index([root], force=True).indexed == 2
    assert quarantined(engine) == {"bad.py": reason}
    write(root, {"bad.py": "mended = 1\n"})
    assert engine.index([root]).indexed == 1
    assert quarantined(engine) == {}
    assert [it.name for it in engine._core.store.catalog.symbols(engine.record("bad.py")[0])] == ["mended"]


def test_what_can_not_be_stored_is_skipped_and_the_rest_is_kept(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {"a.py": CODE, "b.py": "unnamed", "c.py": CODE})
    engine = open_poisoned()
    assert engine.index([root]).indexed == 2
    assert [it.path for it in engine.status().skipped] == ["b.py"]
    assert "cannot be stored" in engine.status().skipped[0].reason


def test_what_can_not_be_read_just_now_is_tried_again(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {"a.py": "refuse"})
    engine = open_poisoned()
    for _ in range(2):
        assert engine.index([root]).skipped == 1
    assert [(it.path, it.reason) for it in engine.status().skipped] == [("a.py", "it is not for us")]


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {f"m{n}.py": CODE.format(n=n) for n in range(40)})
    engine = open_poisoned()

    def kill_one(stage: str, done: int, total: int) -> None:
        if done in (5, 20):
            os.kill(pids(engine)[0], signal.SIGKILL)

    assert engine.index([root], progress=kill_one).indexed == 40
    assert quarantined(engine) == {}
    assert engine.status().counts.symbols == 80


def test_documents_need_no_worker_and_few_files_need_few(root: Path, open_poisoned: OpenPoisoned) -> None:
    engine = open_poisoned(count=4)
    write(root, {"a.md": "# A", "b.txt": "b", "c.json": "{}"})
    engine.index([root])
    assert pids(engine) == []
    write(root, {"one.py": CODE})
    engine.index([root])
    assert len(pids(engine)) == 1
    before = pids(engine)
    write(root, {"one.py": CODE + "x = 1\n"})
    engine.index([root])
    assert pids(engine) == before


def test_progress_is_told_file_by_file(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {f"{n}.py": CODE for n in range(10)} | {f"{n}.md": "text" for n in range(5)})
    engine = open_poisoned()
    engine.index([root / "0.py"])
    told: list[tuple[str, int, int]] = []
    engine.index([root], progress=lambda *told_now: told.append(told_now))
    assert told[0][1] in (0, 1)  # a file this new is read once more
    assert told == [("reading", done, 15) for done in range(told[0][1], 16)]


def test_what_is_read_before_an_interrupt_is_not_lost(root: Path, open_poisoned: OpenPoisoned) -> None:
    """Files that came before a batch was written are there; the worker that was asked meanwhile is gone."""
    write(root, {f"{n:03}.py": CODE.format(n=n) for n in range(450)})
    engine = open_poisoned()

    def interrupt(stage: str, done: int, total: int) -> None:
        if done == 420:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.index([root], progress=interrupt)
    kept = engine.status().counts.records
    assert 200 <= kept < 450
    assert engine.index([root]).indexed == 450 - kept
    assert engine.status().counts.records == 450


def test_a_slow_file_does_not_keep_others_from_being_written(root: Path, open_poisoned: OpenPoisoned) -> None:
    write(root, {"a.py": CODE, "b.py": CODE, "c.py": "sleep"})
    engine = open_poisoned(timeout_s=20.0)
    running = threading.Thread(target=engine.index, args=([root],), daemon=True)
    running.start()
    for _ in range(2_000):
        if engine.completeness().indexed == 2:
            break
        running.join(0.01)
    assert running.is_alive() and engine.completeness().indexed == 2
    for pid in pids(engine):
        os.kill(pid, signal.SIGALRM)
    running.join(60)
    assert quarantined(engine) == {"c.py": "the parser took longer than 20 s"}


def test_without_workers_a_failure_is_told_as_well(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(item: Item, data: bytes) -> object:
        raise RecursionError("too deep")

    monkeypatch.setattr("dowse.ingest.pipeline.extract", failing)
    write(root, {"a.md": "# A\n\ntext"})
    store = DictStore()
    CollectionSync(FileSource(root), store, store.writer.add_collection(str(root)).name, ChunkLimits()).run()
    assert store.catalog.records_with_facet("unparsed") == [
        (root.name, "a.md", "the parser failed (RecursionError: too deep)")
    ]
    assert [it.chunk.text for it in store.catalog.export()] == ["# A\n\ntext"]


def test_status_on_the_command_line_says_what_was_not_parsed(root: Path, tmp_path: Path) -> None:
    write(root, {"slow.py": "x = 1\n" * 200_000})
    environment = os.environ | {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "none"}

    def dowse(*words: str) -> str:
        command = [sys.executable, "-m", "dowse", *words]
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
        return done.stdout

    dowse("index", "--parse-timeout-s", "0.01", "--workers", "1")
    assert "unparsed  1: 1 × the parser took longer than 0.01 s" in dowse("status")
    assert [it["path"] for it in json.loads(dowse("status", "--json"))["quarantined"]] == ["slow.py"]


def test_what_is_too_large_to_parse_is_text(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dowse.ingest.pipeline.MAX_PARSED_BYTES", 100)
    write(
        root, {"large.py": CODE.format(n=1) + "# Unmistakable\n" * 20, "large.md": "# Title\n" * 50, "b.py": "x = 1\n"}
    )
    with Engine(Settings(encoder="none", data_dir=tmp_path / "data"), tmp_path / "i.db", create=True) as engine:
        engine.index([root])
        ((path, reason),) = quarantined(engine).items()
        assert path == "large.py" and reason.startswith("too large to parse (")
        assert engine.search(Query("unmistakable", recipe="lexical")).hits
        assert [it.name for it in engine._core.store.catalog.symbols(engine.record("b.py")[0])] == ["x"]


def test_after_many_files_no_worker_is_kept(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, {f"{n}.py": CODE.format(n=n) for n in range(5)})
    with Engine(Settings(encoder="none", data_dir=tmp_path / "data"), tmp_path / "i.db", create=True) as engine:
        engine.index([root])
        assert engine._core.workers is not None
        kept = engine._core.workers
        monkeypatch.setattr("dowse.engine.index_service._WORKER_RESET_FILES", 5)
        engine.index([root], force=True)
        assert engine._core.workers is None
        assert kept.pids() == []
        write(root, {"0.py": "changed = 1\n"})
        assert engine.index([root]).indexed == 1
