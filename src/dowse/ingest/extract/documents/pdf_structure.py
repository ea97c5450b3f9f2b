"""Lines of PDF pages in reading order, grouped into headings, paragraphs, list items, captions and code."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Final

from dowse.ingest.extract.documents.document import MAX_HEADING_LEVEL, Element, PageBox, Role, Row, Table
from dowse.ingest.extract.documents.pdf_layout import FoundTable, LayoutBlock
from dowse.ingest.extract.documents.pdf_text import BULLET, TextLine, unite
from dowse.model import Box

_BAND_SHARE: Final = 0.12
_MIN_RUNNING_PAGES: Final = 3
_RUNNING_SHARE: Final = 0.4
_POSITION_POINTS: Final = 4.0

_MAX_LINE_GAP: Final = 0.75
_SAME_SIZE: Final = 0.12
_HEADING_SIZE: Final = 1.12
_NOTE_SIZE: Final = 0.88
_MAX_HEADING_CHARS: Final = 200
_MAX_HEADING_LINES: Final = 4
_MAX_TABLE_GAP_POINTS: Final = 40.0
_MIN_CONTENTS_ROWS: Final = 3
_MAX_CONTENTS_CHARS: Final = 400
_MAX_ORDERED_LINES: Final = 2_000
_MAX_CELL_SHARE: Final = 0.22
_MAX_WORD_CHARS: Final = 60
_MAX_PARAGRAPH_CHARS: Final = 20_000

_BULLETS: Final = "•◦▪▫‣⁃●○■□◆◇►▶➢➤✓✔❖☐☑☒·∙–—*\uf0b7"
_BULLET: Final = re.compile(rf"([{re.escape(_BULLETS)}-])\s+(?=\S)")
_NUMBER: Final = re.compile(r"(?:\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|\d{1,2}(?:\.\d{1,2})+\.?)\s+(?=\S)")
_HEADING_NUMBER: Final = re.compile(
    r"(?:chapter|section|appendix|part|kapitel)?\s*(\d{1,2}(?:\.\d{1,3})*|[IVX]+)\.?\s", re.I
)
_CAPTION: Final = re.compile(
    r"(?:figure|fig\.|table|tab\.|listing|chart|scheme|algorithm|example|abbildung|abb\.|tabelle|bild|figura|tableau"
    r"|표|그림|図|表|图)\s*[A-Z]?\d+(?:[.-]\d+)*\b|\[(?:표|그림)\s*\d+\]",
    re.IGNORECASE,
)
_TABLE_CAPTION: Final = re.compile(r"\[?(?:table|tab\.|tabelle|tableau|표|表)", re.IGNORECASE)
_CONTENTS_LINE: Final = re.compile(r"(.*?\S)\s*(?:[.…·_]\s?){4,}\s*(\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d+)", re.IGNORECASE)
_SENTENCE_END: Final = re.compile(r"[.!?:;。！？؟…][\"'”’)\]»]*$")
_HANGING_HYPHEN: Final = re.compile(r"(?:and|or|to|und|oder|bis|et|ou|y|e)\b", re.IGNORECASE)
_HYPHENATED_WORD: Final = re.compile(r"[\w-]+")
_DIGITS: Final = re.compile(r"\d+")
_PAGE_NUMBER: Final = re.compile(
    r"(?:page\s+|seite\s+|p\.\s*)?[-–—\s]*(?:\d{1,5}|[ivxlc]{1,7})[-–—\s]*(?:(?:of|von|/)\s*\d+)?", re.I
)
_EDGE_NUMBER: Final = re.compile(r"^\d{1,5}\b|\b\d{1,5}$|^[ivxlc]{1,7}\b|\b[ivxlc]{1,7}$")
_CASED: Final = re.compile(r"[a-zà-öø-ÿа-яα-ω]")
_UNCASED: Final = re.compile(r"[\u0590-\u0dff\u0e00-\u0eff\u1100-\u11ff\u3040-\ud7ff\ufb1d-\ufdff\ufe70-\ufeff]")


@dataclass(slots=True)
class PageDraft:
    """A page between reading and assembly: lines outside tables with their layout blocks, and tables."""

    page: int
    width: float
    height: float
    lines: list[TextLine]
    tables: list[FoundTable] = field(default_factory=list)
    blocks: tuple[LayoutBlock, ...] = ()
    positions: list[int] = field(default_factory=list)  # of the lines in content order, tables included
    running: list[TextLine] = field(default_factory=list)
    is_right_to_left: bool = False
    groups: list[list[TextLine]] | None = None  # the lines by paragraph, if the engine gives them in reading order


# --- repeated headers and footers -------------------------------------------------------------------


def drop_running_lines(drafts: Sequence[PageDraft]) -> None:
    """Move headers, footers and page numbers from the lines of each page to its `running` lines.

    A line in the top or bottom band is dropped if its text, without digits, repeats at the same height on many pages.
    At a height where many pages have such a line, a line that begins or ends with a number is dropped too.
    """
    needed = max(min(_MIN_RUNNING_PAGES, len(drafts)), _RUNNING_SHARE * len(drafts))
    if len(drafts) < 2:
        needed = 2
    heading_size = _HEADING_SIZE * measure_body_size(drafts)
    texts: dict[tuple[str, int], set[int]] = defaultdict(set)
    heights: dict[int, set[int]] = defaultdict(set)
    for index, draft in enumerate(drafts):
        for line in draft.lines:
            if band := _band(draft, line):
                texts[_running_key(line, heading_size), band].add(index)
                if _EDGE_NUMBER.search(line.text) or _PAGE_NUMBER.fullmatch(line.text):
                    heights[band].add(index)
    for draft in drafts:
        edges = _outer_edges(draft)
        rows = _rows_with_numbers(draft, edges)
        kept: list[TextLine] = []
        positions: list[int] = []
        for line, position in zip(draft.lines, draft.positions, strict=True):
            band = _band(draft, line)
            repeats = _count_near(texts, _running_key(line, heading_size), band) >= needed if band else False
            numbered = (
                band in rows
                and line.size < heading_size
                and len(heights[band] | heights[band - 1] | heights[band + 1]) >= needed
            )
            is_number = bool(band) and _PAGE_NUMBER.fullmatch(line.text) is not None and _is_outermost(line, edges)
            if band and (repeats or numbered or is_number):
                draft.running.append(line)
            else:
                kept.append(line)
                positions.append(position)
        draft.lines, draft.positions = kept, positions


def _band(draft: PageDraft, line: TextLine) -> int:
    """Return the height of a line in steps, from the top (positive) or the bottom (negative); 0 outside the bands."""
    middle = line.middle[1]
    if middle < _BAND_SHARE * draft.height:
        return 1 + int(max(0.0, middle) / _POSITION_POINTS)
    if middle > (1 - _BAND_SHARE) * draft.height:
        return -1 - int(max(0.0, draft.height - middle) / _POSITION_POINTS)
    return 0


def _running_key(line: TextLine, heading_size: float) -> str:
    """Return a text without its digits; those of a heading count, as "Chapter 1" and "Chapter 2" do not repeat."""
    text = line.text.casefold()
    return text if line.size >= heading_size else _DIGITS.sub("#", text)


def _count_near(texts: Mapping[tuple[str, int], set[int]], key: str, band: int) -> int:
    pages: set[int] = set()
    for step in (band - 1, band, band + 1):
        pages |= texts.get((key, step), set())
    return len(pages)


def _rows_with_numbers(draft: PageDraft, edges: tuple[float, float]) -> set[int]:
    """Return the bands in which a line begins or ends with a number, and nothing stands further out."""
    return {
        band
        for line in draft.lines
        if (band := _band(draft, line)) and _EDGE_NUMBER.search(line.text) and _is_outermost(line, edges)
    }


def _outer_edges(draft: PageDraft) -> tuple[float, float]:
    """Return the bottom of the topmost line and the top of the lowest one."""
    bottoms, tops = [line.box[3] for line in draft.lines], [line.box[1] for line in draft.lines]
    return min(bottoms, default=0.0), max(tops, default=0.0)


def _is_outermost(line: TextLine, edges: tuple[float, float]) -> bool:
    return line.box[1] - 1 <= edges[0] or line.box[3] + 1 >= edges[1]


# --- reading order ----------------------------------------------------------------------------------


def order_lines(draft: PageDraft) -> str:
    """Sort the lines of a page into reading order; return the order's name: content, layout or columns.

    The content order is right in most files. Another order is taken if it jumps clearly less over the page.
    """
    lines = draft.lines
    if draft.groups is not None or len(lines) > _MAX_ORDERED_LINES:
        return "content"
    orders = {"content": list(range(len(lines)))}
    if draft.blocks and not draft.is_right_to_left:
        ranks = [_block_of(line, draft.blocks) for line in lines]
        orders["layout"] = sorted(
            orders["content"], key=lambda i: (ranks[i] if ranks[i] >= 0 else len(draft.blocks), i)
        )
    orders["columns"] = cut_columns(lines, right_to_left=draft.is_right_to_left)
    costs = {
        name: _count_jumps([lines[i] for i in order], draft.is_right_to_left, draft.width)
        for name, order in orders.items()
    }
    best = min(costs, key=lambda name: costs[name])
    if costs["content"] <= 1.5 * costs[best] + 1:
        best = "content"
    draft.lines = [lines[i] for i in orders[best]]
    if best != "content":
        draft.positions = list(range(len(lines)))
        draft.tables = [table._replace(first_line=-1) for table in draft.tables]
    return best


def _count_jumps(lines: Sequence[TextLine], right_to_left: bool, page_width: float) -> int:
    """Count the steps that go up, back on the same row, or down to a place beside the last line.

    Short pieces side by side are the cells of a table without rules: a step from one of its rows to the next is none.
    """
    jumps = 0
    in_table = False
    row: list[float] = []  # the widths of the pieces of the row so far, if there are two or more
    for last, line in pairwise(lines):
        if _share_row(last, line):
            jumps += (line.box[0] > last.box[0]) if right_to_left else (line.box[0] < last.box[0])
            row += [line.width] if row else [last.width, line.width]
            continue
        if row:
            in_table = sum(row) / len(row) < _MAX_CELL_SHARE * page_width
        elif last.width > 2 * _MAX_CELL_SHARE * page_width:
            in_table = False
        if line.middle[1] < last.middle[1]:
            jumps += 1
        elif not in_table:
            jumps += not _overlap_columns(last.box, line.box)
        row = []
    return jumps


def _share_row(first: TextLine, second: TextLine) -> bool:
    overlap = min(first.box[3], second.box[3]) - max(first.box[1], second.box[1])
    return overlap > 0.5 * min(first.height, second.height)


def _overlap_columns(first: Box, second: Box) -> bool:
    return min(first[2], second[2]) - max(first[0], second[0]) > 0


def cut_columns(lines: Sequence[TextLine], *, right_to_left: bool = False) -> list[int]:
    """Return the indexes of lines in the order of a recursive cut into columns and rows (XY cut)."""
    order: list[int] = []
    pending = [list(range(len(lines)))]
    while pending:
        group = pending.pop()
        if len(group) < 2:
            order += group
            continue
        parts = _cut(group, [lines[i].box for i in group], axis=0)
        if len(parts) > 1 and right_to_left:
            parts.reverse()
        if len(parts) < 2:
            parts = _cut(group, [lines[i].box for i in group], axis=1)
        if len(parts) < 2:
            order += sorted(group, key=lambda i: (round(lines[i].middle[1] / 3), lines[i].box[0]))
        else:
            pending += reversed(parts)
    return order


_MIN_GUTTER_POINTS: Final = 7.0


def _cut(group: list[int], boxes: list[Box], *, axis: int) -> list[list[int]]:
    """Split a group at its widest gap along an axis: 0 between columns, 1 between rows."""
    ordered = sorted(zip(group, boxes, strict=True), key=lambda pair: pair[1][axis])
    reach, gap, cut = ordered[0][1][axis + 2], 0.0, 0
    for index, (_, box) in enumerate(ordered):
        if index and box[axis] - reach > gap:
            gap, cut = box[axis] - reach, index
        reach = max(reach, box[axis + 2])
    if not cut or (axis == 0 and gap < _MIN_GUTTER_POINTS):
        return [group]
    first, second = ordered[:cut], ordered[cut:]
    return [sorted(i for i, _ in first), sorted(i for i, _ in second)]


def _block_of(line: TextLine, blocks: Sequence[LayoutBlock]) -> int:
    """Return the index of the smallest block around the middle of a line, or -1."""
    x, y = line.middle
    best, best_area = -1, float("inf")
    for index, block in enumerate(blocks):
        left, top, right, bottom = block.box
        if left - 1 <= x <= right + 1 and top - 1 <= y <= bottom + 1:
            area = (right - left) * (bottom - top)
            if area < best_area:
                best, best_area = index, area
    return best


# --- from lines to elements -------------------------------------------------------------------------


@dataclass(slots=True)
class Paragraph:
    """Lines of one element and where they stand; `role` is decided once the document's sizes are known."""

    lines: list[TextLine]
    page: int
    block: LayoutBlock | None = None
    role: Role = "paragraph"
    places: list[PageBox] = field(default_factory=list)
    text: str = ""
    level: int = 0

    @property
    def size(self) -> float:
        return max(self.lines, key=lambda line: len(line.text)).size

    @property
    def is_bold(self) -> bool:
        return all(line.is_bold for line in self.lines)


Part = Paragraph | Table


@dataclass(frozen=True, slots=True)
class Style:
    """What holds for the whole document: its body size, its words, and its outline as titles with levels."""

    body_size: float
    words: frozenset[str]
    outline: Mapping[tuple[int, str], int]


def measure_style(drafts: Sequence[PageDraft], outline: Mapping[tuple[int, str], int]) -> Style:
    """Return the style of a document: of its words only those that a hyphen at a line end asks for."""
    asked: set[str] = set()
    for draft in drafts:
        for last, line in pairwise(draft.lines):
            if last.has_hyphen or last.text.endswith("-"):
                first, second = _last_word(last.text.rstrip("-")), _first_word(line.text)
                asked |= {first + second, f"{first}-{second}"}
    words = {
        word
        for draft in drafts
        if asked
        for line in draft.lines
        for word in _HYPHENATED_WORD.findall(line.text.casefold())
        if word in asked
    }
    return Style(measure_body_size(drafts), frozenset(words), outline)


def measure_body_size(drafts: Sequence[PageDraft]) -> float:
    """Return the font size of most characters."""
    sizes: Counter[float] = Counter()
    for draft in drafts:
        for line in draft.lines:
            sizes[_round_size(line.size)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 10.0


def build_parts(draft: PageDraft, style: Style) -> list[Part]:
    """Return the paragraphs and tables of a page in reading order."""
    paragraphs = []
    for paragraph in _group_lines(draft):
        if not any(char.isalnum() for line in paragraph.lines for char in line.text):
            continue
        paragraphs.append(paragraph)
        paragraph.text = join_lines(paragraph, style.words)
        paragraph.role = _find_role(paragraph, style)
        paragraph.places = _places(paragraph)
    parts = _insert_tables(draft, paragraphs)
    return _collect_contents(parts)


def _group_lines(draft: PageDraft) -> list[Paragraph]:
    if draft.groups is not None:
        return _split_groups(draft)
    groups: list[Paragraph] = []
    last: TextLine | None = None
    last_block = -1
    right_edges = _right_edges(draft)
    table_positions = sorted(table.first_line for table in draft.tables)
    last_position = -1
    for line, position in zip(draft.lines, draft.positions, strict=True):
        block = _block_of(line, draft.blocks)
        between = any(last_position < it <= position for it in table_positions)
        if last and not between and not _starts_paragraph(last, line, last_block, block, right_edges, draft):
            groups[-1].lines.append(line)
        else:
            layout = draft.blocks[block] if block >= 0 else None
            groups.append(Paragraph([line], draft.page, layout))
        last, last_block, last_position = line, block, position
    return groups


def _split_groups(draft: PageDraft) -> list[Paragraph]:
    """Return the paragraphs of the engine, split where a list item begins."""
    left = {id(line) for line in draft.lines}
    paragraphs: list[Paragraph] = []
    for group in draft.groups or ():
        lines = [line for line in group if id(line) in left]
        size = max((line.size for line in lines), default=0.0)  # a line without tall letters looks smaller
        for index, line in enumerate(lines):
            line = replace(line, size=size)
            if index == 0 or _starts_item(line.text):
                paragraphs.append(Paragraph([line], draft.page))
            else:
                paragraphs[-1].lines.append(line)
    return paragraphs


def _right_edges(draft: PageDraft) -> dict[int, float]:
    """Return the right edge of the column that begins at each left edge, in steps of ten points."""
    edges: dict[int, float] = {}
    for line in draft.lines:
        step = int(line.box[0] // 10)
        edges[step] = max(edges.get(step, 0.0), line.box[2])
    return edges


def _starts_paragraph(
    last: TextLine,
    line: TextLine,
    last_block: int,
    block: int,
    right_edges: Mapping[int, float],
    draft: PageDraft,
) -> bool:
    if last.is_mono != line.is_mono and min(len(last.text), len(line.text)) > 1:
        return True
    if _share_row(last, line):
        return last_block != block and abs(line.box[0] - last.box[2]) > 2 * line.size
    if _starts_item(line.text) or match_contents(last.text) or match_contents(line.text):
        return True
    if last.has_hyphen:
        return False
    gap = line.box[1] - last.box[3]
    if (
        line.middle[1] < last.middle[1]
        or not _overlap_columns(last.box, line.box)
        or gap > _MAX_LINE_GAP * line.size + 2
    ):
        return True
    if abs(last.size - line.size) > _SAME_SIZE * max(last.size, line.size) or last.is_bold != line.is_bold:
        return not _is_run_in(last, line)
    if last.is_mono and line.is_mono:
        return False
    if _CAPTION.match(line.text) and _ends_sentence(last.text):
        return True
    ended = _ends_sentence(last.text)
    if last_block != block and last_block >= 0 and block >= 0 and (ended or line.text[:1].isupper()):
        return True
    if draft.is_right_to_left:
        return False
    indent = line.box[0] - last.box[0]
    edge = right_edges.get(int(last.box[0] // 10), last.box[2])
    is_short = last.box[2] < edge - 0.12 * (edge - last.box[0])
    return ended and (is_short or 0.7 * line.size < indent < 5 * line.size)


def _is_run_in(last: TextLine, line: TextLine) -> bool:
    """Check whether a change of style stands inside a sentence: bold words at a line end, a superscript."""
    if abs(last.size - line.size) > _SAME_SIZE * max(last.size, line.size):
        return len(line.text) <= 3 or len(last.text) <= 3
    return bool(_CASED.match(line.text)) and not _ends_sentence(last.text)


def _ends_sentence(text: str) -> bool:
    return _SENTENCE_END.search(text[-8:]) is not None


def _starts_item(text: str) -> bool:
    return bool(_BULLET.match(text) or _NUMBER.match(text))


def join_lines(paragraph: Paragraph, words: frozenset[str]) -> str:
    """Join the lines of a paragraph. A hyphen at a line end goes unless the document writes the word with one."""
    if all(line.is_mono for line in paragraph.lines):
        return _join_code(paragraph.lines)
    text = ""
    for line in paragraph.lines:
        text = append_text(text, line.text, words)
        if line.has_hyphen:
            text += "\u00ad"
    return text.rstrip("\u00ad") + ("-" if text.endswith("\u00ad") else "")


def append_text(text: str, following: str, words: frozenset[str]) -> str:
    """Append the text of the next line. A trailing soft hyphen or hyphen joins the halves of a word."""
    if not text or not following:
        return text + following
    if text.endswith("\u00ad"):
        if _HANGING_HYPHEN.match(following):
            return f"{text[:-1]}- {following}"
        return _join_word(text[:-1], following, words)
    if text[-1] == "-" and text[-2:-1].isalnum() and following[0].isalnum() and not _HANGING_HYPHEN.match(following):
        return _join_word(text[:-1], following, words)
    if _ends_ideograph(text[-1]) and _ends_ideograph(following[0]):
        return text + following
    return f"{text} {following}"


def _join_word(text: str, following: str, words: frozenset[str]) -> str:
    first, second = _last_word(text), _first_word(following)
    if f"{first}-{second}" in words and f"{first}{second}" not in words:
        return f"{text}-{following}"
    if second[:1].isdigit() or following[:1].isupper():
        return f"{text}-{following}"
    return text + following


def _last_word(text: str) -> str:
    match = re.search(r"[\w-]*$", text[-_MAX_WORD_CHARS:])
    return match.group().casefold() if match else ""


def _first_word(text: str) -> str:
    match = _HYPHENATED_WORD.match(text)
    return match.group().casefold() if match else ""


def _ends_ideograph(char: str) -> bool:
    return "\u3040" <= char <= "\u30ff" or "\u4e00" <= char <= "\u9fff"


def _join_code(lines: Sequence[TextLine]) -> str:
    """Join lines of code; their distance from the left edge becomes spaces."""
    left = min(line.box[0] for line in lines)
    texts: list[str] = []
    last: TextLine | None = None
    for line in lines:
        width = line.width / max(1, len(line.text))
        if last and _share_row(last, line):
            texts[-1] += " " + line.text
        else:
            texts.append(" " * round((line.box[0] - left) / max(width, 1.0)) + line.text)
        last = line
    return "\n".join(texts)


def _find_role(paragraph: Paragraph, style: Style) -> Role:
    text, lines = paragraph.text, paragraph.lines
    kind = paragraph.block.kind if paragraph.block else ""
    if all(line.is_mono for line in lines) and (len(lines) > 1 or kind == "code"):
        return "code"
    if style.outline and len(text) < _MAX_HEADING_CHARS and (paragraph.page, title_key(text)) in style.outline:
        return "heading"
    if _CAPTION.match(text) and len(text) < 1200 and not re.match(r"\S+\s\S+\s+(?:shows|lists|is|summarizes)\b", text):
        return "caption"
    if _is_heading(paragraph, kind, style):
        return "heading"
    is_item = kind == "list_item" and paragraph.block is not None and lines[0].box[1] < paragraph.block.box[1] + 4
    if is_item or _BULLET.match(text) or _NUMBER.match(text):
        return "note" if paragraph.size < _NOTE_SIZE * style.body_size and _NUMBER.match(text) else "list_item"
    return "paragraph"


def _is_heading(paragraph: Paragraph, kind: str, style: Style) -> bool:
    text = paragraph.text
    if (
        len(text) > _MAX_HEADING_CHARS
        or len(paragraph.lines) > _MAX_HEADING_LINES
        or not re.search(r"[^\W\d_]{2}", text)
    ):
        return False
    if _BULLET.match(text):
        return False
    if paragraph.size >= _HEADING_SIZE * style.body_size:
        return True
    ends = _ends_sentence(text)
    if not paragraph.is_bold or len(paragraph.lines) > 2 or paragraph.size < _NOTE_SIZE * style.body_size:
        return False
    return not ends and (kind == "heading" or _HEADING_NUMBER.match(text) is not None or len(text) < 80)


def title_key(text: str) -> str:
    """Return a heading without its number and case, to be compared with the outline."""
    return re.sub(r"^[\d.\s]+|\W+", " ", text.casefold()).strip()


def _places(paragraph: Paragraph) -> list[PageBox]:
    """Return one box per column that the lines cover."""
    places: list[list[Box]] = []
    last: TextLine | None = None
    for line in paragraph.lines:
        if last and (line.middle[1] >= last.middle[1] - last.height or _share_row(last, line)):
            places[-1].append(line.box)
        else:
            places.append([line.box])
        last = line
    return [PageBox(paragraph.page, unite(boxes)) for boxes in places]


# --- tables in their place, tables of contents ------------------------------------------------------


def _insert_tables(draft: PageDraft, paragraphs: list[Paragraph]) -> list[Part]:
    """Put each table after the paragraph above it, or at its place in content order; a caption becomes its title."""
    parts: list[Part] = list(paragraphs)
    starts = dict(zip(map(id, draft.lines), draft.positions, strict=True))
    for found in sorted(draft.tables, key=lambda table: table.box[1]):
        above = _nearest(parts, found.box, below=False)
        under = _nearest(parts, found.box, below=True)
        table = found.table
        caption = next(
            (it for it in (above, under) if it and it.role == "caption" and _TABLE_CAPTION.match(it.text)), None
        )
        place = _find_place(parts, found, starts)
        if above is not None:
            place = _index(parts, above) + 1
        if caption is not None:
            place = _index(parts, caption)
            parts.pop(place)
            table = replace(table, title=caption.text, places=(*caption.places, *table.places))
        parts.insert(place, table)
    return parts


def _index(parts: Sequence[Part], wanted: Part) -> int:
    return next(index for index, part in enumerate(parts) if part is wanted)


def _find_place(parts: Sequence[Part], found: FoundTable, starts: Mapping[int, int]) -> int:
    for index, part in enumerate(parts):
        if isinstance(part, Paragraph):
            if found.first_line >= 0 and starts[id(part.lines[0])] > found.first_line:
                return index
            if found.first_line < 0 and part.lines[0].box[1] > found.box[1]:
                return index
    return len(parts)


def _nearest(parts: Sequence[Part], box: Box, *, below: bool) -> Paragraph | None:
    """Return the paragraph directly above or below a box, if there is one within a short distance."""
    best: Paragraph | None = None
    best_gap = _MAX_TABLE_GAP_POINTS
    for part in parts:
        if isinstance(part, Paragraph):
            last = unite([line.box for line in part.lines])
            gap = last[1] - box[3] if below else box[1] - last[3]
            if -2 <= gap < best_gap and _overlap_columns(last, box):
                best, best_gap = part, gap
    return best


def _collect_contents(parts: list[Part]) -> list[Part]:
    """Turn runs of lines with leaders and a page number, as in a table of contents, into tables."""
    collected: list[Part] = []
    for is_contents, run in groupby(parts, _is_contents_line):
        lines = [part for part in run if isinstance(part, Paragraph) or not is_contents]
        if not is_contents:
            collected += lines
            continue
        rows = []
        for part in lines:
            match = match_contents(part.text) if isinstance(part, Paragraph) else None
            if match and isinstance(part, Paragraph):
                part.text = f"{match.group(1)} {match.group(2)}"
                rows.append(Row((match.group(1), match.group(2)), tuple(part.places)))
        if len(rows) < _MIN_CONTENTS_ROWS:
            collected += lines
        else:
            boxes = [place.box for row in rows for place in row.places if place.box]
            collected.append(Table(tuple(rows), places=(PageBox(rows[0].places[0].page, unite(boxes)),)))
    return collected


def _is_contents_line(part: Part) -> bool:
    return isinstance(part, Paragraph) and match_contents(part.text) is not None


def match_contents(text: str) -> re.Match[str] | None:
    """Match a line of a table of contents: `Pumps . . . . . 12`."""
    return _CONTENTS_LINE.fullmatch(text) if len(text) < _MAX_CONTENTS_CHARS and text[-1:].isalnum() else None


# --- the whole document -----------------------------------------------------------------------------


def join_parts(pages: Sequence[Sequence[Part]], style: Style) -> list[Part]:
    """Join the parts of all pages; a paragraph that continues after a column or page break becomes one."""
    joined: list[Part] = []
    for parts in pages:
        for part in parts:
            if isinstance(part, Paragraph) and part.role == "paragraph":
                open_paragraph = _find_open(joined, part)
                if open_paragraph is not None:
                    text = open_paragraph.text
                    if open_paragraph.lines[-1].has_hyphen:
                        text = text.removesuffix("-") + "\u00ad"
                    open_paragraph.text = append_text(text, part.text, style.words)
                    open_paragraph.lines += part.lines
                    open_paragraph.page = part.page  # a third page may continue it
                    open_paragraph.places += part.places
                    continue
            joined.append(part)
    return joined


def _find_open(joined: Sequence[Part], part: Paragraph) -> Paragraph | None:
    """Return the paragraph that `part` continues, looking back over captions, notes and tables."""
    for last in reversed(joined[-4:]):
        if isinstance(last, Table) or last.role in ("caption", "note"):
            continue
        return last if last.role in ("paragraph", "list_item") and _continues(last, part) else None
    return None


def _continues(last: Paragraph, part: Paragraph) -> bool:
    end, start = last.lines[-1], part.lines[0]
    if len(last.text) > _MAX_PARAGRAPH_CHARS:
        return False
    is_break = last.page != part.page or start.middle[1] < end.middle[1] - end.height
    if not is_break or part.page - last.page > 1 or abs(last.size - part.size) > _SAME_SIZE * part.size:
        return False
    if _ends_sentence(last.text) or last.is_bold != part.is_bold:
        return False
    if end.has_hyphen or _CASED.match(part.text):
        return True
    return bool(_UNCASED.match(part.text)) and end.width > 0.85 * max(line.width for line in last.lines)


def rank_headings(parts: Sequence[Part], style: Style) -> None:
    """Set the level of headings: from the outline, else from their number, else by their size.

    A heading without a number has the level of the numbered ones of its size, or one below the next larger ones.
    """
    headings = [part for part in parts if isinstance(part, Paragraph) and part.role == "heading"]
    levels: dict[float, int] = {}
    for heading in headings:
        heading.level = style.outline.get((heading.page, title_key(heading.text)), 0)
        number = _HEADING_NUMBER.match(heading.text)
        if not heading.level and number:
            heading.level = number.group(1).count(".") + 1
        if heading.level:
            levels.setdefault(_round_size(heading.size), heading.level)
    for size in sorted({_round_size(heading.size) for heading in headings}, reverse=True):
        levels.setdefault(size, max((level for other, level in levels.items() if other > size), default=0) + 1)
    for heading in headings:
        heading.level = min(heading.level or levels[_round_size(heading.size)], MAX_HEADING_LEVEL)


def _round_size(size: float) -> float:
    return round(size * 2) / 2


def rank_items(parts: Sequence[Part]) -> None:
    """Set the depth of list items by their indent."""
    edges: list[float] = []
    last: TextLine | None = None
    page = 0
    for part in parts:
        if not isinstance(part, Paragraph) or part.role != "list_item":
            if isinstance(part, Paragraph) and part.role == "heading":
                edges = []
            continue
        if last and page == part.page and part.lines[0].box[1] < last.box[1]:
            edges = []  # the next column
        last, page = part.lines[-1], part.page
        left = part.lines[0].box[0]
        edges = [edge for edge in edges if edge < left - 4]
        part.level = len(edges)
        edges.append(left)


def to_element(paragraph: Paragraph) -> Element:
    text = paragraph.text
    if paragraph.role == "list_item":
        text = _BULLET.sub("", text, count=1) if _BULLET.match(text) else text
    elif paragraph.role in ("paragraph", "heading"):
        text = text.removeprefix(BULLET).strip()
    return Element(paragraph.role, text, tuple(paragraph.places), paragraph.level)
