"""Presentations: slides as pages, reading order by place, tables, notes, comments."""

from __future__ import annotations

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Element, PageBox, Table
from dowse.ingest.extract.documents.pptx import read_pptx
from office_files import NAMESPACES, change_entries, make_docx, make_pptx, paragraph, shape


def texts(data: bytes) -> list[str]:
    return [part.text for part in read_pptx(data).parts if isinstance(part, Element)]


def test_slides_are_pages_and_titles_are_headings():
    document = read_pptx(make_pptx(shape("One", "title"), shape("body", "body") + shape("Two", "ctrTitle")))
    assert document.parts == (
        Element("heading", "One", (PageBox(1),), 1),
        Element("heading", "Two", (PageBox(2),), 1),
        Element("list_item", "body", (PageBox(2),)),
    )
    assert [(page.page, page.coverage, page.width, page.height) for page in document.pages] == [
        (1, 1.0, 1000.0, 500.0),
        (2, 1.0, 1000.0, 500.0),
    ]


def test_shapes_are_read_in_rows_from_left_to_right():
    slide = shape("low", None, (10, 300)) + shape("right", None, (500, 103)) + shape("left", None, (10, 110))
    assert texts(make_pptx(slide)) == ["left", "right", "low"]


@pytest.mark.parametrize(
    ("kind", "properties", "role", "level"),
    [
        ("body", "", "list_item", 0),
        ("body", '<a:pPr lvl="2"/>', "list_item", 2),
        ("body", "<a:pPr><a:buNone/></a:pPr>", "paragraph", 0),
        (None, "", "paragraph", 0),
        (None, '<a:pPr lvl="1"><a:buChar char="-"/></a:pPr>', "list_item", 1),
    ],
)
def test_lists_with_depth(kind: str | None, properties: str, role: str, level: int):
    (part,) = read_pptx(make_pptx(shape("text", kind, properties=properties))).parts
    assert isinstance(part, Element)
    assert (part.role, part.level, part.text) == (role, level, "text")


def test_numbered_items_count():
    data = make_pptx(shape("a\nb\nc", None, properties='<a:pPr><a:buAutoNum type="arabicPeriod"/></a:pPr>'))
    assert texts(data) == ["1. a", "2. b", "3. c"]


def test_page_margins_are_dropped_and_not_missed():
    document = read_pptx(make_pptx(shape("text") + shape("7", "sldNum") + shape("ACME", "ftr")))
    assert [part.text for part in document.parts if isinstance(part, Element)] == ["text"]
    assert document.pages[0].coverage == 1.0


def test_a_table_with_merged_cells():
    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:txBody></a:tc>"

    rows = (
        cell("Name") + cell("Voltage (kV)") + cell("Time [ms]"),
        cell("both", 'rowSpan="2"') + cell("wide", 'gridSpan="2"') + cell("", 'hMerge="1"'),
        cell("", 'vMerge="1"') + cell("1") + cell("2"),
    )
    table = "".join(f"<a:tr>{row}</a:tr>" for row in rows)
    (part,) = read_pptx(make_pptx(f"<p:graphicFrame><a:tbl>{table}</a:tbl></p:graphicFrame>")).parts
    assert isinstance(part, Table)
    assert part.headers == ("Name", "Voltage (kV)", "Time [ms]")
    assert part.units == ("", "kV", "ms")
    assert [row.cells for row in part.rows] == [("both", "wide", "wide"), ("both", "1", "2")]


def test_notes_and_comments():
    notes = f"<p:notes {NAMESPACES}><p:cSld><p:spTree>{shape('say this', 'body')}{shape('1', 'sldNum')}"
    notes += "</p:spTree></p:cSld></p:notes>"
    comments = f'<p:cmLst {NAMESPACES}><p:cm authorId="0" dt="2024-01-02"><p:text>why?</p:text></p:cm></p:cmLst>'
    document = read_pptx(make_pptx(shape("text"), related={1: {"notesSlide": notes, "comments": comments}}))
    assert [(part.role, part.text) for part in document.parts if isinstance(part, Element)] == [
        ("paragraph", "text"),
        ("note", "say this"),
        ("note", "Comment (time: 2024-01-02): why?"),
    ]


def test_shapes_in_groups_and_unknown_containers_are_read():
    slide = f"<p:grpSp>{shape('grouped')}</p:grpSp><mc:AlternateContent><mc:Choice>{shape('new')}</mc:Choice>"
    slide += f"<mc:Fallback>{shape('old')}</mc:Fallback></mc:AlternateContent>"
    assert texts(make_pptx(slide)) == ["grouped", "new"]


def test_a_slide_that_is_listed_twice_is_read_once():
    data = make_pptx(shape("once"))
    slides = '<p:sldId r:id="r1"/>' * 2
    twice = f"<p:presentation {NAMESPACES}><p:sldIdLst>{slides}</p:sldIdLst></p:presentation>"
    assert texts(change_entries(data, {"ppt/presentation.xml": twice})) == ["once"]


def test_a_word_document_is_no_presentation():
    with pytest.raises(Unreadable, match="no presentation"):
        read_pptx(make_docx(paragraph("text")))
