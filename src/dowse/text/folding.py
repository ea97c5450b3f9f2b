"""Words of lines, and letters regardless of their case: one meaning for the index, the questions and the tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

WORD = re.compile(r"\w+")
"""Letters, digits and `_`, of any script."""

Test = Literal["is", "holds", "begins", "ends", "matches"]


class WordTest(NamedTuple):
    """What a word must be: `text` itself, or have it inside, at its beginning or end, or match it as a regex."""

    how: Test
    text: str


def folded(text: str) -> str:
    """Without case, letter by letter, so that a part of a text folds to a part of the folded text."""
    return text.lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=10_000)
def _folded(letter: str) -> str:
    """As regexes that ignore case have it: `ẞ` is `ß` but not `ss`, and `İ`, which has no one letter, is itself."""
    for form in (letter.casefold(), letter.lower()):
        if len(form) == 1:
            return form
    return letter


def words(line: str) -> list[str]:
    return WORD.findall(folded(line))


def pieces(literal: str) -> tuple[WordTest, ...]:
    """What the words of a line are that has this in it: known to their ends where the literal goes on beyond them."""
    return tuple(_piece(literal, match) for match in WORD.finditer(literal))


def _piece(literal: str, match: re.Match[str]) -> WordTest:
    starts, ends = match.start() > 0, match.end() < len(literal)
    how: Test = "is" if starts and ends else "begins" if starts else "ends" if ends else "holds"
    return WordTest(how, folded(match[0]))


def in_a_row(words: Sequence[str]) -> re.Pattern[str]:
    """Whole words with blanks of any kind and number between them: nothing in it can be tried in two ways."""
    first, *others = map(re.escape, words)
    # What is before the first word is looked at behind it: a regex that begins with a literal is found much sooner.
    return re.compile(rf"{first}(?<!\w{first})" + "".join(rf"\s+{word}" for word in others) + r"(?!\w)")
