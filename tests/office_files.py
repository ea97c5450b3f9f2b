"""Tiny Office, OpenDocument and EPUB files for tests, made of the XML that matters."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

PACKAGE = "http://schemas.openxmlformats.org/package/2006"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMESPACES = " ".join(
    f'xmlns:{prefix}="{url}"'
    for prefix, url in {
        "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "a": "http://schemas.openxmlformats.org/drawingml/2006/main",
        "p": "http://schemas.openxmlformats.org/presentationml/2006/main",
        "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
        "c": "http://schemas.openxmlformats.org/drawingml/2006/chart",
        "dgm": "http://schemas.openxmlformats.org/drawingml/2006/diagram",
        "r": RELATIONS,
        "wp": "http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing",
        "wps": "http://schemas.microsoft.com/office/word/2010/wordprocessingShape",
        "w14": "http://schemas.microsoft.com/office/word/2010/wordml",
        "mc": "http://schemas.openxmlformats.org/markup-compatibility/2006",
        "v": "urn:schemas-microsoft-com:vml",
    }.items()
)
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{family}:1.0"'
    for prefix, family in {
        "office": "office",
        "text": "text",
        "table": "table",
        "draw": "drawing",
        "presentation": "presentation",
        "style": "style",
        "svg": "svg-compatible",
    }.items()
)


def make_zip(entries: Mapping[str, str | bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name)  # with a fixed date: test ids contain these bytes
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def change_entries(data: bytes, changes: Mapping[str, str | bytes]) -> bytes:
    """The same archive with some entries replaced or added."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    return make_zip({**entries, **changes})


def relationships(targets: Sequence[tuple[str, str]]) -> str:
    """Relations r1, r2 … of (kind, target); an address with a scheme is external."""
    nodes = (
        f'<Relationship Id="r{number}" Type="{RELATIONS}/{kind}" Target="{target}"{outside}/>'
        for number, (kind, target) in enumerate(targets, start=1)
        for outside in (' TargetMode="External"' if "://" in target else "",)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{"".join(nodes)}</Relationships>'


def make_docx(body: str, related: Mapping[str, str] | None = None, links: Sequence[str] = ()) -> bytes:
    """A document with a body; `related` has other parts by their kind, `links` are r1, r2 … behind those."""
    parts = related or {}
    targets = [(kind, f"{kind}.xml") for kind in parts] + [("hyperlink", address) for address in links]
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships([("officeDocument", "word/document.xml")]),
            "word/_rels/document.xml.rels": relationships(targets),
            "word/document.xml": f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>",
            **{f"word/{kind}.xml": content for kind, content in parts.items()},
        }
    )


def paragraph(text: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>"


def styles(*definitions: str) -> str:
    return f"<w:styles {NAMESPACES}>{''.join(definitions)}</w:styles>"


def make_pptx(*slides: str, related: Mapping[int, Mapping[str, str]] | None = None) -> bytes:
    """A presentation; `related` has the other parts of a slide (from 1) by their kind."""
    entries = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relationships([("officeDocument", "ppt/presentation.xml")]),
        "ppt/_rels/presentation.xml.rels": relationships(
            [("slide", f"slides/slide{number}.xml") for number in range(1, len(slides) + 1)]
        ),
        "ppt/presentation.xml": f"<p:presentation {NAMESPACES}><p:sldIdLst>"
        + "".join(f'<p:sldId id="{number}" r:id="r{number}"/>' for number in range(1, len(slides) + 1))
        + '</p:sldIdLst><p:sldSz cx="12700000" cy="6350000"/></p:presentation>',
    }
    for number, shapes in enumerate(slides, start=1):
        tree = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
        entries[f"ppt/slides/slide{number}.xml"] = f"<p:sld {NAMESPACES}>{tree}</p:sld>"
        parts = (related or {}).get(number, {})
        entries[f"ppt/slides/_rels/slide{number}.xml.rels"] = relationships(
            [(kind, f"{kind}{number}.xml") for kind in parts]
        )
        entries.update({f"ppt/slides/{kind}{number}.xml": content for kind, content in parts.items()})
    return make_zip(entries)


def shape(text: str, kind: str | None = None, place: tuple[int, int] | None = None, properties: str = "") -> str:
    """A shape; `kind` is that of a placeholder, `place` left and top in points."""
    placeholder = "" if kind is None else f'<p:ph type="{kind}"/>'
    box = ""
    if place is not None:
        left, top = place
        box = f'<a:xfrm><a:off x="{left * 12700}" y="{top * 12700}"/><a:ext cx="127000" cy="127000"/></a:xfrm>'
    lines = "".join(f"<a:p>{properties}<a:r><a:t>{line}</a:t></a:r></a:p>" for line in text.split("\n"))
    return (
        f"<p:sp><p:nvSpPr><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:spPr>{box}</p:spPr>"
        f"<p:txBody>{lines}</p:txBody></p:sp>"
    )


def make_xlsx(sheets: Mapping[str, str], extra: Mapping[str, str] | None = None) -> bytes:
    """A workbook of sheets with the XML of their rows (`<row …>`), and other parts by name."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{name}" sheetId="{i}" r:id="r{i}"/>' for i, name in enumerate(names, start=1))
    return make_zip(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relationships([("officeDocument", "xl/workbook.xml")]),
            "xl/_rels/workbook.xml.rels": relationships(
                [("worksheet", f"worksheets/sheet{i}.xml") for i in range(1, len(names) + 1)]
                + [("styles", "styles.xml")]
            ),
            "xl/workbook.xml": f'<workbook xmlns="{SHEET}" xmlns:r="{RELATIONS}"><sheets>{listed}</sheets></workbook>',
            "xl/styles.xml": f'<styleSheet xmlns="{SHEET}"><cellXfs count="2"><xf numFmtId="0"/>'
            '<xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>',
            **{
                f"xl/worksheets/sheet{i}.xml": f'<worksheet xmlns="{SHEET}">{rows}</worksheet>'
                for i, rows in enumerate(sheets.values(), start=1)
            },
            **(extra or {}),
        }
    )


def sheet_rows(rows: Mapping[int, Sequence[object]], merged: str = "") -> str:
    """The rows of a sheet by their number; None is no cell, `date:N` a day by its number."""
    lines = []
    for number, values in rows.items():
        cells = []
        for index, value in enumerate(values):
            name = f"{chr(ord('A') + index)}{number}"
            if isinstance(value, str) and value.startswith("date:"):
                cells.append(f'<c r="{name}" s="1"><v>{value[5:]}</v></c>')
            elif isinstance(value, bool):
                cells.append(f'<c r="{name}" t="b"><v>{int(value)}</v></c>')
            elif isinstance(value, str):
                cells.append(f'<c r="{name}" t="inlineStr"><is><t>{value}</t></is></c>')
            elif value is not None:
                cells.append(f'<c r="{name}"><v>{value}</v></c>')
        lines.append(f'<row r="{number}">{"".join(cells)}</row>')
    merges = f'<mergeCells count="1"><mergeCell ref="{merged}"/></mergeCells>' if merged else ""
    return f"<sheetData>{''.join(lines)}</sheetData>{merges}"


def make_odf(content: str, kind: str = "text", styles_xml: str = "") -> bytes:
    """A text (`text`) or a presentation (`presentation`)."""
    entries = {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}",
        "content.xml": f"<office:document-content {ODF}><office:automatic-styles>{styles_xml}</office:automatic-styles>"
        f"<office:body><office:{kind}>{content}</office:{kind}></office:body></office:document-content>",
    }
    return make_zip(entries)


def make_ole(streams: Mapping[str, bytes]) -> bytes:
    """An OLE container whose streams are all in ordinary sectors (the limit for small ones is 0)."""
    sector = 512
    chains: list[int] = []
    content = b""
    starts: list[int] = []
    for data in streams.values():
        count = max(1, -(-len(data) // sector))
        first = len(chains)
        starts.append(first)
        chains += [*range(first + 1, first + count), 0xFFFFFFFE]
        content += data.ljust(count * sector, b"\0")
    entries = [_ole_entry("Root Entry", 5, 0xFFFFFFFF, 0xFFFFFFFF, 1, 0xFFFFFFFE, 0)]
    names = list(streams)
    for index, name in enumerate(names):
        right = index + 2 if index + 1 < len(names) else 0xFFFFFFFF
        entries.append(_ole_entry(name, 2, 0xFFFFFFFF, right, 0xFFFFFFFF, starts[index], len(streams[name])))
    directory = b"".join(entries)
    directory += b"\0" * (-len(directory) % sector)
    directory_start = len(chains)
    count = len(directory) // sector
    chains += [*range(directory_start + 1, directory_start + count), 0xFFFFFFFE]
    table_sector = len(chains)
    chains.append(0xFFFFFFFD)
    table = struct.pack(f"<{len(chains)}I", *chains).ljust(sector, b"\xff")
    assert len(table) == sector, "one sector of table is enough for tests"
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 16 + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + b"\0" * 6
    header += struct.pack("<IIIIIIIII", 0, 1, directory_start, 0, 0, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
    header += struct.pack("<109I", table_sector, *[0xFFFFFFFF] * 108)
    return header + content + directory + table


def _ole_entry(name: str, kind: int, left: int, right: int, child: int, start: int, size: int) -> bytes:
    encoded = name.encode("utf-16-le") + b"\0\0"
    entry = encoded.ljust(64, b"\0") + struct.pack("<HBB", len(encoded), kind, 1)
    entry += struct.pack("<III", left, right, child) + b"\0" * 36 + struct.pack("<II", start, size)
    return entry.ljust(128, b"\0")
