"""C#: what is declared, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.csharp import instance_of, is_function_type

SYMBOLS = [
    ("namespace N.M { class A { } }", ["namespace N.M", "class N.M.A"]),
    ("namespace N;\nclass A { }\nstruct B { }", ["namespace N", "class N.A", "struct N.B"]),
    ("class A { int x, y; B? b = new(); }", ["class A", "field A.x = :int;", "field A.y = :int;", "field A.b = :B;"]),
    (
        "class A { public string Name { get; set; } int N => 1; this[int i] { get { return 1; } } }",
        ["class A", "property A.Name = :string;", "property A.N = :int;"],
    ),
    ("class A { B this[int i] { get { return b; } } }", ["class A", "property A.this[] = :B;"]),
    (
        "class A { A(int x) { } ~A() { } static A() { } }",
        ["class A", "constructor A.A", "method A.~A", "constructor A.A"],
    ),
    (
        "class A { public static A operator +(A a, A b) => a; public static explicit operator int(A a) => 1; }",
        ["class A", "method A.operator + = :A;", "method A.operator int = :int;"],
    ),
    (
        "class A { event Handler E, F; event Handler G { add { } remove { } } }",
        ["class A", "event A.E = :Handler;", "event A.F = :Handler;", "event A.G = :Handler;"],
    ),
    ("delegate Foo D(int x);", ["delegate D = :Foo;"]),
    ("enum E : byte { A = 1, [X] B }", ["enum E", "enumMember E.A", "enumMember E.B"]),
    ("interface I { Task<Foo> M(); }", ["interface I", "method I.M = :Task<Foo>;"]),
    ("record R(int A, B B) : Q;", ["record R", "property R.A = :int;", "property R.B = :B;"]),
    ("class A(B b) : C(b) { void M() { } }", ["class A", "field A.b = :B;", "method A.M"]),
    ("class A { void M() { int L(int x) => x; } }", ["class A", "method A.M", "function A.M.L = :int;"]),
    ("class A { class B { enum C { D } } }", ["class A", "class A.B", "enum A.B.C", "enumMember A.B.C.D"]),
    ("class A : A { } partial class A { }", ["class A", "class A"]),
    ("class A {\n#if X\n  int a;\n#else\n  int b;\n#endif\n}", ["class A", "field A.a = :int;", "field A.b = :int;"]),
    ("class Größe { void M() { } }", ["class Größe", "method Größe.M"]),
    ("class A { void M( { } void N() { } }\nclass B { }", ["class A", "property A.M", "method A.N", "class B"]),
    ("var x = new Foo(); x.Bar();", ["variable x = :Foo;"]),
    (
        "class A { Func<int> F() => G; Func<int> H() { return G; } int G() => 1; void V() => G(); }",
        ["class A", "method A.F = :Func<int>;|G", "method A.H = :Func<int>;|G", "method A.G = :int;", "method A.V"],
    ),
]


def inside(body: str) -> str:
    return f"class A : Base {{ Repo repo; void M(Foo p, object o) {{ {body} }} void N() {{ }} }}"


CALLS = [
    ("N(); this.N(); base.N(); Other.N();", ["N N", "N this.N", "N super.N", "N Other.N"]),
    ("p.Go(); repo.Save(); this.repo.Save();", ["Go :Foo;.Go", "Save repo.Save", "Save this.repo.Save"]),
    ("var x = new Foo(1); x.Go();", ["new Foo :Foo;", "Go :Foo;.Go"]),
    ("IFoo x = Make(); x.Go();", ["Make Make", "Go :IFoo;.Go"]),
    ("var x = repo.Find(1); x.Go();", ["Find repo.Find", "Go repo.Find().Go|repo[].Go"]),
    ("var x = await repo.Load(); x.Go();", ["Load repo.Load", "Go repo.Load()!.Go"]),
    (
        "Foo x = new(); var y = new List<Foo>(); y[0].Go();",
        ["new Foo :Foo;", "new List :List<Foo>;", "Go :List<Foo>;[].Go"],
    ),
    ("Take(new());", ["Take Take", "new new ?"]),
    ("new Foo { X = Make() };", ["new Foo :Foo;", "Make Make"]),
    ("foreach (var x in p.Items) x.Go();", ["Go :Foo;.Items[].Go"]),
    ("foreach (Foo x in o) x.Go();", ["Go :Foo;.Go"]),
    ("using var s = Open(); s.Read();", ["Open Open", "Read Open().Read"]),
    ("using (var s = Open()) s.Read();", ["Open Open", "Read Open().Read"]),
    ("if (o is Foo f) f.Go(); if (o is Bar { X: 1 } b) b.Go();", ["Go :Foo;.Go", "Go :Bar;.Go"]),
    ("switch (o) { case Foo f: f.Go(); break; case Bar b: b.Go(); break; }", ["Go :Foo;.Go", "Go :Bar;.Go"]),
    ("var x = o switch { Foo f => f.Go(), _ => null };", ["Go :Foo;.Go"]),
    ("Get(out Foo f); f.Go(); Get(out var g); g.Go();", ["Get Get", "Go :Foo;.Go", "Get Get", "Go ?.Go"]),
    ("try { } catch (IOException e) { e.Go(); }", ["Go :IOException;.Go"]),
    ("((Foo)o).Go(); (o as Foo).Go(); o!.Go();", ["Go :Foo;.Go", "Go :Foo;.Go", "Go :object;.Go"]),
    ("var x = o as Foo; x.Go(); var y = (Bar)o; y.Go();", ["Go :Foo;.Go", "Go :Bar;.Go"]),
    (
        "p?.Go(); p?.Next?.Go(); p?.Make()?.Go();",
        ["Go :Foo;.Go", "Go :Foo;.Next.Go", "Go :Foo;.Make().Go", "Make :Foo;.Make"],
    ),
    ("a.B().C(); a.B.C();", ["C a.B().C", "B a.B", "C a.B.C"]),
    ("Foo<int>(); repo.Get<Foo>(1); Cache<Foo>.Clear();", ["Foo Foo", "Get repo.Get", "Clear Cache.Clear"]),
    ("var x = p ?? Make(); x.Go();", ["Make Make", "Go :Foo;.Go|Make().Go"]),
    ("var x = c ? p : Make(); x.Go();", ["Make Make", "Go :Foo;.Go|Make().Go"]),
    ("var (a, b) = Pair(); a.Go();", ["Pair Pair", "Go Pair()[0].Go"]),
    ('nameof(M); typeof(Foo); string.Join(","); "x".Go();', ["Join string.Join", "Go :string;.Go"]),
    ("global::System.Console.Write(1);", ["Write System.Console.Write"]),
    ("xs.Select(x => x.Own).First().Go();", ["Go xs[].Own.Go", "First :IEnumerable<?>;.First", "Select xs.Select"]),
    ("foreach (var (a, b) in xs) b.Go();", ["Go xs[][1].Go"]),
    ("Action f = N; f();", ["refer N N\tstored", "Invoke :Action;", "N N"]),
    ("void L() { p.Go(); } L();", ["M.L: Go :Foo;.Go", "L L"]),
    # Lambdas, LINQ and queries.
    (
        "repo.Where(x => x.Ok()).Select(y => y.Go());",
        [
            "Select repo.Where().Select|repo.Select",
            "Where repo.Where",
            "Ok repo[].Ok",
            "Go repo.Where()[].Go|repo[].Go",
        ],
    ),
    ("repo.Run(x => x.Ok());", ["Run repo.Run", "Ok ?.Ok"]),
    ("repo.Run((Foo x) => x.Ok());", ["Run repo.Run", "Ok :Foo;.Ok"]),
    ("repo.Where((Foo x) => x.Ok());", ["Where repo.Where", "Ok :Foo;.Ok"]),
    ("repo.First().Go();", ["Go repo.First().Go|repo[].Go", "First repo.First"]),
    ("var q = from u in p.Users where u.Ok() select u.Go();", ["Ok :Foo;.Users[].Ok", "Go :Foo;.Users[].Go"]),
    # What is passed on.
    (
        "Take(N, b: this.N); Take(on ? N : Other.N);",
        [
            "Take Take\t0=N&b=this.N",
            "refer N N\tpassed",
            "refer N this.N\tpassed",
            "Take Take\t0=N&0=Other.N",
            "refer N N\tstored",
            "refer N Other.N\tstored",
        ],
    ),
    ("Take(p, 1, Title, o);", ["Take Take\t2=Title"]),
    ("var (a, b) = (N, O); b();", ["refer N N\tpassed", "Invoke {0=N&1=O}[1]"]),
    ("(Action a, Action b) = (N, O); b();", ["refer N N\tpassed", "Invoke :Action;|{0=N&1=O}[1]"]),
    (
        "ev -= N; total += p.Count; Title = p.Name; p.Done = N;",
        ["refer N N\tstored", "assign Done :Foo;.Done\t0=N", "refer N N\tstored"],
    ),
    (
        "var j = new Job { Done = N, Name = p.Name };",
        ["new Job :Job;", "assign Done :Job;.Done\t0=N", "refer N N\tstored"],
    ),
    (
        "list.ForEach(N); ev += this.N; Take(p);",
        [
            "ForEach list.ForEach\t0=N",
            "refer N N\tpassed",
            "assign ev ev\t0=this.N",
            "refer N this.N\tstored",
            "Take Take",
        ],
    ),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.cs", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = [line.replace("A.M: ", "").replace("A.M.", "M.") for line in call_lines(extracted("a.cs", inside(body)))]
    assert found == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A : B { A(int x) : base(x) { } }", ["new A.A: super super"]),
        ("class A { A() : this(1) { } }", ["new A.A: this this"]),
        ("class A(int x) : B(x) { }", ["new A: super super"]),
        ("class A { Foo f = Make(); Foo P { get; } = new(); }", ["A: Make Make", "new A: Foo :Foo;"]),
        ("class A { Foo P { get { return Make(); } set { value.Go(); } } }", ["A.P: Make Make", "A.P: Go :Foo;.Go"]),
        ("class A { Foo P => Make(); Foo M() => new(); }", ["A.P: Make Make", "new A.M: Foo :Foo;"]),
        ("class A { [Obsolete(nameof(A))] void M() { } }", []),
        ("class A {\n#if X\n  void M() { F(); }\n#endif\n}", ["A.M: F F"]),
        ("class A { void M(params Foo[] fs) { fs[0].Go(); } }", ["A.M: Go :Foo[];[].Go"]),
    ],
)
def test_calls_outside_of_methods(source, expected):
    assert call_lines(extracted("a.cs", source)) == expected


def test_imports():
    found = extracted("a.cs", "using System.Linq;\nusing X = A.B<C>;\nusing static System.Math;\nglobal using G;")
    assert [(it.target, it.context, it.line) for it in found.links] == [
        ("System.Linq", "*=", 1),
        ("A.B<C>", "X=", 2),
        ("System.Math", "*=", 3),
        ("G", "*=", 4),
    ]


def test_what_a_declaration_says_about_itself():
    found = extracted(
        "a.cs",
        """
        [Serializable, Obsolete("x")]
        public sealed class A<T> : Base<T, int>, N.IFoo where T : class
        {
            [Fact]
            public static async Task<T> M<U>(
                this IFoo<U> f, out int q, params string[] rest)
            {
            }
        }
        """,
    )
    a, m = found.symbols
    assert (a.start_line, a.end_line, a.level) == (2, 10, 0)
    assert (a.modifiers, a.attributes) == (("public", "sealed"), ("Serializable", "Obsolete"))
    assert a.bases == ("Base<T,int>", "N.IFoo")
    assert a.signature == "public sealed class A<T> : Base<T, int>, N.IFoo where T : class"
    assert (m.start_line, m.end_line, m.level, m.parent) == (5, 9, 1, 0)
    assert m.parameters == ("IFoo<U>", "int", "params string[]")
    assert m.modifiers == ("public", "static", "async", "extension")
    assert m.signature == "public static async Task<T> M<U>( this IFoo<U> f, out int q, params string[] rest)"


def test_a_namespace_for_the_whole_file_goes_to_its_end():
    found = extracted("a.cs", "namespace N;\n\nclass A { }\n\nclass B { }\n")
    assert [(it.name, it.start_line, it.end_line) for it in found.symbols] == [("N", 1, 5), ("A", 3, 3), ("B", 5, 5)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("", (1, 0, 0, 2, 0, 0, 0)),
        ("if (a) F(); else if (b) G(); else { H(); }", (3, 3, 1, 2, 0, 3, 0)),
        ("for (;;) { foreach (var x in a) { while (b) { } } }", (4, 6, 3, 2, 0, 0, 0)),
        ("return a && b && c || d;", (4, 2, 0, 2, 1, 0, 0)),
        ("switch (a) { case 1: break; case 2: break; default: break; }", (3, 1, 1, 2, 0, 0, 0)),
        ("try { } catch (E) { } finally { }", (2, 2, 2, 2, 0, 0, 0)),
        ("F(x => { return x ? 1 : 2; });", (2, 2, 2, 2, 0, 1, 1)),
        ("do { } while (a ?? b);", (3, 2, 1, 2, 0, 0, 0)),
    ],
)
def test_statistics(body, expected):
    source = f"class A {{ void M(int a, int b) {{ {body} }} }}"
    assert extracted("a.cs", source).symbols[1].stats == expected


def test_what_has_no_body_has_no_statistics():
    found = extracted("a.cs", "abstract class A { abstract void M(); int P { get; set; } int Q => 1; }")
    assert [it.stats is not None for it in found.symbols] == [False, False, False, True]


def test_arguments_are_counted_without_comments():
    calls = extracted("a.cs", inside("F(); G(1, /* two */ 2); H(1, // one\n 2); new Foo(1);")).calls
    assert [it.arguments for it in calls] == [0, 2, 2, 1]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Foo?", ":Foo;"),
        ("int[]", ":int[];"),
        ("Foo[3]", ":Foo[];"),
        ("IDictionary<string, List<Foo>>", ":IDictionary<string,List<Foo>>;"),
        ("ref readonly Foo", ":Foo;"),
        ("global::N.Foo", ":N.Foo;"),
        ("(int a, Foo b)", ":(int,Foo);"),
        ("void", ""),
        ("var", ""),
        ("dynamic", ""),
    ],
)
def test_written_types(written, expected):
    assert instance_of(written) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("void E(Action<int> f) { f(1); }", ["A.E: Invoke :Action<int>;", "A.E: f $f"]),
        ("void E(Rule r, int n) { r?.Invoke(n); }", ["A.E: Invoke :Rule;.Invoke|$r.Invoke"]),
        ("void E(Foo run) { Rerun(run.Go()); }", ["A.E: Rerun Rerun", "A.E: Go :Foo;.Go"]),
        ("Action f; A(Action f) { this.f = f; }", ["assign A.A: f this.f\t0=$f"]),
        ("Action f = B; static void B() { }", ["assign A: f f\t0=B", "refer A: B B\tstored"]),
        ("Action F { get; } = B; static void B() { }", ["assign A: F F\t0=B", "refer A: B B\tstored"]),
        ("A(Action f) : base(f) { }", ["new A.A: super super\t0=$f"]),
    ],
)
def test_functions_that_are_given(body: str, expected: list[str]) -> None:
    found = call_lines(extracted("a.cs", f"class A {{ {body} }}"))
    assert [line.replace("A.F: ", "A: ") for line in found] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("Action", True),
        ("System.Func<int, Foo>?", True),
        ("(Func<int, Foo> a, Foo b)", True),
        ("PropertyChangedEventHandler", True),
        ("(Foo, Bar)", False),
        ("List<Action>", False),
        ("ActionResult", False),
        ("MessageHandler", False),
        ("", False),
    ],
)
def test_which_types_are_of_functions(written: str, expected: bool) -> None:
    assert is_function_type(written) is expected
