"""Go: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.go import instance_of

SYMBOLS = [
    ("package a\nfunc f(x int) *Foo { return nil }", ["function f = :Foo;"]),
    (
        "func f() (Foo, error) { return g() }\nfunc h() (r *Foo, err error) { }",
        ["function f = :(Foo,error);", "function h = :(Foo,error);"],
    ),
    (
        "var m map[interface{}]map[string][]Foo\nvar n map[struct{ a int }]Foo",
        ["variable m = :map<interface{},map<string,Foo[]>>;", "variable n = :map<struct{aint},Foo>;"],
    ),
    ("func f() { }\nfunc g() any { return Foo{} }", ["function f", "function g = :Foo;"]),
    (
        'type Foo struct {\n  Bar\n  *q.Baz\n  a, b int `json:"a"`\n  r map[string][]*Repo\n  f func(int)\n}',
        [
            "struct Foo",
            "field Foo.Bar = :Bar;",
            "field Foo.Baz = :q.Baz;",
            "field Foo.a = :int;",
            "field Foo.b = :int;",
            "field Foo.r = :map<string,Repo[]>;",
            "field Foo.f",
        ],
    ),
    (
        "type I interface {\n  J\n  M(x int) (string, error)\n  ~int | string\n}",
        ["interface I", "method I.M = :(string,error);"],
    ),
    (
        "type ID = string\ntype H func(w W) error\ntype Level int",
        ["typeAlias ID = :string;", "delegate H", "class Level"],
    ),
    ("type (\n  A struct{}\n  B struct{ x struct{ y int } }\n)", ["struct A", "struct B", "field B.x"]),
    (
        "type Foo struct{}\nfunc (f *Foo) Do() { }\nfunc (Foo) Go() { }",
        ["struct Foo", "method Foo.Do", "method Foo.Go"],
    ),
    ("type G[T any] struct{}\nfunc (g *G[T]) Get() T { }", ["struct G", "method G.Get = :T;"]),
    ("func (f *Foo) Do() { }\ntype Foo struct{}", ["method Do", "struct Foo"]),
    (
        "const A, B int = 1, 2\nconst (\n  X = iota\n  Y\n)",
        ["variable A = :int;", "variable B = :int;", "variable X", "variable Y"],
    ),
    (
        "var v, w = f(), &Foo{}\nvar (\n  x Foo\n  y = make(map[int]Foo)\n)",
        ["variable v = f()", "variable w = :Foo;", "variable x = :Foo;", "variable y = :map<int,Foo>;"],
    ),
    ("var h = func(w W) Foo { var local = 1; return Foo{} }", ["function h = :Foo;"]),
    ("func f() { var x = 1; y := 2; type T struct{ a int } }", ["function f", "struct f.T", "field f.T.a = :int;"]),
    ("func f( { }\nfunc größe() { }", ["function f", "function größe"]),
]


def inside(body: str) -> str:
    return (
        f"type A struct {{ repo *Repo }}\nfunc (a *A) M(p *Foo, xs []Foo, o any) error {{\n{body}\n}}\nfunc F() {{ }}"
    )


CALLS = [
    ("F(); a.N(); a.repo.Save(); pkg.F()", ["F F", "N this.N", "Save this.repo.Save", "F pkg.F"]),
    (
        "p.Go(); p.Next().Go(); xs[0].Go(); (*p).Go()",
        ["Go :Foo;.Go", "Go :Foo;.Next().Go", "Next :Foo;.Next", "Go :Foo[];[].Go", "Go :Foo;.Go"],
    ),
    ("x := &Foo{A: 1}; x.Go()", ["new Foo :Foo;", "Go :Foo;.Go"]),
    ("x := pkg.Foo{}; x.Go()", ["new Foo :pkg.Foo;", "Go :pkg.Foo;.Go"]),
    ("x := new(Foo); x.Go()", ["new Foo :Foo;", "Go :Foo;.Go"]),
    ("x := make([]Foo, 3); x[0].Go()", ["make make", "Go :Foo[];[].Go"]),
    (
        "x, err := a.repo.Find(1); x.Go(); err.Go()",
        ["Find this.repo.Find", "Go this.repo.Find()[0].Go", "Go this.repo.Find()[1].Go"],
    ),
    ("x, f, m := F(); m.Go()", ["F F", "Go F()[2].Go"]),
    ("for x := range xs { x.Go() }", ["Go :Foo[];[].Go"]),
    ("Make[Foo](); t[i]()", ["Make Make<Foo>", "i t[]"]),
    ("x, y := F(), p; y.Go()", ["F F", "Go :Foo;.Go"]),
    ("var x Bar = F(); x.Go(); var y = F(); y.Go()", ["F F", "Go :Bar;.Go", "F F", "Go F().Go"]),
    ("var x Bar; x = F(); x.Go()", ["F F", "Go F().Go"]),
    ("for i, x := range xs { x.Go(); i.Go() }", ["Go :Foo[];[].Go", "Go ?.Go"]),
    ("for range 10 { F() }", ["F F"]),
    ("x := <-p.C; x.Go()", ["Go :Foo;.C[].Go"]),
    ("select { case x := <-p.C: x.Go(); case p.C <- 1: F(); default: }", ["Go :Foo;.C[].Go", "F F"]),
    (
        "switch x := o.(type) { case *Foo: x.Go(); case Bar, Baz: x.Go(); default: p.Go() }",
        ["Go :Foo;.Go", "Go ?.Go", "Go :Foo;.Go"],
    ),
    ("x := o.(*Bar); x.Go(); if y, ok := o.(Foo); ok { y.Go() }", ["Go :Bar;.Go", "Go :Foo;.Go"]),
    ("go func(q *Bar) { q.Go() }(p); defer a.N()", ["Go :Bar;.Go", "N this.N"]),
    (
        "Map[int](F); Two[int, Foo](1).Go(); G[int]{}",
        ["Map Map<int>", "refer F F", "Go Two<int,Foo>().Go", "Two Two<int,Foo>", "new G :G[int];"],
    ),
    (
        'p.Handle("/", a.M); p.Handle("/", F); p.Run(xs)',
        ["Handle :Foo;.Handle", "refer M this.M", "Handle :Foo;.Handle", "refer F F", "Run :Foo;.Run"],
    ),
    ("x := Opts{Run: F}", ["new Opts :Opts;", "refer F F"]),
    ("x := []Foo{{}}; x[0].Go(); y := xs[1:]; y[0].Go()", ["Go :Foo[];[].Go", "Go :Foo[];[].Go"]),
    ("x := Foo(p); x.Go(); []byte(p)", ["Foo Foo", "Go Foo().Go"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.go", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.M: ", "") for line in call_lines(extracted("a.go", inside(body)))]
    assert found == expected


def test_a_method_of_a_type_in_another_file_is_an_extension_of_it():
    found = extracted("a.go", "func (f *Foo) Do(x int) { f.Go() }")
    (do,) = found.symbols
    assert (do.kind, do.parent, do.modifiers, do.parameters) == ("method", None, ("extension",), ("*Foo", "int"))
    assert call_lines(found) == ["Do: Go :Foo;.Go"]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "a.go",
        """
        // Foo is
        type Foo[T any] struct {
            Bar
            *q.Baz[T]
        }

        func (f *Foo[T]) Do(a, b int,
            rest ...string) (r *Res, err error) {
        }

        type I interface {
            J
        }
        """,
    )
    foo, _, _, do, i = found.symbols
    assert (foo.start_line, foo.end_line, foo.signature, foo.bases) == (
        3,
        6,
        "type Foo[T any] struct",
        ("Bar", "q.Baz[T]"),
    )
    assert (do.start_line, do.end_line, do.level, do.parent) == (8, 10, 1, 0)
    assert do.parameters == ("int", "int", "...string")
    assert do.signature == "func (f *Foo[T]) Do(a, b int, rest ...string) (r *Res, err error)"
    assert (i.signature, i.bases) == ("type I interface", ("J",))


def test_imports():
    found = extracted(
        "a.go", 'import (\n  "fmt"\n  m "math/rand"\n  . "x/y"\n)\nimport "a.b/c/v2"\nimport "gopkg.in/yaml.v3"'
    )
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("fmt", "fmt=", 2),
        ("math/rand", "m=", 3),
        ("x/y", "*=", 4),
        ("a.b/c/v2", "c=", 6),
        ("gopkg.in/yaml.v3", "yaml=", 7),
    ]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if a { f() } else if b { g() } else { h() }", (3, 3, 1, 2, 0, 3, 0)),
        ("for { for i := range a { } }", (3, 3, 2, 2, 0, 0, 0)),
        ("return a && b && c || d", (4, 2, 0, 2, 1, 0, 0)),
        ("switch a { case 1: f(); case 2: default: }", (3, 1, 1, 2, 0, 1, 0)),
        ("switch a.(type) { case A: case B: }", (3, 1, 1, 2, 0, 0, 0)),
        ("f(func() int { return 1 })", (1, 0, 1, 2, 0, 1, 1)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.go", f"func m(a, b int) {{\n{body}\n}}").symbols[0].stats == expected


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("", "nothing but blanks"),
        ("// c\npackage a", "only a package clause"),
        ('package a\nimport "b"', "only a package clause and imports"),
    ],
)
def test_why_there_is_nothing(source, empty):
    assert extracted("a.go", source).facets["empty"] == empty


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("*Foo", ":Foo;"),
        ("[]*pkg.Foo", ":pkg.Foo[];"),
        ("[4][]byte", ":byte[][];"),
        ("...Foo", ":Foo[];"),
        ("map[string][]Foo", ":map<string,Foo[]>;"),
        ("<-chan *Foo", ":Foo[];"),
        ("chan<- Foo", ":Foo[];"),
        ("G[int, Foo]", ":G[int,Foo];"),
        ("func(x int) Foo", ""),
        ("struct{}", ""),
        ("interface{ M() }", ""),
        ("any", ""),
        ("", ""),
        ("[" * 50, ""),
    ],
)
def test_written_types(written, expected):
    assert instance_of(written) == expected
