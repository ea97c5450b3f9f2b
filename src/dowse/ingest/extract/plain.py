"""Plain text: paragraphs are what blank lines separate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from dowse.ingest.extract.spans import line_end, line_start
from dowse.model import Block, Extract, Item
from dowse.text.decode import decode

MAX_TITLE_CHARS: Final = 200

_BLANK_LINES = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w")


def extract_plain(item: Item, data: bytes) -> Extract:
    text = decode(data)
    return Extract("doc", _title(text, item.path), text, blocks_from(text, list(paragraph_starts(text))))


def paragraph_starts(text: str) -> Iterator[int]:
    """Where a line follows one or more blank ones."""
    return (match.end() for match in _BLANK_LINES.finditer(text) if match.end() < len(text))


def blocks_from(text: str, starts: Sequence[int]) -> tuple[Block, ...]:
    """Blocks that cover `text`, a new one at each of `starts`."""
    if not text:
        return ()
    return tuple(Block(start, end) for start, end in zip([0, *starts], [*starts, len(text)], strict=True))


def _title(text: str, path: str) -> str:
    """The first line with words, if it stands alone above more: else it only begins a paragraph, or is the text."""
    word = _WORD.search(text)
    if word is None:
        return PurePosixPath(path).stem
    end = line_end(text, word.start() + 1)
    line = text[line_start(text, word.start()) : end].strip()
    following = text[end : text.find("\n", end) + 1 or len(text)]
    is_above = _WORD.search(following) is None and _WORD.search(text, end) is not None
    return line if is_above and len(line) <= MAX_TITLE_CHARS else PurePosixPath(path).stem
