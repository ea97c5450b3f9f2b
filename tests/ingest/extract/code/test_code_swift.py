"""Swift: what a snippet defines, calls and imports."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

SYMBOLS = [
    ("class Foo { let repo: Repo; var a: Int = 1, b = Bar() }",
     ["class Foo", "field Foo.repo = :Repo;", "field Foo.a = :Int;", "field Foo.b = Bar()"]),
    ("struct S { var c: String { return x }\n var d: [Foo] { get { y } } }",
     ["struct S", "property S.c = :String;", "property S.d = :Array<Foo>;"]),
    ("class A { init(r: R) {}\n deinit {}\n subscript(i: Int) -> X { get { x } } }",
     ["class A", "constructor A.init", "method A.deinit", "method A.subscript = :X;"]),
    ("enum E: String { case a, b = \"x\"\n case c(Int) }",
     ["enum E", "enumMember E.a", "enumMember E.b", "enumMember E.c"]),
    ("class F {}\nextension F: Q { func e() -> G? {} }", ["class F", "method F.e = :G;"]),
    ("extension A.B { func e() {} }", ["namespace A", "class A.B", "method A.B.e"]),
    ("protocol P: Q { var n: Int { get }\n func r(_ x: X) -> Y\n associatedtype I }",
     ["interface P", "property P.n = :Int;", "method P.r = :Y;", "typeAlias P.I"]),
    ("actor Ac {}\ntypealias T = Foo<Int>", ["class Ac", "typeAlias T = :Foo<Int>;"]),
    ("let g = Foo()\nfunc top(_ a: A) -> [String: B] { func inner() {}\n let local = 1 }",
     ["variable g = Foo()", "function top = :Dictionary<String,B>;", "function top.inner"]),
    ("class A { static func == (l: A, r: A) -> Bool { true } }", ["class A", "method A.== = :Bool;"]),
]  # fmt: skip

CALLS = [
    ("f(1)", ["A.f: f f"]),
    ("self.repo.save()", ["A.f: save this.repo.save"]),
    ("super.f(); Self.make()", ["A.f: f super.f", "A.f: make this.make"]),
    ("p.go(); q[0].go()", ["A.f: go :Foo;.go", "A.f: go :Array<Foo>;[].go"]),
    ("let u = Foo(x: 1); u.go()", ["A.f: Foo Foo", "A.f: go Foo().go"]),
    ("let t: Foo = make(); t.go()", ["A.f: make make", "A.f: go :Foo;.go"]),
    ("guard let x = y else { return }; x.go()", ["A.f: go y.go"]),
    ("if let x = y as? Foo, a { x.go() }", ["A.f: go :Foo;.go"]),
    ("for e in q { e.go() }", ["A.f: go :Array<Foo>;[].go"]),
    (
        "switch v { case .a(let n): n.go()\n case let k as K: k.go()\n default: break }",
        ["A.f: go ?.go", "A.f: go :K;.go"],
    ),
    ("do { try await g().h() } catch let e { e.go() }", ["A.f: h g()!.h", "A.f: g g", "A.f: go ?.go"]),
    ("q.map { $0.go() }", ["A.f: map :Array<Foo>;.map", "A.f: go :Array<Foo>;[].go"]),
    ("q.forEach { e in e.go() }", ["A.f: forEach :Array<Foo>;.forEach", "A.f: go :Array<Foo>;[].go"]),
    ("a?.b!.c()", ["A.f: c a.b.c"]),
    ("Foo<Int>(1).go()", ["A.f: go :Foo<Int>;.go", "new A.f: Foo :Foo<Int>;"]),
    ("run(f)", ["A.f: run run", "refer A.f: f f"]),
    ("_ = q[0]", []),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_definitions(source, expected):
    assert symbol_lines(extracted("a.swift", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = extracted("a.swift", f"class A {{ func f(p: inout Foo?, q: [Foo]) {{ {body} }} }}")
    assert call_lines(found) == expected


def test_calls_count_their_arguments():
    found = extracted("a.swift", "f(1, b: 2)\ng { 1 }\nh(1) { 2 }\nFoo<A>(1)\n")
    assert [it.arguments for it in found.calls] == [2, 1, 2, 1]


def test_what_definitions_say_of_themselves():
    source = """
        @available(iOS 1, *)
        public final class Foo<T: X>: Base, P {
          @Published private(set) var a = 1
          override func m(at i: Int, for b: inout B) async throws -> [Foo] { }
        }
        extension Foo: Q {}
    """
    foo, field, method = extracted("a.swift", source).symbols
    assert (foo.attributes, foo.modifiers, foo.bases) == (("available",), ("public", "final"), ("Base", "P", "Q"))
    assert foo.signature == "public final class Foo<T: X>: Base, P"
    assert (field.attributes, field.modifiers, field.signature) == (
        ("Published",), ("private(set)",), "private(set) var a = 1",
    )  # fmt: skip
    assert (method.modifiers, method.parameters) == (("override", "async", "throws"), ("Int", "B"))


def test_an_extension_of_a_type_that_is_elsewhere_stands_for_it():
    part, _ = extracted("a.swift", "extension Foo: Q { func e() {} }").symbols
    assert (part.kind, part.modifiers, part.bases) == ("class", ("extension", "partial"), ("Q",))


def test_imports():
    found = extracted("a.swift", "import Foundation\nimport struct A.B\n")
    assert [(it.target, it.context) for it in found.links] == [("Foundation", "*="), ("A.B", "*=")]
    assert found.facets["empty"] == "only imports"


def test_how_involved_a_function_is():
    source = """
        func f(a: A, b: B) { if x && y { for i in z { g { q in q } } } else if w { return } else { return }
          switch a { case 1: break; case 2: break; default: break } }
    """
    (it,) = extracted("a.swift", source).symbols
    assert it.stats is not None
    assert tuple(it.stats) == (7, 7, 3, 2, 2, 1, 1)
