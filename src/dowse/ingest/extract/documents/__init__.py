"""Documents with structure: which files are documents, and their extraction.

A reader per format returns a `Document`, which `assemble` turns into text, blocks and layout. Searching imports this
module for `is_document` alone, so readers are imported when a document is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from dowse.model import Extraction, Item


class DocumentFormat(NamedTuple):
    """A format: its name for people, the module and the function that read it, its suffixes."""

    name: str
    module: str
    function: str
    suffixes: str


FORMATS: Final[Mapping[str, DocumentFormat]] = {
    "pdf": DocumentFormat("PDF", "pdf", "read_pdf", "pdf"),
    "docx": DocumentFormat("Word", "docx", "read_docx", "docx docm dotx dotm"),
    "pptx": DocumentFormat("PowerPoint", "pptx", "read_pptx", "pptx pptm ppsx ppsm potx"),
    "xlsx": DocumentFormat("Excel", "sheets", "read_sheets", "xlsx xlsm xlsb xltx xls ods"),
    "odf": DocumentFormat("OpenDocument", "odf", "read_odf", "odt ott odp otp"),
    "epub": DocumentFormat("EPUB", "html", "read_epub", "epub"),
    "html": DocumentFormat("HTML", "html", "read_html", "html htm xhtml xht"),
    "csv": DocumentFormat("CSV", "delimited", "read_csv", "csv tsv tab"),
    "json": DocumentFormat("JSON", "data", "read_json", "json"),
    "jsonl": DocumentFormat("JSON lines", "data", "read_json_lines", "jsonl ndjson"),
    "notebook": DocumentFormat("notebook", "data", "read_notebook", "ipynb"),
    "rtf": DocumentFormat("RTF", "rtf", "read_rtf", "rtf"),
    "mail": DocumentFormat("e-mail", "mail", "read_mail", "eml"),
    "mailbox": DocumentFormat("mailbox", "mail", "read_mailbox", "mbox mbx"),
    "msg": DocumentFormat("Outlook message", "outlook", "read_outlook", "msg"),
}
UNSUPPORTED_FORMATS: Final[Mapping[str, str]] = {
    "doc": "Word 97 to 2003 (.doc) is not supported: save the file as .docx",
    "ppt": "PowerPoint 97 to 2003 (.ppt) is not supported: save the file as .pptx",
    "dot": "Word 97 to 2003 (.dot) is not supported: save the file as .docx",
    "pps": "PowerPoint 97 to 2003 (.pps) is not supported: save the file as .pptx",
}
FORMAT_BY_SUFFIX: Final[Mapping[str, str]] = {
    f".{suffix}": key for key, it in FORMATS.items() for suffix in it.suffixes.split()
}
# JSON stays verbatim: in projects it is configuration, and people search its lines.
_VERBATIM_SUFFIXES: Final = frozenset({".json"})
# Jinja, Django, Handlebars, Go and Vue ({{ … }}, {% … %}); PHP, ERB and JSP (<? …, <% …).
_TEMPLATE: Final = re.compile(rb"\{\{.{1,200}?\}\}|\{%.{1,200}?%\}|<\?(?:php|=)|<%")
DOCUMENT_SUFFIXES: Final = (
    frozenset((*FORMAT_BY_SUFFIX, *(f".{suffix}" for suffix in UNSUPPORTED_FORMATS))) - _VERBATIM_SUFFIXES
)


def is_document(path: str) -> bool:
    return PurePosixPath(path).suffix.lower() in DOCUMENT_SUFFIXES


def extract_document(item: Item, data: bytes) -> Extraction:
    """Read a document as what its content shows it to be. HTML with template commands is code, and so are text files
    that share a suffix with Outlook."""
    from dowse.ingest.extract.code import extract_code
    from dowse.ingest.extract.documents.document import assemble
    from dowse.ingest.extract.documents.readers import read_document

    suffix = PurePosixPath(item.path).suffix.lower()
    is_template = FORMAT_BY_SUFFIX.get(suffix) == "html" and _TEMPLATE.search(data)
    if is_template or (suffix == ".msg" and b"\0" not in data):
        return extract_code(item, data)
    return assemble(item.path, read_document(item.path, data))
