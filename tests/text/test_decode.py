"""Decoding is BOM-aware, keeps line ends and refuses binary data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.errors import Unreadable
from dowse.text.unicode import decode


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("naïve 漢字 🦊".encode(), "naïve 漢字 🦊"),
        (b"a\r\nb\rc\n", "a\r\nb\rc\n"),
        (b"\xef\xbb\xbf# Title", "# Title"),
        ("\ufeffécru\r\n".encode("utf-16-le"), "écru\r\n"),
        ("\ufeffécru".encode("utf-16-be"), "écru"),
        (b"\xff\xfea\x00b", "a\ufffd"),
        (b"caf\xe9 au lait", "caf\ufffd au lait"),
        (b"\xed\xa0\x80x", "\ufffd\ufffd\ufffdx"),
    ],
)
def test_decodes(data, text):
    assert decode(data) == text


@pytest.mark.parametrize(
    "data",
    [
        b"\x00",
        b"a" * 100_000 + b"\x00",
        "x".encode("utf-16-le"),
        "\ufeffx".encode("utf-32-le"),
        b"\xff\xfe\x00\x00",
    ],
)
def test_zero_characters_make_a_file_binary(data):
    with pytest.raises(Unreadable, match="binary file") as caught:
        decode(data)
    assert caught.value.lasting


@given(st.binary())
def test_gives_encodable_text_or_refuses(data):
    try:
        text = decode(data)
    except Unreadable:
        assert b"\x00" in data
    else:
        assert text.encode().decode() == text


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00")))
def test_reads_back_what_was_written(text):
    assert decode(b"\xef\xbb\xbf" + text.encode()) == text
