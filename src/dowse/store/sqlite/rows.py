"""Rows as objects and back, with checksums."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from dowse.errors import DowseError, IndexDamaged
from dowse.model import (
    NO_FACETS,
    Chunk,
    DocumentLayout,
    DocumentTable,
    Fragment,
    FunctionMetrics,
    PageReport,
    Record,
    StoredChunk,
    Symbol,
)
from dowse.store.sqlite.database import Row
from dowse.store.types import UNENCODED_ROLES

# --------------------------------------------------------------------------------------------------
# Checksums of stored rows. SQLite has none, and silently corrupted content must not be shown.

_CHECKSUM_SEPARATOR = "\x1f"
# Damaged values may have any type.
_ENCODE_ROWS = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


class ChecksumMismatch(DowseError):
    """A stored record differs from what was written."""

    def __init__(self, path: str) -> None:
        super().__init__(f"the stored content of {path!r} is damaged; run `dowse doctor --fix` to read the file again")


def checksum(values: Iterable[object]) -> int:
    """Return the checksum of these values; equal for a row before writing and after reading."""
    joined = _CHECKSUM_SEPARATOR.join([it if type(it) is str else str(it) for it in values])
    return zlib.crc32(joined.encode("utf-8", "surrogatepass"))


def checksum_rows(rows: Sequence[Row]) -> int:
    """Return one checksum for all rows; a file has dozens of them."""
    return zlib.crc32(_ENCODE_ROWS(rows).encode("utf-8", "surrogatepass")) if rows else 0


def checksum_details(
    chunk_seals: Sequence[int], symbols: Sequence[Row], links: Sequence[Row], calls: Sequence[Row], body: bytes
) -> int:
    """Return the checksum of everything attached to a record.

    Chunk checksums come in any fixed order, rows in their order without the record key, and the text compressed.
    """
    parts = (checksum_rows(symbols), checksum_rows(links), checksum_rows(calls), zlib.crc32(body))
    return checksum((*chunk_seals, *parts))


def matches_checksum(stored: int | None, values: Iterable[object]) -> bool:
    """Return whether the row is unchanged; a row from before there were checksums counts as intact."""
    return stored is None or stored == checksum(values)


BREADCRUMB_SEPARATOR_CHAR = "\x1f"
_PARSE_CACHE_ENTRIES = 4_096
_ENCODE_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode  # made once: slow to create

RECORD_COLUMNS = (
    "collections.name, records.path, records.kind, records.title, records.size, records.mtime_ns, "
    "records.digest, records.chunking, records.settled, records.tags, records.aliases, records.facets, "
    "records.at_ns, records.details, records.seal"
)
CHUNK_COLUMNS = (
    "chunks.id, chunks.seal, chunks.ordinal, chunks.public_id, chunks.role, chunks.start_line, chunks.end_line, "
    "chunks.digest, chunks.title, chunks.trail, chunks.text, chunks.names, chunks.tags, chunks.path, " + RECORD_COLUMNS
)
_CHUNK_COLUMN_COUNT = 14  # columns of a chunk before those of its record
SYMBOL_COLUMNS = (
    "symbols.name, symbols.kind, symbols.start_line, symbols.end_line, symbols.level, symbols.parent, signature, "
    "holds, parameters, modifiers, attributes, bases, "
    "cyclomatic, cognitive, nesting, arity, returns, calls_made, lambdas"
)
_UNENCODED_ROLE_LIST = ", ".join(f"'{role}'" for role in UNENCODED_ROLES)
UNENCODED_CHUNKS_SQL = (
    f"chunks WHERE role <> 'text' AND role IN ({_UNENCODED_ROLE_LIST})"  # as in the index chunks_role
)
ENCODED_SQL = f"chunks.role NOT IN ({_UNENCODED_ROLE_LIST})"
RECORDS_SQL = "records JOIN collections ON collections.id = records.collection"
CHUNKS_SQL = f"chunks JOIN records ON records.id = chunks.record JOIN {RECORDS_SQL.removeprefix('records JOIN ')}"


def record_from_row(row: Row) -> Record:
    """Convert a row; raise ChecksumMismatch if it was altered."""
    name, path, kind, title, size, mtime_ns, digest, chunking, settled, tags, aliases, facets = row[:12]
    at_ns, details, sealed = row[12:]
    if not matches_checksum(sealed, (path, kind, title, digest, chunking, tags, aliases, facets, details)):
        raise ChecksumMismatch(path)
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
        tags=_parse_strings(tags),
        aliases=_parse_strings(aliases),
        facets=parse_facets(facets),
        at_ns=at_ns,
    )


@lru_cache(maxsize=_PARSE_CACHE_ENTRIES)
def parse_facets(text: str) -> Mapping[str, str]:
    facets: dict[str, str] = {} if text == "{}" else _parse_json(text)
    return facets or NO_FACETS


@lru_cache(maxsize=_PARSE_CACHE_ENTRIES)
def _parse_strings(text: str) -> tuple[str, ...]:
    """Parse a JSON list of strings. Cached, because an answer reads thousands, and most are empty or equal."""
    return tuple(_parse_json(text))


def _parse_json(text: str) -> Any:  # noqa: ANN401 - each caller knows the type of its column
    try:
        return json.loads(text)
    except ValueError:
        raise IndexDamaged("a row of the index cannot be read; run `dowse doctor --fix` to repair it") from None


def chunk_from_row(row: Row) -> StoredChunk:
    """Convert a row; raise ChecksumMismatch if it was altered."""
    key, sealed, ordinal, _, role, start_line, end_line, _, _, trail, text, _, _, path = row[:_CHUNK_COLUMN_COUNT]
    if not matches_checksum(sealed, row[2:_CHUNK_COLUMN_COUNT]):
        raise ChecksumMismatch(path)
    return StoredChunk(
        key,
        Chunk(ordinal, text, start_line, end_line, split_breadcrumb(trail), role),
        record_from_row(row[_CHUNK_COLUMN_COUNT:]),
    )


def symbol_from_row(row: Row) -> Symbol:
    name, kind, start_line, end_line, level, parent, signature, holds = row[:8]
    parameters, modifiers, attributes, bases = map(_parse_strings, row[8:12])
    stats = None if row[12] is None else FunctionMetrics(*row[12:19])
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


def compress_text(text: str) -> bytes:
    """Compress a whole text with the fastest level."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 1)


def encode_layout(layout: DocumentLayout) -> bytes:
    return zlib.compress(to_json([layout.pages, layout.fragments, layout.tables]).encode("utf-8", "surrogatepass"), 6)


def decode_layout(body: bytes) -> DocumentLayout:
    pages, fragments, tables = json.loads(zlib.decompress(body).decode("utf-8", "surrogatepass"))
    return DocumentLayout(
        tuple(PageReport(*row) for row in pages),
        tuple(Fragment(first, last, page, tuple(box) if box else None) for first, last, page, box in fragments),
        tuple(
            DocumentTable(title, tuple(headers), tuple(units), line, tuple(map(tuple, rows)), tuple(numbers))
            for title, headers, units, line, rows, numbers in tables
        ),
    )


def decompress_text(body: bytes) -> str:
    return zlib.decompress(body).decode("utf-8", "surrogatepass")


def compressed_contains(body: bytes, part: str) -> bool:
    return part.encode() in zlib.decompress(body)


def join_breadcrumb(trail: Iterable[str]) -> str:
    return BREADCRUMB_SEPARATOR_CHAR.join(trail)


def split_breadcrumb(text: str) -> tuple[str, ...]:
    return tuple(text.split(BREADCRUMB_SEPARATOR_CHAR)) if text else ()


def to_json(value: object) -> str:
    return _ENCODE_JSON(value)
