"""Histories that were read by another version or with other settings, and commits that can not be read for a moment."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.engine import history_index as histories
from dowse.engine.history_service import AnswerSource
from dowse.git import diff_tree as reader
from dowse.git.commit import Redaction
from dowse.git.diff_tree import CommitReader, DiffTreeProcess, MergeReader
from dowse.ingest.sources.commits import CommitSource
from dowse.lookup.history import HistoryQuery
from dowse.model import Query, Scope
from gits import Repo
from support import OpenEngine

COMMIT = Scope(kinds=("commit",))


def indexed(engine: Engine, root: Path) -> Engine:
    engine.index([root])
    engine.histories.index_history()
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


def told_of_notes(engine: Engine, root: Path) -> tuple[list[str], AnswerSource]:
    found, source = engine.history.commits(engine.history.checkout(root), HistoryQuery("notes.md"))
    return [it.title for it in found.commits], source


@pytest.mark.parametrize("diff_lines", [0, 200])
def test_a_history_that_an_older_version_read_is_told_by_git_until_it_is_read_anew(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch, diff_lines: int
) -> None:
    with monkeypatch.context() as older, open_engine(diff_lines=diff_lines) as engine:
        older.setattr(histories, "COMMIT_FORMAT", "-")
        older.setattr(CommitSource, "_version", lambda self, is_edge: 2 * self._diff_lines + is_edge)
        older.setattr(MergeReader, "changed_files", lambda *_: [])
        indexed(engine, root)
        assert told_of_notes(engine, root) == (["Walk the trail"], AnswerSource("index"))
    engine = open_engine(diff_lines=diff_lines)
    note = "root.git is indexed by another version or with other settings; run `dowse index` to reindex it"
    titles_told, source = told_of_notes(engine, root)
    assert (titles_told, source.name) == (["Meet", "Walk the trail"], "git")
    assert source.reason.startswith("the history is indexed by another version")
    assert note in engine.search(Query("trail")).completeness.notes
    report = engine.histories.index_history()
    assert (report.indexed, report.touched) == (1, 3)  # of the others, the same is told
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], AnswerSource("index"))
    assert note not in engine.search(Query("trail")).completeness.notes


def test_newer_commits_do_not_hide_that_older_ones_were_read_otherwise(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older, open_engine() as engine:
        older.setattr(histories, "COMMIT_FORMAT", "-")
        indexed(engine, root)
    engine = open_engine(freshness_timeout_ms=10_000)
    merged.commit("Rest", {"notes.md": "# Rest\n"})
    engine.search(Query("rest", scope=COMMIT))
    assert [it.title for it in engine._core.store.catalog.select(COMMIT)][:1] == ["Rest"]
    assert not engine.histories.outdated_histories()
    assert told_of_notes(engine, root)[1].name == "git"


def test_a_limit_that_was_raised_since_is_told_by_git(open_engine: OpenEngine, merged: Repo, root: Path) -> None:
    with open_engine(max_commits=1) as engine:
        indexed(engine, root)
        assert told_of_notes(engine, root)[1].reason.startswith("only the newest commit is indexed")
    with open_engine(max_commits=3) as engine:
        told, source = told_of_notes(engine, root)
        assert (told, source.name) == (["Meet", "Walk the trail"], "git")
        engine.histories.index_history()
        told, source = told_of_notes(engine, root)
        assert told == ["Meet"] and source.reason.startswith("only the newest 3 commits are indexed")
    engine = open_engine(max_commits=4)
    engine.histories.index_history()
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], AnswerSource("index"))


def test_a_history_that_is_only_there_in_part_is_not_taken_for_another_versions(
    open_engine: OpenEngine, merged: Repo, root: Path
) -> None:
    engine = open_engine()
    engine.index([root])
    engine.histories.index_history(for_s=0.0)
    assert engine.histories.histories_of_other_format() == []


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

    def full(*_: object) -> DiffTreeProcess:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as crowded:
        crowded.setattr(reader, "MergeReader", lambda git_directory: MergeReader(git_directory, full))
        assert engine.histories.index_history().skipped == 1
    assert [(it.path, it.reason) for it in engine.status().skipped] == [
        (meeting, "git could not be started (Too many open files); the next run retries")
    ]
    told, source = told_of_notes(engine, root)
    assert (told, source.name) == (["Walk the trail"], "index")
    assert source.reason == "unreadable commits, which `dowse index` retries: 1"
    assert engine.histories.index_history().indexed == 1
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], AnswerSource("index"))
    assert not engine.status().skipped


def test_a_merge_at_which_git_is_killed_loses_no_files(
    open_engine: OpenEngine, merged: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(CommitReader):
        def __init__(
            self, git_directory: str, diff_lines: int, shallow: frozenset[str], *, withholding: Redaction
        ) -> None:
            super().__init__(git_directory, diff_lines, shallow, withholding=withholding, open_channel=killed)

    def killed(git_directory: str) -> DiffTreeProcess:
        channel = DiffTreeProcess(git_directory)
        channel.kill()
        return channel

    monkeypatch.setattr(reader, "CommitReader", Killed)
    engine = indexed(open_engine(), root)
    assert told_of_notes(engine, root) == (["Meet", "Walk the trail"], AnswerSource("index"))
