"""Fusion by ranks and by scores."""

from __future__ import annotations

import pytest

from dowse.model import ScoredChunk
from dowse.search.fuse import build_evidence, fuse_ranks, fuse_scores


def ranking(*keys: int) -> list[ScoredChunk]:
    return [ScoredChunk(key, 10.0 - place) for place, key in enumerate(keys)]


def test_scores_add_up_by_rank() -> None:
    rankings = {"lexical": ranking(1, 2), "semantic": ranking(2, 3)}
    fused = fuse_ranks(rankings, {"lexical": 1.0, "semantic": 1.0}, 60)
    assert [it.key for it in fused] == [2, 1, 3]
    assert [it.score for it in fused] == pytest.approx([1 / 62 + 1 / 61, 1 / 61, 1 / 62])
    evidence = build_evidence(fused[:2], rankings)
    assert evidence.keys() == {2, 1}
    assert evidence[2] == {
        "bm25": 9.0, "lexical_rank": 2, "cosine": 10.0, "semantic_rank": 1, "rrf": pytest.approx(1 / 62 + 1 / 61),
    }  # fmt: skip
    assert evidence[1] == {"bm25": 10.0, "lexical_rank": 1, "rrf": pytest.approx(1 / 61)}


def test_weights_and_k_count() -> None:
    fused = fuse_ranks({"lexical": ranking(1), "semantic": ranking(2)}, {"lexical": 1.0, "semantic": 3.0}, 9)
    assert [(it.key, it.score) for it in fused] == [(2, 0.3), (1, 0.1)]


@pytest.mark.parametrize(
    ("lexical", "semantic", "expected"),
    [((), (), []), ((1,), (), [1]), ((), (2,), [2]), ((1,), (2,), [1, 2])],
)
def test_empty_sides_and_ties(lexical: tuple[int, ...], semantic: tuple[int, ...], expected: list[int]) -> None:
    rankings = {"lexical": ranking(*lexical), "semantic": ranking(*semantic)}
    assert [it.key for it in fuse_ranks(rankings, {"lexical": 1.0, "semantic": 1.0}, 60)] == expected


def test_one_retriever_keeps_its_own_score() -> None:
    assert build_evidence(ranking(7), {"lexical": ranking(7)}) == {7: {"bm25": 10.0, "lexical_rank": 1}}


def test_scores_are_fused_by_how_far_they_stand_out() -> None:
    words = [ScoredChunk(1, 30.0), *(ScoredChunk(key, 10.0 - key / 10) for key in range(2, 12))]
    meaning = [ScoredChunk(12, 0.7), *(ScoredChunk(key, 0.69) for key in range(2, 12)), ScoredChunk(1, 0.69)]
    ones = {"lexical": 1.0, "semantic": 1.0}
    by_score, by_rank = (
        fuse_scores({"lexical": words, "semantic": meaning}, ones),
        fuse_ranks({"lexical": words, "semantic": meaning}, ones, 60),
    )
    assert by_score[0].key == 1 != by_rank[0].key  # last by meaning, where all are alike
    assert {it.key for it in by_score} == {it.key for it in by_rank} == {*range(1, 13)}
    assert min(it.score for it in by_score) == pytest.approx(1.0)


def test_words_that_match_little_count_as_none_elsewhere() -> None:
    """One match among many candidates stands out as much as it does."""
    meaning = [ScoredChunk(key, 0.9 - key / 100) for key in range(20)]
    fused = fuse_scores({"lexical": [ScoredChunk(19, 3.0)], "semantic": meaning}, {"lexical": 1.0, "semantic": 1.0})
    assert fused[0].key == 19
    assert [it.key for it in fused[1:]] == [*range(19)]


@pytest.mark.parametrize("weights", [{"lexical": 1.0, "semantic": 0.0}, {"lexical": 0.0, "semantic": 0.0}])
def test_what_weighs_nothing_changes_no_order(weights: dict[str, float]) -> None:
    words = [ScoredChunk(3, 2.0), ScoredChunk(1, 1.0), ScoredChunk(2, 1.0)]
    fused = fuse_scores({"lexical": words, "semantic": [ScoredChunk(2, 0.9), ScoredChunk(4, 0.8)]}, weights)
    assert [it.key for it in fused] == [3, 1, 2, 4]


def test_nothing_and_one_are_fused_too() -> None:
    assert fuse_scores({"lexical": [], "semantic": []}, {"lexical": 1.0, "semantic": 1.0}) == []
    alone = fuse_scores({"lexical": [ScoredChunk(1, 2.0)], "semantic": []}, {"lexical": 1.0, "semantic": 1.0})
    assert [it.key for it in alone] == [1]


def test_candidates_that_are_not_asked_for_do_not_change_how_far_others_lie_apart() -> None:
    code_words = [ScoredChunk(1, 9.0), ScoredChunk(2, 8.0), *(ScoredChunk(key, 5.0 - key / 10) for key in range(3, 12))]
    code_meaning = [
        ScoredChunk(2, 0.60),
        ScoredChunk(1, 0.55),
        *(ScoredChunk(key, 0.5 - key / 100) for key in range(3, 12)),
    ]
    notes = [ScoredChunk(key, 30.0 - key) for key in range(20, 40)]
    ones = {"lexical": 1.0, "semantic": 1.0}

    def is_code(keys: list[int]) -> list[int]:
        return [key for key in keys if key < 20]

    def distance(fused: list[ScoredChunk]) -> float:
        scores = dict(fused)
        return scores[2] - scores[1]

    alone = distance(fuse_scores({"lexical": code_words, "semantic": code_meaning}, ones))
    among = {"lexical": [*notes, *code_words], "semantic": code_meaning}
    assert distance(fuse_scores(among, ones, is_code)) == pytest.approx(alone)
    assert distance(fuse_scores(among, ones)) != pytest.approx(alone)


def test_few_that_are_asked_for_are_no_sample() -> None:
    words = [ScoredChunk(1, 3.0), *(ScoredChunk(key, 2.0 - key / 10) for key in range(2, 9))]
    rankings = {"lexical": words, "semantic": [ScoredChunk(1, 0.9), ScoredChunk(2, 0.5)]}
    ones = {"lexical": 1.0, "semantic": 1.0}
    assert fuse_scores(rankings, ones, lambda keys: [1]) == fuse_scores(rankings, ones)
