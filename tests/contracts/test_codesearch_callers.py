"""search_callers over the real server: every parameter, every key, and trees that must not mix classes."""

from __future__ import annotations

from typing import Any

import pytest
from rifflux_server import Served

SUBMIT = {"method": "Submit", "class": "OrderService"}


def tree(code: Served, **arguments: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = code.ask("search_callers", **arguments)["callTree"]
    return rows


def shape(rows: list[dict[str, Any]], beyond: str = "callers") -> dict[str, Any]:
    """Class and method of every node, with the nodes beyond it."""
    return {f"{row.get('class', '')}.{row['method']}": shape(row.get(beyond, []), beyond) for row in rows}


def flat(rows: list[dict[str, Any]], beyond: str = "callers") -> list[dict[str, Any]]:
    return [node for row in rows for node in (row, *flat(row.get(beyond, []), beyond))]


# --- keys ---


def test_keys_of_the_answer(code: Served) -> None:
    answer = code.ask("search_callers", **SUBMIT)
    assert answer.keys() == {"callTree", "query", "summary"}
    assert answer["summary"].keys() == {"nodesVisited", "totalNodes", "truncated", "unresolved", "searchTimeMs"}
    assert answer["query"] == {
        "method": "Submit", "class": "OrderService", "direction": "up", "depth": 3, "maxCallersPerLevel": 10,
        "maxTotalNodes": 200,
    }  # fmt: skip


def test_keys_of_a_caller(code: Served) -> None:
    (node,) = (it for it in tree(code, **SUBMIT) if it["method"] == "Post")
    assert node.keys() >= {"method", "line", "callSite", "class", "file", "path", "callers", "confidence"}
    assert (node["line"], node["callSite"], node["class"]) == (12, 14, "OrderController")
    assert node["file"] == "OrderController.cs"
    assert node["path"] == (code.folder / "src/Orders/OrderController.cs").as_posix()


def test_keys_of_a_callee(code: Served) -> None:
    nodes = tree(code, method="Post", direction="down")
    assert {it.get("class") for it in nodes} == {"IOrderService", "OrderService"}
    (node,) = (it for it in nodes if it["confidence"] == "exact")
    assert node.keys() >= {"method", "line", "callSiteLine", "file", "path", "receiverType", "confidence"}
    assert (node["callSiteLine"], node["receiverType"]) == (14, "IOrderService")
    assert "callSite" not in node


def test_summary_counts_the_nodes(code: Served) -> None:
    answer = code.ask("search_callers", **SUBMIT)
    assert answer["summary"]["totalNodes"] == len(flat(answer["callTree"]))
    assert answer["summary"]["nodesVisited"] >= 1
    assert answer["summary"]["truncated"] is False


def test_warning_of_a_name_in_several_classes(code: Served) -> None:
    warning = code.ask("search_callers", method="Submit")["warning"]
    assert "OrderService" in warning and "InvoiceService" in warning
    assert "warning" not in code.ask("search_callers", **SUBMIT)
    assert "warning" not in code.ask("search_callers", method="There")


# --- trees ---


def test_up_through_an_injected_interface_keeps_the_class_at_every_level(code: Served) -> None:
    found = shape(tree(code, **SUBMIT))
    assert found["OrderController.Post"] == {"OrderPage.Click": {}}
    assert not any("InvoiceService" in name for name in found)


def test_up_to_the_other_class_of_that_name(code: Served) -> None:
    assert shape(tree(code, method="Submit", **{"class": "InvoiceService"})) == {"InvoiceService.Run": {}}


def test_overloads_are_kept_apart_by_their_lines(code: Served) -> None:
    nodes = [it for it in tree(code, **SUBMIT) if it["method"] == "Submit"]
    assert [(it["line"], it["callSite"]) for it in nodes] == [(21, 27)]


def test_down_with_the_implementation_behind_the_interface(code: Served) -> None:
    found = shape(tree(code, **SUBMIT, direction="down"), "callees")
    assert "OrderService.Validate" in found
    assert "SqlOrderRepository.Write" in str(found)


def test_cycles_end(code: Served) -> None:
    for direction, beyond in (("up", "callers"), ("down", "callees")):
        rows = flat(tree(code, method="There", direction=direction, depth=10), beyond)
        assert 1 <= len(rows) <= 3
        assert {row["method"] for row in rows} <= {"There", "Back"}


def test_functions_and_other_languages(code: Served) -> None:
    assert shape(tree(code, method="line", **{"class": "Report"})) == {"Report.lines": {".main": {}}}
    assert "OrderApi.submit" in shape(tree(code, method="submitAll", direction="down"), "callees")


def test_what_nobody_calls_and_what_is_not_there(code: Served) -> None:
    assert tree(code, method="Click") == []
    assert tree(code, method="NoSuchMethod") == []


# --- parameters ---


def test_parameter_direction_in_any_casing(code: Served) -> None:
    assert tree(code, method="Click", direction="DOWN") == tree(code, method="Click", direction="down") != []


def test_parameter_depth(code: Served) -> None:
    assert shape(tree(code, **SUBMIT, depth=1))["OrderController.Post"] == {}
    answer = code.ask("search_callers", **SUBMIT, depth=1000)
    assert answer["query"]["depth"] == 10


def test_parameter_ext(code: Served) -> None:
    assert tree(code, **SUBMIT, ext="ts") == []
    assert tree(code, **SUBMIT, ext="cs") == tree(code, **SUBMIT)


def test_parameter_exclude_dir(code: Served) -> None:
    assert tree(code, method="Submit", excludeDir=["/orders/", "/web/"]) != []
    assert not any("/Orders/" in it["path"] for it in flat(tree(code, method="Submit", excludeDir=["/orders/"])))


def test_parameter_exclude_file(code: Served) -> None:
    rows = flat(tree(code, **SUBMIT, excludeFile=["ordercontroller"]))
    assert rows
    assert all(it["file"] != "OrderController.cs" for it in rows)


def test_parameter_max_callers_per_level(code: Served) -> None:
    answer = code.ask("search_callers", method="Submit", maxCallersPerLevel=1)
    assert len(answer["callTree"]) == 1
    assert answer["summary"]["truncated"] is True
    assert len(tree(code, method="Submit", maxCallersPerLevel=0)) > 1


def test_parameter_max_total_nodes(code: Served) -> None:
    answer = code.ask("search_callers", method="Submit", maxTotalNodes=2)
    assert len(flat(answer["callTree"])) == answer["summary"]["totalNodes"] == 2
    assert answer["summary"]["truncated"] is True


def test_parameter_resolve_interfaces(code: Served) -> None:
    assert "OrderController.Post" not in shape(tree(code, **SUBMIT, resolveInterfaces=False))


# --- refusals ---


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"method": "x", "depth": 0}, "depth", id="depth-0"),
        pytest.param({"method": "x", "depth": -1}, "depth", id="depth-negative"),
        pytest.param({"method": "x", "direction": "sideways"}, "up, down", id="direction"),
        pytest.param({"method": " "}, "method", id="method-blank"),
        pytest.param({"method": "x", "maxTotalNodes": -1}, "maxTotalNodes", id="maxTotalNodes"),
        pytest.param({"method": "x", "maxCallersPerLevel": 1.5}, "maxCallersPerLevel", id="maxCallersPerLevel"),
    ],
)
def test_refusals(code: Served, arguments: dict[str, Any], words: str) -> None:
    assert words in code.refusal("search_callers", **arguments)
