"""JavaScript and TypeScript: what a snippet defines, calls and imports."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.code.chunks import split_along_definitions
from dowse.model import Extraction, Item


def extract(text: str, path: str = "a.ts") -> Extraction:
    return extract_code(Item(path, len(text), 0), text.encode())


def defined(text: str, path: str = "a.ts") -> list[str]:
    found = extract(text, path).symbols
    names = [f"{found[it.parent].name}.{it.name}" if it.parent is not None else it.name for it in found]
    return [f"{it.kind} {name} {it.value_expression}".rstrip() for it, name in zip(found, names, strict=True)]


def called(text: str, path: str = "a.ts") -> list[str]:
    found = extract(text, path)
    around = [None if it.symbol is None else found.symbols[it.symbol].name for it in found.calls]
    return [
        f"{name or '-'}: {it.callee}{'' if it.kind == 'call' else f' ({it.kind})'}"
        for it, name in zip(found.calls, around, strict=True)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("function f(a: A): B {}", ["function f :B;"]),
        ("export default class Foo extends Bar implements I {}", ["class Foo"]),
        ("class A { x: Foo | null = null; y = new Bar(); }", ["class A", "field A.x :Foo;", "field A.y :Bar;"]),
        ("class A { run = () => this.go(); }", ["class A", "method A.run this.go()"]),
        ("class A { get v(): number { return 1 } }", ["class A", "property A.v :number;"]),
        (
            "class A { constructor(private repo: Repo, b: B) { this.z = new Z(); } }",
            ["class A", "field A.repo :Repo;", "constructor A.constructor", "field A.z :Z;"],
        ),
        ("abstract class A { abstract m(): Promise<B>; }", ["class A", "method A.m :Promise<B>;"]),
        ("interface I extends J { p: string; m(a: A): B }", ["interface I", "field I.p :string;", "method I.m :B;"]),
        ("type T = { a: X };", ["typeAlias T", "field T.a :X;"]),
        ("type T = A & { readonly a: X; m(): Y };", ["typeAlias T", "field T.a :X;", "method T.m :Y;"]),
        (
            "interface W { a: X }\ndeclare var W: { readonly b: Y; new (): W };",
            ["interface W", "field W.a :X;", "variable W", "field W.b :Y;"],
        ),
        ("declare class A { m(a: B): C; }", ["class A", "method A.m :C;"]),
        (
            "const E = { A: 1, 'b-c': { D: 2 } } as const;",
            ["variable E", "field E.A", "field E.b-c", "field b-c.D"],
        ),
        ("class A { static o = { k: 1 }; 'q' = 2; }", ["class A", "field A.o", "field o.k", "field A.q :number;"]),
        ("enum E { A, B = 2 }", ["enum E", "enumMember E.A", "enumMember E.B"]),
        ("namespace N { export const q = make(); }", ["namespace N", "variable N.q make()"]),
        ("declare function foo(a: number): string;", ["function foo :string;"]),
        ("export const f = async (p: P) => p.q();", ["function f :P;.q()"]),
        ("const o = { a() {}, b: () => 1, c: 2 };", ["variable o", "field o.c", "method a", "function b :number;"]),
        ("const o = Object.freeze({ a: 1, [b]: 2, c });", ["variable o Object.freeze()", "field o.a"]),
        ("const o = { p: { f: function () {} } };", ["variable o", "field o.p", "function f"]),
        (
            "const [a, { b, c: [d] }, ...e] = f();",
            ["variable a f()[]", "variable b f()[].b", "variable d f()[].c[]", "variable e f()[]"],
        ),
        ("const { a = 1, ...b } = x;", ["variable a x.a", "variable b x.b"]),
        ("exports.a = 1; module.exports = { b: 2, c };", ["variable a :number;", "variable b"]),
        ("function f() {}; exports.f = f;", ["function f"]),
        ("module.exports = function go() {};", ["function go"]),
        ("function F() {}\nF.a = 1;\nF.prototype.b = 2;", ["function F", "field F.a :number;", "field F.b :number;"]),
        ("Up.a = { k: 1 };\nfunction Up() {}", ["variable a", "field a.k", "function Up"]),
        ("low.a = 1; f({ k: 1 });", []),
        ("let f; f = function () {};", ["variable f", "function f"]),
        ("on('x', function done() { g(); });", ["function done"]),
        ("Foo.Bar = class Baz { m() {} };", ["class Baz", "method Baz.m"]),
        ("Foo.Bar = class { m() {} };", ["class Bar", "method Bar.m"]),
        ("function f() { const o = { k: 1 }; F.a = 2; }", ["function f"]),
        ("X.prototype.f = function () {}; exports.g = () => 1;", ["function f", "function g :number;"]),
        ("const m = require('./m'); const { a } = require('./n');", []),
        ("function f() { const inner = () => 1; const x = 2; }", ["function f", "function f.inner :number;"]),
        ("function outer() { function inner() {} }", ["function outer", "function outer.inner"]),
    ],
)
def test_definitions(text, expected):
    assert defined(text) == expected


def test_members_of_objects_are_no_places_to_cut():
    keys = "".join(f"  key{number}: 'some value of a key',\n\n" for number in range(150))
    text = f"const o = {{\n{keys}}};\n"
    found = extract(text)
    assert len(found.symbols) == 151
    assert found.blocks == split_along_definitions(text, found.symbols[:1])


def test_objects_that_are_data_are_not_listed_to_the_end():
    assert len(extract(f"const o = {{ {', '.join(f'k{number}: 1' for number in range(5000))} }};").symbols) == 201


def test_what_a_named_callback_calls_is_called_where_it_stands():
    assert called("function f(xs) { xs.map(function g(x) { x.go(); }); }") == ["f: ?.map", "f: ?.go"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f(1, 2);", ["-: f"]),
        ("class A { r: Repo; m() { this.r.save(); } }", ["m: this.r.save"]),
        ("function f(x: Foo) { x.bar().baz?.(); }", ["f: :Foo;.bar().baz", "f: :Foo;.bar"]),
        ("function f() { const a = new Foo(); a.go(); }", ["f: :Foo; (new)", "f: :Foo;.go"]),
        ("async function f() { const a = await load(); a.go(); }", ["f: load", "f: load()!.go"]),
        ("function f(xs: Item[]) { for (const x of xs) x.go(); }", ["f: :Item[];[].go"]),
        ("function f(xs: Item[]) { xs.map(x => x.go()); }", ["f: :Item[];.map", "f: :Item[];[].go"]),
        ("function f({ repo }: Deps) { repo.save(); }", ["f: :Deps;.repo.save"]),
        ("function f(d: Deps) { const { repo: r } = d; r.save(); }", ["f: :Deps;.repo.save"]),
        (
            "class A extends B { constructor() { super(1); } m() { super.m(); } }",
            ["constructor: super (new)", "m: super.m"],
        ),
        ("(v as Foo).bar(); (<Foo>v).baz(); v!.qux();", ["-: :Foo;.bar", "-: :Foo;.baz", "-: v.qux"]),
        ("const f = () => 1; run(f);", ["-: run", "-: f (refer)"]),
        ("@Component({}) class A { @Input() x; }", ["A: Component (decorate)", "A: Input (decorate)"]),
        ("function f(e) { e.go(); }", ["f: ?.go"]),
    ],
)
def test_calls(text, expected):
    assert called(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import d from './x'", [("./x", "d=default")]),
        ("import { a as b, c } from './x'", [("./x", "b=a"), ("./x", "c=c")]),
        ("import * as ns from 'y'", [("y", "ns=")]),
        ("import './side'", [("./side", "./side=")]),
        ("export * from './z'", [("./z", "*=")]),
        ("export { q as r } from './w'", [("./w", "r=q")]),
        ("const m = require('./m'), { a, b: c } = require('./n')", [("./m", "m="), ("./n", "a=a"), ("./n", "c=b")]),
    ],
)
def test_imports(text, expected):
    assert [(it.target, it.context) for it in extract(text).links] == expected


def test_a_default_import_is_found_by_the_name_it_has_here():
    (call,) = extract("import make from './x'; make();").calls
    assert (call.name, call.callee) == ("make", "make")


def test_what_a_class_says_of_itself():
    text = """@Injectable({ x: 1 })
export abstract class Foo<T> extends Base<T> implements IA, ns.IB {
  static async go(a: A, b?: B) {}
}
"""
    foo, go = extract(text).symbols
    assert (foo.attributes, foo.bases, foo.start_line, foo.end_line) == (("Injectable",), ("Base", "IA", "ns.IB"), 1, 4)
    assert set(foo.modifiers) == {"export", "abstract"}
    assert foo.signature == "abstract class Foo<T> extends Base<T> implements IA, ns.IB"
    assert (go.modifiers, go.parameters) == (("static", "async"), ("A", "B"))


def test_how_involved_a_function_is():
    text = """function f(a, b) {
      if (a && b) { for (const x of a) { g(() => x); } } else if (b) { return 1; } else { return 2; }
      switch (a) { case 1: break; case 2: return 3; default: }
    }"""
    (symbol,) = extract(text).symbols
    assert symbol.stats is not None
    assert symbol.stats._asdict() == {
        "cyclomatic": 7, "cognitive": 7, "nesting": 3, "parameters": 2, "returns": 3, "calls": 1, "lambdas": 1,
    }  # fmt: skip


@pytest.mark.parametrize("path", ["a.js", "a.mjs", "a.cjs", "a.jsx", "a.ts", "a.mts", "a.cts", "a.tsx"])
def test_every_suffix_is_read(path):
    assert defined("class A { m() { return 1 } }", path) == ["class A", "method A.m :number;"]


@pytest.mark.parametrize("path", ["a.jsx", "a.tsx"])
def test_elements_refer_to_what_they_show(path):
    text = "import Foo from './foo';\nconst Bar = () => <Foo a={1}><Bar/></Foo>;\n"
    assert called(text, path) == ["Bar: Foo (refer)", "Bar: Bar (refer)"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("// nothing\n", "only comments"), ("import './a';\n", "only imports"), ("", "nothing but blanks")],
)
def test_why_a_file_defines_nothing(text, reason):
    assert extract(text).facets["empty"] == reason


@pytest.mark.parametrize(
    "text",
    [
        "class A { m( { } function ok() {}",
        "(" * 5000,
        "a." * 20_000 + "b()",
        "x=" + "[" * 3000 + "]" * 3000,
        "\ufeffclass A {}\r\nfunction b() {}\r\n",
        "if (a) {} else " * 500 + "{}",
        "var a=1;" * 20_000,
    ],
    ids=["cut", "open", "chain", "nested", "bom", "else-if", "minified"],
)
def test_broken_and_absurd_sources_are_read_as_far_as_they_go(text):
    found = extract(text, "a.js")
    assert all(1 <= it.start_line <= it.end_line for it in found.symbols)
    assert all(it.parent is None or it.parent < at for at, it in enumerate(found.symbols))
