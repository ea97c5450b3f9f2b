"""Byte offsets become character offsets, and characters lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.spans import Characters, Lines, line_end, line_start

TEXTS = st.text(alphabet="ab\n\ré漢🦊", max_size=300).map(lambda text: text * 5)


@given(TEXTS)
def test_characters_agree_with_decoding(text):
    characters, data = Characters(text), text.encode()
    places = [len(text[:count].encode()) for count in range(len(text) + 1)]
    assert [characters.at(place) for place in places] == [len(data[:place].decode()) for place in places]


@given(TEXTS)
def test_lines_agree_with_counting(text):
    lines = Lines(text)
    assert [lines.at(offset) for offset in range(len(text) + 1)] == [
        text.count("\n", 0, offset) + 1 for offset in range(len(text) + 1)
    ]


@pytest.mark.parametrize(
    ("offset", "start", "end"),
    [(0, 0, 0), (1, 0, 3), (2, 0, 3), (3, 3, 3), (4, 3, 5), (5, 3, 5)],
)
def test_line_start_and_end(offset, start, end):
    assert (line_start("ab\ncd", offset), line_end("ab\ncd", offset)) == (start, end)
