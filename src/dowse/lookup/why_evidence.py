"""Collect the evidence of a why answer: callers, commits, mentions and notes."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import NamedTuple

from dowse.callgraph.facts import CALLABLE_KINDS, CallEdge, CallQuery
from dowse.lookup.grep import GrepMode, GrepQuery, read_excerpts, search_lines
from dowse.lookup.history import (
    COMMIT_KIND,
    RENAMES_LINK,
    TOUCHES_LINK,
    FileHistory,
    StoredRenameHistory,
    follow_renames,
)
from dowse.lookup.memories import (
    LinkTarget,
    load_memory_links,
    memories_by_link_name,
    memory_directory,
    parse_link_target,
)
from dowse.lookup.targets import (
    COMMIT_TARGET_PREFIX,
    MEMORY_TARGET_PREFIX,
    collections_of_source,
    commits_by_prefix,
    document_links,
    files_by_stem,
    memories_by_name,
    nested_collections,
    records_at,
    resolve_prefixed,
)
from dowse.lookup.why_budget import MEMORY_KIND, abbreviate, sort_by_validity
from dowse.lookup.why_target import (
    LineSpan,
    RelatedItem,
    SectionItems,
    Target,
    WhyContext,
    qualified_name_of,
    resolve_code_target,
    target_at_line,
)
from dowse.model import COMMITS, FILES, MEMORIES, UNPARSED_FACET, Collection, Link, Record, Scope, normalize_path
from dowse.store.types import Definition, SymbolQuery
from dowse.store.view import StoreView
from dowse.text.code_names import name_spellings, split_qualified_name
from dowse.text.frontmatter import parse_front_matter
from dowse.text.memory_notes import MemoryIndex, memory_name_in_link
from dowse.text.references import ANCHORED_LINK
from dowse.text.regex import escape_literal

CODE_KIND = "code"
MAX_CALLERS = 100
CALLERS_DEADLINE_S = 1.0

_TEST_PATH = re.compile(r"(^|/)(tests?|__tests__|specs?)/|(^|/)test_[^/]*$|[._-](test|spec)\.\w+$|Tests?\.\w+$")
_MAX_REFERENCES_SHOWN = 20
_CONFIDENCE_RANK = {"exact": 0, "virtual": 1, "possible": 2}


def find_callers(context: WhyContext, subject: Target) -> tuple[SectionItems, SectionItems]:
    """Return callers and calling tests; for a whole file, its importers."""
    definition = subject.definition
    if subject.record is None or subject.record.kind != CODE_KIND:
        return SectionItems(), SectionItems()
    if definition is None:
        found = [importer_item(*it) for it in context.calls.importers(subject.record)]
        tests = tuple(it for it in found if it.record and is_test(it.record.path))
        return SectionItems(
            tuple(it for it in found if it not in tests), _note_if_undefined(context, subject.record)
        ), SectionItems(tests)
    if reason := _why_no_callers(definition):
        return SectionItems(notes=(reason,)), SectionItems()
    # Query separately, so that many results of one sort cannot hide the other.
    outside = _query_callers(context, definition, lambda path: not is_test(path), "callers")
    return outside, _query_callers(context, definition, is_test, "tests that call it")


def _note_if_undefined(context: WhyContext, record: Record) -> tuple[str, ...]:
    if context.view.symbols(record):
        return ()
    return (f"no callers are known: {record.path} has no known definitions",)


def _query_callers(
    context: WhyContext, definition: Definition, wanted: Callable[[str], bool], what: str
) -> SectionItems:
    most = MAX_CALLERS
    query = CallQuery(
        definition.symbol.name, depth=1, width=most, nodes=most, path_filter=wanted, deadline_s=CALLERS_DEADLINE_S
    )
    tree = context.calls.calls_of(definition, query)
    edges = sorted((it.edge for it in tree.nodes), key=lambda it: _CONFIDENCE_RANK[it.confidence])
    notes = [f"a limit was reached: there may be more than these {len(edges):,} {what}"] if tree.cut else []
    if tree.more_possible:
        notes.append(f"{tree.more_possible:,} more calls of this name have an unknown receiver")
    others = [*map(caller_item, tree.possible), *map(reference_item, tree.references[:_MAX_REFERENCES_SHOWN])]
    return SectionItems((*map(caller_item, edges), *others), tuple(notes))


def _why_no_callers(definition: Definition) -> str:
    """Return why callers are unknown, or an empty string."""
    record, kind = definition.record, definition.symbol.kind
    if UNPARSED_FACET in record.facets:
        return f"no callers are known: {record.path} could not be parsed"
    return "" if kind in CALLABLE_KINDS else f"a {kind} has no callers; use `grep` to find its uses"


def importer_item(record: Record, link: Link) -> RelatedItem:
    return RelatedItem("import", record.path, record, link.line, link.target)


def caller_item(edge: CallEdge) -> RelatedItem:
    """Return the caller of an edge as a related item."""
    name = qualified_name_of(edge.caller) if edge.caller else f"the top of {edge.record.path}"
    lines = [it for it in edge.lines if it != edge.site.line]
    how = "" if edge.confidence == "exact" else edge.how
    also = f"also in lines {', '.join(map(str, lines[:5]))}" if lines else ""
    return RelatedItem(
        "calls", name, edge.record, edge.site.line, "; ".join(filter(None, (how, also))), confidence=edge.confidence
    )


def reference_item(edge: CallEdge) -> RelatedItem:
    """Return the definition that passes on, returns or stores a function."""
    return replace(caller_item(edge), kind="refers", how=edge.how, confidence="")


def is_test(path: str) -> bool:
    return bool(_TEST_PATH.search(path))


# --------------------------------------------------------------------------------------------------
# Spellings of a target in links: its path, path and name, or name alone.

LINKS_ITSELF, LINKS_NEAR, LINKS_FILE = range(3)
"""How closely a link concerns a target: the target itself, its container or content, or only its file."""
_MAX_CHANGED_NAMES = 500


def target_spellings(view: StoreView, subject: Target) -> list[str]:
    """Return the spellings that documents and commits may use, most specific first."""
    if subject.record is None:
        return _unindexed_spellings(view, subject.name)
    path = subject.record.path
    if subject.definition is None:
        return [path]
    full, last = qualified_name_of(subject.definition), subject.definition.symbol.name
    return list(dict.fromkeys([f"{path}#{full}", f"{path}#{last}", full, path]))


def link_closeness(subject: Target, part: str) -> int | None:
    """Return how closely a link to this part of the record concerns the target; None if it does not."""
    if subject.definition is None:
        return LINKS_ITSELF if not part else None if subject.line else LINKS_NEAR
    if not part:
        return LINKS_FILE
    full, trail = qualified_name_of(subject.definition), subject.definition.trail
    if part in (full, subject.definition.symbol.name):
        return LINKS_ITSELF
    around = {*trail, *(".".join(trail[:end]) for end in range(1, len(trail) + 1))}
    return LINKS_NEAR if part in around or part.startswith(f"{full}.") else None


def changed_names(view: StoreView, subject: Target) -> list[str]:
    """Return the names whose changes are changes of the target: its own, and those defined in it.

    Short names, as commits may record them, are included if nothing else in the file has them.
    """
    if subject.record is None or subject.definition is None:
        return []
    chains = view.qualified_names(subject.record)
    own = chains.commit_names(chains.find_exact((*subject.definition.trail, subject.definition.symbol.name)))
    return list(dict.fromkeys([qualified_name_of(subject.definition), *own.qualified, *own.unambiguous]))[
        :_MAX_CHANGED_NAMES
    ]


def _unindexed_spellings(view: StoreView, name: str) -> list[str]:
    """Return spellings of an unindexed target; a definition may also be recorded under shorter names."""
    path, mark, part = name.partition("#")
    if not (mark and part and view.links_to([name])):
        return [name]
    others = [view.qualified_names(it).by_spelling for it in view.records(path)]
    shorter = [it for it in name_spellings(split_qualified_name(part)) if not any(it in other for other in others)]
    return list(dict.fromkeys([name, *(f"{path}#{it}" for it in shorter)]))


def may_refer_to(view: StoreView, writers: str, subject: Record | None) -> bool:
    """Return whether a path in this collection can refer to the record: its root encloses the collection, or no root
    does."""
    known = {it.name: it for it in view.collections()}
    if subject is None or writers == subject.collection or known[subject.collection].source == COMMITS:
        return True
    place = PurePath(known[writers].root)
    around = [it.name for it in known.values() if it.source == FILES and PurePath(it.root) in place.parents]
    return not around or subject.collection in around


# --------------------------------------------------------------------------------------------------
# Commits that shaped a target: wrote its lines, changed it, or added or moved its file.

CHANGES_LINK = "changes"
COMMIT_LINKS = (TOUCHES_LINK, RENAMES_LINK, CHANGES_LINK)

_STATUS_TEXTS = {
    "A": "added the file",
    "D": "removed the file",
    "R": "moved the file",
    "C": "copied the file",
    "T": "changed the file type",
}
_NO_HISTORY = "no git history is indexed; in a git repository, `dowse index` adds it"
_MAX_HUNKS_SHOWN = 2
_MAX_SPANS_SHOWN = 4


@dataclass(slots=True)
class _CommitEffects:
    """The effects of one commit on the target, while being collected."""

    record: Record
    written_spans: Sequence[LineSpan] = ()
    changed: list[Link] = field(default_factory=list)
    touched: Link | None = None
    moved_from: str = ""


def find_shaping_commits(context: WhyContext, subject: Target) -> SectionItems:
    """Return commits by importance: those that wrote the requested line, the newest, the oldest, the rest by age."""
    if not any(it.source == COMMITS for it in context.view.collections()):
        return SectionItems(notes=(_NO_HISTORY,))
    if subject.record is None:
        return SectionItems(_order_by_importance(_commits_naming(context.view, subject), subject))
    home = context.history_of(subject.record)
    if home is None and subject.record.kind == COMMIT_KIND:
        return SectionItems()  # the target is itself a commit
    if home is None:
        return SectionItems(notes=(f"{subject.record.path} is in no indexed git history",))
    history, path = home
    file_history = follow_renames(StoredRenameHistory(context.view, history.name), path)
    file_commits = _FileCommits(context.view, history.name, file_history)
    effects = file_commits.touched()
    file_commits.add_changes(effects, changed_names(context.view, subject))
    notes = _add_writers(context, effects, subject, history.name)
    return SectionItems(_order_by_importance(_relevant_commits(effects.values(), subject), subject), notes)


def _commits_naming(view: StoreView, subject: Target) -> Iterable[_CommitEffects]:
    """Return the commits that touched a file of this path, or changed a definition of this name."""
    found: dict[str, _CommitEffects] = {}
    for record, link in view.links_to(target_spellings(view, subject), COMMIT_LINKS):
        it = found.setdefault(record.path, _CommitEffects(record))
        if link.kind == CHANGES_LINK:
            it.changed.append(link)
        else:
            it.touched = link
    return found.values()


@dataclass(frozen=True, slots=True)
class _FileCommits:
    """The commits of one file under all its names."""

    view: StoreView
    history: str
    file_history: FileHistory

    def touched(self) -> dict[str, _CommitEffects]:
        found: dict[str, _CommitEffects] = {}
        for record, link in self._links(self.file_history.names, TOUCHES_LINK):
            it = found.setdefault(record.path, _CommitEffects(record))
            it.touched = link
            if link.context.startswith("R"):
                it.moved_from = self._name_before(record, link.target)
        return found

    def add_changes(self, effects: dict[str, _CommitEffects], names: Sequence[str]) -> None:
        targets = [f"{path}#{name}" for path in self.file_history.names for name in names]
        for record, link in self._links(targets, CHANGES_LINK):
            effects.setdefault(record.path, _CommitEffects(record)).changed.append(link)

    def _links(self, targets: Sequence[str], kind: str) -> Iterator[tuple[Record, Link]]:
        for record, link in self.view.links_to(targets, (kind,)):
            is_own = self.file_history.commits is None or record.path in self.file_history.commits
            if record.collection == self.history and is_own:
                yield record, link

    def _name_before(self, record: Record, name: str) -> str:
        links = self.view.links(record)
        return next((it.target for it in links if it.kind == RENAMES_LINK and it.context == name), "")


def _add_writers(
    context: WhyContext, effects: dict[str, _CommitEffects], subject: Target, history: str
) -> tuple[str, ...]:
    if subject.record is None or not subject.first_line:
        return ()
    written = context.line_commits(subject.record, LineSpan(subject.first_line, subject.last_line))
    unknown = 0
    for commit, spans in written.spans_by_commit.items():
        records = [effects[commit].record] if commit in effects else context.view.records(commit, history)
        unknown += not records
        for record in records:
            effects.setdefault(commit, _CommitEffects(record)).written_spans = spans
    missing = f"commits that wrote its lines but are not indexed yet: {unknown:,}" if unknown else ""
    return tuple(filter(None, (written.problem, missing)))


def _relevant_commits(effects: Iterable[_CommitEffects], subject: Target) -> list[_CommitEffects]:
    """For part of a file, keep other changes of the file only if they added or moved it, or if nothing else is
    known."""
    every = list(effects)
    if not subject.first_line:
        return every
    direct = [it for it in every if it.written_spans or it.changed]
    moved = [it for it in every if it not in direct and it.touched and it.touched.context[:1] in ("A", "R")]
    return [*direct, *moved] or every


def _order_by_importance(effects: Iterable[_CommitEffects], subject: Target) -> tuple[RelatedItem, ...]:
    by_time = sorted(effects, key=lambda it: (-it.record.timestamp_ns, it.record.path))
    writers = [it for it in by_time if any(first <= subject.line <= last for first, last in it.written_spans)]
    order = [*(writers if subject.line else ()), *by_time[:1], *by_time[-1:], *by_time]
    return tuple(_commit_item(it) for it in {it.record.path: it for it in order}.values())


def _commit_item(it: _CommitEffects) -> RelatedItem:
    kind = (
        "wrote" if it.written_spans else CHANGES_LINK if it.changed else RENAMES_LINK if it.moved_from else TOUCHES_LINK
    )
    line = it.written_spans[0].first if it.written_spans else (it.changed[0].line if it.changed else 0)
    hunks = dict.fromkeys(abbreviate(link.context) or link.target.partition("#")[2] for link in it.changed)
    how = [
        f"last touched {_format_spans(it.written_spans)}" if it.written_spans else "",
        f"changed {'; '.join(list(hunks)[:_MAX_HUNKS_SHOWN])}" if hunks and not it.written_spans else "",
        f"moved the file from {it.moved_from}" if it.moved_from else _describe_touch(it),
    ]
    return RelatedItem(kind, abbreviate(it.record.title), it.record, line, ", ".join(filter(None, how)))


def _describe_touch(it: _CommitEffects) -> str:
    letter = it.touched.context[:1] if it.touched else ""
    return (
        _STATUS_TEXTS.get(letter, "")
        if it.written_spans or it.changed
        else _STATUS_TEXTS.get(letter, "changed the file")
    )


def _format_spans(spans: Sequence[LineSpan]) -> str:
    if len(spans) == 1 and spans[0].first == spans[0].last:
        return f"line {spans[0].first}"
    shown = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans[:_MAX_SPANS_SHOWN])
    return f"lines {shown}{' …' if len(spans) > _MAX_SPANS_SHOWN else ''}"


def describe_commit_link(link: Link) -> str:
    """Describe what a commit link did, and to which path."""
    if link.kind == RENAMES_LINK:
        return f"{link.target} to {link.context}"
    place = f"{link.target}:{link.line}" if link.line and link.kind == TOUCHES_LINK else link.target
    return f"{link.context} {place}" if link.kind == TOUCHES_LINK else place


# --------------------------------------------------------------------------------------------------
# Links of memories, resolved the same way in both directions.
#
# A link resolves to the first match, in this order:
#
# 1. a commit or memory, if it has that prefix
# 2. a memory, by path relative to the link
# 3. a file, by path relative to any root
# 4. a memory, by name
# 5. the only file that a path without suffix or a bare name can mean
#
# `text/memory_notes.py` decides which memory a name means, as for versions and rankings.


@dataclass(frozen=True, slots=True)
class MemoryLinks:
    """The links of all memories in a store, for one query."""

    view: StoreView
    collections: Mapping[str, Collection]
    memories: Mapping[str, MemoryIndex]
    # Cache: many memories may write the same name.
    stem_cache: dict[tuple[str, LinkTarget], list[Record]] = field(default_factory=dict)

    @classmethod
    def of(cls, view: StoreView) -> MemoryLinks:
        collections = {it.name: it for it in view.collections()}
        folders = [it.name for it in collections.values() if it.source == MEMORIES]
        return cls(view, collections, {it: memories_by_link_name(view, it) for it in folders})

    # --- links to records ---

    def resolve(self, memory: Record, target: str) -> list[Record]:
        """Return the records that a link of this memory may mean; none for a broken link."""
        text, known = target.strip(), self.memories[memory.collection]
        if text.lower().startswith(COMMIT_TARGET_PREFIX):
            return resolve_prefixed(self.view, text)
        if memory_name_in_link(text):
            return _as_list(known.find(text, memory.path))
        return (
            _as_list(known.at_path(text, memory.path))
            or self._at_path(memory, text)
            or _as_list(known.find(text, memory.path))
            or self._by_stem(memory, text)
        )

    def place(self, memory: Record | None, target: str) -> LinkTarget:
        """Return the normalized target of a link."""
        base_directory = memory_directory(self.collections[memory.collection].root, memory.path) if memory else ""
        return parse_link_target(
            target, [it.root for it in self.collections.values() if it.source == FILES], base_directory
        )

    def _at_path(self, memory: Record, target: str) -> list[Record]:
        place = self.place(memory, target)
        for path in dict.fromkeys((target.partition("#")[0], place.path)):
            if found := [it for it in records_at(self.view, path) if self._may_refer_to(memory, place, it)]:
                return found
        return []

    def _by_stem(self, memory: Record, target: str) -> list[Record]:
        """Return the file meant by a path without suffix, if there is only one."""
        place = self.place(memory, target)
        if place.suffix or place.path.startswith((".", "/")) or "://" in target:
            return []
        asked = memory.collection, place
        if asked not in self.stem_cache:
            self.stem_cache[asked] = self._unique_by_stem(memory, place)
        return self.stem_cache[asked]

    def _unique_by_stem(self, memory: Record, place: LinkTarget) -> list[Record]:
        alike = files_by_stem(self.view).get(place.path, ())
        of_each = {it.collection: it for it in alike}.values()  # one record stands for its whole root
        records = [record for it in of_each for record in self.view.records(it.path, it.collection)]
        roots = {it.collection for it in records if self._may_refer_to(memory, place, it)}
        found = [it for it in alike if it.collection in roots]
        return self.view.records(found[0].path, found[0].collection) if len(found) == 1 else []

    def _may_refer_to(self, memory: Record, place: LinkTarget, record: Record) -> bool:
        if place.root:
            return self.collections[record.collection].root == place.root
        return may_refer_to(self.view, memory.collection, record)

    # --- records to links ---

    def links_to(self, subject: Target) -> list[tuple[Record, Link]]:
        """Return links to a target, most specific first, then newest; for an unindexed target, links spelled like
        it."""
        found = list(
            self._links_to_unindexed(subject.name)
            if subject.record is None
            else self._links_to_record(subject, subject.record)
        )
        return [(memory, link) for _, memory, link in sorted(found, key=lambda it: it[0])]

    def _links_to_record(self, subject: Target, record: Record) -> Iterator[tuple[int, Record, Link]]:
        full, paths = qualified_name_of(subject.definition) if subject.definition else "", self._paths_to(record)
        for memory, link in self._all_links():
            if memory == record:
                continue
            if self._may_match(memory, link.target, record, paths) and record in self.resolve(memory, link.target):
                near = link_closeness(subject, self.place(memory, link.target).part)
                if near is not None:
                    yield near, memory, link
            elif link.target == full and may_refer_to(self.view, memory.collection, record):
                yield LINKS_NEAR, memory, link

    def _may_match(self, memory: Record, target: str, record: Record, paths: Set[str]) -> bool:
        """Reject most links cheaply, without a store query."""
        source = self.collections[record.collection].source
        if source == COMMITS:
            return record.path[:4] in target.lower()
        if source == MEMORIES and memory.collection == record.collection:
            known = self.memories[memory.collection]
            if record in (known.find(target, memory.path), known.at_path(target, memory.path)):
                return True
        return LinkTarget(record.path).last().stem in target and self._is_spelled_as(memory, target, record, paths)

    def _is_spelled_as(self, memory: Record, target: str, record: Record, paths: Set[str]) -> bool:
        """Return whether a link is written as one of these paths, or as the record's name without suffix."""
        place = self.place(memory, target)
        written = {_normalize_path(target.strip().partition("#")[0]), _normalize_path(place.path)}
        return not paths.isdisjoint(written) or (not place.suffix and LinkTarget(record.path).is_meant_by(place))

    def _paths_to(self, record: Record) -> frozenset[str]:
        """Return every path that refers to the record, relative to any root."""
        around = [
            it.prefix for it in nested_collections(self.collections.values()) if it.collection == record.collection
        ]
        return frozenset(
            _normalize_path(f"{it}/{record.path}") for it in (".", self.collections[record.collection].root, *around)
        )

    def _links_to_unindexed(self, name: str) -> Iterator[tuple[int, Record, Link]]:
        wanted, memory_name = self.place(None, name), memory_name_in_link(name)
        for memory, link in self._all_links():
            if memory_name or wanted.last().path in link.target:
                written = self.place(memory, link.target)
                is_alike = (
                    memory_name_in_link(link.target) == memory_name if memory_name else written.path == wanted.path
                )
                if is_alike and wanted.part in ("", written.part):
                    yield 0, memory, link

    def _all_links(self) -> Iterator[tuple[Record, Link]]:
        scope = Scope(collections=tuple(self.memories), kinds=("memory",))
        for memory, links in load_memory_links(self.view, scope) if self.memories else ():
            yield from ((memory, link) for link in links)


def _normalize_path(path: str) -> str:
    return posixpath.normpath(normalize_path(path))


def _as_list(record: Record | None) -> list[Record]:
    return [record] if record else []


# --------------------------------------------------------------------------------------------------
# Documents and memories that mention a target, by link or by name.

DOCUMENT_KIND = "doc"

_MAX_MENTIONING_FILES = 100
_MENTIONS_DEADLINE_S = 1.0
_MAX_WORDING_CHARS = 2_000  # escaping may double it, and a regex may have no more than that
_NAME_TOO_LONG = ("its name is too long to search for mentions",)
_DISTINCTIVE_NAME = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}|\.")  # a name that is not an ordinary word


def find_mentions(context: WhyContext, subject: Target, room: int) -> tuple[SectionItems, SectionItems]:
    """Return documents and memories, each once by its best evidence: a link counts more than a name."""
    # A file name may be blank or contain a line break, which no line contains.
    wordings = [it for it in _wordings(context.view, subject) if it.term.strip() and "\n" not in it.term]
    written = [it for it in wordings if len(it.term) <= _MAX_WORDING_CHARS]
    found = [*_items_by_link(context, subject), *_items_by_name(context.view, written)]
    best: dict[tuple[str, str], RelatedItem] = {}
    for item in found:
        assert item.record is not None
        if item.record != subject.record:
            best.setdefault((item.record.collection, item.record.path), item)
    memories = [(it, it.record) for it in best.values() if it.record and it.record.kind == MEMORY_KIND]
    documents = tuple(it for it in best.values() if it.record and it.record.kind != MEMORY_KIND)
    not_searched = _NAME_TOO_LONG if len(written) < len(wordings) else ()
    return SectionItems(documents, not_searched), SectionItems(tuple(sort_by_validity(context, memories, room)))


# --- by link ---


def _items_by_link(context: WhyContext, subject: Target) -> Iterator[RelatedItem]:
    """Yield items linked to the target, most specific first, then newest; memories before documents."""
    view = context.view
    wanted = target_spellings(view, subject)
    for record, link in MemoryLinks.of(view).links_to(subject):
        yield link_item(record, link)
    sources = {it.name: it.source for it in view.collections()}
    found = [it for it in view.links_to(wanted) if sources[it[0].collection] == FILES]
    for record, link in sorted(found, key=lambda it: wanted.index(it[1].target)):
        # Document links to the path are resolved below, because a path may be written in many ways.
        is_resolved = subject.record and link.target == subject.record.path
        if not is_resolved and link.kind != "import" and may_refer_to(view, record.collection, subject.record):
            yield link_item(record, link)
    for record, link in document_links(view).links_to(subject.record) if subject.record else ():
        yield link_item(record, link)


def link_item(record: Record, link: Link) -> RelatedItem:
    """Return the source of a link as a related item; `how` is the target as written."""
    text = "" if link.kind == ANCHORED_LINK else link.context  # the context of an anchor is a digest
    return RelatedItem(link.kind, abbreviate(record.title), record, link.line, link.target, abbreviate(text))


# --- by name ---


class _Wording(NamedTuple):
    """A spelling of the target's name, and the collections in which it means the target."""

    term: str
    mode: GrepMode
    collections: tuple[str, ...]
    confidence: str = ""


def _items_by_name(view: StoreView, wordings: Iterable[_Wording]) -> Iterator[RelatedItem]:
    for wording in wordings:
        scope = Scope(collections=wording.collections, kinds=(DOCUMENT_KIND, MEMORY_KIND))
        terms = (wording.term,)
        asked = GrepQuery(
            terms,
            wording.mode,
            case_sensitive=True,
            scope=scope,
            limit=_MAX_MENTIONING_FILES,
            deadline_s=_MENTIONS_DEADLINE_S,
        )
        for file in search_lines(view, asked).files:
            for record in view.records(file.path, file.collection):
                if lines := _lines_in_text(view, record, file.lines):
                    yield _name_item(view, record, lines, wording.confidence)


def _lines_in_text(view: StoreView, record: Record, lines: Sequence[int]) -> Sequence[int]:
    """Drop lines in a memory's front matter: anchors there are read as links, not as text."""
    if record.kind != MEMORY_KIND:
        return lines
    text = view.text(record)
    above = text.count("\n", 0, parse_front_matter(text).end)
    return [it for it in lines if it > above]


def _name_item(view: StoreView, record: Record, lines: Sequence[int], sure: str) -> RelatedItem:
    shown = read_excerpts(view, record.collection, record.path, lines[:1])
    text = abbreviate(shown[0].lines[0] if shown else "")
    how = "names it" if len(lines) == 1 else f"names it in {len(lines):,} lines"
    how += ", or another symbol of this name" if sure else ""
    return RelatedItem("names", abbreviate(record.title), record, lines[0], how, text, sure)


def _wordings(view: StoreView, subject: Target) -> Iterator[_Wording]:
    """Yield the full name, the path, and the bare name if it is unambiguous or written as code."""
    if subject.record is None:
        return
    collections, path = _related_collections(view, subject.record), subject.record.path
    if subject.definition is not None and subject.record.kind != DOCUMENT_KIND:
        name, full = subject.definition.symbol.name, qualified_name_of(subject.definition)
        if full != name:
            yield _Wording(full, "substring", collections)
        if _is_unique_name(view, name):
            yield _Wording(_code_pattern(name), "regex", ())
        else:
            yield _Wording(path, "substring", collections)
            yield _Wording(_code_pattern(name), "regex", collections, "possible")
    yield _Wording(path, "substring", collections)


def _code_pattern(name: str) -> str:
    word = rf"\b{escape_literal(name)}\b" if name.isidentifier() else escape_literal(name)
    # No spaces: the text between two code spans is prose.
    return word if _DISTINCTIVE_NAME.search(name) else rf"`[^`\s]*{word}[^`\s]*`|{word}\("


def _related_collections(view: StoreView, record: Record) -> tuple[str, ...]:
    """Return the record's collection, and the memory collections that may refer to its root."""
    others = (it.name for it in view.collections() if it.source not in (COMMITS, FILES))
    return (record.collection, *(it for it in others if it != record.collection and may_refer_to(view, it, record)))


def _is_unique_name(view: StoreView, name: str) -> bool:
    return view.definitions(SymbolQuery(names=(name,), matching="exact", limit=2)).total == 1


# --------------------------------------------------------------------------------------------------
# Resolution of any target: a place, name, commit, memory, chunk ID, or a definition that no longer exists.

_CHUNK_ID = re.compile(r"[0-9a-f]{16}")


def resolve_target(view: StoreView, target: str, collection: str | None = None) -> list[Target]:
    """Return the meanings under the first interpretation that matches."""
    if target.lower().startswith((COMMIT_TARGET_PREFIX, MEMORY_TARGET_PREFIX)):
        return [Target(it.path, it) for it in resolve_prefixed(view, target, collection)]
    found = resolve_code_target(view, target, collection) or _chunk_targets(view, target, collection)
    if found:
        return found
    records = [*memories_by_name(view, target, collection), *commits_by_prefix(view, target, collection)]
    return [Target(it.path, it) for it in records] or _deleted_definitions(view, target, collection)


def _chunk_targets(view: StoreView, target: str, collection: str | None) -> list[Target]:
    if not _CHUNK_ID.fullmatch(target):
        return []
    histories = collections_of_source(view, COMMITS, collection)
    found = [(it.record, it.chunk.start_line) for it in view.by_chunk_id(target, collection)]
    # A commit has no file lines, so any of its chunks stands for the whole commit.
    return [
        Target(record.path, record) if record.collection in histories else target_at_line(view, record, line)
        for record, line in found
    ]


def _deleted_definitions(view: StoreView, target: str, collection: str | None) -> list[Target]:
    """Return definitions that no longer exist, by the files that links locate them in."""
    name = target.removesuffix("()").replace("::", ".")
    if collection is not None or "#" in name or view.links_to([target]):
        return []
    # Commits may record fewer enclosing names; a name without any would be ambiguous.
    for spelling in filter(None, dict.fromkeys((name, ".".join(split_qualified_name(name)[-2:])))):
        if found := view.anchors_named(spelling, (CHANGES_LINK, ANCHORED_LINK)):
            return [Target(one) for one in found]
    return []
