"""What the call graph is worked out from: both stores must tell the same, whatever is in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dowse.model import Call, Link, Record, Symbol
from dowse.store.base import Store
from dowse.store.sqlite import SqliteStore
from oracle.dict_store import DictStore


def record(path: str, collection: str = "code", digest: str = "d") -> Record:
    return Record(collection, path, "code", path, 1, 1, digest, "c")


def fill(store: Store) -> None:
    for root in ("/work/code", "/work/more"):
        store.writer.add_collection(root)
    outline = [
        Symbol("Ns", "namespace", 1, 40),
        Symbol("Repo", "class", 2, 30, 1, 0, bases=("a.Base<T>", "IRepo")),
        Symbol("Save", "method", 3, 9, 2, 1, modifiers=("public", "extension"), parameters=("string",)),
        Symbol("save", "field", 10, 10, 2, 1, value_expression=":Foo;"),
        Symbol("inner", "function", 4, 5, 3, 2),
    ]
    store_as_box = Link("import", ".store", 1, "Box=Store")
    links = [store_as_box, Link("import", "x", 2, "*="), Link("url", ".store", 3, "B=Store")]
    calls = [
        Call("go", "this.go\t0=halt", 8, 2, 1),
        Call("go", "go", 4, 4),
        Call("stop", "?.stop", 5, None, 2, "refer"),
    ]
    store.writer.put(record("b/m.cs"), [], outline, links, calls)
    store.writer.put(record("a/m.cs"), [], outline[:2], [Link("import", "lib.store", 1, "Crate=Store")], calls[:1])
    store.writer.put(record("a/m.cs", "more"), [], outline[:2], [], calls[1:])
    store.writer.put(record("m.cs.txt"), [], [Symbol("Repo", "heading", 1, 1)], [], [])


def _first(store: Store) -> int:
    return next(it.key for it in store.symbols.files_named("m.cs") if it.path == "b/m.cs")


QUESTIONS: dict[str, Callable[[Store], object]] = {
    "files by name": lambda store: [it[1:] for it in store.symbols.files_named("m.cs")],
    "no file": lambda store: store.symbols.files_named("M.cs"),
    "by name": lambda store: [(it[1:], it.ref.ordinal) for it in store.symbols.definitions_named(["SAVE", "repo"])],
    "of a kind": lambda store: [
        it[1:] for it in store.symbols.definitions_named(["save", "repo"], kinds=["class", "field"])
    ],
    "with a modifier": lambda store: [it[1:] for it in store.symbols.definitions_named(["save"], modifier="extension")],
    "no such modifier": lambda store: store.symbols.definitions_named(["save"], modifier="ext"),
    "a few": lambda store: [it[1:] for it in store.symbols.definitions_named(["repo"], limit=2)],
    "nowhere": lambda store: store.symbols.definitions_named(["repo"], within=[]),
    "heirs": lambda store: [(it[1:], it.ref.ordinal) for it in store.symbols.definitions_extending(["BASE", "irepo"])],
    "no heirs": lambda store: store.symbols.definitions_extending(["a", "T"]),
    "sites": lambda store: [it[1:] for it in store.symbols.sites(["go", "stop"], 100)],
    "the first sites": lambda store: [it[1:] for it in store.symbols.sites(["go"], 2)],
    "sites of a file": lambda store: [it[1:] for it in store.symbols.sites_in(_first(store))],
    "sites of a kind": lambda store: [it[1:] for it in store.symbols.sites_in(_first(store), kind="refer")],
    "sites with a text": lambda store: [it[1:] for it in store.symbols.sites_in(_first(store), having="halt")],
    "sites with a text of a kind": lambda store: store.symbols.sites_in(_first(store), kind="refer", having="halt"),
    "other case": lambda store: store.symbols.sites(["Go"], 9),
    "imports": lambda store: store.symbols.imported_as([".store", "lib.store"], "Store"),
    "imports of everything": lambda store: store.symbols.imported_as(["x"], ""),
    "no imports": lambda store: store.symbols.imported_as(["store"], "Store"),
}


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_both_stores_tell_the_same(tmp_path: Path, ask: Callable[[Store], object]) -> None:
    sqlite, memory = SqliteStore(tmp_path / "index.db"), DictStore()
    for store in (sqlite, memory):
        fill(store)
    with sqlite.catalog.snapshot(), memory.catalog.snapshot():
        assert ask(sqlite) == ask(memory)
    sqlite.close()


@pytest.fixture(params=["sqlite", "dicts"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    opened: Store = SqliteStore(tmp_path / "index.db") if request.param == "sqlite" else DictStore()
    fill(opened)
    return opened


def test_what_is_found(store: Store) -> None:
    found = store.symbols.definitions_named(["save"], kinds=["method"])
    assert [(it.name, it.kind, it.trail, it.collection, it.path) for it in found] == [
        ("Save", "method", ("Ns", "Repo"), "code", "b/m.cs")
    ]
    assert store.symbols.definitions_named(["inner"])[0].trail == ("Ns", "Repo", "Save")
    assert [it.path for it in store.symbols.definitions_extending(["base"])] == ["a/m.cs", "b/m.cs", "a/m.cs"]
    assert [(it.name, it.line, it.symbol, it.arguments, it.kind) for it in store.symbols.sites(["go"], 9)] == [
        ("go", 8, 2, 1, "call"), ("go", 4, 4, 0, "call"), ("go", 8, 2, 1, "call"), ("go", 4, 4, 0, "call"),
    ]  # fmt: skip
    assert store.symbols.imported_as([".store"], "Store") == ["Box"]


def test_facts_are_whole(store: Store) -> None:
    (key, *_), *_ = store.symbols.files_named("m.cs")
    (facts,) = store.symbols.facts([key])
    assert (facts.record.path, [it.name for it in facts.symbols]) == ("a/m.cs", ["Ns", "Repo"])
    assert [it.target for it in facts.imports] == ["lib.store"]
    assert [it.line for it in store.symbols.sites_in(key)] == [8]
    assert store.symbols.definitions_named(["repo"], within=[key])[0].ref.record == key
    assert store.symbols.facts([]) == [] and store.symbols.facts([10**6]) == []


def test_a_stamp_differs_whenever_facts_may(store: Store) -> None:
    keys = [it.key for it in store.symbols.files_named("m.cs")]
    before = store.symbols.fingerprints(keys)
    assert len(set(before.values())) == len(keys) == 3
    store.writer.put(record("a/m.cs", digest="other"), [])
    store.writer.touch("code", "b/m.cs", size=1, mtime_ns=5, settled=True)
    after = store.symbols.fingerprints([it.key for it in store.symbols.files_named("m.cs")])
    assert sum(before[key] != after.get(key) for key in keys) == 2
    assert store.symbols.fingerprints([10**6]) == {}


def test_one_moment_does_not_see_what_is_written_meanwhile(tmp_path: Path) -> None:
    reading, writing = SqliteStore(tmp_path / "index.db"), SqliteStore(tmp_path / "index.db")
    fill(writing)
    with reading.catalog.snapshot():
        assert len(reading.symbols.sites(["go"], 9)) == 4
        writing.writer.drop("code", ["b/m.cs"])
        with reading.catalog.snapshot():
            assert len(reading.symbols.sites(["go"], 9)) == 4
    assert len(reading.symbols.sites(["go"], 9)) == 2
    reading.close()
    writing.close()


@pytest.mark.parametrize("name", ["%", "_", "a'b", '"', "\x1f", "\x00", "\ud800", "[", "*", "x" * 10**6])
def test_any_text_is_just_a_name_to_sqlite(tmp_path: Path, name: str) -> None:
    store = SqliteStore(tmp_path / "index.db")
    fill(store)
    assert store.symbols.sites([name], 9) == []
    assert store.symbols.definitions_named([name]) == [] and store.symbols.definitions_extending([name]) == []
    store.close()


def test_what_is_passed_stands_beside_the_callee(store: Store) -> None:
    with store.catalog.snapshot():
        having = store.symbols.sites_in(_first(store), having="halt")
        assert [(it.callee, it.passed) for it in having] == [("this.go", "0=halt")]
        assert [it.name for it in store.symbols.sites_in(_first(store), kind="refer")] == ["stop"]
