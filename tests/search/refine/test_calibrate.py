"""Scores as confidences and shares, and what is too low to show."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refine_support import hits, places, put, run_over

from dowse.search.refine.calibrate import Calibrate, MinConfidence, normalise
from dowse.store.dicts import DictStore

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


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([], []), ([3.0], [1.0]), ([0.0], [1.0]), ([-2.0], [1.0]), ([4.0, 2.0, 1.0], [1.0, 0.5, 0.25]),
        ([2.0, 2.0], [1.0, 1.0]), ([2.0, 0.0, -1.0], [1.0, 0.0, 0.0]), ([-1.0, -1.0, -2.0], [1.0, 1.0, 0.0]),
    ],
)  # fmt: skip
def test_shares_of_the_best(memory: DictStore, before: list[float], after: list[float]) -> None:
    put(memory, "a.md", *(f"text {place}" for place in range(len(before))))
    found = hits(memory, {f"a.md#{place}": score for place, score in enumerate(before)})
    shares = normalise(found, run_over(memory))
    assert [it.score for it in shares] == after
    assert [it.evidence["unnormalised"] for it in shares] == before
    assert [it.score for it in normalise(shares, run_over(memory))] == after


@pytest.mark.parametrize(("least", "kept", "notes"), [
    (0.3, ["a.md#0", "a.md#1"], ["1 hits below 0.3 were dropped"]),
    (0.0, ["a.md#0", "a.md#1", "a.md#2"], []),
    (2.0, [], ["3 hits below 2 were dropped"]),
])  # fmt: skip
def test_least_confidence(memory: DictStore, least: float, kept: list[str], notes: list[str]) -> None:
    put(memory, "a.md", "one", "two", "three")
    run = run_over(memory)
    assert places(MinConfidence(least)(hits(memory, {"a.md#0": 0.9, "a.md#1": 0.3, "a.md#2": 0.29}), run)) == kept
    assert run.notes == notes
