"""The parts that DOCX, PPTX and XLSX share: namespaces, relations between parts, charts, diagrams, comments."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Final, NamedTuple
from urllib.parse import unquote
from xml.etree.ElementTree import Element as XmlNode

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import Archive, find, open_archive, parse_integer
from dowse.ingest.extract.documents.document import PageBox, Table
from dowse.ingest.extract.documents.equations import latex_of_equation
from dowse.ingest.extract.documents.tables import build_table

_FAMILIES: Final = {
    "w": "wordprocessingml/main",
    "a": "drawingml/main",
    "p": "presentationml/main",
    "x": "spreadsheetml/main",
    "m": "officeDocument/math",
    "c": "drawingml/chart",
    "dgm": "drawingml/diagram",
    "wp": "drawingml/wordprocessingDrawing",
    "pic": "drawingml/picture",
    "xdr": "drawingml/spreadsheetDrawing",
    "r": "officeDocument/relationships",
}
# Titles that programs write on their own.
_EMPTY_TITLE: Final = re.compile(
    r"(?:(?:word|microsoft word) document|powerpoint presentation|presentation|document|untitled|title|slide 1)\d*$"
    r"|microsoft (?:word|powerpoint|excel) - ",
    re.IGNORECASE,
)
# PowerPoint and Word append this to descriptions that they write themselves.
_GENERATED_DESCRIPTION: Final = "AI-generated content may be incorrect."
_PICTURE_FILE: Final = re.compile(r"\S+\.(?:png|jpe?g|gif|bmp|tiff?|svg|emf|wmf|webp)|https?://\S+", re.IGNORECASE)


def _namespaces(prefix: str, family: str) -> dict[str, str]:
    """Return the namespaces of a family in the transitional and the strict variant of the standard."""
    group, _, rest = family.partition("/")
    urls = (f"http://schemas.openxmlformats.org/{group}/2006/{rest}", f"http://purl.oclc.org/ooxml/{group}/{rest}")
    return dict.fromkeys(urls, prefix)


PREFIXES: Final[Mapping[str, str]] = {
    **{url: prefix for name, family in _FAMILIES.items() for url, prefix in _namespaces(name, family).items()},
    "http://schemas.openxmlformats.org/package/2006/relationships": "rel",
    "http://schemas.openxmlformats.org/package/2006/metadata/core-properties": "cp",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.microsoft.com/office/word/2010/wordml": "w14",
    "http://schemas.microsoft.com/office/word/2010/wordprocessingShape": "wps",
    "http://schemas.microsoft.com/office/drawing/2010/main": "a14",
    "http://schemas.microsoft.com/office/powerpoint/2018/8/main": "p188",
    "http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments": "tc",
}

MAX_CHART_POINTS: Final = 10_000
MIN_ROUNDED_DIGITS: Final = 16


class Relation(NamedTuple):
    """A reference from one part to another part or to an address outside."""

    kind: str
    target: str
    external: bool


class Package:
    """An Office archive with the relations between its parts."""

    def __init__(self, data: bytes) -> None:
        self.archive: Archive = open_archive(data)
        self._relations: dict[str, dict[str, Relation]] = {}
        self._read_drawings: set[str] = set()

    def main_part(self) -> str:
        """Return the name of the part with the content."""
        found = self.related("", "officeDocument")
        if not found:
            raise Unreadable("the archive is no Office document: its extension is wrong or it is damaged")
        return found[0]

    def relations(self, part: str) -> dict[str, Relation]:
        """Return the relations of a part by their id."""
        known = self._relations.get(part)
        if known is None:
            known = self._relations[part] = self._read_relations(part)
        return known

    def related(self, part: str, kind: str) -> list[str]:
        """Return the parts of one kind that a part refers to and that exist."""
        found = (it for it in self.relations(part).values() if it.kind == kind and not it.external)
        return [it.target for it in found if it.target in self.archive]

    def target(self, part: str, relation_id: str) -> str:
        """Return the name of the part behind a relation, or nothing if it does not exist."""
        relation = self.relations(part).get(relation_id)
        known = relation is not None and not relation.external and relation.target in self.archive
        return relation.target if relation is not None and known else ""

    def read_drawing(self, part: str, relation_id: str) -> XmlNode | None:
        """Return the tree of a chart or a diagram that a part refers to, once however often it is named."""
        target = self.target(part, relation_id)
        if not target or target in self._read_drawings:
            return None
        self._read_drawings.add(target)
        return self.read(target)

    def read(self, part: str) -> XmlNode:
        """Return the tree of a part. Of alternatives for old and new programs, the first with text stays."""
        root = self.archive.read_xml(part, PREFIXES)
        for choice in list(root.iter("mc:AlternateContent")):
            choice[:] = [next(filter(_has_text, choice), choice[0])] if len(choice) else []
        return root

    def read_properties(self) -> tuple[str, dict[str, str]]:
        """Return the title, unless a program made it up, and the author as a facet."""
        for part in self.related("", "core-properties"):
            root = self.archive.read_xml(part, PREFIXES)
            title, author = (root.findtext("dc:title") or "").strip(), (root.findtext("dc:creator") or "").strip()
            return "" if _EMPTY_TITLE.match(title) else title, {"author": author} if author else {}
        return "", {}

    def _read_relations(self, part: str) -> dict[str, Relation]:
        folder, name = posixpath.split(part)
        listing = posixpath.join(folder, "_rels", f"{name}.rels")
        if listing not in self.archive:
            return {}
        found = {}
        for node in self.archive.read_xml(listing, PREFIXES):
            kind, target = node.get("Type", "").rpartition("/")[2], node.get("Target", "")
            external = node.get("TargetMode") == "External"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, unquote(target))).lstrip("/")
            found[node.get("Id", "")] = Relation(kind, target, external)
        return found


def _has_text(node: XmlNode) -> bool:
    return any(descendant.text for descendant in node.iter() if descendant.tag.endswith(":t"))


def format_comment(author: str, time: str, text: str) -> str:
    """Return a comment of a reviewer as one line."""
    origin = ", ".join(f"{name}: {value}" for name, value in (("author", author), ("time", time)) if value)
    return f"Comment ({origin}): {text}" if origin else f"Comment: {text}"


# --- drawings --------------------------------------------------------------------------------------


def drawing_text(paragraph: XmlNode) -> str:
    """Return the text of an `a:p` paragraph of a shape."""
    pieces: list[str] = []
    for node in paragraph:
        if node.tag == "a:br":
            pieces.append("\n")
        elif node.tag in ("a:r", "a:fld"):
            pieces.append(node.findtext("a:t") or "")
        else:
            pieces += [f" ${latex_of_equation(equation)}$ " for equation in node.iter("m:oMath")]
    return "".join(pieces).replace("\v", "\n")


def describe_picture(alternative_text: str) -> str:
    """Return the description of a picture; a file name describes nothing."""
    text = " ".join(alternative_text.replace(_GENERATED_DESCRIPTION, "").split())
    return "" if not text or _PICTURE_FILE.fullmatch(text) else f"Picture: {text}"


def read_diagram(root: XmlNode) -> list[str]:
    """Return the texts of a diagram (SmartArt)."""
    texts = (" ".join(map(drawing_text, point.iter("a:p"))).strip() for point in root.iter("dgm:pt"))
    return [text for text in texts if text]


def read_chart(root: XmlNode, places: tuple[PageBox, ...] = ()) -> Table | None:
    """Return the values of a chart as a table with a column for each series."""
    kinds = [node.tag[2:] for node in root.iter() if node.tag.startswith("c:") and node.tag.endswith("Chart")]
    names: list[str] = []
    rows: dict[int, list[str]] = {}
    for series in root.iter("c:ser"):
        names.append(" ".join(value.text or "" for value in _descendants(series.find("c:tx"), "c:v")))
        labels = _points(series, "c:cat", "c:xVal")
        for index, value in _points(series, "c:val", "c:yVal").items():
            row = rows.setdefault(index, [labels.get(index, "")])
            row += [""] * (len(names) - len(row)) + [value]
    title = "".join(text.text or "" for text in _descendants(find(root, "c:chart", "c:title"), "a:t"))
    if not title and len(names) == 1:
        title = names[0]
    if not names and not title:
        return None
    kind = f"{kinds[0].removesuffix('Chart').removesuffix('3D').capitalize()} chart" if kinds else "Chart"
    cells = [["", *names], *([*row, *[""] * (len(names) + 1 - len(row))] for _, row in sorted(rows.items()))]
    return build_table(cells, header_rows=1, title=f"{title} – {kind}" if title else kind, places=places)


def _points(series: XmlNode, *tags: str) -> dict[int, str]:
    holder = next((node for node in map(series.find, tags) if node is not None), None)
    found: dict[int, str] = {}
    for point in _descendants(holder, "c:pt"):
        if len(found) < MAX_CHART_POINTS:
            found[parse_integer(point.get("idx", ""), 0)] = _round_value(point.findtext("c:v") or "")
    return found


def _round_value(value: str) -> str:
    """Return a stored number without the digits that only its binary form has: 4.4000000000000004 is 4.4."""
    if len(value) < MIN_ROUNDED_DIGITS or not value.replace(".", "", 1).lstrip("-").isdecimal():
        return value
    return f"{float(value):.15g}"


def _descendants(node: XmlNode | None, tag: str) -> list[XmlNode]:
    return [] if node is None else list(node.iter(tag))
