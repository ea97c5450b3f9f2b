"""Tables of the layout engine, compared with the words of the text layer."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.documents.document import Table
from dowse.ingest.extract.documents.pdf_layout import Cell, FoundTable, PdfGrid, find_tables
from dowse.ingest.extract.documents.pdf_structure import match_contents
from dowse.ingest.extract.documents.pdf_text import TextLine

COLUMN, ROW = 100.0, 20.0


def word(text: str, x: float, y: float, *, bold: bool = False) -> TextLine:
    return TextLine(text, (x, y, x + 6 * len(text), y + 10), is_bold=bold)


def words_at(text: str, x: float, y: float, *, bold: bool = False) -> list[TextLine]:
    words = []
    for part in text.split():
        words.append(word(part, x, y, bold=bold))
        x = words[-1].box[2] + 4
    return words


def cell(text: str, column: int, row: int) -> Cell:
    return Cell(text, (COLUMN * column, ROW * row, COLUMN * column + 90, ROW * row + 12))


def make_grid(rows: list[list[str]], *, header: bool = False, first_row: int = 0, first_column: int = 0) -> PdfGrid:
    cells = [
        [
            cell(text, first_column + column, first_row + row) if text else Cell("", None)
            for column, text in enumerate(it)
        ]
        for row, it in enumerate(rows)
    ]
    right, bottom = COLUMN * (first_column + len(rows[0])), ROW * (first_row + len(rows))
    return PdfGrid(cells, (COLUMN * first_column, ROW * first_row, right, bottom), header)


def lines_of(rows: list[list[str]], *, first_row: int = 0, bold_rows: int = 0) -> list[list[TextLine]]:
    """Return one line per cell, row by row."""
    return [
        words_at(text, COLUMN * column, ROW * (first_row + row), bold=row < bold_rows)
        for row, texts in enumerate(rows)
        for column, text in enumerate(texts)
        if text
    ]


def content(found: FoundTable) -> list[tuple[str, ...]]:
    return [row.cells for row in found.table.rows]


ROWS = [["Part", "Flow"], ["Pump A", "20"], ["Pump B", "35"]]


def test_a_table_takes_its_words_from_the_lines():
    lines = [words_at("before it", 0, -40), *lines_of(ROWS), words_at("after it", 0, 200)]
    (found,) = find_tables(3, [make_grid(ROWS, header=True)], lines)
    assert found.table.headers == ("Part", "Flow")
    assert content(found) == [("Pump A", "20"), ("Pump B", "35")]
    assert {line for line, _ in found.words} == set(range(1, 7))
    assert found.first_line == 1
    assert {place.page for row in found.table.rows for place in row.places} == {3}


def test_the_first_row_is_the_header_if_only_it_is_bold():
    rows = [*ROWS, ["Valve", "12"]]
    (bold,) = find_tables(1, [make_grid(rows)], lines_of(rows, bold_rows=1))
    (plain,) = find_tables(1, [make_grid(rows)], lines_of(rows))
    assert bold.table.headers == ("Part", "Flow")
    assert plain.table.headers == ()


def test_cells_from_another_run_of_the_content_are_left_out():
    """The text layer writes the right column after ten other lines: it is prose beside the table."""
    rows = [["Part", "Flow", "Some text"], ["Pump A", "20", "goes on"], ["Pump B", "35", "and on"]]
    beside = [words_at(row[2], COLUMN * 2, ROW * index) for index, row in enumerate(rows)]
    other = [words_at("more prose", 0, 300 + 12 * index) for index in range(10)]
    (found,) = find_tables(1, [make_grid(rows)], [*lines_of([row[:2] for row in rows]), *other, *beside])
    assert content(found) == [tuple(row) for row in ROWS]
    assert found.box[2] < 2 * COLUMN


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([["only", "one"]], id="one row"),
        pytest.param([["one"], ["column"], ["only"]], id="one column"),
        pytest.param([["•", "first point"], ["•", "second point"], ["•", "third point"]], id="bullets"),
        pytest.param([["long " * 70, "x"], ["y", "z"]], id="a cell full of prose"),
        pytest.param([["a", "b"], ["c", ""], ["", "d"], ["e", ""], ["f", ""]], id="mostly single cells"),
    ],
)
def test_what_is_no_table(rows: list[list[str]]):
    assert find_tables(1, [make_grid(rows)], lines_of(rows)) == []


def test_a_table_without_most_of_the_words_inside_it_is_refused():
    stray = [words_at("a sentence right through the middle of it all", 0, 15)]
    assert find_tables(1, [make_grid(ROWS)], [*lines_of(ROWS), *stray]) == []


def test_a_table_takes_in_the_rows_above_it_that_fit_its_columns():
    rows = [["Part", "Flow"], ["Pump A", "20"], ["Pump B", "35"], ["Valve", "12"]]
    lines = [words_at("Prose that crosses both of the columns above", 0, -30), *lines_of(rows, bold_rows=1)]
    (found,) = find_tables(1, [make_grid(rows[2:], first_row=2)], lines)
    assert found.table.headers == ("Part", "Flow")
    assert content(found) == [tuple(row) for row in rows[1:]]
    assert found.first_line == 1


def test_a_line_that_no_cell_has_continues_the_cell_above_it():
    rows = [["name of part", "20"], ["other part", "35"], ["last part", "12"]]
    lines = lines_of(rows)
    lines.insert(2, words_at("with more", 0, ROW * 0.5))
    lines.insert(5, words_at("and more", 0, ROW * 1.5))
    (found,) = find_tables(1, [make_grid(rows)], lines)
    assert content(found) == [("name of part with more", "20"), ("other part and more", "35"), ("last part", "12")]


def test_halves_of_a_table_are_joined():
    left, right = [[row[0], ""] for row in ROWS], [["x"], ["y"], ["z"]]
    grids = [make_grid(left, header=True), make_grid(right, header=True, first_column=1)]
    lines = lines_of([[row[0], other[0]] for row, other in zip(ROWS, right, strict=True)])
    (found,) = find_tables(1, grids, lines)
    assert found.table.headers == ("Part", "x")
    assert content(found) == [("Pump A", "y"), ("Pump B", "z")]


def test_right_to_left_tables_have_the_words_of_the_text_layer_and_begin_at_the_right():
    grid = make_grid([["1 2", "b a"], ["3 4", "d c"]])
    lines = lines_of([["12", "ab"], ["34", "cd"]])
    (found,) = find_tables(1, [grid], lines, use_layer_text=True)
    assert content(found) == [("ab", "12"), ("cd", "34")]


def test_two_tables_do_not_share_words():
    grid = make_grid(ROWS)
    found = find_tables(1, [grid, grid], lines_of(ROWS))
    assert len(found) == 1
    assert isinstance(found[0].table, Table)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pumps . . . . . . 12", ("Pumps", "12")),
        ("Preface ........... iv", ("Preface", "iv")),
        ("1.2 Valves…………7", ("1.2 Valves", "7")),
        ("Index.......... A-3", ("Index", "A-3")),
        ("He said ... 12", None),
        ("no leaders 12", None),
        ("Pumps . . . . . .", None),
        ("", None),
        (". " * 5_000 + "12", None),
    ],
)
def test_matches_lines_of_a_table_of_contents(text: str, expected: tuple[str, str] | None):
    match = match_contents(text)
    assert (match.groups() if match else None) == expected
