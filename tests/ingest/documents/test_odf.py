"""OpenDocument texts and presentations."""

from __future__ import annotations

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Element, PageBox, Table
from dowse.ingest.extract.documents.odf import read_odf
from office_files import change_entries, make_odf, make_zip

TITLE = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
NUMBERS = (
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" style:num-format="1" '
    'style:num-suffix="."/><text:list-level-style-bullet text:level="2"/></text:list-style>'
)


def elements(content: str, styles: str = "") -> list[tuple[str, int, str]]:
    parts = read_odf(make_odf(content, styles_xml=styles)).parts
    return [(it.role, it.level, it.text) for it in parts if isinstance(it, Element)]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<text:p>a <text:span>b</text:span> c</text:p>", [("paragraph", 0, "a b c")]),
        ('<text:h text:outline-level="2">Head</text:h>', [("heading", 2, "Head")]),
        ('<text:h text:outline-level="9">Head</text:h>', [("heading", 6, "Head")]),
        ('<text:p text:style-name="P1">Name</text:p>', [("heading", 1, "Name")]),
        ('<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d</text:p>', [("paragraph", 0, "a   b\tc\nd")]),
        ("<text:section><text:p>in a section</text:p></text:section>", [("paragraph", 0, "in a section")]),
        ("<text:tracked-changes><text:p>old</text:p></text:tracked-changes><text:p>new</text:p>", [
            ("paragraph", 0, "new"),
        ]),
        ("<text:p>claim<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>see there"
         "</text:p></text:note-body></text:note></text:p>", [
            ("paragraph", 0, "claim[1]"), ("note", 0, "[1] see there"),
        ]),
        ("<text:p>x<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame></text:p>", [
            ("paragraph", 0, "x"), ("paragraph", 0, "boxed"),
        ]),
        ('<text:list text:style-name="L1"><text:list-item><text:p>a</text:p><text:list><text:list-item><text:p>b'
         "</text:p></text:list-item></text:list></text:list-item><text:list-item><text:p>c</text:p></text:list-item>"
         "</text:list>", [("list_item", 0, "1. a"), ("list_item", 1, "b"), ("list_item", 0, "2. c")]),
    ],
)  # fmt: skip
def test_text_and_structure(content: str, expected: list[tuple[str, int, str]]):
    assert elements(content, TITLE + NUMBERS) == expected


def test_tables_with_spans_and_repeats():
    def row(cells: str) -> str:
        return f"<table:table-row>{cells}</table:table-row>"

    def cell(text: str, attributes: str = "") -> str:
        return f"<table:table-cell {attributes}><text:p>{text}</text:p></table:table-cell>"

    rows = (
        f"<table:table-header-rows>{row(cell('Name') + cell('Low') + cell('High'))}</table:table-header-rows>"
        + row(cell("a", 'table:number-rows-spanned="2"') + cell("1", 'table:number-columns-repeated="2"'))
        + row("<table:covered-table-cell/>" + cell("2") + cell("3"))
        + row('<table:table-cell table:number-columns-repeated="16384"/>')
    )
    (table,) = read_odf(make_odf(f"<table:table>{rows}</table:table>")).parts
    assert isinstance(table, Table)
    assert table.headers == ("Name", "Low", "High")
    assert [it.cells for it in table.rows] == [("a", "1", "1"), ("a", "2", "3")]


def test_slides_are_pages():
    def frame(text: str, kind: str, top: int) -> str:
        return (
            f'<draw:frame presentation:class="{kind}" svg:x="1in" svg:y="{top}in" svg:width="1in" svg:height="1in">'
            f"<draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"
        )

    notes = f"<presentation:notes>{frame('say', 'notes', 1)}</presentation:notes>"
    slide = frame("low", "outline", 5) + frame("high", "outline", 2) + frame("Title", "title", 9) + notes
    document = read_odf(make_odf(f"<draw:page>{slide}{frame('7', 'page-number', 9)}</draw:page>", "presentation"))
    assert [(it.role, it.text) for it in document.parts if isinstance(it, Element)] == [
        ("heading", "Title"),
        ("paragraph", "high"),
        ("paragraph", "low"),
        ("note", "say"),
    ]
    assert document.parts[1].places == (PageBox(1, (72.0, 144.0, 144.0, 216.0)),)
    assert document.pages[0].coverage == 1.0


def test_encrypted_documents_are_refused():
    manifest = '<manifest xmlns="x"><file-entry><encryption-data/></file-entry></manifest>'
    with pytest.raises(Unreadable, match="password"):
        read_odf(change_entries(make_odf("<text:p>x</text:p>"), {"META-INF/manifest.xml": manifest}))


def test_an_archive_without_content_is_refused():
    with pytest.raises(Unreadable, match="missing"):
        read_odf(make_zip({"mimetype": "x"}))
