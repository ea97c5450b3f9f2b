"""Which weights of words and meaning to use: chosen on one half of the questions, confirmed on the other."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from dowse.evaluate.compare import Comparison, compare_scores
from dowse.evaluate.questions import COMMITS
from dowse.evaluate.sample import Sample, halves
from dowse.evaluate.scores import Scores

RATIOS = (0.25, 0.5, 1.0, 2.0, 4.0)
LEAST_QUESTIONS = 40
ROUNDS = 4_000
# An origin of questions may lose this much by accident; more is a reason not to change anything.
_TOLERATED_LOSS = 0.01
# More weight for words needs this many questions that do not stand in the text they ask for: on a corpus with labels
# made by hand, meaning helps where headings and docstrings alone say that it harms.
_LEAST_UNBIASED = 10


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
    figures = f"{found.mean_difference:+.4f} {measure} on the second, p {found.p_value:.4f}"
    told = f"{best} did best on the first half of the questions ({figures})"
    objection = _objection(scores, best, found, sample, second, measure)
    return Advice(DEFAULT, f"{told}, but {objection}", found) if objection else Advice(best, told, found)


def _objection(
    scores: Mapping[Weights, Scores], best: Weights, found: Comparison, sample: Sample, half: Set[str], measure: str
) -> str:
    """Why the weights should not be used all the same; empty if nothing speaks against them."""
    if found.verdict != "better":
        return "is not surely better there"
    for origin in sample.origins():
        ids = half & sample.ids(origin)
        if ids and part(scores[best], ids).mean(measure) < part(scores[DEFAULT], ids).mean(measure) - _TOLERATED_LOSS:
            return f"is worse for {origin}"
    if best.semantic < best.lexical and len(half & sample.ids(COMMITS)) < _LEAST_UNBIASED:
        return "most questions favour words, and there are too few commits to tell"
    return ""


def part(scores: Scores, ids: Set[str]) -> Scores:
    """The scores of these questions alone."""
    return Scores(tuple(it for it in scores.queries if it.id in ids))


def _distance(weights: Weights) -> float:
    """How far from the default: as many times more of one as of the other."""
    least, most = sorted((weights.lexical, weights.semantic))
    return most / least if least else float("inf")
