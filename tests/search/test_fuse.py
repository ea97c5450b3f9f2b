"""Fusion by ranks."""

from __future__ import annotations

import pytest

from dowse.model import Scored
from dowse.search.fuse import evidence_for, fuse


def ranking(*keys: int) -> list[Scored]:
    return [Scored(key, 10.0 - place) for place, key in enumerate(keys)]


def test_scores_add_up_by_rank() -> None:
    rankings = {"lexical": ranking(1, 2), "semantic": ranking(2, 3)}
    fused = fuse(rankings, {"lexical": 1.0, "semantic": 1.0}, 60)
    assert [it.key for it in fused] == [2, 1, 3]
    assert [it.score for it in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    evidence = evidence_for(fused[:2], rankings)
    assert evidence.keys() == {2, 1}
    assert evidence[2] == {
        "bm25": 9.0, "lexical_rank": 2, "cosine": 10.0, "semantic_rank": 1, "rrf": pytest.approx(1 / 62 + 1 / 61),
    }  # fmt: skip
    assert evidence[1] == {"bm25": 10.0, "lexical_rank": 1, "rrf": pytest.approx(1 / 61)}


def test_weights_and_k_count() -> None:
    fused = fuse({"lexical": ranking(1), "semantic": ranking(2)}, {"lexical": 1.0, "semantic": 3.0}, 9)
    assert [(it.key, it.score) for it in fused] == [(2, 0.3), (1, 0.1)]


@pytest.mark.parametrize(
    ("lexical", "semantic", "expected"),
    [((), (), []), ((1,), (), [1]), ((), (2,), [2]), ((1,), (2,), [1, 2])],
)
def test_empty_sides_and_ties(lexical: tuple[int, ...], semantic: tuple[int, ...], expected: list[int]) -> None:
    rankings = {"lexical": ranking(*lexical), "semantic": ranking(*semantic)}
    assert [it.key for it in fuse(rankings, {"lexical": 1.0, "semantic": 1.0}, 60)] == expected


def test_one_retriever_keeps_its_own_score() -> None:
    assert evidence_for(ranking(7), {"lexical": ranking(7)}) == {7: {"bm25": 10.0, "lexical_rank": 1}}
