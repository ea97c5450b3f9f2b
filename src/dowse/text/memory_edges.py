"""How memories refer to each other by one kind of link: from each to others, and back.

Rankings, versions and warnings all start here, so that no two of them read a reference differently. `memory:` and a
name mean a memory of the same collection: by what its file is called, else as documents link to each other. Where none
is meant, the name is an end like any other, without a record. A link without `memory:` is read as documents' links are,
and is no reference where it means no memory: it may well be to code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dowse.model import Link, Record
from dowse.text.circles import circles
from dowse.text.memory_names import Names, named
from dowse.text.resolving import Entries
from dowse.text.targets import Targets, targets

Key = tuple[str, str]

SUPERSEDES: Final = "supersedes"
DEPENDS_ON: Final = "depends_on"
CONTRADICTS: Final = "contradicts"
# Written from the other end, it means the same.
_REVERSED: Final = {SUPERSEDES: "superseded_by"}


class End(NamedTuple):
    """A memory at one end of a reference; there may be none of that name."""

    collection: str
    name: str
    record: Record | None

    @property
    def key(self) -> Key:
        return self.collection, self.name


@dataclass(frozen=True, slots=True)
class Edge:
    """`told` is the memory that says so, at one of the ends, and `link` where it does."""

    source: End
    target: End
    told: Record
    link: Link


@dataclass(frozen=True, slots=True)
class Edges:
    """The references of one kind; `circles` numbers each end by the circle it lies in, be it that of itself alone."""

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


def saying(kind: str) -> tuple[str, ...]:
    """The kinds of links that tell of this kind of reference, from whichever end."""
    return (kind, _REVERSED[kind]) if kind in _REVERSED else (kind,)


def edges_among(entries: Entries, kind: str) -> Edges:
    """Every reference once, in the order the memories and their links have; none of a memory to itself.

    The entries are all memories of their collections: what is not among them is not there.
    """
    found: dict[tuple[Key, Key], Edge] = {}
    for edge in _told(entries, kind):
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


class Known(NamedTuple):
    """The memories of one collection by what they may be called."""

    names: Names
    targets: Targets

    @classmethod
    def of(cls, records: Sequence[Record]) -> Known:
        return cls(Names.of(records), targets(records))

    def find(self, target: str, source: str = "") -> Record | None:
        """The memory that is meant by a target that stands in the memory `source`."""
        name = named(target)
        path = self.targets.resolve(name or target, source)
        return (self.names.find(name) if name else None) or (self.names.exact[path] if path else None)

    def called(self, name: str) -> Record | None:
        """The memory that somebody calls so, with or without `memory:`."""
        bare = named(name) or name.strip()
        return self.names.find(bare) or self.find(bare)

    def beside(self, target: str, source: str) -> Record | None:
        """The memory that is meant by a path from where it stands, whatever others are called."""
        path = self.targets.place(target, source)
        return self.names.exact[path] if path else None

    def end(self, told: Record, target: str) -> End | None:
        """What is meant by a link of this memory; None where it is not to a memory."""
        record, name = self.find(target, told.path), named(target)
        if record is not None:
            return End(told.collection, record.path, record)
        return End(told.collection, name, None) if name else None


def _told(entries: Entries, kind: str) -> Iterator[Edge]:
    known = _known(entries)
    for record, links in entries:
        here = End(record.collection, record.path, record)
        for link in links:
            there = known[record.collection].end(record, link.target)
            if there is not None:
                yield Edge(here, there, record, link) if link.kind == kind else Edge(there, here, record, link)


def _known(entries: Entries) -> dict[str, Known]:
    by_collection: defaultdict[str, list[Record]] = defaultdict(list)
    for record, _ in entries:
        by_collection[record.collection].append(record)
    return {name: Known.of(records) for name, records in by_collection.items()}
