"""What another record supersedes ranks below it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dowse.model import Hit, Scope
from dowse.search.kinds import SUCCEEDING
from dowse.search.refine.scale import times
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run
from dowse.store.base import Catalog
from dowse.text.circles import circles
from dowse.text.memory_edges import SUPERSEDES, Key, edges_among, key, saying

Successors = Mapping[Key, Sequence[Key]]


@dataclass(frozen=True, slots=True)
class Superseded:
    """The factor for what has successors; and it ranks below all of them, however far along a chain they are. Those
    that supersede each other in a circle are none the better for it."""

    factor: float = 0.5
    kinds: tuple[str, ...] = SUCCEEDING

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if not any(hit.stored.record.kind in self.kinds for hit in hits):
            return hits
        successors = successors_of(run.store, self.kinds)
        found: defaultdict[Key, list[Hit]] = defaultdict(list)
        for hit in hits:
            found[key(hit.stored.record)].append(hit)
        judged: dict[int, Hit] = {}
        lowest: dict[Key, float] = {}  # score of what was found of a record and of all above it
        behind: dict[Key, int] = {}  # how many steps the longest way up from a record has
        for circle in circles(list(found), lambda it: successors.get(it, ())):
            above = {it for node in circle for it in successors.get(node, ())}.difference(circle)
            bound = min((lowest[it] for it in above), default=math.inf)
            steps = max((behind[it] + 1 for it in above), default=0)
            own = [[self._judged(hit, steps, bound) for hit in found[it]] for it in circle if it in found]
            judged |= {hit.stored.key: hit for each in own for hit in each}
            behind |= dict.fromkeys(circle, steps)
            lowest |= dict.fromkeys(circle, min([bound, *(max(hit.score for hit in each) for each in own)]))
        return by_score([judged[hit.stored.key] for hit in hits])

    def _judged(self, hit: Hit, steps: int, bound: float) -> Hit:
        if not steps:
            return hit
        score = min(times(hit.score, self.factor), math.nextafter(bound, -math.inf))
        return rescored(hit, score, superseded=steps)


def successors_of(catalog: Catalog, kinds: tuple[str, ...] = SUCCEEDING) -> Successors:
    """Of each record that is superseded, those that do so directly; worked out once for each state of the records."""

    def make() -> Successors:
        edges = edges_among(catalog.linked(saying(SUPERSEDES), Scope(kinds=kinds)), SUPERSEDES)
        return {older: [it.source.key for it in newer] for older, newer in edges.incoming.items()}

    return catalog.remembered(f"successors of {kinds}", make)
