"""Whether one recipe beats another on the same queries: paired, with an interval and a p-value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from random import Random
from typing import Literal

from dowse.errors import BadInput
from dowse.evaluate.scores import Scores

Verdict = Literal["better", "worse", "no difference"]

ROUNDS = 10_000
SIGNIFICANCE = 0.05
# Metrics are sums of fractions: equal rankings of equal worth may differ in the last bits.
TIE = 1e-9


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
    def verdict(self) -> Verdict:
        """A difference counts only where the interval and the randomisation test both see it."""
        if self.p_value >= SIGNIFICANCE or self.low <= 0 <= self.high:
            return "no difference"
        return "better" if self.mean_difference > 0 else "worse"


def compare_scores(baseline: Scores, candidate: Scores, measure: str, *, seed: int, rounds: int = ROUNDS) -> Comparison:
    """Pairs the two by query id."""
    before = _by_query(baseline, measure)
    after = _by_query(candidate, measure)
    if before.keys() != after.keys():
        raise BadInput("the two recipes answered different queries; evaluate both on the same gold set")
    return compare(list(before.values()), [after[id] for id in before], seed=seed, rounds=rounds)


def compare(baseline: Sequence[float], candidate: Sequence[float], *, seed: int, rounds: int = ROUNDS) -> Comparison:
    """One value per query, in the same order in both."""
    if not baseline or len(baseline) != len(candidate):
        raise BadInput(f"cannot pair {len(baseline)} and {len(candidate)} values; give one per query for both recipes")
    differences = [_settled(after - before) for before, after in zip(baseline, candidate, strict=True)]
    random = Random(seed)
    low, high = _interval(differences, random, rounds)
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


def _by_query(scores: Scores, measure: str) -> dict[str, float]:
    if measure not in scores.measures:
        raise BadInput(f"unknown measure {measure!r}; choose one of {', '.join(scores.measures)}")
    return {query.id: query.values[measure] for query in scores.queries}


def _settled(difference: float) -> float:
    return 0.0 if abs(difference) < TIE else difference


def _interval(differences: list[float], random: Random, rounds: int) -> tuple[float, float]:
    """The middle 95 % of the means of queries drawn anew, with replacement."""
    size = len(differences)
    means = sorted(sum(random.choices(differences, k=size)) / size for _ in range(rounds))
    cut = int(rounds * 0.025)
    return means[cut], means[-1 - cut]


def _p_value(differences: list[float], random: Random, rounds: int) -> float:
    """How often the sum is as far from zero when each query's sign is thrown by a coin.

    The observed signs count as one throw, so the value is never 0.
    """
    moved = [difference for difference in differences if difference]
    total = sum(moved)
    as_far = 0
    for _ in range(rounds):
        flipped = sum(compress(moved, random.choices((0, 1), k=len(moved))))
        as_far += abs(total - 2 * flipped) >= abs(total) - TIE
    return (as_far + 1) / (rounds + 1)
