"""C and C++: what a snippet defines, calls and includes."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

SYMBOLS = [
    ("a.c", "int f(int a) { return 1; }", ["function f = :int;"]),
    ("a.c", "static struct foo *f(void);", ["function f = :foo;"]),
    ("a.c", "struct s { int a; struct t *b, c[3]; int (*cb)(int); };",
     ["struct s", "field s.a = :int;", "field s.b = :t;", "field s.c = :t[];", "field s.cb = :int;"]),
    ("a.c", "typedef struct foo { int a; } foo;", ["struct foo", "field foo.a = :int;"]),
    ("a.c", "typedef struct { int a; } foo_t, *foo_p;", ["typeAlias foo_p", "struct foo_t", "field foo_t.a = :int;"]),
    ("a.c", "typedef unsigned int u32; typedef int (*fp)(int);", ["typeAlias u32 = :int;", "typeAlias fp"]),
    ("a.c", "enum c { RED, GREEN = 2 }; enum { X };",
     ["enum c", "enumMember c.RED", "enumMember c.GREEN", "enumMember X"]),
    ("a.c", "#define MAX 10\n#define GUARD\n#define SQ(x) ((x)*(x))\n",
     ["variable MAX", "variable GUARD", "function SQ"]),
    ("a.c", "int g = 3, *h; extern struct ops o;", ["variable g = :int;", "variable h = :int;", "variable o = :ops;"]),
    ("a.c", "int old(a, b) int a; char *b; { return a; }", ["function old = :int;"]),
    ("a.c", "struct fwd; int f(void) { int local; struct fwd *x; }", ["function f = :int;"]),
    ("a.c", "#ifdef A\nint f(void) {}\n#else\nint g(void) {}\n#endif\n", ["function f = :int;", "function g = :int;"]),
    ("a.cpp", "namespace a::b { class Foo {}; }", ["namespace a", "namespace a.b", "class a.b.Foo"]),
    ("a.h",
     "class Foo { Foo(int x) : y(2) {} ~Foo(); Bar *p = nullptr; int operator+(Foo o); operator bool() const; };",
     ["class Foo", "constructor Foo.Foo", "method Foo.~Foo", "field Foo.p = :Bar;", "method Foo.operator+ = :int;",
      "method Foo.operator bool"]),
    ("a.cpp", "template <class T> class V { T get() { return v; } T v; };",
     ["class V", "method V.get = :T;", "field V.v = :T;"]),
    ("a.cpp", "class Foo { void m(); };\nvoid Foo::m() {}\nint Foo::n = 0;",
     ["class Foo", "method Foo.m", "method Foo.m", "field Foo.n = :int;"]),
    ("a.cpp", "void Foo<T>::m() {} Foo::Foo() {} bool Foo::operator==(int) {}",
     ["class Foo", "method Foo.m", "constructor Foo.Foo", "method Foo.operator== = :bool;"]),
    ("a.cpp", "void ns::Foo::m() {}", ["namespace ns", "class ns.Foo", "method ns.Foo.m"]),
    ("a.cpp", "using Vec = std::vector<int>; union U { int a; };",
     ["typeAlias Vec = :std::vector<int>;", "struct U", "field U.a = :int;"]),
    ("a.cpp", 'extern "C" { int f(int); }', ["function f = :int;"]),
    ("a.cpp", "std::unique_ptr<Foo> make(); const std::vector<Foo*> xs;",
     ["function make = :Foo;", "variable xs = :std::vector<Foo>;"]),
]  # fmt: skip

# Forms of real sources that the grammar alone does not read.
THROUGH_MACROS = [
    ("a.c", "LUA_API lua_Unsigned lua_rawlen (lua_State *L) { return 1; }", ["function lua_rawlen = :lua_Unsigned;"]),
    ("a.c", "static int printflike(1, 2)\nyyerror(const char *fmt, ...)\n{ return 1; }", ["function yyerror = :int;"]),
    ("a.c", "alloc_t *JET_MUTABLE alloc =\n    alloc_impl;", ["variable alloc = :alloc_t;"]),
    ("a.c", "local once_t made = ONCE_INIT;", ["variable made = :once_t;"]),
    ("a.h", "LUALIB_API int (luaopen_bit) (lua_State *L);", ["function luaopen_bit = :int;"]),
    ("a.c", "extern ARRAY *array_copy PARAMS((ARRAY *, int));", ["function array_copy = :ARRAY;"]),
    ("a.c", "typedef int map_func PARAMS((char *));\nint b;", ["typeAlias map_func", "variable b = :int;"]),
    ("a.c", "static GIT_PATH_FUNC(one, \"a\")\nstatic GIT_PATH_FUNC(two, \"b\")\n"
     "static char *path(int a)\n{ return 0; }",
     ["function path = :char;"]),
    ("a.cc", "DEFINE_FLAG(int, size, 8, \"log2(bytes)\");\nnamespace re2 { int f(); }",
     ["namespace re2", "function re2.f = :int;"]),
    ("a.c", "main(argc, argv)\n     int argc;\n{ return 1; }",
     ["variable argc = :int;", "function main = :int;"]),
    ("a.c", "print(a)\nint a;\n{ }", ["function print"]),
    ("a.c", "#ifdef TEST\nmain()\n{ go(); }\n#endif\n", ["function main"]),
    ("a.c", "monotime (*now)(void) = NULL;\nmonotime (*later)(void);", ["variable now", "variable later"]),
    ("a.c", "void\n#if defined (STDARG)\nfail (const char *format, ...)\n#else\nfail (format, va_alist)\n"
     "     const char *format;\n     va_dcl\n#endif\n{ }\nint g;", ["function fail", "variable g = :int;"]),
    ("a.c", "int f(int a)\n{\n#ifdef A\n  if (a) {\n#else\n  if (!a) {\n#endif\n  }\n}\nint g;",
     ["function f = :int;", "variable g = :int;"]),
    ("a.c", "static char name[\n    /* short */\n#ifdef A\n    MAX +\n#endif\n    1];\nint g;",
     ["variable name = :char[];", "variable g = :int;"]),
    ("a.c", "static char *files[] = {\n#ifdef A\n  ONE,\n#ifdef B\n  TWO,\n#endif\n#endif\n  NULL\n};",
     ["variable files = :char[];"]),
    ("a.c", "#define LEN(a) do { \\\n  a = 0; /* none */ \\\n  } while (0)\nint f(int b) { return 1; }",
     ["function LEN", "function f = :int;"]),
    ("a.h", "class KIO_EXPORT Foo : public QObject {\n  Q_OBJECT\npublic:\n  enum Mode { One };\n};",
     ["class Foo", "enum Foo.Mode", "enumMember Foo.Mode.One"]),
    ("a.h", "class KIO_EXPORT KIO_DEPRECATED_VERSION(5, 65, \"Use Bar\") Foo final : public Bar { int a; };",
     ["class Foo", "field Foo.a = :int;"]),
    ("a.h", "struct POPPLER_API Foo\n{\n  int a;\n};", ["struct Foo", "field Foo.a = :int;"]),
    ("a.h", "enum class GTEST_API_ Kind : int { One };", ["enum Kind", "enumMember Kind.One"]),
    ("a.h", "class Foo {\n  Q_OBJECT\n  Q_PROPERTY(int a READ a)\n"
     "public Q_SLOTS:\n  void go();\nQ_SIGNALS:\n  void gone();\n};",
     ["class Foo", "method Foo.go", "method Foo.gone"]),
    ("a.cc", "template <> bool Is<10>(char ch) { return 1; } int Foo::max<int>() { return 1; }",
     ["function Is = :bool;", "class Foo", "method Foo.max = :int;"]),
    ("a.cc", "class Foo {\n  int Read() const LOCKS_EXCLUDED(mutex_) { return 1; }\n};",
     ["class Foo", "method Foo.Read = :int;"]),
    ("a.cc", "FMT_BEGIN_NAMESPACE\ntemplate <class T> struct formatter {};\nFMT_END_NAMESPACE\nstatic int a;",
     ["struct formatter", "variable a = :int;"]),
    ("a.cc", "void f() {\n  ASSERT_HEX(unsigned short, 2badU);\n}\nABSL_FLAG(int64_t, four, 4L,\n  \"4\");\nint g();",
     ["function f", "function g = :int;"]),
    ("a.h", "class Foo {\n  Q_INVOKABLE void go();\n  NOEXPORT explicit Foo(int a);\n};",
     ["class Foo", "method Foo.go", "constructor Foo.Foo"]),
]  # fmt: skip

# What looks like it and is read as ever.
NOT_MACROS = [
    ("a.c", "int ZEXPORT inflate(strm, flush)\nz_streamp strm;\nint flush;\n{ return 1; }",
     ["function inflate = :int;"]),
    ("a.c", "BOOL WINAPI DllMain(int a) { return 1; }", ["function DllMain = :BOOL;"]),
    ("a.h", "#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(int);\n#ifdef __cplusplus\n}\n#endif\n",
     ["function f = :int;"]),
    ("a.c", "static BOOL f(void) { return 1; }", ["function f = :BOOL;"]),
    ("a.c", "STACK_OF(X509) *f(int a);", ["function f = :STACK_OF(X509);"]),
    ("a.cpp", "void f() { struct stat st{}; struct tm *t; return FOO(1); }", ["function f = FOO()"]),
    ("a.c", "struct s { enum KIND kind : 3; unsigned FLAG : 1; };",
     ["struct s", "field s.kind = :KIND;", "field s.FLAG"]),
    ("a.c", "#ifdef A\nint f(void) { return 1; }\n#else\nint g(void) { return 2; }\n#endif\n",
     ["function f = :int;", "function g = :int;"]),
    ("a.c", "#ifdef A\nstatic const char a[] = \"{\";\n#else\nint b;\n#endif\n",
     ["variable a = :char[];", "variable b = :int;"]),
    ("a.cpp", "class Foo final : public Bar {};", ["class Foo"]),
    ("a.c", "int f(int a) {\n  if (a) CHECK(a);\n  return 1;\n}", ["function f = :int;"]),
]  # fmt: skip

CALLS = [
    ("f(1);", ["f: f f"]),
    ("this->p->x();", ["f: x this.p.x"]),
    ("p->go(); q.r.go(); (*p).go();", ["f: go :Foo;.go", "f: go :Bar;.r.go", "f: go :Foo;.go"]),
    ("auto a = new Foo(1); a->go();", ["new f: Foo :Foo;", "f: go :Foo;.go"]),
    ("Foo a(2); Foo b{3}; a.go();", ["new f: Foo :Foo;", "new f: Foo :Foo;", "f: go :Foo;.go"]),
    ("auto a = make(); a->go();", ["f: make make", "f: go make().go"]),
    ("auto a = std::make_unique<Foo>(1); a->go();", ["f: go :Foo;.go"]),
    ("std::move(x); ns::Foo<int>::f<T>(1);", ["f: move std.move", "f: f ns.Foo.f"]),
    ("for (auto &e : items) e.go(); for (Foo e : q) e.go();", ["f: go items[].go", "f: go :Foo;.go"]),
    ("auto l = [&](Bar b) { b.go(); };", ["f: go :Bar;.go"]),
    ("static_cast<Foo*>(v)->go(); ((Foo*)v)->go();", ["f: go :Foo;.go", "f: go :Foo;.go"]),
    ("try { } catch (const Err &e) { e.what(); }", ["f: what :Err;.what"]),
    ("arr[0].go(); h(1)->go();", ["f: go arr[].go", "f: go h().go", "f: h h"]),
    ("cb(1);", ["f: cb :cb_t;"]),
    ("reg(f, &f);", ["f: reg reg", "refer f: f f", "refer f: f f"]),
    ("p->go<T>(1);", ["f: go :Foo;.go"]),
    ("int n = sizeof(Foo);", []),
]


@pytest.mark.parametrize(("path", "source", "expected"), [*SYMBOLS, *THROUGH_MACROS, *NOT_MACROS])
def test_definitions(path, source, expected):
    assert symbol_lines(extracted(path, source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = extracted("a.cpp", f"void f(const Foo *p, struct Bar &q, cb_t cb) {{ {body} }}")
    assert call_lines(found) == expected


def test_functions_in_tables_are_referred_to():
    found = extracted("a.c", "int r(int a) {}\nstruct ops o = { .read = r, .other = x };\n")
    assert call_lines(found) == ["refer : r r"]


def test_calls_count_their_arguments():
    found = extracted("a.cpp", "void f() { g(1, /* two */ 2); Foo a(1, 2, 3); new Foo(1); }")
    assert [it.arguments for it in found.calls] == [2, 3, 1]


def test_what_definitions_say_of_themselves():
    source = """
        class Foo final : public Base<int>, private ns::Other {
          [[nodiscard]] virtual const char *name(const Foo &f, int n = 0, char *argv[]) const override;
        };
    """
    foo, name = extracted("a.hpp", source).symbols
    assert (foo.bases, foo.modifiers) == (("Base<int>", "ns::Other"), ("final",))
    assert name.parameters == ("const Foo &", "int", "char *")
    assert name.modifiers == ("virtual", "const", "const", "override")
    assert (name.attributes, name.value_expression) == (("nodiscard",), ":char;")


def test_what_is_only_declared_says_so():
    declared, defined = extracted("a.c", "static int f(void);\nstatic int f(void) { return 1; }\n").symbols
    assert (declared.modifiers, declared.stats) == (("static", "declaration"), None)
    assert (defined.modifiers, defined.signature) == (("static",), "static int f(void)")


def test_a_class_that_is_elsewhere_is_in_part_here():
    part, method, other = extracted("a.cpp", "void Foo::m() {}\n\nvoid Foo::n() {}\n").symbols
    assert (part.modifiers, part.signature, method.parent, other.parent) == (("partial",), "Foo", 0, 0)
    assert (other.start_line, other.end_line) == (3, 3)


def test_a_macro_ends_on_its_last_line():
    it = extracted("a.c", "#define A 1\n#define F(x) \\\n  g(x)\nint b;\n").symbols
    assert [(each.start_line, each.end_line) for each in it] == [(1, 1), (2, 3), (4, 4)]


def test_macros_in_statements_are_called():
    source = "int f(int a) {\n  if (a) CHECK(g(a));\n  ASSERT(static_cast<int>(h(a)) == 3);\n  return FOO(a);\n}\n"
    assert [it.name for it in extracted("a.cc", source).calls] == ["CHECK", "g", "ASSERT", "h", "FOO"]


@pytest.mark.parametrize(("path", "source", "expected"), THROUGH_MACROS)
def test_lines_may_end_as_on_windows(path, source, expected):
    assert symbol_lines(extracted(path, source.replace("\n", "\r\n"))) == expected


def test_text_and_lines_are_those_of_the_file():
    source = "LUA_API int\nlua_top (int a) {\n  return 1;\n}\n\nmain(argc, argv)\nint argc;\n{ }\n"
    top, _, main = extracted("a.c", source).symbols
    assert (top.start_line, top.end_line, top.signature) == (1, 4, "int lua_top (int a)")
    assert (main.start_line, main.end_line, main.signature, main.parameters) == (
        6,
        8,
        "main(argc, argv) int argc",
        ("", ""),
    )


def test_an_empty_macro_cuts_no_text():
    source = "/* A licence. */\n#ifndef A_H\n#define A_H\n\n#include <b.h>\n\nint f(void);\n#endif\n"
    found = extracted("a.h", source)
    assert [it.modifiers for it in found.symbols] == [("macro", "empty"), ("declaration",)]
    assert [block.trail for block in found.blocks] == [()]


def test_includes():
    source = '#include <vector>\n#include "a/b.h"\nusing namespace std;\nusing std::string;\n'
    assert [(it.target, it.context) for it in extracted("a.cc", source).links] == [
        ("vector", "*="), ("a/b.h", "*="), ("std", "*="), ("std", "string=string"),
    ]  # fmt: skip


def test_how_involved_a_function_is():
    source = """
        int f(int a, int b) { if (a && b) { for (;;) { g(); } } else if (b) { return 1; } else { return 2; }
          switch (a) { case 1: break; case 2: return 3; default: break; } }
    """
    (it,) = extracted("a.c", source).symbols
    assert it.stats is not None
    assert tuple(it.stats) == (7, 7, 2, 2, 3, 1, 0)


@pytest.mark.parametrize(
    ("path", "source", "reason"),
    [
        ("a.c", "/* c */", "only comments"),
        ("a.h", '#include "b.h"\n', "only includes"),
        ("a.h", "#ifndef A\n#undef A\n#endif\n", "only directives"),
    ],
)
def test_why_a_file_defines_nothing(path, source, reason):
    assert extracted(path, source).facets["empty"] == reason
