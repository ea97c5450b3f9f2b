"""Variety: passages that say something new move up, and no record fills the answer alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dowse.model import Hit
from dowse.search.refine.blend import min_max
from dowse.search.refine.likeness import cosines
from dowse.search.refine.stage import relevance, rescored
from dowse.search.run import Run

if TYPE_CHECKING:
    from dowse.store.base import Matrix


@dataclass(frozen=True, slots=True)
class Mmr:
    """Maximal marginal relevance: each next hit is the best mix of being relevant and unlike those before it.

    It is `lambda_ × relevance + (1 - lambda_) × novelty`, both from 0 to 1, which orders as the classic difference
    does. Scores stay with the places: where one stands says how good an answer is there, not how new it is.
    """

    lambda_: float = 0.7

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        likeness = cosines(hits, run)
        return hits if likeness is None else list(self._chosen(hits, likeness))

    def _chosen(self, hits: list[Hit], likeness: Matrix) -> Iterator[Hit]:
        import numpy as np

        relevances = np.array(min_max([relevance(hit) for hit in hits]))
        redundancy = np.zeros(len(hits))
        waiting = np.ones(len(hits), dtype=bool)
        for place in hits:
            values = self.lambda_ * relevances + (1 - self.lambda_) * (1 - redundancy)
            best = int(np.argmax(np.where(waiting, values, -np.inf)))
            novelty = 1 - float(redundancy[best])
            mixed = {"mmr": float(values[best]), "relevance": float(relevances[best]), "novelty": novelty}
            yield rescored(hits[best], place.score, **mixed)
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
