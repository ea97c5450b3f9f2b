"""Code read as text: a block is a run of lines with what is indented below it."""

from __future__ import annotations

from pathlib import PurePosixPath

from dowse.ingest.extract.plain import blocks_from, paragraph_starts
from dowse.model import Extract, Item
from dowse.text.decode import decode

_CONTINUATIONS = frozenset(" \t)]}")


def extract_code(item: Item, data: bytes) -> Extract:
    text = decode(data)
    starts = [start for start in paragraph_starts(text) if text[start] not in _CONTINUATIONS]
    return Extract("code", PurePosixPath(item.path).name, text, blocks_from(text, starts))
