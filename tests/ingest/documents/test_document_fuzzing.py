"""Damaged documents: each gives a text or a reason, never another failure.

`DOWSE_FUZZ_ROUNDS=20000 pytest tests/ingest/documents/test_document_fuzzing.py` runs longer.
"""

from __future__ import annotations

import io
import os
import random
import re
import zipfile

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import assemble
from dowse.ingest.extract.documents.readers import read_document
from office_files import (
    NAMESPACES,
    make_docx,
    make_odf,
    make_ole,
    make_pptx,
    make_xlsx,
    make_zip,
    paragraph,
    shape,
    sheet_rows,
    styles,
)

ROUNDS = int(os.environ.get("DOWSE_FUZZ_ROUNDS", "60"))
CELL = "<w:tc><w:tcPr><w:gridSpan w:val='2'/><w:vMerge w:val='restart'/></w:tcPr>" + paragraph("cell") + "</w:tc>"
NUMBERING = (
    f'<w:numbering {NAMESPACES}><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:start w:val="1"/>'
    '<w:numFmt w:val="lowerRoman"/><w:lvlText w:val="%1."/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>'
)
ITEM = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
SPANS = 'table:number-rows-spanned="2" table:number-columns-repeated="3"'
SPANNED = f"<table:table-cell {SPANS}><text:p>x</text:p></table:table-cell>"
OUTPUT = b'{"output_type": "stream", "text": "x"}'
MULTIPART = b"Content-Type: multipart/mixed; boundary=q\n\n--q\nContent-Type: text/html\n\n<p>x\n--q--\n"
FILES = {
    "a.docx": make_docx(
        paragraph("Head", '<w:outlineLvl w:val="0"/>')
        + paragraph("item", ITEM)
        + f"<w:tbl><w:tr>{CELL}</w:tr></w:tbl>" * 2,
        {"numbering": NUMBERING, "styles": styles('<w:style w:styleId="S"><w:name w:val="heading 1"/></w:style>')},
    ),
    "a.pptx": make_pptx(shape("Title", "title", (5, 5)), shape("a\nb", "body", (1, 2), '<a:pPr lvl="1"/>')),
    "a.xlsx": make_xlsx({"S": sheet_rows({1: ["a", "b"], 2: [1, "date:45292"], 3: [2.5, True]}, "A2:A3")}),
    "a.odt": make_odf(f"<text:p>text</text:p><table:table><table:table-row>{SPANNED}</table:table-row></table:table>"),
    "a.html": b"<html><title>t</title><ul><li>a<table><tr><td colspan=2>x<td rowspan=3>y</table></ul><pre>c</pre>",
    "a.csv": b'a,b;c\n"x ""y""",1\n2;3,4\n',
    "a.json": b'{"a": [{"b": 1}, {"b": [2, {"c": null}]}], "d": "\\u00e9"}',
    "a.ipynb": b'{"cells": [{"cell_type": "code", "source": ["a"], "outputs": [' + OUTPUT + b"]}]}",
    "a.rtf": b"{\\rtf1\\ansicpg1252{\\stylesheet{\\s1 heading 1;}}\\s1 A\\par\\u8364? \\'e9\\trowd a\\cell b\\row}",
    "a.eml": b"Subject: =?utf-8?q?x?=\n" + MULTIPART,
    "a.msg": make_ole({"__substg1.0_0037001F": "Hello".encode("utf-16-le"), "__properties_version1.0": b"x" * 600}),
}
NUMBERS = (b"-1", b"0", b"", b"abc", b"4294967296", b"99999999999999999999", b"1e999")


def mutate(data: bytes, random_source: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random_source.choice((1, 1, 2, 5, 20))):
        if not changed:
            break
        at = random_source.randrange(len(changed))
        match random_source.randrange(5):
            case 0:
                changed[at] = random_source.randrange(256)
            case 1:
                del changed[at : at + random_source.choice((1, 3, 50))]
            case 2:
                changed[at:at] = random_source.choice((b"<", b'"', b"{", b"\xff\xff", b"&", b"\0", b"\\"))
            case 3:
                start = random_source.randrange(len(changed))
                changed[at:at] = changed[start : start + random_source.choice((5, 50, 500))]
            case _:
                if numbers := list(re.finditer(rb"\d+", bytes(changed))):
                    start, end = random_source.choice(numbers).span()
                    changed[start:end] = random_source.choice(NUMBERS)
    return bytes(changed)


def mutate_part(data: bytes, random_source: random.Random) -> bytes:
    """Mutate one entry of an archive, so that the archive itself stays whole."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = random_source.choice(sorted(entries))
    return make_zip({**entries, name: mutate(entries[name], random_source)})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_gives_a_text_or_a_reason(name: str):
    random_source = random.Random(name)
    for _ in range(ROUNDS):
        data = FILES[name]
        is_archive = data.startswith(b"PK") and random_source.random() < 0.8
        broken = (mutate_part if is_archive else mutate)(data, random_source)
        try:
            assemble(name, read_document(name, broken))
        except Unreadable as error:
            assert error.lasting


@pytest.mark.parametrize("name", FILES)
def test_the_whole_file_is_read(name: str):
    assert assemble(name, read_document(name, FILES[name])).text
