"""What another record supersedes ranks below it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dowse.model import Hit, Scope
from dowse.search.kinds import SUCCEEDING
from dowse.search.refine.links import Node, link_graph, node_of
from dowse.search.refine.scale import times
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run
from dowse.store.base import Catalog

SUPERSEDES = "supersedes"
Successors = Mapping[Node, frozenset[Node]]


@dataclass(frozen=True, slots=True)
class Superseded:
    """The factor for what has successors; and it ranks below all of them, however far along a chain they are."""

    factor: float = 0.5
    kinds: tuple[str, ...] = SUCCEEDING

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if not any(hit.stored.record.kind in self.kinds for hit in hits):
            return hits
        successors = successors_of(run.store, self.kinds)
        best: dict[Node, float] = {}
        judged: list[Hit] = []
        # What is superseded has more above it than any of its successors has: those come first.
        for hit in sorted(hits, key=lambda it: len(successors.get(node_of(it.stored.record), ()))):
            node = node_of(hit.stored.record)
            judged.append(self._judged(hit, successors.get(node, frozenset()), best))
            best[node] = max(judged[-1].score, best.get(node, -math.inf))
        places = {hit.stored.key: place for place, hit in enumerate(hits)}
        return by_score(sorted(judged, key=lambda it: places[it.stored.key]))

    def _judged(self, hit: Hit, above: frozenset[Node], best: Mapping[Node, float]) -> Hit:
        if not above:
            return hit
        lowest = min((best[it] for it in above & best.keys()), default=math.inf)
        score = min(times(hit.score, self.factor), math.nextafter(lowest, -math.inf))
        return rescored(hit, score, superseded=len(above))


def successors_of(catalog: Catalog, kinds: tuple[str, ...] = SUCCEEDING) -> Successors:
    """Of each record that is superseded, all that do so, directly or along a chain; worked out once for each state of
    the records. Those that supersede each other in a circle are none the better for it."""

    def make() -> Successors:
        graph = link_graph(catalog.linked((SUPERSEDES,), Scope(kinds=kinds)))
        return _closed({node: frozenset(end.node for end in ends) for node, ends in graph.incoming.items()})

    return catalog.remembered(f"successors of {kinds}", make)


def _closed(direct: Successors) -> Successors:
    reached = {node: _reached(node, direct) for node in direct}
    above = {node: frozenset(it for it in found if node not in reached.get(it, ())) for node, found in reached.items()}
    return {node: found for node, found in above.items() if found}


def _reached(start: Node, direct: Successors) -> set[Node]:
    seen: set[Node] = set()
    waiting = [start]
    while waiting:
        new = direct.get(waiting.pop(), frozenset()) - seen
        seen |= new
        waiting.extend(new)
    return seen
