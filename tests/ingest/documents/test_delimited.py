"""CSV: separators, quotes, rows of different length, titles, limits."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.documents import delimited
from dowse.ingest.extract.documents.delimited import read_csv, sniff_separator
from dowse.ingest.extract.documents.document import Table


def read(text: str | bytes) -> tuple[str, tuple[str, ...], list[tuple[str, ...]]]:
    (table,) = read_csv(text if isinstance(text, bytes) else text.encode()).parts
    assert isinstance(table, Table)
    return table.title, table.headers, [row.cells for row in table.rows]


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b,c\n1,2,3", ","),
        ("a;b;c\n1,5;2,5;3,5", ";"),
        ("a\tb\n1,2\t3,4", "\t"),
        ("a|b|c\n1|2|3", "|"),
        ("name;note\nx;one, two\ny;three", ";"),
        ('a,b\n"x;y;z",2\n"u;v;w",3', ","),
        ("single\ncolumn", ","),
        ("", ","),
    ],
)
def test_the_separator_is_the_one_that_splits_evenly(text: str, separator: str):
    assert sniff_separator(text) == separator


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2", ("", ("a", "b"), [("1", "2")])),
        ("1,2\n3,4", ("", (), [("1", "2"), ("3", "4")])),
        ("a,b\n1\n2,3,4", ("", (), [("a", "b", ""), ("1", "", ""), ("2", "3", "4")])),
        ('a,b\n"x, y","say ""hi"""', ("", ("a", "b"), [("x, y", 'say "hi"')])),
        ('a,b\n"two\nlines",2', ("", ("a", "b"), [("two\nlines", "2")])),
        ("Report of May\n\na,b\n1,2", ("Report of May", ("a", "b"), [("1", "2")])),
        ("Industry\nSales\nOther", ("", ("Industry",), [("Sales",), ("Other",)])),
        ("a,b\r\n1,2\r\n", ("", ("a", "b"), [("1", "2")])),
        ("\ufeffa,b\n1,2", ("", ("a", "b"), [("1", "2")])),
        ("a,b\n1,2".encode("utf-16"), ("", ("a", "b"), [("1", "2")])),
        ("naïve,b\n1,2".encode("cp1252"), ("", ("naïve", "b"), [("1", "2")])),
    ],
)
def test_rows_headers_and_titles(text: str | bytes, expected: tuple[object, ...]):
    title, headers, rows = read(text)
    if text == "a,b\n1\n2,3,4":  # the header row is shorter than the longest row
        assert [headers, *rows] == [("a", "b", ""), ("1", "", ""), ("2", "3", "4")]
    else:
        assert (title, headers, rows) == expected


def test_a_quote_that_is_never_closed_does_not_swallow_the_file():
    text = 'a,b\n1,"broken\n' + "".join(f"{number},x\n" for number in range(2000))
    document = read_csv(text.encode())
    (table,) = document.parts
    assert isinstance(table, Table)
    assert len(table.rows) == 2001
    assert document.notes == ("a quote is not closed: read without quotes",)


def test_further_cells_than_the_limit_are_left_out_and_noted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(delimited, "MAX_CELLS", 10)
    document = read_csv(b"a,b\n" + b"1,2\n" * 100)
    assert document.notes == ("the table was cut: the limit is 10 cells",)
    assert document.pages[0].coverage < 0.1


def test_an_empty_file_has_no_table():
    assert read_csv(b"\n\n").parts == ()
