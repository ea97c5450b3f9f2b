"""Which weights of words and meaning to use: chosen on one half of the questions, confirmed on the other."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from dowse.search.evaluate.compare import Comparison, compare_scores
from dowse.search.evaluate.sample import Sample, halves
from dowse.search.evaluate.scores import Scores

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
LEAST_QUESTIONS = 40
ROUNDS = 4_000
# An origin of questions may lose this much by accident; more is a reason not to change anything.
_TOLERATED_LOSS = 0.01


@dataclass(frozen=True, slots=True)
class Weights:
    """How much words and meaning count in the fusion."""

    lexical: float = 1.0
    semantic: float = 1.0

    def __str__(self) -> str:
        return f"{self.lexical:g}:{self.semantic:g}"


DEFAULT = Weights()


@dataclass(frozen=True, slots=True)
class Advice:
    """The weights to use, why, and how the best others did against the default on the half that confirms."""

    weights: Weights
    reason: str
    confirmed: Comparison | None = None


def advise(scores: Mapping[Weights, Scores], sample: Sample, measure: str, *, seed: int) -> Advice:
    """`scores` has those of the default weights too; others are advised only when they are surely better."""
    if len(sample.questions) < LEAST_QUESTIONS:
        return Advice(DEFAULT, f"{len(sample.questions)} questions are too few to tell, {LEAST_QUESTIONS} are needed")
    first, second = halves(sample.questions)
    # Of equal ones the nearest to the default; it is its own nearest.
    best = max(scores, key=lambda it: (round(part(scores[it], first).mean(measure), 6), -_distance(it)))
    if best == DEFAULT:
        return Advice(DEFAULT, "no other weights did better on the first half of the questions")
    found = compare_scores(part(scores[DEFAULT], second), part(scores[best], second), measure, seed=seed, rounds=ROUNDS)
    seen = f"{best} did best on the first half of the questions"
    figures = f"{found.mean_difference:+.4f} {measure} on the second, p {found.p_value:.4f}"
    if found.verdict != "better":
        return Advice(DEFAULT, f"{seen}, but is not surely better ({figures})", found)
    loser = _loser(scores, best, sample, second, measure)
    if loser:
        return Advice(DEFAULT, f"{seen} and is better ({figures}), but worse for {loser}", found)
    return Advice(best, f"{seen} and is better on the second too ({figures})", found)


def _loser(scores: Mapping[Weights, Scores], best: Weights, sample: Sample, half: Set[str], measure: str) -> str | None:
    """An origin whose questions would be answered worse: what favours words must not outvote the rest."""
    for origin in sample.origins():
        ids = half & sample.ids(origin)
        if ids and part(scores[best], ids).mean(measure) < part(scores[DEFAULT], ids).mean(measure) - _TOLERATED_LOSS:
            return origin
    return None


def part(scores: Scores, ids: Set[str]) -> Scores:
    """The scores of these questions alone."""
    return Scores(tuple(it for it in scores.queries if it.id in ids))


def _distance(weights: Weights) -> float:
    """How far from the default: as many times more of one as of the other."""
    least, most = sorted((weights.lexical, weights.semantic))
    return most / least if least else float("inf")
