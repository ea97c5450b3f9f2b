"""Read OpenDocument texts and presentations (ODT, ODP): headings, lists, tables, frames, notes, comments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from xml.etree.ElementTree import Element as XmlNode

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import Archive, attribute, find, open_archive, parse_integer
from dowse.ingest.extract.documents.coverage import MIN_COVERAGE, measure_coverage
from dowse.ingest.extract.documents.document import MAX_HEADING_LEVEL, Document, Element, PageBox, Role, Table
from dowse.ingest.extract.documents.numbering import format_number
from dowse.ingest.extract.documents.ooxml import describe_picture, format_comment
from dowse.ingest.extract.documents.pptx import sort_in_rows
from dowse.ingest.extract.documents.tables import MAX_SPAN, Grid, build_table
from dowse.model import Box, PageReport

ENGINE: Final = "odf"
LEVELS: Final = 10

_FAMILIES: Final = {
    "office": "office", "text": "text", "table": "table", "draw": "drawing", "presentation": "presentation",
    "style": "style", "svg": "svg-compatible", "meta": "meta", "manifest": "manifest", "chart": "chart",
}  # fmt: skip
_PREFIXES: Final = {
    **{f"urn:oasis:names:tc:opendocument:xmlns:{family}:1.0": prefix for prefix, family in _FAMILIES.items()},
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.w3.org/1999/xlink": "xlink",
    "http://www.w3.org/1998/Math/MathML": "math",
}
_DROPPED: Final = frozenset(
    (
        "text:tracked-changes", "text:sequence-decls", "text:variable-decls", "text:user-field-decls", "office:forms",
        "office:scripts", "draw:glue-point", "text:soft-page-break", "presentation:settings", "office:event-listeners",
    )
)  # fmt: skip
_MARGIN_CLASSES: Final = frozenset(("date-time", "footer", "page-number", "header"))
_NUMBER_STYLES: Final = {
    "1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"
}  # fmt: skip
_LENGTH: Final = re.compile(r"(-?[\d.]+)(cm|mm|in|pt|pc|px)")
_POINTS_PER_UNIT: Final = {"cm": 72 / 2.54, "mm": 72 / 25.4, "in": 72.0, "pt": 1.0, "pc": 12.0, "px": 0.75}
_CAPTION_STYLES: Final = frozenset(("Caption", "Illustration", "Figure", "Table", "Drawing"))


def read_odf(data: bytes) -> Document:
    """Return the content of a text document or a presentation; a slide is a page."""
    archive = open_archive(data)
    _check_encryption(archive)
    root = archive.read_xml("content.xml", _PREFIXES)
    trees = [archive.read_xml("styles.xml", _PREFIXES), root] if "styles.xml" in archive else [root]
    styles = _OdfStyles(trees)
    body = find(root, "office:body")
    content = next(iter(body), None) if body is not None else None
    if content is None:
        raise Unreadable("the document has no content")
    slides = content.findall("draw:page")
    parts: list[Element | Table] = []
    links: list[tuple[int, str]] = []
    pages: list[PageReport] = []
    notes: list[str] = []
    for number, node in enumerate(slides or [content], start=1):
        reader = _OdfReader(archive, styles, (PageBox(number),) if slides else ())
        if slides:
            reader.read_slide(node)
        else:
            reader.read_blocks(node)
        raw = " ".join(_raw_texts(node))
        coverage, engine = measure_coverage(raw, reader.parts), ENGINE
        if coverage < MIN_COVERAGE:
            notes.append(f"page {number}: coverage {coverage:.2f}, read as plain paragraphs")
            reader = _OdfReader(archive, styles, reader.page)
            reader.parts += [Element("paragraph", text, reader.page) for text in _raw_texts(node)]
            coverage, engine = 1.0, f"{ENGINE}-text"
        links += [(len(parts) + index, address) for index, address in reader.links]
        parts += reader.parts
        pages.append(PageReport(number, engine, coverage))
    title, facets = _read_properties(archive)
    return Document(tuple(parts), ENGINE, title, tuple(pages), tuple(links), facets, tuple(notes))


def _check_encryption(archive: Archive) -> None:
    if "META-INF/manifest.xml" in archive:
        manifest = archive.read("META-INF/manifest.xml")
        if b"encryption-data" in manifest:
            raise Unreadable("the file is protected by a password")


def _read_properties(archive: Archive) -> tuple[str, dict[str, str]]:
    if "meta.xml" not in archive:
        return "", {}
    root = archive.read_xml("meta.xml", _PREFIXES)
    title = next((node.text or "" for node in root.iter("dc:title")), "").strip()
    author = next((node.text or "" for node in root.iter("dc:creator")), "").strip()
    return title, {"author": author} if author else {}


def _raw_texts(node: XmlNode) -> Iterator[str]:
    """Yield the characters of each paragraph, without those of paragraphs in it: the raw layer."""
    for child in node:
        if child.tag in _DROPPED or child.get("presentation:class") in _MARGIN_CLASSES:
            continue
        if child.tag in ("text:p", "text:h") and (text := " ".join("".join(_characters(child)).split())):
            yield text
        yield from _raw_texts(child)


def _characters(node: XmlNode) -> Iterator[str]:
    yield node.text or ""
    for child in node:
        if child.tag in ("text:s", "text:tab", "text:line-break"):
            yield " "
        elif child.tag in ("text:span", "text:a", "text:bookmark-ref", "text:sequence", "text:date", "text:time"):
            yield from _characters(child)
        yield child.tail or ""


# --- styles ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _OdfListLevel:
    """How one level of a list or of headings is numbered; `style` is empty for bullets."""

    style: str
    suffix: str
    shown_levels: int


class _OdfStyles:
    """Paragraph styles by name with their parents, list styles, and the numbering of headings."""

    def __init__(self, trees: Iterable[XmlNode]) -> None:
        self._parents: dict[str, str] = {}
        self._lists: dict[str, dict[int, _OdfListLevel]] = {}
        self.headings: dict[int, _OdfListLevel] = {}
        for tree in trees:
            for style in tree.iter("style:style"):
                if style.get("style:family") == "paragraph":
                    self._parents[style.get("style:name", "")] = style.get("style:parent-style-name", "")
            for style in tree.iter("text:list-style"):
                self._lists[style.get("style:name", "")] = dict(_read_levels(style))
            for style in tree.iter("text:outline-style"):
                self.headings = dict(_read_levels(style))

    def names(self, name: str) -> set[str]:
        """Return the name of a style and of those it inherits from."""
        found: set[str] = set()
        while name and name not in found:
            found.add(name)
            name = self._parents.get(name, "")
        return found

    def list_level(self, name: str, level: int) -> _OdfListLevel | None:
        return self._lists.get(name, {}).get(level)


def _read_levels(style: XmlNode) -> Iterator[tuple[int, _OdfListLevel]]:
    for node in style:
        number_style = _NUMBER_STYLES.get(node.get("style:num-format", ""), "")
        shown = parse_integer(node.get("text:display-levels", ""), 1, high=LEVELS)
        level = parse_integer(node.get("text:level", ""), 1, low=1, high=LEVELS)
        yield level, _OdfListLevel(number_style, node.get("style:num-suffix", ""), shown)


class _Counters:
    """The current numbers of the levels of one list, or of the headings."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def count(self, level: int, levels: dict[int, _OdfListLevel] | None, own: _OdfListLevel | None) -> str:
        """Advance a level by one and return its number, like `2.1.`; "" for a bullet."""
        self._numbers = {known: number for known, number in self._numbers.items() if known <= level}
        self._numbers[level] = self._numbers.get(level, 0) + 1
        if own is None or not own.style:
            return ""
        shown = range(max(1, level - own.shown_levels + 1), level + 1)
        styles = {known: (levels or {}).get(known, own).style or own.style for known in shown}
        return ".".join(format_number(self._numbers.get(known, 1), styles[known]) for known in shown) + own.suffix


# --- content ---------------------------------------------------------------------------------------


class _OdfReader:
    """Collects the parts of a text document, of one slide, or of one cell."""

    def __init__(self, archive: Archive, styles: _OdfStyles, page: tuple[PageBox, ...]) -> None:
        self.parts: list[Element | Table] = []
        self.links: list[tuple[int, str]] = []
        self.page = page
        self._places = page
        self._archive = archive
        self._styles = styles
        self._heading_counters = _Counters()
        self._pieces: list[str] = []
        self._addresses: list[str] = []
        self._notes: list[str] = []
        self._frames: list[XmlNode] = []

    def read_slide(self, slide: XmlNode) -> None:
        """Read the title, the shapes in rows, and the speaker's notes."""
        shapes = [shape for shape in slide if shape.get("presentation:class") not in _MARGIN_CLASSES]
        notes = [shape for shape in shapes if shape.tag == "presentation:notes"]
        titles = [shape for shape in shapes if shape.get("presentation:class") == "title"]
        others = [shape for shape in shapes if shape not in notes and shape not in titles]
        for shape in titles + sort_in_rows(others, [_read_box(shape) for shape in others]):
            box = _read_box(shape)
            self._places = tuple(PageBox(place.page, box) for place in self.page)
            if shape in titles:
                if text := " ".join(_raw_texts(shape)):
                    self.parts.append(Element("heading", text, self._places, 1))
            else:
                self.read_blocks([shape])
        for frame in (frame for note in notes for frame in note.findall("draw:frame")):
            if frame.get("presentation:class") == "notes":
                self.parts += [Element("note", text, self.page) for text in _raw_texts(frame)]

    def read_blocks(self, nodes: Iterable[XmlNode]) -> None:
        """Read paragraphs, lists and tables, through the containers around them."""
        for node in nodes:
            tag = node.tag
            if tag in ("text:p", "text:h"):
                self._read_paragraph(node)
            elif tag == "text:list":
                self._read_list(node, node.get("text:style-name", ""), 1, _Counters())
            elif tag == "table:table":
                self._read_table(node)
            elif tag == "draw:frame":
                self._read_frame(node)
            elif tag not in _DROPPED:
                self.read_blocks(node)

    def _read_paragraph(self, node: XmlNode, item: tuple[int, str] | None = None) -> None:
        """Read a paragraph; `item` is the depth and the marker if it begins an item of a list."""
        self._read_text(node)
        text, self._pieces = "".join(self._pieces).strip(), []
        addresses, self._addresses = self._addresses, []
        frames, self._frames = self._frames, []
        notes, self._notes = self._notes, []
        if text:
            role, level, text = self._classify(node, text, item)
            self.parts.append(Element(role, text, self._places, level))
            self.links += [(len(self.parts) - 1, address) for address in addresses]
        self.read_blocks(frames)
        self.parts += [Element("note", note, self._places) for note in notes]

    def _classify(self, node: XmlNode, text: str, item: tuple[int, str] | None) -> tuple[Role, int, str]:
        names = self._styles.names(node.get("text:style-name", ""))
        if node.tag == "text:h":
            number = parse_integer(node.get("text:outline-level", ""), 1, low=1, high=LEVELS)
            levels = self._styles.headings
            marker = self._heading_counters.count(number, levels, levels.get(number)).rstrip(".")
            return "heading", min(number, MAX_HEADING_LEVEL), f"{marker} {text}" if marker else text
        if item is not None:
            return "list_item", item[0], f"{item[1]} {text}" if item[1] else text
        if "Title" in names or "Subtitle" in names:
            return "heading", 1 if "Title" in names else 2, text
        if "Preformatted_20_Text" in names:
            return "code", 0, text
        return ("caption" if names & _CAPTION_STYLES else "paragraph"), 0, text

    def _read_text(self, node: XmlNode) -> None:
        self._pieces.append(node.text or "")
        for child in node:
            tag = child.tag
            if tag == "text:s":
                self._pieces.append(" " * parse_integer(child.get("text:c", ""), 1, high=MAX_SPAN))
            elif tag in ("text:tab", "text:line-break"):
                self._pieces.append("\t" if tag == "text:tab" else "\n")
            elif tag == "text:note":
                self._read_note(child)
            elif tag == "office:annotation":
                text = " ".join(_raw_texts(child))
                author, time = child.findtext("dc:creator") or "", child.findtext("dc:date") or ""
                self._notes.append(format_comment(author, time, text))
            elif tag.startswith("draw:"):
                self._frames.append(child)
            elif tag not in _DROPPED and not tag.startswith("office:"):
                if tag == "text:a" and (address := child.get("xlink:href", "")) and not address.startswith("#"):
                    self._addresses.append(address)
                self._read_text(child)
            self._pieces.append(child.tail or "")

    def _read_note(self, node: XmlNode) -> None:
        label = (node.findtext("text:note-citation") or "*").strip()
        self._pieces.append(f"[{label}]")
        self._notes.append(f"[{label}] {' '.join(_raw_texts(node))}")

    def _read_list(self, node: XmlNode, style: str, level: int, counters: _Counters) -> None:
        for entry in node:
            if entry.tag not in ("text:list-item", "text:list-header"):
                continue
            is_first = entry.tag == "text:list-item"
            for child in entry:
                if child.tag == "text:list":
                    self._read_list(child, child.get("text:style-name", style), level + 1, counters)
                elif child.tag in ("text:p", "text:h"):
                    marker = counters.count(level, None, self._styles.list_level(style, level)) if is_first else ""
                    self._read_paragraph(child, (level - 1, marker))
                    is_first = False
                else:
                    self.read_blocks([child])

    def _read_frame(self, frame: XmlNode) -> None:
        description = describe_picture(frame.findtext("svg:desc") or frame.findtext("svg:title") or "")
        if description and frame.find("draw:image") is not None:
            self.parts.append(Element("caption", description, self._places))
        for child in frame:
            if child.tag == "draw:object":
                self._read_object(child.get("xlink:href", ""))
            elif child.tag in ("draw:text-box", "table:table", "draw:g"):
                self.read_blocks([child])

    def _read_object(self, address: str) -> None:
        """Read a chart as its table, a formula as its source."""
        name = posixpath.normpath(posixpath.join(address, "content.xml"))
        if name not in self._archive:
            return
        root = self._archive.read_xml(name, _PREFIXES)
        for formula in root.iter("math:annotation"):
            self.parts.append(Element("equation", (formula.text or "").strip(), self._places))
        title = " ".join(text for node in root.iter("chart:title") for text in _raw_texts(node))
        for table in root.iter("table:table"):
            self._read_table(table, title or "Chart")

    # --- tables ----------------------------------------------------------------------------------

    def _read_table(self, node: XmlNode, title: str = "") -> None:
        grid = Grid()
        headers = 0
        for row, is_header in _rows(node, in_header=False):
            grid.start_row()
            for cell in row:
                if cell.tag == "table:table-cell":
                    self._add_cell(grid, cell)
            headers += is_header
        rows = [row for row in grid.finish() if any(row)]
        if len(rows) == 1 and len(rows[0]) == 1 and not title:  # a frame around text
            self.parts.append(Element("paragraph", rows[0][0], self._places))
        elif rows:
            self.parts.append(build_table(rows, header_rows=headers or None, title=title, places=self._places))

    def _add_cell(self, grid: Grid, cell: XmlNode) -> None:
        text = self._cell_text(cell)
        columns = _count(cell, "table:number-columns-spanned")
        repeats = _count(cell, "table:number-columns-repeated")
        for _ in range(min(repeats, MAX_SPAN) if text else 1 if repeats > MAX_SPAN else repeats):
            grid.add_cell(text, columns, _count(cell, "table:number-rows-spanned"))

    def _cell_text(self, cell: XmlNode) -> str:
        reader = _OdfReader(self._archive, self._styles, ())
        reader.read_blocks(cell)
        lines: list[str] = []
        for part in reader.parts:
            if isinstance(part, Table):
                lines += [part.title, " ".join(part.headers), *(" ".join(row.cells) for row in part.rows)]
            else:
                lines.append(part.text)
        return "\n".join(line for line in lines if line)


def _rows(node: XmlNode, *, in_header: bool) -> Iterator[tuple[XmlNode, bool]]:
    for child in node:
        if child.tag == "table:table-row":
            yield child, in_header
        elif child.tag in ("table:table-header-rows", "table:table-rows", "table:table-row-group"):
            yield from _rows(child, in_header=in_header or child.tag == "table:table-header-rows")


def _count(node: XmlNode, name: str) -> int:
    return parse_integer(node.get(name, ""), 1, low=1)


def _read_box(shape: XmlNode) -> Box | None:
    sides = [_LENGTH.fullmatch(attribute(shape, f"svg:{name}")) for name in ("x", "y", "width", "height")]
    if not all(sides):
        return None
    left, top, width, height = (round(float(it[1]) * _POINTS_PER_UNIT[it[2]], 1) for it in sides if it)
    return (left, top, left + width, top + height)
