"""Types of Swift: an optional is used as what it may hold, brackets are arrays and dictionaries."""

from __future__ import annotations

import re

from dowse.text.expressions import instance

_NOTHING = frozenset({"", "Void", "()", "_"})
_WORDS = re.compile(r"\b(?:some|any|inout|borrowing|consuming)\s+|@\w+(?:\([^)]*\))?\s*")
_DICTIONARY = re.compile(r"\[([^\[\]:]+):([^\[\]]+)\]")
_ARRAY = re.compile(r"\[([^\[\]]+)\]")
_MOST_NESTED = 6


def held(written: str) -> str:
    bare = _WORDS.sub("", written).replace("?", "").replace("!", "").strip()
    if "->" in bare:
        return ""
    for _ in range(_MOST_NESTED):
        inner = _ARRAY.sub(r"Array<\1>", _DICTIONARY.sub(r"Dictionary<\1,\2>", bare))
        if inner == bare:
            break
        bare = inner
    return "" if bare in _NOTHING else instance(bare)
