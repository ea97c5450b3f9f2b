"""Work trees that git compares in a clean room: what it uses of the repository, and what it must not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dowse.git.worktree import list_changed_files, list_uncommitted_lines
from gits import Repo

PROGRAMS = (
    "core.fsmonitor", "core.pager", "core.editor", "core.askPass", "diff.external", "diff.trap.command",
    "diff.trap.textconv", "filter.trap.clean", "filter.trap.smudge", "filter.trap.process", "pager.status",
)  # fmt: skip


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that the trap of `arm` writes."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{tmp_path}/mark'\ncat\n")
    program.chmod(0o755)
    return tmp_path / "mark"


def arm(repo: Repo, mark: Path) -> None:
    trap = str(mark.with_name("trap"))
    for name in PROGRAMS:
        repo.run("config", name, trap)
    hooks = mark.with_name("hooks")
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc"):
        (hooks / hook).write_bytes(Path(trap).read_bytes())
        (hooks / hook).chmod(0o755)
    repo.run("config", "core.hooksPath", str(hooks))
    repo.run("config", "filter.trap.required", "true")
    common = Path(repo.run("rev-parse", "--path-format=absolute", "--git-common-dir"))
    (common / "info").mkdir(exist_ok=True)
    (common / "info" / "attributes").write_text("* filter=trap diff=trap\n")
    mark.unlink(missing_ok=True)


def edited(place: Path) -> None:
    """As long as before and long ago, so that only its content tells."""
    place.write_text(place.read_text().upper())
    os.utime(place, (1_600_000_000, 1_600_000_000))


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_a_split_index_of_an_armed_linked_work_tree(tmp_path: Path, mark: Path, object_format: str) -> None:
    main = Repo(tmp_path / "main", f"--object-format={object_format}")
    main.commit("first", {"a.txt": "one\n", "b.txt": "two\n", "deep/c.txt": "three\n"})
    main.run("worktree", "add", "-q", "../linked")
    linked = Repo(tmp_path / "linked")
    linked.run("update-index", "--split-index")
    (linked.place / "new.txt").write_text("new\n")
    linked.run("add", "new.txt")
    arm(main, mark)
    edited(linked.place / "deep/c.txt")
    assert list_changed_files(linked.place).paths == ("deep/c.txt", "new.txt")
    assert list_changed_files(linked.place / "deep").paths == ("c.txt",)
    assert list_uncommitted_lines(linked.place).lines == {"deep/c.txt": ((1, 1),), "new.txt": ((1, 1),)}
    assert list_changed_files(main.place).paths == ()
    assert not mark.exists(), mark.read_text()


def test_an_armed_sparse_work_tree(tmp_path: Path, mark: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {"in/a.txt": "one\n", "out/b.txt": "two\n", "out/deep/c.txt": "three\n"})
    repo.run("sparse-checkout", "set", "--cone", "--sparse-index", "in")
    arm(repo, mark)
    assert list_changed_files(repo.place).paths == ()
    edited(repo.place / "in/a.txt")
    assert list_changed_files(repo.place).paths == ("in/a.txt",)
    assert not mark.exists(), mark.read_text()


def test_an_armed_submodule(tmp_path: Path, mark: Path) -> None:
    origin = Repo(tmp_path / "origin")
    origin.commit("one", {"x": "one\n"})
    repo = Repo(tmp_path / "repo")
    repo.run("submodule", "--quiet", "add", str(origin.place), "sub")
    repo.commit("a submodule")
    sub = Repo(repo.place / "sub")
    for armed in (repo, sub):
        armed.run("config", "submodule.recurse", "true")
        arm(armed, mark)
    repo.run("config", "diff.ignoreSubmodules", "none")
    repo.run("config", "submodule.sub.ignore", "none")
    edited(sub.place / "x")
    (sub.place / "new").write_text("new\n")
    assert list_changed_files(repo.place).paths == ()
    assert not mark.exists(), mark.read_text()
    subprocess.run(["git", "-C", str(repo.place), "status"], capture_output=True, check=False)
    assert mark.exists(), "plain git does run the trap, so the test can fail"


def test_programs_of_the_user_are_not_run_but_the_rules_of_the_user_count(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git-lfs configures itself. A file with a filter counts as unchanged until somebody touches it."""
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {"a.bin": "one\n", "b.txt": "two\n", ".gitattributes": "*.bin filter=lfs\n"})
    (tmp_path / "ignored").write_text("*.log\n")
    trap = mark.with_name("trap")
    (tmp_path / "settings").write_text(
        f'[core]\n\texcludesFile = {tmp_path}/ignored\n\tautocrlf = input\n[filter "lfs"]\n\tclean = {trap}\n'
        f"\tprocess = {trap}\n\trequired = true\n"
    )
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "settings"))
    (repo.place / "x.log").write_text("log\n")
    (repo.place / "b.txt").write_bytes(b"two\r\n")
    repo.run("rm", "-q", "--cached", "b.txt")
    repo.run("reset", "-q")
    assert list_changed_files(repo.place).paths == ()
    edited(repo.place / "a.bin")
    assert list_changed_files(repo.place).paths == ("a.bin",)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("name", [".gitattributes", ".gitignore", ".gitmodules", "deep/er/.gitattributes"])
def test_a_pipe_that_git_would_read_is_not_waited_for(tmp_path: Path, name: str) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {"deep/er/a.txt": "one\n"})
    edited(repo.place / "deep/er/a.txt")
    os.mkfifo(repo.place / name)
    for place in (repo.place, repo.place / "deep/er"):
        assert f": {name} is a named pipe, which would block git" in list_changed_files(place).problem


def test_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the index, which git would bring up to date, nor a file elsewhere."""
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {"a.txt": "one\n", "b.txt": "two\n"})
    os.utime(repo.place / "a.txt", (1_600_000_000, 1_600_000_000))
    edited(repo.place / "b.txt")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    before = {it: it.stat().st_mtime_ns for it in tmp_path.rglob("*")}
    assert list_changed_files(repo.place).paths == ("b.txt",)
    assert {it: it.stat().st_mtime_ns for it in tmp_path.rglob("*")} == before


def test_the_lines_of_a_file_in_conflict_are_compared_with_the_last_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit("base", {"a.txt": "one\ntwo\nthree\n"})
    repo.run("checkout", "-q", "-b", "other")
    repo.commit("theirs", {"a.txt": "one\ntheirs\nthree\n"})
    repo.run("checkout", "-q", "main")
    repo.commit("ours", {"a.txt": "one\nours\nthree\n"})
    with pytest.raises(subprocess.CalledProcessError):
        repo.run("merge", "other")
    (repo.place / "a.txt").write_text("one\nmerged\nthree\n")
    assert list_uncommitted_lines(repo.place).lines == {"a.txt": ((2, 2),)}


def test_a_directory_that_its_repository_ignores_is_a_problem(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.commit("first", {".gitignore": "build\n"})
    (repo.place / "build").mkdir()
    assert list_changed_files(repo.place / "build").problem == f"git could not list {repo.place}/build"
