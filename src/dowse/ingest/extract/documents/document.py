"""The parts of a document with structure: elements in reading order, tables with cells, pages with their coverage.

A reader of a format returns a `Document`. `assemble` turns it into the extraction that is chunked and stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Final, Literal, NamedTuple

from dowse.model import (
    MASKED_FACET,
    Block,
    Box,
    DocumentLayout,
    DocumentTable,
    Extraction,
    Fragment,
    Link,
    PageReport,
    Symbol,
)
from dowse.text.secrets import mask_secrets_in_text

Role = Literal["heading", "paragraph", "list_item", "caption", "code", "equation", "note"]

MAX_HEADING_LEVEL: Final = 6


class PageBox(NamedTuple):
    """A box on one page, in points from the top left: left, top, right, bottom. Pages count from 1."""

    page: int
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Element:
    """A piece of running text: a heading, a paragraph, a list item …

    `places` has one box per page and column that the text covers; empty if the format has no pages. `level` is that of
    a heading (1 to 6) or the depth of a list item (0 and up).
    """

    role: Role
    text: str
    places: tuple[PageBox, ...] = ()
    level: int = 0


class Row(NamedTuple):
    """The cells of one table row, and where the row is."""

    cells: tuple[str, ...]
    places: tuple[PageBox, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `headers` has one name per column, or is empty if the table has no header row.

    A merged cell repeats its value in every column it covers. `units` has the unit of each column, empty where unknown.
    """

    rows: tuple[Row, ...]
    headers: tuple[str, ...] = ()
    title: str = ""
    units: tuple[str, ...] = ()
    places: tuple[PageBox, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one document in reading order.

    `pages` reports engine and coverage per page, slide or sheet; a format without pages has one report, of page 1.
    `engine` names the library that read it. `links` are addresses with the index of their element in `parts`.
    """

    parts: tuple[Element | Table, ...]
    engine: str
    title: str = ""
    pages: tuple[PageReport, ...] = ()
    links: tuple[tuple[int, str], ...] = ()
    facets: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Decisions worth recording: a fallback to another engine, a limit that was reached."""


# --- from parts to text, blocks, headings and places ------------------------------------------------

FORMAT_FACET: Final = "format"
PAGES_FACET: Final = "pages"
COVERAGE_FACET: Final = "coverage"
ENGINE_FACET: Final = "engine"
NOTES_FACET: Final = "extraction"
TABLE_ROW_ROLE: Final = "table_row"

_CELL_SEPARATOR: Final = " | "


def assemble(path: str, document: Document) -> Extraction:
    """Return the text of a document with a block for each element and row, headings as symbols, and the layout."""
    builder = _TextBuilder()
    for part in document.parts:
        if isinstance(part, Table):
            builder.add_table(part)
        else:
            builder.add_element(part)
    name = PurePosixPath(path)
    title = document.title or builder.first_heading or name.stem
    facets = {**_report_facets(document), FORMAT_FACET: name.suffix.lstrip(".").lower(), **document.facets}
    return Extraction(
        kind="doc",
        title=title,
        text="".join(builder.text),
        blocks=tuple(builder.blocks),
        symbols=builder.symbols(),
        links=tuple(
            Link("url", target, builder.part_lines[index])
            for index, target in document.links
            if index < len(builder.part_lines)
        ),
        facets={name: value for name, value in facets.items() if value},
        layout=DocumentLayout(document.pages, tuple(builder.fragments), tuple(builder.tables)),
    )


def row_text(headers: tuple[str, ...], cells: tuple[str, ...]) -> str:
    """Return a row as one line in which each cell carries its header: `Part: pump | Flow: 20`."""
    names = [*headers, *[""] * (len(cells) - len(headers))]
    pairs = zip(names, (_one_line(cell) for cell in cells), strict=False)
    return _CELL_SEPARATOR.join(f"{_one_line(name)}: {cell}" if name else cell for name, cell in pairs if cell)


def _report_facets(document: Document) -> dict[str, str]:
    coverages = [page.coverage for page in document.pages if page.coverage is not None]
    last_page = max((page.page for page in document.pages), default=0)
    return {
        ENGINE_FACET: "+".join(dict.fromkeys([document.engine, *(page.engine for page in document.pages)])),
        PAGES_FACET: str(last_page) if last_page else "",
        COVERAGE_FACET: f"{sum(coverages) / len(coverages):.3f}" if coverages else "",
        NOTES_FACET: "; ".join(document.notes),
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _Heading(NamedTuple):
    name: str
    level: int
    line: int
    parent: int | None


class _TextBuilder:
    """Collects text line by line, and with it blocks, headings and places."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.blocks: list[Block] = []
        self.fragments: list[Fragment] = []
        self.tables: list[DocumentTable] = []
        self.part_lines: list[int] = []
        self.first_heading = ""
        self._headings: list[_Heading] = []
        self._open_headings: list[int] = []
        self._chars = 0
        self._line = 1
        self._last_role = ""

    def add_element(self, element: Element) -> None:
        text = element.text.strip("\n") if element.role == "code" else _one_line(element.text)
        self.part_lines.append(self._line)
        if not text.strip():
            return
        if element.role == "heading":
            self._open_heading(text, min(max(element.level, 1), MAX_HEADING_LEVEL))
        indent = "  " * element.level + "- " if element.role == "list_item" else ""
        self._add_lines(indent + text, element.role, element.places, atomic=element.role in ("code", "equation"))

    def add_table(self, table: Table) -> None:
        self.part_lines.append(self._line)
        if table.title.strip():
            self._add_lines(_one_line(table.title), "caption", table.places[:1])
        written = [(row, text) for row in table.rows if (text := row_text(table.headers, row.cells))]
        if not written and table.headers:
            self._add_lines(_CELL_SEPARATOR.join(map(_one_line, table.headers)), TABLE_ROW_ROLE, table.places)
        first_line = 0
        for row, text in written:
            self._add_lines(text, TABLE_ROW_ROLE, row.places or table.places, continues=bool(first_line))
            first_line = first_line or self._line - 1
        if written:
            rows = tuple(row.cells for row, _ in written)
            pages = tuple(next((place.page for place in row.places or table.places), 0) for row, _ in written)
            self.tables.append(DocumentTable(table.title, table.headers, table.units, first_line, rows, pages))

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the headings; each ends where the next one of its level or above begins."""
        ends = [self._line] * len(self._headings)
        for index, heading in enumerate(self._headings):
            following = (it.line - 1 for it in self._headings[index + 1 :] if it.level <= heading.level)
            ends[index] = max(heading.line, next(following, self._line - 1))
        return tuple(
            Symbol(heading.name, "heading", heading.line, end, heading.level, heading.parent)
            for heading, end in zip(self._headings, ends, strict=True)
        )

    def _open_heading(self, name: str, level: int) -> None:
        while self._open_headings and self._headings[self._open_headings[-1]].level >= level:
            self._open_headings.pop()
        parent = self._open_headings[-1] if self._open_headings else None
        self._end_paragraph("heading", continues=False)
        self._headings.append(_Heading(name, level, self._line, parent))
        self._open_headings.append(len(self._headings) - 1)
        self.first_heading = self.first_heading or name

    @property
    def _trail(self) -> tuple[str, ...]:
        return tuple(self._headings[index].name for index in self._open_headings)

    def _add_lines(
        self, text: str, role: str, places: tuple[PageBox, ...], *, atomic: bool = False, continues: bool = False
    ) -> None:
        self._end_paragraph(role, continues=continues or (role == "list_item" and self._last_role == role))
        start, first = self._chars, self._line
        self._write(text + "\n")
        block_role = TABLE_ROW_ROLE if role == TABLE_ROW_ROLE else "text"
        self.blocks.append(Block(start, self._chars, self._trail, atomic, block_role))
        self.fragments += [Fragment(first, self._line - 1, place.page, place.box) for place in places]

    def _end_paragraph(self, role: str, *, continues: bool) -> None:
        """Write the blank line between paragraphs, once."""
        if self.text and not continues and self.text[-1] != "\n":
            self._write("\n")
            last = self.blocks[-1]
            self.blocks[-1] = Block(last.start, self._chars, last.trail, last.atomic, last.role)
        self._last_role = role

    def _write(self, text: str) -> None:
        self.text.append(text)
        self._chars += len(text)
        self._line += text.count("\n")


def mask_document(extract: Extraction) -> Extraction:
    """Mask known secret values in the text of a document and in its tables, which keeps the length of the text."""
    text, count = mask_secrets_in_text(extract.text)
    if not count:
        return extract
    layout = extract.layout or DocumentLayout()
    tables = tuple(
        table._replace(rows=tuple(tuple(mask_secrets_in_text(cell)[0] for cell in row) for row in table.rows))
        for table in layout.tables
    )
    facets = {**extract.facets, MASKED_FACET: str(count)}
    masked = replace(layout, tables=tables) if extract.layout else None
    return replace(extract, text=text, layout=masked, facets=facets)


def iter_words(document: Document) -> Iterator[str]:
    """Yield the words of a document in reading order, as they are compared with the raw layer."""
    for part in document.parts:
        if isinstance(part, Table):
            yield from part.title.split()
            for header in part.headers:
                yield from header.split()
            for row in part.rows:
                for cell in row.cells:
                    yield from cell.split()
        else:
            yield from part.text.split()
