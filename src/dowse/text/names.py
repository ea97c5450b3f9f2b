"""The parts inside words: camelCase pieces of identifiers, and character pairs of scripts without spaces.

A words index splits text at spaces and punctuation only. What it would miss is written beside the
text, in a column of its own, and a query is taken apart by the same functions, so both sides agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Kana, Han with extensions and compatibility forms, Hangul: runs of these carry no spaces between words.
_CJK = re.compile(
    r"[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_BLANKED = "".join(letter if letter == "_" or letter.isalnum() else " " for letter in map(chr, range(128)))
_HAS_CAMEL = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")


def words(text: str) -> Iterator[str]:
    """Runs of letters, digits and underscores, as they stand."""
    return (found.group() for found in _WORD.finditer(text))


def camel_parts(word: str) -> list[str]:
    """`getUserName` → get, User, Name; nothing for a word that has one part, or is split at `_` anyway."""
    if not _HAS_CAMEL.search(word):
        return []
    parts = _CAMEL.findall(word)
    return parts if len(parts) > 1 else []


def cjk_runs(word: str) -> list[str]:
    return _CJK.findall(word)


def pairs(run: str) -> list[str]:
    """Overlapping character pairs; the last character alone too, so that each can be found by prefix."""
    return [run[i : i + 2] for i in range(len(run))]


def names(text: str) -> str:
    """Everything a words index should also find this text by, as one string of extra words."""
    found = text.translate(_BLANKED).split() if text.isascii() else _WORD.findall(text)  # the first is thrice as quick
    return " ".join(filter(None, map(_extra, found)))


@lru_cache(maxsize=20_000)  # most words of a text were seen before, in it or in one like it
def _extra(word: str) -> str:
    if word.isascii():
        return " ".join(camel_parts(word))
    runs = cjk_runs(word)
    if not runs:
        return " ".join(camel_parts(word))
    between = (part for part in _CJK.split(word) if part.strip("_"))
    return " ".join((*(pair for run in runs for pair in pairs(run)), *between))


def last_name(text: str) -> str:
    """`Some.Generic<Of>` → generic: what people ask for."""
    found = _WORD.findall(text.partition("<")[0].partition("[")[0])
    return (found[-1] if found else text).lower()
