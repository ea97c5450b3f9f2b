r"""Read RTF: paragraphs with outline levels, tables, characters of all code pages.

RTF is plain text with control words (`\par`, `\u8364?`, `\'e4`) and groups in braces.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import describe_wrong_container
from dowse.ingest.extract.documents.document import MAX_HEADING_LEVEL, Document, Element, Role, Table
from dowse.ingest.extract.documents.tables import build_table
from dowse.model import PageReport

ENGINE: Final = "rtf"
MAX_DEPTH: Final = 500

_TOKEN: Final = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})?[ ]?"  # a control word with its number
    rb"|\\'([0-9a-fA-F]{2})"  # a byte of the code page
    rb"|\\([^a-zA-Z])"  # a control symbol
    rb"|([{}])"
    rb"|[\r\n]+"
    rb"|([^\\{}\r\n]+)"
)
_HIDDEN_NAMES: Final = (
    "author bkmkend bkmkstart blipuid category colorschememapping colortbl comment company datafield datastore"
    " doccomm docvar factoidname filetbl fldinst fontemb fonttbl footer footerf footerl footerr generator header"
    " headerf headerl headerr hlinkbase keywords latentstyles listoverridetable listtable manager mmathPr"
    " nonshppict objdata operator panose passwordhash pgptbl pict private revtbl rsidtbl sp stylesheet subject"
    " themedata title wgrffmtfilter xmlnstbl"
)
_HIDDEN: Final = frozenset(_HIDDEN_NAMES.split())
# Groups marked as ignorable whose text is part of the document.
_READ_IF_KNOWN: Final = frozenset(("shppict", "shpinst", "listtext"))
_CHARACTERS: Final = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "emspace": " ", "enspace": " ", "qmspace": " ",
    "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
}  # fmt: skip
_STYLE: Final = re.compile(rb"\{(?:\\\*)?\\s(\d{1,9})\b[^{}]*?heading (\d)\s*;\}", re.IGNORECASE)
_TITLE: Final = re.compile(rb"\{\\title ([^{}\\]+)\}")


@dataclass(slots=True)
class _RtfGroup:
    """What holds inside the current braces."""

    is_hidden: bool = False
    skipped_chars: int = 1
    """How many characters after a Unicode character repeat it for old programs."""


def read_rtf(data: bytes) -> Document:
    """Return the content of an RTF document."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise Unreadable(
            describe_wrong_container(data) if data[:4] in (b"PK\x03\x04", b"%PDF") else "the file is not RTF"
        )
    reader = _RtfReader({int(number): int(level) for number, level in _STYLE.findall(data)})
    reader.read(data)
    title = _TITLE.search(data)
    notes = ("the document is cut: a group is not closed",) if reader.is_cut else ()
    return Document(
        tuple(reader.parts),
        ENGINE,
        title[1].decode("latin-1").strip() if title else "",
        (PageReport(1, ENGINE),),
        notes=notes,
    )


class _RtfReader:
    """Interprets the control words that matter for the text."""

    def __init__(self, heading_styles: dict[int, int]) -> None:
        self.parts: list[Element | Table] = []
        self.is_cut = False
        self._heading_styles = heading_styles
        self._encoding = "cp1252"
        self._groups = [_RtfGroup()]
        self._text: list[str] = []
        self._bytes = bytearray()
        self._skip = 0
        self._level = 0
        self._is_item = False
        self._cells: list[str] = []
        self._rows: list[list[str]] = []

    def read(self, data: bytes) -> None:
        is_ignorable = False
        for token in _TOKEN.finditer(data):
            word, number, code, symbol, brace, text = token.groups()
            if brace:
                self._flush_bytes()
                self._change_group(brace)
            elif word:
                self._flush_bytes()
                name = word.decode("ascii")
                if is_ignorable and name not in _READ_IF_KNOWN:
                    self._groups[-1].is_hidden = True
                self._apply(name, int(number) if number else None)
            elif self._groups[-1].is_hidden:
                continue
            elif code:
                self._add_bytes(bytes.fromhex(code.decode("ascii")))
            elif symbol:
                self._flush_bytes()
                self._add_text(
                    {b"~": " ", b"_": "-", b"\n": "\n", b"-": ""}.get(symbol, symbol.decode("latin-1").strip("*"))
                )
            elif text:
                self._add_bytes(text)
            is_ignorable = symbol == b"*"
        self._end_paragraph()
        self._end_table()
        self.is_cut = len(self._groups) > 1

    def _change_group(self, brace: bytes) -> None:
        if brace == b"{":
            if len(self._groups) > MAX_DEPTH:
                raise Unreadable(f"the document nests groups deeper than {MAX_DEPTH} levels")
            self._groups.append(_RtfGroup(self._groups[-1].is_hidden, self._groups[-1].skipped_chars))
        elif len(self._groups) > 1:
            self._groups.pop()

    def _apply(self, name: str, number: int | None) -> None:
        group = self._groups[-1]
        if name in _HIDDEN:
            group.is_hidden = True
        elif name == "ansicpg" and number:
            self._choose_encoding(number)
        elif group.is_hidden:
            return
        elif name in _CHARACTERS:
            self._add_text(_CHARACTERS[name])
        elif name == "u" and number is not None:
            self._add_text(chr(number % 0x10000))
            self._skip = group.skipped_chars
        elif name == "uc":
            group.skipped_chars = max(number or 0, 0)
        elif name in ("par", "sect", "page"):
            self._end_paragraph()
        elif name == "pard":
            self._level, self._is_item = 0, False
        elif name == "outlinelevel" and number is not None and 0 <= number < 9:
            self._level = number + 1
        elif name == "s" and number in self._heading_styles:
            self._level = self._heading_styles[number]
        elif name in ("listtext", "ls", "pntext"):
            self._is_item = True
            group.is_hidden = group.is_hidden or name == "pntext"
        elif name in ("cell", "nestcell"):
            self._cells.append(self._take_text())
        elif name in ("row", "nestrow"):
            self._rows.append(self._cells)
            self._cells = []
        elif name == "intbl":
            self._level = 0

    def _choose_encoding(self, page: int) -> None:
        name = {65001: "utf-8", 10000: "mac_roman"}.get(page, f"cp{page}")
        try:
            codecs.lookup(name)
        except LookupError:
            return
        self._encoding = name

    def _add_bytes(self, data: bytes) -> None:
        if self._skip:
            dropped = min(self._skip, len(data))
            self._skip -= dropped
            data = data[dropped:]
        self._bytes += data

    def _flush_bytes(self) -> None:
        if self._bytes:
            self._text.append(self._bytes.decode(self._encoding, "replace"))
            self._bytes.clear()

    def _add_text(self, text: str) -> None:
        if not self._groups[-1].is_hidden:
            self._flush_bytes()
            self._text.append(text)

    def _take_text(self) -> str:
        self._flush_bytes()
        text = "".join(self._text).encode("utf-16", "surrogatepass").decode("utf-16", "replace").strip()
        self._text = []
        return text

    def _end_paragraph(self) -> None:
        if self._cells:  # a paragraph inside a cell
            self._text.append("\n")
            return
        text = self._take_text()
        if not text:
            return
        self._end_table()
        role: Role = "heading" if self._level else "list_item" if self._is_item else "paragraph"
        level = min(self._level, MAX_HEADING_LEVEL)
        self.parts.append(Element(role, text, (), level))

    def _end_table(self) -> None:
        rows = [row for row in self._rows if any(row)]
        if rows:
            width = max(map(len, rows))
            self.parts.append(build_table([row + [""] * (width - len(row)) for row in rows]))
        self._rows = []
