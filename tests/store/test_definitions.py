"""Definitions in every backend: SQLite finds, ranks and counts what the dict store, the oracle, does."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.model import FunctionMetrics, Record, Scope, Symbol
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from dowse.store.types import IndexedFile, SymbolQuery
from oracle.dict_store import DictStore

BACKENDS = ("sqlite", "dicts")
QUICK = FunctionMetrics(cyclomatic=2, cognitive=1, nesting=1, parameters=3, returns=1, calls=4, lambdas=0)
LONG = FunctionMetrics(cyclomatic=9, cognitive=20, nesting=5, parameters=1, returns=4, calls=30, lambdas=2)

SHOP = [
    Symbol("shop", "namespace", 1, 60),
    Symbol("OrderRepository", "class", 3, 40, 1, 0, bases=("data.IRepository<Order>", "IDisposable")),
    Symbol("Save", "method", 5, 12, 2, 1, modifiers=("public", "async"), attributes=("Obsolete",), stats=QUICK),
    Symbol("SaveAll", "method", 14, 39, 2, 1, modifiers=("public",), attributes=("Test.Case",), stats=LONG),
    Symbol("walk", "function", 20, 30, 3, 3, stats=QUICK),
    Symbol("Order", "record", 42, 44, 1, 0, attributes=("Serializable",)),
    Symbol("order_count", "field", 46, 46, 1, 0),
]
OTHER = [
    Symbol("IRepository", "interface", 1, 9),
    Symbol("Save", "method", 2, 2, 1, 0),
    Symbol("Reorder", "function", 11, 20, stats=LONG),
]
NOTES = [Symbol("Order of things", "heading", 1, 9, 1), Symbol("Save it", "heading", 3, 9, 2, 0)]


def record(path: str, collection: str = "work", **rest: object) -> Record:
    values: dict[str, object] = {"kind": "code", "title": path, "size": 100, "mtime_ns": 10**18, "chunking": "c"} | rest
    return Record(collection=collection, path=path, digest="d", **values)  # type: ignore[arg-type]


def filled(store: Store) -> Store:
    store.writer.add_collection("/some/work")
    store.writer.put(record("src/shop.cs", facets={"language": "csharp"}), [], SHOP, text="class \ufffd")
    store.writer.put(record("lib/base.cs", facets={"language": "csharp"}, size=7), [], OTHER, text="fine")
    store.writer.put(record("notes.md", kind="doc"), [], NOTES, text="# Order")
    return store


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened = filled(SqliteStore(tmp_path / "index.db") if request.param == "sqlite" else DictStore())
    yield opened
    opened.close()


def names(store: Store, **asked: object) -> list[str]:
    return [it.symbol.name for it in store.symbols.definitions(SymbolQuery(**asked)).definitions]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"names": ("order",)}, ["Order", "OrderRepository", "order_count", "Reorder"]),
        ({"names": ("SAVE",)}, ["Save", "Save", "SaveAll"]),
        ({"names": ("save", "reord")}, ["Save", "Save", "Reorder", "SaveAll"]),
        ({"names": ("save",), "matching": "exact"}, ["Save", "Save"]),
        ({"names": ("sav",), "matching": "exact"}, []),
        ({"names": ("^s.*l$",), "matching": "regex"}, ["SaveAll"]),
        ({"names": (r"\Asave\z",), "matching": "regex"}, ["Save", "Save"]),
        ({"names": ("(save)|(k$)",), "matching": "regex"}, ["Save", "Save", "walk", "SaveAll"]),
        ({"names": ("al",)}, ["walk", "SaveAll"]),
        ({"names": ("l",)}, ["walk", "SaveAll"]),
        ({"names": ("_",)}, ["order_count"]),
        ({"names": ("%",)}, []),
        ({"names": ("sa_e",)}, []),
        ({"names": ('save" OR "walk',)}, []),
        ({"names": ("a\0b",)}, []),
        ({"names": ("save\0",)}, []),
        ({"base": "IREPOSITORY"}, ["OrderRepository"]),
        ({"base": "data.IRepository<Other>"}, ["OrderRepository"]),
        ({"base": "repository"}, []),
        ({"attribute": "case"}, ["SaveAll"]),
        ({"attribute": "obsolete", "base": "idisposable"}, []),
        ({"attribute": "serializable", "names": ("ord",)}, ["Order"]),
        ({"base": "idisposable", "names": ("order", "zzz")}, ["OrderRepository"]),
        ({"base": "idisposable", "names": ("save",)}, []),
        ({"kinds": ("interface", "record")}, ["Order", "IRepository"]),
        ({"kinds": ("heading",)}, []),
        ({"parent": "orderrepo"}, ["Save", "SaveAll"]),
        ({"parent": "REPOSITORY"}, ["Save", "Save", "SaveAll"]),
        ({"parent": "repository", "names": ("all",)}, ["SaveAll"]),
        ({"parent": "saveall"}, ["walk"]),
        ({"modifiers": ("public",)}, ["Save", "SaveAll"]),
        ({"modifiers": ("Public", "async")}, ["Save"]),
        ({"min_metrics": {"cognitive": 20}}, ["Reorder", "SaveAll"]),
        ({"min_metrics": {"lines": 26}}, ["OrderRepository", "shop", "SaveAll"]),
        ({"min_metrics": {"calls": 1, "parameters": 2}}, ["Save", "walk"]),
        ({"min_metrics": {"calls": 10**30}}, []),
        ({"order": "cyclomatic", "limit": 3}, ["Reorder", "SaveAll", "Save"]),
        ({"order": "lines", "limit": 2}, ["shop", "OrderRepository"]),
        ({"scope": Scope(paths=("lib/**",))}, ["IRepository", "Save", "Reorder"]),
        ({"scope": Scope(excluded=("src/**",)), "names": ("save",)}, ["Save"]),
        ({"scope": Scope(collections=("elsewhere",))}, []),
        ({"path_filter": lambda path: "base" in path, "names": ("ord",)}, ["Reorder"]),
        ({"path_filter": lambda path: "base" in path}, ["IRepository", "Save", "Reorder"]),
    ],
)
def test_what_is_wanted_is_found_in_order(store: Store, asked: dict[str, object], expected: list[str]) -> None:
    assert names(store, **asked) == expected


def test_a_limit_cuts_but_all_are_counted(store: Store) -> None:
    found = store.symbols.definitions(SymbolQuery(names=("save",), limit=1))
    assert ([it.record.path for it in found.definitions], found.total) == (["lib/base.cs"], 3)
    found = store.symbols.definitions(SymbolQuery(names=("save",), limit=0, min_metrics={"calls": 5}))
    assert (len(found.definitions), found.total, found.before_stats) == (1, 1, 3)


def test_a_definition_comes_whole_and_with_what_is_around_it(store: Store) -> None:
    (found,) = store.symbols.definitions(SymbolQuery(names=("walk",))).definitions
    assert (found.symbol, found.ordinal, found.record) == (SHOP[4], 4, store.catalog.records("src/shop.cs")[0])
    assert found.trail == ("shop", "OrderRepository", "SaveAll")
    assert found.parent == "SaveAll"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (1, ["shop"]),
        (5, ["Save", "OrderRepository", "shop"]),
        (12, ["Save", "OrderRepository", "shop"]),
        (13, ["OrderRepository", "shop"]),
        (25, ["walk", "SaveAll", "OrderRepository", "shop"]),
        (61, []),
        (10**9, []),
    ],
)
def test_what_holds_a_line_innermost_first(store: Store, line: int, expected: list[str]) -> None:
    found = store.symbols.definitions_at(store.catalog.records("src/shop.cs")[0], line)
    assert [it.symbol.name for it in found] == expected
    assert all(it.trail == tuple(expected[place + 1 :][::-1]) for place, it in enumerate(found))


def test_headings_are_no_definitions(store: Store) -> None:
    assert store.symbols.definitions_at(store.catalog.records("notes.md")[0], 3) == []
    assert store.symbols.definition_count() == len(SHOP) + len(OTHER)
    assert "heading" not in store.symbols.definition_kinds()
    assert "record" in store.symbols.definition_kinds()


def test_files_with_their_sizes_and_facets(store: Store) -> None:
    assert store.symbols.files() == [
        IndexedFile("work", "lib/base.cs", 7, {"language": "csharp"}),
        IndexedFile("work", "notes.md", 100, {}),
        IndexedFile("work", "src/shop.cs", 100, {"language": "csharp"}),
    ]
    assert store.symbols.record_count() == 3
    assert store.symbols.files_with_definitions() == {("work", "lib/base.cs"), ("work", "src/shop.cs")}
    assert store.symbols.lossy_records() == {("work", "src/shop.cs")}


def test_what_changes_is_noticed(store: Store) -> None:
    assert names(store, names=("^walk$",), matching="regex") == ["walk"]
    store.writer.put(record("src/shop.cs"), [], [Symbol("Walker", "class", 1, 2)], text="new")
    assert names(store, names=("walk",)) == ["Walker"]
    assert names(store, names=("walk$",), matching="regex") == []
    assert names(store, base="idisposable") == []
    assert store.symbols.definition_count() == 1 + len(OTHER)
    store.writer.drop("work", ["src/shop.cs"])
    assert names(store, names=("walk",)) == []
    assert store.symbols.lossy_records() == set()


def test_parents_that_make_no_sense_end_the_trail(store: Store) -> None:
    odd = [
        Symbol("odd_self", "class", 1, 9, parent=0),
        Symbol("odd_later", "class", 1, 9, parent=2),
        Symbol("odd_far", "class", 1, 9, parent=99),
        Symbol("odd_child", "method", 2, 3, parent=0),
    ]
    store.writer.put(record("odd.cs"), [], odd)
    found = store.symbols.definitions(SymbolQuery(names=("odd",))).definitions
    assert {it.symbol.name: it.trail for it in found} == {
        "odd_self": (), "odd_later": (), "odd_far": (), "odd_child": ("odd_self",),
    }  # fmt: skip
    assert names(store, parent="odd") == ["odd_child"]


@pytest.mark.parametrize("part", ['y"h', '"hi', 'hi"', '"*"', "^near", "a OR b", "NOT", "(x", "col:on", "näh"])
def test_nothing_in_a_name_is_syntax(store: Store, part: str) -> None:
    odd = 'say"hi"*"^near a OR b NOT(x) col:on Nähe'
    store.writer.put(record("odd.cs"), [], [Symbol(odd, "class", 1, 1), Symbol("say", "class", 2, 2)])
    assert names(store, names=(part,)) == [odd]
    assert names(store, parent=part) == []


@pytest.mark.parametrize("pattern", ["(", "a{1001}", "(?=x)", r"(a)\1", "*", "a)(b", "x" * 5_000])
def test_a_regex_that_can_not_be_used_is_refused(store: Store, pattern: str) -> None:
    with pytest.raises(BadInput, match="regex"):
        store.symbols.definitions(SymbolQuery(names=(pattern,), matching="regex"))


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*a){20}", "(a|aa)+$"])
def test_a_regex_bomb_is_a_regex_like_any_other(store: Store, pattern: str) -> None:
    store.writer.put(record("bomb.cs"), [], [Symbol("a" * 5_000 + "!", "class", 1, 1)])
    assert isinstance(names(store, names=(pattern,), matching="regex"), list)


WORDS = st.sampled_from(
    ["get", "Get", "getter", "put", "Put_all", "x", "xy", "İx", "ß", "a%b", 'q"t', "näme", "the get"]
)
SYMBOLS = st.builds(
    Symbol,
    name=WORDS,
    kind=st.sampled_from(["class", "method", "field", "heading"]),
    start_line=st.integers(1, 3),
    end_line=st.integers(3, 5),
    level=st.integers(0, 3),
    signature=st.just(""),
    value_expression=st.just(""),
    parameters=st.just(()),
    parent=st.none() | st.integers(0, 3),
    modifiers=st.lists(st.sampled_from(["public", "static"]), max_size=2).map(tuple),
    attributes=st.lists(WORDS, max_size=2).map(tuple),
    bases=st.lists(st.sampled_from(["a.Get", "Get<T>", "put", "%", "list[int]"]), max_size=2).map(tuple),
    stats=st.none() | st.just(QUICK) | st.just(LONG),
)
FILES = st.dictionaries(st.sampled_from(["a.py", "b/a.py", "b/c.cs"]), st.lists(SYMBOLS, max_size=8), max_size=3)
ASKED = st.builds(
    SymbolQuery,
    names=st.lists(st.sampled_from(["get", "GET", "g", "et", "x", "the g", '"', "%", "_all", "i̇x"]), max_size=2).map(
        tuple
    ),
    matching=st.sampled_from(["part", "exact", "regex"]),
    kinds=st.lists(st.sampled_from(["class", "method"]), max_size=1).map(tuple),
    attribute=st.sampled_from(["", "", "get", "a%b"]),
    base=st.sampled_from(["", "", "get", "put", "%", "list"]),
    parent=st.sampled_from(["", "", "get", "x"]),
    modifiers=st.lists(st.sampled_from(["public", "static"]), max_size=1).map(tuple),
    scope=st.sampled_from([Scope(), Scope(paths=("b/**",)), Scope(excluded=("*.cs",))]),
    min_metrics=st.sampled_from([{}, {"calls": 5}, {"lines": 3}]),
    order=st.sampled_from(["", "", "lines", "returns"]),
    limit=st.integers(0, 4),
)


@given(files=FILES, questions=st.lists(ASKED, min_size=1, max_size=6))
@settings(max_examples=60)
def test_sqlite_answers_as_the_oracle_does(files: dict[str, list[Symbol]], questions: list[SymbolQuery]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sqlite, memory = SqliteStore(Path(folder, "index.db")), DictStore()
        for store in (sqlite, memory):
            store.writer.add_collection("/some/work")
            for path, symbols in files.items():
                store.writer.put(record(path), [], symbols)
        for question in questions:
            assert sqlite.symbols.definitions(question) == memory.symbols.definitions(question)
        for path in files:
            assert [sqlite.symbols.definitions_at(record(path), line) for line in range(1, 6)] == [
                memory.symbols.definitions_at(record(path), line) for line in range(1, 6)
            ]
        assert sqlite.symbols.definition_count() == memory.symbols.definition_count()
        assert sqlite.symbols.definition_kinds() == memory.symbols.definition_kinds()
        sqlite.close()
