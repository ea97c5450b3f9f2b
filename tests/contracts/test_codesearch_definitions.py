"""search_definitions over the real server: every parameter, every key, bodies and budgets, lines, figures, audit."""

from __future__ import annotations

from typing import Any

import pytest
from codesearch_server import FILE_COUNT, KINDS, SORTS, definitions, names
from rifflux_server import Served

SUMMARY_KEYS = {"totalResults", "returned", "searchTimeMs", "indexFiles", "totalDefinitions"}


def found(code: Served, **arguments: Any) -> set[str]:
    return {row["name"] for row in definitions(code, maxResults=0, **arguments)}


def one(code: Served, **arguments: Any) -> dict[str, Any]:
    (row,) = definitions(code, **arguments)
    return row


# --- keys ---


def test_keys_of_the_answer(code: Served) -> None:
    answer = code.ask("search_definitions", name="OrderService")
    assert answer.keys() == {"definitions", "summary"}
    assert answer["summary"].keys() == SUMMARY_KEYS


CLASS = {"name": "OrderService", "kind": "class", "file": "OrderService.cs"}
METHOD = {"name": "Validate", "kind": "method"}
KEYS = [
    pytest.param(CLASS, "name", "OrderService", id="name"),
    pytest.param(CLASS, "kind", "class", id="kind"),
    pytest.param(CLASS, "lines", "5-44", id="lines"),
    pytest.param(CLASS, "attributes", ["Service"], id="attributes"),
    pytest.param(CLASS, "baseTypes", ["IOrderService"], id="baseTypes"),
    pytest.param(CLASS, "modifiers", ["public"], id="modifiers"),
    pytest.param(METHOD, "modifiers", ["private"], id="modifiers-method"),
    pytest.param(METHOD, "parent", "OrderService", id="parent"),
    pytest.param(METHOD, "attributes", ["Obsolete"], id="attributes-method"),
]


@pytest.mark.parametrize(("arguments", "key", "value"), KEYS)
def test_key(code: Served, arguments: dict[str, Any], key: str, value: object) -> None:
    assert one(code, **arguments)[key] == value


def test_key_file_is_the_full_path(code: Served) -> None:
    assert one(code, name="Rounds")["file"] == (code.folder / "src/Billing/Rounds.cs").as_posix()


def test_key_signature(code: Served) -> None:
    signature = one(code, **METHOD)["signature"]
    assert "Validate(Order order)" in signature
    assert "\n" not in signature


def test_keys_that_have_nothing_to_say_are_left_out(code: Served) -> None:
    row = one(code, name="Rounds", kind="class")
    assert not {"attributes", "baseTypes", "body", "codeStats"} & row.keys()


def test_summary_counts(code: Served) -> None:
    summary = code.ask("search_definitions", kind="class", maxResults=2)["summary"]
    assert summary["returned"] == 2
    assert summary["totalResults"] == len(definitions(code, kind="class", maxResults=0)) > 2
    assert summary["totalDefinitions"] == code.ask("search_definitions")["summary"]["totalResults"]
    assert summary["indexFiles"] == FILE_COUNT


# --- parameters ---

FILTERS = [
    pytest.param({"name": "invoiceserv"}, {"InvoiceService"}, id="name-part"),
    pytest.param({"name": "Rounds, PAGE_SIZE"}, {"Rounds", "PAGE_SIZE"}, id="name-several"),
    pytest.param({"name": "nothing of this name"}, set(), id="name-none"),
    pytest.param({"name": "^(There|Back)$", "regex": True}, {"There", "Back"}, id="regex"),
    pytest.param({"name": "^sub.*all$", "regex": True}, {"submitAll"}, id="regex-case"),
    pytest.param({"baseType": "IOrderService"}, {"OrderService"}, id="baseType"),
    pytest.param({"baseType": "iorderservice"}, {"OrderService"}, id="baseType-case"),
    pytest.param({"baseType": "IOrder"}, set(), id="baseType-whole"),
    pytest.param({"attribute": "obsolete"}, {"Validate"}, id="attribute"),
    pytest.param({"attribute": "cached"}, {"lines"}, id="attribute-decorator"),
    pytest.param({"attribute": "Obsol"}, set(), id="attribute-whole"),
    pytest.param({"parent": "Rounds", "kind": "method"}, {"There", "Back"}, id="parent"),
    pytest.param({"parent": "ound", "kind": "method"}, {"There", "Back"}, id="parent-part"),
    pytest.param({"file": "billing/rounds", "kind": "method"}, {"There", "Back"}, id="file-part"),
    pytest.param({"file": "src\\Billing\\Rounds", "kind": "method"}, {"There", "Back"}, id="file-backslashes"),
    pytest.param({"name": "Submit", "excludeDir": ["/orders/", "web"]}, {"Submit"}, id="excludeDir"),
    pytest.param({"name": "There", "excludeDir": ["BILLING"]}, set(), id="excludeDir-case"),
    pytest.param({"name": "Submit", "kind": "method", "parent": "Invoice"}, {"Submit"}, id="filters-and"),
    pytest.param({"name": "Submit", "kind": "class"}, set(), id="filters-and-none"),
    pytest.param({"name": "glyph"}, {"WideGlyph", "WideBigGlyph", "MarkedGlyph", "LossyGlyph"}, id="encodings"),
]


@pytest.mark.parametrize(("arguments", "expected"), FILTERS)
def test_what_is_found(code: Served, arguments: dict[str, Any], expected: set[str]) -> None:
    assert found(code, **arguments) == expected


OF_KIND = {
    "class": "OrderPage", "interface": "IOrderRepository", "method": "Validate", "property": "State",
    "field": "_repository", "enum": "OrderState", "struct": "Money", "record": "Receipt", "constructor": "OrderService",
    "delegate": "OrderCallback", "event": "Changed", "enumMember": "Draft", "function": "submitAll",
    "typeAlias": "OrderId", "variable": "PAGE_SIZE", "storedProcedure": "SaveOrder", "table": "Orders",
    "view": "OpenOrders", "sqlFunction": "OrderCount", "userDefinedType": "IdList", "column": "State",
    "sqlIndex": "IX_Orders_State",
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_parameter_kind(code: Served, kind: str) -> None:
    rows = definitions(code, kind=kind, maxResults=0)
    assert OF_KIND[kind] in {row["name"].rpartition(".")[2] for row in rows}
    assert {row["kind"] for row in rows} == {kind}


def test_parameter_kind_in_any_casing(code: Served) -> None:
    assert found(code, kind="ENUMMEMBER") == {"Draft", "Submitted"}


def test_parameter_max_results(code: Served) -> None:
    assert len(definitions(code, maxResults=3)) == 3
    assert len(definitions(code)) <= 100
    assert len(definitions(code, maxResults=0)) > 50


def test_ranking_exact_then_prefix_then_part_types_before_members(code: Served) -> None:
    rows = [row["name"] for row in definitions(code, name="order")]
    assert rows[0] == "Order"
    prefixes = [name.lower().startswith("order") for name in rows]
    assert prefixes == sorted(prefixes, reverse=True)
    kinds = [row["kind"] for row in definitions(code, name="OrderService")]
    assert kinds == ["class", "constructor", "interface"]


# --- bodies ---


def test_include_body(code: Served) -> None:
    row = one(code, name="There", includeBody=True)
    assert row["bodyStartLine"] == 5
    assert [line.strip() for line in row["body"]] == ["public void There(int count)", "{", "Back(count);", "}"]
    assert "bodyTruncated" not in row


def test_max_body_lines(code: Served) -> None:
    answer = code.ask("search_definitions", name="There", includeBody=True, maxBodyLines=2)
    (row,) = answer["definitions"]
    assert (len(row["body"]), row["bodyTruncated"]) == (2, True)
    assert answer["summary"]["totalBodyLinesReturned"] == 2
    assert len(one(code, name="There", includeBody=True, maxBodyLines=0)["body"]) == 4


def test_max_total_body_lines(code: Served) -> None:
    answer = code.ask("search_definitions", parent="Rounds", kind="method", includeBody=True, maxTotalBodyLines=4)
    first, second = answer["definitions"]
    assert len(first["body"]) == 4
    assert second["bodyOmitted"] == "total body lines budget exceeded"
    assert "body" not in second
    everything = definitions(code, parent="Rounds", kind="method", includeBody=True, maxTotalBodyLines=0)
    assert [len(row["body"]) for row in everything] == [4, 4]


# --- which definition holds a line ---


def test_contains_line_gives_the_innermost_first(code: Served) -> None:
    answer = code.ask("search_definitions", file="Rounds.cs", containsLine=7)
    assert answer.keys() == {"containingDefinitions", "query", "summary"}
    assert [row["name"] for row in answer["containingDefinitions"]][:2] == ["There", "Rounds"]
    assert answer["query"] == {"file": "Rounds.cs", "line": 7}


def test_contains_line_with_bodies(code: Served) -> None:
    answer = code.ask("search_definitions", file="Rounds.cs", containsLine=7, includeBody=True)
    assert len(answer["containingDefinitions"][0]["body"]) == 4


def test_contains_line_in_several_files_of_that_name(code: Served) -> None:
    rows = code.ask("search_definitions", file="src/Orders", containsLine=7)["containingDefinitions"]
    assert {"IOrderService.cs", "OrderService.cs"} <= set(names(rows, "file"))


@pytest.mark.parametrize("line", [1, 10**6])
def test_contains_line_outside_of_everything(code: Served, line: int) -> None:
    answer = code.ask("search_definitions", file="/OrderService.cs", containsLine=line)
    assert answer["containingDefinitions"] == []


# --- figures ---

SUBMIT = {"name": "Submit", "parent": "OrderService", "minParams": 2}


def test_code_stats(code: Served) -> None:
    stats = one(code, **SUBMIT)["codeStats"]
    assert stats.keys() == set(SORTS)
    assert (stats["paramCount"], stats["maxNestingDepth"], stats["callCount"], stats["lines"]) == (2, 2, 1, 10)
    assert (stats["cyclomaticComplexity"], stats["cognitiveComplexity"]) == (4, 4)
    assert (stats["returnCount"], stats["lambdaCount"]) == (0, 0)


def test_code_stats_only_when_asked(code: Served) -> None:
    assert "codeStats" not in one(code, name="There")
    assert "codeStats" in one(code, name="There", includeCodeStats=True)


@pytest.mark.parametrize("sort", SORTS)
def test_parameter_sort_by(code: Served, sort: str) -> None:
    answer = code.ask("search_definitions", kind="method", sortBy=sort)
    values = [row["codeStats"][sort] for row in answer["definitions"] if "codeStats" in row]
    assert values == sorted(values, reverse=True)
    assert len(values) > 5
    assert answer["summary"]["sortedBy"] == sort


LEAST = {
    "minComplexity": "cyclomaticComplexity", "minCognitive": "cognitiveComplexity", "minNesting": "maxNestingDepth",
    "minParams": "paramCount", "minReturns": "returnCount", "minCalls": "callCount",
}  # fmt: skip


@pytest.mark.parametrize("parameter", LEAST)
def test_least_figures(code: Served, parameter: str) -> None:
    answer = code.ask("search_definitions", **{parameter: 1}, maxResults=0)
    assert answer["definitions"]
    assert all(row["codeStats"][LEAST[parameter]] >= 1 for row in answer["definitions"])
    summary = answer["summary"]
    assert summary["statsFiltersApplied"] is True
    assert summary["afterStatsFilter"] == summary["totalResults"] < summary["beforeStatsFilter"]
    assert code.ask("search_definitions", **{parameter: 1000})["definitions"] == []


def test_least_figures_all_hold(code: Served) -> None:
    assert found(code, minComplexity=3, minParams=2) == {"Submit"}
    assert found(code, minComplexity=3, minCalls=3) == {"Validate"}


def test_figures_where_there_are_none(code: Served) -> None:
    summary = code.ask("search_definitions", kind="enumMember", includeCodeStats=True)["summary"]
    assert summary["codeStatsAvailable"] is False


# --- audit ---


def test_audit(code: Served) -> None:
    answer = code.ask("search_definitions", audit=True)
    assert answer.keys() == {"audit", "suspiciousFiles"}
    audit = answer["audit"]
    assert audit.keys() >= {
        "totalFiles", "filesWithDefinitions", "filesWithoutDefinitions", "readErrors", "lossyUtf8Files",
        "suspiciousFiles", "suspiciousThresholdBytes",
    }  # fmt: skip
    assert audit["totalFiles"] == audit["filesWithDefinitions"] + audit["filesWithoutDefinitions"]
    assert (audit["readErrors"], audit["lossyUtf8Files"], audit["suspiciousThresholdBytes"]) == (0, 1, 500)
    assert names(answer["suspiciousFiles"], "file") == ["GlobalSuppressions.cs"]
    assert answer["suspiciousFiles"][0]["bytes"] > 400


def test_audit_min_bytes(code: Served) -> None:
    answer = code.ask("search_definitions", audit=True, auditMinBytes=10_000)
    assert (answer["audit"]["suspiciousThresholdBytes"], answer["suspiciousFiles"]) == (10_000, [])


# --- refusals ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"kind": "klass"}, ["'klass'", *KINDS], id="kind"),
        pytest.param({"sortBy": "size"}, ["Invalid sortBy: 'size'", *SORTS], id="sortBy"),
        pytest.param({"containsLine": 3}, ["containsLine", "file"], id="containsLine-without-file"),
        pytest.param({"containsLine": 0, "file": "x"}, ["containsLine", "1"], id="containsLine-0"),
        pytest.param({"containsLine": -5, "file": "x"}, ["containsLine", "1"], id="containsLine-negative"),
        pytest.param({"name": "(", "regex": True}, ["regex"], id="regex"),
        pytest.param({"maxResults": -1}, ["maxResults"], id="maxResults"),
        pytest.param({"minParams": -1}, ["minParams"], id="minParams"),
    ],
)
def test_refusals(code: Served, arguments: dict[str, Any], words: list[str]) -> None:
    refusal = code.refusal("search_definitions", **arguments)
    assert all(word in refusal for word in words)
