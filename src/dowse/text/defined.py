"""Names that a piece of source text defines, told by the words before them in most languages."""

from __future__ import annotations

import re
from functools import lru_cache

from dowse.text.names import camel_parts

_DEFINED = re.compile(
    r"\b(?:def|class|function\*?|interface|type|const|let|var|struct|enum|fn|func|trait|module|record|object)"
    r"\s+([A-Za-z_$][\w$]*)"
)
_PIECES = re.compile(r"[^\W_]+")


@lru_cache(maxsize=4_000)  # the same passages are candidates again and again
def defined_names(text: str) -> tuple[str, ...]:
    """Each once, in the order of the text."""
    return tuple(dict.fromkeys(_DEFINED.findall(text)))


@lru_cache(maxsize=50_000)
def name_parts(name: str) -> tuple[str, ...]:
    """`HTTPServer_v2` → http, server, v, 2: what a name is made of, in lower case."""
    return tuple(part.lower() for piece in _PIECES.findall(name) for part in (camel_parts(piece) or [piece]))


def alike(one: str, other: str) -> bool:
    """Whether two lower-case words are the same but for their endings: `render` and `rendering`."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _STEM_CHARS:
        return shorter.rstrip("s") == longer.rstrip("s")
    shared = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return shared >= max(_STEM_CHARS, _STEM_SHARE * len(longer))


_STEM_CHARS = 4
_STEM_SHARE = 0.65
