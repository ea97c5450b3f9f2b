"""Kotlin: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.kotlin import instance_of

SYMBOLS = [
    ("package a.b\nclass A\ninterface B", ["namespace a.b", "class a.b.A", "interface a.b.B"]),
    ("typealias Id = List<Foo>\nconst val K = 1", ["typeAlias Id = :List<Foo>;", "variable K = :Int;"]),
    (
        "data class P(val name: String, private var r: Repo? = null, q: Int) : Base(q)",
        ["class P", "property P.name = :String;", "property P.r = :Repo;", "field P.q = :Int;"],
    ),
    (
        "class A {\n  constructor(x: Int) { }\n  fun m(): Foo? = null\n}",
        ["class A", "constructor A.constructor", "method A.m = :Foo;"],
    ),
    (
        "class A {\n  val z by lazy { Foo() }\n  var y = Bar()\n  val w: Int get() = 1\n  lateinit var v: Foo\n}",
        ["class A", "property A.z = Foo()", "property A.y = Bar()", "property A.w = :Int;", "property A.v = :Foo;"],
    ),
    (
        "class A {\n  companion object { fun make() = A() }\n}",
        ["class A", "class A.Companion", "method A.Companion.make = A()"],
    ),
    (
        "class A {\n  companion object Key\n}\nobject S : I { fun x() { } }",
        ["class A", "class A.Key", "class S", "method S.x"],
    ),
    (
        "enum class E(val v: Int) {\n  ONE(1) { override fun q() { } },\n  TWO(2);\n  fun m() { }\n}",
        ["enum E", "property E.v = :Int;", "enumMember E.ONE", "method E.q", "enumMember E.TWO", "method E.m"],
    ),
    (
        "fun interface F {\n  fun run(): Int\n}\nannotation class Ann",
        ["interface F", "method F.run = :Int;", "class Ann"],
    ),
    (
        "fun String.ext(n: Int): Int = 1\nval String.prop: Foo get() = Foo()",
        ["function ext = :Int;", "property prop = :Foo;"],
    ),
    ("fun f() {\n  val x = 1\n  fun g(a: Int) { }\n}", ["function f", "function f.g"]),
    ("fun f(): Unit = g()\nfun g() = Foo()", ["function f", "function g = Foo()"]),
    ("class A {\n  init { val x = Foo() }\n}", ["class A"]),
    ("val (a, _, b: Int) = f()\nfun g() { val (x, y) = f() }", ["variable a", "variable b = :Int;", "function g"]),
    (
        "@Target(X)\n@Retention(Y)\nannotation class Ann\n\n@Suppress\nclass B",
        ["class Ann", "class B"],
    ),
    (
        'class A\n@Deprecated("use B, not A")\nconstructor(private val c: C) : D {\n  fun f() { }\n}',
        ["class A", "property A.c = :C;", "method A.f"],
    ),
    (
        "class Größe {\n  fun m() { x = ) }\n  val y = 1\n}",
        ["class Größe", "method Größe.m", "property Größe.y = :Int;"],
    ),
]


def test_an_annotation_class_says_what_it_is():
    ann, _ = extracted("A.kt", "@Target(X)\n@Retention\nannotation class Ann\nclass B\n").symbols
    assert (ann.modifiers, ann.attributes) == (("annotation",), ("Target", "Retention"))
    assert (ann.signature, ann.start_line, ann.end_line) == ("annotation class Ann", 1, 3)


def inside(body: str) -> str:
    return f"class A(val repo: Repo) : Base() {{\n  fun m(p: Foo, o: Any) {{\n{body}\n  }}\n  fun n() {{ }}\n}}"


CALLS = [
    ("n(); this.n(); super.n(); Other.n()", ["n n", "n this.n", "n super.n", "n Other.n"]),
    (
        "p.go(); repo.save(); this.repo.save(); this@A.n()",
        ["go :Foo;.go", "save repo.save", "save this.repo.save", "n this.n"],
    ),
    ("val x = Foo(1); x.go()", ["Foo Foo", "go Foo().go"]),
    ("val x: IFoo = make(); x.go()", ["make make", "go :IFoo;.go"]),
    ("var x = make()\nx = Foo()\nx.go()", ["make make", "Foo Foo", "go Foo().go"]),
    ("val (a, b) = pair(); a.go()", ["pair pair", "go ?.go"]),
    ("for (x in p.items) x.go()", ["go :Foo;.items[].go"]),
    ("if (o is Foo) o.go() else o.go()", ["go :Foo;.go", "go :Any;.go"]),
    ("if (o !is Foo) o.go()", ["go :Any;.go"]),
    (
        "when (o) {\n  is Foo -> o.go()\n  is Bar -> o.go()\n  else -> o.go()\n}",
        ["go :Foo;.go", "go :Bar;.go", "go :Any;.go"],
    ),
    ("when (val q = make()) {\n  is Foo -> q.go()\n  else -> q.go()\n}", ["make make", "go :Foo;.go", "go make().go"]),
    ("try { } catch (e: IOException) { e.go() }", ["go :IOException;.go"]),
    ("(o as Foo).go(); val x = o as? Foo; x?.go(); o!!.go()", ["go :Foo;.go", "go :Foo;.go", "go :Any;.go"]),
    ("p?.go(); p.make()?.go(); xs[0].go()", ["go :Foo;.go", "go :Foo;.make().go", "make :Foo;.make", "go xs[].go"]),
    ("val x = p.next ?: make(); x.go()", ["make make", "go :Foo;.next.go|make().go"]),
    ("val x = if (c) p else make(); x.go()", ["make make", "go :Foo;.go|make().go"]),
    ("listOf<Foo>(1).go(); A.B<C>()", ["go listOf().go", "listOf listOf", "B A.B"]),
    ('"x".go(); "a ${p.go()}"', ["go :String;.go", "go :Foo;.go"]),
    ("val x = object : I(1) { override fun q() { p.go() } }", ["new I :I;", "q: go :Foo;.go"]),
    # Lambdas.
    ("p.items.forEach { it.go() }", ["forEach :Foo;.items.forEach", "go :Foo;.items[].go"]),
    ("p.items.map { x -> x.go() }", ["map :Foo;.items.map", "go :Foo;.items[].go"]),
    ("p.next?.let { it.go() }", ["let :Foo;.next.let", "go :Foo;.next.go"]),
    ("p.next.apply { this.go() }", ["apply :Foo;.next.apply", "go :Foo;.next.go"]),
    ("p.with(1) { x: Bar -> x.go() }.end()", ["end :Foo;.with().end", "with :Foo;.with", "go :Bar;.go"]),
    ("run { it.go() }; other { it.go() }", ["run run", "go it.go", "other other", "go ?.go"]),
    # What is passed on.
    ("p.on(::n); p.on(this::n); p.on(o)", ["on :Foo;.on", "refer n n", "on :Foo;.on", "refer n n", "on :Foo;.on"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.kt", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.m: ", "").replace("A.m.", "") for line in call_lines(extracted("a.kt", inside(body)))]
    assert found == ["new A: super super", *expected]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A : B {\n  constructor(x: Int) : super(x) { }\n}", ["new A.constructor: super super"]),
        ("class A {\n  constructor() : this(1)\n}", ["new A.constructor: this this"]),
        ("class A {\n  init { val x = Foo(); x.go() }\n}", ["A: Foo Foo", "A: go Foo().go"]),
        ("class A {\n  val z by lazy { Foo() }\n}", ["A: lazy lazy", "A: Foo Foo"]),
        ('@Ann("x") class A {\n  @Inject(1) fun m() { }\n}', []),
        ("fun Foo.e() { this.go() }", ["e: go :Foo;.go"]),
        ("fun f(vararg xs: Foo) { xs[0].go() }", ["f: go :Foo[];[].go"]),
    ],
)
def test_calls_elsewhere(source, expected):
    assert call_lines(extracted("a.kt", source)) == expected


def test_imports():
    found = extracted("a.kt", "package p\n\nimport a.b.C\nimport a.b.*\nimport a.b.d as e\n")
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("a.b", "C=C", 3),
        ("a.b", "*=", 4),
        ("a.b", "e=d", 5),
    ]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "a.kt",
        """
        @Serializable
        @Named("x") internal sealed class A<T : Any>(val x: Int) : Base<T, Int>(x), N.IFoo
        {
            @Throws(E::class)
            override suspend fun <U> IFoo<U>.m(
                q: Int, vararg rest: String): List<T> {
            }
        }
        """,
    )
    a, _, m = found.symbols
    assert (a.start_line, a.end_line, a.level) == (2, 9, 0)
    assert (a.modifiers, a.attributes) == (("internal", "sealed"), ("Serializable", "Named"))
    assert a.bases == ("Base<T,Int>", "N.IFoo")
    assert a.signature == "internal sealed class A<T : Any>(val x: Int) : Base<T, Int>(x), N.IFoo"
    assert (m.start_line, m.end_line, m.level, m.parent, m.value_expression) == (5, 8, 1, 0, ":List<T>;")
    assert m.parameters == ("IFoo<U>", "Int", "vararg String")
    assert (m.modifiers, m.attributes) == (("override", "suspend", "extension"), ("Throws",))
    assert m.signature == "override suspend fun <U> IFoo<U>.m( q: Int, vararg rest: String): List<T>"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if (a) f() else if (b) g() else { h() }", (3, 3, 1, 2, 0, 3, 0)),
        ("for (x in a) { while (b) { } }", (3, 3, 2, 2, 0, 0, 0)),
        ("return a && b && c || d", (4, 2, 0, 2, 1, 0, 0)),
        ("when (a) {\n 1 -> f()\n 2, 3 -> g()\n else -> h()\n}", (3, 1, 1, 2, 0, 3, 0)),
        ("try { } catch (e: E) { }", (2, 2, 2, 2, 0, 0, 0)),
        ("f { x -> x }", (1, 0, 1, 2, 0, 1, 1)),
        ("do { } while (a ?: b)", (3, 2, 1, 2, 0, 0, 0)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.kt", f"fun m(a: Int, b: Int) {{\n{body}\n}}").symbols[0].stats == expected


def test_lambdas_count_as_arguments():
    calls = extracted("a.kt", "fun f() { g(); g(1, b = 2); g { }; g(1) { }; g(1, /* c */ 2) }").calls
    assert [it.arguments for it in calls] == [0, 2, 1, 2, 2]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Foo?", ":Foo;"),
        ("Map<String, List<Foo>>", ":Map<String,List<Foo>>;"),
        ("Foo<(Int) -> Unit>", ":Foo<(Int)->Unit>;"),
        ("(Foo)?", ":Foo;"),
        ("(Int) -> Foo", ""),
        ("((Int) -> Foo)?", ""),
        ("suspend () -> Unit", ""),
        ("Unit", ""),
        ("", ""),
    ],
)
def test_written_types(written, expected):
    assert instance_of(written) == expected
