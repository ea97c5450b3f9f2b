"""The commits of a file, its authors, the busiest files: from the index and from git itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import HISTORY, put, stored

from dowse.ingest.sources.git_log import GitLog, PathChange
from dowse.lookup.history import (
    FileHistory,
    HistoryQuery,
    StoredRenameHistory,
    aggregate_authors,
    count_authors,
    count_changes,
    filter_commits,
    find_commits,
    follow_renames,
    split_author,
)
from dowse.model import COMMITS, Record
from imported import START, Made, repository


def text(word: str) -> str:
    """Long, and unlike any other."""
    return "".join(f"{word} line {number} of {word}\n" for number in range(8))


def titles(folder: Path, **sought: object) -> list[str]:
    found = find_commits(stored(folder / ".git").view(), HISTORY, HistoryQuery(**sought))  # type: ignore[arg-type]
    assert found.total == len(found.commits)
    return [it.title for it in found.commits]


def test_a_file_that_was_renamed_twice_keeps_its_history(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a"), "other.py": text("o")}),
            Made("first move", renames=[("a.py", "b.py")]),
            Made("edit", {"b.py": text("a") + "more\n"}),
            Made("second move", renames=[("b.py", "src/c.py")]),
            Made("aside", {"other.py": text("p")}),
        ],
    )
    store = stored(tmp_path / ".git")
    found = find_commits(store.view(), HISTORY, HistoryQuery("src/c.py"))
    assert [it.title for it in found.commits] == ["second move", "edit", "first move", "make"]
    assert found.names == ("src/c.py", "b.py", "a.py")
    assert titles(tmp_path, path="other.py") == ["aside", "make"]


def test_a_name_that_was_used_again_is_another_file(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a")}),
            Made("edit", {"a.py": text("a") + "more\n"}),
            Made("move", renames=[("a.py", "b.py")]),
            Made("another", {"a.py": text("z")}),
            Made("edit another", {"a.py": text("z") + "more\n"}),
        ],
    )
    assert titles(tmp_path, path="b.py") == ["move", "edit", "make"]
    assert titles(tmp_path, path="a.py") == ["edit another", "another"]


def test_a_name_that_nothing_has_any_more_is_of_the_file_that_left_it(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a")}),
            Made("move", renames=[("a.py", "b.py")]),
            Made("edit", {"b.py": text("a") + "more\n"}),
        ],
    )
    assert titles(tmp_path, path="a.py") == ["move", "make"]


def test_there_and_back_again(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a")}),
            Made("away", renames=[("a.py", "b.py")]),
            Made("back", renames=[("b.py", "a.py")]),
        ],
    )
    assert titles(tmp_path, path="a.py") == ["back", "away", "make"]


def test_a_branch_that_renamed_it_takes_nothing_from_another(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a")}),
            Made("move", renames=[("a.py", "b.py")], branch="stale"),
            Made("edit", {"a.py": text("a") + "more\n"}, parents=(1,)),
        ],
    )
    assert titles(tmp_path, path="a.py") == ["edit", "make"]
    assert titles(tmp_path, path="b.py") == ["move", "make"]


def test_a_deleted_file_and_one_that_came_back(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a"), "b.py": text("b")}),
            Made("delete", {"a.py": None}),
            Made("restore", {"a.py": text("a")}),
            Made("delete b", {"b.py": None}),
        ],
    )
    assert titles(tmp_path, path="a.py") == ["restore", "delete", "make"]
    assert titles(tmp_path, path="b.py") == ["delete b", "make"]


def test_ancestry_counts_and_not_the_clock(tmp_path: Path) -> None:
    """What is dated before the renaming may have happened after it."""
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a")}),
            Made("move", renames=[("a.py", "b.py")]),
            Made("another", {"a.py": text("z")}, at=START - 5000),
        ],
    )
    assert titles(tmp_path, path="b.py") == ["move", "make"]


@pytest.mark.parametrize("at", [1, START, 8_999_999_999])
def test_commits_of_one_second_are_told_from_the_last_one_on(tmp_path: Path, at: int) -> None:
    """As a rebase makes them; of a file that only some of them touch, too."""
    steps = [Made(f"step {it}", {"a.py" if it % 2 else "b.py": text(str(it))}, at=at) for it in range(9)]
    repository(tmp_path, [Made("before", {"a.py": text("a")}, at=at - 1), *steps, Made("after", at=at + 1)])
    store, log = stored(tmp_path / ".git"), GitLog(tmp_path / ".git")
    last_first = [f"step {it}" for it in range(8, -1, -1)]
    for path, expected in (("", ["after", *last_first, "before"]), ("a.py", [*last_first[1::2], "before"])):
        for limit in range(len(expected) + 1):
            found = find_commits(store.view(), HISTORY, HistoryQuery(path), limit)
            assert ([it.title for it in found.commits], found.total) == (expected[:limit], len(expected))
            life = follow_renames(log, path) if path else FileHistory(())
            told = filter_commits(log.commits(life.names), life, HistoryQuery(path), log, limit)
            assert [it.title for it in told.commits] == expected[:limit]
    assert titles(tmp_path, message="STEP") == last_first


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("varied")
    ben = "Ben Ölander <ben@example.org>"
    repository(
        folder,
        [
            Made("Fix the parser\n\nIt was WRONG.", {"src/a.py": text("a"), "srcs.py": text("s")}, at=START),
            Made("Add a lexer", {"src/lex/b.py": text("b"), "src/a.py": text("c")}, author=ben, at=START + 100),
            Made("fix again", {"docs/c[1].md": text("d")}, author=ben, at=START + 200),
            Made("x", {"src/a.py": text("e")}, at=START + 300),
        ],
    )
    return folder


@pytest.mark.parametrize(
    ("sought", "expected"),
    [
        ({}, ["x", "fix again", "Add a lexer", "Fix the parser"]),
        ({"path": "src"}, ["x", "Add a lexer", "Fix the parser"]),
        ({"path": "src/lex"}, ["Add a lexer"]),
        ({"path": "docs/c[1].md"}, ["fix again"]),
        ({"path": "a.py"}, []),
        ({"path": "*"}, []),
        ({"author": "BEN"}, ["fix again", "Add a lexer"]),
        ({"author": "ö"}, ["fix again", "Add a lexer"]),
        ({"author": "ann@example"}, ["x", "Fix the parser"]),
        ({"message": "fix"}, ["fix again", "Fix the parser"]),
        ({"message": "was wrong"}, ["Fix the parser"]),
        ({"message": "fix", "path": "src"}, ["Fix the parser"]),
        ({"since": START + 100, "until": START + 200}, ["fix again", "Add a lexer"]),
        ({"since": START + 101, "author": "ann"}, ["x"]),
        ({"until": START - 1}, []),
    ],
)
def test_filters(varied: Path, sought: dict[str, object], expected: list[str]) -> None:
    assert titles(varied, **sought) == expected


@pytest.mark.parametrize("sought", [HistoryQuery("src"), HistoryQuery("src", message="a")])
def test_the_limit_comes_after_the_filters(varied: Path, sought: HistoryQuery) -> None:
    every = find_commits(stored(varied / ".git").view(), HISTORY, sought)
    first = find_commits(stored(varied / ".git").view(), HISTORY, sought, 1)
    assert first.commits == every.commits[:1]
    assert first.total == every.total > 1


def test_authors_are_ranked_by_their_commits(varied: Path) -> None:
    found = count_authors(stored(varied / ".git").view(), HISTORY, HistoryQuery("src"))
    people = found.people
    assert found.commits == 3
    assert [(it.name, it.email, it.commits) for it in people] == [
        ("Ann", "ann@example.org", 2),
        ("Ben Ölander", "ben@example.org", 1),
    ]
    assert (people[0].first_at, people[0].last_at) == (START, START + 300)


@pytest.mark.parametrize(
    "sought", [HistoryQuery(), HistoryQuery("src"), HistoryQuery("src/a.py", message="LEX"), HistoryQuery(message="a")]
)
def test_authors_are_those_of_the_commits_that_are_found(varied: Path, sought: HistoryQuery) -> None:
    store = stored(varied / ".git")
    found = find_commits(store.view(), HISTORY, sought)
    assert found.total
    assert count_authors(store.view(), HISTORY, sought) == aggregate_authors(
        (it.facets["author"], it.timestamp_ns) for it in found.commits
    )


def test_authors_of_a_renamed_file_are_those_of_its_life(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make a", {"a.py": text("a")}),
            Made("move it", renames=[("a.py", "b.py")]),
            Made("another a", {"a.py": text("another")}),
        ],
    )
    store = stored(tmp_path / ".git")
    assert count_authors(store.view(), HISTORY, HistoryQuery("b.py")).commits == 2
    assert count_authors(store.view(), HISTORY, HistoryQuery("a.py")).commits == 1


@pytest.mark.parametrize("message", ["", "m"])
def test_what_left_a_directory_touched_it(tmp_path: Path, message: str) -> None:
    repository(tmp_path, [Made("make m", {"src/a.py": text("a")}), Made("move it", renames=[("src/a.py", "lib/a.py")])])
    assert titles(tmp_path, path="src", message=message) == ["move it", "make m"]
    found = GitLog(tmp_path / ".git").commits(["src"])
    assert [it.title for it in found] == ["move it", "make m"]


@pytest.mark.parametrize(
    ("facet", "expected"),
    [
        ("A <B> C <a@b>", ("A <B> C", "a@b")),
        (" <>", ("", "")),
        ("<>", ("", "")),
        ("<a@b>", ("", "a@b")),
        ("", ("", "")),
        ("A < <a<b@c>", ("A <", "a<b@c")),
    ],
)
def test_odd_people(facet: str, expected: tuple[str, str]) -> None:
    assert split_author(facet) == expected


def test_activity_counts_commits_by_file(varied: Path) -> None:
    found = count_changes(stored(varied / ".git").view(), HISTORY, HistoryQuery())
    assert found.commits == 4
    assert found.files == (("src/a.py", 3), ("docs/c[1].md", 1), ("src/lex/b.py", 1), ("srcs.py", 1))
    assert count_changes(stored(varied / ".git").view(), HISTORY, HistoryQuery(author="ben", message="LEX")).files == (
        ("src/a.py", 1),
        ("src/lex/b.py", 1),
    )


def test_activity_of_a_file_counts_what_its_commits_touched(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make", {"a.py": text("a"), "x.py": text("x")}),
            Made("move", renames=[("a.py", "b.py")]),
            Made("edit", {"b.py": text("a") + "more\n", "y.py": text("y")}),
            Made("aside", {"x.py": text("z")}),
        ],
    )
    found = count_changes(stored(tmp_path / ".git").view(), HISTORY, HistoryQuery("b.py"))
    assert found.commits == 3
    assert found.files == (("b.py", 2), ("a.py", 1), ("x.py", 1), ("y.py", 1))
    assert count_changes(stored(tmp_path / ".git").view(), HISTORY, HistoryQuery("b.py", message="edit")).files == (
        ("b.py", 1),
        ("y.py", 1),
    )


def merged(folder: Path, **files: str | None) -> None:
    """Two sides that changed `a`, and a merge with these files on top of what the first side has."""
    repository(
        folder,
        [
            Made("base", {"a": text("base"), "old": text("old")}),
            Made("ours", {"a": text("ours")}, parents=(1,)),
            Made("theirs", {"a": text("theirs"), "b": text("theirs")}, parents=(1,), branch="side"),
            Made("merge", {"b": text("theirs"), **files}, parents=(2, 3)),
        ],
    )


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ({"a": text("both")}, "a", ["base", "merge", "ours", "theirs"]),
        ({"a": text("theirs")}, "a", ["base", "ours", "theirs"]),  # one side was taken
        ({"b": text("mine")}, "b", ["merge", "theirs"]),
        ({}, "b", ["theirs"]),
        ({"new": text("new")}, "new", ["merge"]),
        ({"old": None}, "old", ["base", "merge"]),
    ],
)
def test_a_merge_is_of_the_files_that_are_like_those_of_no_parent(
    tmp_path: Path, files: dict[str, str | None], path: str, expected: list[str]
) -> None:
    merged(tmp_path, **files)
    assert sorted(titles(tmp_path, path=path)) == expected
    log = GitLog(tmp_path / ".git")
    assert sorted(it.title for it in log.commits([path])) == expected
    assert {it.path for it in log.commits([path])} == log.touching(path)


def test_two_renamings_in_one_commit_are_kept_apart(tmp_path: Path) -> None:
    repository(
        tmp_path,
        [
            Made("make a", {"a.py": text("a")}),
            Made("make b", {"b.py": text("b")}),
            Made("move both", renames=[("a.py", "x.py"), ("b.py", "y.py")]),
        ],
    )
    assert titles(tmp_path, path="x.py") == ["move both", "make a"]
    assert titles(tmp_path, path="y.py") == ["move both", "make b"]


def test_another_history_with_the_same_paths_has_a_life_of_its_own(tmp_path: Path) -> None:
    repository(tmp_path, [Made("make", {"a.py": text("a")}), Made("move", renames=[("a.py", "b.py")])])
    store = stored(tmp_path / ".git")
    store.writer.add_collection("/other/.git", source=COMMITS, name="other.git")
    record = Record("other.git", "f" * 40, "commit", "theirs", 0, START, "", "")
    put(store, record, [PathChange("R", "a.py", "b.py"), PathChange("M", "b.py")])
    assert [it.title for it in find_commits(store.view(), HISTORY, HistoryQuery("b.py")).commits] == ["move", "make"]
    assert find_commits(store.view(), HISTORY, HistoryQuery("b.py")).names == ("b.py", "a.py")
    assert StoredRenameHistory(store.view(), HISTORY).departures("b.py") == set()


def test_another_history_in_the_same_store_counts_for_nothing(varied: Path) -> None:
    store = stored(varied / ".git")
    assert find_commits(store.view(), "other.git", HistoryQuery("src/a.py")).total == 0
    assert count_changes(store.view(), "other.git", HistoryQuery()).files == ()
