"""Which branch a directory is on, read without running git."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from dowse.git.repository import current_branch


def git(folder: Path, *command: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *command], cwd=folder, check=True, capture_output=True)


def test_the_branch_of_a_work_tree_and_of_what_lies_in_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-b", "feature/new-things")
    (tmp_path / "src/deep").mkdir(parents=True)
    assert current_branch(str(tmp_path)) == current_branch(str(tmp_path / "src/deep")) == "feature/new-things"
    git(tmp_path, "checkout", "-b", "main")
    assert current_branch(str(tmp_path)) == "main"


def test_a_linked_work_tree_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    git(tmp_path / "one", "init", "-b", "main")
    git(tmp_path / "one", "commit", "--allow-empty", "-m", "first")
    git(tmp_path / "one", "worktree", "add", "-b", "other", "../two")
    assert (current_branch(str(tmp_path / "one")), current_branch(str(tmp_path / "two"))) == ("main", "other")
    git(tmp_path / "two", "checkout", "--detach")
    assert current_branch(str(tmp_path / "two")) is None


@pytest.mark.parametrize(
    "head", [b"", b"0123456789abcdef", b"\xff\xfe\x00", b"ref: refs/tags/v1\n", b"ref: " * 100_000]
)
def test_no_branch(tmp_path: Path, head: bytes) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_bytes(head)
    assert current_branch(str(tmp_path)) is None


def test_outside_of_git_and_behind_a_pipe(tmp_path: Path) -> None:
    assert current_branch(str(tmp_path)) is None
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git/HEAD")
    assert current_branch(str(tmp_path)) is None
