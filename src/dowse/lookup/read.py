"""Exact reading: a chunk by its id, a record by its path, lines of it as they stand."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dowse.model import CHARS_PER_TOKEN, Freshness, Record, Stored, normal_path
from dowse.store.base import Catalog


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a record; `freshness` says whether they are the disk's or the index's last word."""

    record: Record
    text: str
    start_line: int
    end_line: int
    total_lines: int
    freshness: Freshness
    next_line: int | None = None


def find_chunk(catalog: Catalog, chunk_id: str, collection: str | None) -> Stored | None:
    """The chunk of this id; where two collections have it, the one indexed first."""
    found = catalog.by_chunk_id(chunk_id, collection)
    return found[0] if found else None


def find_record(catalog: Catalog, path: str, collection: str | None) -> Record | None:
    found = catalog.records(normal_path(path).removeprefix("./"), collection)
    return found[0] if found else None


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
    first = min(max(start_line, 1), max(len(lines), 1))
    last = len(lines) if end_line is None else min(max(end_line, first), len(lines))
    return Passage(record, "\n".join(lines[first - 1 : last]), first, last, len(lines), freshness)


def within(passage: Passage, budget_tokens: int) -> Passage:
    """As many whole lines as fit, and where to go on; a single line that is too long is cut."""
    room = budget_tokens * CHARS_PER_TOKEN
    if len(passage.text) <= room:
        return passage
    cut = passage.text.rfind("\n", 0, room + 1)
    if cut < 0:
        return replace(passage, text=passage.text[:room], end_line=passage.start_line, next_line=passage.start_line + 1)
    text = passage.text[:cut]
    last = passage.start_line + text.count("\n")
    return replace(passage, text=text, end_line=last, next_line=last + 1)


def _indexed(catalog: Catalog, record: Record) -> list[str]:
    """Put together again from the chunks; only blank lines and front matter between them are not known."""
    lines: list[str] = []
    for stored in catalog.chunks(record):
        lines += [""] * (stored.chunk.start_line - 1 - len(lines))
        lines += stored.chunk.text.split("\n")[len(lines) - stored.chunk.start_line + 1 :]
    return lines
