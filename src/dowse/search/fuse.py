"""One ranking from several, by the scores of each or by ranks alone (weighted reciprocal rank fusion)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from operator import itemgetter

from dowse.model import Scored

Rankings = Mapping[str, Sequence[Scored]]

# What each retriever's own score is called in the evidence.
SCORE_NAMES = {
    "lexical": "bm25",
    "semantic": "cosine",
    "headline": "headline_bm25",
    "expanded": "expanded_bm25",
    "tagged": "tagged_bm25",
    "code_blocks": "code_bm25",
}


LEXICAL = "lexical"  # its scores tell which kinds a question is answered by
# A score that a retriever did not give: words that match nothing score 0, but a cosine is only known to be lower.
ABSENT_IS_ZERO = frozenset({LEXICAL, "headline"})
_LEAST_SAMPLE = 10  # fewer say little of how far scores lie apart


def fuse_scores(
    rankings: Rankings, weights: Mapping[str, float], asked_for: Callable[[list[int]], list[int]] = list
) -> list[Scored]:
    """By how many standard deviations each score lies above the mean, weighted and added up. A match that stands out
    among few counts as much as it should, which ranks alone do not tell. Mean and deviation are those of the candidates
    that are asked for: how many of other kinds are in the index must not decide between them."""
    keys = list(dict.fromkeys(key for ranking in rankings.values() for key, _ in ranking))
    main = set(asked_for(keys))
    sampled = main if len(main) >= _LEAST_SAMPLE else keys
    total = sum(weights[name] for name in rankings) or 1.0
    fused = dict.fromkeys(keys, 0.0)
    for name, ranking in rankings.items():
        if not ranking or not weights[name]:
            continue
        own = dict(ranking)
        lowest = 0.0 if name in ABSENT_IS_ZERO else min(own.values())
        absent = lowest and min((own[key] for key in sampled if key in own), default=lowest)
        sample = [own.get(key, absent) for key in sampled]
        mean = sum(sample) / len(sample)
        squares = sum((score - mean) ** 2 for score in sample)
        if squares <= 0:
            continue
        share = weights[name] / total / sqrt(squares / len(sample))
        for key in keys:
            fused[key] += share * (own.get(key, absent if key in main else lowest) - mean)
    lowest = min(fused.values(), default=0.0) - 1  # what multiplies scores later needs them above 0
    # Stable, also in reverse: the first retriever's order decides ties.
    return [Scored(key, score - lowest) for key, score in sorted(fused.items(), key=itemgetter(1), reverse=True)]


def fuse_ranks(rankings: Rankings, weights: Mapping[str, float], k: int) -> list[Scored]:
    """A chunk's score is the sum of weight / (k + rank), rank from 1."""
    scores: dict[int, float] = {}
    for name, ranking in rankings.items():
        weight = weights[name]
        for place, (key, _) in enumerate(ranking, k + 1):
            scores[key] = scores.get(key, 0.0) + weight / place
    # Stable, also in reverse: the first retriever's order decides ties.
    return [Scored(key, score) for key, score in sorted(scores.items(), key=itemgetter(1), reverse=True)]


# What the sum is called in the evidence, of scores and of ranks.
FUSED, RRF = "fused", "rrf"


def evidence_for(fused: Sequence[Scored], rankings: Rankings, total: str = RRF) -> dict[int, dict[str, float]]:
    """How these came to their places: what each retriever gave them, and the sum where there were several."""
    evidence: dict[int, dict[str, float]] = {it.key: {} for it in fused}
    for name, ranking in rankings.items():
        own_score, own_rank = SCORE_NAMES[name], f"{name}_rank"
        for rank, (key, score) in enumerate(ranking, 1):
            if key in evidence:
                evidence[key] |= {own_score: score, own_rank: rank}
    if len(rankings) > 1:
        for key, score in fused:
            evidence[key][total] = score
    return evidence
