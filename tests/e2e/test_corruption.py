"""Every part of an index on disk, damaged in every way: answers from what is left, and healed as good as new."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from dowse.config import Settings
from dowse.engine import Engine
from dowse.errors import DowseError, IndexUnusable, NotIndexed
from dowse.live.heal import repair_or_rebuild
from dowse.lookup.grep import GrepQuery
from dowse.model import Query
from dowse.paths import DataPaths
from dowse.store.sqlite import SqliteStore
from dowse.store.types import SymbolQuery
from dowse.tools.core_render import export_json
from support import write

PAGE = 4_096
QUERIES = ("how are retries handled", "opens the cache of parsed tokens")


def quiet(stage: str, done: int, total: int) -> None:
    pass


def corpus() -> dict[str, str]:
    rng = random.Random(5)
    words = [
        "alpha",
        "beta",
        "gamma",
        "delta",
        "retry",
        "cache",
        "index",
        "token",
        "query",
        "chunk",
        "parsed",
        "handled",
        "opens",
        "waits",
    ]
    files = {}
    for number in range(16):
        body = "\n\n".join(f"## Part {part} of {number}\n\n{' '.join(rng.choices(words, k=60))}." for part in range(4))
        files[f"docs/page{number}.md"] = f"# Page {number}\n\nSee [[page{(number + 1) % 16}]].\n\n{body}\n"
    for number in range(8):
        files[f"src/module{number}.py"] = "".join(
            f"class Cache{number}{part}(Base):\n    def open_{part}(self, token):\n        return retry(token)\n\n\n"
            for part in range(6)
        )
    return files


@dataclass(frozen=True)
class Sound:
    """An index that nothing has happened to, and what it answers."""

    root: Path
    settings: Settings
    index: Path
    answers: object
    pages: dict[str, list[int]]  # of each table


def opened(settings: Settings, index: Path) -> Engine:
    """With sidecars, however little there is."""
    store = SqliteStore(index, create=False, exact_up_to=10, lines_without_file_up_to=0)
    return Engine(settings, index, create=False, store=store)


def answers(engine: Engine) -> object:
    hits = [
        [(hit.stored.record.path, hit.stored.chunk.text, round(hit.score, 4)) for hit in engine.search(Query(it)).hits]
        for it in QUERIES
    ]
    lines = [(it.path, it.lines) for it in engine.grep(GrepQuery(("retry", "Cache3"), "substring")).files]
    found = engine.symbols(SymbolQuery(names=("ache1",), limit=50)).definitions
    return hits, lines, [(it.record.path, it.symbol.name) for it in found], exported(engine)


def exported(engine: Engine) -> list[str]:
    return [json.dumps(export_json(it)) for it in engine.export()]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Sound:
    base = tmp_path_factory.mktemp("sound")
    write(base / "root", corpus())
    settings = Settings(encoder="hashing", data_dir=base / "data", workers=1)
    index = base / "index" / "index.db"
    with Engine(settings, index, create=True) as engine:
        engine.index([base / "root"])
    with opened(settings, index) as engine:
        with engine._core.store.writing(1.0):
            pass
        engine.indexing.checkpoint()
        told = answers(engine)
    assert index.with_name("index.db-vectors").is_file()
    assert index.with_name("index.db-lines").is_file()
    return Sound(base / "root", settings, index, told, _pages(index))


def _pages(index: Path) -> dict[str, list[int]]:
    connection = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    pages: dict[str, list[int]] = {}
    for name, page in connection.execute("SELECT name, pageno FROM dbstat WHERE pagetype != 'overflow'"):
        pages.setdefault(name, []).append(page)
    connection.close()
    return pages


@pytest.fixture
def index(sound: Sound, tmp_path: Path) -> Iterator[Path]:
    """A copy that may be damaged."""
    for file in sound.index.parent.iterdir():
        shutil.copy(file, tmp_path)
    yield tmp_path / "index.db"


# --- ways to damage a file, or a page of it ---


def truncated(file: Path, rng: random.Random) -> None:
    os.truncate(file, rng.randrange(file.stat().st_size))


def zeroed(file: Path, rng: random.Random) -> None:
    size = file.stat().st_size
    start = rng.randrange(size)
    with open(file, "r+b") as content:
        content.seek(start)
        content.write(bytes(min(PAGE, size - start)))


def flipped(file: Path, rng: random.Random) -> None:
    flip(file, rng.randrange(file.stat().st_size), rng)


def flip(file: Path, at: int, rng: random.Random) -> None:
    with open(file, "r+b") as content:
        content.seek(at)
        (byte,) = content.read(1)
        content.seek(at)
        content.write(bytes([byte ^ 1 << rng.randrange(8)]))


def deleted(file: Path, rng: random.Random) -> None:
    file.unlink()


def swapped(file: Path, rng: random.Random) -> None:
    """For what another version might have left there."""
    file.write_bytes(file.read_bytes()[:8] + b"\xff\x7f\x00\x00" + bytes(5_000))


WAYS: dict[str, Callable[[Path, random.Random], None]] = {
    it.__name__: it for it in (truncated, zeroed, flipped, deleted, swapped)
}


def ask(sound: Sound, index: Path) -> None:
    """Answers or one sentence; and whatever text is shown was written like that."""
    texts = {(json.loads(it)["path"], json.loads(it)["text"]) for it in sound.answers[3]}  # type: ignore[index]
    try:
        with opened(sound.settings, index) as engine:
            for query in QUERIES:
                for hit in engine.search(Query(query)).hits:
                    assert (hit.stored.record.path, hit.stored.chunk.text) in texts
            engine.grep(GrepQuery(("retry",), "substring"))
            engine.symbols(SymbolQuery(names=("ache1",)))
    except DowseError as error:
        assert "\n" not in str(error)


def check_healed(sound: Sound, index: Path) -> None:
    repair_or_rebuild(sound.settings, index, sound.root, quiet)
    with Engine(sound.settings, index, create=True) as engine:
        engine.index([sound.root])
        assert [it for it in engine.health.check(deep=True) if it.state == "problem"] == []
    with opened(sound.settings, index) as engine:
        assert answers(engine) == sound.answers


# --- the file itself ---

TABLES = [
    "sqlite_schema",
    "manifest",
    "collections",
    "records",
    "sqlite_autoindex_records_1",
    "chunks",
    "chunks_record",
    "symbols",
    "symbols_folded",
    "traits",
    "links",
    "calls",
    "calls_name",
    "texts",
    "text_changes",
    "vectors",
    "vector_changes",
    "words_data",
    "words_idx",
    "words_docsize",
    "words_config",
    "symbol_names",
    "symbol_grams_data",
    "symbol_grams_idx",
]


@pytest.mark.parametrize("table", TABLES)
def test_a_flipped_byte_in_a_page(sound: Sound, index: Path, table: str) -> None:
    rng = random.Random(table)
    page = rng.choice(sound.pages[table])
    for _ in range(3):
        flip(index, (page - 1) * PAGE + rng.randrange(PAGE), rng)
    ask(sound, index)
    check_healed(sound, index)


@pytest.mark.parametrize(
    "table", ["sqlite_schema", "records", "chunks", "vectors", "words_data", "symbol_grams_data", "texts"]
)
def test_a_page_of_zeros(sound: Sound, index: Path, table: str) -> None:
    page = random.Random(table).choice(sound.pages[table])
    with open(index, "r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))
    ask(sound, index)
    check_healed(sound, index)


@pytest.mark.parametrize("table", ["words_data", "words_idx", "words_docsize"])
def test_without_words_the_meaning_still_finds(sound: Sound, index: Path, table: str) -> None:
    for page in sound.pages[table]:
        with open(index, "r+b") as file:
            file.seek((page - 1) * PAGE)
            file.write(bytes(PAGE))
    with opened(sound.settings, index) as engine:
        answer = engine.search(Query(QUERIES[0]))
        assert answer.hits
        assert any(step.name == "lexical" and "damaged words" in step.note for step in answer.steps)
        assert any("damaged words" in note for note in answer.completeness.notes)
        assert engine.search(Query(QUERIES[0], recipe="lexical")).hits == ()
        assert engine.grep(GrepQuery(("retry",), "substring")).files


def test_without_vectors_the_words_still_find(sound: Sound, index: Path) -> None:
    index.with_name("index.db-vectors").unlink()
    for page in sound.pages["vectors"]:
        with open(index, "r+b") as file:
            file.seek((page - 1) * PAGE)
            file.write(bytes(PAGE))
    with opened(sound.settings, index) as engine:
        answer = engine.search(Query(QUERIES[0]))
        assert answer.hits
        assert any(step.name == "semantic" and "damaged vectors" in step.note for step in answer.steps)


@pytest.mark.parametrize("at", [0, 16, 18, 23, 47, 59, 60, 63, 68, 71])
def test_a_flipped_byte_in_the_header(sound: Sound, index: Path, at: int) -> None:
    flip(index, at, random.Random(at))
    ask(sound, index)
    check_healed(sound, index)


@pytest.mark.parametrize("way", [truncated, zeroed], ids=lambda it: it.__name__)
@pytest.mark.parametrize("seed", range(3))
def test_the_index_file(sound: Sound, index: Path, way: Callable[[Path, random.Random], None], seed: int) -> None:
    way(index, random.Random(seed))
    ask(sound, index)
    check_healed(sound, index)


def test_what_was_damaged_is_set_aside_one_of_a_kind(
    sound: Sound, index: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    for _ in range(2):
        index.write_bytes(index.read_bytes()[: 5 * PAGE])
        check_healed(sound, index)
    (aside,) = [it for it in index.parent.glob("index.db.damaged-*") if not it.name.endswith(("-wal", "-shm"))]
    assert aside.stat().st_size == 5 * PAGE
    assert str(aside) in caplog.text


def test_a_newer_index_is_no_damage(sound: Sound, index: Path) -> None:
    connection = apsw.Connection(str(index))
    connection.execute("PRAGMA user_version = 99; CREATE TABLE of_the_future (x)")
    connection.close()
    before = index.read_bytes()
    with pytest.raises(IndexUnusable, match="newer Dowse"):
        repair_or_rebuild(sound.settings, index, sound.root, quiet)
    assert index.read_bytes() == before


def test_the_index_of_another_root_is_answered_from_and_brought_in_line(
    sound: Sound, index: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    write(other, {"a.md": "# Other\n\nsomething about walruses\n"})
    elsewhere = tmp_path / "other.db"
    with Engine(sound.settings, elsewhere, create=True) as engine:
        engine.index([other])
        engine.indexing.checkpoint()
    shutil.move(elsewhere, index)
    with opened(sound.settings, index) as engine:
        assert engine.search(Query("walruses")).hits[0].stored.record.path == "a.md"
    with Engine(sound.settings, index, create=True) as engine:
        engine.index([sound.root])
        assert engine.health.check(deep=True) and not [
            it for it in engine.health.check(deep=True) if it.state == "problem"
        ]
        assert {it.root for it in engine.collections()} == {str(other), str(sound.root)}


# --- the files beside it ---


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("side", ["-vectors", "-lines", "-shm"])
def test_a_file_beside_the_index(sound: Sound, index: Path, side: str, way: str) -> None:
    file = index.with_name(f"index.db{side}")
    if side == "-shm":
        file.write_bytes(bytes(32_768))
    WAYS[way](file, random.Random(side + way))
    ask(sound, index)
    check_healed(sound, index)


@pytest.mark.parametrize("way", WAYS)
def test_the_log(sound: Sound, tmp_path: Path, way: str) -> None:
    """Whatever is lost with it, the file without it is whole, and the next sync reads what is missing."""
    made, index = tmp_path / "made" / "index.db", tmp_path / "index.db"
    with Engine(sound.settings, made, create=True) as engine:
        engine.index([sound.root])
        for side in ("", "-wal"):
            shutil.copy(f"{made}{side}", f"{index}{side}")
    log = Path(f"{index}-wal")
    assert log.stat().st_size > 100_000
    WAYS[way](log, random.Random(way))
    try:
        ask(sound, index)
    except NotIndexed:
        assert way in ("deleted", "swapped")
    check_healed(sound, index)


@pytest.mark.parametrize("way", WAYS)
def test_the_shared_cache_of_vectors(sound: Sound, tmp_path: Path, way: str) -> None:
    shutil.copytree(sound.settings.data_dir, tmp_path / "data")  # type: ignore[arg-type]
    settings = Settings(encoder="hashing", data_dir=tmp_path / "data", workers=1)
    (cache,) = DataPaths.of(settings).vectors.glob("*.sqlite")
    WAYS[way](cache, random.Random(way))
    index = tmp_path / "index.db"
    with Engine(settings, index, create=True) as engine:
        engine.index([sound.root])
        engine.indexing.checkpoint()
    with opened(settings, index) as engine:
        assert answers(engine) == sound.answers


# --- with real commands ---


@dataclass(frozen=True)
class Command:
    root: Path
    data: Path

    @property
    def index(self) -> Path:
        return DataPaths(self.data).index_path(self.root.resolve())

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"DOWSE_DATA_DIR": str(self.data), "DOWSE_ENCODER": "hashing"}
        done = subprocess.run(
            [sys.executable, "-m", "dowse", *words],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1) or len(done.stderr.strip().splitlines()) == 1, done.stderr
        return done


@pytest.fixture
def command(tmp_path: Path) -> Command:
    write(tmp_path / "root", corpus())
    made = Command(tmp_path / "root", tmp_path / "data")
    assert made.run("index").returncode == 0
    return made


def settled(index: Path) -> bytearray:
    """The content of an index whose log is empty."""
    connection = apsw.Connection(str(index))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return bytearray(index.read_bytes())


def whole_page(content: bytearray, page: int) -> None:
    content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)


def test_the_doctor_finds_damage_and_heals_it(command: Command) -> None:
    grep, export = ("grep", "retry"), ("export",)
    before = [command.run(*it).stdout for it in (grep, export)]
    damages: list[Callable[[bytearray], object]] = [
        lambda content: whole_page(content, _pages(command.index)["words_data"][0]),
        lambda content: whole_page(content, 1),
        lambda content: content.__delitem__(slice(len(content) // 2, None)),
    ]
    for damage in damages:
        content = settled(command.index)
        damage(content)
        command.index.write_bytes(content)
        assert command.run("doctor").returncode == 1
        healed = command.run("doctor", "--fix")
        assert healed.returncode == 0, healed.stdout
        assert "fixed:" in healed.stdout
        assert [command.run(*it).stdout for it in (grep, export)] == before


def test_no_room_for_a_new_index_leaves_the_old_one(command: Command) -> None:
    content = settled(command.index)
    whole_page(content, _pages(command.index)["words_data"][0])
    command.index.write_bytes(content)
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
        "from dowse.cli import main; main(['doctor', '--fix'])"
    )
    environment = os.environ | {"DOWSE_DATA_DIR": str(command.data), "DOWSE_ENCODER": "hashing"}
    done = subprocess.run(
        [sys.executable, "-c", limited], cwd=command.root, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    assert command.index.read_bytes() == bytes(content)
    assert not list(command.index.parent.glob("*.new*"))
    assert command.run("search", "retries handled").returncode == 0
