"""Items linked to a file, symbol, commit or note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from dowse.callgraph.facts import CALLABLE_KINDS, IMPORT_LINK, TYPE_KINDS, CallQuery
from dowse.errors import BadInput
from dowse.lookup.history import TOUCHES_LINK, StoredRenameHistory, follow_renames
from dowse.lookup.targets import COMMIT_TARGET_PREFIX, MARKDOWN_LINKS, MEMORY_TARGET_PREFIX, document_links
from dowse.lookup.why import MAX_CANDIDATES, ambiguity_note, unknown_note
from dowse.lookup.why_budget import abbreviate, memory_item
from dowse.lookup.why_evidence import (
    CHANGES_LINK,
    CODE_KIND,
    COMMIT_LINKS,
    MemoryLinks,
    caller_item,
    changed_names,
    describe_commit_link,
    importer_item,
    link_item,
    may_refer_to,
    reference_item,
    resolve_target,
    target_spellings,
)
from dowse.lookup.why_target import (
    RelatedItem,
    Target,
    WhyContext,
    check_target,
    definition_at,
    qualified_name_of,
    similar_names,
    target_of,
    unqualified_base,
)
from dowse.model import COMMITS, FILES, FRESHNESS_UNKNOWN, MEMORIES, UNPARSED_FACET, DiskFreshness, Link, Record, Scope
from dowse.store.types import Definition, SymbolQuery
from dowse.store.view import StoreView
from dowse.text.references import ANCHORED_LINK

# --------------------------------------------------------------------------------------------------
# Answers about related items: groups of one link kind and direction.

DEFAULT_RELATED_LIMIT, MAX_RELATED_LIMIT = 5, 100

LinkDirection = Literal["out", "in"]


@dataclass(frozen=True, slots=True)
class RelatedEdge:
    """A related item with its direction: the link leads to it (`out`) or comes from it (`in`)."""

    direction: LinkDirection
    neighbour: RelatedItem


@dataclass(frozen=True, slots=True)
class RelatedGroup:
    """Items related by one kind of link in one direction; `total` counts all of them."""

    kind: str
    direction: LinkDirection
    shown: tuple[RelatedItem, ...]
    total: int


@dataclass(frozen=True, slots=True)
class RelatedAnswer:
    """`subject` is None unless exactly one target matched; the rest is as in `WhyAnswer`."""

    target: str
    subject: Target | None
    groups: tuple[RelatedGroup, ...] = ()
    candidates: tuple[Target, ...] = ()
    near: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


# --------------------------------------------------------------------------------------------------
# Incoming links, from documents, memories and commits, each with its own spelling.

_MIN_HASH_CHARS = 4


def incoming_edges(context: WhyContext, subject: Target) -> Iterator[RelatedEdge]:
    for record, link in _incoming_links(context, subject):
        if record != subject.record:
            yield RelatedEdge("in", _incoming_item(record, link))


def _incoming_links(context: WhyContext, subject: Target) -> Iterator[tuple[Record, Link]]:
    """Yield each link once, newest records first."""
    view, record = context.view, subject.record
    sources = {it.name: it.source for it in view.collections()}
    own = sources[record.collection] if record else ""
    for writer, link in view.links_to(_link_spellings(context, subject, own)):
        source = sources[writer.collection]
        # Links of documents and commits are resolved below, because their paths are relative to another root.
        is_resolved = record is not None and source in (FILES, COMMITS) and own == FILES
        if source != MEMORIES and not is_resolved and may_refer_to(view, writer.collection, record):
            yield writer, link
    yield from MemoryLinks.of(view).links_to(subject)
    if record is not None:
        yield from _document_links_to(context, subject, record)
        yield from _commit_links_to(context, subject, record)


def _link_spellings(context: WhyContext, subject: Target, source: str) -> list[str]:
    name = subject.name
    if source == COMMITS:
        return [f"{COMMIT_TARGET_PREFIX}{name[:length]}" for length in range(_MIN_HASH_CHARS, len(name) + 1)]
    if source == MEMORIES and subject.record:
        path = subject.record.path
        names = (path, path.rpartition(".")[0] or path)
        return list(dict.fromkeys(f"{MEMORY_TARGET_PREFIX}{it}" for it in names))
    return target_spellings(context.view, subject)


def _document_links_to(context: WhyContext, subject: Target, record: Record) -> Iterator[tuple[Record, Link]]:
    """Yield document links to a whole file; they do not concern single definitions in it."""
    if subject.definition is None:
        yield from document_links(context.view).links_to(record)


def _commit_links_to(context: WhyContext, subject: Target, record: Record) -> Iterator[tuple[Record, Link]]:
    home = context.history_of(record)
    if home is None:
        return
    history, path = home
    targets = [f"{path}#{name}" for name in changed_names(context.view, subject)] or [path]
    for writer, link in context.view.links_to(targets):
        if writer.collection == history.name:
            yield writer, link


def _incoming_item(record: Record, link: Link) -> RelatedItem:
    if link.kind not in COMMIT_LINKS:
        return link_item(record, link)
    return replace(
        link_item(record, link),
        line=0,
        how=describe_commit_link(link),
        text=link.context if link.kind == CHANGES_LINK else "",
    )


# --------------------------------------------------------------------------------------------------
# Resolution of a link to a record, for records of every kind.


def resolve_link(context: WhyContext, record: Record, link: Link) -> Target:
    """Return the target of a link; without a record if nothing indexed matches, or several things do."""
    source = {it.name: it.source for it in context.view.collections()}[record.collection]
    path, _, name = link.target.partition("#")
    if source == COMMITS:
        found = context.file_of(record.collection, path)
        return _definition_target(context.view, found, name) if found else Target(link.target)
    if source == FILES and link.kind in MARKDOWN_LINKS:
        place = document_links(context.view).path_meant(record, link)
        records = context.view.records(place, record.collection) if place is not None else []
        return Target(records[0].path, records[0]) if records else Target(link.target)
    if source != MEMORIES:
        return Target(link.target)
    memory_links = MemoryLinks.of(context.view)
    records = memory_links.resolve(record, link.target)
    part = memory_links.place(record, link.target).part
    return _definition_target(context.view, records[0], part) if len(records) == 1 else Target(link.target)


def _definition_target(view: StoreView, record: Record, name: str) -> Target:
    """Return the definition of this name, or the only one whose name ends with it; else the whole record."""
    if not name:
        return Target(record.path, record)
    chains = view.qualified_names(record)
    found = [definition_at(record, chains, it) for it in chains.find_by_suffix(name)]
    whole = [it for it in found if qualified_name_of(it) == name]
    if whole or len({qualified_name_of(it) for it in found}) == 1:
        return target_of((whole or found)[0])
    return Target(f"{record.path}#{name}", record)


# --------------------------------------------------------------------------------------------------
# Outgoing links.

_LINKS_WITHOUT_TEXT = (ANCHORED_LINK, IMPORT_LINK)  # their context is a digest, or names


def outgoing_edges(context: WhyContext, subject: Target) -> Iterator[RelatedEdge]:
    """Yield outgoing links, for a definition those on its lines; each target once per kind."""
    if subject.record is None:
        return
    seen: set[tuple[str, str, str]] = set()
    for link in context.view.links(subject.record):
        what = (link.kind, link.target, link.context if link.kind == IMPORT_LINK else "")
        if what not in seen and _is_link_of(link, subject):
            seen.add(what)
            yield RelatedEdge("out", _outgoing_item(context, subject.record, link))


def _is_link_of(link: Link, subject: Target) -> bool:
    return subject.definition is None or subject.first_line <= link.line <= subject.last_line


def _outgoing_item(context: WhyContext, record: Record, link: Link) -> RelatedItem:
    end = _link_end(context, record, link)
    name = abbreviate(end.record.title) if end.record is not None and end.name == end.record.path else end.name
    if link.kind in COMMIT_LINKS:
        text = abbreviate(link.context) if link.kind == CHANGES_LINK else ""
        description = "" if end.definition else describe_commit_link(link)
        how = link.context if link.kind == TOUCHES_LINK else description if description != name else ""
        return RelatedItem(link.kind, name, end.record, link.line or end.first_line, how, text)
    text = "" if link.kind in _LINKS_WITHOUT_TEXT else abbreviate(link.context)
    return RelatedItem(link.kind, name, end.record, end.first_line, f"line {link.line}" if link.line else "", text)


def _link_end(context: WhyContext, record: Record, link: Link) -> Target:
    if link.kind != IMPORT_LINK:
        return resolve_link(context, record, link)
    found = context.calls.resolve_import(record, link)
    return Target(found.path, found) if found else Target(link.target)


# --------------------------------------------------------------------------------------------------
# Related items in code: callers and callees, base classes and subclasses, importers.

INHERITS_LINK = "inherits"

_MAX_CODE_EDGES = 50
_CODE_EDGES_DEADLINE_S = 1.0


def code_edges(context: WhyContext, subject: Target) -> Iterator[RelatedEdge]:
    if subject.record is None or subject.record.kind != CODE_KIND or UNPARSED_FACET in subject.record.facets:
        return
    if subject.definition is None:
        yield from (RelatedEdge("in", importer_item(*it)) for it in context.calls.importers(subject.record))
        return
    if subject.definition.symbol.kind in CALLABLE_KINDS:
        yield from _call_edges(context, subject.definition)
    if subject.definition.symbol.kind in TYPE_KINDS:
        yield from _inheritance_edges(context, subject.definition)


def _call_edges(context: WhyContext, definition: Definition) -> Iterator[RelatedEdge]:
    name = definition.symbol.name
    up = CallQuery(name, depth=1, width=_MAX_CODE_EDGES, nodes=_MAX_CODE_EDGES, deadline_s=_CODE_EDGES_DEADLINE_S)
    callers = context.calls.calls_of(definition, up)
    yield from (RelatedEdge("in", caller_item(it.edge)) for it in callers.nodes)
    yield from (RelatedEdge("in", reference_item(it)) for it in callers.references[:_MAX_CODE_EDGES])
    down = CallQuery(
        name, direction="down", depth=1, width=_MAX_CODE_EDGES, nodes=_MAX_CODE_EDGES, deadline_s=_CODE_EDGES_DEADLINE_S
    )
    for node in context.calls.calls_of(definition, down).nodes:
        if callee := node.edge.callee:
            how = f"line {node.edge.site.line}" + (f"; {node.edge.how}" if node.edge.confidence != "exact" else "")
            yield RelatedEdge("out", _definition_item(callee, "calls", how, node.edge.confidence))


def _inheritance_edges(context: WhyContext, definition: Definition) -> Iterator[RelatedEdge]:
    """Match by the unqualified name of the base, as written, which may also mean another type."""
    scope = Scope(collections=(definition.record.collection,))
    for base in definition.symbol.bases:
        asked = SymbolQuery(
            names=(unqualified_base(base),), matching="exact", kinds=tuple(sorted(TYPE_KINDS)), scope=scope, limit=2
        )
        found = context.view.definitions(asked).definitions
        yield RelatedEdge(
            "out",
            _definition_item(found[0], INHERITS_LINK) if len(found) == 1 else RelatedItem(INHERITS_LINK, base, None),
        )
    below = context.view.definitions(SymbolQuery(base=definition.symbol.name, scope=scope, limit=_MAX_CODE_EDGES))
    yield from (RelatedEdge("in", _definition_item(it, INHERITS_LINK)) for it in below.definitions)


def _definition_item(it: Definition, kind: str, how: str = "", sure: str = "") -> RelatedItem:
    return RelatedItem(kind, qualified_name_of(it), it.record, it.symbol.start_line, how, confidence=sure)


# --------------------------------------------------------------------------------------------------
# Co-change analysis: files that commits change together with a given file.

CHANGES_WITH_LINK = "changes_with"

_MAX_COMMITS_CHECKED = 200
_MIN_SHARED_COMMITS = 2
_MAX_FILES_PER_COMMIT = 30  # larger commits change unrelated files


def co_change_edges(context: WhyContext, subject: Target) -> Iterator[RelatedEdge]:
    """Yield files changed together at least twice, most frequent first; once is chance."""
    home = context.history_of(subject.record) if subject.record else None
    if home is None:
        return
    history, path = home[0].name, home[1]
    file_history = follow_renames(StoredRenameHistory(context.view, history), path)
    own = _newest_small_commits(context, history, file_history.names, file_history.commits)
    shared: Counter[str] = Counter()
    latest: dict[str, Record] = {}
    for commit in own:
        for other in {it.target for it in context.view.links(commit) if it.kind == TOUCHES_LINK} - set(
            file_history.names
        ):
            shared[other] += 1
            latest.setdefault(other, commit)
    for other, times in sorted(shared.items(), key=lambda it: (-it[1], it[0])):
        if times >= _MIN_SHARED_COMMITS:
            how = f"in {times} of {len(own)} commits, last in {latest[other].path[:12]}"
            yield RelatedEdge("in", RelatedItem(CHANGES_WITH_LINK, other, context.file_of(history, other), how=how))


def _newest_small_commits(
    context: WhyContext, history: str, names: tuple[str, ...], commits: frozenset[str] | None
) -> list[Record]:
    """Return the newest commits of the file, without those that changed many files at once."""
    touching = {record.path: record for record, _ in context.view.links_to(names, (TOUCHES_LINK,))}
    own = [it for it in touching.values() if it.collection == history and (commits is None or it.path in commits)]
    return [it for it in own if int(it.facets.get("files", "0")) <= _MAX_FILES_PER_COMMIT][:_MAX_COMMITS_CHECKED]


# --------------------------------------------------------------------------------------------------
# Items related by typed links, with a limit per kind so that none crowds out the rest.


def find_related(
    context: WhyContext, target: str, kinds: Sequence[str], limit: int, collection: str | None = None
) -> RelatedAnswer:
    if not 1 <= limit <= MAX_RELATED_LIMIT:
        raise BadInput(f"the limit must be 1 to {MAX_RELATED_LIMIT} items per kind, not {limit:,}")
    text = check_target(target)
    found = resolve_target(context.view, text, collection)
    if len(found) > 1:
        return RelatedAnswer(text, None, candidates=tuple(found[:MAX_CANDIDATES]), notes=(ambiguity_note(text, found),))
    subject = found[0] if found else Target(text)
    groups = list(_group_edges(_all_edges(context, subject)))
    if not found and not groups:
        near = similar_names(context.view, text)
        return RelatedAnswer(text, None, near=near, notes=(unknown_note(context.view, text),))
    return _related_answer(context, text, subject, groups, kinds, limit)


def _related_answer(
    context: WhyContext, target: str, subject: Target, groups: list[RelatedGroup], kinds: Sequence[str], limit: int
) -> RelatedAnswer:
    wanted = [it for it in groups if not kinds or it.kind in kinds]
    notes = [*subject.notes()]
    if kinds and not wanted:
        known = ", ".join(dict.fromkeys(it.kind for it in groups)) or "none"
        notes.append(f"nothing related by {', '.join(kinds)}; kinds found: {known}")
    elif not groups:
        notes.append("no links to or from it")
    shown = tuple(replace(it, shown=tuple(_with_memory_warnings(context, it.shown[:limit]))) for it in wanted)
    return RelatedAnswer(target, subject, shown, notes=tuple(notes))


def _all_edges(context: WhyContext, subject: Target) -> Iterator[RelatedEdge]:
    yield from code_edges(context, subject)
    yield from outgoing_edges(context, subject)
    yield from incoming_edges(context, subject)
    yield from co_change_edges(context, subject)


def _group_edges(edges: Iterable[RelatedEdge]) -> Iterator[RelatedGroup]:
    """Group distinct items by kind and direction, in the order found."""
    found: dict[tuple[str, LinkDirection], dict[tuple[object, ...], RelatedItem]] = {}
    for edge in edges:
        one = edge.neighbour
        place = (one.record.collection, one.record.path, one.name) if one.record else (one.name,)
        found.setdefault((one.kind, edge.direction), {}).setdefault(place, one)
    for (kind, direction), members in found.items():
        yield RelatedGroup(kind, direction, tuple(members.values()), len(members))


def _with_memory_warnings(context: WhyContext, shown: Iterable[RelatedItem]) -> Iterator[RelatedItem]:
    folders = {it.name for it in context.view.collections() if it.source == MEMORIES}
    for item in shown:
        is_memory = item.record is not None and item.record.collection in folders
        yield memory_item(context, item, item.record) if is_memory and item.record else item
