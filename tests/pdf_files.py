"""Write small PDFs by hand: text at given places, images, rotation, outlines, damage."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field, replace

from dowse.ingest.extract.documents.document import assemble
from dowse.ingest.extract.documents.pdf import read_pdf
from dowse.model import Extraction, Item

WIDTH, HEIGHT = 612, 792
REGULAR, BOLD, MONO = "F1", "F2", "F3"


@dataclass
class Page:
    """A page; places are in points from the top left."""

    content: list[str] = field(default_factory=list)
    rotation: int = 0
    size: tuple[float, float] = (WIDTH, HEIGHT)
    image: tuple[int, int, bytes] | None = None  # width, height and gray pixels, drawn over the whole page

    def write(self, x: float, y: float, text: str, *, size: float = 10, font: str = REGULAR) -> Page:
        escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        self.content.append(f"BT /{font} {size} Tf {x} {self.size[1] - y} Td ({escaped}) Tj ET")
        return self

    def write_lines(self, x: float, y: float, lines: list[str], *, step: float = 12, **style) -> Page:
        for index, line in enumerate(lines):
            self.write(x, y + index * step, line, **style)
        return self

    def draw_line(self, x1: float, y1: float, x2: float, y2: float) -> Page:
        height = self.size[1]
        self.content.append(f"{x1} {height - y1} m {x2} {height - y2} l S")
        return self


def make_pdf(
    *pages: Page, title: str = "", outline: list[tuple[str, int]] | None = None, extra_trailer: str = ""
) -> bytes:
    """Return a PDF of the pages; `outline` has titles with page indexes."""
    objects: list[bytes] = [b"", b""]  # the catalog and the page tree, written last

    def add(body: str | bytes) -> int:
        objects.append(body.encode("latin-1") if isinstance(body, str) else body)
        return len(objects)

    def add_stream(entries: str, data: bytes) -> int:
        packed = zlib.compress(data)
        head = f"<< {entries} /Filter /FlateDecode /Length {len(packed)} >>\nstream\n".encode()
        return add(head + packed + b"\nendstream")

    names = {REGULAR: "Helvetica", BOLD: "Helvetica-Bold", MONO: "Courier"}
    fonts = " ".join(
        f"/{key} {add(f'<< /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >>')} 0 R"
        for key, name in names.items()
    )
    kids = []
    for page in pages:
        content, images = list(page.content), ""
        if page.image:
            width, height, pixels = page.image
            entries = f"/Type /XObject /Subtype /Image /Width {width} /Height {height}"
            number = add_stream(f"{entries} /ColorSpace /DeviceGray /BitsPerComponent 8", pixels)
            images = f"/XObject << /Im {number} 0 R >>"
            content.append(f"q {page.size[0]} 0 0 {page.size[1]} 0 0 cm /Im Do Q")
        stream = add_stream("", "\n".join(content).encode("cp1252"))
        box = f"[0 0 {page.size[0]} {page.size[1]}]"
        kids.append(
            add(
                f"<< /Type /Page /Parent 2 0 R /MediaBox {box} /Rotate {page.rotation}"
                f" /Resources << /Font << {fonts} >> {images} >> /Contents {stream} 0 R >>"
            )
        )
    outlines = ""
    if outline:
        root = len(objects) + 1
        numbers = [root + 1 + index for index in range(len(outline))]
        add(f"<< /Type /Outlines /First {numbers[0]} 0 R /Last {numbers[-1]} 0 R /Count {len(outline)} >>")
        for index, (name, page_index) in enumerate(outline):
            following = f"/Next {numbers[index + 1]} 0 R" if index + 1 < len(numbers) else ""
            add(f"<< /Title ({name}) /Parent {root} 0 R {following} /Dest [{kids[page_index]} 0 R /Fit] >>")
        outlines = f"/Outlines {root} 0 R"
    info = f"/Info {add(f'<< /Title ({title}) >>')} 0 R" if title else ""
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R {outlines} >>".encode()
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>".encode()
    return _write_file(objects, f"{info} {extra_trailer}")


def make_encrypted_pdf(*pages: Page) -> bytes:
    """Return a PDF that no empty password opens."""
    secret = "<" + "ab" * 32 + ">"
    encrypt = f"<< /Filter /Standard /V 1 /R 2 /O {secret} /U {secret} /P -4 >>"
    return make_pdf(*pages, extra_trailer=f"/Encrypt {encrypt} /ID [<0123> <0123>]")


def _write_file(objects: list[bytes], trailer: str) -> bytes:
    data = bytearray(b"%PDF-1.5\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(data))
        data += b"%d 0 obj\n" % number + body + b"\nendobj\n"
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    for offset in offsets:
        data += b"%010d 00000 n \n" % offset
    data += f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(data)


def render_gray(pdf: bytes, page: int = 0, *, dots_per_inch: int = 200) -> tuple[int, int, bytes]:
    """Return width, height and gray pixels of a rendered page, row by row."""
    from pypdfium2 import PdfDocument

    document = PdfDocument(pdf)
    bitmap = document[page].render(scale=dots_per_inch / 72, grayscale=True)
    width, height, stride, pixels = bitmap.width, bitmap.height, bitmap.stride, bytes(bitmap.buffer)
    bitmap.close()
    document.close()
    return width, height, b"".join(pixels[row * stride : row * stride + width] for row in range(height))


def turn_right(image: tuple[int, int, bytes]) -> tuple[int, int, bytes]:
    """Return an image turned clockwise by a quarter."""
    width, height, pixels = image
    rows = [pixels[row * width : (row + 1) * width] for row in range(height)]
    return height, width, b"".join(bytes(row[column] for row in reversed(rows)) for column in range(width))


def scan(pdf: bytes, *, dots_per_inch: int = 200) -> Page:
    """Return a page that shows the first page of a PDF as an image without text."""
    return Page(image=render_gray(pdf, dots_per_inch=dots_per_inch))


def make_paragraph(seed: str, words: int, width: int = 12) -> list[str]:
    """Return lines of made-up words that name their place: `seed0001 seed0002 …`."""
    names = [f"{seed}{index:03}" for index in range(words)]
    return [" ".join(names[start : start + width]) for start in range(0, words, width)]


def extract_pdf(item: Item, data: bytes) -> Extraction:
    """Extract the text of a PDF; a worker process imports this by name."""
    return replace(assemble(item.path, read_pdf(data)), layout=None)
