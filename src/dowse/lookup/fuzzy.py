"""How well letters that were typed in order fit a path: letters in a row and at the start of words count more."""

from __future__ import annotations

import re
from itertools import pairwise

from dowse.errors import BadInput

MAX_LETTERS = 100

_LETTER = 1
_IN_A_ROW = 8
_WORD_START = 6
_IN_NAME = 20  # all of them in the last part of the path
_SEPARATORS = frozenset("/._- ")


def letters_of(asked: str) -> str:
    """What counts of what was typed: no blanks, and no case."""
    letters = "".join(asked.lower().split())
    if len(letters) > MAX_LETTERS:
        raise BadInput(f"{len(letters):,} letters are too many to be taken loosely; at most {MAX_LETTERS}")
    return letters


def letters_regex(letters: str) -> str:
    return ".*".join(map(re.escape, letters))


def fuzzy_score(path: str, letters: str) -> int | None:
    """Higher is better; None where the letters do not occur in this order."""
    name = path.rpartition("/")[2]
    in_name = _positions(name.lower(), letters)
    if in_name is not None:
        return _IN_NAME + _score(name, in_name)
    in_path = _positions(path.lower(), letters)
    return None if in_path is None else _score(path, in_path)


def _positions(text: str, letters: str) -> list[int] | None:
    """Where the letters are: they end as early as they can, and seen from there begin as late as they can."""
    end = -1
    for letter in letters:
        end = text.find(letter, end + 1)
        if end < 0:
            return None
    places: list[int] = []
    for letter in reversed(letters):
        end = text.rfind(letter, 0, end + 1)
        places.append(end)
        end -= 1
    return places[::-1]


def _score(text: str, places: list[int]) -> int:
    gaps = places[-1] - places[0] + 1 - len(places) if places else 0
    in_a_row = sum(right == left + 1 for left, right in pairwise(places))
    starts = sum(_starts_word(text, place) for place in places)
    return _LETTER * len(places) + _IN_A_ROW * in_a_row + _WORD_START * starts - gaps // 2


def _starts_word(text: str, place: int) -> bool:
    if place == 0 or text[place - 1] in _SEPARATORS:
        return True
    return text[place].isupper() and not text[place - 1].isupper()
