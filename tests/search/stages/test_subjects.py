"""Promoted and demoted documents, within bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refine_support import hits, places, put, run_over

from dowse.errors import BadInput
from dowse.search.stages.dedup import (
    MAX_PREFERENCE_DELTA,
    MIN_PREFERENCE_DELTA,
    MIN_PREFERENCE_FACTOR,
    Preferences,
    subject_priors,
)
from oracle.dict_store import DictStore


@pytest.mark.parametrize(
    ("deltas", "delta", "multiplier"),
    [
        ([0.2], 0.2, 1.2),
        ([0.2, 0.2], 0.4, 1.4),
        ([4], 4, 5),
        ([9], 4, 5),
        ([3, 3, -1], 3, 4),
        ([-0.5], -0.5, 0.5),
        ([-7], -0.9, 0.1),
        ([-0.9, 0.2], -0.7, 0.3),
        ([0.0], 0, 1),
        ([float("inf")], 4, 5),
        ([float("-inf")], -0.9, 0.1),
    ],
)
def test_deltas_add_up_within_bounds(deltas: list[float], delta: float, multiplier: float) -> None:
    known = Preferences()
    moved = [known.move("ann", "notes", "a.md", it) for it in deltas][-1]
    assert (moved.delta, moved.multiplier) == pytest.approx((delta, multiplier))
    assert known.factors_for("ann") == {("notes", "a.md"): pytest.approx(multiplier)}


@given(st.lists(st.floats(allow_nan=False)))
def test_no_deltas_lead_out_of_bounds(deltas: list[float]) -> None:
    known = Preferences()
    for delta in deltas:
        moved = known.move("ann", "notes", "a.md", delta)
        assert (
            MIN_PREFERENCE_DELTA <= moved.delta <= MAX_PREFERENCE_DELTA
            and MIN_PREFERENCE_FACTOR <= moved.multiplier <= 1 + MAX_PREFERENCE_DELTA
        )


def test_what_is_no_number_is_refused() -> None:
    known = Preferences()
    with pytest.raises(BadInput, match="not a number"):
        known.move("ann", "notes", "a.md", float("nan"))
    assert known.factors_for("ann") == {}


def test_each_subject_has_its_own() -> None:
    known = Preferences()
    known.move("ann", "notes", "a.md", 1)
    before = known.factors_for("ann")
    known.move("ann", "others", "a.md", 1)
    assert known.factors_for("bob") == {}
    assert before == {("notes", "a.md"): 2}
    assert known.factors_for("ann") == {("notes", "a.md"): 2, ("others", "a.md"): 2}


def test_only_the_named_ones_move(memory: DictStore) -> None:
    for name in "abc":
        put(memory, f"{name}.md", "text")
    found = hits(memory, {"a.md": 0.9, "b.md": 0.8, "c.md": 0.7})
    priors = {("notes", "c.md"): 1.5, ("notes", "a.md"): 0.5, ("others", "b.md"): 5.0, ("notes", "x.md"): 5.0}
    moved = subject_priors(found, replace(run_over(memory), priors=priors))
    assert places(moved) == ["c.md#0", "b.md#0", "a.md#0"]
    assert moved[1] is found[1]
    assert moved[2].evidence == {"prior": 0.5} and moved[2].score == pytest.approx(0.45)
    assert subject_priors(found, run_over(memory)) == found
