"""PDFs that are damaged, encrypted or made to do harm: each gives text or a clear reason, in bounded time."""

from __future__ import annotations

import random
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import Unreadable
from dowse.ingest.chunk import ChunkLimits
from dowse.ingest.extract.documents import ocr
from dowse.ingest.extract.documents.document import assemble
from dowse.ingest.extract.documents.ocr import OcrLimits
from dowse.ingest.extract.documents.pdf import PdfLimits, read_pdf
from dowse.ingest.pipeline import PrepareTask
from dowse.ingest.workers import WorkerPool
from dowse.model import Item
from pdf_files import Page, extract_pdf, make_encrypted_pdf, make_paragraph, make_pdf, scan

NO_OCR = PdfLimits(ocr=OcrLimits(max_pages=0))
SAMPLE = make_pdf(*(Page().write_lines(72, 100, make_paragraph(f"page{number}", 60)) for number in range(3)))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(make_encrypted_pdf(Page().write(72, 100, "secret")), "encrypted", id="encrypted"),
        pytest.param(make_pdf(), "no pages", id="zero pages"),
        pytest.param(b"", "damaged or truncated", id="empty"),
        pytest.param(b"%PDF-1.7\n", "damaged or truncated", id="header only"),
        pytest.param(SAMPLE[:200], "damaged or truncated", id="truncated"),
        pytest.param(b"PK\x03\x04" + b"\0" * 100, "not a PDF", id="zip"),
        pytest.param(random.Random(7).randbytes(20_000), "damaged or truncated", id="random bytes"),
        pytest.param(b"%PDF-1.4\n" + random.Random(8).randbytes(20_000), "damaged", id="random bytes after a header"),
    ],
)
def test_refuses_for_good_with_a_reason(data: bytes, reason: str):
    with pytest.raises(Unreadable, match=reason) as failure:
        read_pdf(data)
    assert failure.value.lasting


def read_or_refuse(data: bytes) -> str:
    try:
        document = read_pdf(data, NO_OCR)
    except Unreadable as refusal:
        return str(refusal)
    return assemble("x.pdf", document).text


def test_a_truncated_file_gives_text_or_a_reason_at_every_length():
    for end in range(0, len(SAMPLE), 61):
        assert read_or_refuse(SAMPLE[:end]) or end > 0


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_changed_file_gives_text_or_a_reason(data: st.DataObject):
    changed = bytearray(SAMPLE)
    for _ in range(data.draw(st.integers(1, 12))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(changed))


@pytest.mark.parametrize("size", [(1, 1), (200_000, 200_000), (3, 14_400), (0, 0), (-50, -50)])
def test_pages_of_odd_sizes_are_read(size: tuple[float, float]):
    page = Page(size=size)
    page.content.append("BT /F1 10 Tf 1 1 Td (words here) Tj ET")
    read_or_refuse(make_pdf(page))


def test_a_scan_on_an_enormous_page_is_rendered_with_bounded_pixels():
    page = Page(size=(14_000, 14_000), image=(2, 2, b"\0\xff\0\xff"))
    start = time.monotonic()
    read_pdf(make_pdf(page), PdfLimits(ocr=OcrLimits(max_pages=1, max_page_seconds=5)))
    assert time.monotonic() - start < 20


def stream_object(number: int, data: bytes, entries: str = "") -> bytes:
    head = f"{number} 0 obj\n<< {entries} /Filter /FlateDecode /Length {len(data)} >>\nstream\n"
    return head.encode() + data + b"\nendstream\nendobj\n"


def bomb(content: bytes) -> bytes:
    """Return a page whose content stream inflates to `content`."""
    return (
        b"%PDF-1.5\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
        b"2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n"
        b"3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>\nendobj\n"
        + stream_object(4, zlib.compress(content, 9))
        + b"5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n"
        b"trailer << /Root 1 0 R /Size 6 >>\n%%EOF\n"
    )


HOSTILE = {
    "spaces": bomb(b" " * 100_000_000),
    "saved states": bomb(b"q " * 3_000_000),
    "nested arrays": bomb(b"[" * 2_000_000),
    "nested dictionaries": bomb(b"<<" * 1_000_000),
    "many words": bomb(b"BT /F1 1 Tf " + b"(word and word) Tj 0 1 Td " * 40_000 + b"ET"),
    "leaders without end": bomb(b"BT /F1 10 Tf (" + b". " * 500_000 + b") Tj ET"),
    "one long word": bomb(b"BT /F1 10 Tf (" + b"a" * 3_000_000 + b") Tj ET"),
    "deep page tree": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    + b"".join(b"%d 0 obj\n<< /Type /Pages /Kids [%d 0 R] /Count 1 >>\nendobj\n" % (n, n + 1) for n in range(2, 5_000))
    + b"trailer << /Root 1 0 R >>\n%%EOF\n",
    "page tree in a circle": b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n"
    b"2 0 obj\n<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 1000000 >>\nendobj\ntrailer << /Root 1 0 R >>\n%%EOF\n",
    "outline in a circle": make_pdf(Page().write(72, 100, "words")).replace(
        b"/Type /Catalog", b"/Type /Catalog /Outlines << /First 1 0 R >> /Title (x) /Next 1 0 R /First 1 0 R"
    ),
}

READ_IN_CAGE = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
from dowse.errors import Unreadable
from dowse.ingest.extract.documents.ocr import OcrLimits
from dowse.ingest.extract.documents.pdf import PdfLimits, read_pdf
try:
    document = read_pdf(sys.stdin.buffer.read(), PdfLimits(max_seconds=5, ocr=OcrLimits(max_pages=0)))
    print("text", len(document.parts), *(page.engine for page in document.pages))
except Unreadable as refusal:
    print("refused", refusal)
except MemoryError:
    print("memory")
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0][:-3])  # maxrss counts the parent too
"""


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_stays_in_its_cage(name: str):
    """The worker process has the same limits; a crash of the reader would be no more than a failure of one file."""
    result = subprocess.run(
        [sys.executable, "-c", READ_IN_CAGE], input=HOSTILE[name], capture_output=True, timeout=90, check=False
    )
    assert result.returncode == 0, result.stderr.decode()[-500:]
    outcome, megabytes = result.stdout.decode().splitlines()
    assert outcome.split()[0] in ("text", "refused")
    assert int(megabytes) < 1_200


def test_text_and_recognition_work_under_the_memory_limit_of_a_worker():
    data = make_pdf(Page().write_lines(72, 100, make_paragraph("word", 60)), scan(SAMPLE))
    program = READ_IN_CAGE.replace("max_pages=0", "max_pages=5")
    result = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True, timeout=90, check=True)
    outcome, megabytes = result.stdout.decode().splitlines()
    assert outcome.split() == ["text", "1", "liteparse", "tesseract" if ocr.is_installed() else "pdfium"]
    assert int(megabytes) < 400


@pytest.fixture
def workers() -> Iterator[WorkerPool]:
    pool = WorkerPool(1, 60.0, extract=extract_pdf)
    yield pool
    pool.close()


def test_a_worker_process_reads_text_and_scans(workers: WorkerPool):
    data = make_pdf(Page().write_lines(72, 100, make_paragraph("word", 60)), scan(SAMPLE))
    prepared = workers.prepare(PrepareTask(Item("scan.pdf", len(data), 1), data, ChunkLimits()))
    assert "word059" in prepared.extract.text
    assert prepared.extract.facets["pages"] == "2"
    if ocr.is_installed():
        assert "page0050" in prepared.extract.text
        assert prepared.extract.facets["engine"] == "pdfium+liteparse+tesseract"


def test_a_worker_process_refuses_an_encrypted_file_and_reads_the_next(workers: WorkerPool):
    encrypted = make_encrypted_pdf(Page().write(72, 100, "secret"))
    with pytest.raises(Unreadable, match="encrypted") as failure:
        workers.prepare(PrepareTask(Item("a.pdf", len(encrypted), 1), encrypted, ChunkLimits()))
    assert failure.value.lasting
    prepared = workers.prepare(PrepareTask(Item("b.pdf", len(SAMPLE), 1), SAMPLE, ChunkLimits()))
    assert "page2059" in prepared.extract.text
