"""Names that are text and names that only look like it."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.text.unicode import escape_invalid_bytes, is_valid_name, replace_surrogates


@pytest.mark.parametrize("path", ["", "a/b.md", "über/ß.md", "日本.md", "\ud7ff\ue000", "\U0001f40d"])
def test_text(path: str) -> None:
    assert is_valid_name(path)
    assert replace_surrogates(path) == path


@pytest.mark.parametrize(("path", "shown"), [("\ud800", "?"), ("a\udfffb", "a?b"), ("\udcffü", "?ü")])
def test_halves(path: str, shown: str) -> None:
    assert not is_valid_name(path)
    assert replace_surrogates(path) == shown


@given(st.binary(max_size=8))
def test_a_name_is_text_where_its_bytes_are_valid(name: bytes) -> None:
    try:
        name.decode()
    except UnicodeDecodeError:
        assert not is_valid_name(os.fsdecode(name))
    else:
        assert is_valid_name(os.fsdecode(name))
    assert is_valid_name(replace_surrogates(os.fsdecode(name)))
    assert is_valid_name(escape_invalid_bytes(name)) and escape_invalid_bytes(
        os.fsdecode(name)
    ) == escape_invalid_bytes(name)


def test_bytes_that_are_no_text_are_spelt_out() -> None:
    assert escape_invalid_bytes(b"caf\xe9/\xc3\xbc.txt") == r"caf\xe9/ü.txt"
