"""Rows to nouns and back, and a Scope as SQL: the only place that knows the columns by heart."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import apsw

from dowse.errors import IndexDamaged
from dowse.model import NO_FACETS, Chunk, Linked, Record, Scope, Stats, Stored, Symbol
from dowse.store.base import UNENCODED
from dowse.store.sqlite.database import Row
from dowse.store.sqlite.seals import Unsound, intact
from dowse.text.globs import Matcher, compile_globs

TRAIL_JOINT = "\x1f"
_NS = 1_000_000_000
_FACET = "EXISTS (SELECT 1 FROM json_each(records.facets) AS facet WHERE facet.key = ? AND "
_HOLDS = {True: f"{_FACET}casefolded(facet.value) = ?)", False: f"{_FACET}instr(casefolded(facet.value), ?))"}
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


def scope_condition(connection: apsw.Connection, scope: Scope) -> tuple[str, list[object]]:
    """SQL over `records` and `collections` that is true inside the scope; empty when everything is."""
    conditions: list[str] = []
    values: list[object] = []
    for column, wanted in (("collections.name", scope.collections), ("records.kind", scope.kinds)):
        if wanted:
            conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(as_json(list(wanted)))
    if scope.tags:
        conditions.append(
            "EXISTS (SELECT 1 FROM json_each(records.tags) AS tag WHERE tag.value IN (SELECT value FROM json_each(?)))"
        )
        values.append(as_json([tag.lower() for tag in scope.tags]))
    for negation, function, globs in (("", "in_paths", scope.paths), ("NOT ", "in_excluded", scope.excluded)):
        if globs:
            _register(connection, function, compile_globs(globs))
            conditions.append(f"{negation}{function}(records.path)")
    for operator, moment in ((">=", scope.since), ("<=", scope.until)):
        if moment is not None:
            conditions.append(f"coalesce(records.at_ns, records.mtime_ns) {operator} ?")
            values.append(int(moment * _NS))
    if scope.facets:
        connection.create_scalar_function("casefolded", _casefolded, 1, deterministic=True)
    for facet in scope.facets:
        conditions.append(_HOLDS[facet.whole])
        values.extend((facet.name, facet.value.casefold()))
    if scope.links:
        conditions.append(_linked(connection, scope.links))
    return " AND ".join(conditions), values


def _casefolded(*value: object) -> str:
    return str(value[0]).casefold()


def _linked(connection: apsw.Connection, wanted: Sequence[Linked]) -> str:
    matchers = [(it.kind, compile_globs((it.glob,))) for it in wanted]

    def fits(*link: object) -> int:
        kind, target = map(str, link)
        return any((not wanted or kind == wanted) and matches(target) for wanted, matches in matchers)

    connection.create_scalar_function("is_linked", fits, 2, deterministic=True)
    return "EXISTS (SELECT 1 FROM links WHERE links.record = records.id AND is_linked(links.kind, links.target))"


def _register(connection: apsw.Connection, name: str, matches: Matcher) -> None:
    connection.create_scalar_function(name, lambda *path: int(matches(str(path[0]))), 1, deterministic=True)
