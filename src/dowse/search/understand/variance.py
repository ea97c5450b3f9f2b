"""A retriever that can not tell its candidates apart counts less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from statistics import pvariance

from dowse.model import Scored
from dowse.search.run import Run


@dataclass(frozen=True, slots=True)
class VarianceWeights:
    """Below the threshold a share shrinks with the variance of the first `depth` scores, down to `least` of it.

    Scores of two retrievers have no common scale, so each is taken as its share of the retriever's best. The shares in
    the fusion keep their sum: only the ratio between retrievers that found something changes. One candidate alone has
    no variance to judge by.
    """

    threshold: float = 0.1
    least: float = 0.5
    depth: int = 10

    def __call__(self, rankings: Mapping[str, Sequence[Scored]], run: Run) -> Sized:
        factors = {name: self.factor([it.score for it in ranking]) for name, ranking in rankings.items() if ranking}
        before = sum(run.shares[name] for name in factors)
        weighed = {name: run.shares[name] * factor for name, factor in factors.items()}
        after = sum(weighed.values())
        if after:
            run.shares |= {name: share * before / after for name, share in weighed.items()}
        run.notes.append(" ".join(f"{name} ×{factor:.2f}" for name, factor in factors.items()))
        return factors

    def factor(self, scores: Sequence[float]) -> float:
        first = scores[: self.depth]
        if len(first) < 2:
            return 1.0
        variance = pvariance(_shares_of_best(first))
        return 1.0 if variance >= self.threshold else max(self.least, variance / self.threshold)


def _shares_of_best(scores: Sequence[float]) -> list[float]:
    """A score below zero says nothing in favour."""
    best = max(scores)
    return [max(score, 0.0) / best if best > 0 else 0.0 for score in scores]
