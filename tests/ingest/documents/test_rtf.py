"""RTF: characters, paragraphs, headings, tables, hidden groups."""

from __future__ import annotations

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Element, Table
from dowse.ingest.extract.documents.rtf import MAX_DEPTH, read_rtf


def texts(body: str) -> list[str]:
    document = read_rtf(("{\\rtf1\\ansi\\ansicpg1252 " + body + "}").encode("latin-1"))
    return [part.text for part in document.parts if isinstance(part, Element)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("one\\par two\\par", ["one", "two"]),
        ("a {\\b bold} word", ["a bold word"]),
        ("caf\\'e9 \\u8364? \\u8364\\'80x", ["café € €x"]),
        ("\\uc0\\u8364 x", ["€x"]),
        ("\\u-10179?\\u-8704?", ["😀"]),
        ("a\\tab b\\line c\\~d\\_e", ["a\tb\nc d-e"]),
        ("\\{braces\\} \\\\", ["{braces} \\"]),
        ("{\\fonttbl{\\f0 Arial;}}{\\colortbl;\\red0;}text", ["text"]),
        ("{\\*\\unknown hidden}shown", ["shown"]),
        ("{\\pict 0102ff}text", ["text"]),
        ("{\\header page}{\\footer 1}text", ["text"]),
        ("wrapped\nline", ["wrappedline"]),
        ("\\ldblquote quoted\\rdblquote\\emdash x", ["“quoted”—x"]),
        ("{\\field{\\*\\fldinst HYPERLINK}{\\fldrslt shown}}", ["shown"]),
        ("never closed {\\b and cut", ["never closed and cut"]),
    ],
)
def test_text(body: str, expected: list[str]):
    assert texts(body) == expected


def test_code_pages():
    assert texts("\\ansicpg1251 \\'c6\\'e8\\'e7\\'ed\\'fc") == ["Жизнь"]


def test_headings_by_style_and_outline():
    body = "{\\stylesheet{\\s1\\b heading 1;}{\\s2 Normal;}}\\pard\\s1 Head\\par\\pard text\\par"
    body += "\\pard\\outlinelevel2 Sub\\par"
    document = read_rtf(("{\\rtf1 " + body + "}").encode())
    assert [(it.role, it.level, it.text) for it in document.parts if isinstance(it, Element)] == [
        ("heading", 1, "Head"),
        ("paragraph", 0, "text"),
        ("heading", 3, "Sub"),
    ]


def test_tables():
    body = "\\trowd\\intbl Name\\cell Size\\cell\\row\\trowd\\intbl a\\cell 1\\par 2\\cell\\row\\pard after\\par"
    table, after = read_rtf(("{\\rtf1 " + body + "}").encode()).parts
    assert isinstance(table, Table)
    assert table.headers == ("Name", "Size")
    assert [row.cells for row in table.rows] == [("a", "1\n2")]
    assert after == Element("paragraph", "after")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"plain", "not RTF"),
        (b"PK\x03\x04", "zip archive"),
        (b"%PDF-1", "PDF"),
        (b"{\\rtf1" + b"{" * (MAX_DEPTH + 10), "nests"),
    ],
)
def test_other_files_are_refused_with_a_reason(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        read_rtf(data)
