"""PHP: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.extract import split_unparsed_code
from dowse.ingest.extract.code.languages.php import instance_of


def php(source: str) -> str:
    return f"<?php\n{source}"


SYMBOLS = [
    ("namespace A\\B;\nclass C { }\nfunction f() { }", ["namespace A.B", "class A.B.C", "function A.B.f"]),
    ("namespace A { class C { } }\nclass D { }", ["namespace A", "class A.C", "class D"]),
    (
        "class A { public ?Repo $r = null, $s; private int|Foo $n; }",
        ["class A", "field A.r = :Repo;", "field A.s = :Repo;", "field A.n = :int;|:Foo;"],
    ),
    (
        "class A { function __construct(private readonly Repo $repo, Foo $f) { $this->z = new Z(); } }",
        ["class A", "field A.repo = :Repo;", "constructor A.__construct", "field A.z = :Z;"],
    ),
    (
        "class A { function m(): ?Foo { } static function n(): static { } }",
        ["class A", "method A.m = :Foo;", "method A.n = :self;"],
    ),
    ("class A { function m() { return $this->r->find(); } }", ["class A", "method A.m = this.r.find()"]),
    (
        "class A { const X = 1, Y = 'a'; }\nconst Z = 2;",
        ["class A", "field A.X = :int;", "field A.Y = :string;", "variable Z = :int;"],
    ),
    ("interface I extends J { function m(int $x): string; }", ["interface I", "method I.m = :string;"]),
    ("trait T { function t() { } }", ["interface T", "method T.t"]),
    (
        "enum E: string { case A = 'a'; case B = 'b'; function l() { } }",
        ["enum E", "enumMember E.A", "enumMember E.B", "method E.l"],
    ),
    ("function f() { $x = 1; function g() { } }\n$top = f();", ["function f", "function f.g", "variable $top"]),
    (
        "if ($x) { $a = 1; }\n[$b, $c] = f();\n$a = 2;\n$d = function () { $e = 1; };",
        ["variable $a", "variable $b", "variable $c", "variable $d"],
    ),
    ("namespace N;\n$a = 1;\nfunction a() { }", ["namespace N", "variable N.$a = :int;", "function N.a"]),
    (
        "define('A', 1);\nfunction f() { define(\"B\", 2); define($c, 3); define('D'); }",
        ["variable A = :int;", "function f", "variable f.B = :int;"],
    ),
    ("function f(): \\A\\B\\Foo { }", ["function f = :A.B.Foo;"]),
    ("class Größe { function m( { } function n() { } }", ["class Größe", "method Größe.m", "method Größe.n"]),
]


def inside(body: str) -> str:
    return php(f"class A extends Base {{ private Repo $repo; function m(Foo $p, $o) {{ {body} }} function n() {{ }} }}")


CALLS = [
    (
        "n(); $this->n(); self::n(); static::n(); parent::n(); Other::n();",
        ["n n", "n this.n", "n this.n", "n this.n", "n super.n", "n Other.n"],
    ),
    ("$p->go(); $this->repo->save(); $o->go();", ["go :Foo;.go", "save this.repo.save", "go ?.go"]),
    ("$x = new Foo(1); $x->go(); (new Bar)->go();", ["new Foo :Foo;", "go :Foo;.go", "go :Bar;.go", "new Bar :Bar;"]),
    ("new \\A\\Foo(); new self(); new static; new $o();", ["new Foo :A.Foo;", "new A :A;", "new A :A;", "new new ?"]),
    ("$x = make(); $x->go(); $x = $y = $p; $x->go();", ["make make", "go make().go", "go :Foo;.go"]),
    ("[$a, $b] = pair(); $a->go();", ["pair pair", "go ?.go"]),
    ("foreach ($p->items as $x) $x->go(); foreach ($p->items as $k => $y) { $y->go(); }", ["go :Foo;.items[].go"] * 2),
    ("if ($o instanceof Foo) { $o->go(); } else { $o->go(); }", ["go :Foo;.go", "go ?.go"]),
    ("try { } catch (A | B $e) { $e->go(); }", ["go :A;.go|:B;.go"]),
    (
        "$p?->go(); $p->make()?->go(); $p->xs[0]->go();",
        ["go :Foo;.go", "go :Foo;.make().go", "make :Foo;.make", "go :Foo;.xs[].go"],
    ),
    ("$x = $p->next ?? make(); $x->go();", ["make make", "go :Foo;.next.go|make().go"]),
    ("$x = $c ? $p : make(); $x->go(); (clone $p)->go();", ["make make", "go :Foo;.go|make().go", "go :Foo;.go"]),
    (
        "\\A\\B\\f(); namespace\\f(); \\X\\Y::baz(); Foo::$it->go(); self::$it->go();",
        ["f A.B.f", "f f", "baz X.Y.baz", "go Foo.it.go", "go this.it.go"],
    ),
    ("$o(); $p->$o(); Foo::A->go();", ["o ?", "go Foo.A.go"]),
    (
        '"a {$p->go()}"; $x = new class(1) extends Bar { function q() { $this->r(); } };',
        ["go :Foo;.go", "new Bar :Bar;", "q: r this.r"],
    ),
    (
        "$f = fn(Bar $x) => $x->go(); $g = function ($y) use ($p) { $y->go(); $p->go(); };",
        ["go :Bar;.go", "go ?.go", "go :Foo;.go"],
    ),
    ("$x = [new Foo()]; $x[0]->go();", ["new Foo :Foo;", "go :Foo[];[].go"]),
]


def test_variables_of_a_script_are_no_places_to_cut():
    text = "<?php\n" + "".join(f"$x{number} = 'some value';\n\n" for number in range(200))
    found = extracted("a.php", text)
    assert len(found.symbols) == 200
    assert found.blocks == split_unparsed_code(text)


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.php", php(source))) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.m: ", "").replace("A.m.", "") for line in call_lines(extracted("a.php", inside(body)))]
    assert found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "class A extends B { function __construct() { parent::__construct(1); } }",
            ["new A.__construct: super super"],
        ),
        ("$x = new Foo(); $x->go();", ["new : Foo :Foo;", ": go :Foo;.go"]),
        ("#[Route('/')] class A { #[Pure] function m() { } }", []),
        ("function f(Foo ...$xs) { $xs[0]->go(); }", ["f: go :Foo[];[].go"]),
    ],
)
def test_calls_elsewhere(source, expected):
    assert call_lines(extracted("a.php", php(source))) == expected


def test_imports():
    source = "use A\\B;\nuse A\\C as D, E;\nuse A\\{F, G as H};\nuse function A\\f;\nrequire_once 'x.php';"
    found = extracted("a.php", php(source))
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("A", "B=B", 2),
        ("A", "D=C", 3),
        ("", "E=E", 3),
        ("A", "F=F", 4),
        ("A", "H=G", 4),
        ("A", "f=f", 5),
        ("x.php", "*=", 6),
    ]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "a.php",
        """\
        <p>text</p>
        <?php
        #[Entity("x"), Other]
        abstract class A extends \\Base implements I, N\\J
        {
            use T1, T2;

            #[Pure]
            final public static function m(
                ?Foo $f, &$q, string ...$rest): array
            {
            }
        }
        """,
    )
    a, m = found.symbols
    assert (a.start_line, a.end_line, a.level) == (3, 13, 0)
    assert (a.modifiers, a.attributes) == (("abstract",), ("Entity", "Other"))
    assert a.bases == ("Base", "I", "N.J", "T1", "T2")
    assert a.signature == "abstract class A extends \\Base implements I, N\\J"
    assert (m.start_line, m.end_line, m.level, m.parent, m.value_expression) == (8, 12, 1, 0, "")
    assert m.parameters == ("?Foo", "", "string...")
    assert (m.modifiers, m.attributes) == (("final", "public", "static"), ("Pure",))
    assert m.signature == "final public static function m( ?Foo $f, &$q, string ...$rest): array"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if ($a) { f(); } elseif ($b) { g(); } else { h(); }", (3, 3, 1, 2, 0, 3, 0)),
        ("if ($a) { } else if ($b) { }", (3, 2, 1, 2, 0, 0, 0)),
        ("foreach ($a as $x) { while ($b) { for (;;) { } } }", (4, 6, 3, 2, 0, 0, 0)),
        ("return $a && $b && $c || $d;", (4, 2, 0, 2, 1, 0, 0)),
        ("switch ($a) { case 1: break; case 2: break; default: break; }", (3, 1, 1, 2, 0, 0, 0)),
        ("$x = match ($a) { 1, 2 => f(), default => g() };", (2, 1, 1, 2, 0, 2, 0)),
        ("try { } catch (E $e) { }", (2, 2, 2, 2, 0, 0, 0)),
        ("f(fn($x) => $x ? 1 : 2);", (2, 2, 2, 2, 0, 1, 1)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.php", php(f"function m($a, $b) {{ {body} }}")).symbols[0].stats == expected


def test_arguments_are_counted():
    calls = extracted("a.php", php("f(); f(1, /* c */ 2); new Foo(1); $x->g(a: 1); H::i(...$x);")).calls
    assert [it.arguments for it in calls] == [0, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("", "nothing but blanks"),
        ("<p>Hi</p>", "only text"),
        ("<?php\n// c", "only comments"),
        ("<?php\nuse A;\necho 1;", "only imports and statements"),
        ("<?php\ndeclare(strict_types=1);", "only directives"),
    ],
)
def test_why_there_is_nothing(source, empty):
    assert extracted("a.php", source).facets["empty"] == empty


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("?Foo", ":Foo;"),
        ("\\A\\Foo", ":A.Foo;"),
        ("Foo|Bar|null", ":Foo;|:Bar;"),
        ("Foo&Bar", ":Foo;"),
        ("(Foo&Bar)|null", ":Foo;"),
        ("static", ":self;"),
        ("array", ""),
        ("void", ""),
        ("", ""),
    ],
)
def test_written_types(written, expected):
    assert instance_of(written) == expected
