"""Rows to nouns and back: the only place that knows the columns by heart."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from dowse.errors import IndexDamaged
from dowse.model import NO_FACETS, Chunk, Record, Stats, Stored, Symbol
from dowse.store.base import UNENCODED
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.seals import Unsound, intact

TRAIL_JOINT = "\x1f"
_KEPT = 4_096
_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: that takes the most time

RECORD_COLUMNS = (
    "collections.name, records.path, records.kind, records.title, records.size, records.mtime_ns, "
    "records.digest, records.chunking, records.settled, records.tags, records.aliases, records.facets, "
    "records.at_ns, records.details, records.seal"
)
STORED_COLUMNS = (
    "chunks.id, chunks.seal, chunks.ordinal, chunks.public_id, chunks.role, chunks.start_line, chunks.end_line, "
    "chunks.digest, chunks.title, chunks.trail, chunks.text, chunks.names, chunks.tags, chunks.path, " + RECORD_COLUMNS
)
_CHUNK = 14  # columns of a chunk before those of its record
SYMBOL_COLUMNS = (
    "symbols.name, symbols.kind, symbols.start_line, symbols.end_line, symbols.level, symbols.parent, signature, "
    "holds, parameters, modifiers, attributes, bases, "
    "cyclomatic, cognitive, nesting, arity, returns, calls_made, lambdas"
)
_ROLES = ", ".join(f"'{role}'" for role in UNENCODED)
UNENCODED_CHUNKS = f"chunks WHERE role <> 'text' AND role IN ({_ROLES})"  # as in the index chunks_role, which it reads
ENCODED = f"chunks.role NOT IN ({_ROLES})"
RECORDS = "records JOIN collections ON collections.id = records.collection"
STORED = f"chunks JOIN records ON records.id = chunks.record JOIN {RECORDS.removeprefix('records JOIN ')}"


def record_of(row: Row) -> Record:
    """Raises Unsound for a row that is not as it was written."""
    name, path, kind, title, size, mtime_ns, digest, chunking, settled, tags, aliases, facets = row[:12]
    at_ns, details, sealed = row[12:]
    if not intact(sealed, (path, kind, title, digest, chunking, tags, aliases, facets, details)):
        raise Unsound(path)
    return Record(
        collection=name,
        path=path,
        kind=kind,
        title=title,
        size=size,
        mtime_ns=mtime_ns,
        digest=digest,
        chunking=chunking,
        settled=bool(settled),
        tags=_texts(tags),
        aliases=_texts(aliases),
        facets=facets_of(facets),
        at_ns=at_ns,
    )


@lru_cache(maxsize=_KEPT)
def facets_of(text: str) -> Mapping[str, str]:
    facets: dict[str, str] = {} if text == "{}" else _parsed(text)
    return facets or NO_FACETS


@lru_cache(maxsize=_KEPT)
def _texts(text: str) -> tuple[str, ...]:
    """An answer reads thousands of them, and most are empty or alike."""
    return tuple(_parsed(text))


def _parsed(text: str) -> Any:  # noqa: ANN401 - what is in a column is known where it is read
    try:
        return json.loads(text)
    except ValueError:
        raise IndexDamaged("a row of the index can not be read; `dowse doctor --fix` finds and mends it") from None


def stored_of(row: Row) -> Stored:
    """Raises Unsound for a row that is not as it was written."""
    key, sealed, ordinal, _, role, start_line, end_line, _, _, trail, text, _, _, path = row[:_CHUNK]
    if not intact(sealed, row[2:_CHUNK]):
        raise Unsound(path)
    return Stored(key, Chunk(ordinal, text, start_line, end_line, split_trail(trail), role), record_of(row[_CHUNK:]))


def symbol_of(row: Row) -> Symbol:
    name, kind, start_line, end_line, level, parent, signature, holds = row[:8]
    parameters, modifiers, attributes, bases = map(_texts, row[8:12])
    stats = None if row[12] is None else Stats(*row[12:19])
    return Symbol(
        name,
        kind,
        start_line,
        end_line,
        level,
        parent,
        signature,
        holds,
        parameters,
        modifiers,
        attributes,
        bases,
        stats,
    )


def packed(text: str) -> bytes:
    """A whole text for keeping: read seldom, so that its size counts more than its speed."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def unpacked(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")


def packed_has(body: bytes, part: str) -> bool:
    return part.encode() in zlib.decompress(body)


def join_trail(trail: Iterable[str]) -> str:
    return TRAIL_JOINT.join(trail)


def split_trail(text: str) -> tuple[str, ...]:
    return tuple(text.split(TRAIL_JOINT)) if text else ()


def as_json(value: object) -> str:
    return _ENCODE(value)
