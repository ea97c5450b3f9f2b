"""What a words index would miss inside words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.tokenize import camel_parts, character_pairs, subtokens

CAMEL = [
    ("getUserName", ["get", "User", "Name"]),
    ("HTTPServer", ["HTTP", "Server"]),
    ("parseJSON", ["parse", "JSON"]),
    ("sha256sum", ["sha", "256", "sum"]),
    ("plain", []),
    ("snake_case", []),
    ("UPPER", []),
    ("x", []),
    ("", []),
]


@pytest.mark.parametrize(("word", "expected"), CAMEL)
def test_camel_parts(word: str, expected: list[str]) -> None:
    assert camel_parts(word) == expected


@pytest.mark.parametrize(("run", "expected"), [("検索語", ["検索", "索語", "語"]), ("字", ["字"]), ("", [])])
def test_pairs(run: str, expected: list[str]) -> None:
    assert character_pairs(run) == expected


NAMES = [
    ("call getUserName now", "get User Name"),
    ("nothing here", ""),
    ("Python入門", "入門 門 Python"),
]


@pytest.mark.parametrize(("text", "expected"), NAMES)
def test_names(text: str, expected: str) -> None:
    assert subtokens(text) == expected


@given(st.text(alphabet="aZ9_ -.\n\x1c"), st.sampled_from("é検"))
def test_ascii_text_is_taken_apart_as_any_other(text: str, other: str) -> None:
    assert subtokens(f"{text} {other} {other}").removesuffix(subtokens(f"{other} {other}")).rstrip() == subtokens(text)


@given(st.text())
def test_names_takes_any_text(text: str) -> None:
    assert isinstance(subtokens(text), str)
