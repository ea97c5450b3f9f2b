"""Documents from parts: text, blocks, headings, places, tables and masks."""

from __future__ import annotations

import pytest

from dowse.ingest.chunk import ChunkLimits, chunk_extract
from dowse.ingest.extract.documents import is_document
from dowse.ingest.extract.documents.document import (
    Document,
    Element,
    PageBox,
    Row,
    Table,
    assemble,
    mask_document,
    row_text,
)
from dowse.model import DocumentTable, Fragment, PageReport

BOX = (10.0, 20.0, 300.0, 40.0)


def heading(text: str, level: int, page: int = 1) -> Element:
    return Element("heading", text, (PageBox(page, BOX),), level)


def paragraph(text: str, *pages: int) -> Element:
    return Element("paragraph", text, tuple(PageBox(page, BOX) for page in pages or (1,)))


def document(*parts: Element | Table) -> Document:
    return Document(parts, "test", pages=(PageReport(1, "test", 0.98), PageReport(2, "test", 0.94)))


def test_elements_become_lines_below_their_headings() -> None:
    extract = assemble("a/manual.pdf", document(heading("Pumps", 1), paragraph("A pump\nmoves water.")))
    assert extract.text == "Pumps\n\nA pump moves water.\n"
    assert [extract.text[it.start : it.end].strip() for it in extract.blocks] == ["Pumps", "A pump moves water."]
    assert {it.trail for it in extract.blocks} == {("Pumps",)}
    assert (extract.kind, extract.title) == ("doc", "Pumps")


def test_headings_are_symbols_that_end_where_the_next_one_begins() -> None:
    extract = assemble("m.docx", document(heading("A", 1), heading("A.1", 2), paragraph("x"), heading("B", 1)))
    assert [(it.name, it.start_line, it.end_line, it.level, it.parent) for it in extract.symbols] == [
        ("A", 1, 6, 1, None),
        ("A.1", 3, 6, 2, 0),
        ("B", 7, 7, 1, None),
    ]


def test_each_row_carries_its_headers_on_one_line() -> None:
    table = Table((Row(("P-1", "20")), Row(("P-2", ""))), ("Part", "Flow"), "Pumps", ("", "m³/h"))
    extract = assemble("m.xlsx", document(table))
    assert extract.text == "Pumps\n\nPart: P-1 | Flow: 20\nPart: P-2\n"
    assert extract.layout and extract.layout.tables == (
        DocumentTable("Pumps", ("Part", "Flow"), ("", "m³/h"), 3, (("P-1", "20"), ("P-2", "")), (0, 0)),
    )
    assert [it.role for it in extract.blocks] == ["text", "table_row", "table_row"]


@pytest.mark.parametrize(
    ("headers", "cells", "expected"),
    [
        ((), ("a", "b"), "a | b"),
        (("x",), ("1", "2"), "x: 1 | 2"),
        (("x", "y"), ("", ""), ""),
        (("two\nlines",), ("1\n2",), "two lines: 1 2"),
    ],
)
def test_rows_of_any_shape(headers: tuple[str, ...], cells: tuple[str, ...], expected: str) -> None:
    assert row_text(headers, cells) == expected


def test_a_paragraph_across_a_page_break_has_a_place_on_each_page() -> None:
    extract = assemble("m.pdf", document(heading("A", 1), paragraph("from one page to the next", 1, 2)))
    assert extract.layout
    (chunk,) = chunk_extract(extract, ChunkLimits())
    assert extract.layout.fragments_of(chunk) == (
        Fragment(1, 1, 1, BOX), Fragment(3, 3, 1, BOX), Fragment(3, 3, 2, BOX),
    )  # fmt: skip
    assert extract.layout.lines_of_page(2) == (3, 3)
    assert extract.layout.lines_of_page(3) is None


def test_facets_name_engine_pages_and_coverage() -> None:
    facets = assemble("m.PDF", document(paragraph("x"))).facets
    assert (facets["engine"], facets["pages"], facets["coverage"], facets["format"]) == ("test", "2", "0.960", "pdf")


def test_an_empty_document_has_no_text() -> None:
    extract = assemble("m.pdf", Document((Element("paragraph", "  "), Table(())), "test"))
    assert (extract.text, extract.blocks, extract.title) == ("", (), "m")


def test_secrets_are_masked_in_text_and_cells() -> None:
    key = "ghp_" + "a1B2" * 9
    table = Table((Row(("token", key)),), ("Name", "Value"))
    extract = assemble("m.docx", document(paragraph(f"The key is {key}."), table))
    masked = mask_document(extract)
    assert key in extract.text and key not in masked.text and len(masked.text) == len(extract.text)
    assert masked.layout and key not in str(masked.layout)
    assert masked.facets["masked"] == "2"


@pytest.mark.parametrize("path", ["a.pdf", "A.PDF", "x/y.docx", "x.html", "x.csv"])
def test_documents_by_suffix(path: str) -> None:
    assert is_document(path)


@pytest.mark.parametrize("path", ["a.py", "package.json", "pdf", "README.md", "x.txt"])
def test_other_files_stay_verbatim(path: str) -> None:
    assert not is_document(path)
