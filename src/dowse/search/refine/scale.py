"""Multiplying scores: a factor above one always raises a hit, one below always lowers it."""

from __future__ import annotations

from dowse.model import Hit
from dowse.search.refine.stage import rescored


def times(score: float, factor: float) -> float:
    """A cosine may be negative, and a plain product would then turn a boost into a penalty."""
    return score * factor if score >= 0 else score * (2 - factor)


def multiplied(hit: Hit, factor: float, **evidence: float) -> Hit:
    """The hit with its score multiplied, and why; as it is when the factor changes nothing."""
    return hit if factor == 1 else rescored(hit, times(hit.score, factor), **evidence)
