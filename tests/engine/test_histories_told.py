"""Histories that were read by another version or with other settings, and commits that can not be read for a moment."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dowse.engine import Engine, histories
from dowse.engine.past import Source
from dowse.ingest.sources.git.commits import CommitSource
from dowse.ingest.sources.git.reading import reader
from dowse.ingest.sources.git.reading.channel import Channel
from dowse.ingest.sources.git.reading.merges import Merges
from dowse.ingest.sources.git.reading.reader import Reader
from dowse.ingest.sources.git.withholding import Withholding
from dowse.lookup.history.question import Sought
from dowse.model import Query, Scope
from gits import Repo
from support import OpenEngine

COMMIT = Scope(kinds=("commit",))


def indexed(engine: Engine, root: Path) -> Engine:
    engine.index([root])
    engine.index_history()
    return engine


@pytest.fixture
def merged(root: Path) -> Repo:
    """Its last commit is a merge, in which somebody changed the notes."""
    repo = Repo(root)
    repo.commit("Walk the trail", {"notes.md": "# Trail\n\ntext\n"})
    repo.run("checkout", "-q", "-b", "side")
    repo.commit("Aside", {"aside.md": "text\n"})
    repo.run("checkout", "-q", "main")
    repo.commit("Onward", {"onward.md": "text\n"})
    repo.run("merge", "-q", "--no-commit", "--no-ff", "side")
    repo.commit("Meet", {"notes.md": "# Trail\n\nmet\n"})
    return repo


def told_of_notes(engine: Engine, root: Path) -> tuple[list[str], Source]:
    found, source = engine.commits(engine.checkout(root), Sought("notes.md"))
    return [it.title for it in found.commits], source


@pytest.mark.parametrize("delta_lines", [0, 200])
def test_a_history_that_an_older_version_read_is_told_by_git_until_it_is_read_anew(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch, delta_lines: int
) -> None:
    with monkeypatch.context() as older, open_engine(delta_lines=delta_lines) as engine:
        older.setattr(histories, "TOLD", "-")
        older.setattr(CommitSource, "_manner", lambda self, is_edge: 2 * self._delta_lines + is_edge)
        older.setattr(Merges, "touched", lambda *_: [])
        indexed(engine, root)
        assert told_of_notes(engine, root) == (["Walk the trail"], Source("index"))
    engine = open_engine(delta_lines=delta_lines)
    note = "root.git is indexed by another version or with other settings; `dowse index` reads it anew"
    titles_told, source = told_of_notes(engine, root)
    assert (titles_told, source.name) == (["Meet", "Walk the trail"], "git")
    assert source.reason.startswith("the history is indexed by another version")
    assert note in engine.search(Query("trail")).completeness.notes
    report = engine.index_history()
    assert (report.indexed, report.touched) == (1, 3)  # of the others, the same is told
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], Source("index"))
    assert note not in engine.search(Query("trail")).completeness.notes


def test_newer_commits_do_not_hide_that_older_ones_were_read_otherwise(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older, open_engine() as engine:
        older.setattr(histories, "TOLD", "-")
        indexed(engine, root)
    engine = open_engine(repair_ms=10_000)
    merged.commit("Rest", {"notes.md": "# Rest\n"})
    engine.search(Query("rest", scope=COMMIT))
    assert [it.title for it in engine._store.select(COMMIT)][:1] == ["Rest"]
    assert not engine.histories_behind()
    assert told_of_notes(engine, root)[1].name == "git"


def test_a_limit_that_was_raised_since_is_told_by_git(open_engine: OpenEngine, merged: Repo, root: Path) -> None:
    with open_engine(max_commits=1) as engine:
        indexed(engine, root)
        assert told_of_notes(engine, root)[1].reason.startswith("only the newest commit is indexed")
    with open_engine(max_commits=3) as engine:
        told, source = told_of_notes(engine, root)
        assert (told, source.name) == (["Meet", "Walk the trail"], "git")
        engine.index_history()
        told, source = told_of_notes(engine, root)
        assert told == ["Meet"] and source.reason.startswith("only the newest 3 commits are indexed")
    engine = open_engine(max_commits=4)
    engine.index_history()
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], Source("index"))


def test_a_history_that_is_only_there_in_part_is_not_taken_for_another_versions(
    open_engine: OpenEngine, merged: Repo, root: Path
) -> None:
    engine = open_engine()
    engine.index([root])
    engine.index_history(for_s=0.0)
    assert engine.histories_told_otherwise() == []


@pytest.mark.parametrize("is_known", [False, True])
def test_a_merge_that_could_not_be_read_for_a_moment_is_told_and_read_by_the_next_run(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    meeting = merged.run("rev-parse", "HEAD")
    if is_known:  # all but the merge, so that it comes in as one of a few
        merged.run("reset", "-q", "--hard", "HEAD~1")
    engine = indexed(open_engine(), root) if is_known else open_engine()
    engine.index([root])
    merged.run("reset", "-q", "--hard", meeting)

    def full(*_: object) -> Channel:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as crowded:
        crowded.setattr(reader, "Merges", lambda git_directory: Merges(git_directory, full))
        assert engine.index_history().skipped == 1
    assert [(it.path, it.reason) for it in engine.status().skipped] == [
        (meeting, "git could not be started (Too many open files); the next run tries again")
    ]
    told, source = told_of_notes(engine, root)
    assert (told, source.name) == (["Walk the trail"], "index")
    assert source.reason == "commits that could not be read, which `dowse index` tries again: 1"
    assert engine.index_history().indexed == 1
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], Source("index"))
    assert not engine.status().skipped


def test_a_merge_at_which_git_is_killed_loses_no_files(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Reader):
        def __init__(
            self, git_directory: str, delta_lines: int, shallow: frozenset[str], *, withholding: Withholding
        ) -> None:
            super().__init__(git_directory, delta_lines, shallow, withholding=withholding, open_channel=killed)

    def killed(git_directory: str) -> Channel:
        channel = Channel(git_directory)
        channel.kill()
        return channel

    monkeypatch.setattr(reader, "Reader", Killed)
    engine = indexed(open_engine(), root)
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], Source("index"))
