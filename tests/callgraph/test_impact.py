"""Which definitions changed lines touch, and who calls them."""

from __future__ import annotations

import pytest
from call_facts import File, put

from dowse.callgraph.facts import CallQuery, FileOutline
from dowse.callgraph.graph import touched_definitions
from dowse.model import Record, Symbol
from dowse.store.types import CodeFacts
from oracle.dict_store import DictStore

ANY = CallQuery("any", depth=2)


def test_touched_definitions_come_with_their_callers() -> None:
    code = (
        File("main.py")
        .define("A", "class")
        .define("A/save", "method")
        .define("run", "function")
        .define("start", "function")
        .call("run", "A().save")
        .call("start", "run")
    )
    graph = put(DictStore(), [code, File("empty.py")])
    save = code.symbols[1].start_line
    found = graph.impact({"main.py": [(save, save)], "empty.py": [(1, 9)], "new.py": [(1, 2)]}, ANY)
    assert [it.definition.symbol.name for it in found.touched] == ["save"]
    (node,) = found.touched[0].callers.nodes
    assert node.edge.caller and node.edge.caller.symbol.name == "run"
    assert [it.edge.caller.symbol.name for it in node.branches if it.edge.caller] == ["start"]
    assert (found.files_without_definitions, found.files_not_indexed) == (("empty.py",), ("new.py",))
    assert graph.impact({"main.py": [(save, save)]}, ANY, "another").files_not_indexed == ("main.py",)


SYMBOLS = (
    Symbol("A", "class", 1, 20),
    Symbol("f", "method", 3, 8, parent=0),
    Symbol("x", "field", 4, 4, parent=1),
    Symbol("inner", "function", 5, 6, parent=1),
    Symbol("g", "method", 10, 20, parent=0),
)


@pytest.mark.parametrize(
    ("spans", "touched"),
    [
        ([(5, 5)], ["inner"]),
        ([(4, 4)], ["f"]),
        ([(3, 6)], ["f", "inner"]),
        ([(1, 1)], ["A"]),
        ([(9, 10)], ["A", "g"]),
        ([(21, 10**12)], []),
        ([(-5, 0)], []),
        ([(-(10**9), 10**9)], ["A", "f", "inner", "g"]),
        ([(8, 3)], []),
        ([], []),
    ],
)
def test_the_innermost_that_can_be_called(spans: list[tuple[int, int]], touched: list[str]) -> None:
    outline = FileOutline(CodeFacts(1, Record("c", "a.py", "code", "", 1, 1, "d", "c"), SYMBOLS, ()))
    assert [outline.symbols[it].name for it in touched_definitions(outline, spans)] == touched
