"""Shares by what is asked for, and by how well a retriever tells its candidates apart."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from understand_support import run_for

from dowse.model import ScoredChunk
from dowse.search.query_features import AdaptiveWeights, VarianceWeights
from oracle.dict_store import DictStore


@pytest.mark.parametrize(
    ("text", "shares", "note"),
    [
        ("what does parseJson do", {"lexical": 1.5, "semantic": 2.0, "graph": 0.5}, "factual lexical ×1.5"),
        ("the installation guide", {"lexical": 1.0, "semantic": 2.0, "graph": 0.75}, "navigational graph ×1.5"),
        ("how are requests retried?", {"lexical": 1.0, "semantic": 2.6, "graph": 0.5}, "exploratory semantic ×1.3"),
    ],
)
def test_what_is_asked_for_shifts_the_shares(text: str, shares: dict[str, float], note: str) -> None:
    run = run_for(DictStore(), text)
    run.retriever_weights = {"lexical": 1.0, "semantic": 2.0, "graph": 0.5}
    assert len(AdaptiveWeights()(run)) == 1
    assert run.retriever_weights == pytest.approx(shares) and run.notes == [note]


def test_a_retriever_that_is_not_there_gets_no_share() -> None:
    run = run_for(DictStore(), "the installation guide")
    run.retriever_weights = {"lexical": 1.0}
    assert len(AdaptiveWeights()(run)) == 0
    assert run.retriever_weights == {"lexical": 1.0} and run.notes == ["navigational"]


@pytest.mark.parametrize(
    ("scores", "factor"),
    [
        ([9, 9, 0, 0], 1.0),  # 1 1 0 0: a variance of 0.25
        ([9, 9, 8, 8], 0.5),  # hardly a difference: as little as can be
        ([5, 5, 5], 0.5),
        ([8] + [0] * 15, 15 / 256 / 0.1),  # one of sixteen stands out
        ([3], 1.0),
        ([], 1.0),
        ([8] + [-100] * 15, 15 / 256 / 0.1),
        ([-2, -2, -4, -4], 0.5),
        ([0.0, 0.0], 0.5),
    ],
)
def test_low_variance_makes_a_retriever_count_less(scores: list[float], factor: float) -> None:
    assert VarianceWeights(depth=16).factor(scores) == pytest.approx(factor)


def test_only_the_first_candidates_are_judged() -> None:
    assert VarianceWeights(depth=4).factor([9, 9, 9, 9, 0]) == 0.5


def test_shares_keep_their_sum_and_an_empty_ranking_is_left_out() -> None:
    run = run_for(DictStore(), "x")
    run.retriever_weights = {"lexical": 1.0, "semantic": 2.0, "tagged": 0.3}
    clear = [ScoredChunk(key, score) for key, score in enumerate([9, 9, 0, 0])]
    muddy = [ScoredChunk(key, 0.8) for key in range(4)]
    assert len(VarianceWeights()({"lexical": clear, "semantic": muddy, "tagged": []}, run)) == 2
    assert run.retriever_weights == pytest.approx({"lexical": 1.5, "semantic": 1.5, "tagged": 0.3})
    assert run.notes == ["lexical ×1.00 semantic ×0.50"]


SCORES = st.lists(st.floats(-1e6, 1e6), max_size=20)


@given(SCORES, SCORES, st.floats(0, 10), st.floats(0, 10))
def test_shares_stay_finite_and_keep_their_sum(first: list[float], second: list[float], one: float, two: float) -> None:
    run = run_for(DictStore(), "x")
    run.retriever_weights = {"lexical": one, "semantic": two}
    rankings = {"lexical": [ScoredChunk(1, it) for it in first], "semantic": [ScoredChunk(1, it) for it in second]}
    VarianceWeights()(rankings, run)
    assert all(math.isfinite(it) and it >= 0 for it in run.retriever_weights.values())
    assert sum(run.retriever_weights.values()) == pytest.approx(one + two)
