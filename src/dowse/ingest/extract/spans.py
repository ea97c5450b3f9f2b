"""Places in a text: lines of characters, and characters of UTF-8 bytes."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

_LINE_FEED = re.compile("\n")
# Marks and words that only close what others began. Possessive: it must not be tried twice.
_CLOSING = re.compile(r"(?:[\W_]|(?:end|fi|done|esac)(?!\w))*+")
_MARKS = ("#", "//", "--", ";")
_OPENINGS = {"*/": "/*", "-->": "<!--", "*)": "(*", "-}": "{-", "]]": "--[[", "=end": "=begin"}
_CLOSINGS = tuple(_OPENINGS)
# Lines of the preprocessor and of a shell are no comments, and inner attributes are those of what is around.
_DIRECTIVE = re.compile(
    r"#(?:!|\s*(?:include|import|if|ifdef|ifndef|else|elif|endif|define|undef|pragma|(?:end)?region)\b)"
)
_BLANKS = re.compile(r"[ \t]*")
_CLOSERS = ")]}"
_MAX_BLANK_LINES = 2  # between a comment and what it belongs to
_MAX_ATTRIBUTE_LINES = 50
_MAX_COMMENT_LINES = 500
_PAGE_BYTES = 128
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))


class Lines:
    """Line numbers, from 1, of the characters of a text; only a line feed ends a line."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in _LINE_FEED.finditer(text)]

    def at(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1


class Characters:
    """Turns byte offsets of a text's UTF-8 form into character offsets, any order, in constant time.

    A character is counted where it starts, so counting needs no decoding: drop the continuation bytes.
    """

    def __init__(self, text: str) -> None:
        self._data = b"" if text.isascii() else text.encode()
        pages = range(0, len(self._data), _PAGE_BYTES)
        self._before = [0, *accumulate(self._count(page, page + _PAGE_BYTES) for page in pages)]

    def at(self, byte: int) -> int:
        if not self._data:
            return byte
        page = byte // _PAGE_BYTES
        return self._before[page] + self._count(page * _PAGE_BYTES, byte)

    def _count(self, start: int, end: int) -> int:
        return len(self._data[start:end].translate(None, _CONTINUATION_BYTES))


def line_start(text: str, offset: int) -> int:
    """Where the line that holds `offset` begins."""
    return text.rfind("\n", 0, offset) + 1


def line_end(text: str, offset: int) -> int:
    """Where the line that ends at or after `offset` is over; `offset` itself when it begins a line."""
    if offset == 0 or text[offset - 1] == "\n":
        return offset
    return text.find("\n", offset) + 1 or len(text)


def is_closing(text: str, start: int, end: int) -> bool:
    """Whether there is nothing in this span but blanks, marks and words such as `end`."""
    return _CLOSING.fullmatch(text, start, end) is not None


def leading_start(text: str, at: int, floor: int = 0) -> int:
    """Where the comments, decorators and attributes above the line at `at` begin, or `at`; never before `floor`.

    A comment that only blank lines part from the line belongs to it too. The first comment of a text is about the
    whole of it if a blank line follows.
    """
    indent = _indent(text, at)
    start, has_comment = _attached(text, at, floor, indent)
    if has_comment:
        return start
    blank = start
    for _ in range(_MAX_BLANK_LINES):
        above = _line_above(text, blank, floor)
        if above == blank or text[above:blank].strip():
            break
        blank = above
    last = _line_above(text, blank, floor)
    if blank == start or _indent(text, last) < indent or _DIRECTIVE.match(text[last:blank].lstrip()):
        return start
    comment, has_comment = _attached(text, blank, floor, indent)
    return comment if has_comment and comment > 0 and _indent(text, comment) == indent else start


def _attached(text: str, at: int, floor: int, indent: int) -> tuple[int, bool]:
    """Where the lines directly above that belong to the one at `at` begin, and whether a comment is among them."""
    start, has_comment = at, False
    while (above := _line_above(text, start, floor)) < start:
        line = text[above:start].strip()
        if line.endswith(_CLOSINGS) and (opening := _comment_opening(text, start, floor)) < start:
            above, has_comment = opening, True
        elif line.startswith(_MARKS):
            if line.startswith("#!"):
                break
            has_comment = has_comment or not (line.startswith("#[") or _DIRECTIVE.match(line))
        elif not line.startswith(("@", "[")):
            above = _attribute_opening(text, start, floor, indent) if line.endswith((")", "]")) else start
        if above == start:
            break
        start = above
    return start, has_comment


def _comment_opening(text: str, end: int, floor: int) -> int:
    """Where the block comment begins whose last line ends at `end`, or `end` if it stands behind code."""
    start, closing = end, ""
    for _ in range(_MAX_COMMENT_LINES):
        above = _line_above(text, start, floor)
        line = text[above:start].strip()
        if above == start:
            break
        closing = closing or next(mark for mark in _CLOSINGS if line.endswith(mark))
        if line.startswith(_OPENINGS[closing]):
            closed = line.find(closing, len(closing))
            return above if closed == (len(line) - len(closing) if start == end else -1) else end
        if start < end and closing in line:
            break  # another comment, which began behind code
        start = above
    return end


def _attribute_opening(text: str, end: int, floor: int, indent: int) -> int:
    """Where a decorator or an attribute of several lines begins whose last one ends at `end`, or `end`."""
    start = end
    for _ in range(_MAX_ATTRIBUTE_LINES):
        above = _line_above(text, start, floor)
        line = text[above:start].strip()
        if above == start or not line:
            break
        if _indent(text, above) <= indent and line.strip(_CLOSERS):
            return above if line.startswith(("@", "#[", "[")) else end
        start = above
    return end


def _line_above(text: str, at: int, floor: int) -> int:
    """Where the line above the one that begins at `at` begins, but not before `floor`."""
    return max(text.rfind("\n", floor, at - 1) + 1, floor) if at > floor else at


def _indent(text: str, at: int) -> int:
    found = _BLANKS.match(text, at)
    return found.end() - at if found else 0
