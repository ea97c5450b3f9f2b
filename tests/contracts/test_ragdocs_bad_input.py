"""Whatever a client sends to the ragdocs tools: a clear refusal or an honest answer, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from ragdocs_server import QUERY_TOOLS, documents, page
from rifflux_server import Served

FULL_TOOLS = ("query_documents", "query_unique_documents")
TOOLS = (*QUERY_TOOLS, "search_with_hypothesis")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with documents(tmp_path_factory.mktemp("bad") / "work") as served:
        yield served


@pytest.fixture(autouse=True)
def still_answering(server: Served) -> Iterator[None]:
    """After every test of this module the server must answer as if nothing had happened."""
    yield
    assert page(server, "query_documents", query="lighthouse lamp").paths[0] == "guide/lighthouse.md"


def words(tool: str, text: object) -> dict[str, Any]:
    return {"hypothesis" if tool == "search_with_hypothesis" else "query": text}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"top_n": 0}, "top_n: input should be greater than or equal to 1"),
        ({"top_n": -5}, "top_n: input should be greater than or equal to 1"),
        ({"top_n": 101}, "top_n: input should be less than or equal to 100"),
        ({"top_n": 10**40}, "top_n:"),
        ({"top_n": 2.5}, "top_n: input should be a valid integer"),
        ({"top_n": "5"}, "top_n: input should be a valid integer"),
        ({"top_n": True}, "top_n: input should be a valid integer"),
        ({"top_n": None}, "top_n: input should be a valid integer"),
        ({"top_n": [5]}, "top_n: input should be a valid integer"),
        ({"limit": 5}, "unknown parameter 'limit' (known: "),
        ({"uniqueness": "one"}, "unknown parameter 'uniqueness'"),
        ({"x" * 50_000: 1}, "unknown parameter 'xxx"),
    ],
)
def test_wrong_arguments_are_named(server: Served, tool: str, given: dict[str, Any], problem: str) -> None:
    assert problem in server.refusal(tool, **words(tool, "lamp"), **given)


@pytest.mark.parametrize("tool", QUERY_TOOLS)
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"min_score": -0.01}, "min_score: input should be greater than or equal to 0"),
        ({"min_score": 1.01}, "min_score: input should be less than or equal to 1"),
        ({"min_score": "0.3"}, "min_score: input should be a valid number"),
        ({"min_score": True}, "min_score: input should be a valid number"),
        ({"min_score": None}, "min_score: input should be a valid number"),
        ({"similarity_threshold": 0.49}, "similarity_threshold: input should be greater than or equal to 0.5"),
        ({"similarity_threshold": 1.01}, "similarity_threshold: input should be less than or equal to 1"),
        ({"similarity_threshold": 10**40}, "similarity_threshold: input should be less than or equal to 1"),
        ({"similarity_threshold": "high"}, "similarity_threshold: input should be a valid number"),
    ],
)
def test_wrong_thresholds_are_named(server: Served, tool: str, given: dict[str, Any], problem: str) -> None:
    assert problem in server.refusal(tool, query="lamp", **given)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("query_documents_compressed", {"show_stats": True}),
        ("query_documents_compressed", {"excluded_files": []}),
        ("search_with_hypothesis", {"min_score": 0.3}),
        ("search_with_hypothesis", {"query": "x"}),
    ],
)
def test_parameters_of_other_tools_are_unknown(server: Served, tool: str, given: dict[str, Any]) -> None:
    assert f"unknown parameter '{next(iter(given))}'" in server.refusal(tool, **words(tool, "lamp"), **given)


@pytest.mark.parametrize("tool", FULL_TOOLS)
@pytest.mark.parametrize("given", ["yes", 1, 0, None, []])
def test_show_stats_is_true_or_false(server: Served, tool: str, given: object) -> None:
    assert "show_stats: input should be a valid boolean" in server.refusal(tool, query="lamp", show_stats=given)


@pytest.mark.parametrize("tool", [*FULL_TOOLS, "search_with_hypothesis"])
@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("a.md", "excluded_files: "),
        ({"a": 1}, "excluded_files: "),
        (None, "excluded_files: "),
        ([1], "excluded_files.0: input should be a valid string"),
        ([["a.md"]], "excluded_files.0: input should be a valid string"),
        ([""], "excluded_files: empty entry"),
        ([" \n"], "excluded_files: empty entry"),
        (["."], "excluded_files: '.' matches everything"),
        (["/"], "excluded_files: '/' matches everything"),
        (["guide/.."], "excluded_files: 'guide/..' matches everything"),
        (["x" * 50_000], "is too long for a path"),
        (["x"] * 201, "excluded_files: 201 entries; at most 200 are allowed"),
    ],
)
def test_wrong_exclusions_are_refused(server: Served, tool: str, given: object, problem: str) -> None:
    assert problem in server.refusal(tool, **words(tool, "lamp"), excluded_files=given)


def test_the_root_itself_is_no_file(server: Served) -> None:
    refusal = server.refusal("query_documents", query="lamp", excluded_files=[f"{server.folder}/"])
    assert "matches everything; name files in it" in refusal


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("given", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(server: Served, tool: str, given: str) -> None:
    assert "the query is empty" in server.refusal(tool, **words(tool, given))


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("given", [7, None, ["lamp"], {"lamp": 1}, True])
def test_a_question_is_text(server: Served, tool: str, given: object) -> None:
    assert f"{next(iter(words(tool, '')))}: input should be a valid string" in server.refusal(
        tool, **words(tool, given)
    )
    assert "field required" in server.refusal(tool)


@pytest.mark.parametrize("tool", QUERY_TOOLS)
@pytest.mark.parametrize(
    "query",
    [
        'lighthouse"', '"lighthouse', "lighthouse*", "NEAR(lighthouse", "lighthouse AND", "OR lighthouse",
        "text:lighthouse", "^lighthouse", "(lighthouse", "-lighthouse", "lighthouse\0", "lighthouse'; DROP TABLE x",
        "[[lighthouse]]", "LIGHTHOUSE", "# Notes\n\nlighthouse",
    ],
)  # fmt: skip
def test_search_syntax_is_only_words(server: Served, tool: str, query: str) -> None:
    assert "guide/lighthouse.md" in page(server, tool, query=query).paths
    assert page(server, "search_with_hypothesis", hypothesis=query).results


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("query", ["lighthouse " * 5_000, "x" * 50_000, "🚀" * 50_000])
def test_a_question_of_fifty_thousand_characters(server: Served, tool: str, query: str) -> None:
    answer = page(server, tool, **words(tool, query))
    assert len(answer.results) <= 5
    assert len(answer.notes) < 1000


def test_many_exclusions_are_quick_enough(server: Served) -> None:
    names = [f"guide/name-{number}" for number in range(199)]
    answer = page(server, "query_documents", query="lamp", excluded_files=[*names, "lighthouse"])
    assert "guide/lighthouse.md" not in answer.paths
    assert "guide/lamp.txt" in answer.paths


def test_nothing_was_unexpected(server: Served) -> None:
    """The log of the whole module: a refusal is no accident, so no trace of one may be in it."""
    assert server.errors.read_text(encoding="utf-8") == ""
