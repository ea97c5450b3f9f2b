"""Places in a text: lines of characters, and characters of UTF-8 bytes."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

_LINE_FEED = re.compile("\n")
# Marks and words that only close what others began. Possessive: it must not be tried twice.
_CLOSING = re.compile(r"(?:[\W_]|(?:end|fi|done|esac)(?!\w))*+")
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
