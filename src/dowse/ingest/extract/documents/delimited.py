"""Read CSV and TSV with the separator that the content shows."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from dowse.ingest.extract.documents.coverage import measure_coverage
from dowse.ingest.extract.documents.decoding import decode_text
from dowse.ingest.extract.documents.document import Document, Element, Table
from dowse.ingest.extract.documents.tables import build_table, has_header
from dowse.model import PageReport

ENGINE: Final = "csv"
MAX_CELLS: Final = 3_000_000
MAX_FIELD_LINES: Final = 500
"""A field with more lines begins at a stray quote: the file is read again without quotes."""
MAX_CHECKED_CHARS: Final = 5_000_000
"""Larger files are not compared with their raw text."""

_SEPARATORS: Final = (",", ";", "\t", "|")
_SNIFFED_ROWS: Final = 100


def read_csv(data: bytes) -> Document:
    """Return the rows of a table of values; rows may differ in length."""
    text = decode_text(data)
    separator = sniff_separator(text)
    rows, notes = _read_rows(text, separator)
    title, rows = _split_title(rows)
    width = max(map(len, rows), default=0)
    rows = [row if len(row) == width else row + [""] * (width - len(row)) for row in rows]
    header_rows = 1 if width == 1 and _names_column(rows) else int(has_header(rows))
    parts: tuple[Element | Table, ...] = (build_table(rows, header_rows=header_rows, title=title),) if rows else ()
    coverage = measure_coverage(text, parts) if len(text) <= MAX_CHECKED_CHARS else None
    return Document(parts, ENGINE, pages=(PageReport(1, ENGINE, coverage),), notes=notes)


def sniff_separator(text: str) -> str:
    """Return the separator that splits most rows into the same number of columns; a comma if none does."""
    best, best_score = ",", (0.0, 0)
    for separator in _SEPARATORS:
        widths = Counter(len(row) for row in islice(_parse(text, separator), _SNIFFED_ROWS) if row)
        if not widths:
            continue
        width, count = widths.most_common(1)[0]
        score = (count / widths.total(), width) if width > 1 else (0.0, 0)
        if score > best_score:
            best, best_score = separator, score
    return best


def _parse(text: str, separator: str) -> Iterator[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)
    try:
        yield from reader
    except csv.Error:  # a field beyond the limit of the library
        return


def _read_rows(text: str, separator: str) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return the rows that have a value, and notes."""
    rows: list[list[str]] = []
    cells = 0
    for row in _parse(text, separator):
        if any(field.count("\n") > MAX_FIELD_LINES for field in row):
            return list(_split_lines(text, separator)), ("a quote is not closed: read without quotes",)
        if any(row):
            rows.append(row)
            cells += len(row)
        if cells > MAX_CELLS:
            return rows, (f"the table was cut: the limit is {MAX_CELLS:,} cells",)
    if text.strip() and not rows:
        return list(_split_lines(text, separator)), ("a field is too long: read without quotes",)
    return rows, ()


def _split_lines(text: str, separator: str) -> Iterator[list[str]]:
    cells = 0
    for line in text.splitlines():
        if line.strip() and cells <= MAX_CELLS:
            row = [field.strip() for field in line.split(separator)]
            cells += len(row)
            yield row


def _split_title(rows: list[list[str]]) -> tuple[str, list[list[str]]]:
    """Return the single texts above a table of two columns or more, and the rest."""
    width = max(map(len, rows), default=0)
    count = next((index for index, row in enumerate(rows) if len(row) - row.count("") > 1), 0)
    if width < 2 or not count:
        return "", rows
    return " – ".join("".join(row) for row in rows[:count]), rows[count:]


def _names_column(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row of a single column differs in kind from the others: a word above numbers or words."""
    first = rows[0][0]
    return len(rows) > 1 and not any(char.isdigit() for char in first) and all(row[0] != first for row in rows[1:])
