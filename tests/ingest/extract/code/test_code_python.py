"""Python: what is defined, what it holds, and what is called."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

from dowse.ingest.extract.code.languages.python import instance_of, yielded_type

SYMBOLS = [
    ("def f(): pass", ["function f"]),
    ("async def f() -> int: return 1", ["function f = :int;"]),
    ("LIMIT = 3\nNAME: str = f()", ["variable LIMIT = :int;", "variable NAME = :str;"]),
    (
        "a, b = A(), B()\nc, d = pair()",
        ["variable a = A()", "variable b = B()", "variable c = pair()[0]", "variable d = pair()[1]"],
    ),
    ("a = b = A()", ["variable a = A()", "variable b = A()"]),
    ("type Names = list[str]", ["typeAlias Names"]),
    (
        "class A:\n  x = 1\n  y: 'B'\n  def __init__(self): pass\n  def m(self): 1\n  @property\n  def p(self): pass",
        ["class A", "field A.x = :int;", "field A.y = :B;", "constructor A.__init__", "method A.m", "property A.p"],
    ),
    (
        "class A:\n  def __init__(self, r: R, n):\n    self.r = r\n    self.n = n\n  def m(self):\n    self.late = C()",
        ["class A", "constructor A.__init__", "field A.r = :R;", "field A.n = $n", "method A.m", "field A.late = C()"],
    ),
    (
        "class A:\n  def __init__(self):\n    self.x = None\n  def set(self):\n    self.x = B()\n    self.x.y = 1",
        ["class A", "constructor A.__init__", "field A.x = B()", "method A.set"],
    ),
    ("class C(enum.Enum):\n  RED = 1\n  def m(self): pass", ["enum C", "enumMember C.RED = :int;", "method C.m"]),
    (
        "def f():\n  def g(): pass\n  class H:\n    def m(self): pass",
        ["function f", "function f.g", "class f.H", "method f.H.m"],
    ),
    ("class A(A): pass\nclass A: pass", ["class A", "class A"]),
    ("def f():\n  x = 1\n  y = 2", ["function f"]),
    # What a function gives: as written, or by a few plain returns.
    ("def f(): return Foo()", ["function f = Foo()"]),
    ("def f(x):\n  if x: return A()\n  return B()", ["function f = A()|B()"]),
    ("def f(x):\n  if x: return None\n  return B()", ["function f = B()"]),
    ("def f(x): return x", ["function f = $x"]),
    (
        "class A:\n  def m(self): return self\n  def n(self): return self.m()",
        ["class A", "method A.m = this", "method A.n = this.m()"],
    ),
    ("def f():\n  yield Foo()", ["function f = :Iterator[Foo];"]),
    ("@contextmanager\ndef f():\n  yield Foo()", ["function f = :Foo;"]),
    ("@contextlib.contextmanager\ndef f() -> Iterator[Foo]:\n  yield g()", ["function f = :Foo;"]),
    ("def f(): return lambda: Foo()", ["function f = {()=Foo()}"]),
    (
        "x = [Foo(), Bar()]\ny = [f() for f in x]\nz = {'a': Foo()}",
        ["variable x = {0=Foo()&1=Bar()}", "variable y = :list[?];", "variable z = :dict[?,Foo];"],
    ),
    ("größe = 1\ndef naïve(): pass", ["variable größe = :int;", "function naïve"]),
    ("if x:\n  def f(): pass\nelse:\n  def f(): pass", ["function f", "function f"]),
    ("@overload\ndef f(", []),
]

CALLS = [
    # The root of a callee is never a local.
    ("def f():\n  g()", ["f: g g"]),
    ("def f():\n  x = Foo()\n  x.bar()", ["f: Foo Foo", "f: bar Foo().bar"]),
    ("def f(x: Foo, y):\n  x.a()\n  y.b()\n  y()", ["f: a :Foo;.a", "f: b $y.b", "f: y $y"]),
    ("def f(x: Optional[Foo] = None):\n  x.a()", ["f: a :Foo;.a"]),
    (
        "def f(*xs: Foo, **ys: Foo):\n  xs[0].a()\n  ys['k'].b()",
        ["f: a :tuple[Foo];[0].a", "f: b :dict[str,Foo];[k].b"],
    ),
    ("class A:\n  def m(self):\n    r = self.repo\n    r.save()", ["A.m: save this.repo.save"]),
    (
        "class A:\n  @classmethod\n  def m(cls):\n    cls().n()\n    cls.o()",
        ["decorate A: classmethod classmethod", "A.m: n this().n", "A.m: this this", "A.m: o this.o"],
    ),
    (
        "class A:\n  def m(self):\n    super().m()\n    super(A, self).n()",
        ["A.m: m super.m", "A.m: n super.n"],
    ),
    ("class A:\n  def m(self):\n    self.__class__.n()", ["A.m: n this.n"]),
    ("class A:\n  def m(this_one):\n    this_one.n()", ["A.m: n this.n"]),
    (
        "class A:\n  @staticmethod\n  def m(x):\n    x.n()",
        ["decorate A: staticmethod staticmethod", "A.m: n $x.n"],
    ),
    ("class A:\n  x = make()", ["A: make make"]),
    ("main()", [": main main"]),
    ("async def f():\n  x = await g()\n  x.h()", ["f: g g", "f: h g()!.h"]),
    (
        "def f():\n  with open() as x, g() as y:\n    x.a()\n    y.b()",
        [
            "f: open open",
            "implied f: __enter__ g().__enter__",
            "implied f: __exit__ g().__exit__",
            "f: g g",
            "f: a open().__enter__().a",
            "f: b g().__enter__().b",
        ],
    ),
    ("def f(xs: list[Foo]):\n  for x in xs:\n    x.a()", ["f: a :list[Foo];[].a"]),
    (
        "def f(xs):\n  for i, x in enumerate(xs.all()):\n    x.a()",
        ["f: enumerate enumerate", "f: all $xs.all", "f: a $xs.all()[].a"],
    ),
    (
        "def f(d: Repo):\n  for k, v in d.items():\n    v.a()\n    k.b()",
        ["f: items :Repo;.items", "f: a :Repo;.items()[][1].a", "f: b :Repo;.items()[][0].b"],
    ),
    ("def f():\n  for a, b in zip(As, Bs):\n    b.c()", ["f: zip zip", "f: c Bs[].c"]),
    ("def f(self, xs: X):\n  return [x.a() for x in xs if x.b()]", ["f: a :X;[].a", "f: b :X;[].b"]),
    ("def f(xs: X):\n  return {k: v.a() for k, v in xs.items()}", ["f: a :X;.items()[][1].a", "f: items :X;.items"]),
    ("def f():\n  x = A()\n  x = B()\n  x.c()", ["f: A A", "f: B B", "f: c B().c"]),
    ("def f(y):\n  if y:\n    x = A()\n  else:\n    x = B()\n  x.c()", ["f: A A", "f: B B", "f: c A().c|B().c"]),
    ("def f(y):\n  try:\n    x = A()\n  except E:\n    x = B()\n  x.c()", ["f: A A", "f: B B", "f: c A().c|B().c"]),
    ("def f(y):\n  x = A() if y else B()\n  x.c()", ["f: A A", "f: B B", "f: c A().c|B().c"]),
    ("def f(y: Y):\n  x = y or A()\n  x.c()", ["f: A A", "f: c :Y;.c|A().c"]),
    ("def f():\n  x = None\n  x = x or A()\n  x.c()", ["f: A A", "f: c A().c"]),
    ("def f(x):\n  x = x.next()\n  x.c()", ["f: next $x.next", "f: c $x.next().c"]),
    ("def f():\n  x = a\n  x()\n  y = self.go if x else b\n  y()", ["f: a a", "f: go self.go", "f: b b"]),
    ("def f():\n  if (x := g()):\n    x.a()", ["f: g g", "f: a g().a"]),
    ("def f():\n  try: pass\n  except (A, b.B) as e:\n    e.c()", ["f: c :A;.c|:b.B;.c"]),
    (
        "def f(x):\n  if isinstance(x, Foo):\n    x.a()\n  x.b()",
        ["f: isinstance isinstance", "f: a :Foo;.a", "f: b $x.b"],
    ),
    (
        "def f(x):\n  if isinstance(x, A): x.a()\n  elif isinstance(x, (B, C)): x.b()\n  else: x.c()",
        ["f: isinstance isinstance", "f: a :A;.a", "f: isinstance isinstance", "f: b :B;.b|:C;.b", "f: c $x.c"],
    ),
    ("def f(x):\n  assert isinstance(x, A)\n  x.a()", ["f: isinstance isinstance", "f: a :A;.a"]),
    ("def f(x):\n  if not isinstance(x, A):\n    x.a()", ["f: isinstance isinstance", "f: a $x.a"]),
    (
        "def f():\n  x = Foo()\n  def g():\n    x.a()\n    y.b()\n  y = Bar()",
        ["f: Foo Foo", "f.g: a Foo().a", "f.g: b Bar().b", "f: Bar Bar"],
    ),
    (
        "def f():\n  x = A()\n  def g():\n    x.a()\n  x = B()",
        ["f: A A", "f.g: a A().a|B().a", "f: B B"],
    ),
    (
        "def f(x, y):\n  if isinstance(x, A): pass\n  elif y: x.b()",
        ["f: isinstance isinstance", "f: b $x.b"],
    ),
    ("def f(x: X):\n  return lambda y: (x.a(), y.b())", ["f: a :X;.a", "f: b $^0.b"]),
    ("x = Foo()\ndef f():\n  x.a()\n  global x", [": Foo Foo", "f: a x.a"]),
    ("def f():\n  a.b().c().d()", ["f: d a.b().c().d", "f: c a.b().c", "f: b a.b"]),
    ("def f():\n  a[0].b()\n  a[1]()\n  f()()", ["f: b a[0].b", "f: __call__ a[1]", "f: __call__ f()", "f: f f"]),
    ("def f(h: Handler):\n  h()", ["f: __call__ :Handler;"]),
    ("def f(h: type[Foo]):\n  h().a()", ["f: a Foo().a", "f: Foo Foo"]),
    ("from m import f as g\ng()", [": f g"]),
    ("from m import f as g\ndef k(g):\n  g()", ["k: g $g"]),
    ("import m as n\nn.f()", [": f n.f"]),
    # Decorators, and functions that are passed on.
    ("@a.b(1)\n@c\ndef f(): pass", ["decorate : b a.b", "decorate : __call__ a.b()\t0=c()", "decorate : c c\t0=f"]),
    (
        "class A:\n  def go(self):\n    Thread(target=self.run)\n    map(f, self.xs)\n  def run(self): 1\ndef f(): 2",
        [
            "A.go: Thread Thread\ttarget=this.run",
            "refer A.go: run this.run\tpassed",
            "A.go: map map\t0=f&1=this.xs",
            "refer A.go: f f\tpassed",
        ],
    ),
    ("from m import f as g\nh(g)\nh(x)", [": h h\t0=g", "refer : f g\tpassed", ": h h\t0=x"]),
    ("def f(): pass\ndef g(f):\n  h(f)", ["g: h h\t0=$f"]),
    ("def f(x):\n  x = (yield)\n  x.a()", ["f: a :Iterator[?];.a"]),
    # What can not be read is left out, the rest stays.
    ("def f(:\n  g()\n\ndef h():\n  i()\n", ["f: g g", "h: i i"]),
]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_symbols(source, expected):
    assert symbol_lines(extracted("a.py", source)) == expected


@pytest.mark.parametrize(("source", "expected"), CALLS)
def test_calls(source, expected):
    assert call_lines(extracted("a.py", source)) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import a.b", [("a.b", "a.b=")]),
        ("import a.b as c, d", [("a.b", "c="), ("d", "d=")]),
        ("from .x import y as z, w", [(".x", "z=y"), (".x", "w=w")]),
        ("from . import y", [(".", "y=y")]),
        ("from ..m import *", [("..m", "*=")]),
        ("def f():\n  from __future__ import annotations", [("__future__", "annotations=annotations")]),
    ],
)
def test_imports(source, expected):
    links = extracted("a.py", source).links
    assert [(link.target, link.context) for link in links] == expected
    assert {link.kind for link in links} == {"import"}


def test_what_a_definition_says_about_itself():
    found = extracted(
        "a.py",
        """
        @app.route("/")
        @abc.abstractmethod
        async def f(
            a, b: dict[str, int] = {}, *cs: int, d: "D" = None, **es
        ) -> None:
            pass


        class A(Base[int], ns.Mixin, make(1), metaclass=M):
            @classmethod
            def m(cls, x): pass
        """,
    )
    f, a, m = found.symbols
    assert (f.start_line, f.end_line, f.level, f.parent) == (2, 7, 0, None)
    assert f.signature == 'async def f( a, b: dict[str, int] = {}, *cs: int, d: "D" = None, **es ) -> None'
    assert f.parameters == ("", "dict[str, int]", "*int", '"D"', "**")
    assert (f.modifiers, f.attributes) == (("async", "abstract"), ("app.route", "abc.abstractmethod"))
    assert (a.bases, a.start_line, a.end_line) == (("Base[int]", "ns.Mixin", "make"), 10, 12)
    assert (m.parameters, m.modifiers, m.parent, m.level) == (("",), ("classmethod",), 1, 1)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # cyclomatic, cognitive, nesting, parameters, returns, calls, lambdas
        ("pass", (1, 0, 0, 2, 0, 0, 0)),
        ("if a: return f()\n  elif b: return g()\n  else: return 1", (3, 3, 1, 2, 3, 2, 0)),
        ("for x in a:\n    if x:\n      while b: pass", (4, 6, 3, 2, 0, 0, 0)),
        ("return a and b and c or d", (4, 2, 0, 2, 1, 0, 0)),
        ("try: pass\n  except E: pass\n  except F: pass", (3, 4, 2, 2, 0, 0, 0)),
        ("return [x for x in a if x]", (2, 0, 0, 2, 1, 0, 0)),
        ("return (lambda: 1 if a else 2)", (2, 2, 2, 2, 1, 0, 1)),
        ("match a:\n    case 1: pass\n    case _: pass", (3, 1, 1, 2, 0, 0, 0)),
        ("def g():\n    if a: return 1", (1, 0, 0, 2, 0, 0, 0)),
    ],
)
def test_statistics(body, expected):
    assert extracted("a.py", f"def f(a, b):\n  {body}").symbols[0].stats == expected


def test_arguments_are_counted_without_comments():
    calls = extracted("a.py", "f()\ng(1, *a, k=2)\nh(\n  1, # one\n  2,\n)\ni(x for x in y)").calls
    assert [it.arguments for it in calls if it.kind == "call"] == [0, 3, 2, 1]


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        ("Foo", ":Foo;"),
        ("a.b.Foo", ":a.b.Foo;"),
        ("list[ Foo ]", ":list[Foo];"),
        ('"Foo"', ":Foo;"),
        ("'Foo | None'", ":Foo;"),
        ("Optional['Foo']", ":Foo;"),
        ("typing.Union[A, b.B, None]", ":A;|:b.B;"),
        ("A | list[B | C]", ":A;|:list[B|C];"),
        ("Annotated[Foo, 'x', 3]", ":Foo;"),
        ("ClassVar[Final[Foo]]", ":Foo;"),
        ("type[Foo]", "Foo"),
        ("Self", "this"),
        ("None", ""),
        ("Any", ""),
        ("Literal['a', 'b']", ""),
        ("Optional[" * 50 + "Foo" + "]" * 50, ""),
        ("Union[", ":Union[;"),
    ],
)
def test_annotations(annotation, expected):
    assert instance_of(annotation) == expected


@pytest.mark.parametrize(
    ("annotation", "expected"), [("Generator[Foo, None, None]", "Foo"), ("Foo", "Foo"), ("list[Foo]", "list[Foo]")]
)
def test_annotations_of_context_managers(annotation, expected):
    assert yielded_type(annotation) == expected
