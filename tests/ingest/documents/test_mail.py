"""Messages and mailboxes: headers, bodies, attachments, messages in messages, limits."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import mail
from dowse.ingest.extract.documents.document import Document, Element
from dowse.ingest.extract.documents.mail import read_mail, read_mailbox
from dowse.ingest.extract.documents.outlook import read_outlook
from office_files import make_ole

DATE = "Wed, 01 May 2024 10:00:00 +0000"


def message(subject: str = "Hello", text: str = "Body", html: str = "") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"], made["To"], made["Date"] = (
        subject,
        "Ann <ann@example.org>",
        "bob@x.org",
        DATE,
    )
    made.set_content(text)
    if html:
        made.add_alternative(html, subtype="html")
    return made


def texts(document: Document) -> list[str]:
    return [part.text for part in document.parts if isinstance(part, Element)]


HEADERS = ["From: Ann <ann@example.org>", "To: bob@x.org", f"Date: {DATE}"]


def test_headers_and_body():
    document = read_mail(bytes(message("Größe", "First.\n\nSecond\nline.")))
    assert texts(document) == ["Größe", *HEADERS, "First.", "Second\nline."]
    assert (document.title, document.facets) == ("Größe", {"author": "Ann <ann@example.org>"})


def test_plain_text_goes_before_html_and_html_is_read_without_markup():
    both = message(html="<p>Body in <b>HTML</b></p>")
    assert texts(read_mail(bytes(both)))[4:] == ["Body"]
    only = message()
    only.set_content("<h1>Head</h1><p><a href='https://a.b'>link</a></p><script>x</script>", subtype="html")
    document = read_mail(bytes(only))
    assert texts(document)[4:] == ["Head", "link"]
    assert document.links == ((5, "https://a.b"),)


def test_attachments_are_named_and_not_read():
    made = message()
    made.add_attachment(b"secret", maintype="application", subtype="pdf", filename="Bericht März.pdf")
    assert texts(read_mail(bytes(made)))[-1] == "Attachment: Bericht März.pdf (application/pdf, 6 bytes)"


def test_a_message_in_a_message():
    made = message("Outer")
    made.add_attachment(message("Inner", "Deep"))
    found = texts(read_mail(bytes(made)))
    assert found[0] == "Outer"
    assert found[-5:] == ["Inner", *HEADERS, "Deep"]


def test_odd_charsets_and_headers():
    raw = b"Subject: =?no-such?Q?x?=\nFrom: a\nContent-Type: text/plain; charset=no-such\n\ncaf\xe9 \x00x"
    assert texts(read_mail(raw))[-1] == "café x"


def test_messages_of_a_mailbox_are_pages():
    one, two = bytes(message("One", "from\nFrom here")), bytes(message("Two"))
    box = b"From ann Wed May  1 10:00:00 2024\n" + one.replace(b"\nFrom here", b"\n>From here")
    box += b"\nFrom bob Wed May  1 11:00:00 2024\n" + two
    document = read_mailbox(box)
    assert [page.page for page in document.pages] == [1, 2]
    assert texts(document) == ["One", *HEADERS, "from\nFrom here", "Two", *HEADERS, "Body"]
    assert [part.places[0].page for part in document.parts] == [1] * 5 + [2] * 5


def test_a_long_mailbox_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mail, "MAX_MESSAGES", 2)
    box = (b"From a Wed May  1 10:00:00 2024\n" + bytes(message()) + b"\n") * 4
    document = read_mailbox(box)
    assert len(document.pages) == 2
    assert document.notes == ("the mailbox was cut: the limit is 2 messages",)


def test_deep_nesting_is_bounded():
    made = message("innermost")
    for depth in range(40):
        outer = message(f"level {depth}")
        outer.add_attachment(made)
        made = outer
    document = read_mail(bytes(made))
    assert any("was cut" in note for note in document.notes)


@pytest.mark.parametrize("data", [b"", b"no headers here", b"\x00\x01", b"PK\x03\x04"])
def test_other_files_are_no_mail(data: bytes):
    with pytest.raises(Unreadable, match="no e-mail"):
        read_mail(data)


def outlook(**texts_by_id: str) -> dict[str, bytes]:
    return {f"__substg1.0_{key[1:]}001F": value.encode("utf-16-le") for key, value in texts_by_id.items()}


def test_outlook_messages():
    data = make_ole(
        outlook(_0037="Hello", _0C1A="Ann", _0C1F="ann@x.org", _0E04="Bob", _1000="One.\r\n\r\nTwo " + "x" * 900)
    )
    document = read_outlook(data)
    assert texts(document) == ["Hello", "From: Ann ann@x.org", "To: Bob", "One.", "Two " + "x" * 900]


def test_outlook_messages_in_html():
    streams = {**outlook(_0037="Hello"), "__substg1.0_10130102": b"<p>text</p><script>x</script>"}
    assert texts(read_outlook(make_ole(streams))) == ["Hello", "text"]


@pytest.mark.parametrize("keep", [0, 100, 600, 1500])
def test_truncated_containers_are_refused_or_empty(keep: int):
    data = make_ole(outlook(_0037="Hello", _1000="text"))[:keep]
    with pytest.raises(Unreadable):
        read_outlook(data)


def test_a_chain_that_loops_ends():
    data = bytearray(make_ole({"__substg1.0_0037001F": b"x" * 5000}))
    table = len(data) - 512
    data[table + 4 : table + 8] = (0).to_bytes(4, "little")  # sector 1 is followed by sector 0
    assert texts(read_outlook(bytes(data)))
