"""Extract plain text; blank lines separate paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from dowse.ingest.extract.markdown import line_end, line_start
from dowse.model import Block, Extraction, Item
from dowse.text.unicode import decode

MAX_PLAIN_TITLE_CHARS: Final = 200

_BLANK_LINES = re.compile(r"\n\s*\n")
_WORD = re.compile(r"\w")


def extract_plain(item: Item, data: bytes) -> Extraction:
    text = decode(data)
    return Extraction("doc", _plain_title(text, item.path), text, blocks_at(text, list(paragraph_starts(text))))


def paragraph_starts(text: str) -> Iterator[int]:
    """Yield the start of each line that follows blank lines."""
    return (match.end() for match in _BLANK_LINES.finditer(text) if match.end() < len(text))


def blocks_at(text: str, starts: Sequence[int]) -> tuple[Block, ...]:
    """Return blocks that cover `text`, with a new one at each of `starts`."""
    if not text:
        return ()
    return tuple(Block(start, end) for start, end in zip([0, *starts], [*starts, len(text)], strict=True))


def _plain_title(text: str, path: str) -> str:
    """Return the first line with words if a blank line and more text follow; otherwise the file's stem."""
    word = _WORD.search(text)
    if word is None:
        return PurePosixPath(path).stem
    end = line_end(text, word.start() + 1)
    line = text[line_start(text, word.start()) : end].strip()
    following = text[end : text.find("\n", end) + 1 or len(text)]
    is_above = _WORD.search(following) is None and _WORD.search(text, end) is not None
    return line if is_above and len(line) <= MAX_PLAIN_TITLE_CHARS else PurePosixPath(path).stem
