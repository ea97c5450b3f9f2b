"""`search_git_history` of the ragdocs contract over the wire: the text, every parameter, both spellings."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from git_repository import BEN, DAY_S, PAST, TITLES, lay_out
from ragdocs_server import text
from rifflux_server import JOB_DEADLINE_S, Served, run_script, serving

from imported import START, Made, repository

TOOL = "search_git_history"
PARAMETERS = [
    "query", "top_n", "min_score", "file_pattern", "author", "after", "before", "files_glob", "after_timestamp",
    "before_timestamp", "include_diff", "project_filter", "project_context",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("commits") / "harbour"


@pytest.fixture(scope="module")
def hashes(folder: Path) -> list[str]:
    return lay_out(folder)


@pytest.fixture(scope="module")
def commits(folder: Path, hashes: list[str]) -> Iterator[Served]:
    with serving(folder, "dowse", "mcp", "--profile", "ragdocs", DOWSE_ENCODER="hashing") as served:
        wait_for_commits(served, len(PAST))
        yield served


def wait_for_commits(served: Served, count: int) -> None:
    deadline = time.monotonic() + JOB_DEADLINE_S
    while f"**Total Commits Indexed:** {count}\n" not in text(served, TOOL, query="anything"):
        assert time.monotonic() < deadline, "the history was not indexed"
        time.sleep(0.05)


def titles(served: Served, query: str, **arguments: Any) -> list[str]:
    found = text(served, TOOL, query=query, **{"top_n": 100, **arguments})
    shown = re.findall(r"^## \d+\. (.*)$", found, re.MULTILINE)
    assert f"**Results Returned:** {len(shown)}\n" in found + "\n"
    return shown


def test_the_text(commits: Served, hashes: list[str]) -> None:
    found = text(commits, TOOL, query="neaps  springs", top_n=1)
    assert found == "\n".join(
        [
            "# Git History Search Results",
            "",
            "**Query:** neaps springs",
            "**Total Commits Indexed:** 5",
            "**Results Returned:** 1",
            "",
            "## 1. fix: tides",
            "",
            f"**Commit:** `{hashes[4][:8]}`",
            "**Author:** Ben Ölander <ben@example.org>",
            "**Date:** 2023-11-18 22:13:20 UTC",
            "**Score:** 0.690",
            "",
            "### Message",
            "",
            "Neaps were springs.",
            "",
            "### Files Changed (2)",
            "",
            "- `docs/tides.md`",
            "- `src/reading/parser.py`",
            "",
            "### Delta (truncated)",
            "",
            "```diff",
            *re.search(r"```diff\n(.*?)\n```", found, re.DOTALL)[1].split("\n"),  # type: ignore[index]
            "```",
            "",
            "---",
        ]
    )
    assert "diff --git a/docs/tides.md b/docs/tides.md" in found
    assert "+tide = 'neap'" in found


def test_without_what_changed(commits: Served) -> None:
    found = text(commits, TOOL, query="neaps", top_n=1, include_diff=False)
    assert "Neaps were springs." in found
    assert "diff" not in found


def test_what_a_commit_changed_is_found_too(commits: Served) -> None:
    assert titles(commits, "berth ferries")[0] == TITLES[3]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"author": "ben"}, {1, 4}),
        ({"author": "ANN@"}, {0, 2, 3}),
        ({"author": "nobody"}, set()),
        ({"file_pattern": "*.md"}, {0, 3, 4}),
        ({"files_glob": "docs/**"}, {3, 4}),
        ({"file_pattern": "docs", "files_glob": "docs"}, {3, 4}),
        ({"file_pattern": "*.py", "author": "ben"}, {1, 4}),
        ({"after": START + 3 * DAY_S}, {3, 4}),
        ({"after_timestamp": START + 4 * DAY_S}, {4}),
        ({"before": START}, {0}),
        ({"before_timestamp": START + DAY_S}, {0, 1}),
        ({"after": START + DAY_S, "before_timestamp": START + 2 * DAY_S}, {1, 2}),
        ({"after": START, "after_timestamp": START, "before": START}, {0}),
        ({"project_filter": ["harbour"]}, {0, 1, 2, 3, 4}),
        ({"project_context": "harbour"}, {0, 1, 2, 3, 4}),
    ],
)
def test_filters_come_before_ranking(commits: Served, arguments: dict[str, Any], expected: set[int]) -> None:
    """Every commit has one of the words, so that only the filters leave any out."""
    query = "parser tides berths ann ben"
    assert set(titles(commits, query, **arguments)) == {TITLES[it] for it in expected}
    if expected:
        assert len(titles(commits, query, **arguments, top_n=1)) == 1


def test_scores_are_confidences_and_fall_to_the_least(commits: Served) -> None:
    def scores(**arguments: Any) -> list[float]:
        found = text(commits, TOOL, query="parser tides", top_n=100, **arguments)
        return [float(it) for it in re.findall(r"^\*\*Score:\*\* (\d\.\d{3})$", found, re.MULTILINE)]

    every = scores()
    assert 0.3 < every[0] < 1
    assert every == sorted(every, reverse=True)
    assert len(every) > 1
    least = (every[0] + every[-1]) / 2
    assert scores(min_score=least) == [it for it in every if it >= least]
    assert scores(min_score=1.0) == []


def test_the_schema(commits: Served) -> None:
    schema = commits.tools()[TOOL].input_schema
    assert list(schema["properties"]) == PARAMETERS
    assert schema["required"] == ["query"]
    assert (schema["properties"]["top_n"]["default"], schema["properties"]["min_score"]["default"]) == (5, 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "query"),
        ({"query": " "}, "empty"),
        ({"query": "x", "top_n": 0}, "top_n"),
        ({"query": "x", "top_n": 101}, "top_n"),
        ({"query": "x", "top_n": "5"}, "top_n"),
        ({"query": "x", "min_score": 1.5}, "min_score"),
        ({"query": "x", "file_pattern": "a", "files_glob": "b"}, "file_pattern and files_glob"),
        ({"query": "x", "after": 1, "after_timestamp": 2}, "after and after_timestamp"),
        ({"query": "x", "before": 1, "before_timestamp": 2}, "before and before_timestamp"),
        ({"query": "x", "after": 10, "before": 5}, "swap them"),
        ({"query": "x", "after": 10**30}, "after"),
        ({"query": "x", "after": -1}, "after"),
        ({"query": "x", "after": "yesterday"}, "after"),
        ({"query": "x", "file_pattern": "[a"}, "invalid glob"),
        ({"query": "x", "file_pattern": "../x"}, "invalid glob"),
        ({"query": "x", "file_pattern": "{" * 300}, "invalid glob"),
        ({"query": "x", "project_filter": ["nowhere"]}, "choose one of: harbour"),
        ({"query": "x", "repo": "."}, "unknown parameter 'repo'"),
    ],
)
def test_bad_input(commits: Served, arguments: dict[str, Any], words: str) -> None:
    assert words in commits.refusal(TOOL, **arguments)


@pytest.mark.parametrize("query", ["--all", '"', "a" * 10_000, "\\ud800", "'; DROP TABLE records", "NEAR("])
def test_odd_questions_are_just_words(commits: Served, query: str) -> None:
    assert text(commits, TOOL, query=query).startswith("# Git History Search Results")


def test_many_files_and_a_long_delta_are_cut(tmp_path: Path) -> None:
    files: dict[str, str | None] = {f"f{number:02}.txt": f"galley {number}\n" * 20 for number in range(13)}
    repository(tmp_path / "work", [Made("Many", files, author=BEN)])
    with serving(tmp_path / "work", "dowse", "mcp", "--profile", "ragdocs", DOWSE_ENCODER="hashing") as served:
        wait_for_commits(served, 1)
        found = text(served, TOOL, query="galley")
        assert "### Files Changed (13)\n\n- `f00.txt`" in found
        assert "- `f09.txt`\n- ... and 3 more\n" in found
        delta = re.search(r"```diff\n(.*?)\n```", found, re.DOTALL)
        assert delta is not None
        assert delta[1].endswith("\n... (truncated for display)")
        assert len(delta[1]) < 1100


def test_no_repository_and_an_empty_one(tmp_path: Path) -> None:
    repository(tmp_path / "empty", [])
    (tmp_path / "none").mkdir()
    for name in ("empty", "none"):
        with serving(tmp_path / name, "dowse", "mcp", "--profile", "ragdocs", DOWSE_ENCODER="hashing") as served:
            found = text(served, TOOL, query="anything")
            assert "**Total Commits Indexed:** 0\n**Results Returned:** 0\n\n0 hits" in found


def test_the_command_line(folder: Path, commits: Served) -> None:
    done = run_script(
        "mcp-markdown-ragdocs", "search-commits", "neaps", "--top-n", "1", folder=folder, DOWSE_ENCODER="hashing"
    )
    assert done.stdout.startswith("# Git History Search Results\n\n**Query:** neaps\n")
    assert "## 1. fix: tides\n" in done.stdout
