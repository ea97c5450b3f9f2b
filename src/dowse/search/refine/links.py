"""The link graph of an index: which records link to which, computed once for each state of the index."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dowse.model import Record
from dowse.store.base import Catalog
from dowse.text.resolving import Entries, meanings
from dowse.text.targets import DOCUMENT_LINKS


class Node(NamedTuple):
    """A record's identity."""

    collection: str
    path: str


class End(NamedTuple):
    """One end of a link, as seen from the other."""

    kind: str
    node: Node


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Resolved links, each once: by the record they leave from and by the one they lead to."""

    records: Mapping[Node, Record]
    outgoing: Mapping[Node, Sequence[End]]
    incoming: Mapping[Node, Sequence[End]]

    def neighbours(self, node: Node, kinds: Collection[str]) -> Iterator[Node]:
        """What the record links to, then what links to it; a record may come more than once."""
        for ends in (self.outgoing, self.incoming):
            yield from (end.node for end in ends.get(node, ()) if end.kind in kinds)

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        return ((node, end.node) for node, ends in self.outgoing.items() for end in ends)


def node_of(record: Record) -> Node:
    return Node(record.collection, record.path)


def graph_of(catalog: Catalog) -> LinkGraph:
    """The graph of the index as it is now; all searches share it until a record changes."""
    return catalog.remembered("link graph", lambda: link_graph(catalog.linked(DOCUMENT_LINKS)))


def link_graph(entries: Entries) -> LinkGraph:
    """Links resolved within their own collection; ghosts and links to oneself are left out."""
    records = {node_of(record): record for record, _ in entries}
    nodes = {node: node for node in records}  # one object for each, however many links lead there
    outgoing: dict[Node, list[End]] = defaultdict(list)
    incoming: dict[Node, list[End]] = defaultdict(list)
    for source, kind, target in _edges(entries):
        outgoing[nodes[source]].append(End(kind, nodes[target]))
        incoming[nodes[target]].append(End(kind, nodes[source]))
    return LinkGraph(records, dict(outgoing), dict(incoming))


def _edges(entries: Entries) -> Iterator[tuple[Node, str, Node]]:
    """Each once, however often a record says so."""
    meant = meanings(entries)
    for entry in entries:
        source = node_of(entry[0])
        for kind, path in dict.fromkeys((it.link.kind, it.path) for it in meant.resolved([entry])):
            yield source, kind, Node(source.collection, path)
