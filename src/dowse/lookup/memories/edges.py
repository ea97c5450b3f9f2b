"""How memories refer to each other by one kind of link: from each to others, and back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dowse.lookup.memories.names import Names, named
from dowse.model import Link, Record, Scope
from dowse.store.base import Store
from dowse.text.scopes import inside

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Edge:
    """A memory that refers to another by name; there may be none of that name."""

    source: Record
    link: Link
    name: str
    target: Record | None


@dataclass(frozen=True, slots=True)
class Edges:
    """The references of one kind among the memories of a scope."""

    names: Names
    outgoing: Mapping[Key, Sequence[Edge]]
    incoming: Mapping[Key, Sequence[Edge]]

    def of(self, record: Record) -> Sequence[Edge]:
        return self.outgoing.get(key(record), ())

    def to(self, record: Record) -> Sequence[Edge]:
        return self.incoming.get(key(record), ())


def key(record: Record) -> Key:
    return record.collection, record.path


def edges(store: Store, scope: Scope, kind: str) -> Edges:
    """Every reference once, in the order the memories and their lines have; none of a memory to itself."""
    is_inside = inside(scope)
    names = Names.of(store.select(scope))
    outgoing: dict[Key, list[Edge]] = defaultdict(list)
    incoming: dict[Key, list[Edge]] = defaultdict(list)
    for record, links in store.linked((kind,)):
        if is_inside(record, links):
            for edge in _of_record(record, links, names):
                outgoing[key(record)].append(edge)
                if edge.target is not None:
                    incoming[key(edge.target)].append(edge)
    return Edges(names, outgoing, incoming)


def _of_record(record: Record, links: Sequence[Link], names: Names) -> list[Edge]:
    found: dict[object, Edge] = {}
    for link in links:
        if name := named(link.target):
            target = names.find(name)
            if target is None or key(target) != key(record):
                found.setdefault(name if target is None else key(target), Edge(record, link, name, target))
    return list(found.values())
