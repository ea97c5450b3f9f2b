"""Callers, callees, call trees and the impact of a change."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import groupby, islice
from typing import NamedTuple

from dowse.callgraph.facts import (
    ASSIGN_SITE,
    CALLABLE_KINDS,
    CLASS_KINDS,
    IMPORT_LINK,
    MAX_CALL_DEPTH,
    CallEdge,
    CallNode,
    CallQuery,
    CallTree,
    Confidence,
    ExternalCall,
    FileOutline,
    OutlineCache,
    rules_for,
)
from dowse.callgraph.flow import MAX_FILE_SCANS, IndirectCallFinder
from dowse.callgraph.names import DUNDER_CALL
from dowse.callgraph.resolver import CONFIDENCE_ORDER, Resolution, ResolvedTarget, ResolverContext, select_overloads
from dowse.callgraph.resolver import RECEIVER_UNKNOWN_REASON as NOT_KNOWN
from dowse.callgraph.types import structural_implementers
from dowse.callgraph.values import ResolutionGuard
from dowse.errors import BadInput
from dowse.model import FRESHNESS_UNKNOWN, Call, DiskFreshness, Link, Record
from dowse.store.types import Definition, NamedDefinition, StoredCall, SymbolRef
from dowse.store.view import StoreView
from dowse.text.code_names import scope_predicate

# --------------------------------------------------------------------------------------------------
# Edges of the call graph: calls to a definition, and calls from it.

_FILES_PER_BATCH = 50
_PARAMETER_BUDGET = 40  # budget per query for following parameters
_MAX_REFERENCES_FOLLOWED = 30  # references followed per query
_MAX_PARAMETER_SITES = 20  # with more call sites on parameters of one name, no arguments are followed
_UNREPORTED_KINDS = frozenset({"refer", "implied", "raise"})


class TraversalRules(NamedTuple):
    """Filters and limits of a call graph traversal."""

    confidence: Confidence
    through_interfaces: bool
    is_wanted: Callable[[Record], bool]
    is_past_deadline: Callable[[], bool] = lambda: False  # whether the deadline has passed
    with_references: bool = False  # whether passing a function on counts as calling it


class FoundEdge(NamedTuple):
    """An edge with the place of its near end, and of its far end unless that is at module level."""

    edge: CallEdge
    near_end: SymbolRef
    far_end: SymbolRef | None


class EdgeFinder:
    def __init__(self, context: ResolverContext, rules: TraversalRules) -> None:
        self._context = context
        self._rules = rules
        self._least = CONFIDENCE_ORDER[rules.confidence]
        self.hit_site_limit = False  # whether there were more sites than the limit
        self.hit_deadline = False  # whether the deadline passed before all sites were checked
        self.references: list[CallEdge] = []  # references met so far that do not count as calls
        self._outside: dict[tuple[int, str], list[int]] = {}
        self._budget = _PARAMETER_BUDGET
        self._scans_left = MAX_FILE_SCANS
        self._unfollowed: set[tuple[int, int]] = set()  # sites on parameters, if there are too many of them to follow

    def stop_following(self) -> None:
        """Stop following parameters and stored or returned functions from now on."""
        self._budget = self._scans_left = 0

    # --- callers ---

    def callers_of(self, targets: Sequence[SymbolRef], unresolved: list[CallEdge] | None = None) -> Iterator[FoundEdge]:
        """Yield the callers of the targets, each once, ordered by file and line.

        Sites that cannot be resolved are appended to `unresolved`.
        """
        wanted = self._with_constructors(targets)
        for sites in self._group_by_record(self._candidates(tuple(targets), with_unknown=unresolved is not None)):
            yield from self._callers(sites, wanted)
            if unresolved is not None:
                unresolved += self.unresolved_edges(sites, with_outside=False)
                unresolved += self._low_confidence(sites, wanted)

    def _candidates(self, targets: tuple[SymbolRef, ...], *, with_unknown: bool) -> list[StoredCall]:
        """Return the sites that may call a target, judging by name and spelling."""
        by_name = self._is_sure_enough("possible")
        found_sites = self._context.candidate_finder.candidates(targets, is_coarse=by_name)
        self.hit_site_limit |= found_sites.hit_site_limit
        passed = {"perhaps", "unknown", "parameter"} if with_unknown or by_name else {"perhaps", "parameter"}
        if len(found_sites.on_parameters) > _MAX_PARAMETER_SITES or not self._budget:
            self._unfollowed.update(found_sites.on_parameters)
            passed -= set() if with_unknown or by_name else {"parameter"}
        left_out = "" if self._budget else "implied"  # every loop has one of these
        sites = [it for verdict, it in found_sites.verdicts if verdict in passed and it.kind != left_out]
        indirect = self._indirect_sites(targets, sites) if self._scans_left else {}
        if not indirect:
            return sites
        found = {(it.record, it.ordinal): it for it in sites}
        return self._in_order(found, indirect) if indirect.keys() - found.keys() else sites

    def _indirect_sites(
        self, targets: tuple[SymbolRef, ...], found: Iterable[StoredCall]
    ) -> dict[tuple[int, int], StoredCall]:
        """Return sites that may call a target after it was passed on, returned or stored."""
        wanted = self._with_constructors(targets)
        named = islice((it for it in found if it.kind == "refer" and it.passed), _MAX_REFERENCES_FOLLOWED)
        references = [it for it in named if any(resolved.ref in wanted for resolved in self._resolve(it).targets)]
        carriers = IndirectCallFinder(self._context, targets, self._scans_left)
        indirect = carriers.sites(references)
        self._scans_left = max(self._scans_left - carriers.scanned, 0)
        return {(it.record, it.ordinal): it for it in indirect}

    def _in_order(
        self, found: dict[tuple[int, int], StoredCall], more: dict[tuple[int, int], StoredCall]
    ) -> list[StoredCall]:
        facts = self._context.facts

        def place(site: StoredCall) -> tuple[str, str, int, int]:
            record = facts.outline(site.record).record
            return record.collection, record.path, site.line, site.ordinal

        return sorted((more | found).values(), key=place)

    def _resolve(self, site: StoredCall) -> Resolution:
        """Resolve a site, following parameters while the budget lasts."""
        budget = self._budget
        if budget and self._unfollowed and (site.record, site.ordinal) in self._unfollowed:
            budget = 0
        known = self._context.resolver.cached_resolution(site, follows_parameters=budget > 0)
        if known is not None:
            return known
        guard = ResolutionGuard(budget)
        found = self._context.resolver.resolve(site, guard)
        self._budget = max(self._budget - guard.spent, 0)
        return found

    def _group_by_record(self, sites: list[StoredCall]) -> Iterator[list[StoredCall]]:
        """Yield the sites of each wanted file; files load in small batches because a caller may stop early."""
        groups = [list(group) for _, group in groupby(sites, key=lambda it: it.record)]
        facts = self._context.facts
        for start in range(0, len(groups), _FILES_PER_BATCH):
            batch = groups[start : start + _FILES_PER_BATCH]
            facts.prefetch(group[0].record for group in batch)
            for file_sites in batch:
                if self._is_past_deadline():
                    return
                if self._rules.is_wanted(facts.outline(file_sites[0].record).record):
                    yield file_sites

    def _is_past_deadline(self) -> bool:
        self.hit_deadline |= self._rules.is_past_deadline()
        return self.hit_deadline

    def _with_constructors(self, targets: Sequence[SymbolRef]) -> frozenset[SymbolRef]:
        """Return the targets and the constructors of target classes, through which a class is called."""
        matching = set(targets)
        for target in targets:
            if self._context.facts.symbol(target).kind in CLASS_KINDS:
                own = self._context.facts.outline(target.record).constructors(target.ordinal)
                matching |= {SymbolRef(target.record, child) for child in own}
        return frozenset(matching)

    def _callers(self, sites: list[StoredCall], wanted: frozenset[SymbolRef]) -> Iterator[FoundEdge]:
        groups: dict[tuple[int | None, SymbolRef, bool], list[tuple[StoredCall, ResolvedTarget, Resolution]]] = {}
        for site in sites:
            if self._rules.with_references and self._context.aliases.is_alias_definition(site):
                continue
            resolution = self._resolve(site)
            for resolved in self._matching_targets(site, resolution, wanted) if resolution.targets else ():
                for counted in self._as_call_or_reference(site, resolved):
                    groups.setdefault((site.symbol, counted.ref, counted.is_reference), []).append(
                        (site, counted, resolution)
                    )
        for (caller, place, is_reference), found in groups.items():
            edge = self._of_group(found)
            far = None if caller is None else SymbolRef(found[0][0].record, caller)
            if is_reference:
                self.references.append(edge)
            else:
                yield FoundEdge(edge, place, far)

    def _as_call_or_reference(self, site: StoredCall, resolved: ResolvedTarget) -> Iterator[ResolvedTarget]:
        """Yield the target as a call or as a reference: a library function may call the functions passed to it."""
        if site.kind != "refer" or self._rules.with_references:
            yield from (resolved,) if self._is_sure_enough(resolved.confidence) else ()
            return
        taker = self._context.parameter_values.library_caller(site)
        if taker and resolved.confidence != "possible":
            yield resolved._replace(how=f"passed to {taker}, which calls it")
        else:
            yield resolved._replace(how=site.passed or "named", is_reference=True)

    def _of_group(self, found: list[tuple[StoredCall, ResolvedTarget, Resolution]]) -> CallEdge:
        lines = tuple(dict.fromkeys(it[0].line for it in found))
        site, resolved, resolution = min(found, key=lambda it: CONFIDENCE_ORDER[it[1].confidence])
        return self.edge(site, resolved.ref, resolved, resolution.receiver, lines)

    def _matching_targets(
        self, site: StoredCall, resolution: Resolution, wanted: frozenset[SymbolRef]
    ) -> list[ResolvedTarget]:
        """Return the targets that a site reaches; dispatch through a base counts only if none is reached directly."""
        landed = [it for it in resolution.targets if it.ref in wanted]
        if landed or not self._rules.through_interfaces:
            return landed
        through = [resolved for it in sorted(wanted) for resolved in self._through_base(resolution, it)]
        return select_overloads(self._context.facts, through, site.arguments)

    def _through_base(self, resolution: Resolution, target: SymbolRef) -> Iterator[ResolvedTarget]:
        name = self._context.facts.symbol(target).name
        for resolved in resolution.targets:
            if self._context.facts.symbol(resolved.ref).name != name:
                continue
            landing = self._context.overrides.dispatch_to(resolved, target)
            if landing is not None:
                yield landing
            else:
                yield from (it for it in self._context.fallback.similar_implementers(resolved) if it.ref == target)

    def _low_confidence(self, sites: list[StoredCall], wanted: frozenset[SymbolRef]) -> Iterator[CallEdge]:
        """Yield sites that call an interface and reach a target only by a low-confidence guess."""
        for site in sites if self._context.facts.outline(sites[0].record).rules.structural else ():
            resolution = self._context.resolver.resolve(site)
            if not self._is_resolved(resolution):
                continue  # already listed as unresolved
            landing = self._matching_targets(site, resolution, wanted)
            if landing and not any(self._is_sure_enough(it.confidence) for it in landing):
                yield self.edge(site, None, landing[0], resolution.receiver, (site.line,))

    # --- callees ---

    def callees_of(self, sources: Sequence[SymbolRef], unresolved: list[CallEdge] | None = None) -> Iterator[FoundEdge]:
        """Yield the callees of the sources, each once per source, in line order."""
        for source in sources:
            sites = self._sites_of(source)
            if unresolved is not None:
                unresolved += self.unresolved_edges(sites, with_outside=True)
            groups: dict[tuple[SymbolRef, bool], list[tuple[StoredCall, ResolvedTarget, Resolution]]] = {}
            for site in sites:
                if self._is_past_deadline():
                    break
                resolution = self._resolve(site)
                for resolved in self._callee_targets(site, resolution):
                    groups.setdefault((resolved.ref, resolved.is_reference), []).append((site, resolved, resolution))
            for (place, is_reference), found in groups.items():
                if not self._rules.is_wanted(self._context.facts.outline(place.record).record):
                    continue
                if is_reference:
                    self.references.append(self._of_group(found))
                else:
                    yield FoundEdge(self._of_group(found), source, place)

    def _sites_of(self, source: SymbolRef) -> list[StoredCall]:
        sites = [
            it
            for it in self._context.facts.sites_in(source.record).sites_inside(source.ordinal)
            if it.kind != ASSIGN_SITE
        ]
        if not self._rules.with_references:
            return sites
        return [it for it in sites if not self._context.aliases.is_alias_definition(it)]

    def _callee_targets(self, site: StoredCall, resolution: Resolution) -> Iterator[ResolvedTarget]:
        for resolved in resolution.targets:
            yield from self._as_call_or_reference(site, resolved)
            if site.kind == "refer" and not self._rules.with_references:
                continue
            if not self._rules.through_interfaces or not self._is_sure_enough("virtual"):
                continue
            overriding = [
                it for it in self._context.overrides.overrides_of(resolved) if self._is_sure_enough(it.confidence)
            ]
            yield from select_overloads(self._context.facts, overriding, site.arguments)
            if self._is_sure_enough("possible"):
                yield from self._context.fallback.similar_implementers(resolved)

    # --- unresolved sites ---

    def unresolved_edges(self, sites: Iterable[StoredCall], *, with_outside: bool) -> Iterator[CallEdge]:
        """Yield sites without a target of sufficient confidence."""
        for site in sites:
            if site.kind in _UNREPORTED_KINDS or (site.kind == "decorate" and site.name == DUNDER_CALL):
                continue  # most values passed on are not callable
            resolution = self._resolve(site)
            if self._is_resolved(resolution):
                continue
            if resolution.is_outside and with_outside:
                name = self._context.resolver.external_name(site, resolution)
                self._outside.setdefault((site.record, name), []).append(site.line)
            if with_outside or not resolution.is_outside:
                how = resolution.targets[0].how if resolution.targets else resolution.why
                resolved = ResolvedTarget(SymbolRef(site.record, 0), how, confidence="possible")
                yield self.edge(site, None, resolved, resolution.receiver, (site.line,))

    def external(self) -> Iterator[ExternalCall]:
        """Yield the library calls met so far, in line order."""
        for (record, name), lines in self._outside.items():
            yield ExternalCall(name, self._context.facts.outline(record).record, tuple(dict.fromkeys(lines)))

    def _is_resolved(self, resolution: Resolution) -> bool:
        """Return whether any target has sufficient confidence."""
        return (
            any(CONFIDENCE_ORDER[it.confidence] <= self._least for it in resolution.targets)
            if resolution.targets
            else False
        )

    def _is_sure_enough(self, confidence: Confidence) -> bool:
        return CONFIDENCE_ORDER[confidence] <= self._least

    def edge(
        self,
        site: StoredCall,
        callee: SymbolRef | None,
        resolved: ResolvedTarget,
        receiver: str,
        lines: tuple[int, ...],
    ) -> CallEdge:
        outline = self._context.facts.outline(site.record)
        return CallEdge(
            Call(site.name, _display_callee(site.callee), site.line, site.symbol, site.arguments, site.kind),
            outline.record,
            None if site.symbol is None else outline.definition(site.symbol),
            None if callee is None else self._context.facts.outline(callee.record).definition(callee.ordinal),
            receiver,
            resolved.confidence,
            resolved.how,
            lines,
        )


def _display_callee(callee: str) -> str:
    """Return the callee as a reader knows it, without the `$` before parameters."""
    return callee.replace("$", "") if "$" in callee else callee


# --------------------------------------------------------------------------------------------------
# Definitions that a call query refers to.


class CallRoots(NamedTuple):
    """The root definitions of a query; `owners` are all classes or files that define the name."""

    refs: tuple[SymbolRef, ...]
    owners: tuple[str, ...]


class RootFinder:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def find(self, query: CallQuery) -> CallRoots:
        if query.at is not None:
            return CallRoots(self.with_constructors([self._find_at(*query.at)]), ())
        named = self._context.facts.callable_named(query.name.strip())
        rows = [it for it in named if not query.scope.collections or it.collection in query.scope.collections]
        exactly = [it for it in rows if it.name == query.name.strip()] or rows
        exactly = [self._with_owner(it) for it in exactly]
        owners = tuple(sorted({owner_name_of(it) for it in exactly}))
        selected = [it for it in exactly if not query.owner or _has_owner(it, query.owner)]
        return CallRoots(self.with_constructors([it.ref for it in selected]), owners)

    def _with_owner(self, it: NamedDefinition) -> NamedDefinition:
        """Set the receiver type as owner of a method defined outside its type, as in Go."""
        owner = self._context.classes.owner(it.ref) if it.kind == "method" and not it.trail else None
        return it._replace(trail=(owner.name,)) if owner else it

    def _find_at(self, path: str, line: int) -> SymbolRef:
        name = path.rpartition("/")[2]
        files = [it for it in self._context.facts.files_named(name) if it.path == path]
        if not files:
            raise BadInput(f"{path!r} is not indexed")
        ordinal = self._context.facts.outline(files[0].key).at_line(line)
        if ordinal is None:
            raise BadInput(f"no definition contains line {line} of {path}")
        return SymbolRef(files[0].key, ordinal)

    def with_constructors(self, places: list[SymbolRef]) -> tuple[SymbolRef, ...]:
        """Return the places plus the constructors of every class among them."""
        found = dict.fromkeys(places)
        for place in places:
            if self._context.facts.symbol(place).kind in CLASS_KINDS:
                own = self._context.facts.outline(place.record).constructors(place.ordinal)
                found |= dict.fromkeys(SymbolRef(place.record, child) for child in own)
        return tuple(found)


def owner_name_of(it: NamedDefinition) -> str:
    """Return the qualified name of the owning class, or the path of a file-level definition."""
    return ".".join(it.trail) if it.trail else it.path


def _has_owner(it: NamedDefinition, owner: str) -> bool:
    """Return whether `owner` names the class, any suffix of its qualified name, or the path."""
    full, wanted = owner_name_of(it).lower(), owner.strip().lower()
    if full == wanted or full.endswith(f".{wanted}") or it.path.lower() == wanted:
        return True
    return it.kind in CLASS_KINDS | {"constructor"} and it.name.lower() == wanted


# --------------------------------------------------------------------------------------------------
# Call trees, expanded breadth-first so that limits cut the deepest levels first.

UNKNOWN_RECEIVER = "receiver unknown"
MAX_POSSIBLE_SHOWN = 5
"""Maximum number of calls with an unknown receiver shown if no other calls are known."""

_NO_LIMIT = 10**9  # stands for no limit


@dataclass(slots=True)
class _Branch:
    """A tree node under construction; `path` holds the definitions from the root to it."""

    found_edge: FoundEdge
    path: frozenset[SymbolRef]
    branches: list[_Branch] = field(default_factory=list)
    cut: str = ""
    more: int = 0


def call_tree(context: ResolverContext, query: CallQuery, roots: CallRoots | None = None) -> CallTree:
    """Build the tree for a query; `roots` gives its root definitions if they are already known."""
    query = check_call_query(query, is_named=roots is None)
    edges = EdgeFinder(context, traversal_rules(query))
    roots = roots or RootFinder(context).find(query)
    builder = _TreeBuilder(edges, query)
    branches, cut, more = builder.grow(roots.refs)
    possible = [] if branches or query.direction == "down" else list(map(_mark_unknown_receiver, builder.unresolved))
    return CallTree(
        query,
        tuple(context.facts.outline(it.record).definition(it.ordinal) for it in roots.refs),
        tuple(map(_freeze, branches)),
        roots.owners,
        tuple(islice(builder.unresolved, query.nodes or None)),
        builder.visited,
        builder.total,
        bool(cut) or builder.hit_limit,
        cut,
        more=more,
        references=tuple(islice(builder.references, query.nodes or None)),
        possible=tuple(possible[:MAX_POSSIBLE_SHOWN]),
        more_possible=max(len(possible) - MAX_POSSIBLE_SHOWN, 0),
        external=tuple(edges.external()),
    )


def check_call_query(query: CallQuery, *, is_named: bool = True) -> CallQuery:
    """Validate the query and clamp its depth; `is_named`: the roots are known by name only."""
    if is_named and not query.name.strip() and query.at is None:
        raise BadInput("no function given; pass its name, or the path and line of its definition")
    if query.depth < 1:
        raise BadInput(f"the depth must be 1 to {MAX_CALL_DEPTH}, not {query.depth}")
    if query.width < 0 or query.nodes < 0:
        raise BadInput("width and nodes must be 0 (no limit) or more")
    if query.direction not in ("up", "down"):
        raise BadInput(f"unknown direction {query.direction!r}; use up (callers) or down (callees)")
    if query.confidence not in ("exact", "virtual", "possible"):
        raise BadInput(f"unknown confidence {query.confidence!r}; use exact, virtual or possible")
    return replace(query, depth=min(query.depth, MAX_CALL_DEPTH))


def traversal_rules(query: CallQuery) -> TraversalRules:
    in_scope, wanted = scope_predicate(query.scope), query.path_filter

    def is_wanted(record: Record) -> bool:
        return in_scope(record) and (wanted is None or wanted(record.path))

    end = time.monotonic() + query.deadline_s

    def is_past_deadline() -> bool:
        return time.monotonic() > end

    return TraversalRules(
        query.confidence, query.through_interfaces, is_wanted, is_past_deadline, query.with_references
    )


class _TreeBuilder:
    def __init__(self, edges: EdgeFinder, query: CallQuery) -> None:
        self._edges = edges
        self._look = edges.callers_of if query.direction == "up" else edges.callees_of
        self._depth = query.depth
        self._width = query.width or _NO_LIMIT
        self._room = query.nodes or _NO_LIMIT
        self._counted = query.count_beyond_width
        self._known: dict[tuple[SymbolRef, ...], tuple[list[FoundEdge], str, int]] = {}
        self.unresolved: list[CallEdge] = []
        self.references: list[CallEdge] = []  # of the root definitions
        self.total = 0
        self.hit_limit = False

    @property
    def visited(self) -> int:
        return len(self._known)

    def grow(self, roots: Sequence[SymbolRef]) -> tuple[list[_Branch], str, int]:
        first, cut, more = self._branches(tuple(roots), frozenset()) if roots else ([], "", 0)
        level = first
        for _ in range(self._depth - 1):
            level = [branch for it in level for branch in self._expand(it)]
        for leaf in level:
            self._mark_end(leaf)
        return first, cut, more

    def _expand(self, branch: _Branch) -> list[_Branch]:
        place = branch.found_edge.far_end
        if place is None:
            return []
        if place in branch.path:
            branch.cut = "cycle"
            return []
        branch.branches, branch.cut, branch.more = self._branches((place,), branch.path)
        self.hit_limit |= bool(branch.cut)
        return branch.branches

    def _branches(self, places: tuple[SymbolRef, ...], path: frozenset[SymbolRef]) -> tuple[list[_Branch], str, int]:
        found, cut, more = self._edges_for(places)
        if len(found) > self._room - self.total:
            shown = found[: self._room - self.total]
            found, cut, more = shown, "nodes", more + len(found) - len(shown)
        self.total += len(found)
        return [_Branch(it, path | {it.near_end}) for it in found], cut, more

    def _edges_for(self, places: tuple[SymbolRef, ...]) -> tuple[list[FoundEdge], str, int]:
        """Return at most `width` edges, the reason for a cut, and the number of further edges counted."""
        if places not in self._known:
            unresolved = None if self._known else self.unresolved  # for the root definitions only
            found = list(islice(self._look(places, unresolved), self._width + max(self._counted, 1)))
            if not self._known:
                self.references = list(self._edges.references)
                self._edges.stop_following()  # deeper levels use names and types alone, because there are many
            cut = "width" if len(found) > self._width else self._incomplete_reason()
            self._known[places] = (found[: self._width], cut, len(found[self._width :]))
        return self._known[places]

    def _incomplete_reason(self) -> str:
        return "time" if self._edges.hit_deadline else "sites" if self._edges.hit_site_limit else ""

    def _mark_end(self, branch: _Branch) -> None:
        """Mark a leaf as cut: nothing beyond the last level is looked up."""
        if branch.found_edge.far_end is not None and not branch.cut:
            branch.cut = "cycle" if branch.found_edge.far_end in branch.path else "depth"


def _mark_unknown_receiver(edge: CallEdge) -> CallEdge:
    return replace(edge, how=UNKNOWN_RECEIVER) if edge.how == NOT_KNOWN else edge


def _freeze(branch: _Branch) -> CallNode:
    return CallNode(branch.found_edge.edge, tuple(map(_freeze, branch.branches)), branch.cut, branch.more)


# --------------------------------------------------------------------------------------------------
# Impact of a change: the definitions whose lines it touches, and their callers.

LineSpans = Sequence[tuple[int, int]]
"""First and last lines, counted from 1."""


@dataclass(frozen=True, slots=True)
class TouchedDefinition:
    definition: Definition
    callers: CallTree


@dataclass(frozen=True, slots=True)
class Impact:
    """The definitions touched by a change.

    `files_without_definitions` are changed files in which no definition is touched, `files_not_indexed` those not in
    the index.
    """

    touched: tuple[TouchedDefinition, ...]
    files_without_definitions: tuple[str, ...]
    files_not_indexed: tuple[str, ...]
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN


def impact(
    context: ResolverContext, changes: Mapping[str, LineSpans], query: CallQuery, collection: str | None = None
) -> Impact:
    """Find the touched definitions and their callers; the query's name and place are ignored."""
    touched: list[TouchedDefinition] = []
    without_definitions, not_indexed = [], []
    for path, spans in sorted(changes.items()):
        outline = _outline(context, path, collection)
        if outline is None:
            not_indexed.append(path)
            continue
        found = touched_definitions(outline, spans)
        touched += [_with_callers(context, outline, it, query) for it in found]
        if not found:
            without_definitions.append(path)
    return Impact(tuple(touched), tuple(without_definitions), tuple(not_indexed))


def _outline(context: ResolverContext, path: str, collection: str | None) -> FileOutline | None:
    files = context.facts.files_named(path.rpartition("/")[2])
    matching = [it for it in files if it.path == path and collection in (None, it.collection)]
    return context.facts.outline(matching[0].key) if matching else None


def touched_definitions(outline: FileOutline, spans: LineSpans) -> list[int]:
    """Return the innermost callable definitions around the changed lines, in order."""
    owners = _owners(outline)
    lines = {line for start, end in spans for line in range(max(start, 1), min(end, outline.last_line) + 1)}
    return sorted({owners[line] for line in lines if line in owners})


def _owners(outline: FileOutline) -> dict[int, int]:
    """Map each line to the innermost definition around it; inner ones come later and overwrite outer ones."""
    owners: dict[int, int] = {}
    for ordinal, it in enumerate(outline.symbols):
        if it.kind in CALLABLE_KINDS:
            owners.update(dict.fromkeys(range(it.start_line, it.end_line + 1), ordinal))
    return owners


def _with_callers(context: ResolverContext, outline: FileOutline, ordinal: int, query: CallQuery) -> TouchedDefinition:
    definition = outline.definition(ordinal)
    roots = CallRoots(RootFinder(context).with_constructors([SymbolRef(outline.key, ordinal)]), ())
    return TouchedDefinition(
        definition, call_tree(context, replace(query, name=definition.symbol.name, direction="up"), roots)
    )


# --------------------------------------------------------------------------------------------------
# Resolution of imports to files and back, for languages in which modules are files.


_MAX_IMPORT_LEVELS = 6
_INIT_STEM = "__init__"


def record_key_of(context: ResolverContext, record: Record) -> int | None:
    files = context.facts.files_named(record.path.rpartition("/")[2])
    return next((it.key for it in files if (it.collection, it.path) == (record.collection, record.path)), None)


def resolve_import(context: ResolverContext, record: Record, link: Link) -> Record | None:
    """Return the file that an import of this record refers to."""
    home = record_key_of(context, record)
    if home is None or rules_for(record.path).modules == "namespace":
        return None
    file = _resolve_submodule(context, home, link) or context.modules.module(link.target, home).file
    return None if file is None else context.facts.outline(file).record


def _resolve_submodule(context: ResolverContext, home: int, link: Link) -> int | None:
    """Resolve `from package import module` to the module."""
    member = link.context.partition("=")[2]
    if not member or context.facts.outline(home).rules.modules != "python":
        return None
    joint = "" if link.target.endswith(".") else "."
    return context.modules.module(f"{link.target}{joint}{member}", home).file


def import_spellings(path: str) -> list[str]:
    """Return the ways an import of this file may be spelled; some mean other files, so each must be resolved."""
    modules = rules_for(path).modules
    if modules == "namespace":
        return []
    stem = path.rpartition(".")[0]
    if posixpath.basename(stem) in (_INIT_STEM, "index"):
        stem = posixpath.dirname(stem)
    found = _python_spellings(stem) if modules == "python" else _script_spellings(path, stem)
    return list(dict.fromkeys(found))


def _python_spellings(stem: str) -> Iterator[str]:
    """Yield the spellings of a Python module, also as a member of its package."""
    parts = stem.split("/")
    for wanted in (parts, parts[:-1]):
        for start in range(len(wanted)):
            dotted = ".".join(wanted[start:])
            yield dotted
            yield from (f"{'.' * dots}{dotted}" for dots in range(1, _MAX_IMPORT_LEVELS))
    yield from ("." * dots for dots in range(1, _MAX_IMPORT_LEVELS))


def _script_spellings(path: str, stem: str) -> Iterator[str]:
    for whole in (path, stem):
        parts = whole.split("/")
        for start in range(len(parts)):
            ending = "/".join(parts[start:])
            yield from (f"./{ending}", ending, f"@/{ending}", f"~/{ending}")
            yield from (f"{'../' * up}{ending}" for up in range(1, _MAX_IMPORT_LEVELS))


class CallGraph:
    """Call graph queries over one store. Outlines are cached between queries; safe for use by several threads."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self._outlines = OutlineCache()

    def calls(self, query: CallQuery) -> CallTree:
        with self._context() as context:
            return call_tree(context, query)

    def calls_of(self, definition: Definition, query: CallQuery) -> CallTree:
        """Return the call tree of exactly this definition; empty if the file no longer has it."""
        with self._context() as context:
            key = record_key_of(context, definition.record)
            is_there = key is not None and _is_unchanged_definition(context.facts.outline(key), definition)
            places = [SymbolRef(key, definition.ordinal)] if key is not None and is_there else []
            return call_tree(context, query, CallRoots(RootFinder(context).with_constructors(places), ()))

    def implementers(self, name: str, collections: Sequence[str] = ()) -> list[Definition]:
        """Return the types that implement an interface of this name structurally, ordered by path."""
        with self._context() as context:
            return structural_implementers(context, name, collections)

    def resolve_import(self, record: Record, link: Link) -> Record | None:
        """Return the indexed file that an import of the record refers to."""
        with self._context() as context:
            return resolve_import(context, record, link)

    def importers(self, record: Record) -> list[tuple[Record, Link]]:
        """Return the files that import this one, each with the first import that does."""
        found: dict[tuple[str, str], tuple[Record, Link]] = {}
        with self._context() as context:
            for home, link in self._view.links_to(import_spellings(record.path), (IMPORT_LINK,)):
                place = (home.collection, home.path)
                if place not in found and resolve_import(context, home, link) == record:
                    found[place] = (home, link)
        return list(found.values())

    def impact(self, changes: Mapping[str, LineSpans], query: CallQuery, collection: str | None = None) -> Impact:
        with self._context() as context:
            return impact(context, changes, query, collection)

    @contextmanager
    def _context(self) -> Iterator[ResolverContext]:
        """Provide the cached resolver for the index revision that is read inside the block."""
        with self._view.snapshot():
            yield self._view.cached_by_revision("call graph", lambda: ResolverContext(self._view, self._outlines))


def _is_unchanged_definition(outline: FileOutline, definition: Definition) -> bool:
    """Return whether the file still has this definition: it may have been reindexed since the lookup."""
    return outline.symbols[definition.ordinal : definition.ordinal + 1] == (definition.symbol,)
