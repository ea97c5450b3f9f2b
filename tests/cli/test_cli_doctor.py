"""`dowse doctor`: what it looks at, what it says, what it does, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner, Result

from dowse.cli.doctor import exposed_paths
from dowse.cli.group import dowse
from dowse.paths import DataPaths
from support import write


@pytest.fixture
def root(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An indexed root; the current directory."""
    write(root, {"a.md": "# Apples\n\nred and green\n", "b.md": "# Pears\n\nonly green\n", "c.bin": "\0\0\0"})
    (tmp_path / "data").mkdir(mode=0o700)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    monkeypatch.chdir(root)
    assert run("index").exit_code == 0
    return root


@pytest.fixture
def index(root: Path, tmp_path: Path) -> Path:
    return DataPaths(tmp_path / "data").index_path(root)


def run(*words: str) -> Result:
    return CliRunner().invoke(dowse, words, standalone_mode=False)


def told(*words: str) -> tuple[int, dict[str, object]]:
    result = run("doctor", "--json", *words)
    assert result.exception is None, result.exception
    return int(result.return_value), json.loads(result.stdout)


def states(data: dict[str, object]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for it in data["findings"]:  # type: ignore[attr-defined]
        found.setdefault(it["part"], set()).add(it["state"])
    return found


def break_words(index: Path) -> None:
    connection = apsw.Connection(str(index))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("DELETE FROM words_docsize WHERE id = 1")
    connection.close()


def test_a_healthy_index_is_well(root: Path) -> None:
    code, data = told()
    assert (code, data["healthy"], data["fixed"]) == (0, True, [])
    assert {"index", "words", "names", "vectors", "records", "catalog", "roots", "skipped", "unparsed"} <= set(
        states(data)
    )
    assert {"disk", "log", "lock", "SQLite", "watching", "encoder", "vector cache"} <= set(states(data))


def test_it_says_what_each_finding_means_and_the_verdict(root: Path, index: Path) -> None:
    break_words(index)
    result = run("doctor")
    (line,) = [it for it in result.stdout.splitlines() if it.startswith("✗ words") and "1 of 2" in it]
    assert line.endswith("→ dowse doctor --fix")
    assert "problem" in result.stdout.splitlines()[-1]
    assert result.return_value == 1


def test_quick_counts_and_deep_reads(root: Path, index: Path) -> None:
    connection = apsw.Connection(str(index))
    connection.execute("UPDATE records SET title = 'Bananas' WHERE path = 'a.md'")
    connection.close()
    assert told("--quick")[0] == 0
    assert told("--deep")[0] == 1


def test_fix_mends_and_says_so(root: Path, index: Path) -> None:
    break_words(index)
    code, data = told("--fix")
    assert (code, data["healthy"]) == (0, True)
    assert data["fixed"] == ["rebuilt the text index from the catalog"]
    code, again = told()
    # The texts tell of the machine, too, which may have changed meanwhile.
    assert (code, again["fixed"], states(again)) == (0, [], states(data))


def test_an_index_that_can_not_be_opened_is_made_anew_and_the_old_one_kept(root: Path, index: Path) -> None:
    index.write_bytes(b"\0" * 10_000)
    assert told()[0] == 1
    code, data = told("--fix")
    assert code == 0
    assert "rebuilt from the files" in str(data["fixed"])
    asides = [it for it in index.parent.glob("index.db.damaged-*") if not it.name.endswith(("-wal", "-shm"))]
    assert [it.read_bytes() for it in asides] == [b"\0" * 10_000]
    assert "set aside" in run("doctor").stdout
    assert run("search", "apples").return_value == 0


def test_no_index_is_a_problem_that_fix_solves(root: Path, index: Path) -> None:
    index.unlink()
    code, data = told("--quick")
    assert (code, states(data)["index"]) == (1, {"problem"})
    assert told("--fix")[0] == 0
    assert run("search", "apples").return_value == 0


def test_a_newer_index_is_left_alone(root: Path, index: Path) -> None:
    connection = apsw.Connection(str(index))
    connection.execute("PRAGMA user_version = 99; CREATE TABLE of_the_future (x); PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    before = index.read_bytes()
    code, data = told("--fix")
    assert (code, states(data)["index"]) == (1, {"problem"})
    assert index.read_bytes() == before


def test_what_others_may_read_is_closed(root: Path, index: Path, tmp_path: Path) -> None:
    index.chmod(0o644)
    assert "permissions" in states(told("--quick")[1])
    assert "now readable only by its owner" in str(told("--quick", "--fix")[1]["fixed"])
    assert exposed_paths(index, tmp_path / "data") == []
    assert index.stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_index_and_what_has_a_similar_name_are_left_alone(root: Path, tmp_path: Path) -> None:
    write(tmp_path, {"notes": "mine", "notes.txt": "mine, too", "notes-wall.md": "and this"})
    names = ("notes", "notes.txt", "notes-wall.md")
    before = [((tmp_path / it).read_bytes(), (tmp_path / it).stat().st_mode) for it in names]
    result = run("doctor", "--fix", "--index", str(tmp_path / "notes"))
    assert "is not a Dowse index" in str(result.exception)
    assert [((tmp_path / it).read_bytes(), (tmp_path / it).stat().st_mode) for it in names] == before


def test_only_what_belongs_to_the_index_is_closed(root: Path, tmp_path: Path) -> None:
    index, other = tmp_path / "own", tmp_path / "own.txt"
    assert run("index", "--index", str(index)).exit_code == 0
    other.write_text("not of the index")
    for it in (index, other):
        it.chmod(0o644)
    assert run("doctor", "--fix", "--index", str(index)).return_value == 0
    assert (index.stat().st_mode & 0o777, other.stat().st_mode & 0o777) == (0o600, 0o644)


def test_what_a_kill_left_is_deleted_and_what_was_set_aside_is_named(root: Path, index: Path) -> None:
    unfinished, aside = index.with_name("index.db.new"), index.with_name("index.db-lines.damaged")
    unfinished.write_bytes(b"half")
    aside.write_bytes(b"bad")
    found = [it["text"] for it in told("--quick")[1]["findings"] if it["part"] == "leftovers"]  # type: ignore[attr-defined]
    assert len(found) == 2
    assert told("--quick", "--fix")[0] == 0
    assert not unfinished.exists()
    assert aside.exists()


def test_a_damaged_vector_cache_is_dropped(root: Path, tmp_path: Path) -> None:
    (cache,) = (tmp_path / "data" / "vectors").glob("*.sqlite")
    cache.write_bytes(b"nonsense" * 1_000)
    code, data = told("--quick")
    assert (code, states(data)["vector cache"]) == (1, {"problem"})
    assert told("--quick", "--fix")[0] == 0


def test_a_root_that_is_gone_is_told_and_kept(root: Path, tmp_path: Path) -> None:
    named = ("--index", str(tmp_path / "shared.db"))
    other = tmp_path / "other"
    write(other, {"o.md": "# Other\n\nwalruses\n"})
    assert run("index", str(other), *named).exit_code == 0
    other.rename(tmp_path / "moved")
    code, data = told("--quick", *named)
    assert (code, states(data)["roots"]) == (0, {"warning"})


def test_a_missing_encoder_is_a_problem(root: Path) -> None:
    code, data = told("--encoder", "ollama:none@http://127.0.0.1:9")
    assert (code, states(data)["encoder"]) == (1, {"problem"})


def test_a_broken_header_of_a_named_index_is_made_anew_only_if_it_was_ours(root: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "thesis.docx"
    foreign.write_bytes(b"PK" + b"\0" * 5_000)
    for words in ((), ("--fix",)):
        result = run("doctor", *words, "--index", str(foreign))
        assert "is not replaced" in str(result.exception)
    assert foreign.read_bytes() == b"PK" + b"\0" * 5_000
