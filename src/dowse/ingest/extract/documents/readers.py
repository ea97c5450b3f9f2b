"""Choose the reader of a document by its suffix and by its first bytes, which count more."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.archive import OLE_MAGIC, ZIP_MAGIC, open_archive
from dowse.ingest.extract.documents.document import Document


class _Format(NamedTuple):
    """A format: its name for people, the module and the function that read it, its suffixes."""

    name: str
    module: str
    function: str
    suffixes: str


_PACKAGE: Final = "dowse.ingest.extract.documents"
_FORMATS: Final = {
    "pdf": _Format("PDF", "pdf", "read_pdf", "pdf"),
    "docx": _Format("Word", "docx", "read_docx", "docx docm dotx dotm"),
    "pptx": _Format("PowerPoint", "pptx", "read_pptx", "pptx pptm ppsx ppsm potx"),
    "xlsx": _Format("Excel", "sheets", "read_sheets", "xlsx xlsm xlsb xltx xls ods"),
    "odf": _Format("OpenDocument", "odf", "read_odf", "odt ott odp otp"),
    "epub": _Format("EPUB", "html", "read_epub", "epub"),
    "html": _Format("HTML", "html", "read_html", "html htm xhtml xht"),
    "csv": _Format("CSV", "delimited", "read_csv", "csv tsv tab"),
    "json": _Format("JSON", "data", "read_json", "json"),
    "jsonl": _Format("JSON lines", "data", "read_json_lines", "jsonl ndjson"),
    "notebook": _Format("notebook", "data", "read_notebook", "ipynb"),
    "rtf": _Format("RTF", "rtf", "read_rtf", "rtf"),
    "mail": _Format("e-mail", "mail", "read_mail", "eml"),
    "mailbox": _Format("mailbox", "mail", "read_mailbox", "mbox mbx"),
    "msg": _Format("Outlook message", "outlook", "read_outlook", "msg"),
}
# Formats without a reader, and those whose suffix often hides another format.
_UNSUPPORTED: Final = {
    "doc": "Word 97 to 2003 (.doc) is not supported: save the file as .docx",
    "ppt": "PowerPoint 97 to 2003 (.ppt) is not supported: save the file as .pptx",
    "dot": "Word 97 to 2003 (.dot) is not supported: save the file as .docx",
    "pps": "PowerPoint 97 to 2003 (.pps) is not supported: save the file as .pptx",
}
_BY_SUFFIX: Final = {f".{suffix}": key for key, it in _FORMATS.items() for suffix in it.suffixes.split()}
DOCUMENT_SUFFIXES: Final = frozenset((*_BY_SUFFIX, *(f".{suffix}" for suffix in _UNSUPPORTED)))

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
    expected = _BY_SUFFIX.get(suffix, suffix[1:])
    found = detect_format(data) or expected
    if found == "encrypted":
        raise Unreadable("the file is protected by a password")
    if found in _UNSUPPORTED:
        raise Unreadable(_UNSUPPORTED[found])
    if found not in _FORMATS:
        raise Unreadable(f"there is no reader for '{suffix}'" if data else "the file is empty")
    chosen = _FORMATS[found]
    try:
        document: Document = getattr(import_module(f"{_PACKAGE}.{chosen.module}"), chosen.function)(data)
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
