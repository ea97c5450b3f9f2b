"""The layout of PDF pages by liteparse: typed blocks, and tables that agree with the text layer."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.ingest.extract.documents.document import PageBox, Row, Table
from dowse.ingest.extract.documents.pdf_text import TextLine, unite
from dowse.model import Box

if TYPE_CHECKING:
    from liteparse.types import AnnotationRect, LayoutCell, ParsedPage
    from liteparse.types import LayoutBlock as LiteparseBlock

BATCH_PAGES: Final = 20

_MAX_CELL_WORDS: Final = 60
_MAX_PROSE_WORDS: Final = 20
_MAX_RUN_GAP_LINES: Final = 2
_MIN_FILLED_ROWS: Final = 0.5
_MIN_RECORD_ROWS: Final = 0.3
_MAX_UNITED_CELLS: Final = 5
_MIN_TABLE_COVERAGE: Final = 0.9
_EDGE_POINTS: Final = 1.5
_NO_TEXT: Final = re.compile(r"[\W_]*")
_PLAIN_SIGNS: Final = str.maketrans("‘’“”–—−", "''\"\"---")
_WORD: Final = re.compile(r"\w+")


class LayoutBlock(NamedTuple):
    """A region of a page and its kind: heading, paragraph, list_item or code."""

    kind: str
    box: Box
    level: int


class Cell(NamedTuple):
    text: str
    box: Box | None


class PdfGrid(NamedTuple):
    """The cells of a table as liteparse sees them. The first row is the header if `has_header`."""

    rows: list[list[Cell]]
    box: Box
    has_header: bool


@dataclass(frozen=True, slots=True)
class PageLayout:
    blocks: tuple[LayoutBlock, ...] = ()
    grids: tuple[PdfGrid, ...] = ()
    is_garbled: bool = False


class LayoutFailed(Exception):
    """liteparse failed on some pages of a document."""


def read_layouts(data: bytes, max_pages: int) -> Iterator[tuple[int, PageLayout]]:
    """Yield page number and layout for each page; raise LayoutFailed where liteparse fails."""
    from liteparse import LiteParse

    parser = LiteParse(
        ocr_enabled=False,
        extract_blocks=True,
        include_complexity=True,
        keep_headers_footers=True,
        continue_on_page_error=True,
        extract_links=False,
        max_pages=max_pages,
        num_workers=1,
        quiet=True,
    )
    try:
        for batch in parser.parse_batches(data, BATCH_PAGES):
            for page in batch.result.pages:
                yield page.page_num, _read_layout(page)
    except Exception as error:
        raise LayoutFailed(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic in Rust is not an Exception
            raise
        raise LayoutFailed("internal error") from error


def _read_layout(page: ParsedPage) -> PageLayout:
    blocks, grids = [], []
    for block in page.blocks or ():
        if block.bbox is None:
            continue
        if block.kind == "table":
            grids.append(_read_grid(block))
        elif block.kind in ("heading", "paragraph", "list_item", "code"):
            blocks.append(LayoutBlock(block.kind, _box(block.bbox), block.level or 0))
    return PageLayout(tuple(blocks), tuple(grids), bool(page.complexity and page.complexity.is_garbled))


def _read_grid(block: LiteparseBlock) -> PdfGrid:
    rows = [*([block.header] if block.header else []), *(block.rows or [])]
    cells = [[_read_cell(cell) for cell in row] for row in rows]
    return PdfGrid(cells, _box(block.bbox), bool(block.header))


def _read_cell(cell: LayoutCell) -> Cell:
    return Cell(" ".join(cell.text.split()), _box(cell.bbox) if cell.bbox else None)


def _box(rect: AnnotationRect | None) -> Box:
    if rect is None:
        return 0.0, 0.0, 0.0, 0.0
    return rect.x, rect.y, rect.x + rect.width, rect.y + rect.height


# --- tables: keep the cells that the text layer writes in one run -----------------------------------


class FoundTable(NamedTuple):
    """A table and the words of the text layer that it took, as (line, word) indexes."""

    table: Table
    box: Box
    words: frozenset[tuple[int, int]]
    first_line: int


def find_tables(
    page: int, grids: Sequence[PdfGrid], lines: Sequence[list[TextLine]], *, use_layer_text: bool = False
) -> list[FoundTable]:
    """Return the tables of a page that agree with its text layer, given as words per line in content order.

    Two columns of prose side by side look like a table. The text layer tells them apart: it writes a table in one run,
    but prose column by column. Cells outside the run with most cells are left out. `use_layer_text` takes the text of
    the cells from the text layer instead of liteparse, whose word order is wrong in right-to-left scripts.
    """
    tables: list[FoundTable] = []
    taken: set[tuple[int, int]] = set()
    for grid in _join_halves(grids):
        table = _find_table(page, grid, lines, taken, use_layer_text)
        if table is not None:
            tables.append(table)
            taken |= table.words
    return tables


def _join_halves(grids: Sequence[PdfGrid]) -> list[PdfGrid]:
    """Join grids side by side with the same rows: halves of one table that liteparse split at a rule."""
    joined: list[PdfGrid] = []
    for grid in grids:
        grid = PdfGrid(_drop_empty(grid.rows), grid.box, grid.has_header)
        last = joined[-1] if joined else None
        if (
            last
            and len(last.rows) == len(grid.rows) > 1
            and abs(last.box[1] - grid.box[1]) < 3
            and abs(last.box[3] - grid.box[3]) < 3
            and last.has_header == grid.has_header
        ):
            rows = [[*left, *right] for left, right in zip(last.rows, grid.rows, strict=True)]
            joined[-1] = PdfGrid(rows, unite([last.box, grid.box]), grid.has_header)
        else:
            joined.append(grid)
    return joined


def _find_table(
    page: int,
    grid: PdfGrid,
    lines: Sequence[list[TextLine]],
    taken: set[tuple[int, int]],
    use_layer_text: bool,
) -> FoundTable | None:
    places = _locate_words(grid, lines, taken)
    header = grid.rows[0] if grid.has_header and grid.rows else None
    rows = _keep_main_run(grid.rows, places)
    rows = _drop_prose_rows(rows, places)
    rows = _drop_empty(rows)
    if not _is_table(rows):
        return None
    cells = [cell for row in rows for cell in row if cell.text]
    if any(len(_WORD.findall(cell.text)) > _MAX_CELL_WORDS for cell in cells):
        return None
    if use_layer_text:
        rows = [[_use_layer_text(cell, places, lines) for cell in row] for row in rows]
    words = _match_words(cells, places, lines, taken, exact=not use_layer_text)
    if not words or not any(cell.box for cell in cells):
        return None
    region = unite([cell.box for cell in cells if cell.box])
    if not _covers(words, region, lines, taken):
        rows = _adopt_lines(rows, region, lines, taken, words)
        if not _covers(words, region, lines, taken):
            return None
    if header and len({cell.box for cell in header if cell.text}) < 2:
        header = None  # one merged cell names no column
    has_header = bool(header and {it.text for it in rows[0] if it.text} & {it.text for it in header})
    has_header = has_header or _has_bold_header(rows, places, lines)
    growth = _Growth(rows, lines, taken | words)
    growth.extend(min(line for line, _ in words))
    if growth.words:
        rows, words = growth.rows, words | growth.words
        has_header = growth.has_header if growth.has_new_rows else has_header and all(it.text for it in rows[0])
        region = unite([cell.box for row in rows for cell in row if cell.box])
    if use_layer_text:
        rows = [row[::-1] for row in rows]
    table = _build_table(page, rows, region, has_header)
    return FoundTable(table, region, frozenset(words), min(line for line, _ in words))


class _Growth:
    """A table that takes in the cells and rows above it that fit its columns and that the layout engine left out."""

    def __init__(self, rows: list[list[Cell]], lines: Sequence[list[TextLine]], taken: set[tuple[int, int]]) -> None:
        self._lines = lines
        self._taken = taken
        self._columns = _column_spans(rows)
        self._top = min(cell.box[1] for row in rows for cell in row if cell.box)
        self.rows = [list(row) for row in rows]
        self.has_new_rows = False
        self.has_header = False
        self.words: set[tuple[int, int]] = set()

    def extend(self, first_line: int) -> None:
        """Add rows from the content lines that end before `first_line`, as long as they fit."""
        if self._complete_row(first_line):
            first_line = min(self.words)[0]
        while self._add_row(first_line, one_row=True):
            first_line = min(self.words)[0]
        self.has_header = self._add_row(first_line, one_row=False) or (
            self.has_new_rows and self._is_bold(min(self.words)[0], sum(bool(cell.text) for cell in self.rows[0]))
        )

    def _complete_row(self, first_line: int) -> bool:
        """Fill empty cells of the first row with content lines on the same row."""
        row = self.rows[0]
        boxes = [cell.box for cell in row if cell.box]
        index = first_line - 1
        while boxes and index >= 0 and self._lines[index] and (index, 0) not in self._taken:
            box = unite([word.box for word in self._lines[index]])
            columns = _columns_at(self._columns, box)
            overlap = min(box[3], boxes[0][3]) - max(box[1], boxes[0][1])
            if overlap <= 0 or len(columns) != 1 or row[columns[0]].text:
                break
            row[columns[0]] = Cell(" ".join(word.text for word in self._lines[index]), box)
            self.words |= {(index, word) for word in range(len(self._lines[index]))}
            index -= 1
        return bool(self.words)

    def _add_row(self, first_line: int, *, one_row: bool) -> bool:
        pieces: list[tuple[int, int, Box, str]] = []  # line, column, box, text
        index = first_line - 1
        top = self._top
        while index >= 0 and (piece := self._fit(index, pieces, one_row, top)):
            pieces.insert(0, piece)
            top = min(top, piece[2][1]) if not one_row else top
            index -= 1
        if len({column for _, column, _, _ in pieces}) < 2:
            return False
        if not one_row and not self._is_bold(index + 1, len(pieces)):
            return False
        row = [_EMPTY] * len(self._columns)
        for _, column, box, text in pieces:
            cell = row[column]
            row[column] = Cell(f"{cell.text} {text}".strip(), unite([box, cell.box]) if cell.box else box)
        self.rows.insert(0, row)
        self.has_new_rows = True
        self.words |= {(line, word) for line, _, _, _ in pieces for word in range(len(self._lines[line]))}
        self._top = min(box[1] for _, _, box, _ in pieces)
        return True

    def _fit(
        self, index: int, pieces: list[tuple[int, int, Box, str]], one_row: bool, top: float
    ) -> tuple[int, int, Box, str] | None:
        """Return the line as a cell if it stands just above, in one column, and on the row of the pieces."""
        words = self._lines[index]
        if not words or (index, 0) in self._taken:
            return None
        box = unite([word.box for word in words])
        height = max(word.size for word in words)
        if box[3] > self._top + 1 or box[3] < top - (2.2 if one_row else 3.2) * height:
            return None
        if one_row and pieces and abs(box[3] - pieces[0][2][3]) > 0.6 * height:
            return None
        columns = _columns_at(self._columns, box)
        if len(columns) != 1:
            return None
        return index, columns[0], box, " ".join(word.text for word in words)

    def _is_bold(self, first_line: int, count: int) -> bool:
        return all(word.is_bold for line in self._lines[first_line : first_line + count] for word in line)


_Places = dict[int, list[tuple[int, int]]]  # the words of a cell, by the id of the cell


def _locate_words(grid: PdfGrid, lines: Sequence[list[TextLine]], taken: set[tuple[int, int]]) -> _Places:
    """Return the words whose middle is in each cell."""
    bands = [(unite([cell.box for cell in row if cell.box]), row) for row in grid.rows if any(it.box for it in row)]
    places: _Places = {}
    for line_index, words in enumerate(lines):
        for word_index, word in enumerate(words):
            point = word.middle
            if (line_index, word_index) in taken or not _contains(grid.box, point):
                continue
            cells = [
                cell
                for band, row in bands
                if band[1] - _EDGE_POINTS <= point[1] <= band[3] + _EDGE_POINTS
                for cell in row
                if cell.box and _contains(cell.box, point)
            ]
            if cells:
                places.setdefault(id(min(cells, key=_area)), []).append((line_index, word_index))
    return places


def _area(cell: Cell) -> float:
    left, top, right, bottom = cell.box or (0, 0, 0, 0)
    return (right - left) * (bottom - top)


def _contains(box: Box, point: tuple[float, float]) -> bool:
    x, y = point
    return box[0] - _EDGE_POINTS <= x <= box[2] + _EDGE_POINTS and box[1] - _EDGE_POINTS <= y <= box[3] + _EDGE_POINTS


_EMPTY: Final = Cell("", None)


def _keep_main_run(rows: list[list[Cell]], places: _Places) -> list[list[Cell]]:
    """Blank the cells whose lines are not in the run of content lines that holds most cells."""
    used = sorted({line for cell_words in places.values() for line, _ in cell_words})
    runs: dict[int, int] = {}
    run = 0
    for index, line in enumerate(used):
        if index and line - used[index - 1] > _MAX_RUN_GAP_LINES:
            run += 1
        runs[line] = run
    if run == 0:
        return rows
    run_of = {
        cell_id: Counter(runs[line] for line, _ in cell_words).most_common(1)[0][0]
        for cell_id, cell_words in places.items()
    }
    main = Counter(run_of.values()).most_common(1)[0][0]
    return [[cell if run_of.get(id(cell), main) == main else _EMPTY for cell in row] for row in rows]


def _drop_prose_rows(rows: list[list[Cell]], places: _Places) -> list[list[Cell]]:
    """Drop rows in which two long cells take turns line by line: a paragraph cut at a column edge."""
    kept = []
    for row in rows:
        spans = [
            (min(places[id(cell)])[0], max(places[id(cell)])[0])
            for cell in row
            if id(cell) in places and len(places[id(cell)]) > _MAX_PROSE_WORDS // 2
        ]
        words = sum(len(places.get(id(cell), ())) for cell in row)
        takes_turns = any(a[0] < b[1] and b[0] < a[1] for index, a in enumerate(spans) for b in spans[index + 1 :])
        if not (takes_turns and words > 2 * _MAX_PROSE_WORDS):
            kept.append(row)
    return kept


def _drop_empty(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Drop rows and columns without words, such as a column of bullets."""
    rows = [row for row in rows if any(cell.text for cell in row)]
    width = max((len(row) for row in rows), default=0)
    rows = [[*row, *[_EMPTY] * (width - len(row))] for row in rows]
    columns = [
        index for index in range(width) if any(row[index].text and not _is_bullet(row[index].text) for row in rows)
    ]
    return [[row[index] for index in columns] for row in rows]


def _is_bullet(text: str) -> bool:
    return not text.isprintable() or (len(text) <= 3 and not text.isascii() and bool(_NO_TEXT.fullmatch(text)))


def _is_table(rows: list[list[Cell]]) -> bool:
    """Check that most rows have two cells or more, or in a longer table every third: the others continue cells."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    filled = sum(sum(bool(cell.text) for cell in row) >= 2 for row in rows)
    return (filled >= 2 and filled >= _MIN_FILLED_ROWS * len(rows)) or (
        filled > 4 and filled >= _MIN_RECORD_ROWS * len(rows)
    )


def _use_layer_text(cell: Cell, places: _Places, lines: Sequence[list[TextLine]]) -> Cell:
    words = sorted(places.get(id(cell), ()))
    return Cell(" ".join(lines[line][word].text for line, word in words), cell.box)


def _simplify(text: str) -> str:
    """Return a text without spaces, ligatures, curved quotes and long dashes, which the engines write differently."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).translate(_PLAIN_SIGNS)
    return text.replace(" ", "")


def _match_words(
    cells: list[Cell],
    places: _Places,
    lines: Sequence[list[TextLine]],
    taken: set[tuple[int, int]],
    *,
    exact: bool,
) -> set[tuple[int, int]]:
    """Return the words of the text layer that the cells repeat."""
    if not exact:
        return {place for cell in cells for place in places.get(id(cell), ())}
    matched = set()
    for cell in cells:
        text = _simplify(cell.text)
        matched |= {
            (line, word) for line, word in places.get(id(cell), ()) if _simplify(lines[line][word].text) in text
        }
    # Cells without a box repeat words that stand between the other cells.
    loose = Counter(word for cell in cells if not cell.box for word in cell.text.split())
    region = unite([cell.box for cell in cells if cell.box]) if any(cell.box for cell in cells) else None
    if loose and region:
        for line_index, words in enumerate(lines):
            for word_index, word in enumerate(words):
                place = line_index, word_index
                if loose[word.text] and place not in matched and place not in taken and _contains(region, word.middle):
                    loose[word.text] -= 1
                    matched.add(place)
    return matched


def _adopt_lines(
    rows: list[list[Cell]],
    region: Box,
    lines: Sequence[list[TextLine]],
    taken: set[tuple[int, int]],
    words: set[tuple[int, int]],
) -> list[list[Cell]]:
    """Append lines inside the table that no cell has to the cell above them in their column; add them to `words`."""
    rows = [list(row) for row in rows]
    spans = _column_spans(rows)
    tops = [min((cell.box[1] for cell in row if cell.box), default=float("inf")) for row in rows]
    for index, line in enumerate(lines):
        places = {(index, word) for word in range(len(line))}
        if not line or places & words or places & taken:
            continue
        box = unite([word.box for word in line])
        columns = _columns_at(spans, box)
        above = [row for row, top in enumerate(tops) if top < (box[1] + box[3]) / 2]
        if len(columns) == 1 and above and _contains(region, ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)):
            cell = rows[above[-1]][columns[0]]
            text = " ".join([cell.text, *(word.text for word in line)]).strip()
            rows[above[-1]][columns[0]] = Cell(text, unite([cell.box, box]) if cell.box else box)
            words |= places
    return rows


def _column_spans(rows: list[list[Cell]]) -> list[Box | None]:
    """Return a box for each column, None for one without boxes.

    It is around all cells of a short column and has the median edges of a long one; merged cells do not count.
    """
    counts = [Counter(cell.box for cell in row) for row in rows]
    columns = [
        [row[index].box for row, count in zip(rows, counts, strict=True) if count[row[index].box] == 1]
        for index in range(len(rows[0]))
    ]
    return [_span([box for box in column if box]) for column in columns]


def _span(boxes: list[Box]) -> Box | None:
    if len(boxes) <= _MAX_UNITED_CELLS:
        return unite(boxes) if boxes else None
    left, top, right, bottom = unite(boxes)
    left, right = median(box[0] for box in boxes), median(box[2] for box in boxes)
    return left, top, right, bottom


def _columns_at(spans: Sequence[Box | None], box: Box) -> list[int]:
    return [column for column, span in enumerate(spans) if span and min(span[2], box[2]) - max(span[0], box[0]) > 0]


def _covers(
    words: set[tuple[int, int]], region: Box, lines: Sequence[list[TextLine]], taken: set[tuple[int, int]]
) -> bool:
    """Check that the table has nearly all words that stand inside its box."""
    inside = sum(
        _contains(region, word.middle) and (line_index, word_index) not in taken
        for line_index, line in enumerate(lines)
        for word_index, word in enumerate(line)
    )
    return len(words) >= _MIN_TABLE_COVERAGE * inside


def _has_bold_header(rows: list[list[Cell]], places: _Places, lines: Sequence[list[TextLine]]) -> bool:
    def is_bold(row: list[Cell]) -> bool:
        words = [lines[line][word] for cell in row for line, word in places.get(id(cell), ())]
        return bool(words) and all(word.is_bold for word in words)

    return len(rows) > 2 and is_bold(rows[0]) and not any(is_bold(row) for row in rows[1:])


def _build_table(page: int, rows: list[list[Cell]], region: Box, has_header: bool) -> Table:
    header = tuple(cell.text for cell in rows[0]) if has_header else ()
    body = rows[1:] if has_header else rows
    return Table(
        rows=tuple(Row(tuple(cell.text for cell in row), _row_places(page, row)) for row in body),
        headers=header,
        places=(PageBox(page, region),),
    )


def _row_places(page: int, row: list[Cell]) -> tuple[PageBox, ...]:
    boxes = [cell.box for cell in row if cell.box]
    return (PageBox(page, unite(boxes)),) if boxes else ()
