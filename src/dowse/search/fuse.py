"""Weighted reciprocal rank fusion: ranks are added up, scores are only kept as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


def fuse(rankings: Rankings, weights: Mapping[str, float], k: int) -> list[Scored]:
    """One ranking from several: a chunk's score is the sum of weight / (k + rank), rank from 1."""
    scores: dict[int, float] = {}
    for name, ranking in rankings.items():
        weight = weights[name]
        for place, (key, _) in enumerate(ranking, k + 1):
            scores[key] = scores.get(key, 0.0) + weight / place
    # Stable, also in reverse: the first retriever's order decides ties.
    return [Scored(key, score) for key, score in sorted(scores.items(), key=itemgetter(1), reverse=True)]


def evidence_for(fused: Sequence[Scored], rankings: Rankings) -> dict[int, dict[str, float]]:
    """How these came to their places: what each retriever gave them, and the sum where there were several."""
    evidence: dict[int, dict[str, float]] = {it.key: {} for it in fused}
    for name, ranking in rankings.items():
        own_score, own_rank = SCORE_NAMES[name], f"{name}_rank"
        for rank, (key, score) in enumerate(ranking, 1):
            if key in evidence:
                evidence[key] |= {own_score: score, own_rank: rank}
    if len(rankings) > 1:
        for key, score in fused:
            evidence[key]["rrf"] = score
    return evidence
