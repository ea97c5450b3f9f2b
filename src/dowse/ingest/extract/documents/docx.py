"""Read DOCX: paragraphs with heading levels and numbers, lists, tables, text boxes, equations, charts, notes.

The reader works on the XML itself. The libraries that were measured lose equations, comments, heading numbers or text
boxes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.etree.ElementTree import Element as XmlNode

from dowse.ingest.extract.documents.archive import attribute, find, parse_integer
from dowse.ingest.extract.documents.coverage import MIN_COVERAGE, measure_coverage
from dowse.ingest.extract.documents.document import MAX_HEADING_LEVEL, Document, Element, Role, Table
from dowse.ingest.extract.documents.equations import latex_of_equation
from dowse.ingest.extract.documents.numbering import LEVELS, Numbering, read_numbering
from dowse.ingest.extract.documents.ooxml import Package, describe_picture, format_comment, read_chart, read_diagram
from dowse.ingest.extract.documents.tables import MAX_SPAN, Grid, build_table
from dowse.model import PageReport

ENGINE: Final = "docx"

_CODE_STYLE: Final = re.compile(r"(?:source |html )?(?:code|preformatted)(?: block| text)?", re.IGNORECASE)
_MONOSPACED: Final = re.compile(r"courier|consolas|mono|menlo|fixedsys|lucida console", re.IGNORECASE)
_CODE_CHARACTERS: Final = re.compile(r"[{}()\[\];=<>]")
_HEADING_STYLE: Final = re.compile(r"heading (\d)", re.IGNORECASE)
_FIELD_ADDRESS: Final = re.compile(r'HYPERLINK\s+"([^"]+)"')
_BODY_TEXT_OUTLINE: Final = 9
_DROPPED: Final = frozenset(("w:del", "w:moveFrom", "w:pPr", "w:rPr", "w:sdtPr", "w:tblPr", "w:trPr", "w:tcPr"))
_CHECKED: Final = {True: "[x]", False: "[ ]"}


def read_docx(data: bytes) -> Document:
    """Return the content of a Word document."""
    package = Package(data)
    part = package.main_part()
    root = package.read(part)
    reader = _DocxReader(_Context(package, part))
    reader.read_blocks(root.iter("w:body"))
    reader.read_page_margins()
    coverage = measure_coverage(" ".join(_raw_paragraphs(root)), reader.parts)
    notes: tuple[str, ...] = ()
    title, facets = package.read_properties()
    if coverage < MIN_COVERAGE:
        parts: list[Element | Table] = [Element("paragraph", text) for text in _raw_paragraphs(root)]
        notes = (f"coverage {coverage:.2f}: read as plain paragraphs",)
        return Document(tuple(parts), ENGINE, title, (PageReport(1, f"{ENGINE}-runs", 1.0),), (), facets, notes)
    links = tuple((index, address) for index, address in reader.links if index < len(reader.parts))
    return Document(tuple(reader.parts), ENGINE, title, (PageReport(1, ENGINE, coverage),), links, facets, notes)


def _raw_paragraphs(root: XmlNode) -> Iterator[str]:
    """Yield the text runs between the starts of paragraphs, tabs and breaks, but what was moved away: the raw layer."""
    moved = {id(run) for source in root.iter("w:moveFrom") for run in source.iter("w:t")}
    pieces: list[str] = []
    for node in root.iter():
        if node.tag == "w:t" and id(node) not in moved:
            pieces.append(node.text or "")
        elif node.tag in ("w:tab", "w:br", "w:cr", "w:noBreakHyphen"):
            pieces.append("-" if node.tag == "w:noBreakHyphen" else " ")
        elif node.tag == "w:p":
            if text := "".join(pieces).strip():
                yield text
            pieces = []
    if text := "".join(pieces).strip():
        yield text


# --- styles ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Style:
    name: str = ""
    base: str = ""
    outline: int | None = None
    number_id: str | None = None
    number_level: int | None = None
    monospaced: bool = False


def _read_styles(package: Package, part: str) -> dict[str, _Style]:
    found: dict[str, _Style] = {}
    for styles in package.related(part, "styles"):
        for node in package.read(styles).findall("w:style"):
            properties = node.find("w:pPr")
            found[node.get("w:styleId", "")] = _Style(
                name=attribute(node.find("w:name"), "w:val"),
                base=attribute(node.find("w:basedOn"), "w:val"),
                outline=_number(find(properties, "w:outlineLvl")),
                number_id=attribute(find(properties, "w:numPr", "w:numId"), "w:val") or None,
                number_level=_number(find(properties, "w:numPr", "w:ilvl")),
                monospaced=bool(_MONOSPACED.search(attribute(find(node, "w:rPr", "w:rFonts"), "w:ascii"))),
            )
    return found


def _number(node: XmlNode | None) -> int | None:
    return None if node is None else parse_integer(node.get("w:val", ""), 0)


def _is_on(node: XmlNode | None) -> bool:
    return node is not None and node.get("w:val", "1") not in ("0", "false", "off")


class _DocxStyles:
    """The styles of a document; a style inherits from the one it is based on."""

    def __init__(self, styles: dict[str, _Style]) -> None:
        self._styles = styles
        self._resolved: dict[str, _Style] = {}

    def resolve(self, style_id: str) -> _Style:
        """Return a style with everything it inherits."""
        if (known := self._resolved.get(style_id)) is None:
            known = self._resolved[style_id] = self._inherit(style_id)
        return known

    def _inherit(self, style_id: str) -> _Style:
        chain: list[_Style] = []
        seen: set[str] = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            chain.append(self._styles[style_id])
            style_id = chain[-1].base
        resolved = _Style(name=chain[0].name if chain else "")
        for style in reversed(chain):
            resolved.outline = style.outline if style.outline is not None else resolved.outline
            if (level := _HEADING_STYLE.fullmatch(style.name)) and style.outline is None:
                resolved.outline = int(level[1]) - 1
            resolved.number_id = style.number_id or resolved.number_id
            resolved.number_level = style.number_level if style.number_level is not None else resolved.number_level
            resolved.monospaced |= style.monospaced
        return resolved


# --- content ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Line:
    """The text of one paragraph while it is read, with the blocks that are anchored in it."""

    pieces: list[str] = field(default_factory=list)
    equations: list[str] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    anchored: list[XmlNode] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces).strip()


class _Context:
    """The parts beside the text that a document refers to: styles, lists, notes."""

    def __init__(self, package: Package, part: str) -> None:
        self.package = package
        self.part = part
        self.styles = _DocxStyles(_read_styles(package, part))
        self.numbering: Numbering = read_numbering(package, part)
        self.notes = dict(self._read_notes())

    def _read_notes(self) -> Iterator[tuple[str, str]]:
        """Yield footnotes, endnotes and comments by the tag of their reference and their id."""
        for kind, tag in (("footnotes", "w:footnote"), ("endnotes", "w:endnote"), ("comments", "w:comment")):
            for part in self.package.related(self.part, kind):
                for node in self.package.read(part).findall(tag):
                    if text := " ".join(" ".join(_raw_paragraphs(node)).split()):
                        yield f"{tag}Reference {node.get('w:id', '')}", _describe_note(node, text)


def _describe_note(node: XmlNode, text: str) -> str:
    if node.tag != "w:comment":
        return text
    author, initials = node.get("w:author", ""), node.get("w:initials", "")
    return format_comment(f"{author} ({initials})" if author and initials else author, node.get("w:date", ""), text)


class _DocxReader:
    """Collects the parts of one document, or of one cell."""

    def __init__(self, context: _Context) -> None:
        self.parts: list[Element | Table] = []
        self.links: list[tuple[int, str]] = []
        self._context = context
        self._package = context.package
        self._part = context.part

    def read_blocks(self, nodes: Iterable[XmlNode]) -> None:
        """Read paragraphs and tables, through the containers around them."""
        for node in nodes:
            if node.tag == "w:p":
                self._read_paragraph(node)
            elif node.tag == "w:tbl":
                self._read_table(node)
            elif node.tag not in _DROPPED:
                self.read_blocks(node)

    def read_page_margins(self) -> None:
        """Add each different text of page headers and footers once, at the end."""
        seen: set[str] = set()
        for kind in ("header", "footer"):
            for part in self._package.related(self._part, kind):
                text = " ".join(" ".join(_raw_paragraphs(self._package.read(part))).split())
                if text and text not in seen:
                    self.parts.append(Element("note", f"Page {kind}: {text}"))
                seen.add(text)

    def _read_paragraph(self, node: XmlNode) -> None:
        properties = node.find("w:pPr")
        style = self._context.styles.resolve(attribute(find(properties, "w:pStyle"), "w:val"))
        line = _Line()
        self._read_runs(node, line)
        text = line.text
        if text:
            role, level, text = self._classify(node, properties, style, text)
            self._add(role, text, level, line)
        for equation in line.equations:
            self.parts.append(Element("equation", f"$${equation}$$"))
        self.read_blocks(line.anchored)
        for note in line.notes:
            self.parts.append(Element("note", note))

    def _add(self, role: Role, text: str, level: int, line: _Line) -> None:
        last = self.parts[-1] if self.parts else None
        if role == "code" and isinstance(last, Element) and last.role == "code":
            self.parts[-1] = Element("code", f"{last.text}\n{text}")
        else:
            self.parts.append(Element(role, text, (), level))
        self.links += [(len(self.parts) - 1, address) for address in line.addresses]

    def _classify(self, node: XmlNode, properties: XmlNode | None, style: _Style, text: str) -> tuple[Role, int, str]:
        """Return role, level and text of a paragraph; a number that the program computes stands before the text."""
        outline = _number(find(properties, "w:outlineLvl"))
        outline = style.outline if outline is None else outline
        name = style.name.lower()
        marker, depth = self._count(properties, style)
        if outline is not None and 0 <= outline < _BODY_TEXT_OUTLINE:
            return "heading", min(outline + 1, MAX_HEADING_LEVEL), f"{marker.rstrip('.')} {text}" if marker else text
        if name == "title":
            return "heading", 1, text
        if depth is not None:
            return "list_item", depth, f"{marker} {text}" if marker else text
        if name == "caption":
            return "caption", 0, text
        if _CODE_STYLE.fullmatch(name) or self._is_monospaced_code(node, style, text):
            return "code", 0, text
        return "paragraph", 0, text

    def _count(self, properties: XmlNode | None, style: _Style) -> tuple[str, int | None]:
        """Return the number of a paragraph and its depth in a list; None if it is in no list."""
        own = find(properties, "w:numPr")
        number_id = attribute(find(own, "w:numId"), "w:val") or style.number_id
        level = _number(find(own, "w:ilvl"))
        level = (style.number_level or 0) if level is None else level
        if not number_id or number_id == "0":
            return "", None
        return self._context.numbering.count(number_id, level), min(level, LEVELS - 1)

    def _is_monospaced_code(self, node: XmlNode, style: _Style, text: str) -> bool:
        if not _CODE_CHARACTERS.search(text):
            return False
        runs = (run for run in node.iter("w:r") if run.find("w:t") is not None)
        fonts = [attribute(find(run, "w:rPr", "w:rFonts"), "w:ascii") for run in runs]
        return bool(fonts) and all(_MONOSPACED.search(font) or (not font and style.monospaced) for font in fonts)

    # --- runs ------------------------------------------------------------------------------------

    def _read_runs(self, node: XmlNode, line: _Line) -> None:
        for child in node:
            tag = child.tag
            if tag == "w:t":
                line.pieces.append(child.text or "")
            elif tag in _DROPPED:
                continue
            elif tag in ("w:tab", "w:br", "w:cr"):
                line.pieces.append("\t" if tag == "w:tab" else "\n")
            elif tag == "w:noBreakHyphen":
                line.pieces.append("-")
            elif tag == "m:oMathPara":
                line.equations += [latex_of_equation(equation) for equation in child.iter("m:oMath")]
            elif tag == "m:oMath":
                self._read_equation(node, child, line)
            elif tag in ("w:drawing", "w:pict", "w:object"):
                self._read_drawing(child, line)
            elif tag == "w:sdt":
                self._read_content_control(child, line)
            elif f"{tag} {child.get('w:id', '')}" in self._context.notes:
                self._read_reference(tag, child.get("w:id", ""), line)
            else:
                self._read_address(child, line)
                self._read_runs(child, line)

    def _read_equation(self, paragraph: XmlNode, node: XmlNode, line: _Line) -> None:
        """Read an equation in a line of text; a paragraph of equations alone gives one equation each."""
        latex = latex_of_equation(node)
        if any((text.text or "").strip() for text in paragraph.iter("w:t")):
            line.pieces.append(f" ${latex}$ ")
        elif latex:
            line.equations.append(latex)

    def _read_address(self, node: XmlNode, line: _Line) -> None:
        if node.tag == "w:hyperlink":
            relation = self._package.relations(self._part).get(node.get("r:id", ""))
            if relation is not None and relation.external:
                line.addresses.append(relation.target)
        elif node.tag in ("w:instrText", "w:fldSimple"):
            instruction = node.text if node.tag == "w:instrText" else node.get("w:instr")
            line.addresses += _FIELD_ADDRESS.findall(instruction or "")

    def _read_content_control(self, node: XmlNode, line: _Line) -> None:
        checked = find(node, "w:sdtPr", "w14:checkbox", "w14:checked")
        if checked is not None:
            line.pieces.append(_CHECKED[checked.get("w14:val", "1") in ("1", "true")])
        else:
            self._read_runs(node, line)

    def _read_reference(self, tag: str, note_id: str, line: _Line) -> None:
        note = self._context.notes[f"{tag} {note_id}"]
        if tag == "w:commentReference":
            line.notes.append(note)
        else:
            line.pieces.append(f"[{note_id}]")
            line.notes.append(f"[{note_id}] {note}")

    def _read_drawing(self, node: XmlNode, line: _Line) -> None:
        """Read text boxes, charts, diagrams and the descriptions of pictures."""
        line.anchored += node.iter("w:txbxContent")
        for chart in node.iter("c:chart"):
            root = self._package.read_drawing(self._part, chart.get("r:id", ""))
            if root is not None and (table := read_chart(root)) is not None:
                self.parts.append(table)
        for diagram in node.iter("dgm:relIds"):
            root = self._package.read_drawing(self._part, diagram.get("r:dm", ""))
            if root is not None:
                self.parts += [Element("list_item", text) for text in read_diagram(root)]
        for picture in node.iter("wp:docPr"):
            if description := describe_picture(picture.get("descr", "")):
                line.notes.append(description)

    # --- tables ----------------------------------------------------------------------------------

    def _read_table(self, node: XmlNode) -> None:
        rows = [row for child in node for row in _rows(child)]
        cells = [list(_cells(row)) for row in rows]
        if len(cells) == 1 and len(cells[0]) == 1:  # a frame around text
            self.read_blocks(cells[0][0])
            return
        grid = Grid()
        headers = 0
        spans = _vertical_spans(rows, cells)
        notes: list[Element] = []
        for index, row in enumerate(rows):
            grid.start_row()
            for _ in range(_cells_before(row)):
                grid.add_cell("")
            for position, cell in enumerate(cells[index]):
                span = spans.get((index, position))
                if span != 0:
                    grid.add_cell(self._read_cell(cell, notes), _grid_span(cell), span or 1)
            headers += index == headers and _is_on(find(row, "w:trPr", "w:tblHeader"))
        built = grid.finish()
        if any(text.strip() for texts in built for text in texts):
            self.parts.append(build_table(built, header_rows=headers or None))
        self.parts += notes

    def _read_cell(self, cell: XmlNode, notes: list[Element]) -> str:
        """Return the text of a cell: a line for each block, and for each row of a table in it. Collect its notes."""
        reader = _DocxReader(self._context)
        reader.read_blocks(cell)
        lines: list[str] = []
        for part in reader.parts:
            if isinstance(part, Table):
                lines += [part.title, " ".join(part.headers), *(" ".join(row.cells) for row in part.rows)]
            elif part.role == "note":
                notes.append(part)
            else:
                lines.append(part.text)
        return "\n".join(line for line in lines if line)


def _rows(node: XmlNode) -> Iterator[XmlNode]:
    """Yield the rows in a table, through content controls and insertions around them."""
    if node.tag == "w:tr":
        yield node
    elif node.tag not in _DROPPED and node.tag != "w:tbl":
        for child in node:
            yield from _rows(child)


def _cells(row: XmlNode) -> Iterator[XmlNode]:
    for node in row:
        if node.tag == "w:tc":
            yield node
        elif node.tag not in _DROPPED and node.tag != "w:tbl":
            yield from _cells(node)


def _grid_span(cell: XmlNode) -> int:
    return _number(find(cell, "w:tcPr", "w:gridSpan")) or 1


def _cells_before(row: XmlNode) -> int:
    return min(_number(find(row, "w:trPr", "w:gridBefore")) or 0, MAX_SPAN)


def _vertical_spans(rows: list[XmlNode], cells: list[list[XmlNode]]) -> dict[tuple[int, int], int]:
    """Return how many rows each merged cell covers; 0 for a cell that only continues the one above."""
    spans: dict[tuple[int, int], int] = {}
    open_cells: dict[int, tuple[int, int]] = {}  # by column of the grid
    for index, row in enumerate(rows):
        column = _cells_before(row)
        for position, cell in enumerate(cells[index]):
            merge = find(cell, "w:tcPr", "w:vMerge")
            if merge is None:
                open_cells.pop(column, None)
            elif merge.get("w:val") == "restart" or column not in open_cells:
                open_cells[column] = (index, position)
                spans[index, position] = 1
            else:
                spans[index, position] = 0
                spans[open_cells[column]] += 1
            column += _grid_span(cell)
    return spans
