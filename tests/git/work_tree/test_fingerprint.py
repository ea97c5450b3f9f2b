"""The state of work trees, asked without running anything a repository configures."""

from __future__ import annotations

import subprocess
from pathlib import Path

from dowse.git.worktree import work_tree_fingerprint
from support import write


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e@x", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    write(folder, {"a.md": "text"})
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def test_outside_of_git_there_is_none(tmp_path: Path) -> None:
    assert work_tree_fingerprint([tmp_path]) is None
    assert work_tree_fingerprint([]) is None


def test_head_branch_and_dirt(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    head = git(repo, "rev-parse", "HEAD")
    clean = {
        "worktree": str(repo), "head": head, "branch": "main", "is_dirty": False,
        "multi_repo": False, "worktrees": [str(repo)],
    }  # fmt: skip
    assert work_tree_fingerprint([repo]) == clean
    assert work_tree_fingerprint([repo / "a.md", repo]) == clean
    write(repo, {"a.md": "other"})
    assert work_tree_fingerprint([repo]) == {**clean, "is_dirty": True}


def test_several_work_trees_and_a_detached_or_unborn_head(tmp_path: Path) -> None:
    one, two = repository(tmp_path / "one"), repository(tmp_path / "two")
    git(one, "checkout", "-q", "--detach")
    both = work_tree_fingerprint([one, two, tmp_path])
    assert both is not None
    assert (both["branch"], both["multi_repo"], both["worktrees"]) == ("HEAD", True, [str(one), str(two)])
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q", "-b", "main")
    unborn = work_tree_fingerprint([tmp_path / "empty"])
    assert unborn is not None and (unborn["head"], unborn["branch"]) == (None, "main")


def test_nothing_a_repository_configures_is_run(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    trap.chmod(0o755)
    write(repo, {".gitattributes": "*.md filter=evil diff=evil\n"})
    for key in ("core.fsmonitor", "filter.evil.clean", "filter.evil.process", "diff.external", "core.pager"):
        git(repo, "config", key, str(trap))
    git(repo, "config", "filter.evil.required", "true")
    (repo / "a.md").write_text("same-size: changed, so that its content must be compared")
    found = work_tree_fingerprint([repo])
    assert found is not None and found["is_dirty"] is True
    assert not (tmp_path / "sprung").exists()
    (repo / "a.md").touch()
    subprocess.run(["git", "-C", str(repo), "status", "--porcelain"], capture_output=True, check=False)
    assert (tmp_path / "sprung").exists(), "plain git does run the trap, so the test can fail"
