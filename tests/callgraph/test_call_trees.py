"""Trees of callers and callees: classes kept apart, limits that say so, cycles, filters, hostile input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from call_facts import File, callees, callers, put
from hypothesis import given
from hypothesis import strategies as st

from dowse.callgraph.facts import MAX_CALL_DEPTH, BoundedCache, CallNode, CallQuery, CallTree
from dowse.callgraph.flow import MAX_SITES_PER_QUERY
from dowse.callgraph.graph import CallGraph
from dowse.errors import BadInput
from dowse.model import Call, Link, Record, Scope, Symbol
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = SqliteStore(tmp_path / "index.db")
    yield opened
    opened.close()


def layers() -> list[File]:
    """Two classes with the same names all the way up."""
    low = (
        File("low.py")
        .define("A", "class")
        .define("A/save", "method")
        .define("B", "class")
        .define("B/save", "method")
        .define("OfA", "class")
        .define("OfA/step", "method")
        .define("OfB", "class")
        .define("OfB/step", "method")
        .call("OfA/step", "A().save")
        .call("OfB/step", "B().save")
    )
    high = (
        File("high.py")
        .imports("low", "OfA=OfA")
        .imports("low", "OfB=OfB")
        .define("first", "function")
        .define("second", "function")
        .call("first", "OfA().step")
        .call("second", "OfB().step")
        .call("", "OfA().step")
    )
    return [low, high]


def drawn(nodes: tuple[CallNode, ...], direction: str = "up") -> list[object]:
    """The names of a tree, nested as it is, with why it ends."""
    found: list[object] = []
    for node in nodes:
        far = node.edge.caller if direction == "up" else node.edge.callee
        name = ".".join((*far.trail, far.symbol.name)) if far else "<module>"
        found.append((name, drawn(node.branches, direction), node.cut))
    return found


def test_the_class_is_kept_at_every_level(store: Store) -> None:
    graph = put(store, layers())
    tree = graph.calls(CallQuery("save", "A"))
    assert drawn(tree.nodes) == [("OfA.step", [("<module>", [], ""), ("first", [], "")], "")]
    assert (tree.total, tree.truncated, tree.owners) == (3, False, ("A", "B"))
    assert [it.symbol.name for it in tree.roots] == ["save"]


def test_without_an_owner_all_are_asked_about_and_named(store: Store) -> None:
    graph = put(store, layers())
    tree = graph.calls(CallQuery("SAVE", depth=1))
    assert drawn(tree.nodes) == [("OfA.step", [], "depth"), ("OfB.step", [], "depth")]
    assert tree.owners == ("A", "B")


def test_what_is_called_is_drawn_downwards_in_the_order_of_lines(store: Store) -> None:
    graph = put(store, layers())
    tree = graph.calls(CallQuery("first", direction="down"))
    assert drawn(tree.nodes, "down") == [("OfA.step", [("A.save", [], "")], "")]


@pytest.mark.parametrize("owner", ["OfA", "ofa", "low.py", "LOW.PY"])
def test_an_owner_is_a_class_or_a_file(store: Store, owner: str) -> None:
    graph = put(store, layers())
    wanted = 1 if "." not in owner else 0
    assert len(graph.calls(CallQuery("step", owner)).roots) == (wanted or 2)


def test_a_place_stands_for_the_innermost_definition(store: Store) -> None:
    graph = put(store, layers())
    line = layers()[0].symbols[1].start_line + 1
    assert drawn(graph.calls(CallQuery("", at=("low.py", line), depth=1)).nodes) == [("OfA.step", [], "depth")]
    for place in (("nowhere.py", 1), ("low.py", 10**9), ("low.py", 1)):
        with pytest.raises(BadInput):
            graph.calls(CallQuery("", at=place))


def test_cycles_end(store: Store) -> None:
    code = (
        File("main.py")
        .define("even", "function")
        .define("odd", "function")
        .define("alone", "function")
        .call("even", "odd")
        .call("odd", "even")
        .call("alone", "alone")
    )
    graph = put(store, [code])
    assert drawn(graph.calls(CallQuery("even")).nodes) == [("odd", [("even", [], "cycle")], "")]
    assert drawn(graph.calls(CallQuery("alone")).nodes) == [("alone", [], "cycle")]
    assert drawn(graph.calls(CallQuery("even", direction="down", depth=10)).nodes, "down") == [
        ("odd", [("even", [], "cycle")], "")
    ]


def wide(count: int) -> File:
    code = File("main.py").define("target", "function")
    for number in range(count):
        code.define(f"caller{number:03}", "function").call(f"caller{number:03}", "target")
    return code


def test_width_and_nodes_cut_and_say_so(store: Store) -> None:
    graph = put(store, [wide(30)])
    tree = graph.calls(CallQuery("target", width=5))
    assert [it.edge.caller.symbol.name for it in tree.nodes if it.edge.caller] == [f"caller00{n}" for n in range(5)]
    assert (tree.truncated, tree.cut) == (True, "width")
    tree = graph.calls(CallQuery("target", width=0, nodes=7))
    assert (len(tree.nodes), tree.total, tree.truncated, tree.cut) == (7, 7, True, "nodes")
    tree = graph.calls(CallQuery("target", width=0, nodes=0))
    assert (len(tree.nodes), tree.truncated, tree.cut) == (30, False, "")
    assert not graph.calls(CallQuery("target", width=30, nodes=30)).truncated


def test_a_caller_is_one_node_with_all_its_lines(store: Store) -> None:
    code = File("main.py").define("f", "function").define("g", "function").call("g", "f")
    code.calls.append(Call("f", "f", 40, 1))
    tree = put(store, [code]).calls(CallQuery("f"))
    assert [node.edge.lines for node in tree.nodes] == [(22, 40)]


def test_filters_are_by_path(store: Store) -> None:
    graph = put(store, layers())
    only = CallQuery("step", "OfA", scope=Scope(paths=("low.py",)))
    assert graph.calls(only).nodes == ()
    assert len(graph.calls(CallQuery("step", "OfA", wanted=lambda path: path == "high.py")).nodes) == 2
    assert graph.calls(CallQuery("step", "OfA", scope=Scope(excluded=("high.py",)))).nodes == ()
    down = CallQuery("first", direction="down", scope=Scope(paths=("high.py",)))
    assert graph.calls(down).nodes == ()
    assert graph.calls(CallQuery("step", scope=Scope(collections=("other",)))).roots == ()


@pytest.mark.parametrize(
    "query",
    [
        CallQuery(""),
        CallQuery("  "),
        CallQuery("f", depth=0),
        CallQuery("f", depth=-(10**6)),
        CallQuery("f", width=-1),
        CallQuery("f", nodes=-1),
        CallQuery("f", direction="sideways"),  # type: ignore[arg-type]
        CallQuery("f", confidence="certain"),  # type: ignore[arg-type]
    ],
)
def test_what_can_not_be_asked_is_said(store: Store, query: CallQuery) -> None:
    with pytest.raises(BadInput):
        put(store, layers()).calls(query)


def test_an_absurd_depth_is_cut_to_what_is_answered(store: Store) -> None:
    assert put(store, layers()).calls(CallQuery("save", depth=10**6)).query.depth == MAX_CALL_DEPTH


@pytest.mark.parametrize(
    "name", ["%", "_", "'; DROP TABLE calls; --", '"', "a\x00b", "\ud800", "x" * 100_000, "*", "[a]"]
)
def test_names_are_never_read_as_anything_else(store: Store, name: str) -> None:
    graph = put(store, layers())
    tree = graph.calls(CallQuery(name, name))
    assert (tree.roots, tree.nodes) == ((), ())
    assert len(graph.calls(CallQuery("save")).roots) == 2


def test_a_changed_file_is_right_at_once(store: Store) -> None:
    graph = put(store, layers())
    assert callers(graph, "save", "A") == ["low.py:OfA.step"]
    changed = File("low.py").define("A", "class").define("A/save", "method").define("new", "function")
    changed.call("new", "A().save")
    store.writer.put(
        Record("code", "low.py", "code", "", 1, 2, "another digest", "c"), [], changed.symbols, [], changed.calls
    )
    assert callers(graph, "save", "A") == ["low.py:new"]
    store.writer.drop("code", ["low.py"])
    assert graph.calls(CallQuery("save")).roots == ()


# --- hostile ---


def test_classes_that_inherit_themselves_and_each_other(store: Store) -> None:
    code = (
        File("main.py")
        .define("A", "class", bases=("A", "B"))
        .define("B", "class", bases=("C", "A"))
        .define("C", "class", bases=("B",))
        .define("C/go", "method")
        .define("run", "function")
        .call("run", ":A;.go")
        .call("run", ":A;.missing")
    )
    graph = put(store, [code])
    assert callees(graph, "run") == ["main.py:C.go"]
    assert callers(graph, "go") == ["main.py:run"]


def test_imports_that_lead_round_in_a_circle(store: Store) -> None:
    a = File("a.py").imports("b", "x=x").imports("b", "*=").define("run", "function").call("run", "x")
    b = File("b.py").imports("a", "x=x").imports("a", "*=")
    assert callees(put(store, [a, b]), "run") == []


def test_an_import_of_a_type_that_inherits_from_what_it_imports(store: Store) -> None:
    code = (
        File("Main.cs")
        .imports("A.B", "B=")
        .imports("A", "*=")
        .define("A", "class", bases=("B",))
        .define("A/B", "class", bases=("A.B", "B.A"))
        .define("A/Run", "method")
        .call("A/Run", ":B;.Go")
        .call("A/Run", "Go")
    )
    assert callees(put(store, [code]), "Run") == []


def test_definitions_that_hold_each_others_values(store: Store) -> None:
    code = File("main.py").define("x", "variable", holds="x").define("run", "function")
    names = [f"f{number}" for number in range(30)]
    for name in names:
        code.define(name, "function", holds="|".join(f"{other}()" for other in names))
    code.call("run", "f0().go").call("run", "x.go").call("run", "x").call("run", "x[].go").call("run", "x()!.go")
    assert callees(put(store, [code]), "run") == []


def test_an_endless_expression(store: Store) -> None:
    code = File("main.py").define("f", "function", holds="f").define("run", "function")
    code.call("run", "f" + "().x" * 50_000, "x").call("run", ":" + "List<" * 5_000 + ";.x", "x")
    assert callees(put(store, [code]), "run") == []


def test_a_name_called_from_everywhere_is_looked_at_only_so_far(store: Store) -> None:
    store.writer.add_collection("/work/code")
    symbols = [Symbol("f", "function", 1, 2), Symbol("g", "function", 3, 4)]
    calls = [Call("f", "?.f", line, 1) for line in range(5_000)]
    for number in range(10):
        store.writer.put(Record("code", f"{number}.py", "code", "", 1, 1, "d", "c"), [], symbols, [], calls)
    tree = put(store, []).calls(CallQuery("f", "0.py", deadline_s=600))
    assert MAX_SITES_PER_QUERY < 10 * 5_000
    assert (tree.nodes, tree.cut, tree.truncated, len(tree.unresolved)) == ((), "sites", True, 200)


class Watched:
    """A view that notes what the call graph reads of it."""

    def __init__(self, store: Store) -> None:
        self._store = store.view()
        self.read: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name not in ("moment", "remembered"):
            self.read.append(name)
        return getattr(self._store, name)


@pytest.mark.parametrize("direction", ["up", "down"])
def test_a_question_that_is_asked_again_reads_nothing(store: Store, direction) -> None:
    name = "save" if direction == "up" else "first"
    put(store, layers())
    watched = Watched(store)
    graph = CallGraph(watched)  # type: ignore[arg-type]
    before = graph.calls(CallQuery(name, direction=direction))
    assert before.nodes and watched.read
    watched.read.clear()
    assert graph.calls(CallQuery(name, direction=direction)) == before
    assert watched.read == []


def test_a_memo_is_full_by_the_sizes_of_its_entries() -> None:
    memo: BoundedCache[str, int] = BoundedCache(10)
    memo.put("a", 1, 4)
    memo.put("b", 2, 6)
    assert dict(memo) == {"a": 1, "b": 2}
    memo.put("c", 3)
    assert dict(memo) == {"c": 3}
    for number in range(9):
        memo.put(str(number), number)
    assert len(memo) == 10
    memo.put("d", 4, 100)
    assert dict(memo) == {"d": 4}


names_of_things = st.sampled_from(["a", "b", "A", "B", "self", "x.y", "T"])
expressions = st.lists(
    st.sampled_from(
        ["this", "super", "?", "a", "A", ":A;", ":B<A>;", ".a", ".b", "()", "[]", "!", "|", "<A>", "..", ";"]
    ),
    max_size=6,
).map("".join)
kinds = st.sampled_from(["class", "interface", "method", "function", "field", "variable", "constructor", "namespace"])


@given(
    st.lists(st.tuples(names_of_things, kinds, expressions, st.lists(names_of_things, max_size=2)), max_size=8),
    st.lists(st.tuples(names_of_things, expressions), max_size=6),
    st.lists(st.tuples(names_of_things, names_of_things), max_size=3),
    st.sampled_from(["m.py", "m.cs", "m.ts", "m.go", "m.java", "m.rb", "m.unknown"]),
)
def test_no_facts_are_too_odd(
    defined: list[tuple[str, str, str, list[str]]],
    called: list[tuple[str, str]],
    imported: list[tuple[str, str]],
    path: str,
) -> None:
    store = DictStore()
    symbols = [
        Symbol(
            name,
            kind,
            place + 1,
            len(defined) + 1,
            parent=place - 1 if place % 3 else None,
            holds=holds,
            bases=tuple(bases),
        )
        for place, (name, kind, holds, bases) in enumerate(defined)
    ]
    calls = [
        Call(name, callee, line + 1, line if line < len(symbols) else None)
        for line, (name, callee) in enumerate(called)
    ]
    links = [Link("import", target, 1, f"{local}={target}") for target, local in imported]
    graph = put(store, [])
    store.writer.put(Record("code", path, "code", "", 1, 1, "d", "c"), [], symbols, links, calls)
    for name in ("a", "A", "x.y"):
        for direction in ("up", "down"):
            tree: CallTree = graph.calls(CallQuery(name, direction=direction, confidence="possible", depth=3))  # type: ignore[arg-type]
            assert tree.total >= len(tree.nodes)


def test_a_question_ends_when_its_time_is_over(store: Store) -> None:
    graph = put(store, [File("a.py").define("f", "function").define("g", "function").call("g", "f").call("f", "g")])
    for direction in ("up", "down"):
        tree = graph.calls(CallQuery("f", direction=direction, deadline_s=-1))  # type: ignore[arg-type]
        assert (tree.nodes, tree.cut, tree.truncated) == ((), "time", True)
