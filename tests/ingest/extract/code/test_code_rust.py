"""Rust: what a snippet defines, calls and imports."""

from __future__ import annotations

import pytest
from code_facts import call_lines, extracted, symbol_lines

SYMBOLS = [
    ("mod m { pub fn g() -> A {} }", ["namespace m", "function m.g = :A;"]),
    ("struct P<T> { pub a: Vec<T>, b: i32 }", ["struct P", "field P.a = :Vec<T>;", "field P.b = :i32;"]),
    ("struct Q(pub A, B);", ["struct Q", "field Q.0 = :A;", "field Q.1 = :B;"]),
    ("enum E { A, B(i32), C { x: X } }", ["enum E", "enumMember E.A", "enumMember E.B", "enumMember E.C"]),
    (
        "trait T: U { type I; const N: usize; fn m(&self) -> A; }",
        ["interface T", "typeAlias T.I", "field T.N = :usize;", "method T.m = :A;"],
    ),
    ("struct F; impl F { fn new() -> Self { F {} } }", ["struct F", "method F.new = :Self;"]),
    ("mod a { struct F; } impl F { fn m() {} }", ["namespace a", "struct a.F", "struct F", "method F.m"]),
    ("impl<T> fmt::Debug for a::F<T> { fn m(&self) {} }", ["struct F", "method F.m"]),
    ("macro_rules! mm { () => {} }", ["function mm"]),
    ("static S: &'static Foo = x; const C: Box<dyn Foo> = y;", ["variable S = :Foo;", "variable C = :Foo;"]),
    ("type Al = Vec<A>;", ["typeAlias Al = :Vec<A>;"]),
    ("fn f(xs: &[Foo]) -> Option<Arc<Foo>> { fn g() {} }", ["function f = :Option<Foo>;", "function f.g"]),
    ('extern "C" { fn cf(a: i32) -> i32; }', ["function cf = :i32;"]),
    ("fn r#type() { const X: i32 = 1; }", ["function type"]),
    (
        "s! { /// A file.\n #[derive(X)] pub struct stat { pub st_dev: ::dev_t, pub(crate) st_ino: i64 } struct B; }",
        ["struct stat", "field stat.st_dev", "field stat.st_ino", "struct B"],
    ),
    ("s! { pub enum X { A, B(i32), #[x] C = 1 } }", ["enum X", "enumMember X.A", "enumMember X.B", "enumMember X.C"]),
    (
        "cfg_if! { if #[cfg(unix)] { pub fn a(x: i32) { } fn b() { } } else { pub trait T { } type U = V; } }",
        ["function a", "function b", "interface T", "typeAlias U"],
    ),
    ("bitflags! { pub struct F: u32 { const A = 1; const B = 2; } }", ["struct F", "variable A", "variable B"]),
    (
        "lazy_static! { static ref RE: Regex = x(); pub static ref Q: i32 = 1; }\nmod m { t!(static mut M: i32 = 1); }",
        ["variable RE", "variable Q", "namespace m", "variable m.M"],
    ),
    (
        "fn f() { quote! { fn g() { } } }\nmacro_rules! m { () => { fn h() { } } }\nty!(*const T, fn(i32));",
        ["function f", "function m"],
    ),
]

CALLS = [
    ("f(1);", ["f: f f"]),
    ("self.repo.save();", ["f: save this.repo.save"]),
    ("Self::make(); crate::a::g(); super::h();", ["f: make this.make", "f: g a.g", "f: h h"]),
    ("Foo::<T>::bar(); a::b::<T>(1);", ["f: bar Foo.bar", "f: b a.b<T>"]),
    ("let a = Foo { x: 1 }; a.go();", ["new f: Foo :Foo;", "f: go :Foo;.go"]),
    ("let a: Foo = z(); a.go();", ["f: z z", "f: go :Foo;.go"]),
    ("let a: Result<_> = z(); a.go();", ["f: z z", "f: go z().go"]),
    ("let a = load().await?; a.go();", ["f: load load", "f: go load()![].go"]),
    ("p.go(); r.go();", ["f: go :Foo;.go", "f: go :Repo;.go"]),
    ("let Some(k) = q() else { return }; k.go();", ["f: q q", "f: go q()[].go"]),
    ("if let Some(v) = w { v.go() } v.on();", ["f: go w[].go", "f: on v.on"]),
    ("match e { E::B(n) if n.ok() => n.go(), Foo { b, c: d } => { b.f(); d.g() } }",
     ["f: ok E.B.0.ok", "f: go E.B.0.go", "f: f e.b.f", "f: g e.c.g"]),
    ("for (i, x) in xs.iter() { x.go() }", ["f: iter xs.iter", "f: go xs.iter()[][1].go"]),
    ("xs.map(|x| x.go());", ["f: map xs.map", "f: go xs[].go"]),
    ("xs.map(|x: &Foo| x.go());", ["f: map xs.map", "f: go :Foo;.go"]),
    ("xs.map(|x| x.go()).next().unwrap().on();",
     ["f: on xs[].go().on", "f: unwrap xs[].go().unwrap", "f: next :Iterator<?>;.next",
      "f: map xs.map", "f: go xs[].go"]),
    ("run(f);", ["f: run run", "refer f: f f"]),
    ("(&a[0]).go(); (b as Foo).go();", ["f: go a[].go", "f: go :Foo;.go"]),
    ("Some(1); println!();", ["f: println println"]),
    ("assert!(g(1), p.go(), self.a.b(), Foo::new(2), (1, 2), c[0], x.y().z());",
     ["f: assert assert", "f: g g", "f: go :Foo;.go", "f: b this.a.b", "f: new Foo.new", "f: y x.y", "f: z ?.z"]),
    ("m![Self::q(), crate::a::h(), format!(\"x\")];", ["f: m m", "f: q this.q", "f: h a.h", "f: format format"]),
]  # fmt: skip


def test_items_in_macros_have_lines_and_call_what_they_call():
    found = extracted(
        "a.rs", "s! {\n  pub fn a(x: i32) -> i32 {\n    b()\n  }\n  pub struct S {\n    pub c: i32,\n  }\n}\n"
    )
    assert [(it.name, it.start_line, it.end_line) for it in found.symbols] == [("a", 2, 4), ("S", 5, 7), ("c", 6, 6)]
    assert found.symbols[0].signature == "fn a(x: i32) -> i32"
    assert call_lines(found) == [": s s", ": b b"]


@pytest.mark.parametrize(("source", "expected"), SYMBOLS)
def test_definitions(source, expected):
    assert symbol_lines(extracted("a.rs", source)) == expected


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls(body, expected):
    found = extracted("a.rs", f"fn f(&self, p: &mut Foo, r: Arc<dyn Repo>) {{ {body} }}")
    assert call_lines(found) == expected


def test_the_parts_of_a_type_in_one_file_are_one():
    found = extracted("a.rs", "struct F;\nimpl F { fn a(&self) { self.b() } }\nimpl Ord for F { fn b(&self) {} }\n")
    assert [it.parent for it in found.symbols] == [None, 0, 0]
    assert found.symbols[0].bases == ("Ord",)
    assert call_lines(found) == ["F.a: b this.b"]


def test_a_part_of_a_type_that_is_elsewhere_stands_for_it():
    (part, _) = extracted("a.rs", "#[cfg(x)]\nimpl Ord for F { fn b(&self) {} }").symbols
    assert (part.modifiers, part.bases, part.signature) == (("impl", "partial"), ("Ord",), "impl Ord for F")
    assert part.attributes == ("cfg",)


def test_what_a_function_says_of_itself():
    source = (
        "#[derive(A)]\n// why\n#[tokio::main]\npub(crate) async unsafe fn f<T>(a: A, (b, c): (B, C)) -> D where T: X {}"
    )
    (it,) = extracted("a.rs", source).symbols
    assert it.modifiers == ("pub(crate)", "async", "unsafe")
    assert it.parameters == ("A", "(B, C)")
    assert it.attributes == ("tokio::main",)
    assert it.signature == "pub(crate) async unsafe fn f<T>(a: A, (b, c): (B, C)) -> D where T: X"


def test_imports():
    source = "use std::{io::{self, Read as R}, fmt::*};\nuse crate::a::B;\nuse c;\nextern crate foo as bar;\nmod other;"
    assert [(it.target, it.context) for it in extracted("a.rs", source).links] == [
        ("std::io", "io="), ("std::io", "R=Read"), ("std::fmt", "*="), ("crate::a", "B=B"), ("c", "c="),
        ("foo", "bar="), ("other", "other="),
    ]  # fmt: skip


def test_how_involved_a_function_is():
    source = """
        fn f(a: A) { if x && y { for i in z { g(|q| q) } } else if w { return 1 } else { return 2 }
          match a { 1 => {}, _ => {} } }
    """
    (it,) = extracted("a.rs", source).symbols
    assert it.stats is not None
    assert tuple(it.stats) == (7, 7, 3, 1, 2, 1, 1)


def test_why_a_file_defines_nothing():
    assert (
        extracted("a.rs", "#![allow(x)]\nuse a;\nmod b;").facets["empty"]
        == "only attributes, imports and names of modules"
    )
