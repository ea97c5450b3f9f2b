"""Every tool of every contract on one server, each as on a server of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codesearch_server import wait_until_built
from git_repository import TITLES, lay_out
from ragdocs_server import text
from rifflux_server import Served, serving, text_of

FAMILIES = ("core", "rifflux", "ragdocs", "codesearch")
PARSER = "src/reading/parser.py"


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("all") / "work"
    lay_out(folder)
    with serving(folder, "dowse", "mcp", "--profile", "all", DOWSE_ENCODER="hashing") as served:
        wait_until_built(served)
        served.ask("index")
        yield served


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The tools of each family on a server of its own."""
    found = {}
    for family in FAMILIES:
        folder = tmp_path_factory.mktemp(family) / "work"
        with serving(folder, "dowse", "mcp", "--profile", family, DOWSE_ENCODER="hashing") as served:
            found[family] = served.tools()
    return found


def test_it_has_every_tool_of_every_family(everything: Served, alone: dict[str, dict[str, Any]]) -> None:
    tools = everything.tools()
    assert set(tools) == {name for family in alone.values() for name in family}
    for family in FAMILIES:
        for name, tool in alone[family].items():
            assert tool.description in tools[name].description
            for parameter in tool.input_schema["properties"]:
                assert parameter in tools[name].input_schema["properties"]


def test_only_one_name_is_in_two_families(alone: dict[str, dict[str, Any]]) -> None:
    names = [name for family in alone.values() for name in family]
    assert {it for it in names if names.count(it) > 1} == {"search_git_history"}


def test_the_arguments_say_which_is_meant(everything: Served) -> None:
    of_a_file = everything.ask("search_git_history", repo=".", file=PARSER)
    assert [it["message"] for it in of_a_file["commits"]][:2] == [TITLES[4], TITLES[2]]
    about = text(everything, "search_git_history", query="ferries moor")
    assert about.startswith("# Git History Search Results\n\n**Query:** ferries moor\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"query": "x", "repo": ".", "file": PARSER}, "different tools of this name; give query, or repo and file"),
        ({"query": "x", "file": PARSER}, "belong to different tools of this name"),
        ({}, "a required argument is missing; give query, or repo and file"),
        ({"author": "ann"}, "a required argument is missing"),
        ({"query": "x", "maxResults": 3}, "unknown parameter 'maxResults'"),
        ({"repo": ".", "file": PARSER, "top_n": 3}, "unknown parameter 'top_n'"),
        ({"repo": "."}, "Missing required parameter: file"),
        ({"query": "x", "top_n": 0}, "top_n"),
    ],
)
def test_mixtures_are_refused_by_name(everything: Served, arguments: dict[str, Any], words: str) -> None:
    assert words in everything.refusal("search_git_history", **arguments)


def test_each_family_keeps_its_wording_and_its_form(everything: Served) -> None:
    assert everything.refusal("search_grep") == "Missing required parameter: terms"
    assert everything.refusal("search_rifflux").startswith("search_rifflux: query:")
    assert everything.ask("search_grep", terms="ferries")["summary"]["totalFiles"] == 1
    assert everything.search("ferries")[0]["path"] == "docs/berths.md"
    assert "[1] docs/berths.md § Berths" in text(everything, "query_documents", query="ferries", min_score=0.0)
    (hit, *_) = json.loads(text_of(everything.call("get_file", path="docs/berths.md")))["file"]["chunks"]
    assert "Ferries" in hit["content"]
    result = everything.call("search", query="ferries")
    assert result.structured_content is not None
    assert result.structured_content["hits"][0]["path"] == "docs/berths.md"


@pytest.mark.parametrize("given", [{"path": "{outside}"}, {"paths": [".", "{outside}"]}, {"path": ".."}])
def test_reindex_brings_in_nothing_from_outside_of_the_root(
    everything: Served, tmp_path: Path, given: dict[str, Any]
) -> None:
    """The index is that of the root and answers every family: what is outside has no place in it."""
    (tmp_path / "secret.md").write_text("# The ostrich\n")
    filled = json.loads(json.dumps(given).replace("{outside}", str(tmp_path)))
    assert "is outside" in everything.refusal("reindex", **filled)
    result = everything.call("search", query="ostrich", recipe="lexical")
    assert result.structured_content is not None and result.structured_content["hits"] == []
    assert everything.ask("reindex", path="docs")["skipped_files"] > 0


@pytest.mark.parametrize("tool", ["search_rifflux", "get_chunk", "get_file", "index_status"])
def test_no_other_index_is_read(everything: Served, tmp_path: Path, tool: str) -> None:
    """Another project's index is not opened, whoever may have told the client where it lies."""
    needed = {"search_rifflux": {"query": "x"}, "get_chunk": {"chunk_id": "x"}, "get_file": {"path": "x"}}.get(tool, {})
    assert "leave out db_path" in everything.refusal(tool, **needed, db_path=str(tmp_path / "other.db"))
    own = everything.ask("index_status")["db_path"]
    assert everything.ask("index_status", db_path=own)["files"] > 0


def test_the_instructions_tell_the_families_apart(everything: Served) -> None:
    told = everything.client.instructions or ""
    for name in everything.tools():
        assert told.count(name) >= 1
    for family in ("Rifflux", "mcp-markdown-ragdocs", "search-index"):
        assert family in told


def test_it_serves_one_directory(tmp_path_factory: pytest.TempPathFactory) -> None:
    from rifflux_server import run_script

    folder = tmp_path_factory.mktemp("two") / "work"
    folder.mkdir()
    done = run_script("dowse", "mcp", "--profile", "all", "--root", ".", "--root", "..", folder=folder)
    assert done.returncode == 2
    assert "one directory" in done.stderr
