"""Chunks: an extract's blocks packed into verbatim slices of bounded length, below one trail each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.errors import BadInput
from dowse.ingest.extract.spans import is_closing, leading_start
from dowse.ingest.extract.table import EXTRACTION_VERSION
from dowse.model import Block, Chunk, Extract

# Raise it when the same extract would be cut elsewhere: what is indexed is then chunked again.
CHUNKING_VERSION: Final = 3

SMALLEST_MAX_CHARS: Final = 50

_BLANK_LINE = re.compile(r"(?=\n[ \t\r]*\n)")
_LINE = re.compile(r"(?=\n)")
_SENTENCE = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[.!?…][\"')\]”’»])(?=\s)|(?<=[。！？])")
_WORD = re.compile(r"(?<=\S)(?=\s)")
_FIRST_WORD = re.compile(r"\S")
_CLOSING_LINES: Final = 20  # as deep as code is nested, at most
_CLOSING_CHARS: Final = 400
_ZERO_WIDTH_JOINER: Final = "\u200d"


@dataclass(frozen=True, slots=True)
class Limits:
    """No chunk is longer than `max_chars`; one shorter than `min_chars` joins a neighbour if it can.
    `withheld` stands for the rules by which parts of the texts are masked or left out before."""

    max_chars: int = 2000
    min_chars: int = 120
    withheld: str = ""

    def __post_init__(self) -> None:
        if self.max_chars < SMALLEST_MAX_CHARS:
            raise BadInput(f"max_chars is {self.max_chars}; give at least {SMALLEST_MAX_CHARS}")
        if not 1 <= self.min_chars <= self.max_chars:
            raise BadInput(f"min_chars is {self.min_chars}; give 1 to max_chars ({self.max_chars})")


def fingerprint(limits: Limits) -> str:
    """Names everything that decides how a text is cut; records of another fingerprint are stale."""
    how = f"e{EXTRACTION_VERSION}-c{CHUNKING_VERSION}-{limits.max_chars}-{limits.min_chars}"
    return f"{how}-{limits.withheld}" if limits.withheld else how


class _Piece(NamedTuple):
    """A span below a trail. `level` is that of its last section; `mixed` when it holds several."""

    start: int
    end: int
    trail: tuple[str, ...]
    level: int
    mixed: bool = False
    role: str = "text"


def chunk(extract: Extract, limits: Limits) -> tuple[Chunk, ...]:
    """Ordered slices that do not overlap and together hold every word of the extract's blocks."""
    text, pieces = extract.text, _merged(_packed(_pieces(extract, limits), limits), limits)
    chunks: list[Chunk] = []
    line, counted = 1, 0
    for ordinal, piece in enumerate(pieces):
        line += text.count("\n", counted, piece.start)
        first, counted = line, piece.end
        line += text.count("\n", piece.start, piece.end)
        chunks.append(Chunk(ordinal, text[piece.start : piece.end], first, line, piece.trail, piece.role))
    return tuple(chunks)


# --- cutting what is too long ---------------------------------------------------------------


def _pieces(extract: Extract, limits: Limits) -> Iterator[_Piece]:
    for block in extract.blocks:
        for start, end in _parts(extract.text, block, limits.max_chars, is_code=extract.kind == "code"):
            yield _Piece(start, end, block.trail, len(block.trail), role=block.role)


def _parts(text: str, block: Block, max_chars: int, *, is_code: bool) -> Iterator[tuple[int, int]]:
    start = _trimmed_start(text, block.start, block.end)
    end = _trimmed_end(text, start, block.end)
    while end - start > max_chars:
        cut = _cut_before_closing(text, start, end, max_chars, whole=block.whole)
        if is_code:
            cut = _cut_above_comment(text, start, cut, end, max_chars)
        if (part_end := _trimmed_end(text, start, cut)) > start:
            yield start, part_end
        start = _trimmed_start(text, cut, end)
    if end > start:
        yield start, end


def _cut_before_closing(text: str, start: int, end: int, max_chars: int, *, whole: bool) -> int:
    """Where to cut so that more is left than what closes something: nobody looks for a brace."""
    first = cut = _cut(text, start, start + max_chars, whole=whole)
    for _ in range(_CLOSING_LINES):
        if end - cut > _CLOSING_CHARS or not is_closing(text, cut, end) or cut - 1 <= start:
            return cut
        cut = _cut(text, start, cut - 1, whole=whole)
    return first


def _cut_above_comment(text: str, start: int, cut: int, end: int, max_chars: int) -> int:
    """Where to cut so that a comment stays with what follows it, unless that leaves less than half above it, or more
    below it than a chunk holds where `cut` does not."""
    following, half = _trimmed_start(text, cut, end), (start + cut) // 2
    if following == end or text[following - 1] != "\n":
        return cut
    comment = leading_start(text, following, half)
    makes_another = end - following <= max_chars < end - comment
    return comment if comment > half and not makes_another else cut


def _trimmed_start(text: str, start: int, end: int) -> int:
    """Past blank lines, but not past the indentation of the first line that is kept."""
    word = _FIRST_WORD.search(text, start, end)
    if word is None:
        return end
    line = text.rfind("\n", start, word.start()) + 1
    return line or (start if start == 0 or text[start - 1] == "\n" else word.start())


def _trimmed_end(text: str, start: int, end: int) -> int:
    return start + len(text[start:end].rstrip())


def _cut(text: str, start: int, limit: int, *, whole: bool) -> int:
    """The best place up to `limit`: the later half is tried first, lest a short line stand alone."""
    half = (start + limit) // 2
    gentle, rough = (_BLANK_LINE, _LINE), (_SENTENCE, _WORD)
    if whole:
        tries = [(half, _BLANK_LINE), (start, _LINE), *((start, mark) for mark in rough)]
    else:
        tries = [(floor, mark) for floor in (half, start) for mark in (*gentle, *rough)]
    cuts = (_last(mark, text, floor + 1, limit) for floor, mark in tries)
    return next((cut for cut in cuts if cut), 0) or _between_characters(text, start, limit)


def _last(mark: re.Pattern[str], text: str, floor: int, limit: int) -> int:
    """The last place of a mark in `floor..limit`, or 0; the character at `limit` may be looked at."""
    if mark is _LINE:  # the most usual one, and this is much quicker
        return max(0, text.rfind("\n", floor, limit + 1))
    return max(
        (match.start() for match in mark.finditer(text, floor, limit + 1) if match.start() <= limit),
        default=0,
    )


def _between_characters(text: str, start: int, limit: int) -> int:
    """As near to `limit` as possible without taking an accent or a joined emoji apart."""
    for cut in range(limit, max(start, limit - 16), -1):
        joined = _ZERO_WIDTH_JOINER in (text[cut], text[cut - 1])
        if not joined and not unicodedata.category(text[cut]).startswith("M"):
            return cut
    return limit


# --- packing what is short ------------------------------------------------------------------


def _packed(pieces: Iterable[_Piece], limits: Limits) -> list[_Piece]:
    """Neighbours of the same trail together, as many as fit."""
    packed: list[_Piece] = []
    for piece in pieces:
        if packed and packed[-1].trail == piece.trail and _fits(packed[-1], piece, limits):
            packed[-1] = packed[-1]._replace(end=piece.end)
        else:
            packed.append(piece)
    return packed


def _merged(pieces: Iterable[_Piece], limits: Limits) -> list[_Piece]:
    """Short pieces joined with what follows, or else with what comes before in the same section."""
    merged: list[_Piece] = []
    for piece in pieces:
        if merged and _joins_next(merged[-1], piece, limits):
            merged[-1] = _joined(merged[-1], piece)
        else:
            _settle(merged, limits)
            merged.append(piece)
    _settle(merged, limits)
    return merged


def _joins_next(piece: _Piece, following: _Piece, limits: Limits) -> bool:
    """A short piece may lead into its own or a sibling's section, but never out of the one it is in."""
    return _is_short(piece, limits) and len(following.trail) >= piece.level and _fits(piece, following, limits)


def _joined(piece: _Piece, following: _Piece) -> _Piece:
    trail = _common(piece.trail, following.trail)
    if trail == piece.trail and not piece.mixed:
        # What stands directly above a section, a bare title say, only introduces it.
        trail = following.trail
    mixed = piece.mixed or trail != following.trail
    return _Piece(piece.start, following.end, trail, following.level, mixed, piece.role)


def _settle(merged: list[_Piece], limits: Limits) -> None:
    """Gives a last piece that stayed short to the one before it, of the same section or the one above."""
    if len(merged) < 2 or not _is_short(merged[-1], limits):
        return
    before, last = merged[-2:]
    if before.trail in (last.trail, last.trail[:-1]) and _fits(before, last, limits):
        mixed = before.mixed or last.mixed or before.trail != last.trail
        merged[-2:] = [_Piece(before.start, last.end, before.trail, last.level, mixed, before.role)]


def _fits(piece: _Piece, following: _Piece, limits: Limits) -> bool:
    return piece.role == following.role and following.end - piece.start <= limits.max_chars


def _is_short(piece: _Piece, limits: Limits) -> bool:
    return piece.end - piece.start < limits.min_chars


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return one[:shared]
