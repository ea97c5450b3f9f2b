"""The SQLite file itself: versions, foreign files, locks, damage, permissions."""

from __future__ import annotations

import gc
import itertools
import multiprocessing
import os
import sqlite3
import threading
from pathlib import Path

import apsw
import numpy as np
import pytest

from dowse.errors import BadInput, IndexBusy, IndexDamaged, IndexUnusable, NotIndexed
from dowse.model import COMMITS, FILES, Chunk, FacetFilter, Link, LinkFilter, Record, Scope, ScoredChunk
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.database import MIGRATIONS, Database, fetch_rows
from dowse.store.sqlite.fts import MAX_MATCHED_TERMS
from dowse.store.types import ChunkInput, ColumnWeights
from dowse.text.tokenize import parse_query


def test_there_is_no_index_until_something_is_indexed(tmp_path: Path) -> None:
    with pytest.raises(NotIndexed, match="dowse index"):
        Database(tmp_path / "i.db", create=False)
    assert not (tmp_path / "i.db").exists()


def test_an_index_of_a_newer_version_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    SqliteStore(path).close()
    with apsw.Connection(str(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = path.read_bytes()
    for create in (False, True):
        with pytest.raises(IndexUnusable, match=r"newer Dowse \(index version 99"):
            SqliteStore(path, create=create)
    assert path.read_bytes() == before


OLD_LOG = """
CREATE TABLE vector_changes (epoch INTEGER PRIMARY KEY AUTOINCREMENT, chunk INTEGER NOT NULL, token INTEGER NOT NULL
  DEFAULT (random()));
CREATE TRIGGER vectors_added AFTER INSERT ON vectors BEGIN INSERT INTO vector_changes (chunk) VALUES (new.chunk); END;
CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN INSERT INTO vector_changes (chunk) VALUES (old.chunk); END;
"""


@pytest.mark.parametrize("has_log", [False, True])  # it was made with the first vectors
def test_an_index_of_the_first_version_opens_and_keeps_its_vectors(tmp_path: Path, has_log: bool) -> None:
    path = tmp_path / "i.db"
    first = Database(path, create=True, scripts=MIGRATIONS[:1])
    with first.transaction() as connection:
        connection.execute(OLD_LOG if has_log else "")
        connection.execute(
            "INSERT INTO manifest VALUES ('encoder', 'some:1');"
            "INSERT INTO collections (name, root) VALUES ('a', '/a');"
            "INSERT INTO records VALUES (1, 1, 'a.md', 'doc', '', 1, 1, 'd', 'c', 1, '[]', '[]', '{}');"
            "INSERT INTO chunks VALUES (1, 1, 0, 'x', 'text', 1, 1, x'00', '', '', 'word', '', '', 'a.md');"
        )
        connection.execute("INSERT INTO vectors VALUES (1, ?)", (np.array([1, 0], dtype=np.float16).tobytes(),))
    first.close()
    store = SqliteStore(path, create=False)
    assert store.db.rows("PRAGMA user_version") == [(len(MIGRATIONS),)]
    query = np.array([1, 0], dtype=np.float32)
    assert store.vectors.near(query, Scope(), 5, "some:1") == [ScoredChunk(1, 1.0)]
    assert (store.catalog.counts().chunks, store.catalog.counts().vectors, store.catalog.counts().next_vectors) == (
        1,
        1,
        0,
    )
    store.vectors.put_vectors([1], np.array([[0, 1]], dtype=np.float32), "some:1")
    assert store.vectors.near(query, Scope(), 5, "some:1") == [ScoredChunk(1, 0.0)]
    store.close()


def test_an_older_index_is_migrated_in_one_transaction(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    SqliteStore(path).close()
    second, third = tmp_path / "2.sql", tmp_path / "3.sql"
    second.write_text("ALTER TABLE records ADD COLUMN extra TEXT;")
    third.write_text("ALTER TABLE records ADD COLUMN more; nonsense;")
    newer = (*MIGRATIONS, second)
    migrated = Database(path, create=False, scripts=newer)
    assert migrated.rows("PRAGMA user_version") == [(len(newer),)]
    assert migrated.rows("SELECT extra FROM records") == []
    migrated.close()
    with pytest.raises(IndexDamaged, match="does not match its index version"):
        Database(path, create=True, scripts=(*newer, third))
    again = Database(path, create=False, scripts=newer)
    assert "more" not in [row[1] for row in again.rows("PRAGMA table_info(records)")]
    again.close()


def test_a_foreign_sqlite_file_is_refused_and_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE precious (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(IndexUnusable, match="not a Dowse index"):
        SqliteStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"hello, I am a text file" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "i.db"
    path.write_bytes(content)
    with pytest.raises(IndexUnusable, match="rebuild"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_a_directory_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot use"):
        SqliteStore(tmp_path)


def test_an_empty_file_becomes_an_index(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    path.touch()
    SqliteStore(path).close()
    SqliteStore(path, create=False).close()


def hold_sqlite_lock(path: str, held: object, release: object) -> None:
    connection = apsw.Connection(path)
    connection.execute("BEGIN IMMEDIATE")
    held.set()  # type: ignore[attr-defined]
    release.wait(120)  # type: ignore[attr-defined]


def hold_write_lock(path: str, held: object, release: object) -> None:
    store = SqliteStore(Path(path))
    with store.writing(1):
        held.set()  # type: ignore[attr-defined]
        release.wait(120)  # type: ignore[attr-defined]


@pytest.mark.parametrize("holder", [hold_sqlite_lock, hold_write_lock])
def test_a_held_write_lock_lets_readers_through_and_makes_a_writer_say_so(tmp_path: Path, holder: object) -> None:
    path = tmp_path / "i.db"
    SqliteStore(path).close()
    context = multiprocessing.get_context("spawn")
    held, release = context.Event(), context.Event()
    process = context.Process(target=holder, args=(str(path), held, release))
    process.start()
    try:
        assert held.wait(120)
        store = SqliteStore(path, create=False, busy_timeout_s=0.2)
        assert store.words.match(parse_query("x"), Scope(), ColumnWeights(), 5) == []
        with pytest.raises(IndexBusy, match=r"process .*is writing to .*try again") as raised, store.writing(0.2):
            store.writer.add_collection("/x")
        assert "\n" not in str(raised.value)
        release.set()
        process.join(120)
        with store.writing(60):
            store.writer.add_collection("/x")
        store.close()
    finally:
        release.set()
        process.join(120)


def test_a_second_thread_that_wants_to_write_waits_then_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    raised: list[Exception] = []

    def write_too() -> None:
        try:
            with store.writing(0.1):
                pass
        except IndexBusy as error:
            raised.append(error)

    with store.writing(1):
        thread = threading.Thread(target=write_too)
        thread.start()
        thread.join(60)
    assert len(raised) == 1
    thread = threading.Thread(target=write_too)
    thread.start()
    thread.join(60)
    assert len(raised) == 1
    store.close()


def test_a_failed_transaction_leaves_nothing(tmp_path: Path) -> None:
    db = Database(tmp_path / "i.db", create=True)
    with pytest.raises(RuntimeError), db.transaction() as connection:
        connection.execute("INSERT INTO manifest VALUES ('a', 'b')")
        raise RuntimeError
    assert db.rows("SELECT * FROM manifest") == []
    with db.transaction() as connection:
        connection.execute("INSERT INTO manifest VALUES ('a', 'b')")
    assert db.rows("SELECT * FROM manifest") == [("a", "b")]
    db.close()


def test_readers_can_not_write(tmp_path: Path) -> None:
    db = Database(tmp_path / "i.db", create=True)
    with pytest.raises(apsw.ReadOnlyError):
        db.reader().execute("INSERT INTO manifest VALUES ('a', 'b')")
    db.close()


def test_each_thread_reads_on_its_own_connection_and_sees_what_is_written(tmp_path: Path) -> None:
    db = Database(tmp_path / "i.db", create=True)
    seen: list[object] = []

    def read() -> None:
        seen.append((id(db.reader()), db.rows("SELECT value FROM manifest")))

    with db.transaction() as connection:
        connection.execute("INSERT INTO manifest VALUES ('a', 'b')")
    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row for _, row in seen] == [[("b",)]] * 4
    db.close()


def test_connections_end_with_their_threads(tmp_path: Path) -> None:
    db = Database(tmp_path / "i.db", create=True)
    for _ in range(20):
        thread = threading.Thread(target=db.reader)
        thread.start()
        thread.join()
    gc.collect()
    assert len(db._connections) <= 3
    db.close()


def test_opening_for_writing_keeps_the_locks_of_readers(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when it closes any descriptor of it."""
    Database(tmp_path / "i.db", create=True).close()
    db = Database(tmp_path / "i.db", create=True)
    db.rows("SELECT count(*) FROM records")
    inode = f":{(tmp_path / 'i.db').stat().st_ino} "

    def locks() -> int:
        return sum(inode in line for line in Path("/proc/locks").read_text().splitlines())

    before = locks()
    assert before > 0
    with db.transaction() as connection:
        connection.execute("INSERT INTO manifest VALUES ('a', 'b')")
    assert locks() >= before
    db.close()


def test_what_is_remembered_lasts_until_the_file_changes(tmp_path: Path) -> None:
    db = Database(tmp_path / "i.db", create=True)
    made: list[int] = []
    for _ in range(2):
        db.cached_by_revision("x", lambda: made.append(1))
    assert len(made) == 1
    with db.transaction() as connection:
        connection.execute("INSERT INTO manifest VALUES ('a', 'b')")
    db.cached_by_revision("x", lambda: made.append(1))
    assert len(made) == 2
    db.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="dropping privileges needs root")
def test_an_index_in_a_directory_that_can_not_be_written_is_still_read(public_path: Path) -> None:
    path = public_path / "i.db"
    SqliteStore(path).close()
    path.chmod(0o644)
    public_path.chmod(0o555)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_read_as_nobody, args=(str(path),))
    process.start()
    process.join(60)
    assert process.exitcode == 0


def _read_as_nobody(path: str) -> None:
    SqliteStore(Path(path), create=False).close()  # imports what it needs while that may still be read
    os.setuid(65534)
    store = SqliteStore(Path(path), create=False)
    assert store.catalog.collections() == []
    try:
        store.writer.add_collection("/x")
    except BadInput:
        return
    raise AssertionError("it must not be writable")


def fill(store: SqliteStore, texts: list[str]) -> None:
    store.writer.add_collection("/c")
    for number, text in enumerate(texts):
        record = Record("c", f"{number}.md", "doc", "", 1, 1, "d", "c")
        store.writer.put(record, [ChunkInput(Chunk(0, text, 1, 1), number.to_bytes(16))])


def test_words_that_are_nearly_everywhere_do_not_decide_in_a_large_index(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    fill(store, ["common rare" if number % 100 == 0 else "common" for number in range(1_200)])

    def found(query: str) -> int:
        return len(store.words.match(parse_query(query), Scope(), ColumnWeights(), 5_000))

    assert found("common rare") == 12
    assert found("common") == 1_200
    assert found("common unheard-of") == 1_200
    assert found("unheard of") == 0
    store.close()


def test_a_long_text_as_a_query_is_its_rarest_words(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "i.db")
    rare = ["".join(letters) for letters in itertools.islice(itertools.product("bcdfgkmp", repeat=3), 100)]
    fill(store, [f"{word} shared" for word in rare])
    query = parse_query(f"shared {' '.join(rare)}")
    assert len(store.words.match(query, Scope(), ColumnWeights(), 500)) == MAX_MATCHED_TERMS
    store.close()


def test_every_connection_is_as_it_is_meant_to_be(tmp_path: Path) -> None:
    """Also what comes behind a setting that answers."""
    db = Database(tmp_path / "index.db", create=True)
    with db.transaction() as connection:
        meant = {"journal_mode": "wal", "synchronous": 1, "journal_size_limit": 16_777_216, "temp_store": 2}
        assert {name: fetch_rows(connection, f"PRAGMA {name}")[0][0] for name in meant} == meant
    assert db.rows("PRAGMA query_only") == [(1,)]
    assert db.rows("PRAGMA cache_size") == [(-16_000,)]
    db.close()


BACK_TO_VERSION_4 = (
    "DROP INDEX records_moment; DROP INDEX chunks_role; DROP INDEX links_target;"
    "CREATE INDEX links_target ON links (target);"
    "ALTER TABLE records DROP COLUMN at_ns; ALTER TABLE records DROP COLUMN lined;"
    "ALTER TABLE collections DROP COLUMN source;"
    "DROP TABLE layouts;"
    "PRAGMA user_version = 4;"
)


def test_an_index_of_version_4_holds_all_it_held_and_takes_other_sources(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    store = SqliteStore(path)
    store.writer.add_collection("/work/notes")
    before = Record("notes", "a.md", "doc", "A", 1, 10**18, "d", "c", facets={"x": "y"})
    links = [Link("links_to", "b", 1)]
    store.writer.put(before, [ChunkInput(Chunk(0, "some words", 1, 1), b"0" * 16)], (), links, text="some words\n")
    with store.db.transaction() as connection:
        connection.execute(BACK_TO_VERSION_4)
    store.close()

    store = SqliteStore(path, create=False)
    assert store.db.rows("PRAGMA user_version") == [(len(MIGRATIONS),)]
    assert [it.source for it in store.catalog.collections()] == [FILES]
    assert store.catalog.select(Scope()) == [before]
    assert store.catalog.count(Scope(facets=(FacetFilter("x", "y"),), links=(LinkFilter("links_to", "b"),))) == 1
    assert (store.catalog.links(before), store.catalog.text(before)) == (links, "some words\n")
    findings = store.maintenance.check(deep=True, progress=lambda *_: None)
    assert [it.text for it in findings if it.state == "problem"] == []
    history = store.writer.add_collection("/work/notes/.git", source=COMMITS, name="notes.git")
    made = Record(history.name, "abc", "commit", "Do", 1, 1, "d", "c", at_ns=2 * 10**18)
    store.writer.put(made, [ChunkInput(Chunk(0, "do", 1, 1, role="delta"), b"1" * 16)], text=None)
    assert store.catalog.select(Scope(), 1) == [made]
    assert store.catalog.counts().unencoded == 1
    store.close()


def test_inside_a_moment_everything_stays_as_it_was_and_what_is_remembered_holds(tmp_path: Path) -> None:
    reading, writing = SqliteStore(tmp_path / "i.db"), SqliteStore(tmp_path / "i.db")
    writing.writer.note("a", "1")
    with reading.catalog.snapshot():
        assert reading.catalog.metadata()["a"] == "1"
        writing.writer.note("a", "2")
        with reading.catalog.snapshot():
            assert reading.catalog.metadata()["a"] == "1"
        assert reading.catalog.metadata()["a"] == "1"
        assert reading.db.rows("SELECT value FROM manifest WHERE key = 'a'") == [("1",)]
    assert reading.catalog.metadata()["a"] == "2"
    with pytest.raises(KeyError), reading.catalog.snapshot():
        raise KeyError
    closed = SqliteStore(tmp_path / "i.db")
    with pytest.raises(KeyError), closed.catalog.snapshot():
        closed.close()  # as another thread may
        raise KeyError
    writing.writer.note("a", "3")
    assert reading.catalog.metadata()["a"] == "3"
    with reading.catalog.snapshot():
        assert reading.catalog.metadata()["a"] == "3"
    for store in (reading, writing):
        store.close()
