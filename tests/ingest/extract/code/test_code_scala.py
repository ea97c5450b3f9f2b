"""Scala: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.scala import instance_of

SYMBOLS = [
    ("package a.b\nclass A\ntrait B", ["namespace a.b", "class a.b.A", "interface a.b.B"]),
    ("package a { class A }\nclass B", ["namespace a", "class a.A", "class B"]),
    (
        "case class P(name: String, private var r: Repo = null)(implicit q: Q) extends Base(name)",
        ["class P", "property P.name = :String;", "property P.r = :Repo;", "property P.q = :Q;"],
    ),
    ("class P(a: A, val b: B)", ["class P", "field P.a = :A;", "property P.b = :B;"]),
    (
        "class A {\n  def this(x: Int) = this(x, 1)\n  val z: Foo = make()\n"
        "  lazy val (a, b) = pair()\n  var y = Bar()\n}",
        ["class A", "constructor A.this", "field A.z = :Foo;", "field A.a", "field A.b", "field A.y = Bar()"],
    ),
    (
        "trait A {\n  def m(x: Int): Foo\n  def n = repo.find(1)\n  def u(): Unit = n()\n"
        "  val v: Foo\n  type T = Foo\n}",
        [
            "interface A",
            "method A.m = :Foo;",
            "method A.n = repo.find()",
            "method A.u",
            "field A.v = :Foo;",
            "typeAlias A.T = :Foo;",
        ],
    ),
    ("class A\nobject A { def apply() = new A }", ["class A", "class A", "method A.apply = :A;"]),
    ("package object pk { val x = 1 }\ncase object N extends S", ["class pk", "field pk.x = :Int;", "class N"]),
    (
        "enum E(val v: Int):\n  case One extends E(1)\n  case Two, Three\n  case Four(x: Int)\n  def f = 1",
        [
            "enum E",
            "property E.v = :Int;",
            "enumMember E.One",
            "enumMember E.Two",
            "enumMember E.Three",
            "enumMember E.Four",
            "method E.f = :Int;",
        ],
    ),
    (
        "given ord: Ord[Int] with\n  def compare(x: Int): Int = 1\ngiven Ord[String] = make()",
        ["class ord", "method ord.compare = :Int;", "variable given_Ord_String = :Ord[String];"],
    ),
    ("extension (s: String)\n  def a(n: Int): Foo = f(s)\n  def b = 1", ["function a = :Foo;", "function b = :Int;"]),
    (
        "def f(x: Int) = {\n  val y = 1\n  def g = 2\n  new Foo(x)\n}\nval top = f(1)",
        ["function f = :Foo;", "function f.g = :Int;", "variable top = f()"],
    ),
    ("class A {\n  def m = new I { def q = 1 }\n}", ["class A", "method A.m = :I;", "method A.m.q = :Int;"]),
    ("class Größe {\n  def m = ) \n  def n = 1\n}", ["class Größe", "method Größe.m", "method Größe.n = :Int;"]),
]


def inside(body: str) -> str:
    header = "class A(repo: Repo) extends Base {\n  def m(p: Foo, o: Any): Unit = {"
    return f"{header}\n{body}\n  }}\n  def n(): Unit = ()\n}}"


CALLS = [
    ("n(); this.n(); super.n(); Other.n()", ["n n", "n this.n", "n super.n", "n Other.n"]),
    ("p.go(); repo.save(); this.repo.save()", ["go :Foo;.go", "save repo.save", "save this.repo.save"]),
    ("val x = new Foo(1); x.go()", ["new Foo :Foo;", "go :Foo;.go"]),
    ("val x = Foo(1); x.go()", ["Foo Foo", "go Foo().go"]),
    ("val x: IFoo = make(); x.go()", ["make make", "go :IFoo;.go"]),
    ("var x = make()\nx = Foo()\nx.go()", ["make make", "Foo Foo", "go Foo().go"]),
    ("val (a, b) = pair(); a.go()", ["pair pair", "go ?.go"]),
    ("for (x <- p.items; y = x.next if y.ok()) x.go()", ["ok :Foo;.items[].next.ok", "go :Foo;.items[].go"]),
    ("for { x <- p.items } yield x.go()", ["go :Foo;.items[].go"]),
    (
        "o match { case f: Foo => f.go(); case b @ Bar(c) => b.go(); c.go(); case z => z.go(); case _ => f.go() }",
        ["go :Foo;.go", "go :Bar;.go", "go ?.go", "go ?.go", "go f.go"],
    ),
    ("try f() catch { case e: IOException => e.go() }", ["f f", "go :IOException;.go"]),
    (
        "a.b().c(); list(0).go(); get[Foo](1).go()",
        ["c a.b().c", "b a.b", "go list().go", "list list", "go get().go", "get get"],
    ),
    ("fold(1)(2).go(); use(1) { x => x.go() }", ["go fold().go", "fold fold", "use use", "go ?.go"]),
    ("p add repo; (p + o).go()", ["add :Foo;.add", "go ?.go"]),
    ("val x = if (c) p else make(); x.go()", ["make make", "go :Foo;.go|make().go"]),
    ('"x".go(); s"a ${p.go()}"', ["go :String;.go", "go :Foo;.go"]),
    ("new I(1) { def q = p.go() }", ["new I :I;", "q: go :Foo;.go"]),
    # Lambdas.
    ("p.items.map(x => x.go())", ["map :Foo;.items.map", "go :Foo;.items[].go"]),
    ("p.items foreach { x => x.go() }", ["foreach :Foo;.items.foreach", "go :Foo;.items[].go"]),
    ("p.items.map { x: Bar => x.go() }", ["map :Foo;.items.map", "go :Bar;.go"]),
    ("p.on((x: Bar, y) => { x.go(); y.go() })", ["on :Foo;.on", "go :Bar;.go", "go ?.go"]),
    ("p.items.map(_.go())", ["map :Foo;.items.map", "go ?.go"]),
    ("p.items.map { case (k, v) => v.go() }", ["map :Foo;.items.map", "go ?.go"]),
    # What is passed on.
    ("p.on(n); p.on(this.n _); p.on(o)", ["on :Foo;.on", "refer n n", "on :Foo;.on", "refer n this.n", "on :Foo;.on"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.scala", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.m: ", "").replace("A.m.", "") for line in call_lines(extracted("a.scala", inside(body)))]
    assert found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A(x: Int) extends B(x)", ["new A: super super"]),
        ("class A {\n  def this() = this(1)\n}", ["new A.this: this this"]),
        ("class A {\n  val z = Foo(1)\n  run()\n}", ["A: Foo Foo", "A: run run"]),
        ('class A {\n  @deprecated("x") def m = 1\n}', []),
        ("def f(xs: Foo*) = xs(0)\ndef g(x: => Foo) = x.go()", ["f: apply :Foo[];", "g: go :Foo;.go"]),
        ("extension (s: Foo)\n  def e = s.go()", ["e: go :Foo;.go"]),
    ],
)
def test_calls_elsewhere(source, expected):
    assert call_lines(extracted("a.scala", source)) == expected


def test_imports():
    found = extracted(
        "a.scala", "import a.b.C\nimport a.b._, c.D\nimport a.{E, F => G, H => _}\nimport x.{y as z, *}\n"
    )
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("a.b", "C=C", 1),
        ("a.b", "*=", 2),
        ("c", "D=D", 2),
        ("a", "E=E", 3),
        ("a", "G=F", 3),
        ("x", "z=y", 4),
        ("x", "*=", 4),
    ]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "a.scala",
        """
        @Serializable
        final class A[T <: Any](val x: Int) extends Base[T, Int](x) with N.IFoo {
          @throws(classOf[E])
          override protected def m[U](
              q: Int)(rest: String*): List[T] = {
          }
        }

        class B:
          def n =
            1

        class C
        """,
    )
    a, _, m, b, n, c = found.symbols
    assert (a.start_line, a.end_line, a.level) == (2, 8, 0)
    assert (a.modifiers, a.attributes) == (("final",), ("Serializable",))
    assert a.bases == ("Base[T,Int]", "N.IFoo")
    assert a.signature == "final class A[T <: Any](val x: Int) extends Base[T, Int](x) with N.IFoo"
    assert (m.start_line, m.end_line, m.level, m.parent, m.value_expression) == (4, 7, 1, 0, ":List[T];")
    assert m.parameters == ("Int", "String*")
    assert (m.modifiers, m.attributes) == (("override", "protected"), ("throws",))
    assert m.signature == "override protected def m[U]( q: Int)(rest: String*): List[T]"
    assert [(it.start_line, it.end_line) for it in (b, n, c)] == [(10, 12), (11, 12), (14, 14)]


def test_an_extension_takes_what_it_is_called_on():
    (found,) = extracted("a.scala", "extension (s: String)\n  def a(n: Int): Foo = 1").symbols
    assert (found.modifiers, found.parameters) == (("extension",), ("String", "Int"))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if (a) f() else if (b) g() else { h() }", (3, 3, 1, 2, 0, 3, 0)),
        ("for (x <- a) { while (b) { } }", (3, 3, 2, 2, 0, 0, 0)),
        ("return a && b || c", (3, 1, 0, 2, 1, 0, 0)),
        ("a match { case 1 => f(); case 2 => g(); case _ => h() }", (3, 1, 1, 2, 0, 3, 0)),
        ("try { } catch { case e: E => 1 }", (2, 0, 1, 2, 0, 0, 0)),
        ("f(x => x)", (1, 0, 1, 2, 0, 1, 1)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.scala", f"def m(a: Int, b: Int): Unit = {{\n{body}\n}}").symbols[0].stats == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Foo", ":Foo;"),
        ("Map[String, List[Foo]]", ":Map[String,List[Foo]];"),
        ("=> Foo", ":Foo;"),
        ("Foo*", ":Foo[];"),
        ("Foo with Bar", ":Foo;"),
        ("Foo | Bar", ":Foo;|:Bar;"),
        ("Foo { def x: Int }", ":Foo;"),
        ("F[A => B]", ":F[A=>B];"),
        ("A => B", ""),
        ("(A, B)", ""),
        ("x.type", ""),
        ("Unit", ""),
        ("", ""),
    ],
)
def test_written_types(written, expected):
    assert instance_of(written) == expected
