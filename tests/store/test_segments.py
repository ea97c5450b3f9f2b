"""After much was written, the full-text index is one segment; answers stay as they were."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from dowse.errors import Cancelled
from dowse.model import Chunk, Record, Scope
from dowse.store.sqlite import SqliteStore, health
from dowse.store.sqlite import writer as segments
from dowse.store.types import ChunkInput, ColumnWeights
from dowse.text.tokenize import parse_query

BATCHES = 8
MANY = 2_400


def fill(store: SqliteStore, chunks: int) -> None:
    store.writer.add_collection("/r", name="r")
    for batch in range(BATCHES):
        with store.writer.batch():
            for number in range(chunks // BATCHES):
                text = f"word{number} common {'even' if number % 2 == 0 else 'odd'}"
                piece = ChunkInput(Chunk(0, text, 1, 1), batch.to_bytes(8) + number.to_bytes(8))
                store.writer.put(Record("r", f"{batch}/{number}.md", "doc", "", 1, 1, "d", "c"), [piece])


def quiet(stage: str, done: int, total: int) -> None:
    pass


def segments_of(path: Path) -> int:
    """Each has a number of its own, which is in the upper bits of its pages' keys."""
    with apsw.Connection(str(path)) as connection:
        ((count,),) = connection.execute("SELECT count(DISTINCT id >> 37) FROM words_data WHERE id > 10")
    connection.close()
    return int(count)


def asked(store: SqliteStore) -> list[object]:
    return [
        store.words.match(parse_query(it), Scope(), ColumnWeights(), 50)
        for it in ("even", "word7 odd", "common", "word3*")
    ]


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "i.db", busy_timeout_s=0.05)


def test_much_that_was_written_becomes_one_segment(store: SqliteStore) -> None:
    steps: list[tuple[int, int]] = []
    with store.writing(1.0):
        fill(store, MANY)
        assert segments_of(store.db.path) > 1
        before = asked(store)
        store.maintenance.optimize(lambda stage, done, total: steps.append((done, total)))
    assert segments_of(store.db.path) == 1
    assert asked(store) == before
    assert steps[0][0] == 0 and steps[-1][0] == steps[-1][1] > 0
    store.maintenance.optimize(lambda *_: pytest.fail("there is nothing left to do"))
    store.close()


def test_little_is_left_as_it_is(store: SqliteStore) -> None:
    with store.writing(1.0):
        fill(store, 400)
        store.maintenance.optimize(quiet)
    assert segments_of(store.db.path) > 1
    store.close()


def test_little_beside_all_is_left_as_it_is() -> None:
    assert segments.is_merge_due(2_000, lambda: 10_000)
    assert not segments.is_merge_due(2_000, lambda: 10_001)
    assert not segments.is_merge_due(1_999, lambda: 2_000)


def test_who_waits_to_write_does_not_wait_for_it(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = [True]
    monkeypatch.setattr("dowse.store.sqlite.health.has_waiting_writer", lambda _: waiting[0])
    with store.writing(1.0):
        fill(store, MANY)
        store.maintenance.optimize(quiet)
        assert segments_of(store.db.path) > 1
        waiting[0] = False
        store.maintenance.optimize(quiet)
        assert segments_of(store.db.path) == 1
    store.close()


def test_who_stops_it_is_heard_and_what_is_done_stays_done(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "_PAGES_PER_MERGE", 4)

    def stop(stage: str, done: int, total: int) -> None:
        if done:
            raise Cancelled("enough")

    with store.writing(1.0):
        fill(store, MANY)
        before = asked(store)
        with pytest.raises(Cancelled):
            store.maintenance.optimize(stop)
        assert asked(store) == before
        store.maintenance.optimize(quiet)
    assert segments_of(store.db.path) == 1
    assert asked(store) == before
    store.close()


def test_what_comes_in_its_way_is_no_failure_of_what_was_written(store: SqliteStore) -> None:
    with store.writing(1.0):
        fill(store, MANY)
        other = apsw.Connection(str(store.db.path))
        other.execute("BEGIN IMMEDIATE")
        store.maintenance.optimize(quiet)
        other.execute("ROLLBACK")
        other.close()
        assert store.maintenance.damaged() == {}
        store.maintenance.optimize(quiet)
    assert segments_of(store.db.path) == 1
    store.close()


def test_damage_is_noted(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bool:
        raise apsw.CorruptError("database disk image is malformed")

    monkeypatch.setattr(health, "merge_segments", broken)
    with store.writing(1.0):
        fill(store, MANY)
        store.maintenance.optimize(quiet)
    assert store.catalog.counts().records == MANY
    assert "words" in store.maintenance.damaged()
    store.close()
