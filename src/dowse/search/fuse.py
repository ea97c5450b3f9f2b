"""Fusion of several rankings into one, by standardised scores or by ranks (weighted reciprocal rank fusion)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from operator import itemgetter

from dowse.model import ScoredChunk

Rankings = Mapping[str, Sequence[ScoredChunk]]

# The evidence key of each retriever's score.
SCORE_NAMES = {
    "lexical": "bm25",
    "semantic": "cosine",
    "headline": "headline_bm25",
    "expanded": "expanded_bm25",
    "tagged": "tagged_bm25",
    "code_blocks": "code_bm25",
}


LEXICAL_RETRIEVER = "lexical"  # its scores decide how kinds are weighted
# A candidate that a word retriever missed scores 0. A missing cosine is only known to be lower than the others.
ABSENT_IS_ZERO = frozenset({LEXICAL_RETRIEVER, "headline"})
_MIN_SAMPLE_SIZE = 10  # the standard deviation of fewer scores means little


def fuse_scores(
    rankings: Rankings, weights: Mapping[str, float], select_preferred: Callable[[list[int]], list[int]] = list
) -> list[ScoredChunk]:
    """Add up the weighted z-scores of each candidate.

    Unlike ranks, z-scores let a match count more if it stands out. Mean and deviation come from the preferred
    candidates only, so the number of records of other kinds cannot decide between them.
    """
    keys = list(dict.fromkeys(key for ranking in rankings.values() for key, _ in ranking))
    preferred = set(select_preferred(keys))
    sampled = preferred if len(preferred) >= _MIN_SAMPLE_SIZE else keys
    total = sum(weights[name] for name in rankings) or 1.0
    fused = dict.fromkeys(keys, 0.0)
    for name, ranking in rankings.items():
        if not ranking or not weights[name]:
            continue
        scores = dict(ranking)
        lowest = 0.0 if name in ABSENT_IS_ZERO else min(scores.values())
        absent = lowest and min((scores[key] for key in sampled if key in scores), default=lowest)
        sample = [scores.get(key, absent) for key in sampled]
        mean = sum(sample) / len(sample)
        squares = sum((score - mean) ** 2 for score in sample)
        if squares <= 0:
            continue
        scale = weights[name] / total / sqrt(squares / len(sample))
        for key in keys:
            fused[key] += scale * (scores.get(key, absent if key in preferred else lowest) - mean)
    lowest = min(fused.values(), default=0.0) - 1  # later stages multiply scores, so they must be positive
    # The sort is stable, also in reverse: the first retriever's order decides ties.
    return [ScoredChunk(key, score - lowest) for key, score in sorted(fused.items(), key=itemgetter(1), reverse=True)]


def fuse_ranks(rankings: Rankings, weights: Mapping[str, float], k: int) -> list[ScoredChunk]:
    """Score each chunk by the sum of weight / (k + rank), with ranks from 1."""
    scores: dict[int, float] = {}
    for name, ranking in rankings.items():
        weight = weights[name]
        for place, (key, _) in enumerate(ranking, k + 1):
            scores[key] = scores.get(key, 0.0) + weight / place
    # The sort is stable, also in reverse: the first retriever's order decides ties.
    return [ScoredChunk(key, score) for key, score in sorted(scores.items(), key=itemgetter(1), reverse=True)]


# Evidence keys of the fused score: by scores, by ranks.
FUSED_SCORE, RRF_SCORE = "fused", "rrf"


def build_evidence(
    fused: Sequence[ScoredChunk], rankings: Rankings, total: str = RRF_SCORE
) -> dict[int, dict[str, float]]:
    """Return each chunk's score and rank per retriever, plus the fused score if there were several retrievers."""
    evidence: dict[int, dict[str, float]] = {it.key: {} for it in fused}
    for name, ranking in rankings.items():
        score_key, rank_key = SCORE_NAMES[name], f"{name}_rank"
        for rank, (key, score) in enumerate(ranking, 1):
            if key in evidence:
                evidence[key] |= {score_key: score, rank_key: rank}
    if len(rankings) > 1:
        for key, score in fused:
            evidence[key][total] = score
    return evidence
