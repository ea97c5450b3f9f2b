"""After much was written, the full-text index is one segment; answers stay as they were."""

from __future__ import annotations

import threading
from pathlib import Path

import apsw
import pytest

from dowse.model import Chunk, Record, Scope
from dowse.store.base import Piece, Weights
from dowse.store.sqlite import SqliteStore, segments
from dowse.text.terms import parse

BATCHES = 8


def fill(store: SqliteStore, begin: int, chunks: int) -> None:
    store.add_collection("/r", name="r")
    for batch in range(BATCHES):
        with store.batch():
            for number in range(chunks // BATCHES):
                text = f"word{number} common {'even' if number % 2 == 0 else 'odd'}"
                piece = Piece(Chunk(0, text, 1, 1), (begin + batch).to_bytes(8) + number.to_bytes(8))
                store.put(Record("r", f"{begin + batch}/{number}.md", "doc", "", 1, 1, "d", "c"), [piece])


def segments_of(path: Path) -> int:
    """Each has a number of its own, which is in the upper bits of its pages' keys."""
    with apsw.Connection(str(path)) as connection:
        ((count,),) = connection.execute("SELECT count(DISTINCT id >> 37) FROM words_data WHERE id > 10")
    connection.close()
    return int(count)


def asked(store: SqliteStore) -> list[object]:
    return [store.match(parse(it), Scope(), Weights(), 50) for it in ("even", "word7 odd", "common", "word3*")]


def test_much_that_was_written_becomes_one_segment(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    with store.writing(1.0):
        fill(store, 0, 2_400)
        assert segments_of(store.db.path) > 1
        before = asked(store)
    assert segments_of(store.db.path) == 1
    assert asked(store) == before
    store.close()


def test_little_is_left_as_it_is(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    with store.writing(1.0):
        fill(store, 0, 400)
    assert segments_of(store.db.path) > 1
    store.close()


def test_little_beside_all_is_left_as_it_is() -> None:
    assert segments.is_due(2_000, lambda: 10_000)
    assert not segments.is_due(2_000, lambda: 10_001)
    assert not segments.is_due(1_999, lambda: 2_000)


def test_who_waits_to_write_does_not_wait_for_it_and_the_next_turn_makes_up_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "i.db")
    waiting = threading.Event()
    monkeypatch.setattr(SqliteStore, "waited_for", lambda _: waiting.is_set())
    waiting.set()
    with store.writing(1.0):
        fill(store, 0, 2_400)
    assert segments_of(store.db.path) > 1
    waiting.clear()
    with store.writing(1.0):
        pass
    assert segments_of(store.db.path) == 1
    store.close()


def test_damage_does_not_spoil_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "i.db")

    def broken(*_: object) -> bool:
        raise apsw.CorruptError("database disk image is malformed")

    monkeypatch.setattr(segments, "merge", broken)
    with store.writing(1.0):
        fill(store, 0, 2_400)
    assert store.counts().records == 2_400
    assert "words" in store.damaged()
    store.close()
