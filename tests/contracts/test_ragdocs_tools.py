"""The query tools of the ragdocs contract: names, parameters, bounds, the exact text, what each parameter does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from ragdocs_server import QUERY_TOOLS, STATS, documents, page, text
from rifflux_server import Served

TOP_N = {"type": "integer", "default": 5, "minimum": 1, "maximum": 100}
MIN_SCORE = {"type": "number", "default": 0.3, "minimum": 0, "maximum": 1}
SIMILARITY = {"type": "number", "default": 0.85, "minimum": 0.5, "maximum": 1}
EXCLUDED = {"type": "array", "default": [], "items": {"type": "string"}}
COMPRESSED = {
    "query": {"type": "string"},
    "top_n": TOP_N,
    "min_score": MIN_SCORE,
    "similarity_threshold": SIMILARITY,
}
QUERY = {**COMPRESSED, "show_stats": {"type": "boolean", "default": False}, "excluded_files": EXCLUDED}
SCHEMAS = {
    "query_documents": QUERY,
    "query_unique_documents": QUERY,
    "query_documents_compressed": COMPRESSED,
    "search_with_hypothesis": {"hypothesis": {"type": "string"}, "top_n": TOP_N, "excluded_files": EXCLUDED},
}


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with documents(tmp_path_factory.mktemp("ragdocs") / "work") as served:
        yield served


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Without any vectors."""
    with documents(tmp_path_factory.mktemp("wordy") / "work", DOWSE_ENCODER="none") as served:
        yield served


# --- what is offered ---


def test_the_tools_their_parameters_defaults_and_bounds(docs: Served) -> None:
    tools = {name: tool for name, tool in docs.tools().items() if name in SCHEMAS}
    assert docs.client.server_info.name == "mcp-markdown-ragdocs"
    for tool in tools.values():
        for parameter in tool.input_schema["properties"].values():
            assert parameter.pop("description")
        assert tool.description
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
    assert {name: tool.input_schema["properties"] for name, tool in tools.items()} == SCHEMAS
    assert {name: tool.input_schema["required"] for name, tool in tools.items()} == {
        name: [next(iter(properties))] for name, properties in SCHEMAS.items()
    }


# --- how answers read ---


def test_the_text_of_an_answer(docs: Served) -> None:
    answer = text(docs, "query_documents", query="why is the tide highest at springs?", top_n=1, min_score=0)
    assert answer == (
        "# Search Results\n\n"
        "[1] tides.md § Tides > Springs (0.69)\n"
        "# Tides\n\n## Springs\n\nAt springs the tide is highest, some days after a new or a full moon."
    )


@pytest.mark.parametrize(
    ("tool", "title"),
    [
        ("query_documents", "# Search Results"),
        ("query_documents_compressed", "# Search Results"),
        ("query_unique_documents", "# Search Results (Unique Documents)"),
    ],
)
def test_results_are_numbered_and_fall_in_score(docs: Served, tool: str, title: str) -> None:
    answer = page(docs, tool, query="how to light the lamp of the harbour")
    assert (answer.title, answer.notes) == (title, "")
    assert [it.rank for it in answer.results] == [*range(1, len(answer.results) + 1)]
    scores = [it.score for it in answer.results]
    assert scores == sorted(scores, reverse=True)
    assert 0.3 <= scores[-1] <= scores[0] < 1


def test_a_document_without_headings_has_no_section(docs: Served) -> None:
    best = page(docs, "query_documents", query="wick burns oil every evening").results[0]
    assert (best.path, best.headings) == ("guide/lamp.txt", "(no section)")


@pytest.mark.parametrize("query", ["berth for dinghies", "example of dinghies", "What is a dinghies berth?"])
def test_looking_something_up_shows_200_characters_of_what_was_found(docs: Served, query: str) -> None:
    found = next(it for it in page(docs, "query_documents", query=query).results if len(it.content) >= 150)
    assert found.content.endswith("...")
    assert 150 < len(found.content) <= 203


@pytest.mark.parametrize("query", ["explain the berth for dinghies", "where do dinghies berth?"])
def test_understanding_needs_whole_passages(docs: Served, query: str) -> None:
    found = page(docs, "query_documents", query=query).results[0]
    assert len(found.content) > 203
    assert not found.content.endswith("...")


def test_a_hypothesis_is_answered_in_whole_passages(docs: Served) -> None:
    answer = page(docs, "search_with_hypothesis", hypothesis="berth of the harbour kept for dinghies")
    assert (answer.title, answer.stats, answer.notes) == ("# HyDE Search Results", "", "")
    assert answer.results[0].path == "guide/harbour.md"
    assert len(answer.results[0].content) > 203


# --- what the parameters do ---


@pytest.mark.parametrize("tool", QUERY_TOOLS)
def test_top_n(docs: Served, tool: str) -> None:
    assert len(page(docs, tool, query="harbour tide lamp", top_n=1).results) == 1
    assert page(docs, tool, query="harbour tide lamp") == page(docs, tool, query="harbour tide lamp", topN=5)


def test_two_passages_of_a_document_at_most_or_one_of_each(docs: Served) -> None:
    query = "harbour berth quay rule"
    several = page(docs, "query_documents", query=query, top_n=10, min_score=0).paths
    unique = page(docs, "query_unique_documents", query=query, top_n=10, min_score=0).paths
    assert several.count("guide/harbour.md") == 2
    assert len(unique) == len(set(unique)) == 5


def test_compressed_is_another_name(docs: Served) -> None:
    arguments = {"query": "moon tide", "top_n": 3, "min_score": 0.4, "similarity_threshold": 0.9}
    assert text(docs, "query_documents_compressed", **arguments) == text(docs, "query_documents", **arguments)


def test_min_score_is_a_confidence(docs: Served) -> None:
    query = "the lamp of the lighthouse"
    every = page(docs, "query_documents", query=query, min_score=0, top_n=50)
    assert any(it.score < 0.3 for it in every.results)
    sure = page(docs, "query_documents", query=query, min_score=0.5, top_n=50)
    assert sure.results
    assert all(it.score >= 0.5 for it in sure.results)
    assert page(docs, "query_documents", query=query, min_score=1).results == []


NONSENSE = "qwxv zzyrk blorptang"


@pytest.mark.parametrize("tool", [*QUERY_TOOLS, "search_with_hypothesis"])
def test_nonsense_finds_nothing(docs: Served, tool: str) -> None:
    name = "hypothesis" if tool == "search_with_hypothesis" else "query"
    assert page(docs, tool, **{name: NONSENSE}).results == []
    if name == "query":
        lax = page(docs, tool, query=NONSENSE, min_score=0)
        assert lax.results
        assert all(it.score < 0.3 for it in lax.results)


def test_only_documents_are_found(docs: Served) -> None:
    for tool in QUERY_TOOLS:
        assert "code.py" not in page(docs, tool, query="def tide(moon) return", min_score=0, top_n=100).paths
    assert "code.py" not in page(docs, "search_with_hypothesis", hypothesis="def tide moon", top_n=100).paths


# --- what was left out ---


def test_stats_only_when_asked_for_or_something_was_left_out(docs: Served) -> None:
    arguments = {"query": "springs moon", "min_score": 0, "similarity_threshold": 1}
    assert page(docs, "query_documents", **arguments).stats == ""
    shown = STATS.fullmatch(page(docs, "query_documents", **arguments, show_stats=True).stats)
    assert shown is not None
    original, least, sure, once, limited, merged = shown.groups()
    assert original == sure == once != "0"
    assert (least, merged) == ("0.0", "0")
    assert 0 < int(limited) < int(once)  # of the harbour, two passages only


def test_stats_of_a_score_filter(docs: Served) -> None:
    shown = STATS.fullmatch(page(docs, "query_documents", query="springs moon", min_score=0.6).stats)
    assert shown is not None
    assert shown[2] == "0.6"
    assert int(shown[1]) > int(shown[3]) >= int(shown[4]) >= 1


def test_stats_of_unique_documents_name_their_limit(docs: Served) -> None:
    answer = page(docs, "query_unique_documents", query="harbour berth", show_stats=True, top_n=10)
    shown = STATS.fullmatch(answer.stats)
    assert shown is not None
    assert int(shown[5]) == len(answer.results) < int(shown[4])


# --- what is excluded ---

TIDES = {"tides.md", "tides/neaps.md"}


@pytest.mark.parametrize(
    ("excluded", "left"),
    [
        ([], TIDES),
        (["tides.md"], {"tides/neaps.md"}),
        (["./tides.md"], {"tides/neaps.md"}),
        (["neaps"], {"tides.md"}),
        (["neaps.md"], {"tides.md"}),
        (["tides/neaps"], {"tides.md"}),
        (["tides/neaps.md"], {"tides.md"}),
        (["tides\\neaps.md"], {"tides.md"}),
        (["tides/../tides.md"], {"tides/neaps.md"}),
        (["tides/"], {"tides.md"}),
        (["tides/*"], {"tides.md"}),
        (["**/*.md"], set()),
        (["tides"], set()),
        (["tides.md", "neaps"], set()),
        (["neaps.txt", "springs", "neap", "tides/tides.md", "guide/neaps.md", "code.py", "TIDES.MD"], TIDES),
        (["../tides.md", "..", "../../etc/passwd", "/etc/passwd", "~", "tides.md\0", "[tides.md", "{tides"], TIDES),
    ],
)
@pytest.mark.parametrize("tool", ["query_documents", "query_unique_documents", "search_with_hypothesis"])
def test_excluded_files(docs: Served, tool: str, excluded: list[str], left: set[str]) -> None:
    words = {"hypothesis" if tool == "search_with_hypothesis" else "query": "tide at neaps and springs moon"}
    assert TIDES & set(page(docs, tool, **words, excluded_files=excluded, top_n=20).paths) == left


def test_excluded_by_an_absolute_path(docs: Served) -> None:
    excluded = [str(docs.folder / "tides.md")]
    assert "tides.md" not in page(docs, "query_documents", query="tide", excluded_files=excluded).paths


def test_what_is_excluded_takes_no_place(docs: Served) -> None:
    first = page(docs, "query_documents", query="tide moon", top_n=1)
    second = page(docs, "query_documents", query="tide moon", top_n=1, excluded_files=first.paths)
    assert second.results
    assert second.paths != first.paths


# --- less than everything ---


@pytest.mark.parametrize("tool", [*QUERY_TOOLS, "search_with_hypothesis"])
def test_answers_without_vectors(wordy: Served, tool: str) -> None:
    """With the defaults, as a newcomer asks: one retriever alone must be enough."""
    words = {"hypothesis" if tool == "search_with_hypothesis" else "query": "the lamp of the lighthouse"}
    answer = page(wordy, tool, **words)
    assert {"guide/lighthouse.md", "guide/lamp.txt"} <= set(answer.paths)
    assert answer.notes == "- semantic: skipped: semantic search is off (encoder = none)"


def test_an_empty_answer_says_what_was_searched(wordy: Served) -> None:
    answer = page(wordy, "query_documents", query="zeppelin")
    assert (answer.results, answer.body, answer.stats) == ([], "0 hits; 6 of 6 files indexed", "")
