"""Read Outlook messages (MSG): an OLE container whose streams are the properties of a message."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import OLE_MAGIC
from dowse.ingest.extract.documents.decoding import decode_text
from dowse.ingest.extract.documents.document import Document, Element, Table
from dowse.ingest.extract.documents.html import read_html
from dowse.model import PageReport

ENGINE: Final = "outlook"

_FREE_SECTORS: Final = 0xFFFFFFFA  # this number and above mark the end of a chain or a free sector
_ENTRY_BYTES: Final = 128
_MINI_SECTOR_BYTES: Final = 64
_STREAM: Final = 2
_MAX_ENTRIES: Final = 50_000

_SUBJECT, _SENDER_NAME, _SENDER_ADDRESS, _SHOWN_TO, _SHOWN_CC = "0037", "0C1A", "0C1F", "0E04", "0E03"
_BODY, _HTML_BODY, _FILE_NAME, _LONG_FILE_NAME, _TRANSPORT_HEADERS = "1000", "1013", "3704", "3707", "007D"


class _Entry(NamedTuple):
    """An entry of the container's directory: a stream or a storage, with the entries beside and below it."""

    name: str
    kind: int
    left: int
    right: int
    child: int
    start: int
    size: int


def read_outlook(data: bytes) -> Document:
    """Return one message."""
    container = OleContainer(data)
    top = dict(container.children(0))
    subject = container.read_text(top, _SUBJECT) or "(no subject)"
    parts: list[Element | Table] = [Element("heading", subject, (), 1)]
    sender = " ".join(filter(None, (container.read_text(top, _SENDER_NAME), container.read_text(top, _SENDER_ADDRESS))))
    shown = {"From": sender, "To": container.read_text(top, _SHOWN_TO), "Cc": container.read_text(top, _SHOWN_CC)}
    shown["Date"] = _header_date(container.read_text(top, _TRANSPORT_HEADERS))
    parts += [Element("paragraph", f"{name}: {value}") for name, value in shown.items() if value]
    links: tuple[tuple[int, str], ...] = ()
    if body := container.read_text(top, _BODY):
        paragraphs = body.replace("\r\n", "\n").split("\n\n")
        parts += [Element("paragraph", text.strip()) for text in paragraphs if text.strip()]
    elif page := container.read_bytes(top, _HTML_BODY):
        read = read_html(page)
        links = tuple((len(parts) + index, address) for index, address in read.links)
        parts += read.parts
    for name, entry in sorted(top.items()):
        if name.startswith("__attach"):
            streams = dict(container.children(entry))
            file_name = container.read_text(streams, _LONG_FILE_NAME) or container.read_text(streams, _FILE_NAME)
            parts.append(Element("list_item", f"Attachment: {file_name or 'without a name'}"))
    facets = {"author": sender} if sender else {}
    return Document(tuple(parts), ENGINE, subject, (PageReport(1, ENGINE),), links, facets)


def _header_date(headers: str) -> str:
    lines = (line for line in headers.splitlines() if line.lower().startswith("date:"))
    return next(lines, "")[5:].strip()


class OleContainer:
    """The streams of an OLE compound file; every chain of sectors is bounded by the size of the file."""

    def __init__(self, data: bytes) -> None:
        if not data.startswith(OLE_MAGIC) or len(data) < 512:
            raise Unreadable("the file is truncated or has the wrong extension: it is no OLE container")
        self._data = data
        sector_shift, self._mini_cutoff = struct.unpack_from("<H", data, 30)[0], struct.unpack_from("<I", data, 56)[0]
        if sector_shift not in (9, 12):
            raise Unreadable("the container is damaged: its sectors have an impossible size")
        self._sector_bytes = 1 << sector_shift
        self._table = self._read_sector_table()
        directory = self._read_chain(struct.unpack_from("<I", data, 48)[0])
        self._entries = [_read_entry(directory, offset) for offset in range(0, len(directory) - 127, _ENTRY_BYTES)]
        if not self._entries or len(self._entries) > _MAX_ENTRIES:
            raise Unreadable("the container is damaged: it has no directory")
        self._mini_table = _words(self._read_chain(struct.unpack_from("<I", data, 60)[0]))
        self._mini_data = self._read_chain(self._entries[0].start)

    def children(self, index: int) -> Iterator[tuple[str, int]]:
        """Yield name and number of each entry in a storage."""
        waiting, seen = [self._entries[index].child], set()
        while waiting:
            number = waiting.pop()
            if number in seen or number >= len(self._entries):
                continue
            seen.add(number)
            entry = self._entries[number]
            waiting += [entry.left, entry.right]
            yield entry.name, number

    def read_text(self, streams: dict[str, int], property_id: str) -> str:
        """Return a text property, in Unicode or in the code page of the writer."""
        unicode = streams.get(f"__substg1.0_{property_id}001F")
        if unicode is not None:
            return self.read_stream(unicode).decode("utf-16-le", "replace").strip("\0 \r\n")
        narrow = streams.get(f"__substg1.0_{property_id}001E")
        return decode_text(self.read_stream(narrow).replace(b"\0", b"")).strip() if narrow is not None else ""

    def read_bytes(self, streams: dict[str, int], property_id: str) -> bytes:
        number = streams.get(f"__substg1.0_{property_id}0102")
        return self.read_stream(number) if number is not None else b""

    def read_stream(self, number: int) -> bytes:
        entry = self._entries[number]
        if entry.kind != _STREAM:
            return b""
        if entry.size >= self._mini_cutoff:
            return self._read_chain(entry.start)[: entry.size]
        pieces = []
        for sector in _follow(self._mini_table, entry.start):
            start = sector * _MINI_SECTOR_BYTES
            pieces.append(self._mini_data[start : start + _MINI_SECTOR_BYTES])
        return b"".join(pieces)[: entry.size]

    def _read_sector_table(self) -> list[int]:
        numbers = list(struct.unpack_from("<109I", self._data, 76))
        following, seen = struct.unpack_from("<I", self._data, 68)[0], set()
        while following < _FREE_SECTORS and following not in seen:
            seen.add(following)
            more = _words(self._sector(following))
            numbers += more[:-1]
            following = more[-1] if more else _FREE_SECTORS
        sectors = len(self._data) // self._sector_bytes
        table: list[int] = []
        for number in numbers:
            if number < _FREE_SECTORS and len(table) < sectors:  # a table that covers more than the file is damaged
                table += _words(self._sector(number))
        return table

    def _sector(self, number: int) -> bytes:
        start = (number + 1) * self._sector_bytes
        return self._data[start : start + self._sector_bytes]

    def _read_chain(self, start: int) -> bytes:
        return b"".join(map(self._sector, _follow(self._table, start)))


def _follow(table: list[int], sector: int) -> Iterator[int]:
    """Yield the sectors of a chain, each at most once."""
    for _ in range(len(table)):
        if sector >= len(table):
            return
        yield sector
        sector = table[sector]


def _words(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4]))


def _read_entry(directory: bytes, offset: int) -> _Entry:
    name_bytes, kind = struct.unpack_from("<HB", directory, offset + 64)
    left, right, child = struct.unpack_from("<3I", directory, offset + 68)
    start, size = struct.unpack_from("<II", directory, offset + 116)
    name = directory[offset : offset + min(max(name_bytes - 2, 0), 64)].decode("utf-16-le", "replace")
    return _Entry(name, kind, left, right, child, start, size)
