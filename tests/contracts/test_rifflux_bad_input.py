"""Whatever a client sends: a clear refusal or an honest answer, and the server goes on."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rifflux_server import Served, serving

from dowse.errors import BadInput
from dowse.tools.rifflux import RIFFLUX_DEFAULTS, resolve_index_location
from support import write


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("bad") / "work"
    write(
        folder,
        {"a.md": "# Alpha\n\nalpha beta — γάμμα عربى 🚀 launch\n", "b.md": "# Beta\n\nbeta only\n", "c.txt": "alpha"},
    )
    os.mkfifo(folder / "pipe.md")
    (folder / "loop.md").symlink_to("loop.md")
    with closing(sqlite3.connect(folder / "foreign.db")) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.commit()
    with serving(folder) as served:
        served.ask("reindex")
        yield served


@pytest.fixture(autouse=True)
def still_answering(server: Served) -> Iterator[None]:
    """After every test of this module the server must answer as if nothing had happened."""
    yield
    assert [row["path"] for row in server.search("launch", mode="lexical")] == ["a.md"]
    assert server.ask("index_status")["files"] == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "query: field required"),
        ({"query": 7}, "query: input should be a valid string"),
        ({"query": None}, "query:"),
        ({"query": ["a"]}, "query:"),
        ({"query": "a", "mode": "fuzzy"}, "mode: input should be 'lexical', 'semantic' or 'hybrid'"),
        ({"query": "a", "mode": None}, "mode:"),
        ({"query": "a", "mode": "Hybrid"}, "mode:"),
        ({"query": "a", "top_k": 0}, "top_k: input should be greater than or equal to 1"),
        ({"query": "a", "top_k": -1}, "top_k: input should be greater than or equal to 1"),
        ({"query": "a", "top_k": 101}, "top_k: input should be less than or equal to 100"),
        ({"query": "a", "top_k": 10**9}, "top_k: input should be less than or equal to 100"),
        ({"query": "a", "top_k": 10**40}, "top_k:"),
        ({"query": "a", "top_k": 1.5}, "top_k: input should be a valid integer"),
        ({"query": "a", "top_k": "ten"}, "top_k: input should be a valid integer"),
        ({"query": "a", "top_k": None}, "top_k: input should be a valid integer"),
        ({"query": "a", "top_k": [3]}, "top_k:"),
        ({"query": "a", "top_k": True}, "top_k: input should be a valid integer"),
        ({"query": "a", "top_k": 0, "mode": "x", "what": 1}, "unknown parameter 'what'"),
        ({"query": "a", "x" * 100_000: 1}, "unknown parameter 'xxx"),
    ],
)
def test_wrong_search_arguments_are_named(server: Served, arguments: dict[str, Any], problem: str) -> None:
    refusal = server.refusal("search_rifflux", **arguments)
    assert problem in refusal
    assert len(refusal) <= 1000


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
@pytest.mark.parametrize(
    "query",
    [
        '"', '"alpha', 'alpha"', "alpha*", "*alpha", "NEAR(alpha", "NEAR(alpha beta, 2)", "alpha AND", "OR alpha",
        "alpha AND NOT", "text:alpha", "^alpha", "alpha)", "(alpha", "-alpha", "+alpha", "{alpha} :", "alpha\0",
        "\0 alpha", "alpha; DROP TABLE chunks", "alpha'--", "alpha\n\r\t", "ALPHA",
    ],
)  # fmt: skip
def test_search_syntax_is_only_words(server: Served, query: str, mode: str) -> None:
    answer = server.ask("search_rifflux", query=query, mode=mode)
    assert answer["query"] == query
    assert [row["path"] for row in answer["results"][:1]] == ([] if query == '"' else ["a.md"])


@pytest.mark.parametrize("query", ["γάμμα", "عربى", "\u202eعربى\u202c", "🚀 launch", "álpha", "ａｌｐｈａ alpha"])
def test_every_script_is_searched(server: Served, query: str) -> None:
    answer = server.ask("search_rifflux", query=query, mode="lexical")
    assert (answer["query"], answer["results"][0]["path"]) == (query, "a.md")


def test_letters_and_their_marks_written_apart(server: Served) -> None:
    assert server.search("a\u0301lpha", mode="lexical")[0]["path"] == "a.md"


@pytest.mark.parametrize("query", ["alpha " * 170_000, "x" * 1_000_000, "🚀" * 250_000])
def test_a_query_of_a_megabyte(server: Served, query: str) -> None:
    answer = server.ask("search_rifflux", query=query, mode="hybrid")
    assert answer["query"] == query
    assert answer["count"] <= 10


@pytest.mark.parametrize(
    "chunk_id", ["", "x", "0" * 17, "../../etc/passwd", "a\0b", "%' OR 1=1 --", "z" * 100_000, "🚀"]
)
def test_absurd_chunk_ids_are_null(server: Served, chunk_id: str) -> None:
    assert server.ask("get_chunk", chunk_id=chunk_id) == {"chunk": None}


@pytest.mark.parametrize(
    "path",
    ["", ".", "..", "../../etc/passwd", "/etc/passwd", "a.md\0", "a\0.md", "x" * 100_000, "*.md", "c.txt", "A.MD"],
)
def test_only_indexed_files_are_read(server: Served, path: str) -> None:
    assert server.ask("get_file", path=path) == {"file": None}


@pytest.mark.parametrize("tool", ["get_chunk", "get_file"])
def test_ids_must_be_given_and_be_text(server: Served, tool: str) -> None:
    name = {"get_chunk": "chunk_id", "get_file": "path"}[tool]
    assert f"{name}: field required" in server.refusal(tool)
    assert f"{name}: input should be a valid string" in server.refusal(tool, **{name: 1})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"path": "missing"}, "missing does not exist"),
        ({"path": "missing/../also missing"}, "does not exist"),
        ({"paths": ["a.md", "missing"]}, "missing does not exist"),
        ({"path": "two\nlines"}, "two lines does not exist"),
        ({"path": "c.txt"}, "c.txt does not match the include globs of this index: *.md"),
        ({"path": "pipe.md"}, "pipe.md is neither a directory nor a regular file"),
        ({"path": os.devnull}, "is neither a directory nor a regular file"),
        ({"path": "loop.md"}, "loop.md' cannot be used"),
        ({"path": "a\0b"}, "cannot be used: embedded null"),
        ({"path": "x" * 100_000}, "cannot be used: File name too long"),
        ({"path": "~nobody-of-this-name/x"}, "does not exist"),
        ({"path": "/"}, "/ is too broad to index"),
        ({"path": str(Path.home())}, "is too broad to index"),
        ({"path": 5}, "path: input should be a valid string"),
        ({"paths": "a.md"}, "paths: input should be a valid list"),
        ({"paths": [1]}, "paths.0: input should be a valid string"),
        ({"force": "perhaps"}, "force: input should be a valid boolean"),
        ({"prune_missing": None}, "prune_missing: input should be a valid boolean"),
        ({"background": []}, "background: input should be a valid boolean"),
    ],
)
@pytest.mark.parametrize("background", [False, True])
def test_wrong_locations_are_refused(server: Served, arguments: dict[str, Any], problem: str, background: bool) -> None:
    assert problem in server.refusal("reindex", **{"background": background, **arguments})


def test_a_place_that_may_not_be_entered(tmp_path: Path) -> None:
    """In a child without privileges: whoever runs the tests may be allowed everything."""
    (tmp_path / "closed" / "inner").mkdir(parents=True)
    (tmp_path / "closed").chmod(0)
    context = multiprocessing.get_context("fork")
    receive, send = context.Pipe(duplex=False)

    def ask() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            resolve_index_location("inner", tmp_path / "closed", RIFFLUX_DEFAULTS)
        except BadInput as error:
            send.send(str(error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside the client's thread
        child = context.Process(target=ask)
        child.start()
    child.join(30)
    (tmp_path / "closed").chmod(0o700)
    assert receive.poll() and "cannot be used: Permission denied" in receive.recv()


@pytest.mark.parametrize(
    ("db_path", "problem"),
    [
        (".", "cannot use"),
        ("", "cannot use"),
        ("c.txt", "c.txt is damaged or not an index"),
        ("foreign.db", "foreign.db is an SQLite file, but not a Dowse index"),
        ("missing.db", "there is no index at"),
        ("a.md/x.db", "there is no index at"),
        ("pipe.md", "no usable index"),
        ("a\0b", "db_path 'a\\x00b' cannot be used"),
        ("x" * 100_000, "cannot be used: File name too long"),
        (5, "db_path: input should be a valid string"),
    ],
)
@pytest.mark.parametrize("tool", ["search_rifflux", "index_status"])
def test_wrong_indexes_are_refused(server: Served, tool: str, db_path: object, problem: str) -> None:
    query = {"query": "alpha"} if tool == "search_rifflux" else {}
    before = sorted(server.folder.rglob("*"))
    assert problem in server.refusal(tool, **query, db_path=db_path)
    assert sorted(server.folder.rglob("*")) == before


@pytest.mark.parametrize("name", ["search", "", "SEARCH_RIFFLUX", "reindex_many", "x" * 100_000, "a\nb"])
def test_unknown_tools_are_named(server: Served, name: str) -> None:
    refusal = server.refusal(name)
    assert refusal.startswith("unknown tool")
    assert refusal.endswith("this server has search_rifflux, get_chunk, get_file, index_status, reindex")


def test_nothing_was_unexpected(server: Served) -> None:
    """The log of the whole module: a refusal is no accident, so no trace of one may be in it."""
    assert server.errors.read_text(encoding="utf-8") == ""
