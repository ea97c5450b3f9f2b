"""Links as evidence: what the hits link to may belong to the answer, and so may what stands in the same circle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from dowse.model import Hit
from dowse.search.refine.communities import communities
from dowse.search.refine.joining import first_passage, within
from dowse.search.refine.links import LinkGraph, Node, graph_of, node_of
from dowse.search.refine.scale import multiplied, times
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run
from dowse.store.base import Catalog
from dowse.text.targets import DOCUMENT_LINKS

_NO_LINKS = "no record links to another"


@dataclass(frozen=True, slots=True)
class GraphNeighbours:
    """Records linked to or from the hits count at least a share of their best hit's score. Of those that are hits
    themselves, the best passage is lifted to that; `limit` others join by their first passages.

    A recipe has it before every stage that drops hits: what was dropped on purpose must not come back by a link.
    """

    factor: float = 0.5
    links: tuple[str, ...] = DOCUMENT_LINKS
    limit: int = 10

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if not hits:
            return hits
        graph = graph_of(run.store)
        if not graph.outgoing:
            run.notes.append(_NO_LINKS)
        ranks = self._linked(hits, graph)
        best = {node_of(hit.stored.record): place for place, hit in reversed([*enumerate(hits)])}
        lifted = list(hits)
        for node in ranks.keys() & best.keys():
            lifted[best[node]] = self._claimed(hits[best[node]], hits, ranks[node], run)
        others = {node: rank for node, rank in ranks.items() if node not in best}
        return by_score([*lifted, *islice(self._joining(others, hits, graph, run), self.limit)])

    def _linked(self, hits: list[Hit], graph: LinkGraph) -> dict[Node, int]:
        """The records that hits are linked with, each with the rank of the best of these hits."""
        ranks: dict[Node, int] = {}
        for rank, hit in enumerate(hits, 1):
            for node in graph.neighbours(node_of(hit.stored.record), self.links):
                ranks.setdefault(node, rank)
        return ranks

    def _joining(self, ranks: Mapping[Node, int], hits: list[Hit], graph: LinkGraph, run: Run) -> Iterator[Hit]:
        is_wanted = within(run.query.scope, run.store)
        for node, rank in ranks.items():
            first = first_passage(graph.records[node], is_wanted, run.store)
            if first is not None:
                yield self._claimed(Hit(first, -math.inf, {}), hits, rank, run)

    def _claimed(self, hit: Hit, hits: list[Hit], rank: int, run: Run) -> Hit:
        """The hit with what the link is worth, if that is more, and in any case by which link."""
        run.linked_from[hit.stored.key] = hits[rank - 1].stored.key
        score = max(hit.score, times(hits[rank - 1].score, self.factor))
        return rescored(hit, score, linked_from_rank=rank, link_factor=self.factor)


@dataclass(frozen=True, slots=True)
class CommunityBoost:
    """Hits in a community of one of the `seeds` best hits count more."""

    factor: float = 1.1
    seeds: int = 3

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if not hits:
            return hits
        known = communities_of(run.store)
        if not known:
            run.notes.append(_NO_LINKS)
        homes = [known.get(node_of(hit.stored.record)) for hit in hits]
        favoured = {home for home in homes[: self.seeds] if home is not None}
        return by_score([self._boosted(hit, home, favoured) for hit, home in zip(hits, homes, strict=True)])

    def _boosted(self, hit: Hit, home: int | None, favoured: set[int]) -> Hit:
        if home is None or home not in favoured:
            return hit
        return multiplied(hit, self.factor, community=home, community_boost=self.factor)


def communities_of(catalog: Catalog) -> Mapping[Node, int]:
    """The communities of the link graph, likewise shared until a record changes."""
    return catalog.remembered("communities", lambda: communities(graph_of(catalog).pairs()))
