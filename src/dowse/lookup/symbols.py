"""Find definitions by name, kind, base, attribute, position or complexity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from dowse.errors import BadInput
from dowse.model import FRESHNESS_UNKNOWN, DiskFreshness, FunctionMetrics, Record
from dowse.store.types import Definition, IndexedFile, SymbolQuery
from dowse.store.view import StoreView
from dowse.text.unicode import replace_surrogates

# --------------------------------------------------------------------------------------------------
# Symbol queries and answers.


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """`before_stats` is the number of matches before `min_metrics` was applied."""

    definitions: tuple[Definition, ...]
    total: int
    before_stats: int
    index_files: int
    index_definitions: int
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


@dataclass(frozen=True, slots=True)
class DefinitionBody:
    """The lines of a definition.

    `changed`: the file has changed since it was indexed, so the lines may be wrong. `omitted`: the line budget was used
    up by earlier bodies.
    """

    start_line: int
    lines: tuple[str, ...]
    truncated: bool = False
    changed: bool = False
    omitted: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FileWithoutDefinitions:
    """A file of a known language without any definition, and the reason."""

    path: str
    collection: str
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class SymbolAudit:
    """Coverage of symbol extraction.

    `files_without_definitions` are the files of at least the requested size without definitions; `unexplained`
    those without a reason.
    """

    files: int
    with_definitions: int
    unreadable: int
    lossy: int
    files_without_definitions: tuple[FileWithoutDefinitions, ...]

    @property
    def unexplained(self) -> tuple[FileWithoutDefinitions, ...]:
        return tuple(it for it in self.files_without_definitions if not it.reason)


# --------------------------------------------------------------------------------------------------
# Symbol search, and lookup of the definitions around a line.

SYMBOL_KINDS = (
    "class", "constructor", "delegate", "enum", "enumMember", "event", "field", "function", "interface", "method",
    "namespace", "property", "record", "struct", "typeAlias", "variable",
    "column", "sqlFunction", "sqlIndex", "storedProcedure", "table", "userDefinedType", "view",
)  # fmt: skip
"""Kinds that are always accepted; other kinds are accepted if the index contains any."""

SYMBOL_METRICS = (*FunctionMetrics._fields, "lines")
MATCHING_MODES = ("part", "regex", "exact")
MAX_SYMBOL_NAMES = 200
_MAX_SYMBOL_LIMIT = 10_000_000


def find_symbols(view: StoreView, wanted: SymbolQuery) -> SymbolAnswer:
    query = check_symbol_query(view, wanted)
    found = view.definitions(query)
    return SymbolAnswer(
        tuple(found.definitions), found.total, found.before_stats, view.record_count(), view.definition_count()
    )


def append_implementers(
    view: StoreView, wanted: SymbolQuery, answer: SymbolAnswer, implementing: Sequence[Definition]
) -> SymbolAnswer:
    """Append those implementing types that match the rest of the query to the answer."""
    if not implementing:
        return answer
    notes = {(it.record.collection, it.record.path, it.ordinal): it.note for it in implementing}
    query = replace(check_symbol_query(view, wanted), base="", limit=0)
    if not query.names:  # the store checks all other conditions, but only for these names
        query = replace(query, names=tuple(sorted({it.symbol.name for it in implementing})), matching="exact")
    found = view.definitions(query).definitions
    implementers = [
        replace(it, note=notes[place])
        for it in found
        if (place := (it.record.collection, it.record.path, it.ordinal)) in notes
    ]
    room = max(0, wanted.limit - len(answer.definitions)) if wanted.limit else len(implementers)
    return replace(
        answer,
        definitions=(*answer.definitions, *implementers[:room]),
        total=answer.total + len(implementers),
        before_stats=answer.before_stats + len(implementers),
    )


def definitions_around(view: StoreView, record: Record, line: int) -> list[Definition]:
    """Return the definitions that contain a line, innermost first."""
    if line < 1:
        raise BadInput(f"line numbers start at 1, not {line}")
    return view.definitions_at(record, min(line, _MAX_SYMBOL_LIMIT))


def check_symbol_query(view: StoreView, wanted: SymbolQuery) -> SymbolQuery:
    """Validate and normalize the query; raise BadInput with the valid choices."""
    names = tuple(_normalize_name(name) for name in wanted.names if name.strip())
    if len(names) > MAX_SYMBOL_NAMES:
        raise BadInput(f"{len(names):,} names are too many for one query; pass at most {MAX_SYMBOL_NAMES}")
    if wanted.limit < 0:
        raise BadInput(f"the limit must be 0 (no limit) or more, not {wanted.limit}")
    _check_one_of("matching mode", (wanted.matching,), MATCHING_MODES)
    _check_one_of("metric to sort by", (wanted.order,) if wanted.order else (), SYMBOL_METRICS)
    _check_one_of("metric to filter by", tuple(wanted.min_metrics), SYMBOL_METRICS)
    if not set(wanted.kinds) <= set(SYMBOL_KINDS):
        _check_one_of("kind of definition", wanted.kinds, sorted(view.definition_kinds().union(SYMBOL_KINDS)))
    return replace(
        wanted,
        names=names,
        attribute=_normalize_name(wanted.attribute),
        base=_normalize_name(wanted.base),
        parent=_normalize_name(wanted.parent),
        modifiers=tuple(map(_normalize_name, wanted.modifiers)),
        limit=min(wanted.limit, _MAX_SYMBOL_LIMIT),
    )


def _check_one_of(what: str, given: tuple[str, ...], known: tuple[str, ...] | list[str]) -> None:
    unknown = [name for name in given if name not in known]
    if unknown:
        raise BadInput(f"unknown {what} {unknown[0]!r}; use one of {', '.join(known)}")


def _normalize_name(text: str) -> str:
    """Strip whitespace and replace lone surrogates, which no name contains."""
    return replace_surrogates(text.strip())


# --------------------------------------------------------------------------------------------------
# Bodies of definitions, within line budgets.


@dataclass(frozen=True, slots=True)
class TextLines:
    """The lines of a file; `changed`: they come from the index because the file has changed since."""

    lines: tuple[str, ...]
    changed: bool = False
    problem: str = ""


def text_lines(text: str, *, changed: bool = False) -> TextLines:
    return TextLines(tuple(line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")), changed)


def read_bodies(
    definitions: Iterable[Definition],
    read: Callable[[Record], TextLines],
    *,
    max_lines: int = 100,
    total_lines: int = 500,
) -> list[DefinitionBody]:
    """Return the body of each definition, cut at `max_lines`, until `total_lines` are used up; 0 means no limit."""
    if max_lines < 0 or total_lines < 0:
        raise BadInput("a number of lines must be 0 (no limit) or more")
    sources: dict[tuple[str, str], TextLines] = {}
    found: list[DefinitionBody] = []
    used = 0
    for definition in definitions:
        room = total_lines - used if total_lines else None
        if room == 0:
            found.append(DefinitionBody(definition.symbol.start_line, (), truncated=True, omitted=True))
            continue
        key = definition.record.collection, definition.record.path
        if key not in sources:
            sources[key] = read(definition.record)
        body = _body(definition, sources[key], _smaller_limit(max_lines or None, room))
        used += len(body.lines)
        found.append(body)
    return found


def _body(definition: Definition, source: TextLines, room: int | None) -> DefinitionBody:
    first, last = definition.symbol.start_line, definition.symbol.end_line
    lines = source.lines[first - 1 : last]
    problem = source.problem
    if not lines and not problem:
        problem = f"the file has {len(source.lines):,} lines now; line {first:,} is beyond its end"
    return DefinitionBody(first, lines[:room], len(lines) > len(lines[:room]), source.changed, problem=problem)


def _smaller_limit(left: int | None, right: int | None) -> int | None:
    limits = [it for it in (left, right) if it is not None]
    return min(limits, default=None)


# --------------------------------------------------------------------------------------------------
# Audit of files in known languages without any definition: the blind spots of symbol queries.


def audit_symbols(view: StoreView, min_bytes: int = 500) -> SymbolAudit:
    """List files of at least this size without definitions; skipped files count as unreadable if their suffix is
    known."""
    if min_bytes < 0:
        raise BadInput(f"a file size must be 0 or more, not {min_bytes}")
    known = [it for it in view.files() if "language" in it.facets]
    defining, lossy = view.files_with_definitions(), view.lossy_records()
    without_definitions = [it for it in known if (it.collection, it.path) not in defining]
    suffixes = {PurePosixPath(it.path).suffix.lower() for it in known}
    return SymbolAudit(
        files=len(known),
        with_definitions=len(known) - len(without_definitions),
        unreadable=sum(PurePosixPath(it.path).suffix.lower() in suffixes for it in view.skipped_items()),
        lossy=sum((it.collection, it.path) in lossy for it in known),
        files_without_definitions=tuple(
            FileWithoutDefinitions(it.path, it.collection, it.size, _no_definitions_reason(it))
            for it in without_definitions
            if it.size >= min_bytes
        ),
    )


def _no_definitions_reason(file: IndexedFile) -> str:
    return file.facets.get("unparsed") or file.facets.get("empty", "")
