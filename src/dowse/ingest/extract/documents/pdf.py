"""Read a PDF: text by pdfium, structure and tables by liteparse, pages without text by OCR.

Each page goes along the chain of engines until its coverage, the share of the words of pdfium's raw text that the
elements hold, is at least `MIN_COVERAGE`.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Document, Table
from dowse.ingest.extract.documents.ocr import (
    DEFAULT_OCR_LIMITS,
    OCR_ENGINE,
    OCR_EXTRA,
    OcrBudget,
    OcrFailed,
    OcrLimits,
    OcrMissing,
    is_installed,
    recognize_page,
)
from dowse.ingest.extract.documents.pdf_layout import (
    LayoutFailed,
    PageLayout,
    find_tables,
    read_layouts,
)
from dowse.ingest.extract.documents.pdf_structure import (
    PageDraft,
    Paragraph,
    Part,
    Style,
    build_parts,
    drop_running_lines,
    join_parts,
    measure_style,
    order_lines,
    rank_headings,
    rank_items,
    title_key,
    to_element,
)
from dowse.ingest.extract.documents.pdf_text import (
    LINE_HYPHEN,
    MAX_SPARSE_CHARS,
    PageText,
    TextLine,
    UnsafeOutline,
    is_garbled,
    measure_right_to_left,
    open_pdf,
    read_outline,
    read_page_text,
    read_words,
    space_scripts,
    unite,
)
from dowse.model import Box, PageReport

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

MIN_COVERAGE: Final = 0.9
MAX_RIGHT_TO_LEFT: Final = 0.3
MIN_SCAN_SHARE: Final = 0.5
MAX_LAYOUT_LINES: Final = 4_000
MIN_OCR_GAIN: Final = 1.5
NO_OCR: Final = f"no text layer, and OCR is not installed (`{OCR_EXTRA}`)"

_PDFIUM: Final = "pdfium"
_LITEPARSE: Final = "liteparse"
_MAX_TITLE_CHARS: Final = 200
_MAX_NOTE_PAGES: Final = 12
_MAX_GROWTH_POINTS: Final = 100.0
# An ideograph is a word of its own: its lines are joined without a space.
_WORD: Final = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|(?:(?![\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])\w)+"
)
_NO_TITLE: Final = re.compile(
    r"untitled|microsoft word|powerpoint presentation|slide 1|document\d*$"
    r"|\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|qxd)$|^\W*$|^\S*\d{4,}\S*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """How much of a PDF is read. A limit that is reached is noted in the document."""

    max_pages: int = 10_000
    max_chars: int = 40_000_000
    max_seconds: float = 60.0
    """After this time, pages are no longer read by liteparse or OCR; after twice this time, not at all."""
    ocr: OcrLimits = DEFAULT_OCR_LIMITS


DEFAULT_LIMITS: Final = PdfLimits()


def read_pdf(data: bytes, limits: PdfLimits = DEFAULT_LIMITS) -> Document:
    """Read a PDF; raise Unreadable if it is encrypted, damaged, empty or larger than the memory."""
    try:
        return _PdfReader(data, limits).read()
    except MemoryError as error:
        raise Unreadable("the PDF needs more memory than the limit of a worker process") from error


class _PdfReader:
    def __init__(self, data: bytes, limits: PdfLimits) -> None:
        self._data = data
        self._limits = limits
        self._start = time.monotonic()
        self._ocr = OcrBudget(limits.ocr)
        self._is_unsafe = False
        self._notes: list[str] = []
        self._pages_by_decision: dict[str, list[int]] = {}
        self._engines: dict[int, str] = {}
        self._raws: dict[int, str] = {}

    def read(self) -> Document:
        self._pdf = open_pdf(self._data)
        try:
            return self._read()
        finally:
            self._pdf.close()

    def _read(self) -> Document:
        outline = self._read_outline()
        drafts = self._read_drafts()
        drop_running_lines(drafts)
        for draft in drafts:
            if (order := order_lines(draft)) != "content":
                self._decide(f"order by {order}", draft.page)
        style = measure_style(drafts, outline)
        pages, reports = [], []
        for draft in drafts:
            parts, report = self._build_page(draft, style)
            pages.append(parts)
            reports.append(report)
        parts = join_parts(pages, style)
        rank_headings(parts, style)
        rank_items(parts)
        if not parts and NO_OCR in self._pages_by_decision:
            raise OcrMissing
        return Document(
            parts=tuple(part if isinstance(part, Table) else to_element(part) for part in parts),
            engine=_PDFIUM,
            title=_read_title(self._pdf),
            pages=tuple(reports),
            notes=(*self._notes, *self._list_decisions()),
        )

    def _read_outline(self) -> dict[tuple[int, str], int]:
        """Return the levels of the bookmarks by page and title."""
        from pypdfium2 import PdfiumError

        outline: dict[tuple[int, str], int] = {}
        try:
            for page, title, level in read_outline(self._pdf):
                if key := title_key(title):
                    outline.setdefault((page, key), level)
        except UnsafeOutline:
            self._is_unsafe = True  # it would end the process in liteparse
            self._notes.append("outline without end: read without liteparse")
        except PdfiumError:
            self._notes.append("damaged outline left out")
        return outline

    # --- from pages to drafts ---

    def _read_drafts(self) -> list[PageDraft]:
        total = len(self._pdf)
        count = min(total, self._limits.max_pages)
        if count < total:
            self._notes.append(f"page limit: read {count} of {total} pages")
        layouts = iter(()) if self._is_unsafe else self._read_layouts(count)
        drafts: list[PageDraft] = []
        chars = 0
        for index in range(count):
            if chars > self._limits.max_chars or self._seconds > 2 * self._limits.max_seconds:
                limit = "text limit" if chars > self._limits.max_chars else "time limit"
                self._notes.append(f"{limit}: read {index} of {total} pages")
                break
            layout = next(layouts, None)
            draft = self._read_draft(index, layout[1] if layout else PageLayout())
            if draft is not None:
                chars += len(self._raws[draft.page])
                drafts.append(draft)
        return drafts

    def _read_layouts(self, count: int) -> Iterator[tuple[int, PageLayout]]:
        """Yield the layout of every page in order; an empty layout where liteparse fails or the time is over."""
        number = 0
        try:
            for page, layout in read_layouts(self._data, count):
                while number + 1 < page:  # a page that liteparse skipped
                    number += 1
                    yield number, PageLayout()
                number = page
                yield number, layout
                if self._seconds > self._limits.max_seconds:
                    self._notes.append(f"time limit: layout of {number} of {count} pages read")
                    return
        except LayoutFailed as error:
            self._notes.append(f"liteparse failed after page {number}: {error}"[:200])

    def _read_draft(self, index: int, layout: PageLayout) -> PageDraft | None:
        from pypdfium2 import PdfiumError

        number = index + 1
        try:
            page = self._pdf[index]
        except PdfiumError:
            self._decide("damaged page left out", number)
            return None
        try:
            text = read_page_text(page, number)
            self._raws[number] = text.raw
            self._engines[number] = _PDFIUM
            if text.is_cut:
                self._decide("text of page cut", number)
            if needs_ocr(text):
                draft = self._recognize(page, text)
                if draft is not None:
                    return draft
            return self._draft_with_layout(page, text, layout)
        except PdfiumError:
            self._decide("damaged page left out", number)
            return None
        finally:
            page.close()

    def _draft_with_layout(self, page: PdfPage, text: PageText, layout: PageLayout) -> PageDraft:
        draft = _draft_plainly(text)
        if not (layout.blocks or layout.grids) or len(draft.lines) > MAX_LAYOUT_LINES:
            return draft
        self._engines[text.page] = _LITEPARSE
        draft.blocks = layout.blocks
        if layout.grids and draft.lines:
            words = read_words(page, draft.lines, [_enlarge(grid.box) for grid in layout.grids])
            draft.tables = find_tables(text.page, layout.grids, words, use_layer_text=draft.is_right_to_left)
            _take_words(draft, words)
        return draft

    def _recognize(self, page: PdfPage, text: PageText) -> PageDraft | None:
        """Read a page by OCR; return None if that gives nothing, and note why."""
        number = text.page
        if not is_installed():
            self._decide(NO_OCR, number)
            return None
        if self._ocr.page_seconds <= 0 or self._seconds > self._limits.max_seconds:
            self._decide("OCR limit reached", number)
            return None
        try:
            groups = recognize_page(page, self._ocr)
        except OcrFailed as error:
            self._decide(f"OCR failed ({error})", number)
            return None
        words = sum(len(line.text.split()) for lines in groups for line in lines)
        if not is_garbled(text.raw) and words < MIN_OCR_GAIN * len(text.raw.split()):
            self._decide("OCR finds no more than the text layer", number)
            return None
        if words == 0:
            return None
        self._engines[number] = OCR_ENGINE
        self._decide("no text layer, read by OCR" if not text.raw.strip() else "poor text layer, read by OCR", number)
        self._raws[number] = ""
        draft = PageDraft(number, text.width, text.height, [line for lines in groups for line in lines], groups=groups)
        draft.positions = list(range(len(draft.lines)))
        return draft

    # --- from drafts to parts, with proof ---

    def _build_page(self, draft: PageDraft, style: Style) -> tuple[list[Part], PageReport]:
        """Return the parts of a page by the first engine that covers its text, or the one that covers most."""
        engine = self._engines[draft.page]
        parts = build_parts(draft, style)
        coverage = self._measure_coverage(draft, parts)
        if coverage is not None and coverage < MIN_COVERAGE:
            for name, other in self._read_again(draft):
                other_parts = build_parts(other, style)
                other_coverage = self._measure_coverage(other, other_parts) or 0.0
                if other_coverage > coverage:
                    self._decide(f"{name} covers more than {engine}", draft.page)
                    engine, parts, coverage = name, other_parts, other_coverage
                if coverage >= MIN_COVERAGE:
                    break
            if coverage < MIN_COVERAGE:
                self._decide(f"less than {MIN_COVERAGE:.0%} of the words covered", draft.page)
        return parts, PageReport(draft.page, engine, coverage, draft.width, draft.height)

    def _read_again(self, draft: PageDraft) -> Iterator[tuple[str, PageDraft]]:
        """Yield a page as the other engines of the chain read it."""
        page = self._pdf[draft.page - 1]
        try:
            text = read_page_text(page, draft.page)
            running = {line.box for line in draft.running}
            if draft.blocks or draft.tables:
                plain = _draft_plainly(text)
                plain.lines = [line for line in plain.lines if line.box not in running]
                plain.positions = list(range(len(plain.lines)))
                plain.running = draft.running
                order_lines(plain)
                yield _PDFIUM, plain
            if is_installed() and self._ocr.page_seconds > 0 and self._seconds < self._limits.max_seconds:
                with suppress(OcrFailed):
                    groups = recognize_page(page, self._ocr)
                    lines = [line for group in groups for line in group]
                    yield (
                        OCR_ENGINE,
                        PageDraft(
                            draft.page,
                            draft.width,
                            draft.height,
                            lines,
                            groups=groups,
                            positions=list(range(len(lines))),
                        ),
                    )
        finally:
            page.close()

    def _measure_coverage(self, draft: PageDraft, parts: Sequence[Part]) -> float | None:
        return measure_coverage(self._raws[draft.page], parts, draft.running)

    # --- limits and notes ---

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._start

    def _decide(self, decision: str, page: int) -> None:
        self._pages_by_decision.setdefault(decision, []).append(page)

    def _list_decisions(self) -> Iterator[str]:
        for decision, pages in self._pages_by_decision.items():
            named = ", ".join(map(str, pages[:_MAX_NOTE_PAGES])) + (" …" if len(pages) > _MAX_NOTE_PAGES else "")
            yield f"{decision}: p. {named}"


def needs_ocr(text: PageText) -> bool:
    """Check whether a page shows something but has no text, little text over a large image, or garbled text."""
    if not text.has_objects:
        return False
    is_scan = text.image_share >= MIN_SCAN_SHARE and len(text.raw) < MAX_SPARSE_CHARS
    return is_scan or not any(char.isalnum() for char in text.raw) or is_garbled(text.raw)


def _draft_plainly(text: PageText) -> PageDraft:
    draft = PageDraft(text.page, text.width, text.height, list(text.lines))
    draft.positions = list(range(len(draft.lines)))
    draft.is_right_to_left = measure_right_to_left(text.raw) > MAX_RIGHT_TO_LEFT
    return draft


def _enlarge(box: Box) -> Box:
    """Return a box with the room above it in which a table may have more rows."""
    return box[0] - 5, box[1] - _MAX_GROWTH_POINTS, box[2] + 5, box[3] + 5


def _take_words(draft: PageDraft, words: Sequence[Sequence[TextLine]]) -> None:
    """Remove the words of the tables from the lines of a page."""
    taken: set[tuple[int, int]] = set().union(*(table.words for table in draft.tables))
    if not taken:
        return
    lines, positions = [], []
    for index, line in enumerate(draft.lines):
        rest = [word for word_index, word in enumerate(words[index]) if (index, word_index) not in taken]
        if len(rest) < len(words[index]):
            if not rest:
                continue
            line = replace(line, text=" ".join(word.text for word in rest), box=unite([word.box for word in rest]))
        lines.append(line)
        positions.append(index)
    draft.lines, draft.positions = lines, positions


def measure_coverage(raw: str, parts: Sequence[Part], running: Sequence[TextLine]) -> float | None:
    """Return the share of the words of a raw text that the parts and the running lines of its page hold."""
    wanted = count_words(raw)
    total = sum(wanted.values())
    if not total:
        return None
    texts = [line.text for line in running]
    for part in parts:
        if isinstance(part, Paragraph):
            texts.append(part.text)
        else:
            texts += [part.title, *part.headers, *(cell for row in part.rows for cell in row.cells)]
    return sum((wanted & count_words("\n".join(texts))).values()) / total


def count_words(text: str) -> Counter[str]:
    """Count the words of a text as coverage compares them: hyphens do not count, so that joined words agree."""
    text = space_scripts(text).casefold()
    return Counter(_WORD.findall(text.replace(LINE_HYPHEN, "").replace("\u00ad", "").replace("-", "")))


def _read_title(pdf: PdfDocument) -> str:
    """Return the title of the metadata, or nothing if it is a file name or a default."""
    title = " ".join(pdf.get_metadata_value("Title").split())
    return "" if not 2 < len(title) <= _MAX_TITLE_CHARS or _NO_TITLE.search(title) else title
