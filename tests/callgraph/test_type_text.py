"""Types as they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.callgraph.facts import FileOutline
from dowse.callgraph.types import type_parameters
from dowse.callgraph.values import WrittenType, parse_type, type_arguments
from dowse.model import Record, Symbol
from dowse.store.types import CodeFacts

FOO, BAR = WrittenType("Foo"), WrittenType("Bar")
TYPES = {
    "Foo": FOO,
    "a.b.Foo": WrittenType("a.b.Foo"),
    "List<Foo>": WrittenType("List", (FOO,)),
    "list[Foo]": WrittenType("list", (FOO,)),
    "Foo[]": WrittenType("[]", (FOO,)),
    "Foo[,]": WrittenType("[]", (FOO,)),
    "Foo[][]": WrittenType("[]", (WrittenType("[]", (FOO,)),)),
    "Foo?": FOO,
    "List<Foo?>": WrittenType("List", (FOO,)),
    "Optional[Foo]": FOO,
    "Foo|None": FOO,
    "None|Foo": FOO,
    "dict[str,list[Foo]]": WrittenType("dict", (WrittenType("str"), WrittenType("list", (FOO,)))),
    "(Foo,Bar)": WrittenType("tuple", (FOO, BAR)),
    'list["Foo"]': WrittenType("list", (FOO,)),
    "dict[?,?]": WrittenType("dict", (WrittenType("?"), WrittenType("?"))),
    "Callable[[Foo],Bar]": WrittenType("Callable", (WrittenType("tuple", (FOO,)), BAR)),
    "crate::a::Foo": WrittenType("crate.a.Foo"),
    "": WrittenType(""),
    ">": WrittenType(""),
    "Foo<": FOO,
    "x" * 10_000: WrittenType(""),
}


@pytest.mark.parametrize(("text", "expected"), TYPES.items(), ids=[it[:20] for it in TYPES])
def test_types(text: str, expected: WrittenType) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<A>", ("A",)),
        ("<A,B<C,D>>", ("A", "B<C,D>")),
        ("<>", ()),
        ("<", ()),
        ("<A", ()),
        ("<list[A,B],C>", ("list[A,B]", "C")),
    ],
)
def test_arguments(text: str, expected: tuple[str, ...]) -> None:
    assert type_arguments(text) == expected


@given(st.text("AB<>[](),|?. ", max_size=60))
def test_anything_is_read(text: str) -> None:
    parse_type(text)
    type_arguments(text)


@pytest.mark.parametrize(
    ("path", "symbol", "expected"),
    [
        ("a.cs", Symbol("R", "class", 1, 1, signature="class R<T, in K> where T : A, new()"), {"T": "A", "K": ""}),
        ("a.cs", Symbol("Repo", "class", 1, 1, signature="class Repo where T : Foo"), {}),
        ("a.cs", Symbol("Get", "method", 1, 1, signature="MyGet<X> Get<T>() where T : class"), {"T": ""}),
        ("a.java", Symbol("Box", "class", 1, 1, signature="class Box<T extends Foo>"), {"T": "Foo"}),
        ("a.py", Symbol("Repo", "class", 1, 1, bases=("Base[Foo]", "Generic[T, K]")), {"T": "", "K": ""}),
        ("a.py", Symbol("Repo", "class", 1, 1, bases=("Base[ModelT]", "Other[Foo]")), {"ModelT": ""}),
        ("a.py", Symbol("Repo", "class", 1, 1, signature="class Repo[T: Foo](Base)"), {"T": "Foo"}),
    ],
)  # fmt: skip
def test_type_parameters(path: str, symbol: Symbol, expected: dict[str, str]) -> None:
    record = Record("c", path, "code", "", 1, 1, "d", "c")
    assert type_parameters(FileOutline(CodeFacts(1, record, (symbol,), ())), 0) == expected
