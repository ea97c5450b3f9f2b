"""Histories in the index: tied to files, followed as they move, and kept where a repository is out of reach."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from dowse.engine import Engine
from dowse.engine import freshness as look
from dowse.engine import history_index as histories
from dowse.engine.history_index import HistoryIndex
from dowse.engine.search_service import SearchService
from dowse.errors import BadInput
from dowse.lookup.history import HistoryQuery
from dowse.model import COMMITS, Query, Scope, SkippedItem, SyncReport
from dowse.search.search import SearchResult
from gits import Repo
from support import OpenEngine

COMMIT = Scope(kinds=("commit",))


@pytest.fixture
def repo(root: Path) -> Repo:
    made = Repo(root)
    made.commit("Walk the trail", {"src/walk.py": "def walk():\n    return 1\n", "notes.md": "# Trail\n\ntext\n"})
    made.commit("Run the trail\n\nBecause walking is slow.", {"src/walk.py": "def walk():\n    return 2\n"})
    return made


def indexed(engine: Engine, root: Path) -> Engine:
    engine.index([root])
    engine.histories.index_history()
    return engine


def titles(engine: Engine) -> list[str]:
    return [it.title for it in engine._core.store.catalog.select(COMMIT)]


def test_commits_are_records_like_any_other(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    assert titles(engine) == ["Run the trail", "Walk the trail"]
    answer = engine.search(Query("walking slow", scope=COMMIT))
    assert answer.hits[0].stored.record.title == "Run the trail"
    assert answer.hits[0].freshness == "fresh"
    assert not answer.completeness.disk_freshness.sentences()
    (history,) = engine.histories.collections()
    assert (history.name, history.root, history.source) == ("root.git", str(root / ".git"), COMMITS)
    assert history.name not in [it.name for it in engine.collections()]


@pytest.mark.parametrize("from_git", [False, True])
def test_a_commit_whose_headers_are_in_another_order_has_its_moment(
    open_engine: OpenEngine, repo: Repo, root: Path, from_git: bool
) -> None:
    tree, parent = repo.run("rev-parse", "HEAD^{tree}"), repo.run("rev-parse", "HEAD")
    ann = f"Ann <ann@example.org> {repo.now + 60} +0000"
    odd = f"tree {tree}\nparent {parent}\ncommitter {ann}\nauthor {ann}\n\nTurn round\n".encode()
    repo.run("update-ref", "HEAD", repo.run("hash-object", "-t", "commit", "-w", "--stdin", "--literally", given=odd))
    engine = indexed(open_engine(), root)
    found, source = engine.history.commits(engine.history.checkout(root), HistoryQuery(), from_git=from_git)
    assert source.name == ("git" if from_git else "index")
    moments = [(it.title, it.timestamp_ns // 10**9 - repo.now) for it in found.commits]
    assert moments == [("Turn round", 60), ("Run the trail", 0), ("Walk the trail", -60)]


@pytest.mark.parametrize("from_git", [False, True])
def test_activity_may_be_asked_of_a_file(open_engine: OpenEngine, repo: Repo, root: Path, from_git: bool) -> None:
    repo.commit("Elsewhere", {"other.py": "1\n"})
    engine = indexed(open_engine(), root)
    found, source = engine.history.activity(
        engine.history.checkout(root), HistoryQuery("src/walk.py"), from_git=from_git
    )
    assert (found.files, found.commits) == ((("src/walk.py", 2), ("notes.md", 1)), 2)
    assert source.name == ("git" if from_git else "index")


def test_what_is_beyond_the_limit_is_told(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = open_engine(max_commits=1)
    engine.index([root])
    (note,) = engine.histories.index_history().notes
    first = repo.run("rev-parse", "HEAD~1")
    assert note.startswith(f"root.git: {first[:12]} is beyond max_commits (1): it is left out")
    assert [(it.collection, it.path) for it in engine.status().skipped] == [("root.git", first)]
    assert "1 of 2 commits indexed, 1 skipped (see status)" in engine.search(Query("trail")).completeness.sentence(1)


def test_all_that_is_beyond_the_limit_counts(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    repo.many(1_500)
    engine = indexed(open_engine(max_commits=2), root)
    (row,) = engine.status().skipped
    assert row.reason == "beyond max_commits (2): it and the 1,499 older commits are left out"
    assert "2 of 1,502 commits indexed, 1,500 skipped" in engine.completeness().sentence(0)
    assert engine.completeness().by_source[0].complete
    engine._core.store.writer.drop("root.git", [engine._core.store.catalog.select(COMMIT)[0].path])
    assert "1 of 1,502 commits indexed, 1,500 skipped" in engine.completeness().sentence(0)
    assert not engine.completeness().by_source[0].complete


def test_lines_of_a_commit_are_its_readable_text(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    record = engine._core.store.catalog.select(COMMIT)[0]
    text = engine.lines(record).text
    assert text.startswith("Run the trail\n\nBecause walking is slow.\n")
    assert "+    return 2" in text and '"hash"' not in text
    (stored, *_) = engine.passages.chunks(record)
    assert engine.passages.passage(stored).text.strip() == stored.chunk.text.strip()


def test_files_and_their_history_lead_to_each_other(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    (record,) = engine.record("src/walk.py")
    home = engine.repositories.history_of(record)
    assert home is not None
    assert (home[0].name, home[1]) == ("root.git", "src/walk.py")
    assert engine.repositories.file_of("root.git", "src/walk.py") == record
    assert engine.repositories.file_of("root.git", "gone.py") is None
    assert engine.repositories.file_of("root.git", "../root/src/walk.py") is None
    assert engine.repositories.repository("root.git").git_directory == root / ".git"
    assert engine.repositories.repository("root.git").work_tree == root
    with pytest.raises(BadInput):
        engine.repositories.repository("root")
    assert engine.repositories.history_of(engine._core.store.catalog.select(COMMIT)[0]) is None


def test_a_root_inside_of_a_work_tree(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root / "src")
    assert len(titles(engine)) == 2
    (record,) = engine.record("walk.py")
    home = engine.repositories.history_of(record)
    assert home is not None and home[1] == "src/walk.py"
    assert engine.repositories.file_of(home[0].name, "src/walk.py") == record
    assert engine.repositories.file_of(home[0].name, "notes.md") is None


def test_a_submodule_has_its_own_history(open_engine: OpenEngine, repo: Repo, root: Path, tmp_path: Path) -> None:
    other = Repo(tmp_path / "other")
    other.commit("Inner", {"inner.md": "text\n"})
    repo.run("submodule", "--quiet", "add", str(other.place), "sub")
    repo.commit("With a part")
    engine = indexed(open_engine(), root)
    assert sorted(it.name for it in engine.histories.collections()) == ["root.git", "sub.git"]
    home = engine.repositories.history_of(engine.record("sub/inner.md")[0])
    assert home is not None and (home[0].name, home[1]) == ("sub.git", "inner.md")
    assert engine.repositories.file_of("sub.git", "inner.md") == engine.record("sub/inner.md")[0]


def test_a_bare_repository_may_be_a_root(open_engine: OpenEngine, repo: Repo, root: Path, tmp_path: Path) -> None:
    bare = tmp_path / "mirror.git"
    repo.run("clone", "-q", "--bare", str(root), str(bare))
    engine = indexed(open_engine(), bare)
    assert len(titles(engine)) == 2
    (history,) = engine.histories.collections()
    assert engine.repositories.repository(history.name).git_directory == bare
    assert [it.root for it in engine.status().collections_of(COMMITS)] == [str(bare)]
    assert engine.repositories.repository(history.name).work_tree is None
    assert engine.lines(engine._core.store.catalog.select(COMMIT)[0]).text.startswith("Run the trail")
    assert engine.histories.index_history().unchanged == 2
    report = engine.index([bare])
    assert (report.listed, report.deleted) == (0, 0)
    assert report.notes == [f"{bare} is a bare git repository: it has no files; its history is indexed"]
    assert engine.search(Query("walking slow")).completeness.complete


def test_linked_work_trees_in_two_roots_are_one_history(
    open_engine: OpenEngine, repo: Repo, root: Path, tmp_path: Path
) -> None:
    repo.run("worktree", "add", "-q", str(tmp_path / "linked"))
    engine = open_engine()
    engine.index([root, tmp_path / "linked"])
    assert engine.histories.index_history().indexed == 2
    assert len(engine.histories.collections()) == 1
    for record in engine.record("src/walk.py"):
        home = engine.repositories.history_of(record)
        assert home is not None and home[1] == "src/walk.py"


def test_without_git_there_are_no_histories(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(git=False), root)
    assert engine.histories.collections() == [] and titles(engine) == []
    repo.commit("more")
    assert engine.search(Query("trail")).completeness.complete


def test_what_was_indexed_before_git_was_left_out_answers_for_no_history(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    repo.commit("Climb the ridge", {"notes.md": "# Ridge\n"})
    engine = open_engine(git=False)
    found, source = engine.history.commits(engine.history.checkout(root), HistoryQuery("notes.md"))
    assert [it.title for it in found.commits] == ["Climb the ridge", "Walk the trail"]
    assert source.name == "git"


def test_where_git_is_left_out_from_now_on_what_was_indexed_is_told_and_then_dropped(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    engine = open_engine(git=False)
    found = engine.search(Query("walking slow", scope=COMMIT)).hits
    assert found and all("`dowse index` drops it" in it.notes[0] for it in found)
    assert all(not it.notes for it in engine.search(Query("trail", scope=Scope(kinds=("doc",)))).hits)
    report = engine.histories.index_history()
    assert report.deleted == 2
    assert report.notes == [f"the history in {root / '.git'} is disabled (git = false); it was dropped"]
    assert titles(engine) == [] and engine.histories.collections() == []
    assert not engine.search(Query("walking slow", scope=COMMIT)).hits
    assert engine.completeness().complete
    assert engine.histories.index_history() == SyncReport()
    engine = open_engine()
    assert engine.histories.index_history().indexed == 2
    assert not engine.search(Query("walking slow", scope=COMMIT)).hits[0].notes


def test_a_history_is_dropped_wherever_it_was_and_however_far(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    repo.many(1_100)
    with open_engine() as engine:
        engine.index([root])
        asked = iter([False, True])
        assert engine.histories.index_history(pause=lambda: next(asked, True)).notes
        engine._core.store.writer.skip(SkippedItem("root.git", "history", "why"))
    shutil.rmtree(root / ".git")
    engine = open_engine(git=False)
    held = len(titles(engine))
    assert held > 0
    assert engine.histories.index_history().deleted == held
    assert not engine.status().skipped and not engine.completeness().notes


def test_a_history_of_many_is_dropped_whole(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    repo.many(1_100)
    with open_engine() as engine:
        indexed(engine, root)
    assert open_engine(git=False).histories.index_history().deleted == 1_102
    engine, asked = open_engine(), iter([False, True])
    begun = engine.histories.index_history(pause=lambda: next(asked, True)).indexed
    assert 0 < begun < 1_102 and engine.histories.index_history().indexed == 1_102 - begun


# --- following ---


def test_a_commit_made_just_before_a_question_is_in_the_answer(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(freshness_timeout_ms=10_000), root)
    repo.commit("Climb the ridge")
    answer = engine.search(Query("climb ridge", scope=COMMIT))
    assert [it.stored.record.title for it in answer.hits[:1]] == ["Climb the ridge"]
    assert not answer.completeness.disk_freshness.sentences()
    repo.commit("Climb the peak", None, "--amend")
    engine.search(Query("climb"))
    assert titles(engine) == ["Climb the peak", "Run the trail", "Walk the trail"]
    assert not engine.histories.outdated_histories()
    assert engine.histories.index_history().indexed == 0


@pytest.mark.parametrize(
    "command",
    [
        ("branch", "other"),
        ("tag", "v1"),
        ("tag", "-a", "-m", "One", "v1"),
        ("checkout", "-q", "--detach"),
        ("pack-refs", "--all"),
        ("gc", "-q"),
        ("worktree", "add", "-q", "../linked"),
    ],
)
def test_nothing_is_lost_where_refs_change_and_commits_do_not(
    open_engine: OpenEngine, repo: Repo, root: Path, command: tuple[str, ...]
) -> None:
    engine = indexed(open_engine(freshness_timeout_ms=10_000), root)
    repo.run(*command)
    assert engine.histories.outdated_histories()
    assert engine.search(Query("walking slow", scope=COMMIT)).hits
    assert titles(engine) == ["Run the trail", "Walk the trail"]
    assert not engine.histories.outdated_histories()


def test_what_is_too_much_for_a_question_is_told(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(freshness_timeout_ms=10_000), root)
    repo.many(21)
    for _ in range(2):
        answer = engine.search(Query("trail"))
        assert any("latest git changes of root.git" in it for it in answer.completeness.disk_freshness.sentences())
    assert engine.histories.index_history().indexed == 21
    assert not engine.search(Query("trail")).completeness.disk_freshness.sentences()


def test_without_patience_it_is_only_told(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(freshness_timeout_ms=0), root)
    repo.commit("Climb the ridge")
    answer = engine.search(Query("climb ridge", scope=COMMIT))
    assert "the latest git changes of root.git are not in this answer" in answer.completeness.sentence(0)
    assert len(titles(engine)) == 2


def test_other_settings_read_everything_again(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    with open_engine(diff_lines=3) as engine:
        assert (engine.histories.index_history().indexed, engine.histories.index_history().unchanged) == (2, 2)
        assert int(engine._core.store.catalog.select(COMMIT)[0].facets["omitted"]) > 0


def test_what_time_is_left_for_is_done_and_the_rest_goes_on(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    repo.many(250)
    engine = open_engine()
    engine.index([root])
    report = engine.histories.index_history(for_s=0.0)
    assert report.indexed == 0 and "only partly indexed" in report.notes[0]
    asked = iter([False, True])
    report = engine.histories.index_history(pause=lambda: next(asked, True))
    assert 0 < report.indexed < 252
    assert "root.git: only partly indexed so far" in engine.completeness().notes
    assert engine.histories.index_history().indexed == 252 - report.indexed
    assert not any("in part" in it for it in engine.completeness().notes)


def test_progress_tells_its_own_stage(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = open_engine()
    engine.index([root])
    seen: list[tuple[str, int, int]] = []
    engine.histories.index_history(progress=lambda *step: seen.append(step))
    assert seen[-1] == ("history", 2, 2) and {it[0] for it in seen} == {"history"}


def test_forced_it_reads_everything_once(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    assert engine.histories.index_history(force=True).indexed == 2


# --- what is gone ---


def test_a_repository_out_of_reach_keeps_what_was_indexed(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    (root / ".git").rename(root.parent / "aside")
    report = engine.histories.index_history()
    assert report.notes == [f"{root / '.git'} is missing; its indexed history was kept"]
    assert len(titles(engine)) == 2
    record = engine._core.store.catalog.select(COMMIT)[0]
    assert engine.freshness.freshness_of(record) == "gone"
    assert engine.lines(record).text.startswith("Run the trail")
    (root.parent / "aside").rename(root / ".git")
    assert engine.histories.index_history().unchanged == 2


def test_a_repository_that_git_would_wait_for_is_told_and_keeps_what_was_indexed(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    engine = indexed(open_engine(), root)
    os.mkfifo(root / ".git" / "info" / "attributes")
    (note,) = engine.histories.index_history(force=True).notes
    assert note == (
        f"cannot read {root / '.git'} (info/attributes in the repository is a named pipe, which would block git);"
        " its indexed history was kept"
    )
    assert len(titles(engine)) == 2


def test_a_branch_whose_end_is_lost_keeps_what_was_indexed_and_is_told(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    repo.run("checkout", "-q", "-b", "side")
    lost = repo.commit("Climb the ridge")
    repo.run("checkout", "-q", "main")
    engine = indexed(open_engine(freshness_timeout_ms=10_000), root)
    aside = repo.git_directory / "objects" / lost[:2] / lost[2:]
    content = aside.read_bytes()
    repo.lose(lost)
    repo.commit("Swim the lake")
    assert any(
        "latest git changes of root.git" in it for it in engine.search(Query("swim")).completeness.disk_freshness.notes
    )
    told = f"refs/heads/side leads to {lost[:12]}: missing or damaged"
    for indexed_now in (1, 0):
        report = engine.histories.index_history()
        assert (report.indexed, report.deleted) == (indexed_now, 0)
        assert told in report.notes[0] and told in engine.status().skipped[0].reason
    assert sorted(titles(engine)) == ["Climb the ridge", "Run the trail", "Swim the lake", "Walk the trail"]
    assert not engine.search(Query("swim")).completeness.disk_freshness.notes
    _, source = engine.history.commits(engine.history.checkout(root), HistoryQuery("notes.md"))
    assert source.name == "index" and told in source.reason
    found, source = engine.history.commits(engine.history.checkout(root), HistoryQuery("notes.md"), from_git=True)
    assert len(found.commits) == 1 and (source.name, source.reason) == ("git", told)
    assert engine.history.activity(engine.history.checkout(root), HistoryQuery(), from_git=True)[0].commits == 3
    assert engine.history.authors(engine.history.checkout(root), HistoryQuery(), from_git=True)[0].commits == 3
    repo.commit("Cross the river")
    assert any(
        "latest git changes of root.git" in it for it in engine.search(Query("river")).completeness.disk_freshness.notes
    )
    aside.write_bytes(content)
    repo.run("branch", "-q", "-D", "side")
    report = engine.histories.index_history()
    assert (report.indexed, report.deleted, report.notes) == (1, 1, [])
    assert not engine.status().skipped and "Climb the ridge" not in titles(engine)


def test_a_repository_that_is_left_out_from_now_on_is_dropped(open_engine: OpenEngine, root: Path) -> None:
    Repo(root / "vendor").commit("Theirs", {"a.md": "text\n"})
    Repo(root / "own").commit("Ours", {"a.md": "text\n"})
    with open_engine() as engine:
        indexed(engine, root)
        assert sorted(titles(engine)) == ["Ours", "Theirs"]
    with open_engine(exclude=("vendor/",)) as engine:
        report = engine.histories.index_history()
        assert report.deleted == 1 and "is no longer below any root" in report.notes[0]
        assert titles(engine) == ["Ours"]
        assert engine.histories.index_history().notes == []
    with open_engine() as engine:
        engine.histories.index_history()
        assert sorted(titles(engine)) == ["Ours", "Theirs"]


def test_a_moved_project_takes_its_history_along(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    moved = root.rename(root.parent / "moved")
    with open_engine() as engine:
        engine.index([moved])
        report = engine.histories.index_history()
        assert (report.indexed, report.unchanged) == (0, 2)
        assert [it.root for it in engine.histories.collections()] == [str(moved / ".git")]
        assert engine.repositories.repository("root.git").work_tree == moved


def test_a_repository_made_later_is_found(open_engine: OpenEngine, root: Path) -> None:
    (root / "a.md").write_text("text\n")
    engine = indexed(open_engine(), root)
    assert engine.histories.collections() == []
    Repo(root).commit("First")
    assert engine.histories.index_history().indexed == 1
    shutil.rmtree(root / ".git")
    assert "is missing" in engine.histories.index_history().notes[0]


def test_damaged_records_of_commits_are_read_again(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    engine = indexed(open_engine(), root)
    name = engine._core.store.catalog.select(COMMIT)[0].path
    engine._core.store.writer.drop("root.git", [name])
    mended = engine.health.repair(["records"])
    assert not mended.still_damaged
    engine.histories.index_history(force=True)
    assert len(titles(engine)) == 2


def test_a_bare_repository_below_a_root_stays_found(open_engine: OpenEngine, repo: Repo, root: Path) -> None:
    repo.run("clone", "-q", "--bare", str(root), str(root / "mirror.git"))
    engine = indexed(open_engine(), root)
    assert sorted(it.path for it in engine._core.store.catalog.select(Scope(collections=("root",)))) == [
        "notes.md",
        "src/walk.py",
    ]
    indexed(engine, root)
    assert sorted(it.name for it in engine.histories.collections()) == ["mirror.git", "root.git"]
    assert not engine.search(Query("trail")).completeness.disk_freshness.sentences()
    assert engine.histories.index_history().unchanged == 4


def test_what_lies_in_work_trees_stays_when_a_folder_becomes_a_bare_repository(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    home = root.parent / "home"
    project = home / "project"
    repo.run("clone", "-q", "--bare", str(root), str(project))
    Repo(project).run("worktree", "add", "-q", "dev", "main")
    (project / "HEAD").rename(project / "aside")
    engine = indexed(open_engine(), home)
    there = {it.path for it in engine._core.store.catalog.select(Scope(collections=("home",)))}
    files = {"project/dev/notes.md", "project/dev/src/walk.py"}
    assert files < there
    (project / "aside").rename(project / "HEAD")
    indexed(engine, home)
    assert {it.path for it in engine._core.store.catalog.select(Scope(collections=("home",)))} == files
    assert not engine.search(Query("trail")).completeness.disk_freshness.sentences()
    assert engine.repositories.repository("project.git").work_tree == project / "dev"
    (record,) = engine.record("project/dev/notes.md")
    (history,) = engine.histories.collections()
    assert engine.repositories.history_of(record) == (history, "notes.md")


def test_what_was_indexed_of_a_directory_before_it_was_a_repository_goes(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    mirror = root / "mirror"
    repo.run("clone", "-q", "--bare", str(root), str(mirror))
    (mirror / "HEAD").rename(mirror / "aside")
    engine = indexed(open_engine(), root)
    assert engine.record("mirror/config")
    (mirror / "aside").rename(mirror / "HEAD")
    assert engine.index([mirror]).deleted > 0
    assert sorted(it.path for it in engine._core.store.catalog.select(Scope(collections=("root",)))) == [
        "notes.md",
        "src/walk.py",
    ]
    assert engine.histories.index_history().indexed == 2


def test_what_another_process_drops_meanwhile_is_told_as_gone(
    open_engine: OpenEngine, repo: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = indexed(open_engine(), root)
    ranked = SearchService._rank

    def then_dropped(self: SearchService, query: Query) -> SearchResult:
        found = ranked(self, query)
        self._core.store.writer.remove_collection("root.git")
        return found

    monkeypatch.setattr(SearchService, "_rank", then_dropped)
    found = engine.search(Query("walking slow", scope=COMMIT)).hits
    assert found and {hit.freshness for hit in found} == {"gone"}


def test_however_many_commits_there_are_few_files_are_looked_at_for_every_question(
    open_engine: OpenEngine, repo: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(look, "MAX_SMALL_INDEX_FILES", 3)
    for number in range(4):
        repo.commit(f"Step {number}")
    engine = indexed(open_engine(), root)
    assert engine.freshness._disk_scan.is_small()
    (root / "more.md").write_text("# More\n")
    (root / "most.md").write_text("# Most\n")
    engine.index([root])
    assert not engine.freshness._disk_scan.is_small()


def test_a_drop_that_is_interrupted_is_known_and_made_up_for(
    open_engine: OpenEngine, repo: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    monkeypatch.setattr(histories, "_DROP_BATCH_SIZE", 1)
    with open_engine(git=False) as engine:
        plain, dropped = engine._core.store.writer.drop, []

        def drop(collection: str, paths: Iterable[str]) -> int:
            if dropped:
                raise KeyboardInterrupt
            dropped.append(collection)
            return plain(collection, paths)

        monkeypatch.setattr(engine._core.store.writer, "drop", drop)
        with pytest.raises(KeyboardInterrupt):
            engine.histories.index_history()
    engine = open_engine()
    assert len(titles(engine)) == 1
    engine.histories.index_history()
    assert titles(engine) == ["Run the trail", "Walk the trail"]


def test_two_that_drop_the_same_history_are_in_nobodys_way(
    open_engine: OpenEngine, repo: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine() as engine:
        indexed(engine, root)
    slow, quick = open_engine(git=False), open_engine(git=False)
    (history,) = slow.histories.collections()
    quick.histories.index_history()
    report = SyncReport()
    slow.histories._drop_history(history, "is left out", report)
    assert (report.deleted, report.notes) == (0, [])
    slow._core.store.writer.remove_collection(history.name)


def test_few_commits_come_in_without_listing_the_others(
    open_engine: OpenEngine, repo: Repo, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = indexed(open_engine(), root)
    repo.commit("Rest at the trail", {"notes.md": "# Trail\n\nrest\n"})

    def listing(*_: object) -> None:
        raise AssertionError("all of it was listed")

    with monkeypatch.context() as patched:
        patched.setattr(HistoryIndex, "sync_history", listing)
        report = engine.histories.index_history()
        assert (report.listed, report.indexed, report.unchanged, report.notes) == (3, 1, 2, [])
        assert engine.histories.index_history().unchanged == 3
    repo.run("reset", "-q", "--hard", "HEAD~2")
    report = engine.histories.index_history()
    assert (report.listed, report.indexed, report.unchanged, report.deleted) == (1, 0, 1, 2)
    assert titles(engine) == ["Walk the trail"]


def test_other_settings_read_a_history_anew_though_few_commits_came(
    open_engine: OpenEngine, repo: Repo, root: Path
) -> None:
    indexed(open_engine(), root).close()
    repo.commit("Rest at the trail", {"notes.md": "# Trail\n\nrest\n"})
    assert open_engine(diff_lines=1).histories.index_history().indexed == 3
