"""Repositories by strangers: nothing that one configures runs, and nothing it lists leads outside."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

import pytest

from dowse.ingest.sources.files import FileSource


def paths(root: Path) -> list[str]:
    return [item.path for item in FileSource(root, include=("*.md",)).listing().items]


@pytest.fixture
def repository(tmp_path, git):
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.md").write_text("text")
    git(root, "add", "a.md")
    git(root, "commit", "-qm", "m")
    (root / "b.md").write_text("text")
    return root


@pytest.fixture
def trap(tmp_path):
    """A program that leaves a mark when it is run."""
    mark, program = tmp_path / "mark", tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{mark}'\n")
    program.chmod(0o755)
    return program, mark


def arm(root: Path, program: Path, git) -> None:
    """Every place where a repository can name a program that git might start."""
    names = [
        "core.fsmonitor",
        "core.pager",
        "pager.ls-files",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
    ]
    names += [
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "diff.external",
        "diff.trap.textconv",
    ]
    names += [
        "alias.ls-files",
        "credential.helper",
        "gpg.program",
        "remote.origin.uploadpack",
        "merge.trap.driver",
    ]
    for name in names:
        git(root, "config", name, f"!{program}" if name.startswith("alias") else str(program))
    git(root, "config", "filter.trap.required", "true")
    (root / ".gitattributes").write_text("* filter=trap diff=trap merge=trap\n")
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "pre-auto-gc", "post-checkout", "query-watchman"):
        (hooks / hook).write_bytes(program.read_bytes())
        (hooks / hook).chmod(0o755)
    git(root, "config", "core.hooksPath", str(hooks))


def test_nothing_a_repository_configures_is_run(repository, trap, git):
    program, mark = trap
    arm(repository, program, git)
    mark.unlink(missing_ok=True)
    (repository / "a.md").write_text("other text, so that the index is out of date")
    assert paths(repository) == ["a.md", "b.md"]
    assert not mark.exists()


def test_the_trap_works(repository, trap, git):
    """Without precautions the same repository does run its programs, so the test above can fail."""
    program, mark = trap
    arm(repository, program, git)
    mark.unlink(missing_ok=True)
    subprocess.run(
        ["git", "-C", str(repository), "ls-files", "-co", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    assert mark.exists()


def test_a_partial_clone_fetches_nothing(repository, trap, git):
    """A sparse index with a missing tree makes git fetch it, with the program the remote names."""
    program, mark = trap
    (repository / "deep/x").mkdir(parents=True)
    (repository / "deep/x/c.md").write_text("text")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "n")
    git(repository, "sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
    tree = git(repository, "rev-parse", "HEAD:deep").strip()
    (repository / ".git/objects" / tree[:2] / tree[2:]).unlink()
    for name, text in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": str(repository),
        "remote.origin.promisor": "true",
        "remote.origin.uploadpack": str(program),
        "protocol.file.allow": "always",
    }.items():
        git(repository, "config", name, text)
    assert "a.md" in paths(repository)
    assert not mark.exists()
    subprocess.run(["git", "-C", str(repository), "ls-files", "-c"], capture_output=True, check=False)
    assert mark.exists(), "without precautions it would have been run"


@pytest.mark.parametrize("crafted", [b"../x.md", b"/tmp/x.", b"a//x.md", b".git/x.", b"./a/x.m"])
def test_a_crafted_index_leads_nowhere(repository, crafted, git):
    """git writes no such names, but it reads them."""
    (repository / "aa").mkdir()
    (repository / "aa/x.md").write_text("text")
    (repository.parent / "x.md").write_text("secret")
    (repository / ".git/x.").write_text("secret")
    git(repository, "add", "aa/x.md")
    index = repository / ".git/index"
    content = index.read_bytes()[:-20].replace(b"aa/x.md", crafted)
    index.write_bytes(content + hashlib.sha1(content).digest())
    listing = FileSource(repository).listing()
    assert {item.path for item in listing.items} <= {"a.md", "b.md", "aa/x.md"}


def test_a_work_tree_that_is_said_to_be_elsewhere(repository, tmp_path, git):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret.md").write_text("secret")
    git(repository, "config", "core.worktree", str(tmp_path / "elsewhere"))
    assert paths(repository) == ["a.md", "b.md"]
