"""Interfaces that nobody names: calls through them, who implements them, and where that is only a guess."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from dowse.callgraph.facts import CallQuery, CallTree
from dowse.config import Settings
from dowse.engine import Engine
from dowse.lookup.symbols import SymbolAnswer
from dowse.store.types import SymbolQuery
from support import write

GO = {
    "port.go": "package a\n\ntype Store interface {\n\tPut(key string) error\n\tGet(key string) (string, error)\n}\n\n"
    'func save(s Store) { s.Put("a") }\n',
    "disk.go": "package a\n\ntype Disk struct{}\n\nfunc (d *Disk) Put(key string) error { return nil }\n",
    "more.go": 'package a\n\nfunc (d *Disk) Get(key string) (string, error) { return "", nil }\n',
    "golf.go": "package a\n\ntype Golf struct{}\n\nfunc (g Golf) Put(key string) error { return nil }\n",
    "cloud.go": "package a\n\ntype Cloud struct{ Store }\n\nfunc (c Cloud) Put(key string) error { return nil }\n",
}
SCRIPT = {
    "port.ts": "export interface Store { put(key: string): void; get(key: string): string }\n"
    "export function save(s: Store) { s.put('a'); }\n",
    "disk.ts": "export class Disk { put(key: string) {} get(key: string) { return ''; } }\n",
    "golf.ts": "export class Golf { put(key: string) {} }\n",
    "cloud.ts": "import { Store } from './port';\n"
    "export class Cloud implements Store { put(key: string) {} get(key: string) { return ''; } }\n",
}


@pytest.fixture
def asked(tmp_path: Path):
    """What an engine over these files answers."""
    opened: list[Engine] = []

    def ask(files: Mapping[str, str]) -> Engine:
        write(tmp_path / "root", files)
        engine = Engine(Settings(encoder="none", data_dir=tmp_path), tmp_path / "index.db", create=True)
        engine.index([tmp_path / "root"])
        opened.append(engine)
        return engine

    yield ask
    for it in opened:
        it.close()


def reached(tree: CallTree) -> set[tuple[str, str]]:
    """The files of the callees, each with how sure it is."""
    return {(node.edge.callee.record.path, node.edge.confidence) for node in tree.nodes if node.edge.callee}


def named(answer: SymbolAnswer) -> dict[str, str]:
    return {it.symbol.name: it.note for it in answer.definitions}


@pytest.mark.parametrize(("files", "ending", "method"), [(GO, "go", "Put"), (SCRIPT, "ts", "put")])
def test_a_call_through_an_interface_reaches_what_has_its_methods_and_back(asked, files, ending, method) -> None:
    engine = asked(files)
    assert reached(engine.calls(CallQuery("save", direction="down", depth=1))) == {
        (f"port.{ending}", "exact"),
        (f"disk.{ending}", "virtual"),
        (f"cloud.{ending}", "virtual"),
    }
    for owner in ("Disk", "Cloud"):
        (node,) = engine.calls(CallQuery(method, owner, depth=1)).nodes
        assert node.edge.caller is not None and node.edge.caller.symbol.name == "save"
        assert node.edge.confidence == "virtual" and "Store" in node.edge.how
    assert not engine.calls(CallQuery(method, "Golf", depth=1)).nodes


@pytest.mark.parametrize("files", [GO, SCRIPT])
def test_types_with_the_methods_of_a_base_are_listed_with_a_note(asked, files) -> None:
    engine = asked(files)
    note = "structural: has the methods of interface Store"
    assert named(engine.symbols(SymbolQuery(base="Store"), structural=True)) == {"Cloud": "", "Disk": note}
    assert named(engine.symbols(SymbolQuery(base="Store"))) == {"Cloud": ""}
    asked_by_name = engine.symbols(SymbolQuery(base="store", names=("dis",)), structural=True)
    assert named(asked_by_name) == {"Disk": note} and asked_by_name.total == 1
    assert not engine.symbols(SymbolQuery(base="Store", names=("golf",)), structural=True).definitions
    cut = engine.symbols(SymbolQuery(base="Store", limit=1), structural=True)
    assert (len(cut.definitions), cut.total) == (1, 2)


def test_one_method_that_many_types_have_is_only_a_guess_and_is_counted(asked) -> None:
    types = "".join(f"type T{n} struct{{}}\n\nfunc (t T{n}) Close() error {{ return nil }}\n\n" for n in range(70))
    engine = asked(
        {
            "port.go": "package a\n\ntype Closer interface{ Close() error }\n\nfunc end(c Closer) { c.Close() }\n",
            "types.go": f"package a\n\n{types}",
        }
    )
    assert reached(engine.calls(CallQuery("end", direction="down", depth=1))) == {("port.go", "exact")}
    wide = CallQuery("end", direction="down", depth=1, width=0, nodes=0, confidence="possible")
    guessed = [it.edge for it in engine.calls(wide).nodes if it.edge.confidence == "possible"]
    assert len(guessed) == 50 and guessed[0].how == "one of 70 types that have the methods of interface Closer"
    callers = engine.calls(CallQuery("Close", "T3", depth=1))
    assert not callers.nodes and [it.site.line for it in callers.unresolved] == [5]
    (node,) = engine.calls(CallQuery("Close", "T3", depth=1, confidence="possible")).nodes
    assert node.edge.caller is not None and node.edge.caller.symbol.name == "end"


def test_a_name_that_very_many_have_still_leads_to_its_callers(asked) -> None:
    types = "".join(f"type T{n} struct{{}}\n\nfunc (t T{n}) Get() int {{ return 1 }}\n\n" for n in range(600))
    engine = asked(
        {
            "a.go": f"package a\n\n{types}func (t T3) Mine() int {{ return 1 }}\n",
            "z.go": "package a\n\ntype Both interface {\n\tGet() int\n\tMine() int\n}\n\n"
            "func use(b Both) { b.Get() }\n",
        }
    )
    (node,) = engine.calls(CallQuery("Get", "T3", depth=1)).nodes
    assert node.edge.caller is not None and node.edge.caller.symbol.name == "use"


def test_nothing_implements_an_interface_that_asks_for_nothing(asked) -> None:
    engine = asked(
        {
            "a.go": "package a\n\ntype Any interface{}\n\ntype Number interface{ ~int | ~string }\n\n"
            "type T struct{}\n\n"
            "func (t T) Go() {}\n",
            "b.ts": "interface Empty {}\nclass A { go() {} }\ninterface Data { id: number; go?(): void }\n",
        }
    )
    for name in ("Any", "Number", "Empty", "Data"):
        assert not engine.symbols(SymbolQuery(base=name), structural=True).definitions


@pytest.mark.parametrize(
    "method",
    ["Put(key string)", "Put(key int) error", "Put(key string, n int) error", "Put() error", "Put(key string) bool"],
)
def test_a_method_of_another_form_does_not_implement(asked, method) -> None:
    engine = asked(
        {
            "port.go": "package a\n\ntype Store interface{ Put(key string) error }\n",
            "t.go": f"package a\n\ntype T struct{{}}\n\nfunc (t T) {method} {{ panic(1) }}\n",
        }
    )
    assert not engine.symbols(SymbolQuery(base="Store"), structural=True).definitions


def test_what_is_written_otherwise_may_be_the_same_type(asked) -> None:
    """Packages, aliases, type parameters, `any` and `byte` are no differences."""
    engine = asked(
        {
            "port.go": 'package a\n\nimport "io/fs"\n\ntype Id = string\n\ntype Store[T any] interface {\n'
            "\tMode(m fs.FileMode) []byte\n\tFind(id Id) T\n\tAll(x interface{}) error\n}\n",
            "t.go": 'package a\n\nimport "os"\n\ntype Disk struct{}\n\n'
            "func (d *Disk) Mode(m os.FileMode) []uint8 { return nil }\n"
            "func (d *Disk) Find(id string) int { return 1 }\nfunc (d *Disk) All(x any) error { return nil }\n",
        }
    )
    assert list(named(engine.symbols(SymbolQuery(base="Store"), structural=True))) == ["Disk"]


def test_unexported_methods_are_implemented_in_their_own_package(asked) -> None:
    method = "\n\ntype T struct{}\n\nfunc (t T) seal() int { return 1 }\n"
    engine = asked(
        {
            "a/port.go": "package a\n\ntype Sealed interface{ seal() int }\n",
            "a/t.go": f"package a{method}",
            "b/t.go": f"package b{method}",
        }
    )
    found = engine.symbols(SymbolQuery(base="Sealed"), structural=True).definitions
    assert [it.record.path for it in found] == ["a/t.go"]


def test_a_method_beside_its_type_is_asked_for_by_its_type(asked) -> None:
    engine = asked(GO)
    tree = engine.calls(CallQuery("Get", "Disk", depth=1))
    assert [it.record.path for it in tree.roots] == ["more.go"] and "Disk" in tree.owners


def test_go_embedding_does_not_override(asked) -> None:
    engine = asked(
        {
            "a.go": "package a\n\ntype Inner struct{}\n\nfunc (i Inner) Run() { i.step() }\n\n"
            "func (i Inner) step() {}\n\n"
            "type Outer struct{ Inner }\n\nfunc (o Outer) step() {}\n"
        }
    )
    (node,) = engine.calls(CallQuery("Run", direction="down", depth=1)).nodes
    assert node.edge.callee is not None and node.edge.callee.trail == ("Inner",)
