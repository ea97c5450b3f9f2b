"""Read spreadsheets (XLSX, XLSM, XLSB, XLS, ODS): sheets as pages, the tables in them with titles and headers.

Values are read, not formulas. Charts and comments come from the XML of XLSX and XLSM.
"""

from __future__ import annotations

import datetime
import gc
import io
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import OLE_MAGIC, Archive, describe_wrong_container, parse_integer
from dowse.ingest.extract.documents.document import Document, Element, PageBox, Table
from dowse.ingest.extract.documents.ooxml import Package, format_comment, read_chart
from dowse.ingest.extract.documents.tables import build_table, has_header
from dowse.model import PageReport

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

ENGINE: Final = "calamine"
MAX_CELLS: Final = 3_000_000
"""Of all sheets together; further rows are left out and a note says so."""
MAX_SHEET_AREA: Final = 20_000_000
"""Rows times columns of one sheet: the library keeps empty cells, too."""
MAX_SHEETS: Final = 2_000
MAX_TITLE_CHARS: Final = 200

_LARGEST_EXACT_INTEGER: Final = 1e15
_LAST_ROW: Final = re.compile(rb"""<row [^>]*?\br=["'](\d{1,20})""")
_COLUMN: Final = re.compile(rb""" r=["']([A-Z]{1,3})""")
_CELL_ROW: Final = re.compile(rb""" r=["'][A-Z]{1,3}(\d{1,20})""")
_TWO_LETTER_COLUMNS: Final = 702
_TEXT_COUNTS: Final = re.compile(rb'uniqueCount="(\d{1,20})')
_SEARCHED_BYTES: Final = 4096
# The record that begins the shared texts of an XLSB: two numbers follow, of all uses and of different texts.
_BINARY_TEXTS: Final = b"\x9f\x01\x08"
_BINARY_TEXTS_BYTES: Final = 11
_WORKBOOK_STREAMS: Final = tuple(name.encode("utf-16-le") for name in ("Workbook", "Book"))


def read_sheets(data: bytes) -> Document:
    """Return the sheets of a workbook; a sheet is a page."""
    with _pause_garbage_collection():
        return _read_workbook(data)


@contextmanager
def _pause_garbage_collection() -> Iterator[None]:
    """Keep the collector from visiting 10⁶ new cells again and again: they are in no cycle."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _translate_errors(subject: str) -> Iterator[None]:
    """Raise `Unreadable` for every way in which the library fails; a panic of Rust is no `Exception`."""
    from python_calamine import CalamineError, PasswordError

    try:
        yield
    except PasswordError as error:
        raise Unreadable("the file is protected by a password") from error
    except (CalamineError, OSError, ValueError) as error:
        raise Unreadable(f"{subject} is damaged ({error})") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Unreadable(f"{subject} is damaged (the library failed)") from error


def _read_workbook(data: bytes) -> Document:
    from python_calamine import CalamineWorkbook

    package = _open_package(data)
    extras = _WorkbookParts(package) if package is not None else None
    measured = extras.measure_sheets() if extras else {}
    with _translate_errors("the workbook"):
        workbook = CalamineWorkbook.from_filelike(io.BytesIO(data))
    parts: list[Element | Table] = []
    pages: list[PageReport] = []
    notes: list[str] = []
    cells_left = MAX_CELLS
    names = workbook.sheet_names
    if len(names) > MAX_SHEETS:
        notes.append(f"the workbook was cut: the limit is {MAX_SHEETS:,} sheets")
    for index, name in enumerate(names[:MAX_SHEETS]):
        places = (PageBox(index + 1),)
        raw_cells, area = measured.get(name, (None, 0))
        rows = _Rows()
        if area > MAX_SHEET_AREA:
            notes.append(f"sheet '{name}' spans {area:,} cells and was left out; the limit is {MAX_SHEET_AREA:,}")
        else:
            try:
                with _translate_errors(f"sheet '{name}'"):
                    rows = _read_rows(workbook.get_sheet_by_index(index), cells_left)
            except Unreadable as error:
                notes.append(str(error))
        if rows.is_cut:
            notes.append(f"sheet '{name}' was cut: the limit is {MAX_CELLS:,} cells")
        cells_left -= rows.cells
        parts.append(Element("heading", name, places, 1))
        parts += find_tables(rows.rows, places)
        if extras:
            parts += extras.read_charts(name, places)
            parts += extras.read_comments(name, places)
        coverage = min(rows.cells / raw_cells, 1.0) if raw_cells else None
        pages.append(PageReport(index + 1, ENGINE, coverage))
    title, facets = package.read_properties() if package is not None else ("", {})
    return Document(tuple(parts), ENGINE, title, tuple(pages), (), facets, tuple(notes))


def _open_package(data: bytes) -> Package | None:
    """Return the parts of an XLSX or XLSM; other workbooks have no XML that is read here."""
    if data.startswith(OLE_MAGIC):
        if not any(name in data for name in _WORKBOOK_STREAMS):
            raise Unreadable(describe_wrong_container(data))
        return None
    package = Package(data)
    _check_shared_texts(package.archive)
    if "xl/workbook.bin" in package.archive or "content.xml" in package.archive:
        package.archive.verify_sizes()
        return None
    return package


def _check_shared_texts(archive: Archive) -> None:
    """Refuse a number of shared texts that the file cannot hold: the library reserves memory for all of them."""
    for name in archive.names:
        if not name.casefold().endswith(("sharedstrings.xml", "sharedstrings.bin")):
            continue
        data = archive.read(name)
        declared = [int(number) for number in _TEXT_COUNTS.findall(data, 0, _SEARCHED_BYTES)]
        if data.startswith(_BINARY_TEXTS) and len(data) >= _BINARY_TEXTS_BYTES:
            declared += struct.unpack_from("<II", data, len(_BINARY_TEXTS))
        if any(number > len(data) for number in declared):
            raise Unreadable(f"the workbook is damaged: '{name}' declares more texts than it can hold")


# --- cells -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Rows:
    """The rows of a sheet that have a value, with their numbers."""

    rows: list[tuple[int, list[str]]]
    cells: int
    is_cut: bool

    def __init__(self) -> None:
        self.rows, self.cells, self.is_cut = [], 0, False


def _read_rows(sheet: CalamineSheet, max_cells: int) -> _Rows:
    found = _Rows()
    limit = _LARGEST_EXACT_INTEGER
    for number, values in enumerate(sheet.iter_rows()):
        row = [
            value
            if type(value) is str
            else f"{value:.15g}"  # not by a call: there may be 10^6 cells
            if type(value) is float and -limit < value < limit
            else format_value(value)
            for value in values
        ]
        filled = len(row) - row.count("")
        if not filled:
            continue
        if found.cells + filled > max_cells:
            found.is_cut = True
            break
        found.cells += filled
        found.rows.append((number, row))
    _repeat_merged(found.rows, sheet)
    return found


def _repeat_merged(rows: list[tuple[int, list[str]]], sheet: CalamineSheet) -> None:
    """Write the value of each merged cell into all the cells that it covers."""
    ranges = sheet.merged_cell_ranges
    if not ranges or not rows or sheet.start is None:
        return
    first_column = sheet.start[1]
    by_number = dict(rows)
    for (top, left), (bottom, right) in ranges:
        left, right = left - first_column, right - first_column
        source = by_number.get(top)
        if source is None or not 0 <= left < len(source) or not source[left]:
            continue
        for number in range(top, min(bottom, rows[-1][0]) + 1):
            if (row := by_number.get(number)) is not None:
                row[left : right + 1] = [source[left]] * (min(right + 1, len(row)) - left)


def format_value(value: object) -> str:
    """Return a value as it is searched for: whole numbers without a fraction, days and times by ISO 8601."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else f"{value:.15g}"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.datetime):
        text = value.isoformat(sep=" ", timespec="seconds")
        return text.removesuffix(" 00:00:00")
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return str(value)


# --- tables ----------------------------------------------------------------------------------------


def find_tables(rows: Sequence[tuple[int, list[str]]], places: tuple[PageBox, ...]) -> Iterator[Element | Table]:
    """Yield the tables of a sheet. An empty row ends a table; a single text above a table is its title."""
    title = ""
    for band in _split_bands(rows):
        texts = _single_texts(band)
        if len(texts) == len(band):  # a list of texts, or the title of what follows
            if title:
                yield Element("paragraph", title, places)
            title = texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_TITLE_CHARS else ""
            if not title:
                yield from (Element("paragraph", text, places) for text in texts)
            continue
        lead = texts[: len(texts)]
        title = " – ".join(filter(None, (title, *lead)))
        for block in _split_columns(band[len(lead) :]):
            yield build_table(block, title=title, places=places)
            title = ""
    if title:
        yield Element("paragraph", title, places)


def _split_bands(rows: Sequence[tuple[int, list[str]]]) -> Iterator[list[list[str]]]:
    band: list[list[str]] = []
    previous = -1
    for number, row in rows:
        if band and number != previous + 1:
            yield band
            band = []
        band.append(row)
        previous = number
    if band:
        yield band


def _single_texts(band: Sequence[list[str]]) -> list[str]:
    """Return the texts of the first rows that have one text each, in one cell or in a merged one."""
    texts: list[str] = []
    for row in band:
        filled = {cell for cell in row if cell}
        if len(filled) != 1:
            break
        texts.append(filled.pop())
    return texts


def _split_columns(band: list[list[str]]) -> Iterator[list[list[str]]]:
    """Yield the blocks of a band without empty columns around them.

    An empty column splits a band only if the blocks on both sides are tables with headers: in forms, the columns
    between a name and its value are often empty.
    """
    filled = [False] * max(map(len, band))
    for row in band:
        if len(row) - row.count("") < len(row):
            for index, cell in enumerate(row):
                if cell:
                    filled[index] = True
        else:
            filled = [True] * len(filled)
            break
    runs = list(_runs(filled))
    if len(runs) > 1:
        blocks = [_without_empty_rows([row[start:end] for row in band]) for start, end in runs]
        if all(map(has_header, blocks)):
            yield from blocks
            return
    keep = [index for index, flag in enumerate(filled) if flag]
    yield band if len(keep) == len(filled) else [[row[index] for index in keep] for row in band]


def _runs(flags: Sequence[bool]) -> Iterator[tuple[int, int]]:
    start = None
    for index, flag in enumerate([*flags, False]):
        if flag and start is None:
            start = index
        elif not flag and start is not None:
            yield start, index
            start = None


def _without_empty_rows(block: list[list[str]]) -> list[list[str]]:
    return [row for row in block if any(row)]


# --- charts and comments ---------------------------------------------------------------------------


class _WorkbookParts:
    """The parts of an XLSX beside its cells."""

    def __init__(self, package: Package) -> None:
        self._package = package
        part = package.main_part()
        root = package.read(part)
        if root.tag != "x:workbook":
            raise Unreadable("the archive is no workbook: its extension is wrong")
        self._parts = {
            sheet.get("name", ""): package.target(part, sheet.get("r:id", "")) for sheet in root.iter("x:sheet")
        }
        package.archive.verify_sizes(skip={*self._parts.values(), *package.related(part, "sharedStrings")})
        self._persons = {
            person.get("id", ""): person.get("displayName", "")
            for name in package.related(part, "person")
            for person in package.read(name)
        }

    def measure_sheets(self) -> dict[str, tuple[int | None, int]]:
        """Return for each sheet how many cells of its raw XML have a value, and its rows times columns."""
        measured = {part: self._measure_sheet(part) for part in set(self._parts.values()) if part}
        return {name: measured[part] for name, part in self._parts.items() if part}

    def _measure_sheet(self, part: str) -> tuple[int | None, int]:
        data = self._package.archive.read(part)
        cells = data.count(b"</v>") + data.count(b"</is>")
        last = _LAST_ROW.match(data, data.rfind(b"<row "))
        rows = int(last[1]) if last else data.count(b"<row")
        columns = _TWO_LETTER_COLUMNS
        outside = re.compile(rb""" r=["'](?:[A-Z]{3}|[A-Z]*\d{%d})""" % (len(str(rows)) + 1)).search(data)
        if outside or rows * columns > MAX_SHEET_AREA:
            columns = max((_column_number(letters) for letters in set(_COLUMN.findall(data))), default=1)
        if outside:
            rows = max((int(number) for number in _CELL_ROW.findall(data)), default=rows)
        return cells or None, rows * columns

    def read_charts(self, name: str, places: tuple[PageBox, ...]) -> Iterator[Table]:
        for drawing in self._package.related(self._parts.get(name, ""), "drawing"):
            for part in self._package.related(drawing, "chart"):
                if (table := read_chart(self._package.read(part), places)) is not None:
                    yield table

    def read_comments(self, name: str, places: tuple[PageBox, ...]) -> Iterator[Element]:
        """Yield threaded comments, and plain ones where no thread replaces them."""
        sheet = self._parts.get(name, "")
        if not sheet:
            return
        for part in self._package.related(sheet, "comments"):
            root = self._package.read(part)
            authors = [author.text or "" for author in root.iter("x:author")]
            for comment in root.iter("x:comment"):
                index = parse_integer(comment.get("authorId", ""), len(authors))
                author = authors[index] if index < len(authors) else ""
                text = "".join(run.text or "" for run in comment.iter("x:t"))
                if text and not author.startswith("tc="):
                    cell = comment.get("ref", "")
                    yield Element("note", f"{cell}: {format_comment(author, '', text)}", places)
        for part in self._package.related(sheet, "threadedComment"):
            for comment in self._package.read(part).iter("tc:threadedComment"):
                author, text = self._persons.get(comment.get("personId", ""), ""), comment.findtext("tc:text") or ""
                cell = comment.get("ref", "")
                yield Element("note", f"{cell}: {format_comment(author, comment.get('dT', ''), text)}", places)


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number
