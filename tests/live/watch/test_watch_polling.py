"""What is noticed by looking again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dowse.ingest.sources.files import FileSource
from dowse.live.watch.debounce import FileEvent
from dowse.live.watch.polling import PollingBackend
from dowse.live.watch.watcher import watch_target_of
from gits import Git
from watching import place


def polling(root: Path, clock: Callable[[], float] = lambda: 0.0) -> PollingBackend:
    return PollingBackend(place(root), 2.0, clock)


def file(path: str) -> FileEvent:
    return FileEvent("file", path)


def test_creates_edits_and_deletes(root):
    for name in ("same.md", "edited.md", "deleted.md", "touched.md"):
        (root / name).write_text("x")
    eye = polling(root)
    (root / "sub").mkdir()
    (root / "sub/new.md").write_text("x")
    (root / "edited.md").write_text("longer")
    (root / "deleted.md").unlink()
    os.utime(root / "touched.md", (1, 1))
    assert eye.read_events() == [file(it) for it in ("deleted.md", "edited.md", "sub/new.md", "touched.md")]
    assert eye.read_events() == []
    assert eye.received == 4
    assert eye.directories == 2


def test_an_atomic_save_of_the_same_size_and_time(root):
    (root / "a.md").write_text("x")
    os.utime(root / "a.md", (1, 1))
    eye = polling(root)
    (root / "b").write_text("y")
    os.utime(root / "b", (1, 1))
    (root / "b").replace(root / "a.md")
    assert eye.read_events() == [file("a.md")]


def test_rights_and_renames(root):
    (root / "a.md").write_text("x")
    (root / "b.md").write_text("x")
    eye = polling(root)
    (root / "a.md").chmod(0o600)
    (root / "b.md").rename(root / "c.md")
    assert eye.read_events() == [file("a.md"), file("b.md"), file("c.md")]


def test_what_is_not_wanted_is_not_looked_at(root, tmp_path):
    (tmp_path / "outside").mkdir()
    eye = polling(root)
    (root / "ignored").mkdir()
    (root / "ignored/a.md").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside")
    (root / os.fsdecode(b"\xff.md")).write_text("x")
    (tmp_path / "outside/x.md").write_text("x")
    assert eye.read_events() == [file("link")]


@pytest.mark.parametrize("name", [".gitignore", ".dowseignore", "dowse.toml"])
def test_rules(root, name):
    eye = polling(root)
    (root / name).write_text("x")
    assert eye.read_events() == [FileEvent("rules")]


def test_a_bare_repository(root, git: Git):
    eye = polling(root)
    git(root, "init", "-q", "--bare", "mirror.git")
    assert eye.read_events() == [FileEvent("rules")]
    (root / "mirror.git/packed-refs").write_text("x")
    (root / "mirror.git/refs/heads/main").write_text("x")
    assert eye.read_events() == []
    assert eye.directories == 2


def test_work_trees_in_a_bare_repository(root, git: Git):
    git(root, "init", "-q", "--bare", "project")
    nothing = git(root / "project", "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    one = git(root / "project", "commit-tree", "-m", "x", nothing).strip()
    at = watch_target_of("c", FileSource(root))
    eye = PollingBackend(at, 2.0, lambda: 0.0)
    for name in ("dev", "feature/login"):
        git(root / "project", "worktree", "add", "-q", "--detach", name, one)
        assert FileEvent("rules") in eye.read_events()
    at.reload_rules()
    eye.read_events()
    (root / "project/dev/a.md").write_text("x")
    (root / "project/feature/login/a.md").write_text("x")
    (root / "project/feature/beside.md").write_text("x")
    (root / "project/hooks/h").write_text("x")
    assert eye.read_events() == [file("project/dev/a.md"), file("project/feature/login/a.md")]
    (root / "project/feature/next").mkdir()
    assert eye.read_events() == []
    git(root / "project", "worktree", "add", "-q", "--detach", "feature/next", one)
    assert eye.read_events() == [FileEvent("rules")]
    whole = PollingBackend(watch_target_of("c", FileSource(root / "project")), 2.0, lambda: 0.0)
    (root / "project/dev/a.md").write_text("longer")
    assert whole.read_events() == [file("dev/a.md")]


def test_git(root, git: Git):
    git(root, "init", "-q")
    eye = polling(root)
    git(root, "hash-object", "-w", "--stdin-paths")
    assert eye.read_events() == []
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    assert eye.read_events() == [FileEvent("git")]
    git(root, "branch", "other")
    assert eye.read_events() == [FileEvent("git")]
    git(root, "checkout", "-q", "other")
    assert eye.read_events() == [FileEvent("git")]
    (root / ".git/info/exclude").write_text("*.log")
    assert eye.read_events() == [FileEvent("rules")]


def test_a_tree_that_takes_long_is_looked_at_less_often(root):
    times = iter([0.0, 1.0, 1.0, 100.0, 101.0, 101.0])
    eye = polling(root, lambda: next(times))
    assert eye.next_at == 1 + 10
    quick = polling(root, lambda: 5.0)
    assert quick.next_at == 5 + 2
