"""Read HTML, XHTML and EPUB: text with headings, lists, tables, code and links; no scripts, styles or navigation."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote
from xml.etree.ElementTree import Element as XmlNode

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import Archive, open_archive, parse_integer
from dowse.ingest.extract.documents.coverage import MIN_COVERAGE, measure_coverage
from dowse.ingest.extract.documents.decoding import decode_text
from dowse.ingest.extract.documents.document import Document, Element, Role, Table
from dowse.ingest.extract.documents.tables import MAX_SPAN, Grid, build_table
from dowse.model import PageReport

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

ENGINE: Final = "selectolax"
MAX_DEPTH: Final = 200
"""Deeper elements are read as text without structure."""
MAX_PAGE_CHARS: Final = 32 << 20
MAX_PARTS: Final = 300_000
MAX_UNCLOSED_TAGS: Final = 10_000
"""The time of any HTML parser grows with the square of the nesting."""
MAX_BOOK_CHARS: Final = 64 << 20

_HEADINGS: Final = frozenset(f"h{level}" for level in range(1, 7))
_BLOCK_NAMES: Final = (
    "address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer form"
    " header hgroup html legend li main nav ol optgroup option p search section select summary table tbody td tfoot th"
    " thead title tr ul menu dir"
)
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_LISTS: Final = frozenset(("ul", "ol", "menu", "dir"))
_DROPPED_NAMES: Final = "script style noscript template head iframe object embed canvas audio video svg datalist"
_DROPPED: Final = frozenset(_DROPPED_NAMES.split())
_NAVIGATION: Final = "nav, [role=navigation], [role=search], .navbox, .noprint, .mw-jump-link"
_CONTENT: Final = "main, article, [role=main], h1"
_NESTING_TAGS: Final = ("ul", "ol", "dl", "div", "section", "article", "blockquote", "details", "form", "span")
_CHARSET: Final = re.compile(rb"<meta[^>]+charset=[\"'\s]*([\w-]+)|<\?xml[^>]+encoding=[\"']([\w-]+)", re.IGNORECASE)
_CHARSET_SEARCHED_BYTES: Final = 2048


def read_html(data: bytes) -> Document:
    """Return the content of a page."""
    reader, body, title = _read_page(decode_page(data))
    coverage = _page_coverage(body, reader.parts)
    if reader.is_cut:
        notes = (f"the page was cut: the limit is {MAX_PARTS:,} parts",)
        return Document(tuple(reader.parts), ENGINE, title, (PageReport(1, ENGINE, coverage),), notes=notes)
    if coverage < MIN_COVERAGE and body is not None:
        lines = tuple(Element("paragraph", line) for line in body.text(separator="\n").splitlines() if line.strip())
        notes = (f"coverage {coverage:.2f}: read as plain lines",)
        return Document(lines, ENGINE, title, (PageReport(1, f"{ENGINE}-text", 1.0),), notes=notes)
    return Document(tuple(reader.parts), ENGINE, title, (PageReport(1, ENGINE, coverage),), tuple(reader.links))


def _page_coverage(body: LexborNode | None, parts: Sequence[Element | Table]) -> float:
    """Return the coverage of the raw text. Tags split words (`<p>a</p><p>b</p>`) or not (`H<sub>2</sub>O`)."""
    if body is None:
        return 1.0
    return max(measure_coverage(body.text(separator=separator), parts) for separator in ("", "\n"))


def decode_page(data: bytes) -> str:
    """Return the text of a page by the encoding it declares, or else as any other text."""
    declared = _CHARSET.search(data[:_CHARSET_SEARCHED_BYTES])
    return decode_text(data, (declared[1] or declared[2]).decode("ascii", "ignore") if declared else None)


def _read_page(text: str) -> tuple[_PageReader, LexborNode | None, str]:
    """Return the reader of a page, its body, and its title."""
    from selectolax.lexbor import LexborHTMLParser

    if len(text) > MAX_PAGE_CHARS:
        raise Unreadable(f"the page has {len(text):,} characters; the limit is {MAX_PAGE_CHARS:,}")
    if _count_unclosed_tags(text) > MAX_UNCLOSED_TAGS:
        raise Unreadable(f"the page has more than {MAX_UNCLOSED_TAGS:,} tags that are not closed")
    page = LexborHTMLParser(text)
    title_node = page.css_first("title")
    title = " ".join(title_node.text().split()) if title_node is not None else ""
    reader = _PageReader()
    body = page.body
    if body is None:
        return reader, None, title
    _drop_navigation(body)
    for tag in _DROPPED:
        for node in body.css(tag):
            node.decompose()
    reader.read(body)
    return reader, body, title


def _count_unclosed_tags(text: str) -> int:
    lower = text.lower()
    return sum(max(lower.count(f"<{tag}") - lower.count(f"</{tag}"), 0) for tag in _NESTING_TAGS)


def _drop_navigation(body: LexborNode) -> None:
    """Remove menus from a page that has content beside them."""
    if not any(not _is_in_navigation(node) for node in body.css(_CONTENT)):
        return
    for node in body.css(_NAVIGATION):
        if not node.css("main, article, h1"):
            node.decompose()


def _is_in_navigation(node: LexborNode) -> bool:
    parent = node.parent
    while parent is not None:
        if parent.tag == "nav":
            return True
        parent = parent.parent
    return False


@dataclass(slots=True)
class _Place:
    """What the text at the current position belongs to."""

    role: Role = "paragraph"
    level: int = 0
    marker: str = ""


class _PageReader:
    """Collects the parts of a page. Text gathers until a block begins or ends."""

    def __init__(self) -> None:
        self.parts: list[Element | Table] = []
        self.links: list[tuple[int, str]] = []
        self.is_cut = False
        self._pieces: list[str] = []
        self._addresses: list[str] = []
        self._place = _Place()

    def read(self, body: LexborNode) -> None:
        self._read_children(body, 0, -1)
        self._flush()

    def _read_children(self, node: LexborNode, depth: int, list_level: int) -> None:
        if depth > MAX_DEPTH:
            self._pieces.append(node.text(separator=" "))
            return
        for child in node.iter(include_text=True):
            tag = child.tag or ""
            if tag == "-text":
                self._pieces.append(child.text_content or "")
            elif tag in _HEADINGS:
                self._read_block(child, depth, list_level, _Place("heading", int(tag[1])))
            elif tag == "table":
                self._read_table(child, depth)
            elif tag in _LISTS:
                self._read_list(child, depth, list_level + 1)
            elif tag in ("dt", "dd", "dl"):
                self._read_definitions(child, depth, list_level)
            elif tag in ("pre", "textarea"):
                self._read_code(child)
            elif tag == "figcaption":
                self._read_block(child, depth, list_level, _Place("caption"))
            elif tag in _BLOCKS:
                self._read_block(child, depth, list_level, self._place)
            else:
                self._read_inline(child, tag, depth, list_level)

    def _read_inline(self, node: LexborNode, tag: str, depth: int, list_level: int) -> None:
        if tag == "br":
            self._pieces.append("\n")
        elif tag == "hr":
            self._flush()
        elif tag == "img":
            if alternative := node.attrs.sget("alt", "").strip():
                self._pieces.append(f" {alternative} ")
        elif tag == "input":
            self._read_input(node)
        elif tag == "math" and (formula := node.css_first("annotation")) is not None:
            self._pieces.append(f" ${formula.text().strip()}$ ")
        else:
            if tag == "a" and (address := node.attrs.sget("href", "").strip()) and not address.startswith("#"):
                self._addresses.append(address)
            self._read_children(node, depth + 1, list_level)

    def _read_input(self, node: LexborNode) -> None:
        kind = node.attrs.sget("type", "text").lower()
        if kind in ("checkbox", "radio"):
            self._pieces.append("[x] " if "checked" in node.attrs else "[ ] ")
        elif kind not in ("hidden", "password", "submit", "button", "image", "file"):
            self._pieces.append(f" {node.attrs.sget('value', '')} ")

    def _read_block(self, node: LexborNode, depth: int, list_level: int, place: _Place) -> None:
        self._flush()
        outer, self._place = self._place, place
        self._read_children(node, depth + 1, list_level)
        self._flush()
        self._place = outer

    def _read_list(self, node: LexborNode, depth: int, level: int) -> None:
        self._flush()
        number = parse_integer(node.attrs.sget("start", ""), 1)
        for child in node.iter(include_text=True):
            if child.tag != "li":
                self._read_stray(child, depth, level)
                continue
            marker = f"{number}. " if node.tag == "ol" else ""
            number += 1
            self._read_block(child, depth, level, _Place("list_item", level, marker))

    def _read_stray(self, child: LexborNode, depth: int, level: int) -> None:
        """Read the child of a list that is no item: a list directly in a list, or text."""
        tag = child.tag or ""
        if tag == "-text":
            if text := (child.text_content or "").strip():
                self._pieces.append(text)
                self._flush()
        elif tag in _LISTS:
            self._read_list(child, depth + 1, level + 1)
        else:
            self._read_block(child, depth, level, _Place("list_item", level))

    def _read_definitions(self, node: LexborNode, depth: int, level: int) -> None:
        """Read a term as an item, and its description as an item below it."""
        if node.tag == "dl":
            self._read_block(node, depth, level + 1, self._place)
        elif node.tag == "dt":
            self._read_block(node, depth, level, _Place("list_item", max(level, 0)))
        else:
            self._read_block(node, depth, level + 1, _Place("list_item", max(level, 0) + 1))

    def _read_code(self, node: LexborNode) -> None:
        self._flush()
        for line_break in node.css("br"):
            line_break.replace_with("\n")
        text = node.text().strip("\n")
        if text.strip():
            self.parts.append(Element("code", text))

    def _flush(self) -> None:
        """End the current block."""
        text = " ".join("".join(self._pieces).split())
        self._pieces = []
        addresses, self._addresses = self._addresses, []
        if not text or len(self.parts) >= MAX_PARTS:
            self.is_cut |= bool(text)
            return
        place = self._place
        level = place.level if place.role in ("heading", "list_item") else 0
        self.parts.append(Element(place.role, place.marker + text, (), level))
        place.marker = ""
        self.links += [(len(self.parts) - 1, address) for address in addresses]

    # --- tables ----------------------------------------------------------------------------------

    def _read_table(self, node: LexborNode, depth: int) -> None:
        self._flush()
        caption = next((child for child in node.iter() if child.tag == "caption"), None)
        rows = [(row, _cells(row)) for row in _rows(node)]
        is_frame = len(rows) == 1 and len(rows[0][1]) == 1
        if is_frame or node.attrs.sget("role", "") == "presentation":
            for _, cells in rows:
                for cell in cells:
                    self._read_block(cell, depth, -1, self._place)
            return
        grid = Grid()
        headers = 0
        waiting: list[tuple[LexborNode, int]] = []
        for index, (row, row_cells) in enumerate(rows):
            spans = waiting + [(cell, _span(cell, "rowspan")) for cell in row_cells]
            if row_cells and index < len(rows) - 1 and all(span > 1 for _, span in spans):
                waiting = [(cell, span - 1) for cell, span in spans]  # all continue below: no row of its own
                continue
            waiting = []
            grid.start_row()
            for cell, span in spans:
                grid.add_cell(self._cell_text(cell, depth), _span(cell, "colspan"), span)
            is_header = bool(spans) and (_is_in_head(row) or all(cell.tag == "th" for cell, _ in spans))
            headers += len(grid.rows) - 1 == headers and is_header
        built = grid.finish()
        title = " ".join(caption.text().split()) if caption is not None else ""
        if any(text for texts in built for text in texts):
            explicit = headers if 0 < headers < len(built) else None
            self.parts.append(build_table(built, header_rows=explicit, title=title))
            self.links += [(len(self.parts) - 1, address) for address in self._addresses]
        self._addresses = []

    def _cell_text(self, cell: LexborNode, depth: int) -> str:
        """Return the text of a cell: a line for each block in it, and for each row of a table in it."""
        reader = _PageReader()
        reader._read_children(cell, depth + 2, -1)
        reader._flush()
        self._addresses += [address for _, address in reader.links]
        lines: list[str] = []
        for part in reader.parts:
            if isinstance(part, Table):
                lines += [part.title, " ".join(part.headers), *(" ".join(row.cells) for row in part.rows)]
            else:
                lines.append(part.text)
        return "\n".join(line for line in lines if line)


def _rows(table: LexborNode) -> Iterator[LexborNode]:
    """Yield the rows of a table, not those of tables in its cells."""
    for node in table.iter():
        if node.tag == "tr":
            yield node
        elif node.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in node.iter() if row.tag == "tr")


def _cells(row: LexborNode) -> list[LexborNode]:
    return [cell for cell in row.iter() if cell.tag in ("td", "th")]


def _is_in_head(row: LexborNode) -> bool:
    return row.parent is not None and row.parent.tag == "thead"


def _span(cell: LexborNode, name: str) -> int:
    return parse_integer(cell.attrs.sget(name, "").strip(), 1, low=1, high=MAX_SPAN)


# --- EPUB ------------------------------------------------------------------------------------------

_EPUB_PREFIXES: Final = {
    "urn:oasis:names:tc:opendocument:xmlns:container": "c",
    "http://www.idpf.org/2007/opf": "opf",
    "http://purl.org/dc/elements/1.1/": "dc",
}


def read_epub(data: bytes) -> Document:
    """Return the content of a book in the order of its spine."""
    archive = open_archive(data)
    container = archive.read_xml("META-INF/container.xml", _EPUB_PREFIXES)
    name = next((node.get("full-path", "") for node in container.iter("c:rootfile")), "")
    if not name or "META-INF/rights.xml" in archive:
        raise Unreadable("the book is protected (DRM)" if name else "the archive is no EPUB: it names no content")
    package = archive.read_xml(name, _EPUB_PREFIXES)
    parts: list[Element | Table] = []
    links: list[tuple[int, str]] = []
    coverages: list[float] = []
    chars = 0
    notes: tuple[str, ...] = ()
    for chapter in _spine(archive, package, posixpath.dirname(name)):
        text = decode_page(archive.read(chapter))
        chars += len(text)
        if chars > MAX_BOOK_CHARS:
            notes = (f"the book was cut: the limit is {MAX_BOOK_CHARS:,} characters",)
            break
        reader, body, _ = _read_page(text)
        links += [(len(parts) + index, address) for index, address in reader.links if "://" in address]
        parts += reader.parts
        coverages.append(_page_coverage(body, reader.parts))
    title = next((node.text or "" for node in package.iter("dc:title")), "").strip()
    author = next((node.text or "" for node in package.iter("dc:creator")), "").strip()
    coverage = sum(coverages) / len(coverages) if coverages else None
    facets = {"author": author} if author else {}
    return Document(tuple(parts), ENGINE, title, (PageReport(1, ENGINE, coverage),), tuple(links), facets, notes)


def _spine(archive: Archive, package: XmlNode, folder: str) -> Iterator[str]:
    """Yield the names of the pages in reading order, each once; the table of contents is left out."""
    pages = {}
    for item in package.iter("opf:item"):
        if "html" in item.get("media-type", "") and "nav" not in item.get("properties", "").split():
            name = posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
            if name in archive:
                pages[item.get("id", "")] = name
    for reference in package.iter("opf:itemref"):
        if (page := pages.pop(reference.get("idref", ""), None)) is not None:
            yield page
