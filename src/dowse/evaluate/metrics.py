"""Ranking metrics, scores per query, and paired comparison."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import ceil, log2
from random import Random
from statistics import fmean
from typing import Literal

from dowse.errors import BadInput
from dowse.evaluate.gold import GoldQuery, GoldSet, RelevanceJudge

Gains = Sequence[float]


def ndcg(gains: Gains, ideal: Gains, k: int) -> float:
    """Return the discounted gain of the first k ranks relative to the best possible.

    The gain is linear, g / log2(rank + 1), as in trec_eval and BEIR; for labels 0 and 1 that equals the form with 2^g -
    1.
    """
    best = _discounted_gain(ideal[:k])
    return _discounted_gain(gains[:k]) / best if best else 0.0


def recall(gains: Gains, ideal: Gains, k: int) -> float:
    """Return the share of all relevant documents that are among the first k ranks."""
    return _count_relevant(gains[:k]) / len(ideal) if ideal else 0.0


def precision(gains: Gains, k: int) -> float:
    """Return the share of k ranks that are relevant; ranks that a short answer leaves empty count as misses."""
    return _count_relevant(gains[:k]) / k


def hit_rate(gains: Gains, k: int) -> float:
    """Return 1 if any of the first k ranks is relevant, else 0."""
    return 1.0 if _count_relevant(gains[:k]) else 0.0


def reciprocal_rank(gains: Gains) -> float:
    """Return 1 / rank of the first relevant document; the mean over queries is MRR."""
    return next((1 / rank for rank, gain in enumerate(gains, 1) if gain > 0), 0.0)


def _discounted_gain(gains: Gains) -> float:
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _count_relevant(gains: Gains) -> int:
    return sum(gain > 0 for gain in gains)


# --------------------------------------------------------------------------------------------------
# Evaluation of a search on a gold set: scores and latency per query.

DEFAULT_KS = (5, 10, 100)
EVALUATION_MEASURES = ("mrr", *(f"{name}@{k}" for k in DEFAULT_KS for name in ("ndcg", "recall", "precision", "hit")))

SearchFn = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryScore:
    """The scores of one query by measure (`ndcg@10`, `mrr` …), and its latency."""

    id: str
    values: Mapping[str, float]
    ms: float


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one recipe on one gold set, in its order; never empty."""

    queries: tuple[QueryScore, ...]
    unjudged: int = 0

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.queries[0].values)

    def mean(self, measure: str) -> float:
        return fmean(query.values[measure] for query in self.queries)

    def latency_ms(self, percent: int) -> float:
        """Return the nearest-rank percentile: a latency that was measured, not an interpolated one."""
        ordered = sorted(query.ms for query in self.queries)
        return ordered[max(ceil(percent * len(ordered) / 100), 1) - 1]


def evaluate(
    gold: GoldSet,
    run: SearchFn,
    ks: Sequence[int] = DEFAULT_KS,
    *,
    perf: Callable[[], float] = time.perf_counter,
) -> Scores:
    """Score a search. `run` maps a query text to ranked documents without duplicates, best first; `perf` returns
    seconds."""
    if not ks or min(ks) < 1:
        raise BadInput(f"cannot score at ranks {list(ks)}; give at least one, each 1 or more")
    return Scores(tuple(_score_query(query, run, ks, perf) for query in gold.queries), gold.unjudged)


def _score_query(query: GoldQuery, run: SearchFn, ks: Sequence[int], perf: Callable[[], float]) -> QueryScore:
    started = perf()
    ranking = run(query.text)
    ms = (perf() - started) * 1000
    return QueryScore(query.id, _measure_values(query.judge, ranking, ks), ms)


def _measure_values(judge: RelevanceJudge, ranking: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    gains, ideal = judge.gains(ranking), judge.ideal()
    values = {"mrr": reciprocal_rank(gains)}
    for k in ks:
        values[f"ndcg@{k}"] = ndcg(gains, ideal, k)
        values[f"recall@{k}"] = recall(gains, ideal, k)
        values[f"precision@{k}"] = precision(gains, k)
        values[f"hit@{k}"] = hit_rate(gains, k)
    return values


# --------------------------------------------------------------------------------------------------
# Paired comparison of two recipes on the same queries, with a confidence interval and a p-value.

ComparisonVerdict = Literal["better", "worse", "no difference"]

COMPARISON_ROUNDS = 10_000
SIGNIFICANCE = 0.05
# Metrics are sums of fractions, so equal rankings may differ in the last bits.
TIE_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Comparison:
    """The candidate against the baseline; `low` and `high` bound the mean difference with 95 % confidence."""

    queries: int
    mean_difference: float
    wins: int
    losses: int
    ties: int
    low: float
    high: float
    p_value: float

    @property
    def verdict(self) -> ComparisonVerdict:
        """Return a difference only if the interval and the randomisation test both confirm it."""
        if self.p_value >= SIGNIFICANCE or self.low <= 0 <= self.high:
            return "no difference"
        return "better" if self.mean_difference > 0 else "worse"


def compare_scores(
    baseline: Scores, candidate: Scores, measure: str, *, seed: int, rounds: int = COMPARISON_ROUNDS
) -> Comparison:
    """Compare two sets of scores, paired by query id."""
    before = _values_by_query(baseline, measure)
    after = _values_by_query(candidate, measure)
    if before.keys() != after.keys():
        raise BadInput("the two recipes answered different queries; evaluate both on the same gold set")
    return compare(list(before.values()), [after[id] for id in before], seed=seed, rounds=rounds)


def compare(
    baseline: Sequence[float], candidate: Sequence[float], *, seed: int, rounds: int = COMPARISON_ROUNDS
) -> Comparison:
    """Compare two lists with one value per query, in the same order."""
    if not baseline or len(baseline) != len(candidate):
        raise BadInput(f"cannot pair {len(baseline)} and {len(candidate)} values; give one per query for both recipes")
    differences = [_snap_to_zero(after - before) for before, after in zip(baseline, candidate, strict=True)]
    random = Random(seed)
    low, high = _bootstrap_interval(differences, random, rounds)
    return Comparison(
        queries=len(differences),
        mean_difference=sum(differences) / len(differences),
        wins=sum(difference > 0 for difference in differences),
        losses=sum(difference < 0 for difference in differences),
        ties=sum(difference == 0 for difference in differences),
        low=low,
        high=high,
        p_value=_p_value(differences, random, rounds),
    )


def _values_by_query(scores: Scores, measure: str) -> dict[str, float]:
    if measure not in scores.measures:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(scores.measures)}")
    return {query.id: query.values[measure] for query in scores.queries}


def _snap_to_zero(difference: float) -> float:
    return 0.0 if abs(difference) < TIE_TOLERANCE else difference


def _bootstrap_interval(differences: list[float], random: Random, rounds: int) -> tuple[float, float]:
    """Return the middle 95 % of the bootstrap means."""
    size = len(differences)
    means = sorted(sum(random.choices(differences, k=size)) / size for _ in range(rounds))
    cut = int(rounds * 0.025)
    return means[cut], means[-1 - cut]


def _p_value(differences: list[float], random: Random, rounds: int) -> float:
    """Return how often random signs give a sum at least as far from zero (randomisation test).

    The observed signs count as one round, so the value is never 0.
    """
    non_zero = [difference for difference in differences if difference]
    total = sum(non_zero)
    extreme_rounds = 0
    for _ in range(rounds):
        flipped = sum(compress(non_zero, random.choices((0, 1), k=len(non_zero))))
        extreme_rounds += abs(total - 2 * flipped) >= abs(total) - TIE_TOLERANCE
    return (extreme_rounds + 1) / (rounds + 1)
