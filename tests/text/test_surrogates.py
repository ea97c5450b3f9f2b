"""Names that are text and names that only look like it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.surrogates import is_text, spelt_out, valid


@pytest.mark.parametrize("path", ["", "a/b.md", "über/ß.md", "日本.md", "\ud7ff\ue000", "\U0001f40d"])
def test_text(path: str) -> None:
    assert is_text(path)
    assert valid(path) == path


@pytest.mark.parametrize(("path", "shown"), [("\ud800", "?"), ("a\udfffb", "a?b"), ("\udcffü", "?ü")])
def test_halves(path: str, shown: str) -> None:
    assert not is_text(path)
    assert valid(path) == shown


@given(st.binary(max_size=8))
def test_a_name_is_text_where_its_bytes_are_valid(name: bytes) -> None:
    try:
        name.decode()
    except UnicodeDecodeError:
        assert not is_text(os.fsdecode(name))
    else:
        assert is_text(os.fsdecode(name))
    assert is_text(valid(os.fsdecode(name)))
    assert is_text(spelt_out(name)) and spelt_out(os.fsdecode(name)) == spelt_out(name)


def test_bytes_that_are_no_text_are_spelt_out() -> None:
    assert spelt_out(b"caf\xe9/\xc3\xbc.txt") == r"caf\xe9/ü.txt"
