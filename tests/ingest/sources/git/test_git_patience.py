"""A repository that keeps git waiting is waited for once, and for some of them not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dowse.ingest.sources.git import running
from dowse.ingest.sources.git.asking import attempt
from dowse.ingest.sources.git.commits import WHOLE, CommitSource
from dowse.ingest.sources.git.patience import Patience
from dowse.ingest.sources.git.refs import refs_of
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    made.commit("there", {"a": "1\n"})
    return made


def test_who_was_waited_for_in_vain_is_given_little_until_it_answers() -> None:
    patience = Patience(60, 3)
    patience.waited_in_vain("here")
    assert (patience.seconds("here"), patience.seconds("there")) == (3, 60)
    patience.came_to_its_end("here")
    assert patience.seconds("here") == 60


def test_a_command_that_does_not_come_to_its_end_says_so(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "_PATIENCE", Patience(0.1, 0.1))
    pipe = repo.place.parent / "pipe"
    os.mkfifo(pipe)
    repo.run("config", "include.path", str(pipe))
    said = attempt(repo.place / ".git", "log")
    assert said == "git did not come to an end; something there, such as a named pipe, may keep it waiting"
    ((path, reason),) = CommitSource(repo.place / ".git", 10, 10).listing().refused
    assert path == WHOLE and "git did not come to an end" in reason


@pytest.mark.parametrize("name", ["packed-refs", "commondir", "shallow", "info/attributes", "objects/info/alternates"])
def test_what_git_would_wait_for_is_not_asked_about(repo: Repo, name: str) -> None:
    place = repo.place / ".git" / name
    place.parent.mkdir(exist_ok=True)
    os.mkfifo(place)
    said = f"{name} in it is a named pipe, for which git would wait for ever"
    assert attempt(repo.place / ".git", "log") == said
    assert refs_of(str(repo.place / ".git")) is None
