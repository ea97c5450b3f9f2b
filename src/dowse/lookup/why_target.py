"""The target of a why query, its context, and suggestions for misspelled names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from dowse.callgraph.facts import CLASS_KINDS, FUNCTION_KINDS, VALUE_KINDS
from dowse.errors import BadInput
from dowse.lookup.find import MAX_LETTERS, NameQuery, find_names, indexed_names
from dowse.lookup.targets import records_at
from dowse.model import COMMITS, FRESHNESS_UNKNOWN, Collection, DiskFreshness, Record, Scope, normalize_path
from dowse.store.types import Definition, SymbolQuery
from dowse.store.view import StoreView
from dowse.text.code_names import QualifiedNames, split_name_parts
from dowse.text.unicode import replace_surrogates

if TYPE_CHECKING:
    from dowse.callgraph.graph import CallGraph

MAX_WHY_TARGET_CHARS = 1_000
DEFAULT_WHY_TOKENS = 1_500
MIN_WHY_TOKENS, MAX_WHY_TOKENS = 150, 100_000  # name, place and counts take about 100
_MAX_OTHER_MATCHES = 3


@dataclass(frozen=True, slots=True)
class RelatedItem:
    """An item related to a target: a caller, a commit, a document, a memory.

    - `kind`: the kind of link, or one of `calls`, `refers`, `names` (its text has the name), `wrote` (last touched the
      lines) and `changes_with`.
    - `record`: None if a link leads to nothing indexed.
    - `line`, `text`: the evidence in the record; line 0 means no specific line.
    - `how`: why the item is related, in a few words; `confidence`: how certain that is.
    - `warning`: a caveat.
    """

    kind: str
    name: str
    record: Record | None
    line: int = 0
    how: str = ""
    text: str = ""
    confidence: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class WhySection:
    """The items of one sort that are shown; `total` counts all that were found."""

    name: str
    shown: tuple[RelatedItem, ...]
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.shown)


@dataclass(frozen=True, slots=True)
class Target:
    """The subject of a query: a record, or a definition in it; `line` is the requested line, else 0.

    Without a record, only `name` is known: links name the target, but it is not indexed. `other_matches` are
    less likely meanings.
    """

    name: str
    record: Record | None = None
    definition: Definition | None = None
    line: int = 0
    other_matches: tuple[str, ...] = ()

    @property
    def first_line(self) -> int:
        return self.definition.symbol.start_line if self.definition else self.line

    @property
    def last_line(self) -> int:
        return self.definition.symbol.end_line if self.definition else self.line

    def notes(self) -> tuple[str, ...]:
        """Return caveats about how the target was found."""
        if self.record is None:
            return (f"{self.name} is not indexed; this lists what mentions it",)
        if not self.other_matches:
            return ()
        more = (
            f" and {len(self.other_matches) - _MAX_OTHER_MATCHES:,} more"
            if len(self.other_matches) > _MAX_OTHER_MATCHES
            else ""
        )
        return (f"other matches: {', '.join(self.other_matches[:_MAX_OTHER_MATCHES])}{more}",)


@dataclass(frozen=True, slots=True)
class SourceExcerpt:
    """The first lines of a definition; `left_out` counts the others."""

    start_line: int = 0
    lines: tuple[str, ...] = ()
    left_out: int = 0


NO_SOURCE_EXCERPT = SourceExcerpt()


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """The answer to `why`.

    `subject` is None unless exactly one target matched; then `candidates` are the possible ones and `near` are similar
    names. `notes` say what could not be determined and why, and add caveats about the index if they fit.
    """

    target: str
    subject: Target | None
    source: SourceExcerpt = NO_SOURCE_EXCERPT
    sections: tuple[WhySection, ...] = ()
    candidates: tuple[Target, ...] = ()
    near: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


class LineSpan(NamedTuple):
    """First and last line, counted from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class LineCommits:
    """The commits that last changed each line, by full hash; `problem` says why they are unknown."""

    spans_by_commit: Mapping[str, Sequence[LineSpan]] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class WhyContext:
    """The data sources of an answer: the store, and queries that only the engine can answer.

    - `history_of`: the history of a file, and its path there; `file_of`: the inverse.
    - `line_commits`: the commits that last changed lines of a file.
    - `staleness`: how the code that a memory is anchored to has changed.
    - `calls`: calls and imports.
    - `now`: the time of the query.
    """

    view: StoreView
    calls: CallGraph
    history_of: Callable[[Record], tuple[Collection, str] | None]
    file_of: Callable[[str, str], Record | None]
    line_commits: Callable[[Record, LineSpan], LineCommits]
    staleness: Callable[[Record], Sequence[str]]
    now: float


# --------------------------------------------------------------------------------------------------
# Members that a class inherits.

_MAX_BASE_CLASSES = 50


def find_inherited(view: StoreView, owner: str, name: str, scope: Scope) -> list[Definition]:
    """Return the nearest inherited definition of a member, searching bases level by level, by unqualified name."""
    level, seen = [owner], {owner.lower()}
    while level and len(seen) < _MAX_BASE_CLASSES:
        types = _find_classes(view, level, scope)
        if found := [it for one in types for it in _own_members_named(view, one, name)]:
            return found
        level = [base for one in types for base in map(unqualified_base, one.symbol.bases) if base.lower() not in seen]
        seen.update(it.lower() for it in level)
    return []


def _find_classes(view: StoreView, names: list[str], scope: Scope) -> list[Definition]:
    kinds = tuple(sorted(CLASS_KINDS & view.definition_kinds()))
    wanted = SymbolQuery(
        names=tuple(dict.fromkeys(names)), matching="exact", kinds=kinds, scope=scope, limit=_MAX_BASE_CLASSES
    )
    return view.definitions(wanted).definitions if kinds else []


def _own_members_named(view: StoreView, type_: Definition, name: str) -> Iterator[Definition]:
    for at, it in enumerate(view.symbols(type_.record)):
        if it.parent == type_.ordinal and it.name.lower() == name.lower():
            yield Definition(type_.record, at, it, (*type_.trail, type_.symbol.name))


def unqualified_base(base: str) -> str:
    """Return the unqualified name: `data.Repo<Item>` → Repo."""
    return base.replace("::", ".").partition("<")[0].partition("[")[0].rpartition(".")[2].strip()


# --------------------------------------------------------------------------------------------------
# Resolution of a target: a path with a line, a path, a path with a name, or a name.

_TARGET_WITH_LINE = re.compile(r"(?P<path>.+?):(?P<line>\d{1,12})(?:[:-]\d{0,12})?", re.DOTALL)
_TARGET_NAME_SEPARATOR = re.compile(r"\.|::|#|->|/|\s>\s")
_MAX_NAMED_DEFINITIONS = 200


def check_target(target: str) -> str:
    """Validate and normalize a target."""
    text = replace_surrogates(target.strip())
    if not text:
        raise BadInput("the target is empty; pass a place such as src/app.py:12, a file, or a symbol such as Repo.save")
    if len(text) > MAX_WHY_TARGET_CHARS:
        raise BadInput(
            f"a target may have at most {MAX_WHY_TARGET_CHARS:,} characters, not {len(text):,}; pass a single place"
        )
    return text


def resolve_code_target(view: StoreView, target: str, collection: str | None = None) -> list[Target]:
    """Return all meanings under the first interpretation that matches; several need a choice by the user."""
    if found := _find_files(view, target, collection):
        return [Target(it.path, it) for it in found]
    place = _TARGET_WITH_LINE.fullmatch(target)
    if place and (found := _find_files(view, place["path"], collection)):
        return [target_at_line(view, it, int(place["line"])) for it in found]
    path, mark, name = target.partition("#")
    if mark and name.strip() and (found := _find_files(view, path, collection)):
        return [subject for it in found for subject in _definitions_named(view, it, name.strip())]
    return _prefer_full_name(_find_by_name(view, target, collection), target)


def _prefer_full_name(found: list[Definition], name: str) -> list[Target]:
    """Return the only definition with this qualified name, if there is one; others have it as a suffix."""
    whole = [it for it in found if qualified_name_of(it) == name.removesuffix("()")]
    if len(whole) != 1 or len(found) == 1:
        return [target_of(it) for it in found]
    others = [f"{qualified_name_of(it)} ({it.record.path}:{it.symbol.start_line})" for it in found if it not in whole]
    return [replace(target_of(whole[0]), other_matches=tuple(others))]


def target_of(definition: Definition, line: int = 0) -> Target:
    return Target(qualified_name_of(definition), definition.record, definition, line)


def qualified_name_of(definition: Definition) -> str:
    return ".".join((*definition.trail, definition.symbol.name))


def definitions_in(view: StoreView, record: Record) -> list[Definition]:
    """Return all definitions of a record, including headings."""
    chains = view.qualified_names(record)
    return [definition_at(record, chains, it) for it in range(len(chains.symbols))]


def definition_at(record: Record, chains: QualifiedNames, place: int) -> Definition:
    return Definition(record, place, chains.symbols[place], chains.all[place][:-1])


# --- paths ---


def _find_files(view: StoreView, path: str, collection: str | None) -> list[Record]:
    """Return the records with this path, else those whose paths end with it."""
    if found := records_at(view, path, collection):
        return found
    ending = posixpath.normpath(normalize_path(path))
    histories = {it.name for it in view.collections() if it.source == COMMITS}
    alike = [it for it in view.files_named(posixpath.basename(ending)) if it.path.endswith(f"/{ending}")]
    mine = [it for it in alike if collection in (None, it.collection) and it.collection not in histories]
    return [record for it in mine for record in view.records(it.path, it.collection)]


def target_at_line(view: StoreView, record: Record, line: int) -> Target:
    if line < 1:
        raise BadInput(f"line numbers start at 1; {record.path} has no line {line}")
    lines = view.text(record).removesuffix("\n").count("\n") + 1
    if line > lines:
        raise BadInput(f"{record.path} has {lines:,} lines; line {line:,} is beyond its end")
    around = [it for it in definitions_in(view, record) if it.symbol.start_line <= line <= it.symbol.end_line]
    # A line that assigns a field belongs to the function around it.
    inner = [it for it in around if it.symbol.kind in FUNCTION_KINDS] or around
    if not inner:
        return Target(f"{record.path}:{line}", record, None, line)
    return target_of(max(inner, key=lambda it: (it.symbol.start_line, -it.symbol.end_line)), line)


# --- names ---


def _definitions_named(view: StoreView, record: Record, name: str) -> list[Target]:
    """Return the record's definitions with this qualified name, or ending with it."""
    known, wanted = definitions_in(view, record), _name_parts(name)
    found = [it for it in known if qualified_name_of(it) == name] or [it for it in known if _name_ends_with(it, wanted)]
    return [target_of(it) for it in _drop_duplicates(found)]


def _find_by_name(view: StoreView, name: str, collection: str | None) -> list[Definition]:
    wanted = _name_parts(name)
    if not wanted:
        return []
    scope = Scope(collections=(collection,) if collection else ())
    asked = SymbolQuery(names=wanted[-1:], matching="exact", scope=scope, limit=_MAX_NAMED_DEFINITIONS)
    found = [it for it in view.definitions(asked).definitions if _name_ends_with(it, wanted)]
    if not found and len(wanted) > 1:
        found = find_inherited(view, wanted[-2], wanted[-1], scope)
    return _drop_duplicates([it for it in found if it.symbol.name == _last_name_part(name)] or found)


def _name_parts(name: str) -> tuple[str, ...]:
    return tuple(part.strip().lower() for part in _TARGET_NAME_SEPARATOR.split(name.removesuffix("()")) if part.strip())


def _last_name_part(name: str) -> str:
    return _TARGET_NAME_SEPARATOR.split(name.removesuffix("()"))[-1].strip()


def _name_ends_with(definition: Definition, wanted: tuple[str, ...]) -> bool:
    """Return whether the qualified name, with the file's path before it, ends with these parts."""
    module = definition.record.path.rpartition(".")[0].split("/")
    full = [it.lower() for it in (*module, *_name_parts(qualified_name_of(definition)))]
    return tuple(full[-len(wanted) :]) == wanted


def _drop_duplicates(found: list[Definition]) -> list[Definition]:
    """Prefer functions and types to values, a class to its constructors, and one of duplicates in a file."""
    better = [it for it in found if it.symbol.kind not in VALUE_KINDS] or found
    places = {(it.record.collection, it.record.path, qualified_name_of(it)): it for it in reversed(better)}
    inside = {key for key, it in places.items() if (*key[:2], ".".join(it.trail)) in places}
    return sorted((it for key, it in places.items() if key not in inside), key=_sort_key)


def _sort_key(it: Definition) -> tuple[str, str, int]:
    return it.record.collection, it.record.path, it.symbol.start_line


# --------------------------------------------------------------------------------------------------
# Unabridged results of one section.


@dataclass(frozen=True, slots=True)
class SectionItems:
    """Related items, most important first; `notes` say what could not be determined."""

    neighbours: tuple[RelatedItem, ...] = ()
    notes: tuple[str, ...] = ()


# --------------------------------------------------------------------------------------------------
# Suggestions for a name that matches nothing.

_MAX_SUGGESTIONS = 5
_MAX_COMPARED = 500
_MIN_PART_CHARS = 3
_MIN_SIMILARITY = 0.6


def similar_names(view: StoreView, target: str) -> tuple[str, ...]:
    """Return similar definitions, then files whose paths contain these letters in order."""
    short = target[:MAX_LETTERS]
    return tuple([*_similar_definitions(view, short), *_similar_paths(view, short)][:_MAX_SUGGESTIONS])


def _similar_definitions(view: StoreView, target: str) -> list[str]:
    """Return definitions that share a part of the name and are similar as a whole."""
    last = target.removesuffix("()").replace("::", ".").replace("#", ".").rpartition(".")[2].strip()
    pieces = {
        part for part in (*split_name_parts(last), last[:_MIN_PART_CHARS].lower()) if len(part) >= _MIN_PART_CHARS
    }
    if not pieces:
        return []
    found = view.definitions(SymbolQuery(names=tuple(sorted(pieces)), limit=_MAX_COMPARED)).definitions
    by_name: dict[str, list[str]] = {}
    for definition in found:
        by_name.setdefault(definition.symbol.name.lower(), []).append(qualified_name_of(definition))
    alike = get_close_matches(last.lower(), by_name, _MAX_SUGGESTIONS, _MIN_SIMILARITY)
    return list(dict.fromkeys(full for name in alike for full in by_name[name]))


def _similar_paths(view: StoreView, target: str) -> list[str]:
    letters = target.partition(":")[0].partition("#")[0]
    files = tuple(it.name for it in view.collections() if it.source != COMMITS)
    if not letters.strip() or not files:
        return []
    query = NameQuery((letters,), "fuzzy", entry_type="files", collections=files, limit=_MAX_SUGGESTIONS)
    return [it.path for it in find_names(indexed_names(view), query).entries]
