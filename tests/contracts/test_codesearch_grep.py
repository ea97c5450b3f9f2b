"""search_grep over the real server: every parameter, every key, and what its modes find."""

from __future__ import annotations

import math
from typing import Any

import pytest
from codesearch_server import FILE_COUNT, grep, names
from rifflux_server import Served

ROW_KEYS = {"path", "score", "occurrences", "termsMatched", "lines"}
SUMMARY_KEYS = {
    "totalFiles", "totalOccurrences", "termsSearched", "searchMode", "indexFiles", "indexTokens", "searchTimeMs",
    "indexLoadTimeMs",
}  # fmt: skip


def found(code: Served, terms: str, **arguments: Any) -> set[str]:
    return set(names(grep(code, terms, maxResults=0, **arguments)["files"]))


# --- keys ---


@pytest.mark.parametrize(
    ("arguments", "rows", "summary"),
    [
        pytest.param({}, ROW_KEYS, SUMMARY_KEYS | {"matchedTokens"}, id="substring"),
        pytest.param({"substring": False}, ROW_KEYS, SUMMARY_KEYS, id="words"),
        pytest.param({"regex": True}, ROW_KEYS, SUMMARY_KEYS, id="regex"),
        pytest.param({"phrase": True}, {"path", "occurrences", "lines"}, SUMMARY_KEYS, id="phrase"),
        pytest.param({"showLines": True}, ROW_KEYS | {"lineContent"}, SUMMARY_KEYS | {"matchedTokens"}, id="showLines"),
    ],
)
def test_keys(code: Served, arguments: dict[str, Any], rows: set[str], summary: set[str]) -> None:
    answer = grep(code, "validate", **arguments)
    assert answer.keys() == {"files", "summary"}
    assert [row.keys() for row in answer["files"]] == [rows]
    assert answer["summary"].keys() == summary


def test_key_path_is_the_full_path(code: Served) -> None:
    (row,) = grep(code, "SqlOrderRepository")["files"]
    assert row["path"] == (code.folder / "src/Orders/SqlOrderRepository.cs").as_posix()


def test_key_lines_and_occurrences(code: Served) -> None:
    (row,) = grep(code, "_controller")["files"]
    assert (row["lines"], row["occurrences"]) == ([20, 24], 2)


def test_key_score_is_tf_idf_with_four_decimals(code: Served) -> None:
    """Once in a file of its words; only this file has it."""
    answer = grep(code, "therein", substring=False)
    assert answer["files"] == []
    (row,) = grep(code, "PAGE_SIZE", substring=False)["files"]
    words = _words((code.folder / "web/app/orders.ts").read_text())
    assert row["score"] == round(math.log(FILE_COUNT) / words, 4)


def _words(text: str) -> int:
    pieces = "".join(sign if sign.isalnum() or sign == "_" else " " for sign in text).split()
    return sum(len(piece) >= 2 for piece in pieces)


def test_the_best_come_first(code: Served) -> None:
    rows = grep(code, "order", substring=False)["files"]
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert all(row["score"] > 0 for row in rows)
    assert any(row["score"] != round(row["score"], 3) for row in rows)


def test_key_terms_matched(code: Served) -> None:
    rows = grep(code, "There,Back,Nowhere", substring=False)["files"]
    assert [row["termsMatched"] for row in rows] == ["2/3"]


def test_summary_totals_count_everything(code: Served) -> None:
    everything = grep(code, "submit", maxResults=0)
    some = grep(code, "submit", maxResults=1)
    assert len(some["files"]) == 1
    for key in ("totalFiles", "totalOccurrences"):
        assert some["summary"][key] == everything["summary"][key]
    assert everything["summary"]["totalFiles"] == len(everything["files"])
    assert everything["summary"]["totalOccurrences"] == sum(row["occurrences"] for row in everything["files"])


def test_summary_index_figures(code: Served) -> None:
    summary = grep(code, "submit")["summary"]
    assert summary["indexFiles"] == FILE_COUNT
    assert summary["indexTokens"] > 100
    assert summary["indexLoadTimeMs"] == 0
    assert summary["searchTimeMs"] > 0


def test_summary_terms_and_matched_tokens(code: Served) -> None:
    summary = grep(code, " Validat , REPOSITOR ")["summary"]
    assert summary["termsSearched"] == ["validat", "repositor"]
    assert set(summary["matchedTokens"]) == {
        "validate", "repository", "_repository", "iorderrepository", "sqlorderrepository",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        ({}, "substring-or"),
        ({"mode": "and"}, "substring-and"),
        ({"mode": "AND"}, "substring-and"),
        ({"substring": False}, "or"),
        ({"substring": False, "mode": "and"}, "and"),
        ({"regex": True}, "regex"),
        ({"phrase": True}, "phrase"),
        ({"substring": False, "regex": True}, "regex"),
    ],
)
def test_summary_search_mode(code: Served, arguments: dict[str, Any], mode: str) -> None:
    assert grep(code, "submit", **arguments)["summary"]["searchMode"] == mode


def test_summary_warns_of_short_substrings(code: Served) -> None:
    assert grep(code, "id")["summary"]["warnings"] == ["Short substring query (<4 chars) may return broad results"]
    assert "warnings" not in grep(code, "submit")["summary"]
    assert "warnings" not in grep(code, "id", substring=False)["summary"]


# --- parameters ---

ORDERS = {"IOrderService.cs", "OrderService.cs", "OrderController.cs"}
MODES = [
    pytest.param("validate", {}, {"OrderService.cs"}, id="terms"),
    pytest.param("VALIDATE", {}, {"OrderService.cs"}, id="terms-case"),
    pytest.param("Rounds,WideGlyph", {}, {"Rounds.cs", "Wide.cs"}, id="terms-several-or"),
    pytest.param(",Rounds,,", {}, {"Rounds.cs"}, id="terms-empty-ones"),
    pytest.param("submit,retries", {"mode": "and"}, {"OrderService.cs"}, id="mode-and"),
    pytest.param("validate,pagesize", {"mode": "and"}, set(), id="mode-and-none"),
    pytest.param("IOrderServ", {}, ORDERS, id="substring-default"),
    pytest.param("IOrderServ", {"substring": False}, set(), id="substring-false"),
    pytest.param("IOrderService", {"substring": False}, ORDERS, id="word"),
    pytest.param("wideg,lossyg", {"mode": "and"}, set(), id="substring-and-needs-all-in-one-file"),
    pytest.param("order,service,controller", {"mode": "and"}, {"OrderController.cs"}, id="substring-and-each-term"),
    pytest.param(
        "i.*repository", {"regex": True}, {"IOrderService.cs", "OrderService.cs", "SqlOrderRepository.cs"}, id="regex"
    ),
    pytest.param("repository", {"regex": True, "ext": "ts"}, set(), id="regex-ext"),
    pytest.param("sitory", {"regex": True}, set(), id="regex-is-of-whole-words"),
    pytest.param("rounds|there", {"regex": True}, {"Rounds.cs"}, id="regex-alternatives"),
    pytest.param("public class Rounds", {"phrase": True}, {"Rounds.cs"}, id="phrase"),
    pytest.param("class public Rounds", {"phrase": True}, set(), id="phrase-order"),
    pytest.param("new OrderController(null)", {"phrase": True}, {"OrderController.cs"}, id="phrase-punctuation"),
    pytest.param("new OrderController[null]", {"phrase": True}, set(), id="phrase-other-punctuation"),
    pytest.param(
        "Submit(order);",
        {"phrase": True},
        {"OrderService.cs", "OrderController.cs", "InvoiceService.cs"},
        id="phrase-call",
    ),
    pytest.param("glyph", {}, {"Wide.cs", "WideBig.cs", "Marked.cs", "Lossy.cs"}, id="encodings"),
    pytest.param("submit", {"ext": "ts"}, {"orders.ts"}, id="ext"),
    pytest.param("order", {"ext": "PY, .sql"}, {"report.py", "orders.sql"}, id="ext-several"),
    pytest.param("submit", {"ext": "rb"}, set(), id="ext-none"),
    pytest.param("submit", {"dir": "src/Billing"}, {"InvoiceService.cs"}, id="dir-below"),
    pytest.param("submit", {"dir": "src\\Billing\\"}, {"InvoiceService.cs"}, id="dir-backslashes"),
    pytest.param("submit", {"dir": "src", "excludeDir": ["/orders/"]}, {"InvoiceService.cs"}, id="excludeDir"),
    pytest.param("submit", {"excludeDir": ["SRC"]}, {"orders.ts"}, id="excludeDir-case"),
    pytest.param("submit", {"excludeDir": ["src\\orders", "web"]}, {"InvoiceService.cs"}, id="excludeDir-backslash"),
    pytest.param("submit", {"exclude": ["service.cs", "controller"]}, {"Order.cs", "orders.ts"}, id="exclude"),
    pytest.param("submit", {"exclude": ["src"], "excludeDir": ["web"]}, set(), id="exclude-and-excludeDir"),
    pytest.param("submit", {"exclude": [""]}, None, id="exclude-empty-text"),
]


@pytest.mark.parametrize(("terms", "arguments", "expected"), MODES)
def test_what_is_found(code: Served, terms: str, arguments: dict[str, Any], expected: set[str] | None) -> None:
    assert found(code, terms, **arguments) == (found(code, terms) if expected is None else expected)


def test_parameter_dir_may_be_the_server_s_own(code: Served) -> None:
    for given in (str(code.folder), f"{code.folder}/", ".", "", "src/.."):
        assert found(code, "submit", dir=given) == found(code, "submit")


def test_parameter_max_results(code: Served) -> None:
    assert len(grep(code, "order", maxResults=3)["files"]) == 3
    everything = grep(code, "order", maxResults=0)
    assert len(everything["files"]) == everything["summary"]["totalFiles"] > 5


def test_parameter_count_only(code: Served) -> None:
    answer = grep(code, "submit", countOnly=True)
    assert answer.keys() == {"summary"}
    assert answer["summary"]["totalFiles"] == grep(code, "submit")["summary"]["totalFiles"]


def test_parameter_show_lines(code: Served) -> None:
    (row,) = grep(code, "_controller", showLines=True)["files"]
    assert row["lineContent"] == [
        {
            "startLine": 20,
            "lines": ["        private readonly OrderController _controller = new OrderController(null);"],
            "matchIndices": [0],
        },
        {"startLine": 24, "lines": ["            _controller.Post(order);"], "matchIndices": [0]},
    ]


def test_parameter_context_lines_shows_lines_by_itself(code: Served) -> None:
    (row,) = grep(code, "_controller", contextLines=2)["files"]
    (group,) = row["lineContent"]
    assert (group["startLine"], len(group["lines"]), group["matchIndices"]) == (18, 9, [2, 6])
    (row,) = grep(code, "PAGE_SIZE", contextLines=1)["files"]
    assert row["lineContent"] == [
        {"startLine": 8, "lines": ["", "export const PAGE_SIZE = 50;", ""], "matchIndices": [1]}
    ]


def test_context_ends_where_the_file_does(code: Served) -> None:
    (row,) = grep(code, "HttpClient", contextLines=1000, ext="ts", exclude=["orders"])["files"]
    (group,) = row["lineContent"]
    assert (group["startLine"], group["matchIndices"]) == (1, [0])


def test_phrases_come_by_the_number_of_lines(code: Served) -> None:
    rows = grep(code, "Order order", phrase=True)["files"]
    assert [row["occurrences"] for row in rows] == sorted((row["occurrences"] for row in rows), reverse=True)


@pytest.mark.parametrize("terms", ["", "  ", ",", " , ,"])
def test_no_terms(code: Served, terms: str) -> None:
    assert code.refusal("search_grep", terms=terms) == "No search terms provided"


@pytest.mark.parametrize("other", ["regex", "phrase"])
def test_substring_excludes_the_others(code: Served, other: str) -> None:
    refusal = code.refusal("search_grep", terms="x", substring=True, **{other: True})
    assert refusal == "substring is mutually exclusive with regex and phrase"
