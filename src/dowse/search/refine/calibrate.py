"""Scores made comparable: a confidence from a fused score, and a least value to be shown."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

_STEEPEST = 700.0  # exp() of more overflows, and the sigmoid is 0 or 1 long before


@dataclass(frozen=True, slots=True)
class Calibrate:
    """A sigmoid: a score at the threshold is a confidence of one half."""

    threshold: float = 0.035
    steepness: float = 150

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        return [rescored(hit, self.confidence(hit.score), uncalibrated=hit.score) for hit in hits]

    def confidence(self, score: float) -> float:
        exponent = max(-_STEEPEST, self.steepness * (score - self.threshold))  # in this order, NaN is the least
        return 1 / (1 + math.exp(-min(_STEEPEST, exponent)))


@dataclass(frozen=True, slots=True)
class MinConfidence:
    """Drops what scores below the least; a query may ask for another one."""

    least: float

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        least = self.least if run.query.min_score is None else run.query.min_score
        kept = [hit for hit in hits if hit.score >= least]
        if len(kept) < len(hits):
            run.notes.append(f"{len(hits) - len(kept)} hits below {least:g} were dropped")
        return kept


@dataclass(frozen=True, slots=True)
class Vouched:
    """Drops what scores below the least, once it is judged as if all retrievers had ranked it like the one that vouches
    for it: words always do, meaning where the encoder can tell what is related. What was written a moment ago has no
    vector yet, and what holds the very words asked for may mean something else to an encoder; both must be found."""

    least: float
    scale: Calibrate = Calibrate()

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        least = self.least if run.query.min_score is None else run.query.min_score
        kept = [hit for hit in hits if self._confidence(hit, run) >= least]
        if len(kept) < len(hits):
            run.notes.append(f"{len(hits) - len(kept)} hits that nothing vouches for above {least:g} were dropped")
        return kept

    def _confidence(self, hit: Hit, run: Run) -> float:
        ranks = _vouching_ranks(hit, run.vector.traits.unrelated if run.vector else 0.0)
        scores = [sum(run.shares.values()) / (run.rrf_k + rank) for rank in ranks]
        return self.scale.confidence(max([hit.score, *scores]))


def _vouching_ranks(hit: Hit, unrelated: float) -> list[float]:
    by_words = [hit.evidence["lexical_rank"]] if "lexical_rank" in hit.evidence else []
    is_related = unrelated > 0 and hit.evidence.get("cosine", 0.0) >= unrelated
    return [*by_words, hit.evidence["semantic_rank"]] if is_related else by_words
