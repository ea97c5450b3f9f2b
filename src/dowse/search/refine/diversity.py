"""Variety: passages that say something new move up, and no record fills the answer alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dowse.model import Hit
from dowse.search.refine.blend import min_max
from dowse.search.refine.likeness import cosines
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

if TYPE_CHECKING:
    from dowse.store.base import Matrix


@dataclass(frozen=True, slots=True)
class Mmr:
    """Maximal marginal relevance: each next hit is the best mix of being relevant and unlike those before it.

    A score becomes `lambda_ × relevance + (1 - lambda_) × novelty`, both from 0 to 1. It orders as the classic
    difference does, and falls from each hit to the next, because novelty only shrinks as hits are chosen.
    """

    lambda_: float = 0.7

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        likeness = cosines(hits, run)
        return hits if likeness is None else list(self._chosen(hits, likeness))

    def _chosen(self, hits: list[Hit], likeness: Matrix) -> Iterator[Hit]:
        import numpy as np

        relevance = np.array(min_max([hit.score for hit in hits]))
        redundancy = np.zeros(len(hits))
        waiting = np.ones(len(hits), dtype=bool)
        for _ in hits:
            values = self.lambda_ * relevance + (1 - self.lambda_) * (1 - redundancy)
            best = int(np.argmax(np.where(waiting, values, -np.inf)))
            novelty = 1 - float(redundancy[best])
            yield rescored(hits[best], float(values[best]), relevance=float(relevance[best]), novelty=novelty)
            waiting[best] = False
            redundancy = np.maximum(redundancy, np.minimum(likeness[best], 1.0))


@dataclass(frozen=True, slots=True)
class PerRecord:
    """At most this many passages of one record, the best ones."""

    limit: int = 2

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        seen: Counter[tuple[str, str]] = Counter()
        kept: list[Hit] = []
        for hit in hits:
            record = (hit.stored.record.collection, hit.stored.record.path)
            if seen[record] < self.limit:
                seen[record] += 1
                kept.append(hit)
        return kept
