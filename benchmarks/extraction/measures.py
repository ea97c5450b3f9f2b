"""Compare an extracted document with the Markdown that is expected of it: words, reading order, table cells.

Both sides are normalised first. Markup is removed: comments and image marks, targets of links, emphasis, entities,
backslash escapes, rules of tables. A time of midnight is removed as well, because one side writes a day with it.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dowse.ingest.extract.documents.document import Document, Table

_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK: Final = re.compile(
    r"!?\[((?:\\.|[^\[\]\\]|\[[^\[\]]*\])*)\]"  # its text, with one pair of brackets in it
    r"\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)"
)
_TAG: Final = re.compile(r"(?i)</?(?:a|b|br|code|del|em|i|ins|mark|p|s|small|span|strong|sub|sup|u)\b[^<>]*>")
_ESCAPE: Final = re.compile(r"\\([^A-Za-z0-9\s])")
_EMPHASIS: Final = re.compile(r"\*+|~~|`+")
_MIDNIGHT: Final = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00:00\b")
_INVISIBLE: Final = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_WORD: Final = re.compile(r"\w+")
_ROW: Final = re.compile(r"^\s*\|(.*)\|\s*$")
_RULE: Final = re.compile(r"^[\s|:-]*-[\s|:-]*$")
_BAR: Final = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Text:
    """An extracted text and its table cells, in reading order."""

    text: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Scores:
    """Shares from 0 to 1; None where there is nothing to compare.

    recall: expected words that were extracted, counted with repetitions
    precision: extracted words that were expected, counted with repetitions
    order: words unique on both sides that follow each other as expected
    cells: expected table cells that are among the extracted cells, counted with repetitions
    """

    recall: float | None
    precision: float | None
    order: float | None
    cells: float | None


def score(expected_markdown: str, extracted: Text) -> Scores:
    """Score an extracted text against the expected Markdown."""
    expected, words = split_words(expected_markdown), split_words(extracted.text)
    return Scores(
        recall=share_found(expected, words),
        precision=share_found(words, expected),
        order=share_in_order(expected, words),
        cells=share_found(markdown_cells(expected_markdown), normalise_cells(extracted.cells)),
    )


def text_of_document(document: Document, *, is_sheet: bool = False) -> Text:
    """Return the words of a document once each: a row does not repeat the headers of its table.

    In a sheet every text is a cell: titles and paragraphs count as cells, too.
    """
    lines: list[str] = []
    cells: list[str] = []
    for part in document.parts:
        if isinstance(part, Table):
            rows = [part.headers, *(row.cells for row in part.rows)]
            lines += [part.title, *(" | ".join(row) for row in rows)]
            cells += [part.title] * is_sheet + [cell for row in rows for cell in row]
        else:
            lines.append(part.text)
            cells += [part.text] * is_sheet
    return Text("\n".join(lines), cells)


def text_of_markdown(markdown: str) -> Text:
    """Return what another extractor gave as Markdown."""
    return Text(markdown, markdown_cells(markdown))


# --- the three comparisons -------------------------------------------------------------------------


def share_found(expected: Iterable[str], found: Iterable[str]) -> float | None:
    """Return the share of the expected multiset that is in the found one; None if nothing is expected."""
    counts = Counter(expected)
    total = counts.total()
    return (counts & Counter(found)).total() / total if total else None


def share_in_order(expected: Sequence[str], found: Sequence[str]) -> float | None:
    """Return how many of the words that are unique on both sides form an increasing sequence; None below two words."""
    once = {word for word, count in Counter(expected).items() if count == 1}
    once &= {word for word, count in Counter(found).items() if count == 1}
    position = {word: index for index, word in enumerate(found) if word in once}
    positions = [position[word] for word in expected if word in once]
    return _longest_increasing(positions) / len(positions) if len(positions) > 1 else None


def _longest_increasing(numbers: Iterable[int]) -> int:
    tails: list[int] = []
    for number in numbers:
        index = bisect_left(tails, number)
        tails[index : index + 1] = [number]
    return len(tails)


# --- what is compared ------------------------------------------------------------------------------


def split_words(markdown: str) -> list[str]:
    """Return the words of a text without markup, in lower case."""
    words = (word.strip("_") for word in _WORD.findall(remove_markup(markdown).lower()))
    return [word for word in words if word]


def remove_markup(markdown: str) -> str:
    """Return the text of Markdown: links without their targets, no comments, entities, escapes or emphasis."""
    text = _COMMENT.sub(" ", markdown)
    for _ in range(2):  # an image in a link
        text = _LINK.sub(r"\1", text)
    text = _TAG.sub(lambda tag: " " if tag[0].lower().startswith(("<br", "<p", "</p")) else "", text)
    text = _ESCAPE.sub(r"\1", _EMPHASIS.sub("", html.unescape(text)))
    return _MIDNIGHT.sub(r"\1", _INVISIBLE.sub("", text))


def markdown_cells(markdown: str) -> list[str]:
    """Return the cells of all Markdown tables that have a word or a sign, normalised."""
    found: list[str] = []
    for line in _COMMENT.sub(" ", markdown).splitlines():
        row = _ROW.match(line)
        if row and not _RULE.match(line):
            found += normalise_cells(_BAR.split(row[1]))
    return found


def normalise_cells(cells: Iterable[str]) -> list[str]:
    """Return cells as their words with one space between them, or as their signs if they have no word."""
    found = ((" ".join(split_words(cell)) or "".join(remove_markup(cell).split())) for cell in cells)
    return [cell for cell in found if cell]
