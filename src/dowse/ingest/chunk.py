"""Chunk an extract: pack its blocks into verbatim slices of bounded length, each under one heading path."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.errors import BadInput
from dowse.ingest.extract.markdown import has_only_closers, leading_comment_start
from dowse.ingest.extract.registry import EXTRACTION_VERSION
from dowse.model import Block, Chunk, Extraction

# Raise this when the same extract would be cut differently: indexed records are then chunked again.
CHUNKING_VERSION: Final = 3

MIN_MAX_CHARS: Final = 50

_BLANK_LINE = re.compile(r"(?=\n[ \t\r]*\n)")
_LINE_BREAK = re.compile(r"(?=\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[.!?…][\"')\]”’»])(?=\s)|(?<=[。！？])")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_FIRST_WORD = re.compile(r"\S")
_CLOSING_LINES: Final = 20  # code is not nested deeper
_CLOSING_CHARS: Final = 400
_ZERO_WIDTH_JOINER: Final = "\u200d"


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Chunk sizes. No chunk is longer than `max_chars`; one shorter than `min_chars` joins a neighbour if possible.

    `redaction_key` identifies the rules by which texts are masked or left out before chunking. With `masks_secrets`,
    the text of documents is masked here; other files are masked when they are read.
    """

    max_chars: int = 2000
    min_chars: int = 120
    redaction_key: str = ""
    masks_secrets: bool = False

    def __post_init__(self) -> None:
        if self.max_chars < MIN_MAX_CHARS:
            raise BadInput(f"max_chars is {self.max_chars}; give at least {MIN_MAX_CHARS}")
        if not 1 <= self.min_chars <= self.max_chars:
            raise BadInput(f"min_chars is {self.min_chars}; give 1 to max_chars ({self.max_chars})")


def chunking_fingerprint(limits: ChunkLimits) -> str:
    """Return a key of everything that decides how a text is cut. Records with another key are stale."""
    key = f"e{EXTRACTION_VERSION}-c{CHUNKING_VERSION}-{limits.max_chars}-{limits.min_chars}"
    return f"{key}-{limits.redaction_key}" if limits.redaction_key else key


class _ChunkSpan(NamedTuple):
    """A span under one heading path. `level` is that of its last section; `mixed` if it holds several sections."""

    start: int
    end: int
    trail: tuple[str, ...]
    level: int
    mixed: bool = False
    role: str = "text"


def chunk_extract(extract: Extraction, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Return ordered slices that do not overlap and together hold every word of the extract's blocks."""
    text, pieces = extract.text, _merge_short(_pack_equal_trails(_split_blocks(extract, limits), limits), limits)
    chunks: list[Chunk] = []
    line, counted_to = 1, 0
    for ordinal, piece in enumerate(pieces):
        line += text.count("\n", counted_to, piece.start)
        first, counted_to = line, piece.end
        line += text.count("\n", piece.start, piece.end)
        chunks.append(Chunk(ordinal, text[piece.start : piece.end], first, line, piece.trail, piece.role))
    return tuple(chunks)


# --- cut long blocks ------------------------------------------------------------------------


def _split_blocks(extract: Extraction, limits: ChunkLimits) -> Iterator[_ChunkSpan]:
    for block in extract.blocks:
        for start, end in _split_block(extract.text, block, limits.max_chars, is_code=extract.kind == "code"):
            yield _ChunkSpan(start, end, block.trail, len(block.trail), role=block.role)


def _split_block(text: str, block: Block, max_chars: int, *, is_code: bool) -> Iterator[tuple[int, int]]:
    start = _trimmed_start(text, block.start, block.end)
    end = _trimmed_end(text, start, block.end)
    while end - start > max_chars:
        cut = _cut_before_closing(text, start, end, max_chars, whole=block.atomic)
        if is_code:
            cut = _cut_above_comment(text, start, cut, end, max_chars)
        if (part_end := _trimmed_end(text, start, cut)) > start:
            yield start, part_end
        start = _trimmed_start(text, cut, end)
    if end > start:
        yield start, end


def _cut_before_closing(text: str, start: int, end: int, max_chars: int, *, whole: bool) -> int:
    """Find a cut that does not leave only closing brackets for the last chunk: no one searches for those."""
    first = cut = _find_cut(text, start, start + max_chars, whole=whole)
    for _ in range(_CLOSING_LINES):
        if end - cut > _CLOSING_CHARS or not has_only_closers(text, cut, end) or cut - 1 <= start:
            return cut
        cut = _find_cut(text, start, cut - 1, whole=whole)
    return first


def _cut_above_comment(text: str, start: int, cut: int, end: int, max_chars: int) -> int:
    """Move the cut above a comment, so that the comment stays with the code that follows it.

    Keeps the cut if less than half would remain above it, or if the rest would then need another chunk.
    """
    following, half = _trimmed_start(text, cut, end), (start + cut) // 2
    if following == end or text[following - 1] != "\n":
        return cut
    comment = leading_comment_start(text, following, half)
    makes_another = end - following <= max_chars < end - comment
    return comment if comment > half and not makes_another else cut


def _trimmed_start(text: str, start: int, end: int) -> int:
    """Skip blank lines, but keep the indentation of the first line with text."""
    word = _FIRST_WORD.search(text, start, end)
    if word is None:
        return end
    line = text.rfind("\n", start, word.start()) + 1
    return line or (start if start == 0 or text[start - 1] == "\n" else word.start())


def _trimmed_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _find_cut(text: str, start: int, limit: int, *, whole: bool) -> int:
    """Return the best cut up to `limit`. The later half is tried first, so that no short line stands alone."""
    half = (start + limit) // 2
    line_marks, text_marks = (_BLANK_LINE, _LINE_BREAK), (_SENTENCE, _WORD_END)
    if whole:
        attempts = [(half, _BLANK_LINE), (start, _LINE_BREAK), *((start, mark) for mark in text_marks)]
    else:
        attempts = [(floor, mark) for floor in (half, start) for mark in (*line_marks, *text_marks)]
    cuts = (_last_match(mark, text, floor + 1, limit) for floor, mark in attempts)
    return next((cut for cut in cuts if cut), 0) or _cut_between_characters(text, start, limit)


def _last_match(mark: re.Pattern[str], text: str, floor: int, limit: int) -> int:
    """Return the last match of a mark in `floor..limit`, or 0. A lookahead may see the character at `limit`."""
    if mark is _LINE_BREAK:  # the most common mark, and this is much faster
        return max(0, text.rfind("\n", floor, limit + 1))
    return max(
        (match.start() for match in mark.finditer(text, floor, limit + 1) if match.start() <= limit),
        default=0,
    )


def _cut_between_characters(text: str, start: int, limit: int) -> int:
    """Return a cut close to `limit` that does not split combining accents or joined emoji."""
    for cut in range(limit, max(start, limit - 16), -1):
        joined = _ZERO_WIDTH_JOINER in (text[cut], text[cut - 1])
        if not joined and not unicodedata.category(text[cut]).startswith("M"):
            return cut
    return limit


# --- pack short pieces ----------------------------------------------------------------------


def _pack_equal_trails(pieces: Iterable[_ChunkSpan], limits: ChunkLimits) -> list[_ChunkSpan]:
    """Join neighbours with the same heading path, as many as fit."""
    packed: list[_ChunkSpan] = []
    for piece in pieces:
        if packed and packed[-1].trail == piece.trail and _fits_together(packed[-1], piece, limits):
            packed[-1] = packed[-1]._replace(end=piece.end)
        else:
            packed.append(piece)
    return packed


def _merge_short(pieces: Iterable[_ChunkSpan], limits: ChunkLimits) -> list[_ChunkSpan]:
    """Join short pieces with the next one, or else with the previous one of the same section."""
    merged: list[_ChunkSpan] = []
    for piece in pieces:
        if merged and _joins_next(merged[-1], piece, limits):
            merged[-1] = _join(merged[-1], piece)
        else:
            _merge_last(merged, limits)
            merged.append(piece)
    _merge_last(merged, limits)
    return merged


def _joins_next(piece: _ChunkSpan, following: _ChunkSpan, limits: ChunkLimits) -> bool:
    """A short piece may join its own or a sibling section, but never leave the section it is in."""
    return _is_short(piece, limits) and len(following.trail) >= piece.level and _fits_together(piece, following, limits)


def _join(piece: _ChunkSpan, following: _ChunkSpan) -> _ChunkSpan:
    trail = _common_trail(piece.trail, following.trail)
    if trail == piece.trail and not piece.mixed:
        # Text directly above a section, for example a bare title, only introduces that section.
        trail = following.trail
    mixed = piece.mixed or trail != following.trail
    return _ChunkSpan(piece.start, following.end, trail, following.level, mixed, piece.role)


def _merge_last(merged: list[_ChunkSpan], limits: ChunkLimits) -> None:
    """Join a last piece that stayed short to the previous one, of the same section or its parent."""
    if len(merged) < 2 or not _is_short(merged[-1], limits):
        return
    before, last = merged[-2:]
    if before.trail in (last.trail, last.trail[:-1]) and _fits_together(before, last, limits):
        mixed = before.mixed or last.mixed or before.trail != last.trail
        merged[-2:] = [_ChunkSpan(before.start, last.end, before.trail, last.level, mixed, before.role)]


def _fits_together(piece: _ChunkSpan, following: _ChunkSpan, limits: ChunkLimits) -> bool:
    return piece.role == following.role and following.end - piece.start <= limits.max_chars


def _is_short(piece: _ChunkSpan, limits: ChunkLimits) -> bool:
    return piece.end - piece.start < limits.min_chars


def _common_trail(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]
