"""Written types whose parts stand in angles, taken apart as deep as anybody writes them."""

from __future__ import annotations

import re
from typing import Final

_DEEPEST: Final = 8


def unwrapped(written: str, wrapper: re.Pattern[str]) -> str:
    """What is in the wrapper, and in the one in that: group 1 of the pattern, which matches the whole."""
    for _ in range(_DEEPEST):
        found = wrapper.fullmatch(written)
        if found is None:
            break
        written = found[1].strip()
    return written


def without(path: str, angles: re.Pattern[str]) -> str:
    """The path without any of it and without blanks; the pattern matches the innermost."""
    for _ in range(_DEEPEST):
        shorter = angles.sub("", path)
        if shorter == path:
            break
        path = shorter
    return "".join(path.split())
