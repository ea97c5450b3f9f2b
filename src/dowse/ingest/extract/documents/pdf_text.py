"""The text layer of a PDF page, read by pdfium: lines in content order with boxes, sizes and fonts."""

from __future__ import annotations

import ctypes
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, Final

from dowse.errors import Unreadable
from dowse.model import Box

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

MAX_PAGE_CHARS: Final = 1_000_000
MAX_SPARSE_CHARS: Final = 400

# pdfium writes this character for a hyphen at the end of a line, and no line break after it.
LINE_HYPHEN: Final = "\ufffe"
BULLET: Final = "•"

_PASSWORD_ERROR: Final = 4
_NO_PAGES: Final = "the PDF has no pages"
_MAX_OUTLINE_ENTRIES: Final = 20_000
_MAX_OUTLINE_DEPTH: Final = 60
_FORCE_BOLD: Final = 1 << 18
_FIXED_PITCH: Final = 1
_BOLD_WEIGHT: Final = 600
_MAX_IMAGES: Final = 50
_MIN_GAP_POINTS: Final = 9.0
_GAP_PER_SIZE: Final = 1.6

_RIGHT_TO_LEFT: Final = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_ALEF_LAM: Final = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_SCRIPT_CHANGE: Final = re.compile(r"(?<=[\u0620-\u06d3])(?=[A-Za-z])|(?<=[A-Za-z])(?=[\u0620-\u06d3])")
_LETTER: Final = re.compile(r"[^\W\d_]")
_MONO_FONT: Final = re.compile(r"mono|nimbusmon|cour|consol|typewriter|cmtt|menlo|fixed|sourcecode", re.IGNORECASE)
_BOLD_FONT: Final = re.compile(r"bold|black|heavy|demi|cmbx|\bbd\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of text on a page. A line that ends with `has_hyphen` continues its last word on the next line."""

    text: str
    box: Box
    size: float = 10.0
    is_bold: bool = False
    is_mono: bool = False
    has_hyphen: bool = False
    start: int = 0  # of its characters in the text page
    count: int = 0

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def width(self) -> float:
        return self.box[2] - self.box[0]

    @property
    def middle(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


@dataclass(frozen=True, slots=True)
class PageText:
    """The text layer of a page: its size as shown, its raw text, and its lines in content order."""

    page: int
    width: float
    height: float
    raw: str
    lines: tuple[TextLine, ...]
    has_objects: bool = False
    image_share: float = 0.0
    """The area of the largest image over that of the page; measured only where there is little text."""
    is_cut: bool = False


def open_pdf(data: bytes) -> PdfDocument:
    """Open a PDF; raise Unreadable if it needs a password, is damaged or has no pages."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(data)
    except PdfiumError as error:
        raise Unreadable(_explain_failure(data, error.err_code)) from error
    if len(document) == 0:
        document.close()
        raise Unreadable(_NO_PAGES)
    return document


def _explain_failure(data: bytes, code: int | None) -> str:
    # pdfium keeps the code of an earlier failure where it sets none: look into the file as well.
    if code == _PASSWORD_ERROR and b"/Encrypt" in data:
        return "the PDF is encrypted: remove its password to index it"
    if data.startswith(b"%PDF") and re.search(rb"/Type\s*/Pages\b[^>]*/Count\s+0\b", data):
        return _NO_PAGES
    return "the PDF is damaged or truncated, or not a PDF: no reader can open it"


class UnsafeOutline(Exception):
    """An outline that refers to itself or is nested without end."""


def read_outline(pdf: PdfDocument) -> Iterator[tuple[int, str, int]]:
    """Yield page, title and level of each bookmark; raise UnsafeOutline if the outline never ends."""
    import pypdfium2.raw as pdfium
    from pypdfium2 import PdfBookmark

    seen: set[int] = set()
    pending = [(pdfium.FPDFBookmark_GetFirstChild(pdf.raw, None), 0)]
    while pending:
        pointer, level = pending.pop()
        if not pointer:
            continue
        address = ctypes.addressof(pointer.contents)
        if address in seen or level > _MAX_OUTLINE_DEPTH:
            raise UnsafeOutline
        seen.add(address)
        if len(seen) > _MAX_OUTLINE_ENTRIES:
            return
        bookmark = PdfBookmark(pointer, pdf, level)
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            yield page + 1, bookmark.get_title(), level + 1
        pending.append((pdfium.FPDFBookmark_GetNextSibling(pdf.raw, pointer), level))
        pending.append((pdfium.FPDFBookmark_GetFirstChild(pdf.raw, pointer), level + 1))


def read_page_text(page: PdfPage, number: int) -> PageText:
    """Return the text layer of a page. Characters after `MAX_PAGE_CHARS` are left out."""
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    text_page = page.get_textpage()
    try:
        chars = text_page.count_chars()
        reader = _LineReader(text_page, transform_of(page))
        raw = reader.read_raw(min(chars, MAX_PAGE_CHARS)) if chars > 0 else ""
        lines = tuple(line for start, text, hyphen in split_lines(raw) for line in reader.read(start, text, hyphen))
        has_objects = pdfium.FPDFPage_CountObjects(page.raw) > 0
        image_share = _measure_images(page) if has_objects and len(raw) < MAX_SPARSE_CHARS else 0.0
        return PageText(number, width, height, raw, lines, has_objects, image_share, chars > MAX_PAGE_CHARS)
    finally:
        text_page.close()


def _measure_images(page: PdfPage) -> float:
    """Return the area of the largest of the first images over the area of the page."""
    import pypdfium2.raw as pdfium

    width, height = page.get_size()
    objects = page.get_objects(filter=(pdfium.FPDF_PAGEOBJ_IMAGE,), max_depth=3)
    areas = [0.0]
    for image in islice(objects, _MAX_IMAGES):
        left, bottom, right, top = image.get_bounds()
        areas.append((right - left) * (top - bottom) / max(1.0, width * height))
    return max(areas)


def read_words(page: PdfPage, lines: Sequence[TextLine], regions: Sequence[Box]) -> list[list[TextLine]]:
    """Return the words of each line with a box each; a line outside all regions is returned as it is."""
    text_page = page.get_textpage()
    try:
        reader = _LineReader(text_page, transform_of(page))
        if any(_RIGHT_TO_LEFT.search(line.text) for line in lines):
            reader.read_raw(min(text_page.count_chars(), MAX_PAGE_CHARS))
        return [
            [word for word in reader.split(line) if word.text]
            if " " in line.text and _touches(line.box, regions)
            else [line]
            for line in lines
        ]
    finally:
        text_page.close()


def _touches(box: Box, regions: Sequence[Box]) -> bool:
    return any(
        box[0] <= right and box[2] >= left and box[1] <= bottom and box[3] >= top
        for left, top, right, bottom in regions
    )


def split_lines(raw: str) -> Iterator[tuple[int, str, bool]]:
    """Yield start, text and whether a hyphen ends it, for each line of a raw text."""
    start = 0
    for match in re.finditer(rf"\r\n|\r|\n|{LINE_HYPHEN}", raw):
        yield start, raw[start : match.start()], match.group() == LINE_HYPHEN
        start = match.end()
    yield start, raw[start:], False


def clean_text(text: str) -> str:
    """Return text without control characters; one that leads the text is a bullet of a symbol font."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    text = text.replace("\u00ad", "").replace("\u00a0", " ").replace("\t", " ").strip()
    if len(text) > 1 and text[1] == " " and unicodedata.category(text[0]) in ("Cc", "Co"):
        text = BULLET + text[1:]
    if not text.isprintable():
        text = "".join(char for char in text if unicodedata.category(char) not in ("Cc", "Cs", "Co", "Cn"))
    return " ".join(space_scripts(text).split())


def space_scripts(text: str) -> str:
    """Put a space between Arabic and Latin letters, which pdfium leaves out where the direction changes."""
    return text if text.isascii() else _SCRIPT_CHANGE.sub(" ", text)


def measure_right_to_left(text: str) -> float:
    """Return the share of letters that belong to right-to-left scripts."""
    letters = len(_LETTER.findall(text))
    return len(_RIGHT_TO_LEFT.findall(text)) / letters if letters else 0.0


def is_garbled(text: str) -> bool:
    """Check whether most of a text are characters without a meaning, as a font without a map to Unicode gives."""
    chars = [char for char in text if not char.isspace()]
    if len(chars) < 20:
        return False
    odd = sum(unicodedata.category(char) in ("Cc", "Co", "Cn") and char != LINE_HYPHEN for char in chars)
    return odd + text.count("\ufffd") > 0.3 * len(chars)


def transform_of(page: PdfPage) -> Callable[[float, float, float, float], Box]:
    """Return the function from left, bottom, right, top on the canvas to a box on the page as it is shown."""
    left, bottom, right, top = page.get_bbox()
    width, height = right - left, top - bottom
    rotation = page.get_rotation()

    def transform(x1: float, y1: float, x2: float, y2: float) -> Box:
        x1, x2, y1, y2 = x1 - left, x2 - left, y1 - bottom, y2 - bottom
        if rotation == 90:
            return y1, x1, y2, x2
        if rotation == 180:
            return width - x2, y1, width - x1, y2
        if rotation == 270:
            return height - y2, width - x2, height - y1, width - x1
        return x1, height - y2, x2, height - y1

    return transform


def unite(boxes: list[Box]) -> Box:
    """Return the smallest box around all of `boxes`."""
    return (
        min(it[0] for it in boxes),
        min(it[1] for it in boxes),
        max(it[2] for it in boxes),
        max(it[3] for it in boxes),
    )


class _LineReader:
    """Reads lines, and where a line has wide gaps its pieces, from a text page."""

    def __init__(self, text_page: PdfTextPage, transform: Callable[[float, float, float, float], Box]) -> None:
        import pypdfium2.raw as pdfium

        self._pdfium: Any = pdfium
        self._text_page = text_page
        self._raw = text_page.raw
        self._swapped: dict[int, str] = {}
        self._transform = transform
        self._axis = 1 if text_page.page.get_rotation() in (90, 270) else 0  # of the rows, on the canvas
        self._corners = [ctypes.c_double() for _ in range(4)]
        self._pointers = [ctypes.byref(corner) for corner in self._corners]
        self._matrix = pdfium.FS_MATRIX()
        self._flags = ctypes.c_int()
        self._font_name = ctypes.create_string_buffer(96)

    def read_raw(self, count: int) -> str:
        """Return the raw text of the page.

        pdfium turns right-to-left text around letter by letter, and with it the two letters of one lam-alef glyph.
        They are turned back; letters of one glyph have the same box.
        """
        raw: str = self._text_page.get_text_range(0, count)
        letters: list[str] | None = None
        for match in _ALEF_LAM.finditer(raw):
            first, second = self._char_index(match.start()), self._char_index(match.start() + 1)
            if self._char_box(first) == self._char_box(second):
                letters = letters or list(raw)
                letters[match.start()], letters[match.start() + 1] = raw[match.start() + 1], raw[match.start()]
                self._swapped[first], self._swapped[second] = raw[match.start() + 1], raw[match.start()]
        return "".join(letters) if letters else raw

    def read(self, start: int, text: str, hyphen: bool) -> Iterator[TextLine]:
        """Yield the line that starts at an index of the raw text, in pieces if it has wide gaps."""
        if not text.strip():
            return
        first = self._char_index(start)
        count = max(1, self._char_index(start + len(text) - 1) - first + 1)
        boxes = self._boxes(first, count)
        if not boxes:
            return
        size, is_bold, is_mono = self._font(first, text)
        line = TextLine(clean_text(text), unite(boxes), size, is_bold, is_mono, hyphen, first, count)
        if len(boxes) > 1 and self._has_gap(boxes, size):
            yield from self._pieces(line)
        elif line.text:
            yield line

    def split(self, line: TextLine, gap: float = 0.0) -> Iterator[TextLine]:
        """Yield the words of a line, or the pieces between gaps of at least that width."""
        read_box, read_char, raw = self._pdfium.FPDFText_GetCharBox, self._pdfium.FPDFText_GetUnicode, self._raw
        left, right, bottom, top = self._corners
        pointers = self._pointers
        chars: list[str] = []
        edges: list[tuple[float, float, float, float]] = []  # of the characters, on the canvas
        start, end = line.start, line.start + line.count
        for index in range(start, end):
            char = self._swapped.get(index) or chr(read_char(raw, index))
            edge = None
            if char.isspace():
                if edges and not gap:
                    yield self._piece(line, chars, edges, start, index)
                    chars, edges, start = [], [], index
            elif read_box(raw, index, *pointers):
                edge = left.value, bottom.value, right.value, top.value
                if gap and edges and _distance(edges[-1], edge, self._axis) > gap:
                    yield self._piece(line, chars, edges, start, index)
                    chars, edges, start = [], [], index
                if edge[2] > edge[0] or edge[3] > edge[1]:
                    edges.append(edge)
            chars.append(char)
        if edges:
            yield self._piece(line, chars, edges, start, end)

    def _piece(self, line: TextLine, chars: list[str], edges: list[Box], start: int, end: int) -> TextLine:
        has_hyphen = line.has_hyphen and end == line.start + line.count
        box = self._transform(*unite(edges))
        return TextLine(
            clean_text("".join(chars)), box, line.size, line.is_bold, line.is_mono, has_hyphen, start, end - start
        )

    def _pieces(self, line: TextLine) -> Iterator[TextLine]:
        pieces = list(self.split(line, max(_MIN_GAP_POINTS, _GAP_PER_SIZE * line.size)))
        if len(pieces) < 2:
            pieces = [line]
        yield from (piece for piece in pieces if piece.text)

    def _has_gap(self, boxes: list[Box], size: float) -> bool:
        limit = max(_MIN_GAP_POINTS, _GAP_PER_SIZE * size)
        ordered = sorted(boxes)
        return any(_distance(left, right) > limit for left, right in pairwise(ordered))

    def _char_index(self, text_index: int) -> int:
        index: int = self._pdfium.FPDFText_GetCharIndexFromTextIndex(self._raw, text_index)
        return index if index >= 0 else text_index

    def _boxes(self, start: int, count: int) -> list[Box]:
        boxes = []
        for index in range(self._pdfium.FPDFText_CountRects(self._raw, start, count)):
            left, top, right, bottom = self._pointers
            if self._pdfium.FPDFText_GetRect(self._raw, index, left, top, right, bottom):
                x1, y2, x2, y1 = (corner.value for corner in self._corners)
                boxes.append(self._transform(x1, y1, x2, y2))
        return boxes

    def _char_box(self, index: int) -> Box | None:
        left, right, bottom, top = self._pointers
        if not self._pdfium.FPDFText_GetCharBox(self._raw, index, left, right, bottom, top):
            return None
        x1, x2, y1, y2 = (corner.value for corner in self._corners)
        return self._transform(x1, y1, x2, y2) if x2 > x1 or y2 > y1 else None

    def _font(self, start: int, text: str) -> tuple[float, bool, bool]:
        """Return size and style of the middle letter of a line; a line is bold if its ends are bold too."""
        visible = [index for index, char in enumerate(text) if not char.isspace()]
        middle = start + visible[len(visible) // 2]
        size = self._pdfium.FPDFText_GetFontSize(self._raw, middle)
        if self._pdfium.FPDFText_GetMatrix(self._raw, middle, ctypes.byref(self._matrix)):
            size *= (self._matrix.c**2 + self._matrix.d**2) ** 0.5 or 1.0
        is_bold, is_mono = self._style(middle)
        if is_bold or is_mono:
            for index in (start + visible[0], start + visible[-1]):
                bold, mono = self._style(index)
                is_bold, is_mono = is_bold and bold, is_mono and mono
        return size, is_bold, is_mono

    def _style(self, index: int) -> tuple[bool, bool]:
        length = self._pdfium.FPDFText_GetFontInfo(
            self._raw, index, self._font_name, len(self._font_name), ctypes.byref(self._flags)
        )
        name = self._font_name.value.decode("utf-8", "replace") if 0 < length <= len(self._font_name) else ""
        bold = _BOLD_FONT.search(name) or self._flags.value & _FORCE_BOLD
        weight = self._pdfium.FPDFText_GetFontWeight(self._raw, index)
        mono = _MONO_FONT.search(name) or self._flags.value & _FIXED_PITCH
        return bool(bold) or weight >= _BOLD_WEIGHT, bool(mono)


def _distance(first: Box, second: Box, axis: int = 0) -> float:
    """Return the gap between two boxes along an axis, 0 if they overlap."""
    return max(0.0, second[axis] - first[axis + 2], first[axis] - second[axis + 2])
