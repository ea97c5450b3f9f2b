"""Choose the reader of a document by its suffix and by its first bytes, which count more."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import FORMAT_BY_SUFFIX, FORMATS, UNSUPPORTED_FORMATS
from dowse.ingest.extract.documents.archive import OLE_MAGIC, ZIP_MAGIC, open_archive
from dowse.ingest.extract.documents.document import Document

_OLE_STREAMS: Final = {
    "EncryptedPackage": "encrypted",
    "WordDocument": "doc",
    "PowerPoint Document": "ppt",
    "Workbook": "xlsx",
    "Book": "xlsx",
    "__properties_version1.0": "msg",
}
_SEARCHED_BYTES: Final = 1024


def read_document(path: str, data: bytes) -> Document:
    """Read a document. A wrong suffix is noted, and the content is read as what it is.

    Raises `Unreadable` for a format without a reader, a password, a damaged file or a limit.
    """
    suffix = PurePosixPath(path).suffix.lower()
    expected = FORMAT_BY_SUFFIX.get(suffix, suffix[1:])
    found = detect_format(data) or expected
    if found == "encrypted":
        raise Unreadable("the file is protected by a password")
    if found in UNSUPPORTED_FORMATS:
        raise Unreadable(UNSUPPORTED_FORMATS[found])
    if found not in FORMATS:
        raise Unreadable(f"there is no reader for '{suffix}'" if data else "the file is empty")
    chosen = FORMATS[found]
    try:
        document: Document = getattr(import_module(f"{__package__}.{chosen.module}"), chosen.function)(data)
    except RecursionError as error:
        raise Unreadable("the document nests too deeply") from error
    if found == expected:
        return document
    return replace(document, notes=(*document.notes, f"the content is {chosen.name}, not what '{suffix}' says"))


def detect_format(data: bytes) -> str | None:
    """Return the format that the content shows by its first bytes; None for text without a mark."""
    if data.startswith(b"%PDF-"):
        return "pdf"
    if data.startswith(OLE_MAGIC):
        found = (key for stream, key in _OLE_STREAMS.items() if stream.encode("utf-16-le") in data)
        return next(found, None)
    if data.startswith(ZIP_MAGIC):
        return _detect_archive(data)
    start = data[:_SEARCHED_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{\\rtf"):
        return "rtf"
    return "html" if start[:15].lower().startswith((b"<!doctype html", b"<html")) else None


def _detect_archive(data: bytes) -> str | None:
    archive = open_archive(data)
    if "mimetype" in archive:
        kind = archive.read("mimetype").decode("ascii", "replace")
        if "epub" in kind:
            return "epub"
        if "opendocument" in kind:
            return "xlsx" if "spreadsheet" in kind else "odf"
    for folder, key in (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx")):
        if any(name.startswith(folder) for name in archive.names):
            return key
    return None
