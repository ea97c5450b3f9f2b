"""Whatever a client sends to a code search server: a clear refusal or an honest answer, and the server goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from codesearch_server import grep, names
from rifflux_server import Served

OUTSIDE = "Server started with --dir "
BOMBS = ["(a+)+$", "(a|aa)+$", "(.*)*x", "((a*)*)*b", "(x+x+)+y", "a{1,1000}{1,1000}"]


@pytest.fixture(autouse=True)
def still_answering(code: Served) -> Iterator[None]:
    """After every test of this module the server must answer as if nothing had happened."""
    yield
    assert names(grep(code, "PAGE_SIZE")["files"]) == ["orders.ts"]


WRONG = [
    ("search_grep", {"terms": 7}, "terms:"),
    ("search_grep", {"terms": None}, "terms:"),
    ("search_grep", {"terms": ["a"]}, "terms:"),
    ("search_grep", {"terms": "a", "mode": "xor"}, "Invalid mode: 'xor'. Valid values: or, and"),
    ("search_grep", {"terms": "a", "maxResults": -1}, "maxResults: input should be greater than or equal to 0"),
    ("search_grep", {"terms": "a", "maxResults": 10**40}, "maxResults:"),
    ("search_grep", {"terms": "a", "maxResults": 1.5}, "maxResults:"),
    ("search_grep", {"terms": "a", "contextLines": -1}, "contextLines:"),
    ("search_grep", {"terms": "a", "contextLines": 10**9}, "contextLines:"),
    ("search_grep", {"terms": "a", "regex": "perhaps"}, "regex:"),
    ("search_grep", {"terms": "a", "regex": True, "phrase": True}, "regex is mutually exclusive with phrase"),
    ("search_grep", {"terms": "a", "excludeDir": "bin"}, "excludeDir:"),
    ("search_grep", {"terms": "a", "exclude": [1]}, "exclude.0:"),
    ("search_grep", {"terms": "a", "ext": 3}, "ext:"),
    ("search_grep", {"terms": "(", "regex": True}, "("),
    ("search_grep", {"terms": r"(a)\1", "regex": True}, r"\1"),
    ("search_grep", {"terms": "(?=a)", "regex": True}, "(?="),
    ("search_find", {"pattern": "(", "regex": True}, "("),
    ("search_find", {"pattern": "(", "regex": True, "contents": True}, "("),
    ("search_find", {"pattern": "a", "maxDepth": -1}, "maxDepth:"),
    ("search_fast", {"pattern": "(", "regex": True}, "("),
    ("search_fast", {"pattern": ["a"]}, "pattern:"),
    ("search_definitions", {"containsLine": "seven", "file": "a"}, "containsLine:"),
    ("search_definitions", {"maxBodyLines": -1}, "maxBodyLines:"),
    ("search_definitions", {"maxTotalBodyLines": -1}, "maxTotalBodyLines:"),
    ("search_definitions", {"auditMinBytes": -1, "audit": True}, "auditMinBytes:"),
    ("search_definitions", {"name": ["a"]}, "name:"),
    ("search_callers", {"method": "a", "depth": "deep"}, "depth:"),
    ("search_callers", {"method": "a", "resolveInterfaces": None}, "resolveInterfaces:"),
    ("search_info", {"verbose": True}, "unknown parameter 'verbose'"),
    ("search_grep", {"terms": "a", "x" * 100_000: 1}, "unknown parameter 'xxx"),
]


@pytest.mark.parametrize(("tool", "arguments", "problem"), WRONG)
def test_wrong_arguments_are_named(code: Served, tool: str, arguments: dict[str, Any], problem: str) -> None:
    refusal = code.refusal(tool, **arguments)
    assert problem in refusal
    assert len(refusal) <= 1000


# --- the directory is a jail ---

TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("search_grep", {"terms": "order"}),
    ("search_find", {"pattern": "order"}),
    ("search_fast", {"pattern": "order"}),
    ("search_reindex", {}),
    ("search_reindex_definitions", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), TOOLS, ids=[tool for tool, _ in TOOLS])
@pytest.mark.parametrize(
    "directory", ["..", "/", "/etc", "src/../..", "src/../../work-data", "..\\..", "~", "/work", "link/out"]
)
def test_no_way_out_of_the_directory(code: Served, tool: str, arguments: dict[str, Any], directory: str) -> None:
    link = code.folder / "link"
    link.mkdir()
    (link / "out").symlink_to(Path("/etc"))
    try:
        refusal = code.refusal(tool, dir=directory, **arguments)
    finally:
        (link / "out").unlink()
        link.rmdir()
    expected = "is not a directory below" if directory == "~" else f"{OUTSIDE}{code.folder.as_posix()}"
    assert expected in refusal


@pytest.mark.parametrize(
    ("directory", "problem"),
    [
        ("missing", "is not a directory below"),
        ("src/Orders/Order.cs", "is not a directory below"),
        ("a\0b", "cannot be used"),
        ("x" * 100_000, "cannot be used"),
        ("src\nsrc", "is not a directory below"),
    ],
)
@pytest.mark.parametrize("tool", ["search_grep", "search_reindex"])
def test_wrong_directories(code: Served, tool: str, directory: str, problem: str) -> None:
    terms = {"terms": "order"} if tool == "search_grep" else {}
    assert problem in code.refusal(tool, dir=directory, **terms)


@pytest.mark.parametrize("file", ["../../etc/passwd", "/etc/passwd", "..", "a\0b", "%", "_", "*", "x" * 100_000])
def test_only_indexed_files_have_definitions(code: Served, file: str) -> None:
    assert code.ask("search_definitions", file=file)["definitions"] == []
    assert code.ask("search_definitions", file=file, containsLine=1)["containingDefinitions"] == []


# --- texts that are no ordinary names ---

ODD = [
    "\0",
    "a\0b",
    "'",
    '"',
    "--",
    "%",
    "_%",
    "*",
    "NEAR(a",
    "a AND",
    "💥",
    "ﬃ",
    "\u202e",
    "Ω",
    "\\",
    "a\tb",
]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("search_grep", "terms"),
        ("search_fast", "pattern"),
        ("search_find", "pattern"),
        ("search_definitions", "name"),
        ("search_definitions", "attribute"),
        ("search_definitions", "baseType"),
        ("search_definitions", "parent"),
        ("search_callers", "method"),
    ],
)
def test_odd_texts_are_only_texts(code: Served, tool: str, name: str, text: str) -> None:
    answer = code.ask(tool, **{name: text})
    rows = next(value for key, value in answer.items() if isinstance(value, list))
    assert all("passwd" not in str(row) for row in rows)


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ("search_grep", "terms"),
        ("search_definitions", "name"),
        ("search_callers", "method"),
        ("search_callers", "class"),
        ("search_fast", "pattern"),
        ("search_find", "pattern"),
        ("search_grep", "ext"),
        ("search_definitions", "file"),
    ],
)
@pytest.mark.parametrize("text", ["x" * 1_000_000, "a," * 100_000, "💥" * 100_000], ids=["long", "commas", "wide"])
def test_a_megabyte_is_answered_briefly(code: Served, tool: str, name: str, text: str) -> None:
    required = {"search_grep": "terms", "search_callers": "method"}.get(tool, name)
    result = code.call(tool, **{required: "zzz", name: text})
    assert sum(len(it.text.encode()) for it in result.content) <= 16 * 1024


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_grep", {"name": "terms"}),
        ("search_definitions", {"name": "name"}),
        ("search_fast", {"name": "pattern"}),
        ("search_find", {"name": "pattern"}),
        ("search_find", {"name": "pattern", "contents": True}),
    ],
)
def test_regex_bombs_do_not_go_off(code: Served, tool: str, arguments: dict[str, Any], bomb: str) -> None:
    given = dict(arguments)
    result = code.call(tool, regex=True, **{given.pop("name"): bomb}, **given)
    assert result.content


def test_nothing_was_unexpected(code: Served) -> None:
    """The log of the whole session: a refusal is no accident, so no trace of one may be in it."""
    assert code.errors.read_text(encoding="utf-8") == ""
