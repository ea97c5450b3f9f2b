"""Damaged stores and the next plain command: it answers or heals and says so, and the index is as good as new."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from dowse.paths import DataPaths
from support import Run, command_line, write

PAGE = 4_096
WORDS = ("anchor", "beacon", "harbour", "lantern", "quay")
FILES = {
    f"docs/page{number}.md": f"# Page {number}\n\n{WORDS[number % 5]} number{number} {'and more text ' * 40}\n"
    f"\n## Part of {number}\n\nSee [[page{(number + 1) % 9}]].\n"
    for number in range(9)
}

Damage = Callable[[Path], object]


def sql(*statements: str) -> Damage:
    def damage(index: Path) -> None:
        connection = apsw.Connection(str(index))
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.close()

    return damage


def overwritten(start: int, data: bytes) -> Damage:
    def damage(index: Path) -> None:
        with open(index, "r+b") as file:
            file.seek(start)
            file.write(data)

    return damage


def beside(suffix: str, data: bytes) -> Damage:
    return lambda index: Path(f"{index}{suffix}").write_bytes(data)


def pages_of(name: str) -> Damage:
    """Every page of a table is full of garbage."""

    def damage(index: Path) -> None:
        connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name = ?", (name,)).fetchall()
        connection.close()
        assert pages
        for (page,) in pages:
            overwritten((page - 1) * PAGE, b"\x5a" * PAGE)(index)

    return damage


TABLES = (
    "manifest",
    "collections",
    "records",
    "skipped",
    "chunks",
    "symbols",
    "links",
    "vectors",
    "next_vectors",
    "vector_changes",
    "symbol_names",
    "symbol_grams",
    "traits",
    "calls",
    "texts",
    "text_changes",
    "words",
    "vocabulary",
    "words_data",
    "words_idx",
    "words_docsize",
    "words_config",
    "symbol_grams_data",
    "symbol_grams_idx",
)
DAMAGES: dict[str, Damage] = {f"no table {name}": sql(f"DROP TABLE {name}") for name in TABLES} | {
    "no index of a table": sql("DROP INDEX chunks_record"),
    "no trigger": sql("DROP TRIGGER texts_added"),
    "a foreign trigger": sql("CREATE TRIGGER x AFTER INSERT ON records BEGIN DELETE FROM links; END"),
    "a foreign table": sql("CREATE TABLE x (y)"),
    "words that are corrupt": sql("UPDATE words_data SET block = zeroblob(20) WHERE id > 10"),
    "words that are missing": sql("DELETE FROM words_data WHERE id > 10"),
    "words of fewer chunks": sql("DELETE FROM words_docsize WHERE id = 1"),
    "names that are corrupt": sql("UPDATE symbol_grams_data SET block = zeroblob(20) WHERE id > 10"),
    "an older version": sql("PRAGMA user_version = 3"),
    "a newer version": sql("PRAGMA user_version = 99"),
    "another program's file": sql("PRAGMA application_id = 7"),
    "half a file": lambda index: os.truncate(index, index.stat().st_size // 2 // PAGE * PAGE),
    "no byte": lambda index: os.truncate(index, 0),
    "a header of zeros": overwritten(0, bytes(100)),
    "a first page of zeros": overwritten(0, bytes(PAGE)),
    "garbage in the schema": overwritten(1_000, b"\x5a" * 200),
    "garbage in the chunks": pages_of("chunks"),
    "garbage in the records": pages_of("records"),
    "garbage in the words": pages_of("words_data"),
    "garbage in the texts": pages_of("texts"),
    "garbage in the collections": pages_of("collections"),
    "garbage as its log": beside("-wal", b"\x5a" * 50_000),
    "garbage as its shared memory": beside("-shm", b"\x5a" * 32_768),
    "garbage as its journal": beside("-journal", b"\x5a" * 5_000),
    "a journal that looks like one": beside("-journal", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(5_000)),
    "garbage as its lines": beside("-lines", b"\x5a" * 5_000),
    "garbage as its vectors": beside("-vectors", b"\x5a" * 5_000),
    "garbage as its jobs": beside("-jobs", b"\x5a" * 5_000),
}


@dataclass(frozen=True)
class Sound:
    root: Path
    data: Path
    exported: str
    found: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("sound")
    write(base / "root", FILES)
    return base


@pytest.fixture
def dowse(capsys: pytest.CaptureFixture[str], files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(files / "root")
    for name, value in {"ENCODER": "hashing", "GIT": "false", "DATA_DIR": str(files / "data")}.items():
        monkeypatch.setenv(f"DOWSE_{name}", value)
    return command_line(capsys)


@pytest.fixture
def sound(dowse: Run, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sound:
    """Made once; each test works on a copy."""
    if not (files / "data").exists():
        assert dowse("index")[0] == 0
    made = Sound(files / "root", tmp_path / "data", dowse("export")[1], dowse("search", "lantern", "--files")[1])
    shutil.copytree(files / "data", made.data)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(made.data))
    return made


@pytest.mark.parametrize("verb", ["search", "index", "doctor"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_the_next_command_heals(dowse: Run, sound: Sound, damage: str, verb: str) -> None:
    index = DataPaths(sound.data).index_path(sound.root.resolve())
    sql()(index)
    DAMAGES[damage](index)
    words = {"search": ("lantern", "--files"), "index": (), "doctor": ("--fix",)}[verb]
    code, out, err = dowse(verb, *words)
    assert code == 0 or (verb == "search" and "the next answer is complete" in err), (out, err)
    assert len(err.splitlines()) <= 1
    if verb == "search" and not err:
        assert out == sound.found  # what a search has no need for is healed by who does
    else:
        assert dowse("doctor")[0] == 0
    assert dowse("export") == (0, sound.exported, "")
    assert dowse("search", "lantern", "--files") == (0, sound.found, "")


def test_a_command_that_meets_no_damage_says_nothing_of_it(dowse: Run, sound: Sound) -> None:
    assert dowse("search", "lantern", "--files") == (0, sound.found, "")
    assert dowse("index")[2] == ""
    assert (
        sorted(
            it.name
            for it in DataPaths(sound.data).index_path(sound.root.resolve()).parent.iterdir()
            if "damaged" in it.name
        )
        == []
    )
