"""The reader of a document: by its suffix, and by its content if that says otherwise."""

from __future__ import annotations

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import DOCUMENT_SUFFIXES
from dowse.ingest.extract.documents.document import assemble
from dowse.ingest.extract.documents.readers import detect_format, read_document
from office_files import make_docx, make_odf, make_ole, make_pptx, make_xlsx, make_zip, paragraph, shape, sheet_rows

DOCX = make_docx(paragraph("words"))
PPTX = make_pptx(shape("words"))
XLSX = make_xlsx({"S": sheet_rows({1: ["words"]})})
ODT = make_odf("<text:p>words</text:p>")
RTF = b"{\\rtf1 words}"
HTML = b"<!DOCTYPE html><p>words"
MAIL = b"Subject: x\n\nwords"


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("a.docx", DOCX),
        ("a.DOCX", DOCX),
        ("a.pptx", PPTX),
        ("a.xlsm", XLSX),
        ("a.odt", ODT),
        ("a.rtf", RTF),
        ("a.html", HTML),
        ("a.csv", b"words,b\n1,2"),
        ("a.json", b'{"a": "words"}'),
        ("a.jsonl", b'{"a": "words"}\n'),
        ("a.eml", MAIL),
        ("a.mbox", b"From x Mon May  1 10:00:00 2024\n" + MAIL),
        ("a.ipynb", b'{"cells": [{"cell_type": "markdown", "source": "words"}]}'),
    ],
)
def test_every_suffix_has_its_reader(path: str, data: bytes):
    document = read_document(path, data)
    assert document.notes == ()
    assert "words" in assemble(path, document).text


@pytest.mark.parametrize(
    ("path", "data", "name"),
    [
        ("a.xls", HTML, "HTML"),
        ("a.doc", RTF, "RTF"),
        ("a.doc", DOCX, "Word"),
        ("a.docx", XLSX, "Excel"),
        ("a.xlsx", PPTX, "PowerPoint"),
        ("a.csv", XLSX, "Excel"),
        ("a.docx", ODT, "OpenDocument"),
    ],
)
def test_content_counts_more_than_a_wrong_suffix(path: str, data: bytes, name: str):
    document = read_document(path, data)
    assert f"the content is {name}" in document.notes[-1]
    assert "words" in assemble(path, document).text


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("a.doc", make_ole({"WordDocument": b"x"}), r"save the file as \.docx"),
        ("a.docx", make_ole({"WordDocument": b"x"}), r"save the file as \.docx"),
        ("a.ppt", make_ole({"PowerPoint Document": b"x"}), r"save the file as \.pptx"),
        ("a.xlsx", make_ole({"EncryptedPackage": b"x"}), "password"),
        ("a.docx", b"", "empty"),
        ("a.docx", b"just text", "wrong extension"),
        ("a.docx", make_zip({"a.txt": "x"}), "no Office document"),
        ("a.unknown", b"x", "no reader"),
        ("a.doc", b"just text", r"save the file as \.docx"),
    ],
)
def test_what_cannot_be_read_is_refused_for_good_with_a_reason(path: str, data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason) as caught:
        read_document(path, data)
    assert caught.value.lasting


def test_formats_are_known_by_their_first_bytes():
    assert detect_format(b"%PDF-1.7") == "pdf"
    assert detect_format(b"\xef\xbb\xbf  <HTML>") == "html"
    assert detect_format(b"a,b") is None
    assert {".docx", ".doc", ".pdf", ".msg"} <= DOCUMENT_SUFFIXES
