"""Code read as text: a block is a run of lines with the comment above it and what is indented below it."""

from __future__ import annotations

from dowse.ingest.extract.plain import blocks_from, paragraph_starts
from dowse.ingest.extract.spans import leading_start
from dowse.model import Block

_CONTINUATIONS = frozenset(" \t)]}")


def text_blocks(text: str) -> tuple[Block, ...]:
    starts: list[int] = []
    for paragraph in paragraph_starts(text):
        if text[paragraph] not in _CONTINUATIONS:
            before = starts[-1] if starts else 0
            start = leading_start(text, paragraph, before)
            if start > before:
                starts.append(start)
    return blocks_from(text, starts)
