"""The git tools of the code search contract, over the wire: every tool and every parameter."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git_repository import DAY_S, PAST, TITLES, lay_out
from rifflux_server import JOB_DEADLINE_S, Served, serving, text_of

from imported import START, Made, repository, run

PARSER = "src/reading/parser.py"
DAYS = ["2023-11-14", "2023-11-15", "2023-11-16", "2023-11-17", "2023-11-18"]
GIT_TOOLS = {
    "search_git_history", "search_git_diff", "search_git_authors", "search_git_activity", "search_git_blame",
    "search_branch_status",
}  # fmt: skip


@pytest.fixture(scope="module")
def hashes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return lay_out(tmp_path_factory.mktemp("past") / "work")


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory, hashes: list[str]) -> Iterator[Served]:
    folder = tmp_path_factory.getbasetemp() / "past0" / "work"
    with serving(folder, "dowse", "mcp", "--profile", "codesearch") as served:
        wait_for_history(served)
        yield served


def wait_for_history(served: Served) -> None:
    """Until commits are told from the index."""
    deadline = time.monotonic() + JOB_DEADLINE_S
    while served.ask("search_git_activity", repo=".")["summary"]["source"] != "index":
        assert time.monotonic() < deadline, "the history was not indexed"
        time.sleep(0.05)


def history(served: Served, file: str = PARSER, **arguments: Any) -> list[str]:
    """The first lines of the messages; the index and git itself must give the same."""
    found = served.ask("search_git_history", repo=".", file=file, **arguments)
    direct = served.ask("search_git_history", repo=".", file=file, noCache=True, **arguments)
    assert direct["commits"] == found["commits"]
    assert (found["summary"]["source"], direct["summary"]["source"]) == ("index", "git")
    assert found["summary"]["returned"] == len(found["commits"])
    return [it["message"] for it in found["commits"]]


# --- search_git_history ---


def test_commits_of_a_file_under_all_its_names(past: Served, hashes: list[str]) -> None:
    found = past.ask("search_git_history", repo=".", file=PARSER)
    assert found["commits"][0] == {
        "hash": hashes[4],
        "date": "2023-11-18 22:13:20 +0000",
        "author": "Ben Ölander",
        "email": "ben@example.org",
        "message": "fix: tides",
    }
    assert [it["message"] for it in found["commits"]] == [TITLES[4], TITLES[2], TITLES[1], TITLES[0]]
    summary = found["summary"]
    assert (summary["tool"], summary["totalCommits"], summary["returned"]) == ("search_git_history", 4, 4)
    assert summary["names"] == [PARSER, "src/parse.py"]
    assert "warning" not in found


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"from": DAYS[2]}, [4, 2]),
        ({"to": DAYS[1]}, [1, 0]),
        ({"from": DAYS[1], "to": DAYS[2]}, [2, 1]),
        ({"date": DAYS[1]}, [1]),
        ({"from": "2030-01-01"}, []),
        ({"author": "ben"}, [4, 1]),
        ({"author": "ANN@example.org"}, [2, 0]),
        ({"message": "FIX"}, [4, 1]),
        ({"message": "reads orders"}, [0]),
        ({"message": "fix", "author": "ann"}, []),
        ({"maxResults": 0}, [4, 2, 1, 0]),
    ],
)
def test_filters_of_the_history(past: Served, arguments: dict[str, Any], expected: list[int]) -> None:
    assert history(past, **arguments) == [TITLES[it] for it in expected]


def test_max_results_cuts_rows_and_not_totals(past: Served) -> None:
    found = past.ask("search_git_history", repo=".", file=PARSER, maxResults=1, author="ben")
    assert [it["message"] for it in found["commits"]] == [TITLES[4]]
    assert (found["summary"]["totalCommits"], found["summary"]["returned"]) == (2, 1)


def test_directories_and_ways_to_write_a_path(past: Served) -> None:
    assert history(past, "src") == [TITLES[4], TITLES[2], TITLES[1], TITLES[0]]
    assert history(past, "docs/") == [TITLES[4], TITLES[3]]
    assert history(past, ".\\docs\\berths.md") == [TITLES[3]]
    assert history(past, str(past.folder / "docs/berths.md")) == [TITLES[3]]


def test_a_file_that_no_commit_knows(past: Served) -> None:
    found = past.ask("search_git_history", repo=".", file="src/Parser.py")
    assert found["commits"] == []
    assert found["warning"] == f"File never tracked in git: src/Parser.py; did you mean {PARSER}?"
    assert "check the path" in past.ask("search_git_history", repo=".", file="qqqq")["warning"]
    in_vain = past.ask("search_git_history", repo=".", file=PARSER, author="nobody")
    assert "warning" not in in_vain


# --- search_git_diff ---


def test_patches(past: Served) -> None:
    rows = past.ask("search_git_diff", repo=".", file=PARSER)["commits"]
    patches = {it["message"]: it["patch"] for it in rows}
    assert "+tide = 'neap'" in patches[TITLES[4]]
    assert "Tides" not in patches[TITLES[4]]
    assert "rename from src/parse.py" in patches[TITLES[2]]
    assert "+fixed = True" in patches[TITLES[1]]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"from": DAYS[2], "to": DAYS[3]}, [2]),
        ({"date": DAYS[1]}, [1]),
        ({"maxResults": 1}, [4]),
        ({"author": "ben", "message": "parser"}, [1]),
    ],
)
def test_filters_of_patches(past: Served, arguments: dict[str, Any], expected: list[int]) -> None:
    found = past.ask("search_git_diff", repo=".", file=PARSER, **arguments)
    assert [it["message"] for it in found["commits"]] == [TITLES[it] for it in expected]
    assert found["summary"]["tool"] == "search_git_diff"


def test_long_patches_are_cut_and_say_so(tmp_path: Path) -> None:
    long = "".join(f"line {number}\n" for number in range(450))
    repository(tmp_path / "work", [Made("long", {"long.txt": long}), Made("wide", {"wide.txt": "x" * 100_000})])
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch") as served:
        (row,) = served.ask("search_git_diff", repo=".", file="long.txt")["commits"]
        shown = row["patch"].splitlines()
        assert len(shown) == 201
        assert shown[-1] == "... (256 lines omitted)"
        (row,) = served.ask("search_git_diff", repo=".", file="wide.txt")["commits"]
        assert len(row["patch"]) < 1000


def test_a_patch_larger_than_an_answer_is_cut(tmp_path: Path) -> None:
    wide = "".join(f"{number} {'x' * 300}\n" for number in range(150))
    repository(tmp_path / "work", [Made("wide", {"wide.txt": wide})])
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch") as served:
        found = served.ask("search_git_diff", repo=".", file="wide.txt")
        assert found["summary"]["responseTruncated"] is True
        assert found["summary"]["returned"] == 1
        assert found["commits"][0]["cut"] == "response size"
        assert len(found["commits"][0]["patch"]) > 8000


# --- search_git_authors ---


def test_authors(past: Served) -> None:
    found = past.ask("search_git_authors", repo=".", path=PARSER)
    assert found["authors"] == [
        {
            "rank": rank,
            "name": name,
            "email": email,
            "commits": 2,
            "firstChange": first,
            "lastChange": last,
        }
        for rank, name, email, first, last in [
            (1, "Ann", "ann@example.org", "2023-11-14 22:13:20 +0000", "2023-11-16 22:13:20 +0000"),
            (2, "Ben Ölander", "ben@example.org", "2023-11-15 22:13:20 +0000", "2023-11-18 22:13:20 +0000"),
        ]
    ]
    assert found["summary"]["totalCommits"] == 4
    assert found["summary"]["totalAuthors"] == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, [("Ann", 3), ("Ben Ölander", 2)]),
        ({"file": "docs"}, [("Ann", 1), ("Ben Ölander", 1)]),
        ({"path": "docs", "file": "docs"}, [("Ann", 1), ("Ben Ölander", 1)]),
        ({"top": 1}, [("Ann", 3)]),
        ({"top": 0}, [("Ann", 3), ("Ben Ölander", 2)]),
        ({"from": DAYS[3]}, [("Ann", 1), ("Ben Ölander", 1)]),
        ({"to": DAYS[0]}, [("Ann", 1)]),
        ({"message": "fix"}, [("Ben Ölander", 2)]),
    ],
)
@pytest.mark.parametrize("no_cache", [False, True])
def test_filters_of_authors(past: Served, arguments: dict[str, Any], expected: Any, no_cache: bool) -> None:
    rows = past.ask("search_git_authors", repo=".", noCache=no_cache, **arguments)["authors"]
    assert [(it["name"], it["commits"]) for it in rows] == expected


def test_authors_of_an_unknown_path(past: Served) -> None:
    assert "berths.md" in past.ask("search_git_authors", repo=".", path="berths.md")["warning"]
    assert "differ" in past.refusal("search_git_authors", repo=".", path="docs", file="src")


# --- search_git_activity ---


@pytest.mark.parametrize(
    ("arguments", "expected", "commits"),
    [
        ({}, [("src/parse.py", 2), (PARSER, 2), ("README.md", 1), ("docs/berths.md", 1), ("docs/tides.md", 1)], 5),
        ({"date": DAYS[3]}, [("docs/berths.md", 1)], 1),
        ({"from": DAYS[3], "to": DAYS[4], "author": "BEN"}, [("docs/tides.md", 1), (PARSER, 1)], 1),
        ({"message": "describe"}, [("docs/berths.md", 1)], 1),
        ({"from": "2030-01-01"}, [], 0),
    ],
)
@pytest.mark.parametrize("no_cache", [False, True])
def test_activity(past: Served, arguments: dict[str, Any], expected: Any, commits: int, no_cache: bool) -> None:
    found = past.ask("search_git_activity", repo=".", noCache=no_cache, **arguments)
    assert [(it["path"], it["commitCount"]) for it in found["activity"]] == expected
    assert (found["summary"]["totalFiles"], found["summary"]["totalCommits"]) == (len(expected), commits)


# --- search_git_blame ---


def test_blame(past: Served, hashes: list[str]) -> None:
    found = past.ask("search_git_blame", repo=".", file=PARSER, startLine=12, endLine=14)
    assert [(it["line"], it["hash"], it["author"]) for it in found["lines"]] == [
        (12, hashes[0], "Ann"),
        (13, hashes[1], "Ben Ölander"),
        (14, hashes[4], "Ben Ölander"),
    ]
    assert found["lines"][2] == {
        "line": 14,
        "hash": hashes[4],
        "author": "Ben Ölander",
        "email": "ben@example.org",
        "date": "2023-11-18 22:13:20 +0000",
        "content": "tide = 'neap'",
    }
    assert found["summary"]["totalLines"] == 14
    (line,) = past.ask("search_git_blame", repo=".", file=PARSER, startLine=1)["lines"]
    assert line["content"] == "parse = 0  # parse number 0"
    assert past.ask("search_git_blame", repo=".", file=PARSER, startLine=14, endLine=10**9)["summary"]["returned"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"file": "nope.py", "startLine": 1}, "is not a file in the repository"),
        ({"file": "src", "startLine": 1}, "is not a file in the repository"),
        ({"file": PARSER, "startLine": 15}, "has 14 lines"),
        ({"file": PARSER, "startLine": 3, "endLine": 2}, "swap them"),
        ({"file": PARSER, "startLine": 0}, "startLine"),
        ({"file": PARSER}, "Missing required parameter: startLine"),
        ({"file": "", "startLine": 1}, "file must be a path inside"),
        ({"file": "../x", "startLine": 1}, "is outside the repository"),
    ],
)
def test_blame_refuses(past: Served, arguments: dict[str, Any], words: str) -> None:
    assert words in past.refusal("search_git_blame", repo=".", **arguments)


# --- search_branch_status ---


def test_branch_status(tmp_path: Path) -> None:
    work = tmp_path / "work"
    lay_out(work)
    run(work, "checkout", "-q", "-b", "side", "HEAD~2")
    (work / "README.md").write_text("# Changed\n")
    (work / "new.txt").write_text("new\n")
    (work / "docs").mkdir(exist_ok=True)
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        status = served.ask("search_branch_status", repo=".")
        assert status.pop("summary")["tool"] == "search_branch_status"
        assert status == {
            "currentBranch": "side",
            "isMainBranch": False,
            "mainBranch": "main",
            "behindMain": 2,
            "aheadOfMain": 0,
            "dirtyFiles": ["README.md", "new.txt"],
            "dirtyFileCount": 2,
            "lastFetchTime": None,
            "fetchAge": None,
            "fetchWarning": None,
            "warning": "The current branch is 'side', not main; it is 2 commits behind main",
        }
        run(work, "checkout", "-q", "--detach", "HEAD")
        status = served.ask("search_branch_status", repo=".")
        assert (status["currentBranch"], status["isMainBranch"]) == ("HEAD", False)
        assert "detached" in status["warning"]


def test_branch_status_after_a_fetch(tmp_path: Path) -> None:
    lay_out(tmp_path / "origin")
    work = tmp_path / "work"
    run(tmp_path, "clone", "-q", str(tmp_path / "origin"), "work")
    run(tmp_path / "origin", "commit", "-q", "--allow-empty", "-m", "later")
    run(work, "fetch", "-q")
    run(work, "commit", "-q", "--allow-empty", "-m", "mine")
    moment = START + 10 * DAY_S
    os.utime(work / ".git" / "FETCH_HEAD", (moment, moment))
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        status = served.ask("search_branch_status", repo=".")
        assert (status["isMainBranch"], status["behindMain"], status["aheadOfMain"]) == (True, 1, 1)
        assert status["lastFetchTime"] == "2023-11-24 22:13:20 +0000"
        assert status["fetchAge"].endswith("d ago")
        assert "git fetch" in status["fetchWarning"]
        assert status["warning"] == "It is 1 commits behind origin/main"
        assert status["dirtyFiles"] == []


# --- what all of them share ---


def test_help_mentions_every_one(past: Served) -> None:
    tasks = [it for it in past.ask("search_help")["tasks"] if it["tool"] in GIT_TOOLS]
    assert {it["tool"] for it in tasks} == GIT_TOOLS
    known = {name: tool.input_schema["properties"].keys() for name, tool in past.tools().items()}
    assert all(task["arguments"].keys() <= known[task["tool"]] for task in tasks)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"file": PARSER}, "Missing required parameter: repo"),
        ({"repo": "."}, "Missing required parameter: file"),
        ({"repo": "", "file": PARSER}, "repo must not be empty"),
        ({"repo": "nowhere", "file": PARSER}, "is not in a git repository"),
        ({"repo": "..", "file": PARSER}, "Server started with --dir"),
        ({"repo": "/", "file": PARSER}, "Server started with --dir"),
        ({"repo": "--upload-pack=x", "file": PARSER}, "is not in a git repository"),
        ({"repo": "a\0b", "file": PARSER}, "cannot be used"),
        ({"repo": ".", "file": ""}, "file must be a path inside"),
        ({"repo": ".", "file": "."}, "file must be a path inside"),
        ({"repo": ".", "file": "../../etc/passwd"}, "is outside the repository"),
        ({"repo": ".", "file": "/etc/passwd"}, "is outside the repository"),
        ({"repo": ".", "file": "a\0b"}, "is not a valid path"),
        ({"repo": ".", "file": "x" * 5000}, "is not a valid path"),
        ({"repo": ".", "file": PARSER, "from": "yesterday"}, "YYYY-MM-DD"),
        ({"repo": ".", "file": PARSER, "to": "2026-02-30"}, "YYYY-MM-DD"),
        ({"repo": ".", "file": PARSER, "from": "20260101"}, "YYYY-MM-DD"),
        ({"repo": ".", "file": PARSER, "date": "--all"}, "YYYY-MM-DD"),
        ({"repo": ".", "file": PARSER, "from": "2026-02-02", "to": "2026-02-01"}, "from 2026-02-02 is after"),
        ({"repo": ".", "file": PARSER, "from": "2026-02-02", "date": "2026-02-01"}, "mutually exclusive"),
        ({"repo": ".", "file": PARSER, "maxResults": -1}, "maxResults"),
        ({"repo": ".", "file": PARSER, "maxResults": 10**30}, "maxResults"),
        ({"repo": ".", "file": PARSER, "format": "%x"}, "unknown parameter 'format'"),
    ],
)
def test_bad_input(past: Served, arguments: dict[str, Any], words: str) -> None:
    assert words in past.refusal("search_git_history", **arguments)


@pytest.mark.parametrize("file", ["-x", "--output=x", ":(top)src", "src/*", "HEAD", "'; rm -rf .", "x" * 3000, "a\nb"])
def test_odd_paths_are_just_unknown(past: Served, file: str) -> None:
    for no_cache in (False, True):
        found = past.ask("search_git_history", repo=".", file=file, noCache=no_cache)
        assert found["commits"] == []
        assert found["warning"].startswith("File never tracked in git")
    assert past.ask("search_git_diff", repo=".", file=file)["commits"] == []


@pytest.mark.parametrize("text", ["(", "--all", "%", "_", "\\", "'", "[a", "x" * 10_000])
def test_odd_authors_and_messages_are_just_text(past: Served, text: str) -> None:
    assert history(past, author=text) == []
    assert history(past, message=text) == []


# --- repositories that are not as usual ---


def test_at_the_edge_of_a_shallow_clone_nobody_knows_what_was_touched(tmp_path: Path) -> None:
    whole, work = tmp_path / "whole", tmp_path / "work"
    texts = [Made(f"step {number}", {f"{number}.txt": "a\n"}) for number in range(3)]
    repository(whole, texts)
    run(tmp_path, "clone", "-q", "--depth", "2", f"file://{whole}", str(work))
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        wait_for_history(served)
        assert history(served, "2.txt") == ["step 2"]
        for no_cache in (False, True):
            found = served.ask("search_git_history", repo=".", file="0.txt", noCache=no_cache)
            assert found["commits"] == []
            assert found["warning"].startswith("0.txt is in the last commit, but none of the known commits")
            active = served.ask("search_git_activity", repo=".", noCache=no_cache)
            assert active["activity"] == [{"path": "2.txt", "commitCount": 1}]
            assert active["summary"]["totalCommits"] == 2
        reason = served.ask("search_git_history", repo=".", file="2.txt")["summary"]["sourceReason"]
        assert reason.startswith("commits with unknown files") and reason.endswith(": 1")


def test_an_empty_repository(tmp_path: Path) -> None:
    repository(tmp_path / "work", [])
    (tmp_path / "work" / "a.txt").write_text("a\n")
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch") as served:
        for no_cache in (False, True):
            assert (
                "never tracked" in served.ask("search_git_history", repo=".", file="a.txt", noCache=no_cache)["warning"]
            )
            assert served.ask("search_git_activity", repo=".", noCache=no_cache)["activity"] == []
            assert served.ask("search_git_authors", repo=".", noCache=no_cache)["authors"] == []
        (line,) = served.ask("search_git_blame", repo=".", file="a.txt", startLine=1)["lines"]
        assert (line["hash"], line["author"], line["date"]) == ("0" * 40, "Not Committed Yet", None)
        status = served.ask("search_branch_status", repo=".")
        assert (status["currentBranch"], status["behindMain"], status["dirtyFiles"]) == ("main", None, ["a.txt"])


def test_no_repository_at_all(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch") as served:
        for tool in sorted(GIT_TOOLS):
            more = {"file": "a"} if tool in ("search_git_history", "search_git_diff", "search_git_blame") else {}
            more |= {"startLine": 1} if tool == "search_git_blame" else {}
            assert "is not in a git repository" in served.refusal(tool, repo=".", **more)


def test_a_repository_in_the_directory_and_the_one_around_it(tmp_path: Path) -> None:
    lay_out(tmp_path / "outer")
    repository(tmp_path / "outer" / "src" / "inner", [Made("inside", {"a.txt": "a\n"})])
    lay_out(tmp_path / "elsewhere")
    folder = tmp_path / "outer" / "src"
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    with serving(folder, "dowse", "mcp", "--profile", "codesearch") as served:
        assert served.ask("search_git_history", repo="inner", file="a.txt")["commits"][0]["message"] == "inside"
        for around in (".", "..", "reading", str(tmp_path / "outer")):
            found = served.ask("search_git_history", repo=around, file=PARSER)
            assert found["summary"]["totalCommits"] == len(PAST) - 1
        for outside in ("../..", "link", "../../elsewhere", str(tmp_path / "elsewhere"), "../docs/../.."):
            assert "Server started" in served.refusal("search_git_history", repo=outside, file=PARSER)


def test_a_commit_is_told_at_once(tmp_path: Path) -> None:
    work = tmp_path / "work"
    lay_out(work)
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        assert len(served.ask("search_git_history", repo=".", file="README.md")["commits"]) == 1
        wait_for_history(served)
        (work / "README.md").write_text("# Quay\n")
        run(work, "commit", "-qam", "Rename the harbour")
        found = served.ask("search_git_history", repo=".", file="README.md")
        assert [it["message"] for it in found["commits"]] == ["Rename the harbour", TITLES[0]]
        run(work, "reset", "-q", "--hard", "HEAD~1")
        found = served.ask("search_git_history", repo=".", file="README.md")
        assert [it["message"] for it in found["commits"]] == [TITLES[0]]


def test_histories_that_are_not_indexed_are_asked_of_git(tmp_path: Path) -> None:
    lay_out(tmp_path / "work")
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch", DOWSE_GIT="false") as served:
        found = served.ask("search_git_history", repo=".", file=PARSER)
        assert len(found["commits"]) == 4
        assert found["summary"]["source"] == "git"
        assert found["summary"]["sourceReason"] == "histories are not indexed (git = false)"


def test_an_index_of_the_newest_commits_only_says_so(tmp_path: Path) -> None:
    lay_out(tmp_path / "work")
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "codesearch", DOWSE_MAX_COMMITS="2") as served:
        wait_for_history(served)
        found = served.ask("search_git_history", repo=".", file="docs")
        assert found["summary"]["sourceReason"].startswith("only the newest 2 commits are indexed")
        assert served.ask("search_git_history", repo=".", file=PARSER, noCache=True)["summary"]["totalCommits"] == 4


def test_info_tells_the_history(past: Served) -> None:
    (told,) = [it for it in past.ask("search_info")["indexes"] if it["type"] == "git-history"]
    assert (told["root"], told["commits"]) == (str(past.folder / ".git"), len(PAST))


def test_lines_that_are_not_committed_yet(tmp_path: Path) -> None:
    work = tmp_path / "work"
    first, *_ = repository(work, [Made("make", {"a.txt": "one\ntwo\nthree\n"})])
    (work / "a.txt").write_bytes(b"zero\r\none\r\n2\r\nthree\r\n")
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        rows = served.ask("search_git_blame", repo=".", file="a.txt", startLine=1, endLine=9)["lines"]
        nobody = "0" * 40
        assert [(it["content"], it["hash"]) for it in rows] == [
            ("zero", nobody),
            ("one", first),
            ("2", nobody),
            ("three", first),
        ]


def test_broken_repositories_are_told_in_one_line(tmp_path: Path) -> None:
    work = tmp_path / "work"
    repository(work / "torn", [Made("make", {"a.txt": "one\n"}), Made("edit", {"a.txt": "two\n"})])
    (work / "lost").mkdir()
    (work / "lost" / ".git").write_text("gitdir: /nowhere/at/all\n")
    with serving(work, "dowse", "mcp", "--profile", "codesearch") as served:
        assert "is not in a git repository" in served.refusal("search_git_history", repo="lost", file="a.txt")
        shutil.rmtree(work / "torn" / ".git" / "objects")
        (work / "torn" / ".git" / "objects").mkdir()
        for tool, arguments in (
            ("search_git_history", {"file": "a.txt", "noCache": True}),
            ("search_git_activity", {"noCache": True}),
            ("search_git_blame", {"file": "a.txt", "startLine": 1}),
        ):
            result = served.call(tool, repo="torn", **arguments)
            assert "failed unexpectedly" not in text_of(result)
        assert "git could not read" in served.refusal("search_git_history", repo="torn", file="a.txt", noCache=True)
        assert served.ask("search_branch_status", repo="torn")["behindMain"] is None
