"""Word documents: structure, numbers, tables, equations, everything around the text."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.documents.document import Element, Table
from dowse.ingest.extract.documents.docx import read_docx
from office_files import NAMESPACES, change_entries, make_docx, paragraph, styles

HEADING = '<w:style w:styleId="H"><w:name w:val="heading 2"/></w:style>'
OUTLINE = '<w:style w:styleId="O"><w:name w:val="Kop"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
CHILD = '<w:style w:styleId="C"><w:name w:val="My heading"/><w:basedOn w:val="O"/></w:style>'
BODY = (
    '<w:style w:styleId="B"><w:name w:val="x"/><w:basedOn w:val="O"/><w:pPr><w:outlineLvl w:val="9"/></w:pPr></w:style>'
)
TITLE = '<w:style w:styleId="T"><w:name w:val="Title"/></w:style>'
CODE = '<w:style w:styleId="K"><w:name w:val="Source Code"/></w:style>'
CAPTION = '<w:style w:styleId="F"><w:name w:val="caption"/></w:style>'
LOOP = '<w:style w:styleId="L"><w:name w:val="loop"/><w:basedOn w:val="L"/></w:style>'
STYLES = styles(HEADING, OUTLINE, CHILD, BODY, TITLE, CODE, CAPTION, LOOP)


def elements(data: bytes) -> list[tuple[str, int, str]]:
    return [(it.role, it.level, it.text) for it in read_docx(data).parts if isinstance(it, Element)]


def texts(body: str, **related: str) -> list[str]:
    return [text for _, _, text in elements(make_docx(body, related))]


@pytest.mark.parametrize(
    ("properties", "role", "level"),
    [
        ("", "paragraph", 0),
        ('<w:pStyle w:val="H"/>', "heading", 2),
        ('<w:pStyle w:val="O"/>', "heading", 1),
        ('<w:pStyle w:val="C"/>', "heading", 1),
        ('<w:pStyle w:val="B"/>', "paragraph", 0),
        ('<w:pStyle w:val="T"/>', "heading", 1),
        ('<w:pStyle w:val="K"/>', "code", 0),
        ('<w:pStyle w:val="F"/>', "caption", 0),
        ('<w:pStyle w:val="L"/>', "paragraph", 0),
        ('<w:pStyle w:val="missing"/>', "paragraph", 0),
        ('<w:outlineLvl w:val="3"/>', "heading", 4),
        ('<w:outlineLvl w:val="8"/>', "heading", 6),
    ],
)
def test_role_and_level_come_from_style_and_outline(properties: str, role: str, level: int):
    assert elements(make_docx(paragraph("text", properties), {"styles": STYLES})) == [(role, level, "text")]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ("<w:r><w:t>un</w:t></w:r><w:r><w:t>split</w:t></w:r>", "unsplit"),
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t></w:r>", "a\tb\nc"),
        ("<w:r><w:t>non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r>", "non-stop"),
        ("<w:ins><w:r><w:t>new</w:t></w:r></w:ins><w:del><w:r><w:delText>old</w:delText></w:r></w:del>", "new"),
        ("<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>in a control</w:t></w:r></w:sdtContent></w:sdt>", "in a control"),
        ("<w:smartTag><w:r><w:t>tagged</w:t></w:r></w:smartTag>", "tagged"),
        ("<w:r><w:fldChar/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:t>7</w:t></w:r>", "7"),
    ],
)
def test_text_of_runs(runs: str, text: str):
    assert texts(f"<w:p>{runs}</w:p>") == [text]


@pytest.mark.parametrize(("value", "text"), [("1", "[x] done"), ("0", "[ ] done")])
def test_check_boxes(value: str, text: str):
    box = f'<w:sdt><w:sdtPr><w14:checkbox><w14:checked w14:val="{value}"/></w14:checkbox></w:sdtPr></w:sdt>'
    assert texts(f'<w:p>{box}<w:r><w:t xml:space="preserve"> done</w:t></w:r></w:p>') == [text]


def numbering(*levels: tuple[str, str], overrides: str = "") -> str:
    made = "".join(
        f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{style}"/><w:lvlText w:val="{pattern}"/></w:lvl>'
        for index, (style, pattern) in enumerate(levels)
    )
    return (
        f'<w:numbering {NAMESPACES}><w:abstractNum w:abstractNumId="7">{made}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
        f'<w:num w:numId="2"><w:abstractNumId w:val="7"/>{overrides}</w:num></w:numbering>'
    )


def item(text: str, level: int = 0, number_id: int = 1, style: str = "") -> str:
    return paragraph(text, f'{style}<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number_id}"/></w:numPr>')


def test_headings_and_items_carry_the_numbers_that_word_shows():
    lists = numbering(("decimal", "%1"), ("decimal", "%1.%2"), ("lowerRoman", "%3)"), ("bullet", "•"))
    heading = '<w:pStyle w:val="H"/>'
    body = (
        item("One", 0, style=heading)
        + item("One one", 1, style=heading)
        + item("One two", 1)
        + item("deep", 2)
        + item("deeper", 2)
        + item("dot", 3)
        + item("Two", 0)
        + item("Two one", 1)
    )
    assert elements(make_docx(body, {"styles": STYLES, "numbering": lists})) == [
        ("heading", 2, "1 One"),
        ("heading", 2, "1.1 One one"),
        ("list_item", 1, "1.2 One two"),
        ("list_item", 2, "i) deep"),
        ("list_item", 2, "ii) deeper"),
        ("list_item", 3, "dot"),
        ("list_item", 0, "2 Two"),
        ("list_item", 1, "2.1 Two one"),
    ]


def test_a_list_may_start_again():
    lists = numbering(
        ("lowerLetter", "%1."), overrides='<w:lvlOverride w:ilvl="0"><w:startOverride w:val="1"/></w:lvlOverride>'
    )
    body = item("x") + item("y") + item("new", number_id=2) + item("next", number_id=2)
    assert texts(body, numbering=lists) == ["a. x", "b. y", "a. new", "b. next"]


def test_number_id_zero_ends_the_list_of_a_style():
    style = '<w:style w:styleId="N"><w:name w:val="n"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>'
    related = {"styles": styles(style), "numbering": numbering(("decimal", "%1."))}
    plain = '<w:pStyle w:val="N"/><w:numPr><w:numId w:val="0"/></w:numPr>'
    body = paragraph("in", '<w:pStyle w:val="N"/>') + paragraph("out", plain)
    assert elements(make_docx(body, related)) == [("list_item", 0, "1. in"), ("paragraph", 0, "out")]


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text) if text else '<w:p/>'}</w:tc>"


def row(*cells: str, properties: str = "") -> str:
    return f"<w:tr><w:trPr>{properties}</w:trPr>{''.join(cells)}</w:tr>"


def only_table(body: str) -> Table:
    (table,) = (part for part in read_docx(make_docx(body)).parts if isinstance(part, Table))
    return table


def test_merged_cells_repeat_their_value():
    across, down, more = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    table = only_table(
        "<w:tbl>"
        + row(cell("Part"), cell("Size"), cell("Weight"), properties="<w:tblHeader/>")
        + row(cell("pump", down), cell("large", across))
        + row(cell("", more), cell("2"), cell("3"))
        + row(cell("late"), properties='<w:gridBefore w:val="2"/>')
        + "</w:tbl>"
    )
    assert table.headers == ("Part", "Size", "Weight")
    assert [it.cells for it in table.rows] == [("pump", "large", "large"), ("pump", "2", "3"), ("", "", "late")]


def test_a_table_in_a_cell_is_text_of_the_cell_and_a_single_cell_is_a_frame():
    inner = "<w:tbl>" + row(cell("a"), cell("b")) + row(cell("1"), cell("2")) + "</w:tbl>"
    table = only_table(
        "<w:tbl>" + row(cell("Name"), cell("Value")) + row(cell("x"), f"<w:tc>{inner}</w:tc>") + "</w:tbl>"
    )
    assert table.rows[0].cells == ("x", "a b\n1 2")
    assert texts("<w:tbl>" + row(cell("framed")) + "</w:tbl>") == ["framed"]


def test_equations_are_latex():
    power = "<m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup>"
    fraction = "<m:f><m:num><m:r><m:t>1</m:t></m:r></m:num><m:den><m:r><m:t>π</m:t></m:r></m:den></m:f>"
    inline = f"<w:p><w:r><w:t>energy</w:t></w:r><m:oMath><m:r><m:t>E=m</m:t></m:r>{power}</m:oMath></w:p>"
    alone = f"<w:p><m:oMathPara><m:oMath>{fraction}</m:oMath></m:oMathPara></w:p>"
    assert elements(make_docx(inline + alone)) == [
        ("paragraph", 0, "energy $E=mc^{2}$"),
        ("equation", 0, "$$\\frac{1}{ \\pi }$$"),
    ]


def test_text_boxes_once_although_the_file_has_them_twice():
    box = "<w:txbxContent>" + paragraph("in the box") + "</w:txbxContent>"
    new = f"<mc:Choice><w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
    old = f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
    body = f"<w:p><w:r><w:t>anchor</w:t><mc:AlternateContent>{new}{old}</mc:AlternateContent></w:r></w:p>"
    assert texts(body) == ["anchor", "in the box"]


def test_notes_comments_and_page_margins_are_notes():
    comment = f'<w:comments {NAMESPACES}><w:comment w:id="0" w:author="Ann" w:initials="A" w:date="2024-05-01">'
    comment += paragraph("really?") + "</w:comment></w:comments>"
    footnote = (
        f'<w:footnotes {NAMESPACES}><w:footnote w:id="2">' + paragraph("see there") + "</w:footnote></w:footnotes>"
    )
    margin = f"<w:hdr {NAMESPACES}>" + paragraph("Confidential") + "</w:hdr>"
    body = '<w:p><w:r><w:t>claim</w:t><w:footnoteReference w:id="2"/><w:commentReference w:id="0"/></w:r></w:p>'
    related = {"comments": comment, "footnotes": footnote, "header": margin, "footer": margin}
    assert elements(make_docx(body, related)) == [
        ("paragraph", 0, "claim[2]"),
        ("note", 0, "[2] see there"),
        ("note", 0, "Comment (author: Ann (A), time: 2024-05-01): really?"),
        ("note", 0, "Page header: Confidential"),
    ]


def test_links_name_their_element():
    body = paragraph("first") + '<w:p><w:hyperlink r:id="r1"><w:r><w:t>site</w:t></w:r></w:hyperlink></w:p>'
    document = read_docx(make_docx(body, links=["https://example.org/a"]))
    assert document.links == ((1, "https://example.org/a"),)


def test_charts_are_tables():
    points = "".join(
        f"<c:{kind}><c:pt idx='0'><c:v>{first}</c:v></c:pt><c:pt idx='1'><c:v>{second}</c:v></c:pt></c:{kind}>"
        for kind, first, second in (("cat", "2019", "2020"), ("val", "1.5", "4.4000000000000004"))
    )
    series = f"<c:ser><c:tx><c:v>Sales</c:v></c:tx>{points}</c:ser>"
    chart = f"<c:chartSpace {NAMESPACES}><c:chart><c:bar3DChart>{series}</c:bar3DChart></c:chart></c:chartSpace>"
    body = '<w:p><w:r><w:drawing><c:chart r:id="r1"/></w:drawing></w:r></w:p>'
    (table,) = read_docx(make_docx(body, {"chart": chart})).parts
    assert isinstance(table, Table)
    assert (table.title, table.headers) == ("Sales – Bar chart", ("", "Sales"))
    assert [it.cells for it in table.rows] == [("2019", "1.5"), ("2020", "4.4")]


def test_strict_documents_have_other_namespaces():
    data = make_docx(paragraph("strict"))
    body = f"<w:document {NAMESPACES}><w:body>{paragraph('strict')}</w:body></w:document>".replace(
        "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert read_docx(change_entries(data, {"word/document.xml": body})).parts == (Element("paragraph", "strict"),)


def test_everything_is_covered_but_what_was_deleted_or_moved_away():
    moved = "<w:p><w:moveFrom><w:r><w:t>many words from here</w:t></w:r></w:moveFrom></w:p>"
    document = read_docx(make_docx(paragraph("every word") + moved))
    assert [(page.engine, page.coverage) for page in document.pages] == [("docx", 1.0)]
    assert document.parts == (Element("paragraph", "every word"),)


def test_a_reader_that_misses_text_is_replaced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dowse.ingest.extract.documents.docx._DROPPED", frozenset(("w:smartTag",)))
    hidden = "<w:p><w:smartTag><w:r><w:t>many words it loses</w:t></w:r></w:smartTag></w:p>"
    missed = read_docx(make_docx("<w:p><w:r><w:t>one</w:t></w:r></w:p>" + hidden))
    assert [(page.engine, page.coverage) for page in missed.pages] == [("docx-runs", 1.0)]
    assert missed.notes == ("coverage 0.20: read as plain paragraphs",)
    assert [it.text for it in missed.parts if isinstance(it, Element)] == ["one", "many words it loses"]
