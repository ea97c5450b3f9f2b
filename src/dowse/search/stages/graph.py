"""Boost hits by links: neighbours and communities."""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from dowse.model import Hit, Record
from dowse.search.run import SearchRun
from dowse.search.stages.base import in_scope, load_first_passage, multiply_score, rescore, scale_score, sort_by_score
from dowse.store.view import StoreView
from dowse.text.references import DOCUMENT_LINKS, LinkedRecords, build_link_resolver

# --------------------------------------------------------------------------------------------------
# The link graph of an index, computed once per index revision.


class RecordNode(NamedTuple):
    """The identity of a record."""

    collection: str
    path: str


class LinkEnd(NamedTuple):
    """One end of a link: its kind and the record at the other end."""

    kind: str
    node: RecordNode


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Resolved links without duplicates, indexed by source and by target."""

    records: Mapping[RecordNode, Record]
    outgoing: Mapping[RecordNode, Sequence[LinkEnd]]
    incoming: Mapping[RecordNode, Sequence[LinkEnd]]

    def neighbours(self, node: RecordNode, kinds: Collection[str]) -> Iterator[RecordNode]:
        """Yield the link targets of a record, then the records that link to it; records may repeat."""
        for ends in (self.outgoing, self.incoming):
            yield from (end.node for end in ends.get(node, ()) if end.kind in kinds)

    def pairs(self) -> Iterator[tuple[RecordNode, RecordNode]]:
        return ((node, end.node) for node, ends in self.outgoing.items() for end in ends)


def record_node(record: Record) -> RecordNode:
    return RecordNode(record.collection, record.path)


def get_link_graph(view: StoreView) -> LinkGraph:
    """Return the graph of the current index, cached until a record changes."""
    return view.cached_by_revision("link graph", lambda: build_link_graph(view.records_with_links(DOCUMENT_LINKS)))


def build_link_graph(entries: LinkedRecords) -> LinkGraph:
    """Resolve links within each collection. Links without a target and links to the same record are left out."""
    records = {record_node(record): record for record, _ in entries}
    nodes = {node: node for node in records}  # intern nodes: many links share a target
    outgoing: dict[RecordNode, list[LinkEnd]] = defaultdict(list)
    incoming: dict[RecordNode, list[LinkEnd]] = defaultdict(list)
    for source, kind, target in _resolved_edges(entries):
        outgoing[nodes[source]].append(LinkEnd(kind, nodes[target]))
        incoming[nodes[target]].append(LinkEnd(kind, nodes[source]))
    return LinkGraph(records, dict(outgoing), dict(incoming))


def _resolved_edges(entries: LinkedRecords) -> Iterator[tuple[RecordNode, str, RecordNode]]:
    """Yield each edge once, even if a record repeats the link."""
    meant = build_link_resolver(entries)
    for entry in entries:
        source = record_node(entry[0])
        for kind, path in dict.fromkeys((it.link.kind, it.path) for it in meant.resolve_all([entry])):
            yield source, kind, RecordNode(source.collection, path)


# --------------------------------------------------------------------------------------------------
# Community detection in a graph by the Louvain method.

CommunityNode = TypeVar("CommunityNode", bound=tuple[str, ...])


@dataclass(frozen=True, slots=True)
class _LouvainLevel:
    """A weighted undirected graph with numbered nodes. A loop is the weight inside a merged node."""

    edges: Sequence[dict[int, int]]
    loops: Sequence[int]


def detect_communities(edges: Iterable[tuple[CommunityNode, CommunityNode]]) -> dict[CommunityNode, int]:
    """Return the community of each node, numbered by first node.

    Weights are integers and nodes are visited in sorted order, so the order of the edges does not matter. Nodes without
    edges to others have no community.
    """
    linked = [pair for pair in edges if pair[0] != pair[1]]
    nodes = sorted({node for pair in linked for node in pair})
    number = {node: place for place, node in enumerate(nodes)}
    others: list[set[int]] = [set() for _ in nodes]
    for one, other in linked:
        others[number[one]].add(number[other])
        others[number[other]].add(number[one])
    labels = _cluster(_LouvainLevel([dict.fromkeys(sorted(it), 1) for it in others], [0] * len(nodes)))
    return {node: labels[place] for place, node in enumerate(nodes)}


def _cluster(level: _LouvainLevel) -> list[int]:
    """Move nodes, merge communities into nodes, and repeat on the smaller graph until nothing merges."""
    labels = _renumber(_move_nodes(level))
    if len(set(labels)) == len(labels):
        return labels
    merged = _cluster(_merge_communities(level, labels))
    return [merged[label] for label in labels]


def _move_nodes(level: _LouvainLevel) -> list[int]:
    """Move each node to the neighbouring community with the largest gain in modularity, until no move gains."""
    degrees = [sum(ties.values()) + 2 * loop for ties, loop in zip(level.edges, level.loops, strict=True)]
    total, labels, totals = sum(degrees), list(range(len(degrees))), list(degrees)
    queue = OrderedDict.fromkeys(labels)  # a queue that holds each node at most once
    while queue:
        node, _ = queue.popitem(last=False)
        old, degree = labels[node], degrees[node]
        totals[old] -= degree
        labels[node] = _best_community(old, _weights_to_communities(level.edges[node], labels), degree, total, totals)
        totals[labels[node]] += degree
        if labels[node] != old:
            queue.update((other, None) for other in level.edges[node] if labels[other] != labels[node])
    return labels


def _weights_to_communities(ties: dict[int, int], labels: Sequence[int]) -> dict[int, int]:
    """Return the total weight of a node's edges to each community."""
    weights: dict[int, int] = defaultdict(int)
    for other, weight in ties.items():
        weights[labels[other]] += weight
    return weights


def _best_community(old: int, weights: dict[int, int], degree: int, total: int, totals: Sequence[int]) -> int:
    """Return the community with the largest gain. Integer arithmetic makes every move a real gain, so the loop
    terminates."""
    best, best_gain = old, weights.get(old, 0) * total - degree * totals[old]
    for label, weight in weights.items():
        gain = weight * total - degree * totals[label]
        if gain > best_gain or (gain == best_gain and best != old and label < best):
            best, best_gain = label, gain
    return best


def _renumber(labels: Sequence[int]) -> list[int]:
    order = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    return [order[label] for label in labels]


def _merge_communities(level: _LouvainLevel, labels: Sequence[int]) -> _LouvainLevel:
    """Merge each community into one node; edges between communities add up."""
    count = max(labels) + 1
    ties: list[dict[int, int]] = [defaultdict(int) for _ in range(count)]
    loops = [0] * count
    for node, label in enumerate(labels):
        loops[label] += level.loops[node]
        for other, weight in level.edges[node].items():
            if labels[other] != label:
                ties[label][labels[other]] += weight
            elif other > node:
                loops[label] += weight
    return _LouvainLevel(ties, loops)


_NO_LINKS = "no links between records"


@dataclass(frozen=True, slots=True)
class GraphNeighbours:
    """Gives records linked with a hit at least `factor` times the score of the best one.

    If the record is a hit already, its best passage is lifted. Up to `limit` other records join with their first
    passage. Place this stage before those that drop hits, or a dropped hit could return by a link.
    """

    factor: float = 0.5
    links: tuple[str, ...] = DOCUMENT_LINKS
    limit: int = 10

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        if not hits:
            return hits
        graph = get_link_graph(run.view)
        if not graph.outgoing:
            run.notes.append(_NO_LINKS)
        ranks = self._linked_ranks(hits, graph)
        best = {record_node(hit.stored.record): place for place, hit in reversed([*enumerate(hits)])}
        lifted = list(hits)
        for node in ranks.keys() & best.keys():
            lifted[best[node]] = self._lift(hits[best[node]], hits, ranks[node], run)
        others = {node: rank for node, rank in ranks.items() if node not in best}
        return sort_by_score([*lifted, *islice(self._joining_hits(others, hits, graph, run), self.limit)])

    def _linked_ranks(self, hits: list[Hit], graph: LinkGraph) -> dict[RecordNode, int]:
        """Map each linked record to the rank of the best hit it is linked with."""
        ranks: dict[RecordNode, int] = {}
        for rank, hit in enumerate(hits, 1):
            for node in graph.neighbours(record_node(hit.stored.record), self.links):
                ranks.setdefault(node, rank)
        return ranks

    def _joining_hits(
        self, ranks: Mapping[RecordNode, int], hits: list[Hit], graph: LinkGraph, run: SearchRun
    ) -> Iterator[Hit]:
        is_wanted = in_scope(run.query.scope, run.view)
        for node, rank in ranks.items():
            first = load_first_passage(graph.records[node], is_wanted, run.view)
            if first is not None:
                yield self._lift(Hit(first, -math.inf, {}), hits, rank, run)

    def _lift(self, hit: Hit, hits: list[Hit], rank: int, run: SearchRun) -> Hit:
        """Raise the hit to the score that the link gives, if that is higher, and record the link in its evidence."""
        run.linked_from[hit.stored.key] = hits[rank - 1].stored.key
        score = max(hit.score, scale_score(hits[rank - 1].score, self.factor))
        return rescore(hit, score, linked_from_rank=rank, link_factor=self.factor)


@dataclass(frozen=True, slots=True)
class CommunityBoost:
    """Boosts hits in the community of one of the `seeds` best hits."""

    factor: float = 1.1
    seeds: int = 3

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        if not hits:
            return hits
        known = get_communities(run.view)
        if not known:
            run.notes.append(_NO_LINKS)
        homes = [known.get(record_node(hit.stored.record)) for hit in hits]
        favoured = {home for home in homes[: self.seeds] if home is not None}
        return sort_by_score([self._boost(hit, home, favoured) for hit, home in zip(hits, homes, strict=True)])

    def _boost(self, hit: Hit, home: int | None, favoured: set[int]) -> Hit:
        if home is None or home not in favoured:
            return hit
        return multiply_score(hit, self.factor, community=home, community_boost=self.factor)


def get_communities(view: StoreView) -> Mapping[RecordNode, int]:
    """Return the communities of the link graph, cached until a record changes."""
    return view.cached_by_revision("communities", lambda: detect_communities(get_link_graph(view).pairs()))
