"""Many changes as one transaction: whole, in parts that fail alone, and with a words index that follows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from dowse.errors import Unreadable
from dowse.model import Chunk, Record, Scope, SkippedItem
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.types import ChunkInput, ColumnWeights
from dowse.text.tokenize import parse_query
from oracle.dict_store import DictStore

BAD = "\ud800 can not be stored"


@pytest.fixture(params=["sqlite", "dicts"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = SqliteStore(tmp_path / "i.db") if request.param == "sqlite" else DictStore()
    opened.writer.add_collection("/c")
    yield opened
    opened.close()


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "i.db")
    opened.writer.add_collection("/c")
    yield opened
    opened.close()


def put(store: Store, path: str, *texts: str, names: str | None = None, **rest: str) -> None:
    record = Record("c", path, "doc", "", 1, 1, "d", "c", facets=rest)
    pieces = [ChunkInput(Chunk(place, text, 1, 1), bytes(16), names) for place, text in enumerate(texts)]
    store.writer.put(record, pieces)


def found(store: Store, query: str) -> set[str]:
    hits = store.words.match(parse_query(query), Scope(), ColumnWeights(), 100)
    return {it.record.path for it in store.catalog.load([hit.key for hit in hits])}


def segments(store: SqliteStore) -> int:
    return int(store.db.rows("SELECT count(DISTINCT segid) FROM words_idx")[0][0])


def check_words(store: SqliteStore) -> None:
    """FTS5 compares its index with the chunks, row by row."""
    with store.db.transaction() as connection:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")


def test_everything_of_a_batch_is_there_afterwards(store: Store) -> None:
    put(store, "old.md", "alpha")
    with store.writer.batch():
        put(store, "a.md", "beta")
        put(store, "b.md", "beta gamma")
        store.writer.drop("c", ["old.md"])
        store.writer.skip(SkippedItem("c", "b.md", "binary"))
    assert found(store, "alpha beta gamma") == {"a.md"}
    assert [it.path for it in store.catalog.skipped_items()] == ["b.md"]


def test_names_that_are_given_are_taken(sqlite: SqliteStore) -> None:
    put(sqlite, "a.md", "getUserName", names="given")
    put(sqlite, "b.md", "getUserName")
    assert found(sqlite, "given") == {"a.md"}
    assert found(sqlite, "user") == {"b.md"}


def test_a_part_that_fails_leaves_nothing_and_the_rest_goes_on(sqlite: SqliteStore) -> None:
    put(sqlite, "b.md", "before")
    with sqlite.writer.batch():
        put(sqlite, "a.md", "alpha")
        with pytest.raises(Unreadable, match="cannot be stored"):
            put(sqlite, "b.md", "half of it", BAD)
        put(sqlite, "c.md", "gamma")
    assert set(sqlite.catalog.versions("c")) == {"a.md", "b.md", "c.md"}
    assert found(sqlite, "before alpha gamma half") == {"a.md", "b.md", "c.md"}
    assert found(sqlite, "half") == set()
    check_words(sqlite)


def test_a_batch_that_fails_leaves_nothing(sqlite: SqliteStore) -> None:
    put(sqlite, "a.md", "alpha")
    with pytest.raises(KeyboardInterrupt), sqlite.writer.batch():
        put(sqlite, "a.md", "beta")
        put(sqlite, "b.md", "beta")
        raise KeyboardInterrupt
    put(sqlite, "c.md", "gamma")
    assert found(sqlite, "alpha beta gamma") == {"a.md", "c.md"}
    assert found(sqlite, "beta") == set()
    check_words(sqlite)


def test_what_comes_and_goes_in_one_batch(sqlite: SqliteStore) -> None:
    with sqlite.writer.batch():
        put(sqlite, "a.md", "alpha")
        put(sqlite, "a.md", "beta")
        sqlite.writer.drop("c", ["a.md"])
        put(sqlite, "a.md", "gamma")
    assert found(sqlite, "alpha beta") == set()
    assert found(sqlite, "gamma") == {"a.md"}
    check_words(sqlite)


def test_others_see_a_batch_when_it_is_over(sqlite: SqliteStore) -> None:
    other = apsw.Connection(str(sqlite.db.path), flags=apsw.SQLITE_OPEN_READONLY)
    with sqlite.writer.batch():
        put(sqlite, "a.md", "alpha")
        assert other.execute("SELECT count(*) FROM records").fetchall() == [(0,)]
    assert other.execute("SELECT count(*) FROM records").fetchall() == [(1,)]
    other.close()


def test_a_batch_is_one_segment_of_the_words_index(sqlite: SqliteStore) -> None:
    """Which is why it is quick: nothing needs to be merged."""
    before = segments(sqlite)
    with sqlite.writer.batch():
        for number in range(50):
            put(sqlite, f"{number}.md", f"alpha{number}", "beta")
    assert segments(sqlite) == before + 1


def test_faceted(store: Store) -> None:
    put(store, "b.py", "text", unparsed="the parser crashed")
    put(store, "a.py", "text", unparsed="too slow", language="python")
    put(store, "c.py", "text", language="python")
    assert store.catalog.records_with_facet("unparsed") == [
        ("c", "a.py", "too slow"),
        ("c", "b.py", "the parser crashed"),
    ]
    put(store, "a.py", "text")
    assert store.catalog.records_with_facet("unparsed") == [("c", "b.py", "the parser crashed")]
    assert store.catalog.records_with_facet("empty") == []
