"""Ranking metrics over gains: one number per rank as credited by a judge, and the ideal gains best first.

A gain above zero means relevant. `k` is at least 1. A query without anything relevant scores 0 everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

Gains = Sequence[float]


def ndcg(gains: Gains, ideal: Gains, k: int) -> float:
    """Discounted gain of the first k ranks as a share of the best possible.

    The gain is linear, g / log2(rank + 1), as in trec_eval and BEIR; with labels 0 and 1 that equals
    the form with 2^g - 1.
    """
    best = _discounted(ideal[:k])
    return _discounted(gains[:k]) / best if best else 0.0


def recall(gains: Gains, ideal: Gains, k: int) -> float:
    """Which share of everything relevant is among the first k ranks."""
    return _relevant(gains[:k]) / len(ideal) if ideal else 0.0


def precision(gains: Gains, k: int) -> float:
    """Which share of k ranks is relevant; ranks a short answer leaves empty count as misses."""
    return _relevant(gains[:k]) / k


def hit(gains: Gains, k: int) -> float:
    """1 when anything relevant is among the first k ranks, else 0."""
    return 1.0 if _relevant(gains[:k]) else 0.0


def reciprocal_rank(gains: Gains) -> float:
    """1 / rank of the first relevant one in the whole list; its mean over queries is MRR."""
    return next((1 / rank for rank, gain in enumerate(gains, 1) if gain > 0), 0.0)


def _discounted(gains: Gains) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _relevant(gains: Gains) -> int:
    return sum(gain > 0 for gain in gains)
