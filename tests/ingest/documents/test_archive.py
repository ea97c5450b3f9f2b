"""Archives and XML that nobody should trust: bombs, entities, odd names, truncation."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import archive
from dowse.ingest.extract.documents.archive import MAX_XML_DEPTH, find, open_archive, parse_xml
from dowse.ingest.extract.documents.docx import read_docx
from dowse.ingest.extract.documents.sheets import read_sheets
from office_files import change_entries, make_docx, make_xlsx, make_zip, paragraph, sheet_rows

BILLION_LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><x>&c;</x>'
)


def test_entries_are_read_whatever_the_case_of_their_name():
    opened = open_archive(make_zip({"Word/Document.xml": "text"}))
    assert opened.read("word/document.xml") == b"text"
    assert "WORD/document.XML" in opened


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"plain text", "wrong extension"),
        (b"%PDF-1.4", "PDF"),
        (b"{\\rtf1", "RTF"),
        (b"<html>", "HTML"),
        (make_zip({"a": "b" * 1000})[:-30], "truncated or damaged"),
        (make_zip({"../../etc/passwd": "x"}), "unsafe name"),
        (make_zip({"/etc/passwd": "x"}), "unsafe name"),
        (make_zip({"a\\..\\..\\b": "x"}), "unsafe name"),
        (make_zip({"bomb.xml": b"\0" * (9 << 20)}), "200 times its size"),
    ],
)
def test_archives_are_refused_with_a_reason(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason) as caught:
        open_archive(data)
    assert caught.value.lasting


@pytest.mark.parametrize(
    ("limit", "value", "reason"),
    [
        ("MAX_ENTRIES", 2, "3 entries"),
        ("MAX_TOTAL_BYTES", 1000, "decompresses to"),
        ("MAX_ENTRY_BYTES", 1000, "decompresses to"),
    ],
)
def test_limits_are_checked_before_anything_is_decompressed(
    limit: str, value: int, reason: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(archive, limit, value)
    monkeypatch.setattr(zipfile.ZipFile, "read", lambda *_: pytest.fail("decompressed"))
    with pytest.raises(Unreadable, match=reason):
        open_archive(make_zip({"a": "x", "b": "y" * 2000, "c": "z"}))


def test_encrypted_entries_are_refused():
    data = bytearray(make_zip({"a": "x"}))
    at = data.find(b"PK\x01\x02")
    data[at + 8] |= 1
    with pytest.raises(Unreadable, match="password"):
        open_archive(bytes(data))


def lie_about_size(data: bytes, name: str, size: int) -> bytes:
    """Write another uncompressed size into the directory and the header of an entry."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        entry = opened.getinfo(name)
    changed = bytearray(data)
    struct.pack_into("<I", changed, entry.header_offset + 22, size)
    at = data.find(b"PK\x01\x02")
    while data[at + 46 : at + 46 + len(name)] != name.encode():
        at = data.find(b"PK\x01\x02", at + 1)
    struct.pack_into("<I", changed, at + 24, size)
    return bytes(changed)


def test_a_false_size_is_found_out():
    rows = sheet_rows({number: ["text"] * 20 for number in range(1, 200)})
    data = lie_about_size(make_xlsx({"S": rows}), "xl/worksheets/sheet1.xml", 100)
    with pytest.raises(Unreadable, match="damaged"):
        read_sheets(data)


def test_overlapping_entries_are_refused():
    data = bytearray(make_zip({"a": b"x" * 50, "b": b"y" * 50}))
    at = data.find(b"PK\x01\x02")
    while at >= 0:
        struct.pack_into("<I", data, at + 20, len(data))
        at = data.find(b"PK\x01\x02", at + 1)
    with pytest.raises(Unreadable, match="overlap"):
        open_archive(bytes(data))


def test_damaged_content_is_refused():
    data = bytearray(make_zip({"a": "some text that is compressed"}))
    data[35] ^= 0xFF
    with pytest.raises(Unreadable, match="damaged"):
        open_archive(bytes(data)).read("a")


@pytest.mark.parametrize(
    ("xml", "reason"),
    [
        (BILLION_LAUGHS, "document type"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>', "document type"),
        ('<!DOCTYPE x SYSTEM "http://localhost/evil.dtd"><x/>', "document type"),
        (BILLION_LAUGHS.encode("utf-16"), "document type"),
        ("<x>&undefined;</x>", "not well-formed"),
        ("<x>" * (MAX_XML_DEPTH + 1), "nests elements deeper"),
        ("<x><y></x>", "not well-formed"),
        ("", "not well-formed"),
        ("\0\0\0", "not well-formed"),
        ('<?xml version="1.0" encoding="no-such"?><x/>', "not well-formed"),
    ],
)
def test_xml_is_refused_with_a_reason(xml: str | bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        parse_xml(xml if isinstance(xml, bytes) else xml.encode(), {})


def test_many_elements_and_attributes_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "MAX_XML_NODES", 10)
    for xml in (b"<x>" + b"<y/>" * 20 + b"</x>", b'<x a="" b="" c=""><y d="" e="" f="" g="" h="" i="" j=""/></x>'):
        with pytest.raises(Unreadable, match="elements and attributes"):
            parse_xml(xml, {})


def test_large_xml_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(archive, "MAX_XML_BYTES", 10)
    with pytest.raises(Unreadable, match="MiB of XML"):
        parse_xml(b"<x>too long</x>", {})


def test_names_have_the_prefixes_of_the_table_not_of_the_file():
    root = parse_xml(
        b'<q:a xmlns:q="urn:one" xmlns:z="urn:two" q:k="1" z:k="2" k="3"><z:b/><c/></q:a>', {"urn:one": "w"}
    )
    assert root.tag == "w:a"
    assert root.attrib == {"w:k": "1", "_:k": "2", "k": "3"}
    assert [child.tag for child in root] == ["_:b", "c"]
    assert find(root, "_:b", "nothing") is None


@pytest.mark.parametrize("part", ["word/document.xml", "_rels/.rels", "word/_rels/document.xml.rels"])
def test_entities_in_any_part_of_a_document_are_refused(part: str):
    with pytest.raises(Unreadable, match="document type"):
        read_docx(change_entries(make_docx(paragraph("x")), {part: BILLION_LAUGHS}))


def test_relations_to_places_outside_are_never_followed():
    template = '<Relationship Id="r1" Type="http://x/{kind}" Target="{target}" TargetMode="External"/>'
    relation = template.format(kind="styles", target="file:///etc/passwd")
    relations = f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{relation}</Relationships>'
    data = change_entries(make_docx(paragraph("x")), {"word/_rels/document.xml.rels": relations})
    assert len(read_docx(data).parts) == 1
    climbing = relations.replace(' TargetMode="External"', "").replace("file:///etc/passwd", "../../../../etc/passwd")
    data = change_entries(make_docx(paragraph("x")), {"word/_rels/document.xml.rels": climbing})
    assert len(read_docx(data).parts) == 1


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.99])
def test_truncated_documents_are_refused(keep: float):
    data = make_docx(paragraph("some text") * 50)
    with pytest.raises(Unreadable):
        read_docx(data[: int(len(data) * keep)])


def test_many_cells_in_one_row_stay_bounded():
    cells = '<w:tc><w:tcPr><w:gridSpan w:val="999999999"/></w:tcPr><w:p/></w:tc>' * 50
    table = f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl>"
    document = read_docx(make_docx(paragraph("x") + table))
    assert len(document.parts) == 1
