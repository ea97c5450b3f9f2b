"""A repository that keeps git waiting is waited for once, and for some of them not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.git import runner as running
from dowse.git.refs import read_ref_tips, read_refs
from dowse.git.runner import GitTimeouts, try_git
from dowse.ingest.sources.commits import WHOLE_HISTORY, CommitSource, snapshot_ref_tips
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit("there", {"a": "1\n"})
    return made


def test_who_was_waited_for_in_vain_is_given_little_for_some_minutes() -> None:
    now = [1_000.0]
    patience = GitTimeouts(60, 3, lambda: now[0])
    patience.record_timeout("here")
    assert (patience.seconds("here"), patience.seconds("there")) == (3, 60)
    now[0] += 299
    assert patience.seconds("here") == 3 and patience.is_unresponsive("here")
    patience.record_timeout("here")  # briefly, which is no reason to go on with it
    now[0] += 1
    assert patience.seconds("here") == 60 and not patience.is_unresponsive("here")


def test_a_command_that_does_not_come_to_its_end_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_TIMEOUTS", GitTimeouts(0.1, 0.1))
    pipe = repo.place.parent / "pipe"
    os.mkfifo(pipe)
    repo.run("config", "include.path", str(pipe))
    said = try_git(repo.place / ".git", "log")
    assert said == "git timed out; something in the repository, for example a named pipe, may block it"
    ((path, reason),) = CommitSource(repo.place / ".git", 10, 10).listing().refused
    assert path == WHOLE_HISTORY and "git timed out" in reason


@pytest.mark.parametrize(
    "name",
    [
        "packed-refs",
        "commondir",
        "shallow",
        ".mailmap",
        "info/attributes",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/info/commit-graphs/commit-graph-chain",
        "objects/pack/multi-pack-index",
        "refs/heads/main",
        "refs/heads/deep/below",
        "refs/tags/v1",
        "refs/remotes/origin/HEAD",
    ],
)
def test_what_git_would_wait_for_is_not_asked_about(repo: Repo, name: str) -> None:
    place = repo.place / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    said = f"{name} in the repository is a named pipe, which would block git"
    assert try_git(repo.place / ".git", "log") == said
    assert read_refs(str(repo.place / ".git")) is None
    assert read_ref_tips(repo.place / ".git", ()) is None and not snapshot_ref_tips(repo.place / ".git")


def test_a_linked_work_tree_has_the_traps_of_its_repository(repo: Repo) -> None:
    repo.run("worktree", "add", "-q", "../linked")
    os.mkfifo(repo.place / ".git" / "refs" / "tags" / "v1")
    said = "refs/tags/v1 in the repository is a named pipe, which would block git"
    assert try_git(repo.place / ".git" / "worktrees" / "linked", "log") == said


def test_a_trap_of_any_name_can_be_told(repo: Repo) -> None:
    os.mkfifo(os.fsencode(repo.place / ".git" / "refs" / "heads") + b"/odd\xff")
    said = try_git(repo.place / ".git", "log")
    assert isinstance(said, str) and said.startswith("refs/heads/odd\\xff in the repository is a named pipe")


@pytest.mark.parametrize("name", ["index", "info/exclude", "refs/heads/main.lock", "refs/notes/commits"])
def test_what_git_does_not_read_for_a_history_hides_none(repo: Repo, name: str) -> None:
    place = repo.place / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert len(CommitSource(repo.place / ".git", 10, 10).listing().items) == 1
