"""A repository that keeps git waiting is waited for once, and for some of them not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.ingest.sources.git import running
from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.commits import WHOLE, CommitSource
from dowse.ingest.sources.git.ends import ends_of
from dowse.ingest.sources.git.moves import tips_of
from dowse.ingest.sources.git.patience import Patience
from dowse.ingest.sources.git.refs import refs_of
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit("there", {"a": "1\n"})
    return made


def test_who_was_waited_for_in_vain_is_given_little_for_some_minutes() -> None:
    now = [1_000.0]
    patience = Patience(60, 3, lambda: now[0])
    patience.waited_in_vain("here")
    assert (patience.seconds("here"), patience.seconds("there")) == (3, 60)
    now[0] += 299
    assert patience.seconds("here") == 3 and patience.is_lost_with("here")
    patience.waited_in_vain("here")  # briefly, which is no reason to go on with it
    now[0] += 1
    assert patience.seconds("here") == 60 and not patience.is_lost_with("here")


def test_a_command_that_does_not_come_to_its_end_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_PATIENCE", Patience(0.1, 0.1))
    pipe = repo.place.parent / "pipe"
    os.mkfifo(pipe)
    repo.run("config", "include.path", str(pipe))
    said = attempt(repo.place / ".git", "log")
    assert said == "git did not come to an end; something there, such as a named pipe, may keep it waiting"
    ((path, reason),) = CommitSource(repo.place / ".git", 10, 10).listing().refused
    assert path == WHOLE and "git did not come to an end" in reason


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
    said = f"{name} in it is a named pipe, for which git would wait for ever"
    assert attempt(repo.place / ".git", "log") == said
    assert refs_of(str(repo.place / ".git")) is None
    assert ends_of(repo.place / ".git", ()) is None and not tips_of(repo.place / ".git")


def test_a_linked_work_tree_has_the_traps_of_its_repository(repo: Repo) -> None:
    repo.run("worktree", "add", "-q", "../linked")
    os.mkfifo(repo.place / ".git" / "refs" / "tags" / "v1")
    said = "refs/tags/v1 in it is a named pipe, for which git would wait for ever"
    assert attempt(repo.place / ".git" / "worktrees" / "linked", "log") == said


def test_a_trap_of_any_name_can_be_told(repo: Repo) -> None:
    os.mkfifo(os.fsencode(repo.place / ".git" / "refs" / "heads") + b"/odd\xff")
    said = attempt(repo.place / ".git", "log")
    assert isinstance(said, str) and said.startswith("refs/heads/odd\\xff in it is a named pipe")


@pytest.mark.parametrize("name", ["index", "info/exclude", "refs/heads/main.lock", "refs/notes/commits"])
def test_what_git_does_not_read_for_a_history_hides_none(repo: Repo, name: str) -> None:
    place = repo.place / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    assert len(CommitSource(repo.place / ".git", 10, 10).listing().items) == 1
