"""Read PPTX: slides as pages, with titles, lists, tables, charts, diagrams, speaker notes and comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree.ElementTree import Element as XmlNode

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import MAX_INTEGER, attribute, find, parse_integer
from dowse.ingest.extract.documents.coverage import MIN_COVERAGE, measure_coverage
from dowse.ingest.extract.documents.document import Document, Element, PageBox, Table
from dowse.ingest.extract.documents.ooxml import (
    Package,
    describe_picture,
    drawing_text,
    format_comment,
    read_chart,
    read_diagram,
)
from dowse.ingest.extract.documents.tables import Grid, build_table
from dowse.model import Box, PageReport

ENGINE: Final = "pptx"
EMU_PER_POINT: Final = 12_700
ROW_TOLERANCE_POINTS: Final = 15
"""Shapes whose tops differ by less stand in one row."""
MAX_LIST_DEPTH: Final = 8

_GROUP_BOX: Final = "group-box"
_TITLES: Final = frozenset(("title", "ctrTitle"))
_LISTS: Final = frozenset(("", "body", "obj"))
_PAGE_MARGINS: Final = frozenset(("dt", "ftr", "sldNum", "hdr"))


def read_pptx(data: bytes) -> Document:
    """Return the content of a presentation; a slide is a page."""
    package = Package(data)
    part = package.main_part()
    presentation = package.read(part)
    if presentation.tag != "p:presentation":
        raise Unreadable("the archive is no presentation: its extension is wrong")
    authors = _read_authors(package, part)
    size = presentation.find("p:sldSz")
    width, height = (parse_integer(attribute(size, name), 0) / EMU_PER_POINT for name in ("cx", "cy"))
    parts: list[Element | Table] = []
    pages: list[PageReport] = []
    notes: list[str] = []
    links: list[tuple[int, str]] = []
    listed = (package.target(part, slide.get("r:id", "")) for slide in presentation.iter("p:sldId"))
    for number, name in enumerate(dict.fromkeys(filter(None, listed)), start=1):
        reader = _SlideReader(package, name, number)
        root = package.read(name)
        reader.read(root)
        reader.read_notes()
        reader.read_comments(authors)
        raw = list(_raw_paragraphs(root))
        coverage, engine = measure_coverage(" ".join(raw), reader.parts), ENGINE
        if coverage < MIN_COVERAGE:
            notes.append(f"slide {number}: coverage {coverage:.2f}, read as plain paragraphs")
            reader = _SlideReader(package, name, number)
            reader.parts += [Element("paragraph", text, (PageBox(number),)) for text in raw]
            coverage, engine = 1.0, f"{ENGINE}-runs"
        links += [(len(parts) + index, address) for index, address in reader.links]
        parts += reader.parts
        pages.append(PageReport(number, engine, coverage, width, height))
    title, facets = package.read_properties()
    return Document(tuple(parts), ENGINE, title, tuple(pages), tuple(links), facets, tuple(notes))


def _raw_paragraphs(root: XmlNode) -> Iterator[str]:
    """Yield the text runs of each paragraph but those of page margins: the raw layer."""
    margins = {
        id(paragraph)
        for shape in root.iter("p:sp")
        if _placeholder(shape) in _PAGE_MARGINS
        for paragraph in shape.iter("a:p")
    }
    for paragraph in root.iter("a:p"):
        text = "".join(
            " " if node.tag == "a:br" else node.text or "" for node in paragraph.iter() if node.tag in ("a:t", "a:br")
        )
        if text.strip() and id(paragraph) not in margins:
            yield text.strip()


def _placeholder(shape: XmlNode) -> str | None:
    """Return the kind of a placeholder: "" for one of the layout's content, None for a free shape."""
    found = next(shape.iter("p:ph"), None)
    return None if found is None else found.get("type", "")


def _read_authors(package: Package, part: str) -> dict[str, str]:
    """Return the names of those who commented, by id."""
    found: dict[str, str] = {}
    for kind in ("commentAuthors", "authors"):
        for name in package.related(part, kind):
            for node in package.read(name):
                initials = node.get("initials", "")
                found[node.get("id", "")] = node.get("name", "") + (f" ({initials})" if initials else "")
    return found


def sort_in_rows(shapes: list[XmlNode], boxes: Sequence[Box | None]) -> list[XmlNode]:
    """Return shapes by rows and from left to right; one without a box stays behind the one before it."""
    placed: list[tuple[float, float, XmlNode]] = []
    left, top = 0.0, 0.0
    for shape, box in zip(shapes, boxes, strict=True):
        if box is not None:
            left, top = box[0], box[1]
        placed.append((top, left, shape))
    placed.sort(key=lambda entry: entry[0])
    rows: list[list[tuple[float, float, XmlNode]]] = []
    for entry in placed:
        if not rows or entry[0] - rows[-1][0][0] > ROW_TOLERANCE_POINTS:
            rows.append([])
        rows[-1].append(entry)
    return [shape for row in rows for _, _, shape in sorted(row, key=lambda entry: entry[1])]


class _SlideReader:
    """Collects the parts of one slide: the title first, then the shapes by rows, from left to right."""

    def __init__(self, package: Package, name: str, number: int) -> None:
        self.parts: list[Element | Table] = []
        self.links: list[tuple[int, str]] = []
        self._package = package
        self._name = name
        self._page = (PageBox(number),)
        self._layout_boxes = dict(self._read_layout_boxes())

    def read(self, root: XmlNode) -> None:
        tree = find(root, "p:cSld", "p:spTree")
        shapes = list(_shapes(tree)) if tree is not None else []
        for shape in self._sort(shapes):
            if shape.tag == "p:graphicFrame":
                self._read_frame(shape)
            elif shape.tag == "p:pic":
                self._read_picture(shape)
            elif _placeholder(shape) not in _PAGE_MARGINS:
                self._read_shape(shape)

    def read_notes(self) -> None:
        """Add the speaker's notes."""
        for part in self._package.related(self._name, "notesSlide"):
            for shape in self._package.read(part).iter("p:sp"):
                if _placeholder(shape) == "body":
                    for text in map(drawing_text, shape.iter("a:p")):
                        if text.strip():
                            self.parts.append(Element("note", text.strip(), self._page))

    def read_comments(self, authors: dict[str, str]) -> None:
        """Add the comments of reviewers, of old and of new programs."""
        for part in self._package.related(self._name, "comments"):
            for comment in self._package.read(part).iter():
                if comment.tag == "p:cm":
                    text, time = comment.findtext("p:text") or "", comment.get("dt", "")
                elif comment.tag in ("p188:cm", "p188:reply"):
                    body = comment.find("p188:txBody")
                    text = " ".join(map(drawing_text, [] if body is None else body.iter("a:p")))
                    time = comment.get("created", "")
                else:
                    continue
                if text.strip():
                    author = authors.get(comment.get("authorId", ""), "")
                    self.parts.append(Element("note", format_comment(author, time, text.strip()), self._page))

    def _read_shape(self, shape: XmlNode) -> None:
        kind = _placeholder(shape)
        places = self._places(shape)
        paragraphs = list(shape.iter("a:p"))
        if kind in _TITLES:
            title = " ".join(text for text in map(drawing_text, paragraphs) if text.strip())
            if title.strip():
                self.parts.append(Element("heading", title.strip(), places, 1))
                self._add_links(shape)
            return
        counters: dict[int, int] = {}
        for paragraph in paragraphs:
            text = drawing_text(paragraph).strip()
            if not text:
                continue
            properties = paragraph.find("a:pPr")
            depth = parse_integer(attribute(properties, "lvl"), 0, high=MAX_LIST_DEPTH)
            number = find(properties, "a:buAutoNum")
            bullet = find(properties, "a:buChar") is not None or find(properties, "a:buBlip") is not None
            for deeper in [known for known in counters if known > depth or (known == depth and number is None)]:
                del counters[deeper]
            if number is not None:
                start = parse_integer(number.get("startAt", ""), 1)
                counters[depth] = counters.get(depth, start - 1) + 1
                text = f"{counters[depth]}. {text}"
            is_item = number is not None or bullet or (kind in _LISTS and find(properties, "a:buNone") is None)
            self.parts.append(Element("list_item" if is_item else "paragraph", text, places, depth if is_item else 0))
            self._add_links(paragraph)

    def _add_links(self, node: XmlNode) -> None:
        for link in node.iter("a:hlinkClick"):
            relation = self._package.relations(self._name).get(link.get("r:id", ""))
            if relation is not None and relation.external:
                self.links.append((len(self.parts) - 1, relation.target))

    def _read_picture(self, shape: XmlNode) -> None:
        description = describe_picture(attribute(find(shape, "p:nvPicPr", "p:cNvPr"), "descr"))
        if description:
            self.parts.append(Element("caption", description, self._places(shape)))

    def _read_frame(self, shape: XmlNode) -> None:
        places = self._places(shape)
        for table in shape.iter("a:tbl"):
            self.parts.append(_read_table(table, places))
        for chart in shape.iter("c:chart"):
            root = self._package.read_drawing(self._name, chart.get("r:id", ""))
            if root is not None and (built := read_chart(root, places)) is not None:
                self.parts.append(built)
        for diagram in shape.iter("dgm:relIds"):
            root = self._package.read_drawing(self._name, diagram.get("r:dm", ""))
            if root is not None:
                self.parts += [Element("list_item", text, places) for text in read_diagram(root)]

    # --- places ----------------------------------------------------------------------------------

    def _sort(self, shapes: list[XmlNode]) -> list[XmlNode]:
        titles = [shape for shape in shapes if _placeholder(shape) in _TITLES]
        others = [shape for shape in shapes if _placeholder(shape) not in _TITLES]
        return titles + sort_in_rows(others, [self._places(shape)[0].box for shape in others])

    def _places(self, shape: XmlNode) -> tuple[PageBox, ...]:
        """Return the box of a shape, or of its placeholder in the layout; shapes of a group have the group's box."""
        if (group := shape.get(_GROUP_BOX)) is not None:
            box = _parse_box(group)
        else:
            frame = shape.find("p:xfrm") if shape.tag == "p:graphicFrame" else find(shape, "p:spPr", "a:xfrm")
            box = _read_box(frame)
        if box is None:
            placeholder = next(shape.iter("p:ph"), None)
            index, kind = attribute(placeholder, "idx", "0"), attribute(placeholder, "type")
            box = (
                self._layout_boxes.get(f"#{index}") or self._layout_boxes.get(kind) if placeholder is not None else None
            )
        return self._page if box is None else (PageBox(self._page[0].page, box),)

    def _read_layout_boxes(self) -> Iterator[tuple[str, Box]]:
        """Yield the boxes of the layout's placeholders by their number (`#1`) and their kind."""
        for layout in self._package.related(self._name, "slideLayout"):
            for shape in self._package.read(layout).iter("p:sp"):
                placeholder = next(shape.iter("p:ph"), None)
                if placeholder is not None and (box := _read_box(find(shape, "p:spPr", "a:xfrm"))) is not None:
                    yield f"#{placeholder.get('idx', '0')}", box
                    yield placeholder.get("type", ""), box


def _frame_numbers(frame: XmlNode | None) -> str:
    offset, extent = find(frame, "a:off"), find(frame, "a:ext")
    sides = ((offset, "x"), (offset, "y"), (extent, "cx"), (extent, "cy"))
    return " ".join(attribute(node, name, "?") for node, name in sides)


def _read_box(frame: XmlNode | None) -> Box | None:
    return _parse_box(_frame_numbers(frame))


def _parse_box(text: str) -> Box | None:
    """Return the box of four numbers in English Metric Units: left, top, width, height."""
    numbers = text.split()
    if len(numbers) != 4 or "?" in numbers:
        return None
    units = (parse_integer(number, 0, low=-MAX_INTEGER) for number in numbers)
    left, top, width, height = (round(unit / EMU_PER_POINT, 1) for unit in units)
    return (left, top, left + width, top + height)


def _shapes(tree: XmlNode, group_box: str | None = None) -> Iterator[XmlNode]:
    """Yield shapes, pictures and frames, through groups, alternatives and unknown containers."""
    for node in tree:
        if node.tag in ("p:sp", "p:pic", "p:graphicFrame"):
            if group_box is not None:
                node.set(_GROUP_BOX, group_box)
            yield node
        elif node.tag == "p:grpSp" and group_box is None:
            yield from _shapes(node, _frame_numbers(find(node, "p:grpSpPr", "a:xfrm")))
        elif node.tag != "p:cxnSp":
            yield from _shapes(node, group_box)


def _read_table(node: XmlNode, places: tuple[PageBox, ...]) -> Table:
    grid = Grid()
    for row in node.findall("a:tr"):
        grid.start_row()
        for cell in row.findall("a:tc"):
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            text = "\n".join(line for line in map(drawing_text, cell.iter("a:p")) if line.strip())
            columns, rows = (parse_integer(cell.get(name, ""), 1) for name in ("gridSpan", "rowSpan"))
            grid.add_cell(text, columns, rows)
    return build_table(grid.finish(), places=places)
