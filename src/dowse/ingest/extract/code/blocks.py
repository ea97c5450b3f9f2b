"""Code read as text: a block is a run of lines with what is indented below it."""

from __future__ import annotations

from dowse.ingest.extract.plain import blocks_from, paragraph_starts
from dowse.model import Block

_CONTINUATIONS = frozenset(" \t)]}")


def text_blocks(text: str) -> tuple[Block, ...]:
    return blocks_from(text, [start for start in paragraph_starts(text) if text[start] not in _CONTINUATIONS])
