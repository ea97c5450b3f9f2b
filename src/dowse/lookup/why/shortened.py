"""Texts on one line, and not too long for a list."""

from __future__ import annotations

import json
from bisect import bisect_right

MOST_CHARS = 160


def shortened(text: str) -> str:
    flat = " ".join(text[: 10 * MOST_CHARS].split())
    return flat if len(flat) <= MOST_CHARS else f"{flat[:MOST_CHARS]}…"


def beginning(text: str, most_chars: int) -> str:
    """The text, or as much of its beginning as takes no more than so many characters where it is quoted."""
    if _quoted_chars(text) <= most_chars:
        return text
    fits = bisect_right(range(len(text)), most_chars, key=lambda end: _quoted_chars(f"{text[:end]}…"))
    return f"{text[: max(0, fits - 1)]}…"


def _quoted_chars(text: str) -> int:
    """In JSON, by itself or in a sentence that quotes it: a control character takes up to ten there."""
    return max(len(json.dumps(it, ensure_ascii=False)) for it in (text, repr(text)))
