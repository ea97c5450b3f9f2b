"""The measures of document extraction: words, order, cells, and markup that must not count."""

from __future__ import annotations

import pytest

from dowse.ingest.extract.documents.document import Document, Element, Row, Table
from extraction.measures import (
    Text,
    markdown_cells,
    score,
    share_found,
    share_in_order,
    split_words,
    text_of_document,
    text_of_markdown,
)


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("**un***believ*able `code`", ["unbelievable", "code"]),
        ("[text](http://a.b/c_(d)) ![alt](x.png)", ["text", "alt"]),
        ("[![alt](x.png)](http://a.b)", ["alt"]),
        (r"fact[[5]](#cite_note-5) [\[ 6 \]](#note)", ["fact", "5", "6"]),
        ("<!-- image --> a<br>b H<sub>2</sub>O", ["a", "b", "h2o"]),
        (r"snake\_case \* &lt;b&gt; &amp;", ["snake_case", "b"]),
        (r"$\frac{a}{b}$ _emphasis_", ["frac", "a", "b", "emphasis"]),
        (
            "2024-01-01 00:00:00 and 2024-01-01 00:00:30",
            ["2024", "01", "01", "and", "2024", "01", "01", "00", "00", "30"],
        ),
        ("soft\u00adhyphen zero\u200bwidth", ["softhyphen", "zerowidth"]),
    ],
)
def test_markup_does_not_count(markdown: str, words: list[str]):
    assert split_words(markdown) == words


@pytest.mark.parametrize(
    ("expected", "found", "share"),
    [("a b c", "c b a", 1.0), ("a a", "a", 0.5), ("a b", "", 0.0), ("", "a", None)],
)
def test_words_count_with_repetitions(expected: str, found: str, share: float | None):
    assert share_found(expected.split(), found.split()) == share


@pytest.mark.parametrize(
    ("expected", "found", "share"),
    [
        ("a b c d", "a b c d", 1.0),
        ("a b c d", "a c b d", 0.75),
        ("a b c d", "d c b a", 0.25),
        ("a a b c", "c b a x", 0.5),
        ("a", "a", None),
        ("a b", "c d", None),
    ],
)
def test_order_is_that_of_unique_words(expected: str, found: str, share: float | None):
    assert share_in_order(expected.split(), found.split()) == share


def test_cells_of_markdown_tables():
    assert markdown_cells("text | no table\n\n| a\\|b | **c** |\n| - | :-: |\n|  | : |\n") == ["a b", "c", ":"]


def test_a_document_counts_its_headers_once():
    table = Table((Row(("1", "2")), Row(("3", ""))), ("A", "B"), "Title")
    document = Document((Element("heading", "Head"), table), "x")
    assert text_of_document(document) == Text("Head\nTitle\nA | B\n1 | 2\n3 | ", ["A", "B", "1", "2", "3", ""])
    assert text_of_document(document, is_sheet=True).cells == ["Head", "Title", "A", "B", "1", "2", "3", ""]


def test_a_text_is_scored_against_itself():
    markdown = "# Head\n\nSome words\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    scores = score(markdown, text_of_markdown(markdown))
    assert (scores.recall, scores.precision, scores.order, scores.cells) == (1.0, 1.0, 1.0, 1.0)
