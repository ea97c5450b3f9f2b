"""Markdown built to hurt a parser is read to the end, and loses no text.

None of these may take quadratic time: at these sizes that would be minutes, not moments.
"""

from __future__ import annotations

import pytest

from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.extract.markdown import extract_markdown
from dowse.model import Item

SIZE = 120_000
HOSTILE = {
    "one line": "a" * SIZE,
    "brackets": "[" * SIZE,
    "wiki brackets": "[[" * SIZE,
    "images": "![" * SIZE,
    "stars": "*" * SIZE,
    "emphasis": "*a _b " * (SIZE // 6),
    "backticks": "`" * SIZE,
    "growing backticks": " ".join("`" * length for length in range(1, 400)),
    "nested links": "[" * (SIZE // 2) + "](x)" * (SIZE // 2),
    "quotes": ">" * SIZE,
    "quotes, lazily continued": ">" * SIZE + "x\n" + "a\n" * SIZE,
    "lists": "+ " * SIZE + "x\n" + "a\n" * SIZE,
    "numbers": "1. " * SIZE,
    "quotes and lists": "> - " * SIZE,
    "lists by indentation": "".join(" " * (2 * depth) + "- a\n" for depth in range(1000)) + "a\n" * SIZE,
    "headings": "# a\n" * (SIZE // 8),
    "long heading": "# " + "a" * SIZE,
    "fences": "```\n" * (SIZE // 8),
    "blank lines": "\n" * SIZE + " x",
    "spaces": " " * SIZE + "x",
    "wide table": "|a" * 2000 + "|\n" + "|-" * 2000 + "|\n" + "|b\n" * 20,
    "angle brackets": "<" * SIZE,
    "comments": "<!--" * SIZE,
    "tags": "#a/" * (SIZE // 3),
    "addresses": "https://" * (SIZE // 8),
    "accents": "\u0301" * SIZE,
    "rules": "x\n\n" + "---\n" * (SIZE // 8),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_kept(text):
    data = text.encode()
    chunks = chunk_extract(extract_markdown(Item("x.md", len(data), 0), data), ChunkLimits())
    assert "".join("".join(each.text for each in chunks).split()) == "".join(text.split())


def test_a_long_heading_is_cut_where_it_is_a_name():
    chunks = chunk_extract(extract_markdown(Item("x.md", 0, 0), b"# " + b"a" * SIZE), ChunkLimits())
    assert {each.trail for each in chunks} == {("a" * 200,)}


def test_deep_markers_hide_no_structure_around_them():
    data = b"# A\n\n" + b"> " * 500 + b"x\n\n# B\n\n[[C]]\n"
    found = extract_markdown(Item("x.md", 0, 0), data)
    assert [symbol.name for symbol in found.symbols] == ["A", "B"]
    assert [(link.target, link.line) for link in found.links] == [("C", 7)]
