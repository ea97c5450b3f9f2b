"""Java: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

SYMBOLS = [
    ("package a.b;\nclass A { }\ninterface B { }", ["namespace a.b", "class a.b.A", "interface a.b.B"]),
    (
        "class A { int x, y; Foo f = new Foo(); }",
        ["class A", "field A.x = :int;", "field A.y = :int;", "field A.f = :Foo;"],
    ),
    (
        "class A { A(int x) { } Foo m() { return null; } void n() { } }",
        ["class A", "constructor A.A", "method A.m = :Foo;", "method A.n"],
    ),
    ("interface I { int X = 1; List<Foo> m(); }", ["interface I", "field I.X = :int;", "method I.m = :List<Foo>;"]),
    ("enum E { ONE(1), TWO; void f() { } }", ["enum E", "enumMember E.ONE", "enumMember E.TWO", "method E.f"]),
    (
        "record R(int a, Foo b) { R { } }",
        ["record R", "property R.a = :int;", "property R.b = :Foo;", "constructor R.R"],
    ),
    ("@interface Ann { }", ["interface Ann"]),
    (
        '@interface Ann { String value() default "x"; Class<?>[] types(); long MAX = 1; }',
        ["interface Ann", "method Ann.value = :String;", "method Ann.types = :Class<?>[];", "field Ann.MAX = :long;"],
    ),
    ("@CheckReturnValue\npackage a.b;\n", ["namespace a.b"]),
    (
        "class A { int x[], y; int f()[] { return null; } }",
        ["class A", "field A.x = :int[];", "field A.y = :int;", "method A.f = :int[];"],
    ),
    ("class A { class B { enum C { D } } }", ["class A", "class A.B", "enum A.B.C", "enumMember A.B.C.D"]),
    ("class A { void m( { } void n() { } }\nclass Größe { }", ["class A", "method A.m", "method A.n", "class Größe"]),
]


def test_an_element_of_an_annotation_is_no_function_with_a_body():
    _, value = extracted("A.java", '@interface A { @Deprecated String value() default ""; }').symbols
    assert (value.signature, value.attributes, value.stats) == ('String value() default ""', ("Deprecated",), None)


def inside(body: str) -> str:
    return f"class A extends Base {{ Repo repo; void m(Foo p, Object o) {{ {body} }} void n() {{ }} }}"


CALLS = [
    ("n(); this.n(); super.n(); Other.n();", ["n n", "n this.n", "n super.n", "n Other.n"]),
    ("p.go(); repo.save(); this.repo.save();", ["go :Foo;.go", "save repo.save", "save this.repo.save"]),
    ("var x = new Foo(1); x.go();", ["new Foo :Foo;", "go :Foo;.go"]),
    (
        "IFoo x = make(); x.go(); var y = repo.find(); y.go();",
        ["make make", "go :IFoo;.go", "find repo.find", "go repo.find().go"],
    ),
    ("for (Foo x : p.items) x.go(); for (var y : p.items) y.go();", ["go :Foo;.go", "go :Foo;.items[].go"]),
    (
        "try (var s = open()) { s.read(); } catch (IOException | E e) { e.go(); }",
        ["open open", "read open().read", "go :IOException;.go"],
    ),
    ("if (o instanceof Foo f) f.go();", ["go :Foo;.go"]),
    (
        "switch (o) { case Foo f -> f.go(); case Bar b -> b.go(); default -> n(); }",
        ["go :Foo;.go", "go :Bar;.go", "n n"],
    ),
    ("((Foo) o).go(); xs[0].go(); a.b().c();", ["go :Foo;.go", "go xs[].go", "c a.b().c", "b a.b"]),
    ("var x = c ? p : make(); x.go();", ["make make", "go :Foo;.go|make().go"]),
    (
        "new ArrayList<Foo>(); this.<Foo>get(1); new I() { void q() { p.go(); } };",
        ["new ArrayList :ArrayList<Foo>;", "get this.get", "new I :I;", "q: go :Foo;.go"],
    ),
    ("p.items.forEach(x -> x.go());", ["forEach :Foo;.items.forEach", "go :Foo;.items[].go"]),
    ("p.on((Bar x, y) -> x.go());", ["on :Foo;.on", "go :Bar;.go"]),
    (
        "p.on(this::n); p.on(A::n); p.on(A::new);",
        ["on :Foo;.on", "refer n this.n", "on :Foo;.on", "refer n A.n", "on :Foo;.on"],
    ),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.java", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.m: ", "").replace("A.m.", "") for line in call_lines(extracted("a.java", inside(body)))]
    assert found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "class A extends B { A() { super(1); } A(int x) { this(); } }",
            ["new A.A: super super", "new A.A: this this"],
        ),
        ("class A { Foo f = make(); }", ["A: make make"]),
        ('@Ann("x") class A { @Inject void m() { } }', []),
        ("class A { void m(Foo... xs) { xs[0].go(); } }", ["A.m: go :Foo[];[].go"]),
    ],
)
def test_calls_elsewhere(source, expected):
    assert call_lines(extracted("a.java", source)) == expected


def test_imports():
    found = extracted("A.java", "import a.b.C;\nimport a.b.*;\nimport static a.B.c;")
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("a.b", "C=C", 1),
        ("a.b", "*=", 2),
        ("a.B", "c=c", 3),
    ]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "A.java",
        """
        @Serializable
        @Named("x") public final class A<T extends B> extends Base<T, Integer> implements N.IFoo, J {
            @Override
            protected static <U> List<T> m(
                final IFoo<U> f, String... rest) throws E {
            }
        }
        """,
    )
    a, m = found.symbols
    assert (a.start_line, a.end_line, a.level) == (2, 8, 0)
    assert (a.modifiers, a.attributes) == (("public", "final"), ("Serializable", "Named"))
    assert a.bases == ("Base<T,Integer>", "N.IFoo", "J")
    assert a.signature == "public final class A<T extends B> extends Base<T, Integer> implements N.IFoo, J"
    assert (m.start_line, m.end_line, m.level, m.parent, m.value_expression) == (4, 7, 1, 0, ":List<T>;")
    assert m.parameters == ("IFoo<U>", "String...")
    assert (m.modifiers, m.attributes) == (("protected", "static"), ("Override",))
    assert m.signature == "protected static <U> List<T> m( final IFoo<U> f, String... rest) throws E"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if (a) f(); else if (b) g(); else { h(); }", (3, 3, 1, 2, 0, 3, 0)),
        ("for (;;) { for (var x : a) { while (b) { } } }", (4, 6, 3, 2, 0, 0, 0)),
        ("return a && b && c || d;", (4, 2, 0, 2, 1, 0, 0)),
        ("switch (a) { case 1: break; case 2: break; default: break; }", (3, 1, 1, 2, 0, 0, 0)),
        ("try { } catch (E e) { }", (2, 2, 2, 2, 0, 0, 0)),
        ("f(x -> x ? 1 : 2);", (2, 2, 2, 2, 0, 1, 1)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.java", f"class A {{ void m(int a, int b) {{ {body} }} }}").symbols[1].stats == expected
