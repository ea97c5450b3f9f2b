"""Hits made by hand."""

from __future__ import annotations

from dowse.model import Chunk, Hit, Record, StoredChunk


def hit(text: str, cosine: float = 0.0, path: str = "a.md", kind: str = "doc") -> Hit:
    record = Record("c", path, kind, "", 1, 1, "d", "c")
    return Hit(StoredChunk(1, Chunk(0, text, 1, 1), record), 1.0, {"cosine": cosine} if cosine else {})
