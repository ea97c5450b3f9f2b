"""Build tables from cells that may span rows and columns, and find their header rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from dowse.ingest.extract.documents.document import PageBox, Row, Table

MAX_SPAN: Final = 1000
"""A cell that claims to cover more rows or columns covers only these."""
MAX_GRID_CELLS: Final = 2_000_000
"""Of one table; further cells are left out."""
MAX_HEADER_CHARS: Final = 120
_FORM_ROWS: Final = 20

# A value, not a name: a number with signs and units of a number, a date, a time.
_VALUE: Final = re.compile(r"[\s\d.,:/%+\-–−()€$£¥]*\d[\s\d.,:/%+\-–−()€$£¥]*")

_UNIT_IN_HEADER: Final = re.compile(r"[(\[]([^()\[\]]{1,16})[)\]]\s*$")
_UNIT_NAMES: Final = (
    "%|‰|ppm|ppb|°|°?[CFK]|[kmµμnc]?m[²³23]?|ha|in|ft|yd|mi|[kmµμ]?g|t|lb|oz|[mc]?l|gal|[mµμn]?s|sec|min|h|hrs?|hours"
    "|days?|d|weeks?|months?|years?|a|[kMGTm]?W(?:h|p)?|[kMGT]?Wh|[kMm]?V(?:A|AC|DC)?|[mkµμ]?A|[kMG]?Hz|[kM]?[ΩJ]|[kM]?ohm"
    "|[khM]?Pa|m?bar|psi|[kM]?N|Nm|rpm|dB|lx|lm|mol|[kMGT]i?B|bytes?|bits?|pcs?|units?|€|\\$|£|¥|EUR|USD|GBP|CHF|JPY"
    "|[kK]€|m€|T€|M€"
)
_UNIT: Final = re.compile(rf"(?:{_UNIT_NAMES})")


class Grid:
    """A table under construction. A merged cell repeats its value in every row and column it covers."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self._open_spans: dict[int, tuple[int, str]] = {}  # column: rows left, value
        self._cells = 0

    def start_row(self) -> None:
        """Start a row; cells that span into it are placed as soon as their column is reached."""
        self._finish_row()
        self.rows.append([])

    def add_cell(self, text: str, columns: int = 1, rows: int = 1) -> None:
        """Place a cell in the next free column of the current row."""
        if not self.rows:
            self.rows.append([])
        self._place_spans()
        columns, rows = min(max(columns, 1), MAX_SPAN), min(max(rows, 1), MAX_SPAN)
        if not self._has_room_for(columns):
            return
        row = self.rows[-1]
        if rows > 1:
            self._open_spans.update(dict.fromkeys(range(len(row), len(row) + columns), (rows - 1, text)))
        row += [text] * columns

    def finish(self) -> list[list[str]]:
        """Return the rows, all of the same length unless that takes too many cells."""
        self._finish_row()
        width = max((len(row) for row in self.rows), default=0)
        if width * len(self.rows) > MAX_GRID_CELLS:
            return self.rows
        return [row + [""] * (width - len(row)) for row in self.rows]

    def _has_room_for(self, cells: int) -> bool:
        self._cells += cells
        return self._cells <= MAX_GRID_CELLS

    def _place_spans(self) -> None:
        row = self.rows[-1]
        while (span := self._open_spans.get(len(row))) is not None:
            if not self._has_room_for(1):
                self._open_spans.clear()
                return
            left, text = span
            if left > 1:
                self._open_spans[len(row)] = (left - 1, text)
            else:
                del self._open_spans[len(row)]
            row.append(text)

    def _finish_row(self) -> None:
        if not self.rows:
            return
        while self._open_spans:
            self._place_spans()
            later = [column for column in self._open_spans if column >= len(self.rows[-1])]
            if not later or not self._has_room_for(min(later) - len(self.rows[-1])):
                break
            self.rows[-1] += [""] * (min(later) - len(self.rows[-1]))


def build_table(
    rows: Sequence[Sequence[str]], *, header_rows: int | None = None, title: str = "", places: tuple[PageBox, ...] = ()
) -> Table:
    """Return a table. `header_rows` says how many rows are headers; None: decide by the content."""
    count = int(has_header(rows)) if header_rows is None else min(header_rows, len(rows))
    headers = _join_headers(rows[:count]) if count else ()
    body = tuple(Row(tuple(row)) for row in rows[count:])
    return Table(body, headers, title, find_units(headers), places)


def find_units(headers: Sequence[str]) -> tuple[str, ...]:
    """Return the unit of each column, like `kV` for `Voltage (kV)` or `Voltage [kV]`; nothing if no column has one."""
    matches = (_UNIT_IN_HEADER.search(header) for header in headers)
    units = tuple(match[1].strip() if match and _is_unit(match[1].strip()) else "" for match in matches)
    return units if any(units) else ()


def _is_unit(text: str) -> bool:
    return bool(text) and all(_UNIT.fullmatch(piece) for piece in re.split(r"[/·*]", text))


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first row names the columns: short, distinct names above other rows, none of them a number."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    names = [name.strip() for name in rows[0]]
    filled = [name for name in names if name]
    if len(filled) < max(2, (len(names) + 1) // 2) or _is_form(rows):
        return False
    if any(len(name) > MAX_HEADER_CHARS or _VALUE.fullmatch(name) for name in filled):
        return _is_year_header(filled, rows)
    return len(set(filled)) > len(filled) // 2


def _is_form(rows: Sequence[Sequence[str]]) -> bool:
    """Check whether the first column names the rows, like `Name:`."""
    first = [row[0].strip() for row in rows[:_FORM_ROWS] if row and row[0].strip()]
    return sum(name.endswith(":") for name in first) * 2 > len(first)


def _is_year_header(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Check for names like `Item, 2019, 2020`: years above numbers that are no years."""
    years = [name for name in names if re.fullmatch(r"(?:19|20)\d\d", name)]
    others = [name for name in names if name not in years]
    below = {cell.strip() for row in rows[1:] for cell in row[1:]}
    return len(years) >= 2 and not any(_VALUE.fullmatch(name) for name in others) and not below & set(years)


def _join_headers(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return one name per column; the different names above each other are joined by a slash."""
    width = max(len(row) for row in rows)
    columns = ([" ".join(row[index].split()) for row in rows if index < len(row)] for index in range(width))
    return tuple(" / ".join(dict.fromkeys(name for name in names if name)) for names in columns)
