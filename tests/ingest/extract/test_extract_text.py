"""Plain text and code as text: where blocks begin, and what the title is."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.code import extract_code
from dowse.ingest.extract.plain import extract_plain
from dowse.model import Item


def parts(found):
    return [found.text[block.start : block.end] for block in found.blocks]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\nb\n", ["a\nb\n"]),
        ("a\n\nb\n \t\n\n  c", ["a\n\n", "b\n \t\n\n", "  c"]),
        ("a\r\n\r\nb\r\n", ["a\r\n\r\n", "b\r\n"]),
        ("\n\na\n\n", ["\n\n", "a\n\n"]),
    ],
)
def test_paragraphs(text, blocks):
    found = extract_plain(Item("a/b.txt", 0, 0), text.encode())
    assert parts(found) == blocks
    assert (found.kind, found.symbols, found.links) == ("doc", (), ())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  First line \n\nsecond", "First line"),
        ("=====\nTitle\n=====\ntext\n", "Title"),
        ("Title\n-----\ntext", "Title"),
        ("only line", "b"),
        ("a paragraph\nof two lines\n", "b"),
        ("x" * 200 + "\n\ntext", "x" * 200),
        ("x" * 201 + "\n\nshort", "b"),
        ("", "b"),
        ("...\n---\n", "b"),
    ],
)
def test_plain_title(text, title):
    assert extract_plain(Item("a/b.txt", 0, 0), text.encode()).title == title


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        (
            "import a\n\n\ndef f():\n    x\n\n    y\n\ndef g():\n    z\n",
            ["import a\n\n\n", "def f():\n    x\n\n    y\n\n", "def g():\n    z\n"],
        ),
        ("void f() {\n\tx;\n\n}\n\nvoid g() {}\n", ["void f() {\n\tx;\n\n}\n\n", "void g() {}\n"]),
        ("f([\n\n  1,\n\n])\n\ng()\n", ["f([\n\n  1,\n\n])\n\n", "g()\n"]),
        ("  a\n\n  b\n", ["  a\n\n  b\n"]),
        ("@d\nclass A:\n\n    x = 1\r\n\r\n    y = 2\n", ["@d\nclass A:\n\n    x = 1\r\n\r\n    y = 2\n"]),
    ],
)
def test_code_blocks(text, blocks):
    found = extract_code(Item("src/a.unknown", 0, 0), text.encode())
    assert parts(found) == blocks
    assert (found.kind, found.title) == ("code", "a.unknown")
