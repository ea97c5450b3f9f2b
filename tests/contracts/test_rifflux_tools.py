"""What the five tools take and return: schemas, bounds, defaults, exact keys, ids."""

from __future__ import annotations

import hashlib

import pytest
from rifflux_server import Served

STATUS_KEYS = {
    "files", "chunks", "embeddings", "db_path", "embedding_backend", "embedding_model", "index_include_globs",
    "index_exclude_globs", "git_fingerprint", "background_jobs", "file_watcher",
}  # fmt: skip
PARAMETERS = {
    "search_rifflux": {"query", "top_k", "mode", "db_path"},
    "get_chunk": {"chunk_id", "db_path"},
    "get_file": {"path", "db_path"},
    "index_status": {"db_path"},
    "reindex": {"path", "paths", "force", "prune_missing", "background"},
}
REQUIRED = {"search_rifflux": ["query"], "get_chunk": ["chunk_id"], "get_file": ["path"]}


def test_the_tools_and_their_parameters(library: Served) -> None:
    tools = library.tools()
    assert {name: set(tool.input_schema["properties"]) for name, tool in tools.items()} == PARAMETERS
    assert {name: tool.input_schema.get("required", []) for name, tool in tools.items()} == {
        name: REQUIRED.get(name, []) for name in PARAMETERS
    }
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools.values())
    assert all(tool.description and "\n\n" not in tool.description for tool in tools.values())
    assert {name for name, tool in tools.items() if not tool.annotations.read_only_hint} == {"reindex"}


def test_bounds_and_defaults_in_the_schemas(library: Served) -> None:
    tools = library.tools()
    search = tools["search_rifflux"].input_schema["properties"]
    top_k, mode = search["top_k"], search["mode"]
    assert (top_k["type"], top_k["default"], top_k["minimum"], top_k["maximum"]) == ("integer", 10, 1, 100)
    assert (mode["default"], mode["enum"]) == ("hybrid", ["lexical", "semantic", "hybrid"])
    reindex = tools["reindex"].input_schema["properties"]
    assert {name: schema["default"] for name, schema in reindex.items()} == {
        "path": None, "paths": None, "force": False, "prune_missing": True, "background": False,
    }  # fmt: skip


def test_top_k_is_ten_by_default(library: Served) -> None:
    assert library.search("harbour") == library.search("harbour", top_k=10)
    assert len(library.search("harbour")) == 10


@pytest.mark.parametrize("tool", sorted(PARAMETERS))
def test_unknown_parameters_are_named(library: Served, tool: str) -> None:
    required = dict.fromkeys(REQUIRED.get(tool, []), "x")
    refusal = library.refusal(tool, **required, maxHits=3)
    assert "'maxHits'" in refusal
    assert all(name in refusal for name in PARAMETERS[tool])


def test_camel_case_is_taken_for_snake_case(library: Served) -> None:
    assert library.search("harbour", topK=3) == library.search("harbour", top_k=3)


def test_chunk_ids_come_from_path_and_index(library: Served) -> None:
    rows = library.search("eviction", top_k=100)
    assert {0, 1, 2} <= {row["chunk_index"] for row in rows}
    for row in rows:
        digest = hashlib.sha256(f"{row['path']}::{row['chunk_index']}".encode()).hexdigest()
        assert row["chunk_id"] == digest[:16]


def test_get_chunk(library: Served) -> None:
    row = library.search("hits misses published", top_k=1)[0]
    answer = library.ask("get_chunk", chunk_id=row["chunk_id"])
    assert answer.keys() == {"chunk"}
    assert answer["chunk"].keys() == {"chunk_id", "path", "heading_path", "chunk_index", "content"}
    assert answer["chunk"]["heading_path"] == "Cache > Metrics"
    assert library.ask("get_chunk", chunk_id="0" * 16) == {"chunk": None}


def test_get_file(library: Served) -> None:
    answer = library.ask("get_file", path="guide/cache.md")
    assert answer.keys() == {"file"}
    assert answer["file"].keys() == {"path", "chunks"}
    chunks = answer["file"]["chunks"]
    assert all(chunk.keys() == {"chunk_id", "heading_path", "chunk_index", "content"} for chunk in chunks)
    assert [chunk["chunk_index"] for chunk in chunks] == list(range(len(chunks)))
    assert [chunk["heading_path"] for chunk in chunks] == ["Cache", "Cache > Eviction", "Cache > Metrics"]
    fenced = chunks[1]["content"]
    assert fenced.count("```") == 2
    assert library.ask("get_file", path="guide/none.md") == {"file": None}


def test_index_status(library: Served) -> None:
    status = library.ask("index_status")
    assert status.keys() == STATUS_KEYS
    assert (status["files"], status["chunks"], status["embeddings"]) == (32, 35, 35)
    assert (status["embedding_backend"], status["embedding_model"]) == ("hash", "hash-384")
    assert status["index_include_globs"] == ["*.md"]
    assert status["index_exclude_globs"] == [
        ".git/*", ".venv/*", "**/__pycache__/*", "**/.pytest_cache/*", "**/.ruff_cache/*", "**/node_modules/*",
    ]  # fmt: skip
    assert (status["git_fingerprint"], status["background_jobs"]) == (None, [])
    assert status["file_watcher"] == {"enabled": False}


def test_another_index_by_its_path(library: Served, vectorless: Served) -> None:
    other = vectorless.ask("index_status")["db_path"]
    assert library.ask("index_status", db_path=other)["db_path"] == other
    assert library.ask("index_status", db_path=other)["embeddings"] == 0
    row = library.search("galley", mode="lexical", top_k=1, db_path=other)[0]
    assert library.ask("get_chunk", chunk_id=row["chunk_id"], db_path=other)["chunk"] is not None
    assert library.ask("get_file", path=row["path"], db_path=other)["file"] is not None
