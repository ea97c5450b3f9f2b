"""Exact reading: lines of a record as they stand."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.errors import BadInput
from dowse.model import Freshness, Record
from dowse.store.base import Catalog


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a record; `freshness` says whether they are the disk's or the index's last word, `notes` what a reader
    should know before relying on them."""

    record: Record
    text: str
    start_line: int
    end_line: int
    total_lines: int
    freshness: Freshness
    next_line: int | None = None
    cut: bool = False
    notes: tuple[str, ...] = ()


def read_lines(
    catalog: Catalog,
    record: Record,
    current: str | None,
    freshness: Freshness,
    start_line: int,
    end_line: int | None,
) -> Passage:
    """Lines of the file's current text; of one that can not be read any more, as they were indexed."""
    lines = _indexed(catalog, record) if current is None else current.removesuffix("\n").split("\n")
    if start_line > max(len(lines), 1):
        raise BadInput(f"{record.path} has {len(lines):,} lines; line {start_line:,} is beyond its end")
    last = len(lines) if end_line is None else min(max(end_line, start_line), len(lines))
    return Passage(record, "\n".join(lines[start_line - 1 : last]), start_line, last, len(lines), freshness)


def _indexed(catalog: Catalog, record: Record) -> list[str]:
    """Put together again from the chunks; only the blanks and the front matter between them are not known."""
    lines: list[str] = []
    joint = ""
    for stored in catalog.chunks(record):
        first, *rest = stored.chunk.text.split("\n")
        lines += [""] * (stored.chunk.start_line - 1 - len(lines))
        if stored.chunk.start_line == len(lines):
            lines[-1] += joint + first
        else:
            lines.append(first)
        lines += rest
        # A line too long for one chunk was cut at a blank; a part without any was most likely cut inside a word.
        joint = " " if len((rest or [first])[-1].split()) > 1 else ""
    return lines
