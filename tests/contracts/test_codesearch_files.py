"""search_find and search_fast over the real server: every parameter and every key."""

from __future__ import annotations

from typing import Any

import pytest
from codesearch_server import FILE_COUNT, names
from rifflux_server import Served


def found(code: Served, tool: str, pattern: str, **arguments: Any) -> set[str]:
    return set(names(code.ask(tool, pattern=pattern, **arguments)["files"]))


# --- keys ---


@pytest.mark.parametrize(
    ("tool", "arguments", "row", "summary"),
    [
        pytest.param("search_find", {}, {"path"}, {"totalMatches", "totalFilesScanned", "searchTimeMs"}, id="find"),
        pytest.param(
            "search_find",
            {"contents": True},
            {"path", "matches"},
            {"totalMatches", "totalFilesScanned", "searchTimeMs"},
            id="find-contents",
        ),
        pytest.param(
            "search_fast", {}, {"path", "size", "isDir"}, {"totalMatches", "totalIndexed", "searchTimeMs"}, id="fast"
        ),
    ],
)
def test_keys(code: Served, tool: str, arguments: dict[str, Any], row: set[str], summary: set[str]) -> None:
    answer = code.ask(tool, pattern="Rounds", **arguments)
    assert answer.keys() == {"files", "summary"}
    assert [it.keys() for it in answer["files"]] == [row]
    assert answer["summary"].keys() == summary


@pytest.mark.parametrize("tool", ["search_find", "search_fast"])
def test_key_path_is_the_full_path(code: Served, tool: str) -> None:
    (row,) = code.ask(tool, pattern="Rounds")["files"]
    assert row["path"] == (code.folder / "src/Billing/Rounds.cs").as_posix()


def test_key_size_and_is_dir(code: Served) -> None:
    rows = {row["path"].rpartition("/")[2]: row for row in code.ask("search_fast", pattern="app,Rounds")["files"]}
    assert (rows["app"]["isDir"], rows["Rounds.cs"]["isDir"]) == (True, False)
    assert rows["Rounds.cs"]["size"] == (code.folder / "src/Billing/Rounds.cs").stat().st_size


def test_key_matches(code: Served) -> None:
    (row,) = code.ask("search_find", pattern="PAGE_SIZE", contents=True)["files"]
    assert row["matches"] == [{"line": 9, "text": "export const PAGE_SIZE = 50;"}]


def test_summary_totals(code: Served) -> None:
    assert code.ask("search_find", pattern="cs", countOnly=True)["summary"]["totalFilesScanned"] >= FILE_COUNT
    fast = code.ask("search_fast", pattern="order", filesOnly=True)
    assert fast["summary"]["totalMatches"] == len(fast["files"])
    assert fast["summary"]["totalIndexed"] >= FILE_COUNT


# --- parameters ---

BOTH = [
    pytest.param("Rounds", {}, {"Rounds.cs"}, id="pattern"),
    pytest.param("rounds", {}, set(), id="pattern-case"),
    pytest.param("rounds", {"ignoreCase": True}, {"Rounds.cs"}, id="ignoreCase"),
    pytest.param("^Ord.*ice", {"regex": True}, {"OrderService.cs"}, id="regex"),
    pytest.param("(?i)^ord.*ice", {"regex": True}, {"OrderService.cs"}, id="regex-flags"),
    pytest.param("orders", {"ext": "sql"}, {"orders.sql"}, id="ext"),
    pytest.param("orders", {"ext": ".SQL, ts"}, {"orders.sql", "orders.ts"}, id="ext-several"),
    pytest.param("Service", {"dir": "src/Billing"}, {"InvoiceService.cs"}, id="dir"),
    pytest.param("Service", {"dir": "src\\Billing"}, {"InvoiceService.cs"}, id="dir-backslashes"),
    pytest.param("no such name", {}, set(), id="none"),
]


@pytest.mark.parametrize("tool", ["search_find", "search_fast"])
@pytest.mark.parametrize(("pattern", "arguments", "expected"), BOTH)
def test_what_is_found(code: Served, tool: str, pattern: str, arguments: dict[str, Any], expected: set[str]) -> None:
    assert found(code, tool, pattern, **arguments) == expected


def test_fast_takes_several_patterns(code: Served) -> None:
    assert found(code, "search_fast", "Rounds, http,,") == {"Rounds.cs", "http.ts"}


def test_fast_directories_or_files_only(code: Served) -> None:
    assert found(code, "search_fast", "rders", dirsOnly=True) == {"Orders"}
    assert found(code, "search_fast", "rders", filesOnly=True) == {"orders.ts", "orders.sql"}
    assert "filesOnly" in code.refusal("search_fast", pattern="x", dirsOnly=True, filesOnly=True)


def test_fast_ranks_exact_stems_then_beginnings_then_parts(code: Served) -> None:
    rows = names(code.ask("search_fast", pattern="order", ignoreCase=True, filesOnly=True)["files"])
    assert rows[0] == "Order.cs"
    assert rows[-1] == "SqlOrderRepository.cs"
    begins = [row.lower().startswith("order") for row in rows]
    assert begins == sorted(begins, reverse=True)


def test_find_max_depth(code: Served) -> None:
    assert found(code, "search_find", "r", maxDepth=1) == set()
    assert "report.py" in found(code, "search_find", "r", maxDepth=2)
    assert "Rounds.cs" in found(code, "search_find", "R", maxDepth=1, dir="src/Billing")


def test_find_sees_what_is_not_indexed(code: Served) -> None:
    (code.folder / "new").mkdir(exist_ok=True)
    (code.folder / "new/Unseen.cs").write_text("class Unseen { }\n")
    try:
        assert found(code, "search_find", "Unseen") == {"Unseen.cs"}
        assert found(code, "search_find", "class Unseen", contents=True) == {"Unseen.cs"}
    finally:
        (code.folder / "new/Unseen.cs").unlink()
        (code.folder / "new").rmdir()


@pytest.mark.parametrize(
    ("pattern", "arguments", "expected"),
    [
        pytest.param("Back(count)", {}, {"Rounds.cs"}, id="part-of-a-line"),
        pytest.param("back(count)", {}, set(), id="case"),
        pytest.param("back(count)", {"ignoreCase": True}, {"Rounds.cs"}, id="ignoreCase"),
        pytest.param(r"^\s+Back\(\w+\);$", {"regex": True}, {"Rounds.cs"}, id="regex-of-a-line"),
        pytest.param("Glyph", {}, {"Wide.cs", "WideBig.cs", "Marked.cs", "Lossy.cs"}, id="encodings"),
    ],
)
def test_find_contents(code: Served, pattern: str, arguments: dict[str, Any], expected: set[str]) -> None:
    assert found(code, "search_find", pattern, contents=True, **arguments) == expected


@pytest.mark.parametrize("tool", ["search_find", "search_fast"])
def test_count_only(code: Served, tool: str) -> None:
    answer = code.ask(tool, pattern="Service", countOnly=True)
    assert answer.keys() == {"summary"}
    assert answer["summary"]["totalMatches"] == 3


@pytest.mark.parametrize("tool", ["search_find", "search_fast"])
@pytest.mark.parametrize("pattern", ["", "  "])
def test_an_empty_pattern(code: Served, tool: str, pattern: str) -> None:
    assert "pattern must not be empty" in code.refusal(tool, pattern=pattern)
