"""The indexing half of the contract: locations, increments, pruning, background jobs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from rifflux_server import JOB_KEYS, REINDEX_KEYS, Served, serving

from support import write

A = "# A\n\nThe first file, about apples.\n"
B = "# B\n\nThe second file, about bananas.\n"
C = "# C\n\nThe third file, about cherries.\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("reindex") / "work") as served:
        yield served


@pytest.fixture
def server(running: Served) -> Served:
    """Everything of the test before is gone, the index too: the server has to make a new one."""
    for place in running.folder.iterdir():
        rmtree(place) if place.is_dir() else place.unlink()
    write(running.folder, {"one/a.md": A, "one/b.md": B, "two/c.md": C})
    return running


@pytest.fixture
def work(server: Served) -> Path:
    return server.folder


def counts(served: Served, **arguments: object) -> tuple[int, int, int]:
    """Indexed, skipped and deleted files of one reindex."""
    answer = served.ask("reindex", **arguments)
    return answer["indexed_files"], answer["skipped_files"], answer["deleted_files"]


def found(served: Served, word: str) -> list[str]:
    return [row["path"] for row in served.search(word, mode="lexical")]


# --- the contract ---


def test_con_004_path_or_paths(server: Served) -> None:
    """CON-004 One location is given as `path`, several as `paths`."""
    assert counts(server, path="one") == (2, 0, 0)
    assert counts(server, paths=["one", "two"]) == (1, 2, 0)


def test_con_005_paths_win(server: Served) -> None:
    """CON-005 `paths` wins over `path`, unless it is empty."""
    assert counts(server, path="one", paths=["two"]) == (1, 0, 0)
    assert counts(server, path="one", paths=[]) == (2, 0, 0)


def test_con_006_working_directory_by_default(server: Served) -> None:
    """CON-006 Without a location the server's working directory is indexed."""
    assert counts(server) == (3, 0, 0)
    assert found(server, "cherries") == ["two/c.md"]


def test_ac_008_several_locations_are_summed(server: Served, work: Path) -> None:
    """AC-008 The answer to several locations adds up their counts and names them."""
    answer = server.ask("reindex", paths=["one", "two"])
    assert (answer["indexed_files"], answer["skipped_files"]) == (3, 0)
    assert answer["indexed_paths"] == [str(work / "one"), str(work / "two")]
    assert answer.keys() == REINDEX_KEYS | {"indexed_paths"}


def test_ac_009_only_paths_are_used(server: Served, work: Path) -> None:
    """AC-009 With both given, nothing of `path` is indexed."""
    answer = server.ask("reindex", path=str(work / "one"), paths=[str(work / "two")])
    assert answer["indexed_paths"] == [str(work / "two")]
    assert found(server, "apples") == []
    assert found(server, "cherries") == ["c.md"]


def test_ac_010_no_location_at_all(server: Served, work: Path) -> None:
    """AC-010 With neither given, and with both null, it is the working directory."""
    answer = server.ask("reindex")
    assert answer.keys() == REINDEX_KEYS
    assert answer["indexed_files"] == 3
    assert counts(server, path=None, paths=None) == (0, 3, 0)
    assert server.ask("index_status")["db_path"] == str(work / ".tmp/rifflux/rifflux.db")


# --- increments ---


def test_only_what_changed_is_indexed_again(server: Served, work: Path) -> None:
    assert counts(server) == (3, 0, 0)
    os.utime(work / "one/a.md", ns=(1, 1))
    assert counts(server) == (0, 3, 0)
    write(work, {"one/a.md": A.replace("apples", "apricots")})
    assert counts(server) == (1, 2, 0)
    assert (found(server, "apples"), found(server, "apricots")) == ([], ["one/a.md"])
    assert counts(server, force=True) == (3, 0, 0)


def test_a_touched_file_is_not_chunked_again(server: Served, work: Path) -> None:
    server.ask("reindex")
    before = server.ask("get_file", path="one/a.md")
    os.utime(work / "one/a.md", ns=(1, 1))
    answer = server.ask("reindex")
    assert (answer["indexed_files"], answer["skipped_files"]) == (0, 3)
    assert server.ask("get_file", path="one/a.md") == before


def test_a_deleted_file_is_pruned(server: Served, work: Path) -> None:
    server.ask("reindex")
    (work / "one/a.md").unlink()
    assert counts(server) == (0, 2, 1)
    assert found(server, "apples") == []
    assert server.ask("index_status")["files"] == 2


def test_a_deleted_file_is_kept_if_asked_to(server: Served, work: Path) -> None:
    server.ask("reindex")
    (work / "one/a.md").unlink()
    answer = server.ask("reindex", prune_missing=False)
    assert (answer["deleted_files"], answer["prune_missing"]) == (0, False)
    assert found(server, "apples") == ["one/a.md"]


def test_a_second_location_never_removes_the_first(server: Served) -> None:
    server.ask("reindex", path="one")
    assert counts(server, path="two") == (1, 0, 0)
    assert found(server, "apples") == ["a.md"]
    assert server.ask("index_status")["files"] == 3


@pytest.mark.parametrize("arguments", [{"path": "onne"}, {"paths": ["two", "onne"]}])
@pytest.mark.parametrize("background", [False, True])
def test_a_mistyped_location_changes_nothing(server: Served, arguments: dict[str, object], background: bool) -> None:
    server.ask("reindex", path="one")
    assert "onne does not exist" in server.refusal("reindex", **arguments, background=background)
    assert found(server, "apples") == ["a.md"]
    assert server.ask("index_status")["files"] == 2


def test_one_file_is_a_location(server: Served, work: Path) -> None:
    assert counts(server, path="one/a.md") == (1, 0, 0)
    assert (found(server, "apples"), found(server, "bananas")) == (["a.md"], [])


def test_the_globs_alone_decide(server: Served, work: Path) -> None:
    """What git ignores and what the native profile would leave out is indexed; what the contract excludes is not."""
    left_out = (".venv/d.md", "x/node_modules/deep/d.md", "__pycache__/d.md", ".git/d.md", "readme.txt")
    write(work, {".gitignore": "one/\n", "build/c.md": C, **dict.fromkeys(left_out, C)})
    subprocess.run(["git", "init", "--quiet", str(work)], check=True)
    assert counts(server) == (4, 0, 0)
    assert found(server, "file") == ["build/c.md", "one/a.md", "one/b.md", "two/c.md"]


def test_what_could_not_be_indexed_is_told(server: Served, work: Path) -> None:
    (work / "one/b.md").write_bytes(b"\x00\x01\x02\xff" * 50)
    os.mkfifo(work / "pipe.md")
    assert counts(server) == (2, 2, 0)
    skipped = server.ask("index_status")["skipped"]
    assert [it["path"] for it in skipped] == ["one/b.md", "pipe.md"]
    assert all(it["reason"] for it in skipped)


def test_a_location_includes_the_ones_inside_it(server: Served, work: Path) -> None:
    server.ask("reindex", path="one")
    write(work, {"one/a.md": A.replace("apples", "apricots")})
    server.ask("reindex")
    assert found(server, "apricots") != []


def test_an_index_may_lie_among_the_documents(tmp_path: Path) -> None:
    write(tmp_path, {"work/docs/a.md": A})
    with serving(tmp_path / "work", RIFFLUX_DB_PATH="docs/my.db") as served:
        assert counts(served) == (1, 0, 0)


def test_the_last_file_is_pruned_too(server: Served, work: Path) -> None:
    write(work, {"two/readme.txt": "still here"})
    server.ask("reindex", path="two")
    (work / "two/c.md").unlink()
    assert counts(server, path="two") == (0, 0, 1)


# --- behind the answers ---


def test_a_job_from_its_start_to_its_end(server: Served, work: Path) -> None:
    job = server.ask("reindex", paths=["one", "two"], background=True)
    assert job.keys() == JOB_KEYS
    assert job["status"] in ("queued", "running", "completed")
    ended = server.job(job["job_id"])
    assert ended.keys() == JOB_KEYS
    assert (ended["status"], ended["error"], ended["retries"]) == ("completed", None, 0)
    assert ended["result"].keys() == REINDEX_KEYS | {"indexed_paths"}
    assert ended["result"]["indexed_files"] == 3
    assert ended["elapsed_seconds"] >= 0
    assert found(server, "apples") == ["a.md"]


def test_a_job_that_fails_says_why(server: Served, work: Path) -> None:
    server.ask("index_status")
    lock = work / ".tmp/rifflux/rifflux.db.lock"
    lock.unlink()
    lock.mkdir()  # nothing can be locked, so nothing can be written
    job = server.job(server.ask("reindex", background=True)["job_id"])
    assert (job["status"], job["result"]) == ("failed", None)
    assert "rifflux.db" in job["error"]
    assert server.ask("index_status")["files"] == 0


def test_git_state_is_told(server: Served, work: Path) -> None:
    git = ["git", "-C", str(work / "two"), "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "--quiet", "-b", "trunk"], ["add", "c.md"], ["commit", "--quiet", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    assert server.ask("reindex", path="one")["git_fingerprint"] is None
    state = server.ask("reindex", path="two")["git_fingerprint"]
    assert state.keys() == {"worktree", "head", "branch", "is_dirty", "multi_repo", "worktrees"}
    assert (state["worktree"], state["branch"], state["is_dirty"]) == (str(work / "two"), "trunk", False)
    assert (len(state["head"]), state["multi_repo"], state["worktrees"]) == (40, False, [str(work / "two")])
    assert server.ask("index_status")["git_fingerprint"] == state
