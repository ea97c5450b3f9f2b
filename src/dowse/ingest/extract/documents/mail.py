"""Read e-mail (EML) and mailboxes (MBOX): headers, the text of the body, the names of attachments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError, MessageError
from email.header import decode_header, make_header
from email.message import Message
from typing import Final

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.decoding import decode_text
from dowse.ingest.extract.documents.document import Document, Element, PageBox, Table
from dowse.ingest.extract.documents.html import read_html
from dowse.model import PageReport

ENGINE: Final = "email"
MAX_MESSAGES: Final = 20_000
MAX_PARTS: Final = 1_000
MAX_DEPTH: Final = 20
MAX_NESTED_BOUNDARIES: Final = 200

_SHOWN_HEADERS: Final = ("From", "To", "Cc", "Date", "Reply-To")
_MESSAGE_START: Final = re.compile(rb"^From \S.*\d{4}\s*$", re.MULTILINE)
_HEADER_LINE: Final = re.compile(rb"\A(?:From \S.*\r?\n)?[!-9;-~]+:[ \t]?.*\r?\n")
_QUOTED_START: Final = re.compile(rb"^>(>*From )", re.MULTILINE)
_BOUNDARY: Final = re.compile(rb"boundary\s*=", re.IGNORECASE)


def read_mail(data: bytes) -> Document:
    """Return one message."""
    _check_message(data)
    reader = _MailReader(())
    reader.read(_parse(data), 0)
    return Document(
        tuple(reader.parts),
        ENGINE,
        reader.subject,
        (PageReport(1, ENGINE),),
        tuple(reader.links),
        reader.facets,
        tuple(dict.fromkeys(reader.notes)),
    )


def read_mailbox(data: bytes) -> Document:
    """Return the messages of a mailbox; a message is a page."""
    _check_message(data)
    parts: list[Element | Table] = []
    links: list[tuple[int, str]] = []
    notes: list[str] = []
    pages: list[PageReport] = []
    for number, message in enumerate(_split_mailbox(data), start=1):
        if number > MAX_MESSAGES:
            notes.append(f"the mailbox was cut: the limit is {MAX_MESSAGES:,} messages")
            break
        reader = _MailReader((PageBox(number),))
        reader.read(_parse(message), 0)
        links += [(len(parts) + index, address) for index, address in reader.links]
        parts += reader.parts
        notes += [f"message {number}: {note}" for note in dict.fromkeys(reader.notes)]
        pages.append(PageReport(number, ENGINE))
    return Document(tuple(parts), ENGINE, pages=tuple(pages), links=tuple(links), notes=tuple(notes))


def _check_message(data: bytes) -> None:
    if not _HEADER_LINE.match(data.lstrip(b"\r\n\xef\xbb\xbf")):
        raise Unreadable("the file is no e-mail: it does not begin with headers")


def _split_mailbox(data: bytes) -> Iterator[bytes]:
    starts = [match.start() for match in _MESSAGE_START.finditer(data)] or [0]
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        yield _QUOTED_START.sub(rb"\1", data[start:end])


def _parse(data: bytes) -> Message:
    if len(_BOUNDARY.findall(data)) > MAX_NESTED_BOUNDARIES:
        raise Unreadable(f"the message has more than {MAX_NESTED_BOUNDARIES} nested parts")
    try:
        return message_from_bytes(data.lstrip(b"\r\n"))
    except (MessageError, ValueError, RecursionError) as error:
        raise Unreadable(f"the message is damaged ({error})") from error


class _MailReader:
    """Collects the parts of one message and of the messages in it."""

    def __init__(self, places: tuple[PageBox, ...]) -> None:
        self.parts: list[Element | Table] = []
        self.links: list[tuple[int, str]] = []
        self.notes: list[str] = []
        self.subject = ""
        self.facets: dict[str, str] = {}
        self._places = places
        self._parts_read = 0

    def read(self, message: Message, depth: int) -> None:
        subject = _read_header(message, "Subject") or "(no subject)"
        if not depth:
            self.subject = subject
            self.facets = {"author": author} if (author := _read_header(message, "From")) else {}
        self._add(Element("heading", subject, self._places, min(depth + 1, 6)))
        for name in _SHOWN_HEADERS:
            if value := _read_header(message, name):
                self._add(Element("paragraph", f"{name}: {value}", self._places))
        self._read_body(message, depth)

    def _read_body(self, message: Message, depth: int) -> None:
        self._parts_read += 1
        if self._parts_read > MAX_PARTS or depth > MAX_DEPTH:
            self.notes.append(f"the message was cut: the limits are {MAX_PARTS} parts and {MAX_DEPTH} levels")
            return
        kind = message.get_content_type()
        if kind == "multipart/alternative":
            self._read_alternative(message, depth)
        elif kind == "message/rfc822":
            for inner in _children(message):
                self.read(inner, depth + 1)
        elif message.is_multipart():
            for part in _children(message):
                self._read_body(part, depth + 1)
        elif message.get_filename() or message.get_content_disposition() == "attachment":
            self._add(Element("list_item", f"Attachment: {_describe_attachment(message)}", self._places))
        elif kind == "text/html":
            self._read_html(message)
        elif kind.startswith("text/"):
            self._read_text(_decode_body(message))

    def _read_alternative(self, message: Message, depth: int) -> None:
        """Read the plain text of several forms of one text, if it has any."""
        forms = list(_children(message))
        plain = (form for form in forms if form.get_content_type() == "text/plain" and _decode_body(form).strip())
        chosen = next(plain, forms[-1] if forms else None)
        if chosen is not None:
            self._read_body(chosen, depth + 1)

    def _read_text(self, text: str) -> None:
        for paragraph in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
            if paragraph.strip():
                self._add(Element("paragraph", paragraph.strip(), self._places))

    def _read_html(self, message: Message) -> None:
        page = read_html(_decode_body(message).encode())
        first = len(self.parts)
        for part in page.parts:
            if isinstance(part, Table):
                self._add(Table(part.rows, part.headers, part.title, part.units, self._places))
            else:
                self._add(Element(part.role, part.text, self._places, part.level))
        self.links += [(first + index, address) for index, address in page.links]

    def _add(self, part: Element | Table) -> None:
        self.parts.append(part)


def _children(message: Message) -> Iterator[Message]:
    payload = message.get_payload()
    if isinstance(payload, list):
        yield from (part for part in payload if isinstance(part, Message))


def _read_header(message: Message, name: str) -> str:
    value = message.get(name)
    if value is None:
        return ""
    try:
        text = str(make_header(decode_header(value)))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        text = str(value)
    return " ".join(text.split())


def _decode_body(message: Message) -> str:
    payload = message.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    return decode_text(data.replace(b"\0", b""), message.get_content_charset())


def _describe_attachment(message: Message) -> str:
    payload = message.get_payload(decode=True)
    size = len(payload) if isinstance(payload, bytes) else 0
    try:
        name = str(make_header(decode_header(message.get_filename() or "without a name")))
    except (HeaderParseError, LookupError, UnicodeError, ValueError):
        name = message.get_filename() or "without a name"
    return f"{' '.join(name.split())} ({message.get_content_type()}, {size:,} bytes)"
