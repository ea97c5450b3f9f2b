"""A store that was damaged: what is noticed, what is left out of answers, what is mended and how."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest
from damaging import of_format

from dowse.errors import IndexDamaged, PartDamaged
from dowse.model import Call, Chunk, Link, Record, Scope, StoredChunk, Symbol
from dowse.store.sqlite import SqliteStore
from dowse.store.sqlite.damage import quarantine
from dowse.store.sqlite.database import MIGRATIONS, Database
from dowse.store.sqlite.health import clear_text_index, fill_text_index
from dowse.store.sqlite.line_index import line_sidecar_path
from dowse.store.sqlite.vectors import vector_sidecar_path
from dowse.store.types import ChunkInput, ColumnWeights, Finding, SymbolQuery
from dowse.text.tokenize import parse_query

FRUITS = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel", "ilama", "jujube", "kiwi", "lemon"]


def quiet(stage: str, done: int, total: int) -> None:
    pass


def put(store: SqliteStore, number: int, *, extra: str = "") -> None:
    text = f"{FRUITS[number]} shared words of file {number}\nsecond line {extra}\n"
    pieces = [
        ChunkInput(Chunk(at, line, at + 1, at + 1, ("Top",)), bytes([number, at] * 8))
        for at, line in enumerate(text.splitlines())
    ]
    store.writer.put(
        Record("c", f"f{number:02}.py", "code", f"File {number}", len(text), number, f"digest {number}", "cut"),
        pieces,
        [Symbol(f"Class{number}", "class", 1, 2, bases=("Base",), attributes=("mark",))],
        [Link("import", f"module{number}", 1, "import it")],
        [Call(f"called{number}", "callee", 2, 0, 1, "call")],
        text,
    )


def fill(store: SqliteStore) -> None:
    store.writer.add_collection("/c")
    with store.writer.batch():
        for number in range(len(FRUITS)):
            put(store, number)
    store.vectors.prepare_vectors("e")
    keys = [it.key for it in store.vectors.chunks_without_vector("e")]
    rng = np.random.default_rng(3)
    store.vectors.put_vectors(keys, rng.normal(size=(len(keys), 8)).astype(np.float32), "e")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "i.db", exact_up_to=5, lines_without_file_up_to=0)
    fill(opened)
    yield opened
    opened.close()


def run(store: SqliteStore, sql: str) -> None:
    """What no transaction of ours would do, on a connection that may."""
    connection = apsw.Connection(str(store.db.path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute(sql)
    connection.close()


def problems(store: SqliteStore, *, deep: bool = True) -> set[str]:
    return {it.part for it in store.maintenance.check(deep=deep, progress=quiet) if it.state == "problem"}


def matched(store: SqliteStore, query: str) -> set[str]:
    hits = store.words.match(parse_query(query), Scope(), ColumnWeights(), 100)
    return {it.record.path for it in store.catalog.load([hit.key for hit in hits])}


def mend(store: SqliteStore, *parts: str) -> list[str]:
    lost = store.maintenance.begin_repair(parts, ["c"], quiet)
    store.maintenance.finish_repair(quiet)
    return [it.path for it in lost]


def test_a_sound_store_has_nothing_to_say_but_ok(store: SqliteStore) -> None:
    assert {it.state for it in store.maintenance.check(deep=True, progress=quiet)} == {"ok"}
    assert store.maintenance.damaged_parts() == {}


def test_a_record_that_changes_is_sealed_anew(store: SqliteStore) -> None:
    put(store, 3, extra="is another now")
    store.writer.touch("c", "f04.py", size=1, mtime_ns=2, settled=False)
    store.writer.drop("c", ["f05.py"])
    assert problems(store) == set()


SILENT = {
    "the text of a chunk": "UPDATE chunks SET text = 'apple shared words of file O' WHERE id = 1",
    "the line of a chunk": "UPDATE chunks SET start_line = 9 WHERE id = 1",
    "the names of a chunk": "UPDATE chunks SET names = 'x' WHERE id = 1",
    "the title of a record": "UPDATE records SET title = 'Another' WHERE id = 1",
    "the tags of a record": "UPDATE records SET tags = '[' WHERE id = 1",
    "the name of a symbol": "UPDATE symbols SET name = 'Klass0' WHERE record = 1",
    "a trait": "DELETE FROM traits WHERE record = 1 AND kind = 'base'",
    "the target of a link": "UPDATE links SET target = 'elsewhere' WHERE record = 1",
    "a call": "DELETE FROM calls WHERE record = 1",
    "a text": "UPDATE texts SET body = x'00' WHERE record = 1",
    "no text": "DELETE FROM texts WHERE record = 1",
    "a chunk that is no text": "UPDATE chunks SET text = CAST(x'ff80' AS TEXT) WHERE id = 1",
}


@pytest.mark.parametrize("sql", SILENT.values(), ids=SILENT.keys())
def test_what_changes_by_itself_in_a_record_is_found_and_mended(store: SqliteStore, sql: str) -> None:
    run(store, sql)
    assert "records" in problems(store)
    assert mend(store, *problems(store)) == ["f00.py"]
    assert problems(store) == set()
    put(store, 0)
    store.maintenance.begin_repair((), (), quiet)
    store.maintenance.finish_repair(quiet)
    assert problems(store) == set()
    assert matched(store, "apple") == {"f00.py"}


@pytest.mark.parametrize(
    "what", ["the text of a chunk", "the line of a chunk", "the title of a record", "the tags of a record"]
)
def test_what_is_damaged_is_not_shown(store: SqliteStore, what: str) -> None:
    run(store, SILENT[what])
    assert "f00.py" not in {it.record.path for it in store.catalog.load([1, 3, 5])}
    assert len(store.catalog.load([1, 3, 5])) == 2
    assert "records" in store.maintenance.damaged_parts()


def test_a_text_that_can_not_be_unpacked_is_left_out_of_lines(store: SqliteStore) -> None:
    run(store, SILENT["a text"])
    with pytest.raises(Exception, match="doctor --fix"):
        store.catalog.text(store.catalog.records("f00.py")[0])
    assert store.lines.lines_between("c", "f01.py", [(1, 1)]) == [("banana shared words of file 1",)]
    assert store.lines.lines_between("c", "f00.py", [(1, 1)]) == [()]
    assert "records" in store.maintenance.damaged_parts()


def test_words_that_differ_from_the_catalog_are_made_anew(store: SqliteStore) -> None:
    run(
        store,
        "INSERT INTO words (words, rowid, title, trail, text, names, tags, path) "
        "VALUES ('delete', 1, '', '', 'apple shared', '', '', '')",
    )
    assert "words" in problems(store)
    mend(store, "words")
    assert problems(store) == set()
    assert matched(store, "apple") == {"f00.py"}


DESTROYED = {
    "leaves": "UPDATE words_data SET block = x'ffffffffff' WHERE id > 100",
    "settings": "UPDATE words_config SET v = 99",
}


@pytest.mark.parametrize("sql", DESTROYED.values(), ids=DESTROYED.keys())
def test_a_destroyed_words_index_is_named_and_the_rest_answers(store: SqliteStore, sql: str) -> None:
    run(store, sql)
    fresh = SqliteStore(store.db.path, create=False)
    with pytest.raises(PartDamaged, match=r"damaged words .*doctor --fix"):
        matched(fresh, "apple")
    assert "words" in fresh.maintenance.damaged_parts()
    assert fresh.vectors.near(np.ones(8, dtype=np.float32), Scope(), 5)
    fresh.close()


def test_a_destroyed_index_of_names_is_done_without(store: SqliteStore) -> None:
    wanted = SymbolQuery(names=("lass1",))
    before = [it.symbol.name for it in store.symbols.definitions(wanted).definitions]
    assert "Class1" in before
    run(store, "UPDATE symbol_grams_data SET block = x'ff' WHERE id > 10")
    fresh = SqliteStore(store.db.path, create=False)
    assert [it.symbol.name for it in fresh.symbols.definitions(wanted).definitions] == before
    assert "names" in fresh.maintenance.damaged_parts()
    fresh.close()


@pytest.mark.parametrize(("table", "part"), [("words", "words"), ("symbol_grams", "names")])
def test_an_index_that_finds_nothing_is_found(store: SqliteStore, table: str, part: str) -> None:
    run(store, f"UPDATE {table}_data SET block = x'00' WHERE id = 10")
    assert problems(store) == {part}
    mend(store, part)
    assert problems(store) == set()


def test_names_that_are_lost_are_found_again(store: SqliteStore) -> None:
    run(store, "DELETE FROM symbol_names WHERE name = 'class1'")
    assert "names" in problems(store)
    mend(store, "names")
    assert problems(store) == set()


@pytest.mark.parametrize(
    "sql",
    ["UPDATE vectors SET vector = zeroblob(16) WHERE chunk = 2", "UPDATE vectors SET vector = x'00' WHERE chunk = 2"],
)
def test_vectors_that_changed_by_themselves_are_dropped(store: SqliteStore, sql: str) -> None:
    run(store, sql)
    assert problems(store) == {"vectors"}
    mend(store, "vectors")
    assert store.catalog.counts().vectors == 0
    assert problems(store) == set()
    store.vectors.prepare_vectors("e")
    assert len(store.vectors.chunks_without_vector("e")) == store.catalog.counts().chunks


def test_a_vector_of_another_length_fails_no_search(store: SqliteStore) -> None:
    run(store, "UPDATE vectors SET vector = x'0000' WHERE chunk = 2")
    fresh = SqliteStore(store.db.path, create=False)
    with pytest.raises(PartDamaged, match="damaged vectors"):
        fresh.vectors.near(np.ones(8, dtype=np.float32), Scope(), 5)
    assert "vectors" in fresh.maintenance.damaged_parts()
    fresh.close()


def test_what_was_mended_by_another_process_is_no_longer_damaged(store: SqliteStore) -> None:
    run(store, DESTROYED["leaves"])
    other = SqliteStore(store.db.path, create=False)
    with pytest.raises(PartDamaged):
        matched(other, "apple")
    assert "words" in other.maintenance.damaged_parts()
    mend(store, "words")
    assert matched(other, "apple") == {"f00.py"}
    assert other.maintenance.damaged_parts() == {}
    other.close()


# --- mending that is interrupted ---


class Killed(Exception):
    pass


def killed_after_the_first_batch(store: SqliteStore) -> None:
    def stop(stage: str, done: int, total: int) -> None:
        raise Killed

    clear_text_index(store.db)
    with pytest.raises(Killed):
        fill_text_index(store.db, stop, at_once=5)


def test_words_that_are_half_filled_are_not_asked(store: SqliteStore) -> None:
    killed_after_the_first_batch(store)
    with pytest.raises(PartDamaged, match="being rebuilt"):
        matched(store, "apple")
    assert "words" in store.maintenance.damaged_parts()
    assert "words" in problems(store, deep=False)


def test_an_interrupted_filling_goes_on(store: SqliteStore) -> None:
    killed_after_the_first_batch(store)
    seen: list[int] = []
    fill_text_index(store.db, lambda stage, done, total: seen.append(done), at_once=5)
    assert seen[0] == 10  # the first five were there
    assert problems(store) == set()
    assert store.maintenance.damaged_parts() == {}
    assert matched(store, "apple") == {"f00.py"}


def test_what_is_written_while_words_are_missing_is_in_them_afterwards(store: SqliteStore) -> None:
    killed_after_the_first_batch(store)
    put(store, 1, extra="with something new")
    store.writer.drop("c", ["f00.py"])
    store.maintenance.finish_repair(quiet)
    assert problems(store) == set()
    assert matched(store, "something") == {"f01.py"}
    assert matched(store, "apple") == set()


def test_no_room_for_filling_leaves_what_there_is(store: SqliteStore) -> None:
    before = list(map(text_of, store.catalog.export()))
    run(store, DESTROYED["leaves"])
    with store.db.transaction() as connection:
        ((pages,),) = connection.execute("PRAGMA page_count").fetchall()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Exception, match="no space left"):
        mend(store, "words")
        put(store, 1, extra="more and more " * 5_000)
    assert list(map(text_of, store.catalog.export())) == before


def text_of(stored: StoredChunk) -> tuple[str, str]:
    return stored.record.path, stored.chunk.text


# --- what is no damage ---


def test_a_busy_database_is_not_damaged(store: SqliteStore) -> None:
    waiting = SqliteStore(store.db.path, create=False, busy_timeout_s=0.05)
    with store.db.transaction():
        found = waiting.maintenance.check(deep=True, progress=quiet)
    assert {it.state for it in found} == {"ok", "warning"}
    assert waiting.maintenance.damaged_parts() == {}
    waiting.close()


def test_rows_from_before_there_were_seals_are_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "i.db"
    old = Database(path, create=True, scripts=MIGRATIONS[:3])
    with old.transaction() as connection:
        connection.execute(
            "INSERT INTO collections (name, root) VALUES ('c', '/c');"
            "INSERT INTO records VALUES (1, 1, 'a.md', 'doc', 'A', 1, 1, 'd', 'c', 1, '[]', '[]', '{}');"
            "INSERT INTO chunks (record, ordinal, public_id, role, start_line, end_line, digest, title, trail, text, "
            "names, tags, path) VALUES (1, 0, 'p', 'text', 1, 1, x'00', 'A', '', 'old words', '', '', 'a.md');"
            "INSERT INTO words (rowid, title, trail, text, names, tags, path) "
            "VALUES (1, 'A', '', 'old words', '', '', 'a.md');"
            "INSERT INTO texts VALUES (1, x'789c030000000001');"
        )
    old.close()
    store = SqliteStore(path)
    assert matched(store, "old") == {"a.md"}
    found = store.maintenance.check(deep=True, progress=quiet)
    assert {it.part for it in found if it.state == "problem"} == set()
    assert [it.fix for it in found if it.part == "records" and it.state == "warning"] == ["dowse index --force"]
    store.close()


def test_damage_of_the_collections_is_of_everything(store: SqliteStore) -> None:
    run(store, "DROP TRIGGER collections_changed; UPDATE collections SET root = '/elsewhere'")
    assert problems(store, deep=False) == {"catalog"}
    with pytest.raises(IndexDamaged, match="dowse rebuild"):
        mend(store, "catalog")


def test_a_collection_that_moved_is_not_damaged(store: SqliteStore) -> None:
    store.writer.move_collection("c", "/moved")
    assert problems(store) == set()


def test_records_of_what_can_not_be_read_again_stay(store: SqliteStore) -> None:
    run(store, SILENT["a call"])
    assert store.maintenance.begin_repair(["records"], [], quiet) == []
    assert store.catalog.records("f00.py")


def test_an_index_inside_a_table_is_made_anew_from_its_rows(store: SqliteStore) -> None:
    index = store.db.rows("SELECT rootpage FROM sqlite_schema WHERE name = 'calls_name'")[0][0]
    store.maintenance.checkpoint()
    page_size = 4096
    content = bytearray(store.db.path.read_bytes())
    at = content.index(b"called7", (index - 1) * page_size)
    assert at < index * page_size
    store.close()
    content[at : at + 7] = b"Called7"
    store.db.path.write_bytes(content)
    fresh = SqliteStore(store.db.path, create=False)
    assert problems(fresh) == {"records"}
    assert mend(fresh, "records") == []
    assert problems(fresh) == set()
    assert len(fresh.symbols.sites(["called7"], 10)) == 1
    fresh.close()


# --- sidecars ---


def with_sidecars(store: SqliteStore) -> tuple[Path, Path]:
    with store.writing(1.0):
        pass
    assert vector_sidecar_path(store.db.path).is_file()
    assert line_sidecar_path(store.db.path).is_file()
    return vector_sidecar_path(store.db.path), line_sidecar_path(store.db.path)


def flip(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def test_sound_sidecars_are_ok(store: SqliteStore) -> None:
    with_sidecars(store)
    found = [it for it in store.maintenance.check(deep=True, progress=quiet) if it.part == "sidecars"]
    assert [it.state for it in found] == ["ok", "ok"]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("at", [9, 4_100])
def test_a_flipped_byte_of_a_sidecar_is_found_and_the_file_made_anew(store: SqliteStore, which: int, at: int) -> None:
    file = with_sidecars(store)[which]
    flip(file, at)
    assert problems(store) == {"sidecars"}
    mend(store, "sidecars")
    with_sidecars(store)
    assert problems(store) == set()


@pytest.mark.parametrize("deep", [False, True])
def test_vectors_in_a_file_of_another_version_are_no_problem(store: SqliteStore, deep: bool) -> None:
    of_format(with_sidecars(store)[0], 1)
    found = [it for it in store.maintenance.check(deep=deep, progress=quiet) if it.part == "sidecars"]
    assert [it.state for it in found] == ["ok", "ok"]
    assert "another version; `dowse index`" in found[0].text
    with_sidecars(store)
    assert "another" not in next(
        it.text for it in store.maintenance.check(deep=deep, progress=quiet) if it.part == "sidecars"
    )


def test_a_damaged_file_is_set_aside_and_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "i.db-lines"
    for content in ("first", "second"):
        file.write_text(content)
        with caplog.at_level(logging.WARNING):
            assert quarantine(file)
    assert [it.name for it in tmp_path.iterdir()] == ["i.db-lines.damaged"]
    assert (tmp_path / "i.db-lines.damaged").read_text() == "second"
    assert str(tmp_path / "i.db-lines.damaged") in caplog.text


def test_a_finding_says_the_next_step(store: SqliteStore) -> None:
    run(store, SILENT["a call"])
    (found,) = [it for it in store.maintenance.check(deep=True, progress=quiet) if it.state == "problem"]
    assert found == Finding("records", "problem", "1 records do not match their checksums", "dowse doctor --fix")
