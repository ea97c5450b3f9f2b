"""Words out of texts by the megabyte: ASCII is split as bytes, only lines with other letters are read as text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dowse.store.sqlite.lines.arrays import distinct
from dowse.text.folding import words

_LINE_FEED = 10
_BLANK = b" "


def _table() -> bytes:
    """Lower case for letters, blanks for what is no part of a word; bytes beyond ASCII are dealt with apart."""
    letters = (chr(code).lower() if chr(code).isalnum() or code == ord("_") else " " for code in range(128))
    return "".join(letters).encode() + _BLANK * 128


_FOLDED = _table()


class Vocabulary(dict[bytes, int]):
    """Numbers words in the order in which they are first asked for."""

    def __missing__(self, word: bytes) -> int:
        number = self[word] = len(self)
        return number


@dataclass(frozen=True, slots=True)
class Tokens:
    """Every word of a text: its number and its line; `starts` are where the lines begin."""

    numbers: NDArray[np.uint64]
    lines: NDArray[np.int64]
    starts: NDArray[np.int64]


def tokens(text: bytes, vocabulary: Vocabulary) -> Tokens:
    """`text` is lines that each end with a line feed."""
    content = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(content == _LINE_FEED)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    plain, others = (text, ends[:0]) if text.isascii() else _without_others(text, content, starts, ends)
    numbers, lines = _plain_tokens(plain, ends, vocabulary)
    if len(others):
        more = [_other_tokens(text[starts[line] : ends[line]], int(line), vocabulary) for line in others]
        numbers = np.concatenate([numbers, *(it[0] for it in more)])
        lines = np.concatenate([lines, *(it[1] for it in more)])
    return Tokens(numbers, lines, starts)


def _plain_tokens(
    text: bytes, ends: NDArray[np.int64], vocabulary: Vocabulary
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    blanked = _BLANK + text.translate(_FOLDED)
    found = blanked.split()
    numbers = np.fromiter(map(vocabulary.__getitem__, found), dtype=np.uint64, count=len(found))
    inside = np.frombuffer(blanked, dtype=np.uint8) != _BLANK[0]
    # Every text ends with a line feed: words begin and end by turns. The blank in front shifts places by one.
    begins = np.flatnonzero(inside[1:] != inside[:-1])[::2]
    return numbers, np.searchsorted(ends, begins)


def _without_others(
    text: bytes, content: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[bytes, NDArray[np.int64]]:
    """The text with blanks in place of lines that are not all ASCII, and those lines."""
    others = distinct(np.searchsorted(ends, np.flatnonzero(content > 127)))
    blanked = bytearray(text)
    for start, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
        blanked[start:end] = _BLANK * (end - start)
    return bytes(blanked), others


def _other_tokens(content: bytes, line: int, vocabulary: Vocabulary) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    found = [word.encode() for word in words(content.decode("utf-8", "replace"))]
    numbers = np.fromiter(map(vocabulary.__getitem__, found), dtype=np.uint64, count=len(found))
    return numbers, np.full(len(found), line)
