"""What a memory is anchored to, as it is written: `path`, `path#Symbol`, `path:LINE` or `commit:HASH`.

Behind a path may stand the digest of what was there when the memory was written: `src/app.py#Server@0123456789abcdef`.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

ANCHORED: Final = "anchored"
"""The kind of the links from a memory to what it is anchored to; their context is the digest."""
ANCHORS: Final = "anchors"
"""The key in the front matter; as a facet, how many there are."""
COMMIT: Final = "commit:"
_DIGITS: Final = 16
_DIGEST = re.compile(rf"@([0-9a-f]{{{_DIGITS}}})\Z")
_LINE = re.compile(r":(\d{1,9})\Z")
_HASH = re.compile(r"[0-9a-f]{4,64}\Z")


class Anchor(NamedTuple):
    """`line` is 0 unless one was written; `symbol` is the name behind `#`, with the names around it before its dots."""

    path: str
    symbol: str = ""
    line: int = 0
    commit: str = ""
    digest: str = ""

    @property
    def target(self) -> str:
        """What a link to it says; lines move, and are left out."""
        if self.commit:
            return COMMIT + self.commit
        return f"{self.path}#{self.symbol}" if self.symbol else self.path

    @property
    def written(self) -> str:
        return f"{self.target}@{self.digest}" if self.digest else self.target


def parse_anchor(text: str) -> Anchor | None:
    """None for what is no anchor."""
    text = text.strip()
    if text[: len(COMMIT)].lower() == COMMIT:
        commit = text[len(COMMIT) :].strip().lower()
        return Anchor("", commit=commit) if _HASH.match(commit) else None
    digest = _DIGEST.search(text)
    place = text[: digest.start()] if digest else text
    path, _, symbol = place.partition("#")
    line = _LINE.search(path)
    path = (path[: line.start()] if line else path).replace("\\", "/").removeprefix("./")
    if not path or not place.isprintable() or path.startswith("/") or ".." in path.split("/"):
        return None
    return Anchor(path, symbol, int(line[1]) if line else 0, digest=digest[1] if digest else "")


def digest_of(text: str) -> str:
    """Of what is anchored; blanks around it and the way its lines end do not count."""
    plain = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
