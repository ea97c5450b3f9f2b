"""Scores as confidences and shares, and what is too low to show."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refine_support import hits, places, put, run_over

from dowse.encoders.base import EncoderTraits
from dowse.search.run import QueryVector
from dowse.search.stages.base import rescore
from dowse.search.stages.scores import Calibrate, ConfidenceFloor, MinConfidence
from oracle.dict_store import DictStore

NUMBERS = st.floats(allow_nan=False)


@pytest.mark.parametrize(
    ("score", "confidence"),
    [(0.035, 0.5), (0.0328, 0.41824), (0.0164, 0.05787), (0.0, 0.00522), (0.05, 0.90465), (30.0, 1.0), (-30.0, 0.0)],
)
def test_the_sigmoid(score: float, confidence: float) -> None:
    assert Calibrate().confidence(score) == pytest.approx(confidence, abs=1e-5)


@given(NUMBERS, NUMBERS, st.floats(0.001, 1e308), st.floats(-1e308, 1e308))
def test_confidences_keep_the_order_of_any_scores(one: float, other: float, steepness: float, threshold: float) -> None:
    confidence = Calibrate(threshold, steepness).confidence
    low, high = confidence(min(one, other)), confidence(max(one, other))
    assert 0 <= low <= high <= 1


def test_not_a_number_is_no_confidence() -> None:
    assert Calibrate().confidence(math.nan) == pytest.approx(0)


@pytest.mark.parametrize(("least", "kept", "notes"), [
    (0.3, ["a.md#0", "a.md#1"], ["hits dropped with a score below 0.3: 1"]),
    (0.0, ["a.md#0", "a.md#1", "a.md#2"], []),
    (2.0, [], ["hits dropped with a score below 2: 3"]),
])  # fmt: skip
def test_least_confidence(memory: DictStore, least: float, kept: list[str], notes: list[str]) -> None:
    put(memory, "a.md", "one", "two", "three")
    run = run_over(memory)
    assert places(MinConfidence(least)(hits(memory, {"a.md#0": 0.9, "a.md#1": 0.3, "a.md#2": 0.29}), run)) == kept
    assert run.notes == notes


@pytest.mark.parametrize(
    ("evidence", "unrelated", "kept"),
    [
        ({"lexical_rank": 1.0}, 0.0, True),  # a memory of a moment ago has no vector
        ({"lexical_rank": 1.0, "semantic_rank": 90.0, "cosine": 0.1}, 0.6, True),
        ({"lexical_rank": 60.0}, 0.0, False),
        ({"semantic_rank": 1.0, "cosine": 0.7}, 0.0, False),  # nobody knows what 0.7 means
        ({"semantic_rank": 1.0, "cosine": 0.7}, 0.6, True),
        ({"semantic_rank": 1.0, "cosine": 0.5}, 0.6, False),
        ({}, 0.6, False),
    ],
)
def test_one_retriever_may_vouch_for_a_hit(
    memory: DictStore, evidence: dict[str, float], unrelated: float, kept: bool
) -> None:
    put(memory, "a.md", "one")
    run = run_over(memory)
    run.retriever_weights.update(lexical=1.0, semantic=1.0)
    run.vector = QueryVector(None, traits=EncoderTraits(similarity_floor=unrelated))
    (found,) = hits(memory, {"a.md#0": 1 / 61})
    assert bool(ConfidenceFloor(0.2)([rescore(found, found.score, **evidence)], run)) is kept
    assert len(run.notes) == (not kept)


def test_what_all_agree_on_needs_nobody_to_vouch_for_it(memory: DictStore) -> None:
    put(memory, "a.md", "one", "two")
    run = run_over(memory)
    found = hits(memory, {"a.md#0": 2 / 61, "a.md#1": 2 / 100})
    assert places(ConfidenceFloor(0.2)(found, run)) == ["a.md#0"]
    assert run.notes == ["hits dropped with a confidence below 0.2: 1"]
    assert ConfidenceFloor(0.0)(found, run_over(memory)) == found
