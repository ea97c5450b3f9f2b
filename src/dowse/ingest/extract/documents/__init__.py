"""Extract documents with structure: PDF, Office, OpenDocument, EPUB, HTML, sheets, mail, notebooks and images.

Each format has a reader that returns a `Document`. Readers are imported when the first file of their format is read.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import PurePosixPath
from typing import Final, cast

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Document, assemble
from dowse.model import Extraction, Item

Reader = Callable[[bytes], Document]

# Module and function of the reader for each suffix.
_READERS: Final[dict[str, tuple[str, str]]] = {
    suffix: (module, reader)
    for suffixes, module, reader in (
        (".pdf", "pdf", "read_pdf"),
        (".docx .docm .dotx", "office", "read_docx"),
        (".pptx .pptm .ppsx", "office", "read_pptx"),
        (".xlsx .xlsm .xlsb .xls .ods", "sheets", "read_workbook"),
        (".csv .tsv", "sheets", "read_csv"),
        (".odt .odp", "odf", "read_odf"),
        (".epub", "html", "read_epub"),
        (".html .htm .xhtml", "html", "read_html"),
        (".eml .mbox", "mail", "read_mail"),
        (".ipynb", "data", "read_notebook"),
        (".rtf", "data", "read_rtf"),
        (".png .jpg .jpeg .tif .tiff .bmp .webp", "ocr", "read_image"),
    )
    for suffix in suffixes.split()
}
DOCUMENT_SUFFIXES: Final = frozenset(_READERS)


def is_document(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in DOCUMENT_SUFFIXES


def extract_document(item: Item, data: bytes) -> Extraction:
    """Read a document with the reader of its suffix. Raises Unreadable if the library for it is not installed."""
    module, name = _READERS[PurePosixPath(item.path).suffix.lower()]
    try:
        reader = cast(Reader, getattr(import_module(f"{__name__}.{module}"), name))
        return assemble(item.path, reader(data))
    except ModuleNotFoundError as error:
        raise Unreadable(f"needs {error.name}: run `pip install 'dowse[documents]'`", lasting=False) from error
