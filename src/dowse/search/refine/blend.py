"""Several opinions of the same hits as one: each from 0 for its least to 1 for its best, then weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run

Signal = Sequence[float | None]
"""What one judge says of each hit; None of a hit it does not know."""


def blended(signals: Mapping[str, Signal], weights: Mapping[str, float]) -> list[float]:
    """From 0 to 1 for each hit; a signal nobody has is left out, one that a hit lacks counts as its least."""
    heard = {name: signal for name, signal in signals.items() if any(it is not None for it in signal)}
    total = sum(weights[name] for name in heard) or 1.0
    shares = [[weights[name] / total * value for value in min_max(signal)] for name, signal in heard.items()]
    return [sum(parts) for parts in zip(*shares, strict=True)]


def min_max(signal: Signal) -> list[float]:
    """All known are 1 where there is no difference between them."""
    # In halves, because the difference of two huge numbers may be too large for a float.
    halves = [None if it is None else it / 2 for it in signal]
    known = [it for it in halves if it is not None]
    least, span = min(known), max(known) - min(known)
    return [0.0 if it is None else (it - least) / span if span > 0 else 1.0 for it in halves]


@dataclass(frozen=True, slots=True)
class Combine:
    """Scores anew, by what the evidence of the hits says under the given names."""

    weights: tuple[tuple[str, float], ...] = (("bm25", 0.2), ("cosine", 0.3), ("rerank", 0.5))

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        signals = {name: [hit.evidence.get(name) for hit in hits] for name, _ in self.weights}
        absent = [name for name, signal in signals.items() if hits and not any(it is not None for it in signal)]
        if len(absent) == len(signals):
            run.notes.append("skipped: no hit has any of the evidence that is weighed")
            return hits
        if absent:
            run.notes.append(f"without {', '.join(absent)}, which no hit has")
        scores = blended(signals, dict(self.weights))
        return by_score([rescored(hit, score, fused=hit.score) for hit, score in zip(hits, scores, strict=True)])
