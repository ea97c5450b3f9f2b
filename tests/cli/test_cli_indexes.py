"""`dowse indexes`: what is listed, what may be deleted, and what never is."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from dowse.live.leader import LeaderLock
from dowse.paths import DataPaths
from dowse.server.sharing.hello import make_private_folder, socket_paths, try_lock
from dowse.store.sqlite.locks import file_lock, write_lock
from support import Run, command_line, write


@pytest.fixture
def places(tmp_path: Path) -> DataPaths:
    return DataPaths(tmp_path.resolve() / "data")


@pytest.fixture
def run(tmp_path: Path, places: DataPaths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Two roots are indexed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOWSE_DATA_DIR", str(places.data_dir))
    monkeypatch.setenv("DOWSE_ENCODER", "hashing")
    run = command_line(capsys)
    for name in ("one", "two"):
        write(tmp_path / name, {"README.md": f"# {name}\n"})
        assert run("index", name)[0] == 0
    return run


def listed(run: Run) -> dict[str, Any]:
    code, out, _ = run("indexes", "--json")
    assert code == 0
    return {it["name"].rpartition("-")[0]: it for it in json.loads(out)["indexes"]}


def test_the_list_tells_size_root_and_age(run: Run, tmp_path: Path, places: DataPaths) -> None:
    found = listed(run)
    assert set(found) == {"one", "two"}
    assert found["one"]["roots"] == [{"path": str(tmp_path.resolve() / "one"), "exists": True}]
    files = places.index_path(tmp_path.resolve() / "one").parent.iterdir()
    assert 0 < found["one"]["bytes"] <= sum(it.stat().st_size for it in files)
    _, out, _ = run("indexes")
    assert "just now" in out and " MB " in out and out.splitlines()[-1].startswith("2 indexes, ")
    assert run("roots", "list")[1] == out


def test_the_age_is_that_of_the_last_change_not_of_the_last_look(run: Run, tmp_path: Path, places: DataPaths) -> None:
    index = places.index_path(tmp_path.resolve() / "one")
    for file in index.parent.iterdir():
        os.utime(file, (1_000_000_000, 1_000_000_000))
    for _ in range(2):
        assert listed(run)["one"]["changed_at"] == "2001-09-09T01:46:40Z"


@pytest.mark.parametrize("by", ["name", "folder name", "path", "relative path", "index"])
def test_one_is_deleted_by_its_name_or_root(run: Run, tmp_path: Path, places: DataPaths, by: str) -> None:
    root = tmp_path.resolve() / "one"
    index = places.index_path(root)
    target = {
        "name": index.parent.name,
        "folder name": "one",
        "path": str(root),
        "relative path": "./one",
        "index": str(index),
    }[by]
    code, out, _ = run("indexes", "delete", target, "--yes")
    assert (code, out) == (0, f"deleted {index.parent.name}\n")
    assert not index.parent.exists() and set(listed(run)) == {"two"}
    assert (root / "README.md").exists()


def test_prune_deletes_those_whose_root_is_gone(run: Run, tmp_path: Path) -> None:
    assert run("indexes", "prune", "--yes")[1] == "nothing was deleted\n"
    shutil.rmtree(tmp_path / "one")
    _, out, _ = run("indexes")
    assert "one (gone)" in out and "1 without any existing root; `dowse indexes prune` deletes them" in out
    assert run("indexes", "prune", "--yes")[0] == 0
    assert set(listed(run)) == {"two"}


def test_without_a_terminal_nothing_goes_unless_yes(run: Run) -> None:
    code, _, err = run("indexes", "delete", "one")
    assert code == 2 and "pass --yes" in err and set(listed(run)) == {"one", "two"}


@pytest.mark.parametrize(("typed", "left"), [("y\n", {"two"}), ("n\n", {"one", "two"})])
def test_a_terminal_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch, typed: str, left: set[str]) -> None:
    given = io.StringIO(typed)
    monkeypatch.setattr(given, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", given)
    with monkeypatch.context() as patch:
        patch.setattr(sys.stderr, "isatty", lambda: True)
        assert run("indexes", "delete", "one")[0] == (0 if left == {"two"} else 130)
    assert set(listed(run)) == left


def test_an_index_that_a_process_uses_stays(run: Run, tmp_path: Path, places: DataPaths) -> None:
    index = places.index_path(tmp_path.resolve() / "one")
    leadership = LeaderLock(index)
    assert leadership.try_acquire()
    code, _, err = run("indexes", "delete", "one", "--yes")
    assert code == 2 and f"process {os.getpid()} serves {index.parent.name}" in err
    assert listed(run)["one"]["used_by"] == f"process {os.getpid()} serves {index.parent.name}"
    leadership.close()
    with write_lock(index, 1):
        code, _, err = run("indexes", "delete", "one", "--yes")
    assert code == 2 and "is writing to" in err
    with file_lock(Path(f"{index}.encoding"), 1):
        assert run("indexes", "delete", "one", "--yes")[0] == 2
    place = socket_paths(index, places.data_dir, tmp_path)
    make_private_folder(place.folder)
    lock = try_lock(place.lock)
    assert lock is not None
    os.write(lock, b"4711")
    assert "process 4711 serves" in run("indexes", "delete", "one", "--yes")[2]
    os.close(lock)
    assert index.exists()
    assert run("indexes", "delete", "one", "--yes")[0] == 0


@pytest.mark.parametrize("target", ["..", "../..", "/", "", "one/..", "*", "indexes", "~", "nosuch"])
def test_nothing_else_can_be_named(run: Run, target: str) -> None:
    code, _, err = run("indexes", "delete", target, "--yes")
    assert code == 2 and "no index with name or root" in err
    assert set(listed(run)) == {"one", "two"}


def test_links_and_foreign_files_are_no_indexes(run: Run, tmp_path: Path, places: DataPaths) -> None:
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(places.index_path(tmp_path.resolve() / "one").parent, elsewhere)
    (places.indexes / "linked").symlink_to(elsewhere)
    write(places.indexes, {"foreign/index.db": "my own data", "other/notes.txt": "mine"})
    (places.indexes / "inside").mkdir()
    (places.indexes / "inside/index.db").symlink_to(elsewhere / "index.db")
    assert set(listed(run)) == {"one", "two"}
    for name in ("linked", "foreign", "other", "inside"):
        assert run("indexes", "delete", name, "--yes")[0] == 2
    assert (elsewhere / "index.db").exists() and (places.indexes / "foreign/index.db").read_text() == "my own data"


def test_what_is_not_ours_beside_an_index_stays(run: Run, tmp_path: Path, places: DataPaths) -> None:
    folder = places.index_path(tmp_path.resolve() / "one").parent
    write(folder, {"mine.txt": "mine", "sub/index.db-wal": "mine"})
    assert run("indexes", "delete", "one", "--yes")[0] == 0
    assert sorted(it.name for it in folder.rglob("*")) == ["index.db-wal", "mine.txt", "sub"]


def test_a_root_is_removed_from_an_index_of_several(run: Run, tmp_path: Path) -> None:
    both = str(tmp_path / "both.db")
    assert run("index", "one", "two", "--index", both)[0] == 0
    code, out, _ = run("indexes", "remove-root", "two", "--index", both, "--yes")
    assert code == 0 and out.startswith(f"removed {tmp_path.resolve() / 'two'} from the index of ")
    status = json.loads(run("status", "--json", "--index", both, "--root", "one")[1])
    assert [it["name"] for it in status["collections"]] == ["one"]
    code, _, err = run("indexes", "remove-root", "one", "--index", both, "--yes")
    assert code == 2 and "covers no other root" in err
    code, _, err = run("indexes", "remove-root", "two", "--yes")
    assert code == 2 and "no index with several roots covers two" in err


def test_a_damaged_index_is_listed_and_can_be_deleted(run: Run, tmp_path: Path, places: DataPaths) -> None:
    index = places.index_path(tmp_path.resolve() / "one")
    for beside in index.parent.glob("index.db-*"):
        beside.unlink()
    index.write_bytes(index.read_bytes()[:100] + b"\0" * 5000)
    assert listed(run)["one"]["roots"] == []
    assert "unreadable" in run("indexes")[1]
    assert run("indexes", "prune", "--yes")[1] == "nothing was deleted\n"
    assert run("indexes", "delete", index.parent.name, "--yes")[0] == 0
