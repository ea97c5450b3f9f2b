"""What the tools of the code search contract take: names, parameters, defaults, bounds, choices, and their refusals."""

from __future__ import annotations

from typing import Any

import pytest
from codesearch_server import KINDS, SORTS
from rifflux_server import Served

# The contract: every parameter with its default; "required" where there is none.
REQUIRED = "required"
PARAMETERS: dict[str, dict[str, Any]] = {
    "search_grep": {
        "terms": REQUIRED, "dir": "", "ext": "", "mode": "or", "regex": False, "phrase": False, "substring": None,
        "showLines": False, "contextLines": 0, "maxResults": 50, "excludeDir": [], "exclude": [], "countOnly": False,
    },
    "search_find": {
        "pattern": REQUIRED, "dir": "", "ext": "", "contents": False, "regex": False, "ignoreCase": False,
        "maxDepth": 0, "countOnly": False,
    },
    "search_fast": {
        "pattern": REQUIRED, "dir": "", "ext": "", "regex": False, "ignoreCase": False, "dirsOnly": False,
        "filesOnly": False, "countOnly": False,
    },
    "search_info": {},
    "search_reindex": {"dir": "", "ext": ""},
    "search_definitions": {
        "name": "", "kind": "", "attribute": "", "baseType": "", "file": "", "parent": "", "containsLine": None,
        "regex": False, "maxResults": 100, "excludeDir": [], "includeBody": False, "maxBodyLines": 100,
        "maxTotalBodyLines": 500, "audit": False, "auditMinBytes": 500, "includeCodeStats": False, "sortBy": "",
        "minComplexity": None, "minCognitive": None, "minNesting": None, "minParams": None, "minReturns": None,
        "minCalls": None,
    },
    "search_callers": {
        "method": REQUIRED, "class": "", "direction": "up", "depth": 3, "ext": "", "excludeDir": [], "excludeFile": [],
        "maxCallersPerLevel": 10, "maxTotalNodes": 200, "resolveInterfaces": True,
    },
    "search_reindex_definitions": {"dir": "", "ext": ""},
    "search_help": {},
    "search_git_history": {
        "repo": REQUIRED, "file": REQUIRED, "from": "", "to": "", "date": "", "maxResults": 50, "author": "",
        "message": "", "noCache": False,
    },
    "search_git_diff": {
        "repo": REQUIRED, "file": REQUIRED, "from": "", "to": "", "date": "", "maxResults": 50, "author": "",
        "message": "",
    },
    "search_git_authors": {
        "repo": REQUIRED, "path": "", "file": "", "from": "", "to": "", "top": 10, "message": "", "noCache": False,
    },
    "search_git_activity": {
        "repo": REQUIRED, "from": "", "to": "", "date": "", "author": "", "message": "", "noCache": False,
    },
    "search_git_blame": {"repo": REQUIRED, "file": REQUIRED, "startLine": REQUIRED, "endLine": None},
    "search_branch_status": {"repo": REQUIRED},
}  # fmt: skip
EACH = [
    pytest.param(tool, name, default, id=f"{tool}-{name}")
    for tool, parameters in PARAMETERS.items()
    for name, default in parameters.items()
]


@pytest.fixture(scope="module")
def schemas(code: Served) -> dict[str, dict[str, Any]]:
    return {name: tool.input_schema for name, tool in code.tools().items()}


def test_these_tools_and_no_others(code: Served) -> None:
    tools = code.tools()
    assert list(tools) == list(PARAMETERS)
    assert all(tool.description for tool in tools.values())
    writing = {name for name, tool in tools.items() if not tool.annotations.read_only_hint}
    assert writing == {"search_reindex", "search_reindex_definitions"}


def test_no_tool_has_other_parameters(schemas: dict[str, dict[str, Any]]) -> None:
    assert {name: list(schema["properties"]) for name, schema in schemas.items()} == {
        name: list(parameters) for name, parameters in PARAMETERS.items()
    }
    assert all(schema["additionalProperties"] is False for schema in schemas.values())


@pytest.mark.parametrize(("tool", "name", "default"), EACH)
def test_every_parameter_has_its_default(
    schemas: dict[str, dict[str, Any]], tool: str, name: str, default: object
) -> None:
    schema = schemas[tool]
    assert (name in schema.get("required", [])) == (default == REQUIRED)
    assert schema["properties"][name].get("default", REQUIRED) == default
    assert schema["properties"][name]["description"]


@pytest.mark.parametrize(
    ("tool", "name", "choices"),
    [
        ("search_grep", "mode", ["or", "and"]),
        ("search_definitions", "kind", KINDS),
        ("search_definitions", "sortBy", SORTS),
        ("search_callers", "direction", ["up", "down"]),
    ],
)
def test_choices_are_in_the_schema(
    schemas: dict[str, dict[str, Any]], tool: str, name: str, choices: list[str]
) -> None:
    assert schemas[tool]["properties"][name]["enum"] == choices


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("search_grep", "terms"),
        ("search_find", "pattern"),
        ("search_fast", "pattern"),
        ("search_callers", "method"),
        ("search_git_authors", "repo"),
        ("search_git_activity", "repo"),
        ("search_branch_status", "repo"),
    ],
)
def test_what_is_required_is_named_when_it_is_missing(code: Served, tool: str, name: str) -> None:
    assert code.refusal(tool) == f"Missing required parameter: {name}"


@pytest.mark.parametrize("tool", PARAMETERS)
def test_unknown_parameters_are_named(code: Served, tool: str) -> None:
    required: dict[str, Any] = {name: "x" for name, default in PARAMETERS[tool].items() if default == REQUIRED}
    required |= {"startLine": 1} if "startLine" in required else {}
    refusal = code.refusal(tool, **required, maxHits=3)
    assert refusal.startswith("unknown parameter 'maxHits' (known: ")
    assert all(name in refusal for name in PARAMETERS[tool])


def test_a_misspelt_required_parameter_is_told_both_ways(code: Served) -> None:
    refusal = code.refusal("search_grep", term="x")
    assert "Missing required parameter: terms" in refusal
    assert "unknown parameter 'term'" in refusal


@pytest.mark.parametrize("name", ["search_commits", "grep", "", "SEARCH_GREP"])
def test_unknown_tools_are_named(code: Served, name: str) -> None:
    assert code.refusal(name) == f"Unknown tool: {name}".strip()


def test_snake_case_is_taken_for_camel_case(code: Served) -> None:
    answer = code.ask("search_grep", terms="order", max_results=2, count_only=False)
    assert len(answer["files"]) == 2
    assert answer["summary"]["totalFiles"] > 2


def test_the_server_says_what_it_is_for(code: Served) -> None:
    assert code.client.server_info.name == "search-index"
    assert "`search_definitions`" in code.client.instructions
