"""PDFs made by the tests: structure, reading order, places, fallback between engines."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.documents import pdf as pdf_module
from dowse.ingest.extract.documents.document import Document, Element, Row, Table, assemble
from dowse.ingest.extract.documents.pdf import PdfLimits, read_pdf
from dowse.ingest.extract.documents.pdf_layout import FoundTable, LayoutFailed
from dowse.ingest.extract.documents.pdf_structure import cut_columns
from dowse.ingest.extract.documents.pdf_text import TextLine, clean_text, is_garbled, measure_right_to_left
from pdf_files import BOLD, HEIGHT, MONO, WIDTH, Page, make_paragraph, make_pdf

BODY = [
    "The pump moves twenty litres of water each minute and stops",
    "when the tank is full. A valve keeps the water from flowing back",
    "into the pipe. The sensor measures the level all day long.",
]


def elements(document: Document) -> list[Element]:
    return [part for part in document.parts if isinstance(part, Element)]


def roles(document: Document) -> list[tuple[str, str]]:
    return [(part.role, part.text) for part in elements(document)]


def text_of(document: Document) -> str:
    return "\n".join(part.text for part in elements(document))


def body_page(*, x: float = 72, y: float = 200) -> Page:
    return Page().write_lines(x, y, BODY)


def test_joins_the_lines_of_a_paragraph_and_says_where_it_stands():
    document = read_pdf(make_pdf(body_page()))
    (paragraph,) = elements(document)
    assert paragraph.role == "paragraph"
    assert paragraph.text == " ".join(BODY)
    (place,) = paragraph.places
    left, top, right, bottom = place.box
    assert place.page == 1
    assert left == pytest.approx(72, abs=2)
    assert top == pytest.approx(192, abs=3)
    assert bottom == pytest.approx(226, abs=3)
    assert 300 < right < 400


def test_reports_engine_size_and_coverage_of_each_page():
    document = read_pdf(make_pdf(body_page(), body_page()))
    assert [(it.page, it.engine, it.coverage, it.width, it.height) for it in document.pages] == [
        (1, "liteparse", 1.0, WIDTH, HEIGHT),
        (2, "liteparse", 1.0, WIDTH, HEIGHT),
    ]


def test_headings_have_the_level_of_their_size():
    page = Page().write(72, 120, "Water supply", size=22, font=BOLD).write_lines(72, 150, BODY)
    page.write(72, 240, "Pumps", size=16, font=BOLD).write_lines(72, 270, BODY)
    page.write(72, 360, "Valves", size=16, font=BOLD).write_lines(72, 390, BODY)
    document = read_pdf(make_pdf(page))
    headings = [(part.level, part.text) for part in elements(document) if part.role == "heading"]
    assert headings == [(1, "Water supply"), (2, "Pumps"), (2, "Valves")]


def test_headings_have_the_level_of_their_number():
    page = Page().write(72, 120, "3 Water", size=16, font=BOLD).write_lines(72, 150, BODY)
    page.write(72, 240, "3.1 Pumps", size=13, font=BOLD).write_lines(72, 270, BODY)
    page.write(72, 360, "3.1.1 Seals", size=13, font=BOLD).write_lines(72, 390, BODY)
    document = read_pdf(make_pdf(page))
    assert [part.level for part in elements(document) if part.role == "heading"] == [1, 2, 3]


def test_the_outline_makes_a_line_a_heading():
    page = Page().write(72, 120, "Maintenance").write_lines(72, 160, BODY)
    plain, outlined = read_pdf(make_pdf(page)), read_pdf(make_pdf(page, outline=[("Maintenance", 0)]))
    assert roles(plain)[0] == ("paragraph", "Maintenance")
    assert roles(outlined)[0] == ("heading", "Maintenance")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Water Supply Handbook", "Water Supply Handbook"),
        ("Microsoft Word - final.docx", ""),
        ("untitled", ""),
        ("report_2024.pdf", ""),
        ("x", ""),
        ("20240704130620", ""),
    ],
)
def test_takes_the_title_of_the_metadata_only_if_it_is_one(title: str, expected: str):
    assert read_pdf(make_pdf(body_page(), title=title)).title == expected


def test_list_items_lose_their_bullet_and_have_a_depth():
    page = Page().write_lines(72, 120, BODY).write(80, 180, "\u2022 first thing to do")
    page.write(80, 196, "\u2022 second thing to do").write(100, 212, "\u2022 a detail of it")
    page.write(80, 228, "\u2022 third thing to do")
    items = [(part.level, part.text) for part in elements(read_pdf(make_pdf(page))) if part.role == "list_item"]
    assert items == [
        (0, "first thing to do"),
        (0, "second thing to do"),
        (1, "a detail of it"),
        (0, "third thing to do"),
    ]


def test_captions_and_code_have_their_roles():
    page = Page().write_lines(72, 120, BODY).write(72, 180, "Figure 3: The pump from above")
    page.write_lines(72, 220, ["def start(pump):", "    pump.open()"], font=MONO)
    document = read_pdf(make_pdf(page))
    assert ("caption", "Figure 3: The pump from above") in roles(document)
    (code,) = [part.text for part in elements(document) if part.role == "code"]
    assert code.splitlines()[0] == "def start(pump):"
    assert code.splitlines()[1].strip() == "pump.open()"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["the water in the under-", "ground pipe is cold"], "the water in the underground pipe is cold"),
        (["a self-locking nut and a self-", "locking bolt"], "a self-locking nut and a self-locking bolt"),
        (["see the model P-", "200 for this"], "see the model P-200 for this"),
        (["on the 3-", "Axis table"], "on the 3-Axis table"),
        (["the pre-", "and post-war years"], "the pre- and post-war years"),
    ],
)
def test_joins_words_that_a_line_end_parts(lines: list[str], expected: str):
    assert text_of(read_pdf(make_pdf(Page().write_lines(72, 200, lines)))) == expected


def test_reads_columns_one_after_the_other():
    left, right = make_paragraph("left", 60, 3), make_paragraph("right", 60, 3)
    page = Page().write_lines(60, 100, left).write_lines(330, 100, right)
    words = text_of(read_pdf(make_pdf(page))).split()
    assert words == [*" ".join(left).split(), *" ".join(right).split()]


def test_reads_columns_one_after_the_other_even_if_the_file_writes_row_by_row():
    left, right = make_paragraph("left", 80, 4), make_paragraph("right", 80, 4)
    page = Page()
    for index, (first, second) in enumerate(zip(left, right, strict=True)):
        page.write(60, 100 + 12 * index, first).write(330, 100 + 12 * index, second)
    document = read_pdf(make_pdf(page))
    assert text_of(document).split() == [*" ".join(left).split(), *" ".join(right).split()]
    assert any(note.startswith("order by") for note in document.notes)


def test_reads_a_table_without_headers_and_rules_row_by_row():
    rows = [(f"name{index}", f"{index}.5", f"{index + 40}") for index in range(20)]
    page = Page()
    for index, row in enumerate(rows):
        for x, cell in zip((60, 250, 400), row, strict=True):
            page.write(x, 100 + 12 * index, cell)
    document = read_pdf(make_pdf(page))
    words = [word for part in document.parts if isinstance(part, Element) for word in part.text.split()]
    words += [
        cell for part in document.parts if isinstance(part, Table) for row in part.rows for cell in row.cells if cell
    ]
    assert words == [cell for row in rows for cell in row]


def test_sorts_lines_that_the_file_writes_from_the_bottom():
    page = Page()
    for index in reversed(range(len(BODY))):
        page.write(72, 100 + 12 * index, BODY[index])
    assert text_of(read_pdf(make_pdf(page))).split() == " ".join(BODY).split()


def test_a_paragraph_across_columns_has_a_box_for_each():
    left, right = make_paragraph("word", 60, 3), make_paragraph("more", 30, 3)
    page = Page().write_lines(60, 100, left).write_lines(330, 100, right)
    (paragraph,) = elements(read_pdf(make_pdf(page)))
    assert [place.page for place in paragraph.places] == [1, 1]
    assert paragraph.places[0].box[2] < 330 < paragraph.places[1].box[2]


def test_a_paragraph_across_pages_is_one_element_with_a_box_on_each():
    first = Page().write_lines(72, 100, BODY).write(72, 700, "At the end of the page the sentence goes")
    second = Page().write(72, 100, "on with the next page. Then it stops.").write_lines(72, 140, BODY)
    document = read_pdf(make_pdf(first, second))
    (joined,) = [part for part in elements(document) if len(part.places) == 2]
    assert joined.text == "At the end of the page the sentence goes on with the next page. Then it stops."
    assert [place.page for place in joined.places] == [1, 2]


def test_a_word_parted_by_a_page_break_is_joined():
    first = Page().write(72, 100, "Water flows through the under-")
    second = Page().write(72, 100, "ground pipe and back.")
    (paragraph,) = elements(read_pdf(make_pdf(first, second)))
    assert paragraph.text == "Water flows through the underground pipe and back."


def test_a_paragraph_that_ended_is_not_joined_to_the_next_page():
    document = read_pdf(make_pdf(Page().write(72, 100, "It ends here."), Page().write(72, 100, "and this begins low.")))
    assert len(elements(document)) == 2


def test_drops_running_headers_footers_and_page_numbers():
    pages = []
    for number in range(1, 6):
        page = Page().write(72, 40, "Water Supply Handbook").write(300, 770, f"Page {number} of 5")
        pages.append(page.write_lines(72, 200, make_paragraph(f"page{number}word", 30)))
    document = read_pdf(make_pdf(*pages))
    assert "Handbook" not in text_of(document)
    assert "Page" not in text_of(document)
    assert all(f"page{number}word000" in text_of(document) for number in range(1, 6))
    assert [page.coverage for page in document.pages] == [1.0] * 5


def test_keeps_headings_at_the_top_of_each_page():
    pages = [
        Page().write(72, 60, f"Chapter {number}", size=18, font=BOLD).write_lines(72, 120, BODY)
        for number in range(1, 6)
    ]
    headings = [part.text for part in elements(read_pdf(make_pdf(*pages))) if part.role == "heading"]
    assert headings == [f"Chapter {number}" for number in range(1, 6)]


def test_keeps_a_line_in_the_margin_of_a_single_page():
    document = read_pdf(make_pdf(Page().write(72, 40, "Only once at the top").write_lines(72, 200, BODY)))
    assert "Only once at the top" in text_of(document)


def ruled_table(page: Page, rows: list[list[str]], *, top: float = 300, **style) -> Page:
    """Write a table with rules around each cell."""
    columns = [72, 200, 330, 460][: len(rows[0]) + 1]
    for index in range(len(rows) + 1):
        page.draw_line(columns[0], top + 20 * index, columns[-1], top + 20 * index)
    for x in columns:
        page.draw_line(x, top, x, top + 20 * len(rows))
    for index, row in enumerate(rows):
        for x, cell in zip(columns, row, strict=False):
            page.write(x + 5, top + 14 + 20 * index, cell, font=BOLD if index == 0 else "F1", **style)
    return page


TABLE = [["Part", "Flow", "Price"], ["Pump A", "20", "300"], ["Pump B", "35", "410"], ["Valve", "12", "55"]]


def test_a_table_has_headers_rows_and_boxes():
    page = ruled_table(Page().write_lines(72, 100, BODY).write(72, 290, "Table 1: Parts and prices"), TABLE)
    document = read_pdf(make_pdf(page.write_lines(72, 420, BODY)))
    (table,) = [part for part in document.parts if isinstance(part, Table)]
    assert table.headers == ("Part", "Flow", "Price")
    assert [row.cells for row in table.rows] == [tuple(row) for row in TABLE[1:]]
    assert table.title == "Table 1: Parts and prices"
    first, second = (row.places[0].box for row in table.rows[:2])
    assert first[3] <= second[1] + 1
    assert 72 <= first[0] < first[2] <= 460
    assert 320 <= first[1] < first[3] <= 340
    position = document.parts.index(table)
    assert document.parts[position - 1].text == document.parts[position + 1].text == " ".join(BODY)


def test_a_table_without_rules_is_found():
    page = Page().write_lines(72, 100, BODY)
    for index, row in enumerate(TABLE):
        for x, cell in zip((72, 200, 330), row, strict=True):
            page.write(x, 200 + 14 * index, cell, font=BOLD if index == 0 else "F1")
    (table,) = [part for part in read_pdf(make_pdf(page)).parts if isinstance(part, Table)]
    assert {cell for row in table.rows for cell in row.cells} >= {"Pump A", "35", "55"}


def test_columns_of_prose_are_no_table():
    left = ["\u2022 The first of the points", "\u2022 The second point here", "\u2022 The third of them all"] * 4
    right = ["\u2022 Another point to note", "\u2022 One more on this side", "\u2022 The last one of them"] * 4
    page = Page().write_lines(60, 100, left, step=18).write_lines(330, 100, right, step=18)
    document = read_pdf(make_pdf(page))
    assert not [part for part in document.parts if isinstance(part, Table)]
    assert [text for _, text in roles(document)] == [line[2:] for line in [*left, *right]]


def test_a_table_of_contents_is_a_table():
    page = Page().write(72, 100, "Contents", size=18, font=BOLD)
    for index, name in enumerate(["Pumps", "Valves", "Sensors", "Pipes"]):
        page.write(72, 140 + 14 * index, f"{name} {'. ' * 40} {index + 3}")
    (table,) = [part for part in read_pdf(make_pdf(page)).parts if isinstance(part, Table)]
    assert [row.cells for row in table.rows] == [("Pumps", "3"), ("Valves", "4"), ("Sensors", "5"), ("Pipes", "6")]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_boxes_of_rotated_pages_are_those_of_the_page_as_shown(rotation: int):
    page = Page(rotation=rotation).write(100, 200, "Turned words", size=12)
    document = read_pdf(make_pdf(page))
    (place,) = elements(document)[0].places
    left, top, right, bottom = place.box
    expected = {
        0: (100, 191, 172, 203),
        90: (HEIGHT - 203, 100, HEIGHT - 191, 172),
        180: (WIDTH - 172, HEIGHT - 203, WIDTH - 100, HEIGHT - 191),
        270: (191, WIDTH - 172, 203, WIDTH - 100),
    }[rotation]
    assert (left, top, right, bottom) == pytest.approx(expected, abs=4)
    shown = (HEIGHT, WIDTH) if rotation in (90, 270) else (WIDTH, HEIGHT)
    assert (document.pages[0].width, document.pages[0].height) == shown


def test_a_page_whose_tables_lose_words_is_read_again_without_them(monkeypatch: pytest.MonkeyPatch):
    def lose_words(page, grids, words, **_):
        taken = frozenset((line, word) for line, it in enumerate(words) for word in range(len(it)))
        table = Table((Row(("Part", "Pump")), Row(("Flow", "20"))))
        return [FoundTable(table, (0, 0, 600, 700), taken, 0)]

    monkeypatch.setattr(pdf_module, "find_tables", lose_words)
    document = read_pdf(make_pdf(ruled_table(Page().write_lines(72, 100, BODY), TABLE)))
    (report,) = document.pages
    assert (report.engine, report.coverage) == ("pdfium", 1.0)
    assert "pdfium covers more than liteparse: p. 1" in document.notes
    assert " ".join(BODY) in text_of(document)


def test_a_failure_of_the_layout_engine_leaves_the_text(monkeypatch: pytest.MonkeyPatch):
    def fail(*_):
        raise LayoutFailed("broken")
        yield

    monkeypatch.setattr(pdf_module, "read_layouts", fail)
    document = read_pdf(make_pdf(body_page(), body_page()))
    assert [page.engine for page in document.pages] == ["pdfium", "pdfium"]
    assert "liteparse failed after page 0: broken" in document.notes
    assert text_of(document).count("The pump moves") == 2


def test_notes_when_the_page_limit_is_reached():
    document = read_pdf(make_pdf(body_page(), body_page(), body_page()), PdfLimits(max_pages=2))
    assert [page.page for page in document.pages] == [1, 2]
    assert "page limit: read 2 of 3 pages" in document.notes


def test_notes_when_the_text_limit_is_reached():
    document = read_pdf(make_pdf(body_page(), body_page(), body_page()), PdfLimits(max_chars=100))
    assert "text limit: read 1 of 3 pages" in document.notes


def test_a_blank_page_has_a_report_and_no_text():
    document = read_pdf(make_pdf(body_page(), Page(), body_page()))
    assert [(page.page, page.coverage) for page in document.pages] == [(1, 1.0), (2, None), (3, 1.0)]


def test_assembles_with_headings_and_places():
    page = Page().write(72, 100, "Pumps", size=18, font=BOLD).write_lines(72, 140, BODY)
    extraction = assemble("handbook.pdf", read_pdf(make_pdf(page)))
    assert [symbol.name for symbol in extraction.symbols] == ["Pumps"]
    assert extraction.facets["engine"] == "pdfium+liteparse"
    assert extraction.facets["coverage"] == "1.000"
    assert extraction.layout is not None
    assert {fragment.page for fragment in extraction.layout.fragments} == {1}


def test_the_same_file_gives_the_same_document():
    data = make_pdf(ruled_table(Page().write_lines(72, 100, BODY), TABLE), body_page())
    assert read_pdf(data) == read_pdf(data)


# --- parts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("a\u00a0b\tc", "a b c"),
        ("\x84 item", "• item"),
        ("\uf0b7 item", "• item"),
        ("bro\u00adken", "broken"),
        ("a\x03b", "ab"),
        ("بلغة Pythonمن", "بلغة Python من"),
    ],
)
def test_cleans_text(text: str, expected: str):
    assert clean_text(text) == expected


@pytest.mark.parametrize(("text", "expected"), [("abc", 0.0), ("אבג", 1.0), ("אבגd", 0.75), ("", 0.0), ("12 3", 0.0)])
def test_measures_right_to_left_letters(text: str, expected: float):
    assert measure_right_to_left(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("\x01\x02\x03\x04" * 10, True), ("\uf041" * 30, True), ("normal words " * 5, False), ("\x01", False)],
)
def test_knows_garbled_text(text: str, expected: bool):
    assert is_garbled(text) is expected


def test_cuts_columns_below_a_title():
    def line(left: float, top: float, right: float) -> TextLine:
        return TextLine("x", (left, top, right, top + 10))

    lines = [line(50, 10, 500), line(50, 40, 240), line(50, 52, 240), line(300, 40, 500), line(300, 52, 500)]
    shuffled = [lines[index] for index in (3, 1, 0, 4, 2)]
    assert [lines.index(shuffled[index]) for index in cut_columns(shuffled)] == [0, 1, 2, 3, 4]
    right_first = cut_columns(shuffled, right_to_left=True)
    assert [lines.index(shuffled[index]) for index in right_first] == [0, 3, 4, 1, 2]
