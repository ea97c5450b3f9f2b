"""Scores made comparable: a confidence from a fused score, a share of the best, and a least value to be shown."""

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


def normalise(hits: list[Hit], run: Run) -> list[Hit]:
    """Each score as a share of the best one, from 0 to 1."""
    best = max((hit.score for hit in hits), default=0.0)
    return [rescored(hit, _share(hit.score, best), unnormalised=hit.score) for hit in hits]


def _share(score: float, best: float) -> float:
    """Of a best that is not positive there are no shares: what equals it is as good as the best, the rest nothing."""
    if score == best:
        return 1.0
    return max(0.0, score / best) if best > 0 else 0.0


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
