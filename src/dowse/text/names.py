"""The parts inside words: camelCase pieces of identifiers, and character pairs of scripts without spaces.

A words index splits text at spaces and punctuation only. What it would miss is written beside the
text, in a column of its own, and a query is taken apart by the same functions, so both sides agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WORD = re.compile(r"\w+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Kana, Han with extensions and compatibility forms, Hangul: runs of these carry no spaces between words.
_CJK = re.compile(
    r"[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
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
    extra: list[str] = []
    for word in _WORD.findall(text):
        if word.islower() and word.isalpha() and word.isascii():
            continue  # most words, and one part: a quick way out
        if word.isascii():
            extra += camel_parts(word)
            continue
        runs = cjk_runs(word)
        for run in runs:
            extra += pairs(run)
        if runs:
            extra += [part for part in _CJK.split(word) if part.strip("_")]
        else:
            extra += camel_parts(word)
    return " ".join(extra)


def last_name(text: str) -> str:
    """`Some.Generic<Of>` → generic: what people ask for."""
    found = _WORD.findall(text.partition("<")[0].partition("[")[0])
    return (found[-1] if found else text).lower()
