"""The core profile's exact tools over MCP, in process, with the official client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client import Client
from mcp_types import CallToolResult

from dowse.server.mcp import make_server
from dowse.server.runtime import ServerRuntime, make_profile
from support import write

REPO = """\
class Repo:
    def save(self, item):
        return store(item)


def store(item):
    return item
"""
SERVICE = """\
from repo import Repo


class Service:
    def __init__(self, repo: Repo):
        self.repo = repo

    def keep(self, item):
        return self.repo.save(item)


def main():
    Service(Repo()).keep(1)
    unknown.keep(2)
"""
Call = Callable[..., CallToolResult]


@pytest.fixture
def call(root: Path, tmp_path: Path) -> Iterator[Call]:
    many = "".join(f"needle number {number}\n" for number in range(2_000))
    write(root, {"repo.py": REPO, "service.py": SERVICE, "many.txt": many, "long.js": f"var needle = '{'x' * 5000}'\n"})
    server_runtime = ServerRuntime()
    environment = {"DOWSE_DATA_DIR": str(tmp_path / "data"), "DOWSE_ENCODER": "hashing"}
    profile = make_profile("core", roots=(), flags={}, environment=environment, cwd=root, server_runtime=server_runtime)

    def call_it(tool: str, /, **arguments: Any) -> CallToolResult:
        async def talk() -> CallToolResult:
            async with Client(make_server(profile)) as client:
                return await client.call_tool(tool, arguments)

        return anyio.run(talk)

    call_it("index")
    yield call_it
    server_runtime.close()


def dumped(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def text(result: CallToolResult) -> str:
    return result.content[0].text  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"pattern": r"def \w+\(self, item"}, {"repo.py": [2], "service.py": [8]}),
        ({"pattern": "save", "mode": "word"}, {"repo.py": [2], "service.py": [9]}),
        ({"pattern": "repo.sav", "mode": "substring"}, {"service.py": [9]}),
        ({"pattern": "class service", "mode": "phrase"}, {"service.py": [4]}),
        ({"pattern": "CLASS", "case_sensitive": True}, {}),
        ({"pattern": "item", "mode": "word", "all_of": ["keep"]}, {"service.py": [8, 9, 13, 14]}),
        ({"pattern": "class", "not_paths": ["service*"]}, {"repo.py": [1]}),
        ({"pattern": "class", "paths": ["service*"]}, {"service.py": [4]}),
    ],
)
def test_grep(call: Call, arguments: dict[str, Any], lines: dict[str, list[int]]) -> None:
    found = call("grep", **arguments).structured_content
    assert {it["path"]: [int(line) for line in it["lines"]] for it in found["files"]} == lines


def test_grep_shows_lines_with_their_surroundings(call: Call) -> None:
    shown = text(call("grep", pattern="save", paths=["repo.py"], context=1))
    assert "repo.py\n1┆class Repo:\n2│    def save(self, item):\n3┆        return store(item)\n" in shown
    assert shown.startswith("1 match in 1 file\n")
    assert text(call("grep", pattern="nowhere")) == "no matches\n4 of 4 files indexed\n"


def test_grep_keeps_to_its_budget_and_counts_everything(call: Call) -> None:
    result = call("grep", pattern="needle", budget_tokens=100)
    found = result.structured_content
    assert (found["total_files"], found["total_occurrences"]) == (2, 2_001)
    assert len(text(result)) <= 400 and len(dumped(found)) <= 400
    (many,) = (it for it in found["files"] if it["path"] == "many.txt")
    assert many["more_lines"] == 2_000 - len(many["lines"])
    assert f"{many['more_lines']:,} more lines (raise `budget_tokens`" in text(result)
    long = call("grep", pattern="needle", paths=["long.js"]).structured_content["files"][0]["lines"]["1"]
    assert len(long) == 301 and "needle" in long
    far = call("grep", pattern="x'$", paths=["long.js"]).structured_content["files"][0]["lines"]["1"]
    assert far.startswith("…") and far.endswith("x'")


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"name": "sav"}, ["save"]),
        ({"name": "Repo,main", "exact": True}, ["Repo", "main", "repo"]),
        ({"kinds": ["class"]}, ["Repo", "Service"]),
        ({"parent": "Service", "kinds": ["method"]}, ["keep"]),
        ({"at": "service.py:9"}, ["keep", "Service"]),
        ({"base": "Repo"}, []),
    ],
)
def test_symbols(call: Call, arguments: dict[str, Any], names: list[str]) -> None:
    found = call("symbols", **arguments).structured_content
    assert [it["name"] for it in found["definitions"]] == names


def test_symbols_with_their_source(call: Call) -> None:
    shown = text(call("symbols", name="save", body=True))
    assert "repo.py:2-3  method Repo > save" in shown
    assert "return store(item)" in shown


def test_calls_up_and_down(call: Call) -> None:
    up = text(call("calls", name="Repo.save"))
    assert up.splitlines()[:3] == ["Repo.save  repo.py:2", "  Service.keep  service.py:9", "    main  service.py:13"]
    down = call("calls", name="service.py:8", direction="callees").structured_content
    assert [it["name"] for it in down["callees"]] == ["Repo.save"]
    assert [it["name"] for it in down["callees"][0]["callees"]] == ["store"]
    assert "1 unresolved calls (`unresolved` lists them)" in text(call("calls", name="main", direction="callees"))
    assert "unknown.keep" in text(call("calls", name="main", direction="callees", unresolved=True))
    none = text(call("calls", name="nowhere"))
    assert none == "no function or class named 'nowhere' (4 of 4 files indexed)\n"


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("grep", {"pattern": ""}),
        ("grep", {"pattern": "(a"}),
        ("grep", {"pattern": r"(a)\1"}),
        ("grep", {"pattern": "a", "limit": 0}),
        ("grep", {"pattern": "a", "mode": "fuzzy"}),
        ("grep", {"pattern": "a", "context": 51}),
        ("grep", {}),
        ("symbols", {"kinds": ["nonsense"]}),
        ("symbols", {"at": "service.py"}),
        ("symbols", {"at": "nowhere.py:1"}),
        ("symbols", {"limit": 10**9}),
        ("calls", {"name": "main", "depth": 10**6}),
        ("calls", {"name": "main", "direction": "sideways"}),
        ("calls", {"name": "main", "unheard_of": 1}),
        ("calls", {"name": ""}),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call: Call, tool: str, arguments: dict[str, Any]) -> None:
    result = call(tool, **arguments)
    assert result.is_error
    assert 0 < len(text(result)) < 600 and "\n" not in text(result) and "Traceback" not in text(result)
