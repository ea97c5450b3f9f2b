"""Byte offsets become character offsets, and characters lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.ingest.extract.markdown import CharacterOffsets, LineNumbers, leading_comment_start, line_end, line_start

TEXTS = st.text(alphabet="ab\n\ré漢🦊", max_size=300).map(lambda text: text * 5)


@given(TEXTS)
def test_characters_agree_with_decoding(text):
    characters, data = CharacterOffsets(text), text.encode()
    places = [len(text[:count].encode()) for count in range(len(text) + 1)]
    assert [characters.at(place) for place in places] == [len(data[:place].decode()) for place in places]


@given(TEXTS)
def test_lines_agree_with_counting(text):
    lines = LineNumbers(text)
    assert [lines.at(offset) for offset in range(len(text) + 1)] == [
        text.count("\n", 0, offset) + 1 for offset in range(len(text) + 1)
    ]


@pytest.mark.parametrize(
    ("offset", "start", "end"),
    [(0, 0, 0), (1, 0, 3), (2, 0, 3), (3, 3, 3), (4, 3, 5), (5, 3, 5)],
)
def test_line_start_and_end(offset, start, end):
    assert (line_start("ab\ncd", offset), line_end("ab\ncd", offset)) == (start, end)


LEADING = [
    ("x\n# a\n# b\nDEF", "# a"),
    ("x\n// a\n\nDEF", "// a"),
    ("x\n// a\n\n\nDEF", "// a"),
    ("x\n// a\n\n\n\nDEF", "DEF"),  # too far away
    ("# a\nDEF", "# a"),
    ("# a\n\nDEF", "DEF"),  # about the whole text
    ("# a\n\n# b\n\nDEF", "# b"),
    ("x\n# a\n\n# b\nDEF", "# b"),
    ("x\n/* a\n b lib/**\n c */\nDEF", "/* a"),
    ("x; /* a\n b */\nDEF", "DEF"),  # behind code
    ("/* a */\nx; /* b\n c */\nDEF", "DEF"),
    ("x\n/* a */ y;\nDEF", "DEF"),
    ("x\n*/\nDEF", "DEF"),
    ("*x = 1;\nDEF", "DEF"),
    ("#!/bin/sh\nDEF", "DEF"),
    ("#![allow(x)]\nDEF", "DEF"),
    ("x\n#include <a>\n\nDEF", "DEF"),
    ("x\n#ifdef A\nDEF", "#ifdef A"),
    ("x\n// a\n\n#[b]\nDEF", "// a"),
    ("x\n#[a(\n  b,\n)]\nDEF", "#[a("),
    ("x\n@a(b,\n   c)\nDEF", "@a(b,"),
    ("x\nf(\n  b,\n)\nDEF", "DEF"),
    ("x\n  # of x\n\nDEF", "DEF"),  # deeper: the end of what is above
    ("x\n=begin\na\n=end\nDEF", "=begin"),
    ("x\n<!-- a\nb -->\nDEF", "<!-- a"),
    ("x\n--[[ a\nb ]]\nDEF", "--[[ a"),
    ("\n\n\nDEF", "DEF"),
]


@pytest.mark.parametrize(("text", "first"), LEADING)
def test_where_what_belongs_to_a_line_begins(text, first):
    assert text[leading_comment_start(text, text.index("DEF")) :].startswith(first)


@given(st.lists(st.sampled_from(["", "x", "# c", "@d(", "  e)", ")]", "/*", "a */", " * b", "--[["])), st.data())
def test_what_belongs_to_a_line_begins_with_a_line_and_not_before_the_floor(lines, data):
    text = "".join(f"{it}\n" for it in lines) + "DEF"
    starts = [at for at in range(len(text)) if at == 0 or text[at - 1] == "\n"]
    floor = data.draw(st.sampled_from(starts))
    found = leading_comment_start(text, text.index("DEF"), floor)
    assert found >= floor
    assert found in starts
