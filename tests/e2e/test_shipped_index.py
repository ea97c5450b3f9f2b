"""A repository that comes with an index of its own, or with links beside one: nothing of it is served or run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest
from commanded import Dowse

from support import write

SECRET = "the walrus password is 4711"
FILES = {"notes.md": "# Notes\n\nnothing about the animal\n"}


@dataclass(frozen=True)
class Shipped:
    """A clone whose settings name an index that came with it; `home` stands for the directory of the user."""

    clone: Path
    home: Path
    data: Path

    @property
    def index(self) -> Path:
        return self.clone / "i.db"

    def run(self, *words: str) -> tuple[int, str, str]:
        process = Dowse(self.clone, self.data, DOWSE_ENCODER="none").start(*words)
        out, err = process.communicate(timeout=120)
        assert b"Traceback" not in err, err
        return process.returncode, out.decode(), err.decode()


def change(index: Path, *statements: str) -> None:
    connection = apsw.Connection(str(index))
    for statement in statements:
        connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.fixture
def shipped(tmp_path: Path) -> Shipped:
    """As somebody else made it: a file of the same name as one of the user's, and their directory as its root."""
    write(tmp_path / "home", {"notes.md": f"# Notes\n\n{SECRET}\n"})
    write(tmp_path / "other", FILES)
    Dowse(tmp_path / "other", tmp_path / "theirs", DOWSE_ENCODER="none").run("index", "--index", "i.db")
    write(tmp_path / "clone", FILES | {"dowse.toml": 'index = "i.db"\n'})
    made = Shipped(tmp_path / "clone", tmp_path / "home", tmp_path / "data")
    shutil.copy(tmp_path / "other" / "i.db", made.index)
    change(
        made.index,
        f"UPDATE collections SET root = '{made.home}'",
        "CREATE TABLE ran (what)",
        "CREATE TRIGGER foreign_one AFTER UPDATE ON collections BEGIN INSERT INTO ran VALUES ('ran'); END",
    )
    return made


@pytest.mark.parametrize("words", [("search", "walrus"), ("read", "notes.md"), ("index",), ("status",), ("export",)])
def test_a_shipped_index_serves_nothing_and_runs_nothing(shipped: Shipped, words: tuple[str, ...]) -> None:
    before = shipped.index.read_bytes()
    code, out, err = shipped.run(*words)
    assert SECRET not in out
    assert code == 2
    assert "was not made by your Dowse" in err
    assert "dowse rebuild --index" in err
    assert len(err.splitlines()) == 1
    assert shipped.index.read_bytes() == before


def test_a_shipped_index_is_not_followed_to_a_former_root(shipped: Shipped, tmp_path: Path) -> None:
    """What it says of roots that are gone leads nobody to take it over."""
    change(shipped.index, f"UPDATE collections SET root = '{tmp_path / 'gone'}'")
    assert shipped.run("search", "walrus")[0] == 2


def test_a_new_index_takes_the_place_of_a_shipped_one_when_asked_for(shipped: Shipped) -> None:
    before = shipped.index.read_bytes()
    assert shipped.run("rebuild", "--index", str(shipped.index))[0] == 0
    (aside,) = shipped.clone.glob("i.db.damaged-*[0-9]")
    assert aside.read_bytes() == before
    code, out, err = shipped.run("search", "animal")
    assert (code, err) == (0, "")
    assert SECRET not in out
    assert SECRET not in shipped.run("read", "notes.md")[1]


def test_the_doctor_makes_a_shipped_index_anew_when_asked_to(shipped: Shipped) -> None:
    assert shipped.run("doctor")[0] == 1
    code, out, _ = shipped.run("doctor", "--fix")
    assert code == 0, out
    assert SECRET not in shipped.run("read", "notes.md")[1]


def test_an_index_of_ones_own_is_used_wherever_it_lies(tmp_path: Path) -> None:
    write(tmp_path / "root", FILES | {"dowse.toml": 'index = "i.db"\n'})
    mine = Shipped(tmp_path / "root", tmp_path, tmp_path / "data")
    assert mine.run("index")[0] == 0
    assert (tmp_path / "data" / "key").stat().st_mode & 0o777 == 0o600
    mine.clone.rename(tmp_path / "moved")
    moved = Shipped(tmp_path / "moved", tmp_path, tmp_path / "data")
    code, _, err = moved.run("search", "animal")
    assert code == 0, err
    assert "took over the index" in err


def test_roots_that_something_else_changed_are_not_served(tmp_path: Path) -> None:
    write(tmp_path / "home", {"notes.md": f"# Notes\n\n{SECRET}\n"})
    write(tmp_path / "root", FILES | {"dowse.toml": 'index = "i.db"\n'})
    mine = Shipped(tmp_path / "root", tmp_path / "home", tmp_path / "data")
    assert mine.run("index")[0] == 0
    change(mine.index, f"UPDATE collections SET root = '{mine.home}'")
    _, out, err = mine.run("search", "walrus", "--mode", "lexical")
    assert SECRET not in out
    assert "rebuilt" in err
    assert SECRET not in mine.run("read", "notes.md")[1]


def test_an_index_of_an_older_dowse_in_its_standard_place_is_taken_over(tmp_path: Path) -> None:
    write(tmp_path / "root", FILES)
    dowse = Dowse(tmp_path / "root", tmp_path / "data", DOWSE_ENCODER="none")
    dowse.run("index")
    change(dowse.index, "DELETE FROM manifest WHERE key = 'signature'")
    (tmp_path / "data" / "key").unlink()
    assert b"animal" in dowse.run("search", "animal")
    dowse.run("index")
    connection = apsw.Connection(str(dowse.index))
    assert connection.execute("SELECT count(*) FROM manifest WHERE key = 'signature'").get == 1
    connection.close()


# --- links ---


@pytest.mark.parametrize("side", ["-wal", "-shm", "-journal", ".lock", ".lock.next", ".lock.turn", "-jobs", "-lines"])
def test_nothing_is_written_through_a_link_beside_an_index(tmp_path: Path, side: str) -> None:
    write(tmp_path / "clone", FILES | {"dowse.toml": 'index = "i.db"\n'})
    mine = Shipped(tmp_path / "clone", tmp_path, tmp_path / "data")
    victim = tmp_path / "victim"
    victim.write_text(SECRET)
    (tmp_path / "clone" / f"i.db{side}").symlink_to(victim)
    for words in (("search", "animal"), ("rebuild",)):
        assert mine.run(*words)[0] == 2
    assert victim.read_text() == SECRET


# --- what SQLite itself would do ---


def test_triggers_and_views_of_an_unknown_file_are_off(tmp_path: Path) -> None:
    from dowse.store.sqlite.database import make_defensive

    connection = apsw.Connection(str(tmp_path / "a.db"))
    connection.execute(
        "CREATE TABLE a (x); CREATE TABLE ran (x); CREATE VIEW v AS SELECT 1; "
        "CREATE TRIGGER t AFTER INSERT ON a BEGIN INSERT INTO ran VALUES (1); END"
    )
    make_defensive(connection)
    connection.execute("INSERT INTO a VALUES (1)")
    assert connection.execute("SELECT count(*) FROM ran").get == 0
    with pytest.raises(apsw.SQLError):
        connection.execute("SELECT * FROM v")


def test_processes_that_make_the_key_at_once_agree_on_one(tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("a", "b", "c")]
    for root in roots:
        write(root, FILES)
    begun = [Dowse(it, tmp_path / "data", DOWSE_ENCODER="none").start("index") for it in roots]
    assert all(it.communicate(timeout=60) and it.returncode == 0 for it in begun)
    for root in roots:
        elsewhere = root / "copied.db"
        shutil.copy(Dowse(root, tmp_path / "data").index, elsewhere)
        assert Dowse(root, tmp_path / "data", DOWSE_ENCODER="none").run("search", "animal", "--index", str(elsewhere))
