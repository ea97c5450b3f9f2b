"""All that can be worked out of one file before anything is written; wherever it runs, it needs no store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dowse.errors import ParserFailed
from dowse.ingest.chunk import Limits, chunk
from dowse.ingest.embed import embed_digest
from dowse.ingest.extract.table import Extractor
from dowse.model import Chunk, Extract, Item
from dowse.store.base import UNENCODED, Piece
from dowse.text.names import names

_WHATEVER_PARSERS_RAISE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
)
_MAX_REASON_CHARS = 300
_NO_DIGEST = b""


@dataclass(frozen=True, slots=True)
class Task:
    item: Item
    data: bytes
    limits: Limits


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is written of a file: its extract, without the blocks its chunks were made from."""

    extract: Extract
    pieces: tuple[Piece, ...]


def prepare(task: Task, extract: Extractor) -> Prepared:
    """Raises Unreadable for what is no text, ParserFailed for whatever goes wrong with one."""
    try:
        found = extract(task.item, task.data)
        if not isinstance(found, Extract):
            raise TypeError(f"{type(found).__name__} is no extract")
        return prepared(found, task.limits)
    except MemoryError:
        raise ParserFailed("the parser ran out of memory") from None
    except _WHATEVER_PARSERS_RAISE as error:
        reason = f"the parser failed ({type(error).__name__}: {error})"
        raise ParserFailed(reason[:_MAX_REASON_CHARS]) from error


def prepared(extract: Extract, limits: Limits, facets: Mapping[str, str] | None = None) -> Prepared:
    pieces = tuple(_piece(extract.title, part) for part in chunk(extract, limits))
    return Prepared(replace(extract, blocks=(), facets={**extract.facets, **(facets or {})}), pieces)


def _piece(title: str, part: Chunk) -> Piece:
    if part.role in UNENCODED:
        return Piece(part, _NO_DIGEST, "")  # its words as they stand will do
    digest = embed_digest(title, part.trail, part.text)
    return Piece(part, digest, names(" ".join((title, *part.trail, part.text))))
