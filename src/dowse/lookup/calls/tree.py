"""Trees of callers, or of what is called, grown level by level so that a limit cuts the far ends first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from dowse.errors import BadInput
from dowse.lookup.calls.edges import Edges, Found, Rules
from dowse.lookup.calls.question import MAX_DEPTH, CallQuery, CallTree, Edge, Node
from dowse.lookup.calls.resolve import UNKNOWN_RECEIVER as NOT_KNOWN
from dowse.lookup.calls.roots import Asked, Roots
from dowse.lookup.calls.world import World
from dowse.model import Record
from dowse.store.call_facts import Place
from dowse.text.scopes import inside

UNKNOWN_RECEIVER = "receiver unknown"
MOST_POSSIBLE = 5
"""So many calls on something unknown are shown where no others are known."""

_ROOM = 10**9  # what no limit means


@dataclass(slots=True)
class _Branch:
    """A node while the tree grows. `path` are the definitions from the root to it."""

    found: Found
    path: frozenset[Place]
    branches: list[_Branch] = field(default_factory=list)
    cut: str = ""
    more: int = 0


def call_tree(world: World, query: CallQuery, asked: Asked | None = None) -> CallTree:
    """`asked` are the definitions it is about, where they are known better than by name."""
    query = checked(query, is_named=asked is None)
    edges = Edges(world, rules_of(query))
    asked = asked or Roots(world).of(query)
    grown = _Growth(edges, query)
    branches, cut, more = grown.grow(asked.places)
    possible = [] if branches or query.direction == "down" else list(map(_unknown, grown.unresolved))
    return CallTree(
        query,
        tuple(world.catalogue.outline(it.record).definition(it.ordinal) for it in asked.places),
        tuple(map(_node, branches)),
        asked.owners,
        tuple(islice(grown.unresolved, query.nodes or None)),
        grown.visited,
        grown.total,
        bool(cut) or grown.was_cut,
        cut,
        more=more,
        references=tuple(islice(grown.references, query.nodes or None)),
        possible=tuple(possible[:MOST_POSSIBLE]),
        more_possible=max(len(possible) - MOST_POSSIBLE, 0),
        external=tuple(edges.external()),
    )


def checked(query: CallQuery, *, is_named: bool = True) -> CallQuery:
    """The query with a depth that can be answered; `is_named`: what it is about is known by its name alone."""
    if is_named and not query.name.strip() and query.at is None:
        raise BadInput("name what is called, or the place it is defined at")
    if query.depth < 1:
        raise BadInput(f"a depth of {query.depth} shows nothing; ask for 1 to {MAX_DEPTH}")
    if query.width < 0 or query.nodes < 0:
        raise BadInput("width and nodes are numbers from 1, or 0 for no limit")
    if query.direction not in ("up", "down"):
        raise BadInput(f"{query.direction!r} is no direction; ask for up (callers) or down (callees)")
    if query.confidence not in ("exact", "virtual", "possible"):
        raise BadInput(f"{query.confidence!r} is no confidence; ask for exact, virtual or possible")
    return replace(query, depth=min(query.depth, MAX_DEPTH))


def rules_of(query: CallQuery) -> Rules:
    in_scope, wanted = inside(query.scope), query.wanted

    def is_wanted(record: Record) -> bool:
        return in_scope(record) and (wanted is None or wanted(record.path))

    end = time.monotonic() + query.deadline_s

    def is_over() -> bool:
        return time.monotonic() > end

    return Rules(query.confidence, query.through_interfaces, is_wanted, is_over, query.with_references)


class _Growth:
    def __init__(self, edges: Edges, query: CallQuery) -> None:
        self._edges = edges
        self._look = edges.to if query.direction == "up" else edges.of
        self._depth = query.depth
        self._width = query.width or _ROOM
        self._room = query.nodes or _ROOM
        self._counted = query.counted
        self._known: dict[tuple[Place, ...], tuple[list[Found], str, int]] = {}
        self.unresolved: list[Edge] = []
        self.references: list[Edge] = []  # of what was asked about
        self.total = 0
        self.was_cut = False

    @property
    def visited(self) -> int:
        return len(self._known)

    def grow(self, roots: Sequence[Place]) -> tuple[list[_Branch], str, int]:
        first, cut, more = self._branches(tuple(roots), frozenset()) if roots else ([], "", 0)
        level = first
        for _ in range(self._depth - 1):
            level = [branch for it in level for branch in self._grown(it)]
        for it in level:
            self._mark_end(it)
        return first, cut, more

    def _grown(self, branch: _Branch) -> list[_Branch]:
        place = branch.found.place
        if place is None:
            return []
        if place in branch.path:
            branch.cut = "cycle"
            return []
        branch.branches, branch.cut, branch.more = self._branches((place,), branch.path)
        self.was_cut |= bool(branch.cut)
        return branch.branches

    def _branches(self, places: tuple[Place, ...], path: frozenset[Place]) -> tuple[list[_Branch], str, int]:
        found, cut, more = self._found(places)
        if len(found) > self._room - self.total:
            shown = found[: self._room - self.total]
            found, cut, more = shown, "nodes", more + len(found) - len(shown)
        self.total += len(found)
        return [_Branch(it, path | {it.near}) for it in found], cut, more

    def _found(self, places: tuple[Place, ...]) -> tuple[list[Found], str, int]:
        """At most so many as may be shown, and how many more were counted: what is beyond is not even looked for."""
        if places not in self._known:
            unresolved = None if self._known else self.unresolved  # only of what was asked about
            found = list(islice(self._look(places, unresolved), self._width + max(self._counted, 1)))
            if not self._known:
                self.references = list(self._edges.references)
                self._edges.stop_following()  # further levels are told by names and types alone, for there are many
            cut = "width" if len(found) > self._width else self._unseen()
            self._known[places] = (found[: self._width], cut, len(found[self._width :]))
        return self._known[places]

    def _unseen(self) -> str:
        return "time" if self._edges.was_late else "sites" if self._edges.ran_out else ""

    def _mark_end(self, branch: _Branch) -> None:
        """What is beyond the last level is not looked for."""
        if branch.found.place is not None and not branch.cut:
            branch.cut = "cycle" if branch.found.place in branch.path else "depth"


def _unknown(edge: Edge) -> Edge:
    return replace(edge, how=UNKNOWN_RECEIVER) if edge.how == NOT_KNOWN else edge


def _node(branch: _Branch) -> Node:
    return Node(branch.found.edge, tuple(map(_node, branch.branches)), branch.cut, branch.more)
