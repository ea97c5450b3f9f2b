"""Weighted reciprocal rank fusion: ranks are added up, scores are only kept as evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dowse.model import Scored

# What each retriever's own score is called in the evidence.
SCORE_NAMES = {
    "lexical": "bm25",
    "semantic": "cosine",
    "headline": "headline_bm25",
    "expanded": "expanded_bm25",
    "tagged": "tagged_bm25",
    "code_blocks": "code_bm25",
}


@dataclass(slots=True)
class Candidate:
    key: int
    score: float = 0.0
    evidence: dict[str, float] = field(default_factory=dict)


def fuse(rankings: Mapping[str, Sequence[Scored]], weights: Mapping[str, float], k: int) -> list[Candidate]:
    """One ranking from several: a chunk's score is the sum of weight / (k + rank), rank from 1."""
    candidates: dict[int, Candidate] = {}
    for name, ranking in rankings.items():
        weight, own_score, own_rank = weights[name], SCORE_NAMES[name], f"{name}_rank"
        for rank, (key, score) in enumerate(ranking, 1):
            candidate = candidates.get(key)
            if candidate is None:
                candidate = candidates[key] = Candidate(key)
            candidate.score += weight / (k + rank)
            candidate.evidence[own_score] = score
            candidate.evidence[own_rank] = rank
    for candidate in candidates.values():
        candidate.evidence["rrf"] = candidate.score
    return sorted(candidates.values(), key=lambda it: -it.score)  # stable: the first retriever's order decides ties


def single(name: str, ranking: Sequence[Scored]) -> list[Candidate]:
    """One retriever alone needs no fusion: its own score is the score."""
    return [
        Candidate(scored.key, scored.score, {SCORE_NAMES[name]: scored.score, f"{name}_rank": rank})
        for rank, scored in enumerate(ranking, 1)
    ]
