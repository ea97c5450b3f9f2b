"""Web pages and books: text without markup, scripts and menus; lists, tables, code, links."""

from __future__ import annotations

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import html
from dowse.ingest.extract.documents.document import Element, Table
from dowse.ingest.extract.documents.html import MAX_DEPTH, decode_page, read_epub, read_html
from dowse.ingest.extract.documents.tables import MAX_GRID_CELLS
from office_files import make_zip


def elements(page: str) -> list[tuple[str, int, str]]:
    return [(it.role, it.level, it.text) for it in read_html(page.encode()).parts if isinstance(it, Element)]


def only_table(page: str) -> Table:
    (table,) = (part for part in read_html(page.encode()).parts if isinstance(part, Table))
    return table


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a <b>bold</b> w<i>or</i>d</p>", [("paragraph", 0, "a bold word")]),
        ("<div>one<p>two</p>three</div>", [
            ("paragraph", 0, "one"), ("paragraph", 0, "two"), ("paragraph", 0, "three"),
        ]),
        ("<h2>Head <small>er</small></h2>", [("heading", 2, "Head er")]),
        ("<p>H<sub>2</sub>O</p>", [("paragraph", 0, "H2O")]),
        ("<p>a<br>b</p>", [("paragraph", 0, "a b")]),
        ("<p>&lt;tag&gt; &amp; &eacute;</p>", [("paragraph", 0, "<tag> & é")]),
        ("<p>x<!-- hidden --></p>", [("paragraph", 0, "x")]),
        ("<p>x<script>alert(1)</script><style>p{}</style></p>", [("paragraph", 0, "x")]),
        ("<p><template><p>x</p></template><noscript>y</noscript>", []),
        ("<pre>def f():\n    pass</pre>", [("code", 0, "def f():\n    pass")]),
        ("<figure><img alt='a duck'><figcaption>Duck</figcaption></figure>", [
            ("paragraph", 0, "a duck"), ("caption", 0, "Duck"),
        ]),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", [
            ("list_item", 0, "a"), ("list_item", 1, "b"), ("list_item", 0, "c"),
        ]),
        ("<ol start='3'><li>a</li><li><p>b</p><p>more</p></li></ol>", [
            ("list_item", 0, "3. a"), ("list_item", 0, "4. b"), ("list_item", 0, "more"),
        ]),
        ("<dl><dt>term</dt><dd>meaning</dd></dl>", [("list_item", 0, "term"), ("list_item", 1, "meaning")]),
        ("<p>open <p>also open <ul><li>never closed", [
            ("paragraph", 0, "open"), ("paragraph", 0, "also open"), ("list_item", 0, "never closed"),
        ]),
        ("<input type=checkbox checked> yes <input type=hidden value=token>", [("paragraph", 0, "[x] yes")]),
    ],
)  # fmt: skip
def test_text_and_structure(page: str, expected: list[tuple[str, int, str]]):
    assert elements(page) == expected


def test_menus_are_dropped_beside_content_only():
    menu = "<nav><ul><li>Home</li><li>About</li></ul></nav>"
    assert elements(f"{menu}<main><p>text</p></main>") == [("paragraph", 0, "text")]
    assert [text for _, _, text in elements(menu)] == ["Home", "About"]


def test_tables_with_spans_caption_and_headers():
    table = only_table(
        "<table><caption>Ducks</caption><thead><tr><th>Year</th><th colspan=2>Count</th></tr></thead>"
        "<tr><td rowspan=2>2024</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"
    )
    assert (table.title, table.headers) == ("Ducks", ("Year", "Count", "Count"))
    assert [row.cells for row in table.rows] == [("2024", "1", "2"), ("2024", "3", "4")]


def test_two_header_rows_give_one_name_per_column():
    table = only_table(
        "<table><thead><tr><th></th><th colspan=2>Size</th></tr><tr><th>Name</th><th>min</th><th>max</th></tr></thead>"
        "<tr><td>a</td><td>1</td><td>2</td></tr></table>"
    )
    assert table.headers == ("Name", "Size / min", "Size / max")


def test_a_table_in_a_cell_is_text_and_a_frame_is_no_table():
    table = only_table(
        "<table><tr><td>A</td><td>B</td></tr><tr><td><table><tr><td>1<td>2</table></td><td>3</td></tr></table>"
    )
    assert table.rows[-1].cells == ("1 2", "3")
    assert elements("<table><tr><td><h1>Title</h1><p>text</p></td></tr></table>") == [
        ("heading", 1, "Title"),
        ("paragraph", 0, "text"),
    ]


def test_spans_are_bounded():
    table = only_table("<table><tr><td colspan=99999>a</td></tr><tr><td rowspan=99999>b</td><td>c</td></tr></table>")
    assert len(table.rows) == 2
    assert len(table.rows[0].cells) == 1000


def test_links_name_their_element():
    document = read_html(b"<title> A  page </title><p>x</p><p><a href='https://a.b/c'>y</a> <a href='#top'>up</a></p>")
    assert document.links == ((1, "https://a.b/c"),)
    assert document.title == "A page"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>é".encode(), "é"),
        (b"<meta charset=iso-8859-1><p>\xe9", "é"),
        (b"<meta charset=no-such-charset><p>\xc3\xa9", "é"),
        ('<?xml version="1.0" encoding="windows-1251"?><p>ж'.encode("cp1251"), "ж"),
        ("<p>é".encode("utf-16"), "é"),
    ],
)
def test_declared_encodings(data: bytes, text: str):
    assert text in decode_page(data)


@pytest.mark.parametrize("tag", ["div", "span", "ul", "table"])
def test_deep_nesting_is_read_as_text(tag: str):
    inner = {"ul": "<li>", "table": "<tr><td>"}.get(tag, "")
    page = f"<{tag}>{inner}" * (MAX_DEPTH * 5) + "deep"
    assert "deep" in str(read_html(page.encode()).parts)


@pytest.mark.parametrize("data", [b"", b"\1\2", b"<", b"<!DOCTYPE html>", b"<!ENTITY a 'b'>&a;" * 10])
def test_anything_is_a_page(data: bytes):
    assert read_html(data).pages[0].coverage == 1.0


def test_many_parts_are_cut_and_noted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(html, "MAX_PARTS", 3)
    document = read_html(b"<p>a" * 10)
    assert len(document.parts) == 3
    assert document.notes == ("the page was cut: the limit is 3 parts",)


def test_nesting_that_takes_square_time_is_refused():
    with pytest.raises(Unreadable, match="not closed"):
        read_html(b"<UL><li>" * 20_000)


def test_large_spans_on_many_rows_stay_bounded():
    page = b"<table>" + b"<tr><td colspan=1000>x" * 20_000
    (table,) = read_html(page).parts
    assert isinstance(table, Table)
    assert sum(len(row.cells) for row in table.rows) <= MAX_GRID_CELLS
    page = b"<table><tr><td>a" + b"<td rowspan=1000 colspan=1000>x" * 20 + b"<tr>" * 1000
    (table,) = read_html(page).parts
    assert isinstance(table, Table)
    assert sum(len(row.cells) for row in table.rows) <= MAX_GRID_CELLS


def test_long_pages_are_refused_and_long_books_cut(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(html, "MAX_PAGE_CHARS", 100)
    with pytest.raises(Unreadable, match="characters"):
        read_html(b"x" * 101)
    monkeypatch.setattr(html, "MAX_BOOK_CHARS", 60)
    assert read_epub(make_zip(BOOK)).notes == ("the book was cut: the limit is 60 characters",)


CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="b/c.opf"/></rootfiles></container>'
)
CONTENT = (
    '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
    "<dc:title>Book</dc:title><dc:creator>Ann</dc:creator></metadata><manifest>"
    '<item id="one" href="1.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="two" href="t%20wo.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="toc" href="toc.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    '<item id="gone" href="gone.xhtml" media-type="application/xhtml+xml"/></manifest>'
    '<spine><itemref idref="toc"/><itemref idref="two"/><itemref idref="gone"/><itemref idref="one"/>'
    '<itemref idref="one"/></spine></package>'
)
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "b/c.opf": CONTENT,
    "b/1.xhtml": "<!DOCTYPE html><html><body><h1>Last</h1></body></html>",
    "b/t wo.xhtml": "<html><body><h1>First</h1><p>text</p></body></html>",
    "b/toc.xhtml": "<html><body>contents</body></html>",
}


def test_a_book_is_read_in_the_order_of_its_spine():
    document = read_epub(make_zip(BOOK))
    assert [part.text for part in document.parts if isinstance(part, Element)] == ["First", "text", "Last"]
    assert (document.title, document.facets) == ("Book", {"author": "Ann"})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"META-INF/container.xml": "<container/>"}, "names no content"),
        ({"META-INF/rights.xml": "<rights/>"}, "protected"),
        ({"b/c.opf": "<package"}, "not well-formed"),
        (
            {"META-INF/container.xml": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'},
            "document type",
        ),
    ],
)
def test_broken_books_are_refused_with_a_reason(changes: dict[str, str], reason: str):
    with pytest.raises(Unreadable, match=reason):
        read_epub(make_zip({**BOOK, **changes}))
