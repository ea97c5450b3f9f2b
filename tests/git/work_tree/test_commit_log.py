"""What commits said and touched, of repositories by anyone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dowse.git.blame import LoggedCommit, recent_commits


def commit(git, root: Path, subject: str, **files: str) -> None:
    for name, text in files.items():
        place = root / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "--allow-empty", "--allow-empty-message", "-qm", subject)


@pytest.fixture
def repository(tmp_path: Path, git) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    git(root, "init", "-q")
    commit(git, root, "First files\n\nA body.", a="1", sub__b="1")
    return root


def test_newest_first_with_paths(repository: Path, git) -> None:
    commit(git, repository, "Change b", sub__b="2")
    assert recent_commits(str(repository), 10) == [
        LoggedCommit("Change b", ("sub/b",)),
        LoggedCommit("First files", ("a", "sub/b")),
    ]
    assert recent_commits(str(repository), 1) == [LoggedCommit("Change b", ("sub/b",))]


def test_a_directory_below_the_top_sees_its_own(repository: Path, git) -> None:
    commit(git, repository, "Change a", a="2")
    assert recent_commits(str(repository / "sub"), 10) == [LoggedCommit("First files", ("b",))]


def test_merges_are_left_out(repository: Path, git) -> None:
    git(repository, "checkout", "-qb", "side")
    commit(git, repository, "On the side", c="1")
    git(repository, "checkout", "-q", "main")
    commit(git, repository, "On main", d="1")
    git(repository, "merge", "-q", "--no-ff", "-m", "Merged", "side")
    assert {it.subject for it in recent_commits(str(repository), 10)} == {"On the side", "On main", "First files"}


def test_strange_names_and_messages(repository: Path, git) -> None:
    for name in ("ü ö.md", "new\nline.md", "\nfirst.md", '"quoted".md', ":colon", "a" * 40):
        (repository / name).write_text("x")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "--allow-empty-message", "-m", "")
    newest = recent_commits(str(repository), 1)[0]
    assert newest.subject == ""
    assert set(newest.paths) == {"ü ö.md", "new\nline.md", "\nfirst.md", '"quoted".md', ":colon", "a" * 40}


def test_nothing_where_there_is_no_history(tmp_path: Path, git) -> None:
    assert recent_commits(str(tmp_path), 10) == []
    git(tmp_path, "init", "-q")
    assert recent_commits(str(tmp_path), 10) == []
    (tmp_path / ".git/HEAD").write_text("nonsense")
    assert recent_commits(str(tmp_path), 10) == []


NAMED = [
    "core.fsmonitor", "core.pager", "pager.log", "diff.external", "diff.trap.textconv", "diff.trap.command",
    "filter.trap.clean", "filter.trap.process", "gpg.program", "core.sshCommand",
]  # fmt: skip


def test_nothing_a_repository_configures_is_run(repository: Path, tmp_path: Path, git) -> None:
    mark, program = tmp_path / "mark", tmp_path / "trap"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{mark}'\n")
    program.chmod(0o755)
    (repository / ".gitattributes").write_text("* diff=trap filter=trap\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "Attributes")
    signed = git(repository, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n\n", 1
    )
    (tmp_path / "signed").write_text(signed)
    name = git(repository, "hash-object", "-t", "commit", "-w", str(tmp_path / "signed")).strip()
    git(repository, "update-ref", "HEAD", name)
    for key in NAMED:
        git(repository, "config", key, str(program))
    for key in ("alias.log", "alias.rev-list"):
        git(repository, "config", key, f"!{program}")
    for key, text in {"log.showSignature": "true", "diff.orderFile": str(tmp_path / "missing")}.items():
        git(repository, "config", key, text)
    mark.unlink(missing_ok=True)
    assert [it.subject for it in recent_commits(str(repository), 5)] == ["Attributes", "First files"]
    assert not mark.exists()
    git(repository, "config", "--unset", "diff.orderFile")  # with it, plain git gives up
    subprocess.run(["git", "-C", str(repository), "log", "--name-only"], capture_output=True, check=False)
    assert mark.exists(), "without precautions it would have been run"
