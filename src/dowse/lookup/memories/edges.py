"""How memories refer to each other by one kind of link: from each to others, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.lookup.memories.known import known_names
from dowse.lookup.memories.names import Names, named
from dowse.model import Link, Record, Scope
from dowse.store.base import Store
from dowse.text.circles import circles

Key = tuple[str, str]

SUPERSEDES: Final = "supersedes"
DEPENDS_ON: Final = "depends_on"
CONTRADICTS: Final = "contradicts"
# Written from the other end, it means the same.
_REVERSED: Final = {SUPERSEDES: "superseded_by"}


class End(NamedTuple):
    """A memory at one end of a reference; there may be none of that name."""

    name: str
    record: Record | None

    @property
    def key(self) -> Key:
        return key(self.record) if self.record else ("", self.name)


@dataclass(frozen=True, slots=True)
class Edge:
    """`told` is the memory that says so, at one of the ends, and `link` where it does."""

    source: End
    target: End
    told: Record
    link: Link


@dataclass(frozen=True, slots=True)
class Edges:
    """The references of one kind among the memories of a scope; `circles` numbers each end by the circle it lies in,
    be it that of itself alone."""

    outgoing: Mapping[Key, Sequence[Edge]]
    incoming: Mapping[Key, Sequence[Edge]]
    circles: Mapping[Key, int]

    def of(self, end: Key) -> Sequence[Edge]:
        return self.outgoing.get(end, ())

    def to(self, end: Key) -> Sequence[Edge]:
        return self.incoming.get(end, ())

    def in_a_circle(self, edge: Edge) -> bool:
        """Whether references lead back from its end to where it begins."""
        return self.circles[edge.source.key] == self.circles[edge.target.key]


def key(record: Record) -> Key:
    return record.collection, record.path


def edges(store: Store, scope: Scope, kind: str) -> Edges:
    """Every reference once, in the order the memories and their lines have; none of a memory to itself."""
    return store.remembered(f"{kind} among memories {scope}", lambda: _edges(store, scope, kind))


def _edges(store: Store, scope: Scope, kind: str) -> Edges:
    found: dict[tuple[Key, Key], Edge] = {}
    for edge in _told(store, scope, kind):
        if edge.source.key != edge.target.key:
            found.setdefault((edge.source.key, edge.target.key), edge)
    outgoing: dict[Key, list[Edge]] = defaultdict(list)
    incoming: dict[Key, list[Edge]] = defaultdict(list)
    for edge in found.values():
        outgoing[edge.source.key].append(edge)
        incoming[edge.target.key].append(edge)
    return edges_of(outgoing, incoming)


def edges_of(outgoing: Mapping[Key, Sequence[Edge]], incoming: Mapping[Key, Sequence[Edge]]) -> Edges:
    found = circles([*outgoing, *incoming], lambda end: [it.target.key for it in outgoing.get(end, ())])
    return Edges(outgoing, incoming, {end: number for number, circle in enumerate(found) for end in circle})


def _told(store: Store, scope: Scope, kind: str) -> Iterator[Edge]:
    names = known_names(store, scope)
    kinds = (kind, _REVERSED[kind]) if kind in _REVERSED else (kind,)
    for record, links in store.linked(kinds, scope):
        for link in links:
            if name := named(link.target):
                here, there = End(record.path, record), _end(name, names)
                yield Edge(here, there, record, link) if link.kind == kind else Edge(there, here, record, link)


def _end(name: str, names: Names) -> End:
    record = names.find(name)
    return End(record.path if record else name, record)
