"""Lines that are not committed: told as they are, and git is asked again only when something has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dowse.engine.core import UncommittedLinesCache
from dowse.git.worktree import ALL_LINES
from gits import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.commit("First", {"a.py": "one\ntwo\nthree\n"})
    return repo


def test_edits_commits_resets_and_removals_are_followed(repo: Repo) -> None:
    edits, place = UncommittedLinesCache(), repo.place / "a.py"
    assert edits.lines_of(place) == ()
    place.write_text("one\n2\nthree\n")
    assert edits.lines_of(place) == ((2, 2),)
    place.write_text("one\ntwo\n3\n4\n")
    assert edits.lines_of(place) == ((3, 4),)
    repo.commit("Second")
    assert edits.lines_of(place) == ()
    repo.run("branch", "kept")
    repo.run("reset", "-q", "--soft", "HEAD~1")  # the file stays as it is
    assert edits.lines_of(place) == ((3, 4),)
    place.unlink()
    assert edits.lines_of(place) == ALL_LINES


def test_git_is_asked_once_while_nothing_changes(repo: Repo) -> None:
    edits, place = UncommittedLinesCache(), repo.place / "a.py"
    place.write_text("one\n2\nthree\n")
    assert edits.lines_of(place) == ((2, 2),)
    (repo.place / ".git/objects").rename(repo.place / "aside")  # now git could tell nothing
    assert edits.lines_of(place) == ((2, 2),)
    assert UncommittedLinesCache().lines_of(place) != ((2, 2),)


def test_outside_of_git_nothing_is_edited(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\n")
    assert UncommittedLinesCache().lines_of(tmp_path / "a.py") == ()
