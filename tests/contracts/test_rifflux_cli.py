"""The original's commands: flags, indented JSON, exit codes, and what they must never delete."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rifflux_server import REINDEX_KEYS, Serve, run_script

from support import write

FILES = {"one/a.md": "# A\n\nAll about apples.\n", "two/b.md": "# B\n\nAll about bananas.\n"}


def printed(name: str, *arguments: str, folder: Path, **variables: str) -> dict[str, Any]:
    done = run_script(name, *arguments, folder=folder, **variables)
    assert (done.returncode, done.stderr) == (0, "")
    data: dict[str, Any] = json.loads(done.stdout)
    assert done.stdout == json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    return data


def refused(name: str, *arguments: str, folder: Path) -> str:
    done = run_script(name, *arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    return done.stderr


def test_reindex_then_query(work: Path) -> None:
    write(work, FILES)
    answer = printed("rifflux-reindex", folder=work)
    assert answer.keys() == REINDEX_KEYS
    assert (answer["indexed_files"], answer["embedding_backend"]) == (2, "hash")
    assert (work / ".tmp/rifflux/rifflux.db").is_file()
    assert printed("rifflux-reindex", "--path", "one", "--force", folder=work)["indexed_files"] == 1
    found = printed("rifflux-query", "apples", folder=work)
    assert found.keys() == {"query", "mode", "count", "embedding_model", "auto_reindex", "results"}
    assert (found["mode"], found["results"][0]["path"]) == ("hybrid", "one/a.md")


def test_flags_of_the_commands(work: Path) -> None:
    write(work, FILES)
    printed("rifflux-reindex", "--path", "two", "--db", "x/my.db", folder=work)
    found = printed("rifflux-query", "all", "--mode", "lexical", "--top-k", "1", "--db", "x/my.db", folder=work)
    assert (found["mode"], found["count"], found["results"][0]["path"]) == ("lexical", 1, "b.md")
    assert not (work / ".tmp").exists()


def test_nothing_found_is_no_error(work: Path) -> None:
    write(work, FILES)
    printed("rifflux-reindex", folder=work)
    assert printed("rifflux-query", "zeppelin", "--mode", "lexical", folder=work)["count"] == 0


def test_rebuild_starts_from_nothing(work: Path) -> None:
    write(work, FILES)
    first = printed("rifflux-rebuild", folder=work)
    assert first.keys() == REINDEX_KEYS | {"rebuilt_db_path", "deleted_existing_db"}
    index = work / ".tmp/rifflux/rifflux.db"
    assert (first["rebuilt_db_path"], first["deleted_existing_db"]) == (str(index), False)
    again = printed("rifflux-rebuild", "--path", "two", folder=work)
    assert (again["deleted_existing_db"], again["indexed_files"]) == (True, 1)
    assert printed("rifflux-query", "apples", "--mode", "lexical", folder=work)["count"] == 0


def test_a_query_heals_a_damaged_index(work: Path) -> None:
    write(work, FILES)
    printed("rifflux-reindex", folder=work)
    index = work / ".tmp/rifflux/rifflux.db"
    index.write_bytes(index.read_bytes()[:4096] + b"\xff" * 8192)
    healed = run_script("rifflux-query", "apples", "--mode", "lexical", folder=work)
    assert (healed.returncode, json.loads(healed.stdout)["count"]) == (0, 1)
    assert healed.stderr.count("\n") == 1
    assert printed("rifflux-query", "apples", "--mode", "lexical", folder=work)["count"] == 1
    assert printed("rifflux-rebuild", folder=work)["indexed_files"] == 2


@pytest.mark.parametrize(
    ("build", "ask"),
    [
        (("rifflux-reindex",), ("rifflux-query", "apples", "--mode", "lexical")),
        (("mcp-markdown-ragdocs", "query", "x"), ("mcp-markdown-ragdocs", "query", "apples")),
        (("search-index", "index"), ("search-index", "grep", "apples")),
    ],
)
@pytest.mark.parametrize("kept", [0.3, 0.5, 0.8])
def test_the_next_plain_command_heals(
    work: Path, tmp_path: Path, build: tuple[str, ...], ask: tuple[str, ...], kept: float
) -> None:
    write(work, {f"page{n}.md": f"# Page {n}\n\napples {n} {'and more of it ' * 200}\n" for n in range(9)})
    variables = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    assert run_script(*build, folder=work, **variables).returncode == 0
    (index,) = [*work.rglob("*.db"), *(tmp_path / "data/indexes").rglob("*.db")]
    size = index.stat().st_size
    with open(index, "r+b") as file:
        file.seek(int(size * kept))
        file.write(b"\x5a" * (size - file.tell()))
    answers = [run_script(*ask, folder=work, **variables) for _ in range(2)]
    assert [it.returncode for it in answers] == [0, 0], answers[0].stderr
    assert "page" in answers[0].stdout or "the next answer is complete" in answers[0].stderr
    assert "page" in answers[1].stdout
    assert "dowse rebuild" not in answers[0].stderr + answers[1].stderr
    assert answers[1].stderr == ""


def test_advice_names_the_command_that_mends_this_index(work: Path) -> None:
    write(work, FILES)
    printed("rifflux-reindex", folder=work)
    told = run_script("rifflux-query", "apples", folder=work, DOWSE_DATA_DIR=str(work.parent / "another")).stderr
    assert "`rifflux-rebuild`" in told and "`dowse" not in told


def test_rebuild_replaces_an_index_of_the_original(work: Path) -> None:
    write(work, FILES)
    with closing(sqlite3.connect(work / "old.db")) as connection:
        connection.execute("CREATE TABLE embeddings (chunk_id TEXT, vec BLOB)")
        connection.commit()
    assert "rifflux-rebuild" in refused("rifflux-query", "apples", "--db", "old.db", folder=work)
    assert printed("rifflux-rebuild", "--db", "old.db", folder=work)["deleted_existing_db"] is True


def test_rebuild_deletes_nothing_but_an_index(work: Path) -> None:
    write(work, {**FILES, "diary.txt": "dear diary"})
    assert "diary.txt is not a Dowse index" in refused("rifflux-rebuild", "--db", "diary.txt", folder=work)
    assert (work / "diary.txt").read_text() == "dear diary"
    assert "cannot use" in refused("rifflux-rebuild", "--db", "one", folder=work)


@pytest.mark.parametrize("path", ["typo", "/"])
def test_rebuild_of_a_wrong_place_keeps_the_index(work: Path, path: str) -> None:
    write(work, FILES)
    printed("rifflux-reindex", folder=work)
    refused("rifflux-rebuild", "--path", path, folder=work)
    assert printed("rifflux-query", "apples", "--mode", "lexical", folder=work)["count"] == 1


def test_a_running_server_sees_a_rebuilt_index(serve: Serve, work: Path) -> None:
    write(work, FILES)
    server = serve()
    server.ask("reindex")
    write(work, {"c.md": "# C\n\nAll about cherries.\n"})
    printed("rifflux-rebuild", folder=work)
    assert [row["path"] for row in server.search("cherries", mode="lexical")] == ["c.md"]


@pytest.mark.parametrize("folder", [Path("/"), Path.home()])
def test_any_working_directory_will_do(work: Path, folder: Path) -> None:
    """Clients start servers in `/` or at home; only indexing these is refused."""
    write(work, FILES)
    places = {"RIFFLUX_DB_PATH": str(work / "my.db"), "DOWSE_DATA_DIR": str(work / "data")}
    printed("rifflux-reindex", "--path", str(work), folder=folder, **places)
    assert printed("rifflux-query", "apples", "--mode", "lexical", folder=folder, **places)["count"] == 1


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("rifflux-query",), "Missing argument 'QUERY'"),
        (("rifflux-query", "a", "--mode", "fuzzy"), "'fuzzy' is not one of"),
        (("rifflux-query", "a", "--top-k", "0"), "0 is not in the range 1<=x<=100"),
        (("rifflux-query", "a", "--top-k", "ten"), "'ten' is not a valid integer"),
        (("rifflux-reindex", "--path", "typo"), "typo does not exist"),
        (("rifflux-reindex", "--db", "one"), "cannot use"),
        (("rifflux-rebuild", "--what"), "No such option"),
        (("rifflux-mcp", "--watch-path", "typo"), "typo does not exist"),
    ],
)
def test_wrong_use_ends_with_two(work: Path, arguments: tuple[str, ...], problem: str) -> None:
    write(work, FILES)
    assert problem in refused(*arguments, folder=work)
