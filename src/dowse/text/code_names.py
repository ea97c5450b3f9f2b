"""Names of definitions: qualified names, scopes and chains."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from dowse.model import FacetFilter, Link, Record, Scope, Symbol
from dowse.text.globs import compile_globs
from dowse.text.tokenize import camel_parts

_DEFINITION_KEYWORD = re.compile(
    r"\b(?:def|class|function\*?|interface|type|const|let|var|struct|enum|fn|func|trait|module|record|object)"
    r"\s+([A-Za-z_$][\w$]*)"
)
_PIECES = re.compile(r"[^\W_]+")


@lru_cache(maxsize=4_000)  # the same passages are candidates of many searches
def defined_names(text: str) -> tuple[str, ...]:
    """Return the defined names without duplicates, in order."""
    return tuple(dict.fromkeys(_DEFINITION_KEYWORD.findall(text)))


@lru_cache(maxsize=50_000)
def split_name_parts(name: str) -> tuple[str, ...]:
    """Split a name into lower-case parts: `HTTPServer_v2` → http, server, v, 2."""
    return tuple(part.lower() for piece in _PIECES.findall(name) for part in (camel_parts(piece) or [piece]))


def share_stem(one: str, other: str) -> bool:
    """Return whether two lower-case words differ only in their endings, such as `render` and `rendering`."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _STEM_CHARS:
        return shorter.rstrip("s") == longer.rstrip("s")
    shared = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return shared >= max(_STEM_CHARS, _STEM_SHARE * len(longer))


_STEM_CHARS = 4
_STEM_SHARE = 0.65


# --------------------------------------------------------------------------------------------------
# Scope checks for single records, where no database filters.

_SCOPE_NS_PER_SECOND = 1_000_000_000


class ScopePredicate(Protocol):
    def __call__(self, record: Record, links: Sequence[Link] = (), /) -> bool: ...


def scope_predicate(scope: Scope) -> ScopePredicate:
    """Return a predicate for the records of the scope. If the scope has link filters, pass the record's links too."""
    matches_paths, matches_excluded = compile_globs(scope.paths), compile_globs(scope.excluded)
    tags = {tag.lower() for tag in scope.tags}
    targets = [(it.kind, compile_globs((it.glob,))) for it in scope.links]

    facets = [[it for it in scope.facets if it.name == name] for name in {it.name for it in scope.facets}]
    outer = [scope_predicate(it) for it in scope.within]

    def is_linked(links: Sequence[Link]) -> bool:
        return any(matches(it.target) for it in links for kind, matches in targets if not kind or kind == it.kind)

    def is_inside(record: Record, links: Sequence[Link] = (), /) -> bool:
        return (
            (not scope.collections or record.collection in scope.collections)
            and (not scope.kinds or record.kind in scope.kinds)
            and (not scope.paths or any(map(matches_paths, scope.path_spellings(record.collection, record.path))))
            and not (
                scope.excluded and any(map(matches_excluded, scope.path_spellings(record.collection, record.path)))
            )
            and (not tags or not tags.isdisjoint(record.tags))
            and (scope.since is None or record.timestamp_ns >= int(scope.since * _SCOPE_NS_PER_SECOND))
            and (scope.until is None or record.timestamp_ns <= int(scope.until * _SCOPE_NS_PER_SECOND))
            and all(any(_has_facet(record, it) for it in wanted) for wanted in facets)
            and (not targets or is_linked(links))
            and all(is_in_outer(record, links) for is_in_outer in outer)
        )

    return is_inside


def _has_facet(record: Record, facet: FacetFilter) -> bool:
    value, wanted = record.facets.get(facet.name), facet.value.casefold()
    return value is not None and (value.casefold() == wanted if facet.exact else wanted in value.casefold())


# --------------------------------------------------------------------------------------------------
# Qualified names of the definitions of a file, and the shorter names that commits may use for them.
#
# A commit knows only what its hunks show: `Shape.area` near the line of the class, `area` far from it.

QualifiedName = tuple[str, ...]
"""A qualified name: the enclosing names, then the symbol's name."""

_QUALIFIED_NAME_SEPARATOR = re.compile(r"\.|::|->")


@dataclass(frozen=True, slots=True)
class CommitNames:
    """The names that commits may use for a definition and its members.

    `qualified` names are fully qualified, `unambiguous` names are unambiguous in the file, `ambiguous` names are not.
    """

    qualified: tuple[str, ...] = ()
    unambiguous: tuple[str, ...] = ()
    ambiguous: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QualifiedNames:
    """The qualified names of all symbols of a record, indexed like `symbols`."""

    symbols: Sequence[Symbol]
    all: Sequence[QualifiedName]
    by_name: Mapping[str, Sequence[int]]
    members: Mapping[int, Sequence[int]]
    by_spelling: Mapping[str, frozenset[QualifiedName]]

    @classmethod
    def of(cls, symbols: Sequence[Symbol]) -> QualifiedNames:
        chains: list[QualifiedName] = []
        by_name: defaultdict[str, list[int]] = defaultdict(list)
        members: defaultdict[int, list[int]] = defaultdict(list)
        spelt_so: defaultdict[str, set[QualifiedName]] = defaultdict(set)
        for at, symbol in enumerate(symbols):
            qualifier: QualifiedName = ()
            # A parent precedes its members; ignore any other index.
            if symbol.parent is not None and 0 <= symbol.parent < at:
                qualifier = chains[symbol.parent]
                members[symbol.parent].append(at)
            chains.append((*qualifier, symbol.name))
            by_name[symbol.name].append(at)
            for spelling in name_spellings(chains[at]):
                spelt_so[spelling].add(chains[at])
        return cls(symbols, chains, by_name, members, {it: frozenset(found) for it, found in spelt_so.items()})

    def find_by_suffix(self, name: str) -> list[int]:
        """Return the symbols with this name, or whose qualified name ends with it."""
        if literal := self.by_name.get(name):  # a heading may contain a dot
            return list(literal)
        parts = split_qualified_name(name)
        ending = self.by_name.get(parts[-1], ()) if parts else ()
        return [it for it in ending if self.all[it][-len(parts) :] == parts]

    def find_exact(self, chain: QualifiedName) -> list[int]:
        """Return the symbols with exactly this qualified name; there may be several definitions."""
        return [it for it in self.by_name.get(chain[-1], ()) if self.all[it] == chain]

    def commit_names(self, own: Iterable[int]) -> CommitNames:
        members = {self.all[it]: None for it in self._with_members(own)}
        all_spellings = dict.fromkeys(it for chain in members for it in name_spellings(chain))
        unambiguous = [it for it in all_spellings if members.keys() >= self.by_spelling[it]]
        known = set(unambiguous)
        return CommitNames(
            tuple(map(".".join, members)), tuple(unambiguous), tuple(it for it in all_spellings if it not in known)
        )

    def removed_commit_names(self, name: str) -> CommitNames:
        """Return the names of a removed definition. A name that now means something else may have meant it before."""
        all_spellings = name_spellings(split_qualified_name(name))
        known = [it for it in all_spellings if it in self.by_spelling]
        return CommitNames(tuple(all_spellings[:1]), tuple(it for it in all_spellings if it not in known), tuple(known))

    def _with_members(self, indexes: Iterable[int]) -> list[int]:
        found = list(indexes)
        for ordinal in found:  # the list grows during the loop
            found += self.members.get(ordinal, ())
        return found


def split_qualified_name(name: str) -> QualifiedName:
    """Split a qualified name into its parts."""
    return tuple(it for it in _QUALIFIED_NAME_SEPARATOR.split(name) if it)


def name_spellings(chain: QualifiedName) -> list[str]:
    """Return the name fully qualified, with one qualifier, and without any."""
    return list(dict.fromkeys(".".join(chain[-count:]) for count in (len(chain), 2, 1) if chain))


# --------------------------------------------------------------------------------------------------
# Strongly connected components of a graph (Tarjan's algorithm), in one pass over the reachable nodes.

GraphNode = TypeVar("GraphNode", bound=Hashable)


def strongly_connected_components(
    starts: Iterable[GraphNode], onward: Callable[[GraphNode], Iterable[GraphNode]]
) -> Iterator[list[GraphNode]]:
    """Yield the strongly connected components reachable from the starts, each after those it leads to.

    A node outside of any cycle is its own component. The search is iterative, so chains may be of any length.
    """
    walk = _TarjanState(onward)
    for start in starts:
        if start not in walk.number:
            yield from walk.components_from(start)


@dataclass(slots=True)
class _TarjanState(Generic[GraphNode]):
    """The state of Tarjan's algorithm.

    `number` is the order of discovery. `lowest` is the earliest node on the stack (`waiting`) that each node leads back
    to.
    """

    successors: Callable[[GraphNode], Iterable[GraphNode]]
    number: dict[GraphNode, int] = field(default_factory=dict)
    lowest: dict[GraphNode, int] = field(default_factory=dict)
    waiting: dict[GraphNode, None] = field(default_factory=dict)

    def components_from(self, start: GraphNode) -> Iterator[list[GraphNode]]:
        path = [(start, self._visit(start))]
        while path:
            node, others = path[-1]
            new = self._next_unvisited(node, others)
            if new is not None:
                path.append((new, self._visit(new)))
                continue
            path.pop()
            if path:
                self._lower(path[-1][0], self.lowest[node])
            if self.lowest[node] == self.number[node]:
                yield self._pop_component(node)

    def _visit(self, node: GraphNode) -> Iterator[GraphNode]:
        self.number[node] = self.lowest[node] = len(self.number)
        self.waiting[node] = None
        return iter(self.successors(node))

    def _next_unvisited(self, node: GraphNode, others: Iterator[GraphNode]) -> GraphNode | None:
        for other in others:
            if other not in self.number:
                return other
            if other in self.waiting:
                self._lower(node, self.number[other])
        return None

    def _lower(self, node: GraphNode, number: int) -> None:
        self.lowest[node] = min(self.lowest[node], number)

    def _pop_component(self, first: GraphNode) -> list[GraphNode]:
        """Pop the component whose first node this is."""
        circle: list[GraphNode] = []
        while first in self.waiting:
            circle.append(self.waiting.popitem()[0])
        return circle
