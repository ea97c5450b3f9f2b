"""Open zip containers and parse XML parts without trusting them.

Office, OpenDocument and EPUB files are zip archives of XML. Sizes, ratios and names are checked before anything is
decompressed. XML with a document type or entities is refused, and its nesting is bounded.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from dowse.errors import Unreadable

MAX_ENTRIES: Final = 20_000
MAX_ENTRY_BYTES: Final = 256 << 20
MAX_TOTAL_BYTES: Final = 1 << 30
MAX_RATIO: Final = 200
"""Of an entry's size to its compressed size, for entries above `RATIO_CHECKED_BYTES`; real XML reaches about 100."""
RATIO_CHECKED_BYTES: Final = 8 << 20
MAX_XML_BYTES: Final = 64 << 20
MAX_XML_DEPTH: Final = 250
MAX_XML_NODES: Final = 4_000_000
"""Elements and attributes of one part: they take far more memory than their bytes."""
MAX_INTEGER: Final = 1 << 31

ZIP_MAGIC: Final = b"PK\x03\x04"
OLE_MAGIC: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

# One byte of deflate data expands to at most this many bytes.
_DEFLATE_MAX_RATIO: Final = 1032
_ENCRYPTED_FLAG: Final = 0x1
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,20}")
_READ_BYTES: Final = 1 << 20
_DAMAGED: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError)


class Archive:
    """A zip archive whose declared sizes are within the limits."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._entries = {entry.filename: entry for entry in file.infolist()}
        self._by_folded_name = {name.casefold(): name for name in self._entries}

    @property
    def names(self) -> Sequence[str]:
        return list(self._entries)

    def __contains__(self, name: str) -> bool:
        return name.casefold() in self._by_folded_name

    def read(self, name: str) -> bytes:
        """Return the bytes of an entry; raise `Unreadable` if it is missing or damaged."""
        entry = self._entries.get(self._by_folded_name.get(name.casefold(), name))
        if entry is None:
            raise Unreadable(f"the part '{name}' is missing: the file is incomplete or has the wrong extension")
        try:
            return self._file.read(entry)
        except _DAMAGED as error:
            raise Unreadable(f"the part '{name}' is damaged ({error})") from error

    def read_xml(self, name: str, prefixes: Mapping[str, str]) -> Element:
        return parse_xml(self.read(name), prefixes, name)

    def verify_sizes(self, skip: Collection[str] = ()) -> None:
        """Decompress entries piecewise to prove their declared sizes, before a library opens the archive on its own.

        Entries in `skip` are verified elsewhere: reading one verifies it. An archive whose entries cannot exceed the
        limit even at the best possible ratio is not decompressed.
        """
        if sum(entry.compress_size for entry in self._entries.values()) * _DEFLATE_MAX_RATIO <= MAX_ENTRY_BYTES:
            return
        for name, entry in self._entries.items():
            if name not in skip and name.endswith((".xml", ".bin")):
                self._verify_entry(name, entry)

    def _verify_entry(self, name: str, entry: zipfile.ZipInfo) -> None:
        """`zipfile` stops at the declared size and then compares the checksum: a false size does not pass."""
        try:
            with self._file.open(entry) as stream:
                while stream.read(_READ_BYTES):
                    pass
        except _DAMAGED as error:
            raise Unreadable(f"the part '{name}' is damaged ({error})") from error


def open_archive(data: bytes) -> Archive:
    """Return the zip archive in `data`; raise `Unreadable` if it is damaged, encrypted or exceeds a limit."""
    if not data.startswith(ZIP_MAGIC):
        raise Unreadable(describe_wrong_container(data))
    try:
        file = zipfile.ZipFile(io.BytesIO(data))
    except _DAMAGED as error:
        raise Unreadable(f"the file is truncated or damaged ({error})") from error
    entries = file.infolist()
    if len(entries) > MAX_ENTRIES:
        raise Unreadable(f"the archive has {len(entries):,} entries; the limit is {MAX_ENTRIES:,}")
    if sum(entry.compress_size for entry in entries) > len(data):
        raise Unreadable("the entries of the archive overlap: it is damaged or a decompression bomb")
    if (total := sum(entry.file_size for entry in entries)) > MAX_TOTAL_BYTES:
        raise Unreadable(f"the archive decompresses to {total >> 20:,} MiB; the limit is {MAX_TOTAL_BYTES >> 20:,} MiB")
    for entry in entries:
        _check_entry(entry)
    return Archive(file)


def _check_entry(entry: zipfile.ZipInfo) -> None:
    name, size = entry.filename, entry.file_size
    if entry.flag_bits & _ENCRYPTED_FLAG:
        raise Unreadable("the file is protected by a password")
    if name.startswith(("/", "\\")) or ".." in PurePosixPath(name.replace("\\", "/")).parts or "\0" in name:
        raise Unreadable(f"the archive has an entry with an unsafe name: {name[:80]!r}")
    if size > MAX_ENTRY_BYTES:
        raise Unreadable(
            f"the part '{name}' decompresses to {size >> 20:,} MiB; the limit is {MAX_ENTRY_BYTES >> 20:,} MiB"
        )
    if size > RATIO_CHECKED_BYTES and size > MAX_RATIO * max(entry.compress_size, 1):
        raise Unreadable(f"the part '{name}' decompresses to more than {MAX_RATIO} times its size: a bomb")


def describe_wrong_container(data: bytes) -> str:
    """Return why `data` is not the zip archive its name promises."""
    if data.startswith(OLE_MAGIC):
        if "EncryptedPackage".encode("utf-16-le") in data:
            return "the file is protected by a password"
        return "the file has the format of Office 97 to 2003: save it in the current format"
    if data.startswith(b"%PDF-"):
        return "the file is a PDF: its extension is wrong"
    if data.startswith(b"{\\rtf"):
        return "the file is RTF: its extension is wrong"
    if data[:512].lstrip().lower().startswith((b"<!doctype html", b"<html")):
        return "the file is HTML: its extension is wrong"
    return "the file is empty" if not data else "the file is truncated or has the wrong extension: it is no zip archive"


# --- XML -------------------------------------------------------------------------------------------


def parse_xml(data: bytes, prefixes: Mapping[str, str], name: str = "document") -> Element:
    """Return the tree of an XML document. Tags and attributes are `prefix:local` by the table of namespaces.

    A name without a namespace stays as it is; one of an unknown namespace gets the prefix `_`.
    """
    if len(data) > MAX_XML_BYTES:
        raise Unreadable(f"the part '{name}' has {len(data) >> 20} MiB of XML; the limit is {MAX_XML_BYTES >> 20} MiB")
    builder = TreeBuilder()
    add_start, add_end = builder.start, builder.end
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True
    names = _ShortNames(prefixes)
    depth = nodes = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, nodes
        depth += 1
        nodes += 1 + len(attributes)
        if nodes > MAX_XML_NODES:
            raise Unreadable(f"the part '{name}' has more than {MAX_XML_NODES:,} elements and attributes")
        if depth > MAX_XML_DEPTH:
            raise Unreadable(f"the part '{name}' nests elements deeper than {MAX_XML_DEPTH} levels")
        add_start(names[tag], {names[key]: value for key, value in attributes.items()} if attributes else attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        add_end(names[tag])

    def refuse_document_type(*_: object) -> None:
        raise Unreadable(f"the part '{name}' has a document type, which may hide entities")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse_document_type
    parser.EntityDeclHandler = refuse_document_type
    try:
        parser.Parse(data, True)
        root: Element = builder.close()
    except (expat.ExpatError, AssertionError, LookupError, ValueError) as error:
        raise Unreadable(f"the part '{name}' is not well-formed XML ({error})") from error
    return root


class _ShortNames(dict[str, str]):
    """Short names of XML names with a namespace, each computed once."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        super().__init__()
        self._prefixes = prefixes

    def __missing__(self, full: str) -> str:
        namespace, _, local = full.rpartition("}")
        short = self[full] = f"{self._prefixes.get(namespace, '_')}:{local}" if namespace else local
        return short


def find(node: Element | None, *path: str) -> Element | None:
    """Return the first descendant along a path of tags."""
    for tag in path:
        if node is None:
            return None
        node = node.find(tag)
    return node


def parse_integer(text: str, default: int, *, low: int = 0, high: int = MAX_INTEGER) -> int:
    """Return the number in an attribute, bounded; the default if there is none."""
    return min(max(int(text), low), high) if _INTEGER.fullmatch(text) else default


def attribute(node: Element | None, name: str, default: str = "") -> str:
    """Return an attribute of a node that may be missing."""
    return default if node is None else node.get(name, default)
