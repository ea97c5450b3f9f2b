"""Age as a multiplier: tiers with their edges, half-lives, clocks that disagree."""

from __future__ import annotations

import pytest
from refine_support import hits, places, put, run_over

from dowse.search.stages.recency import HalfLifeDecay, RecencyTiers
from oracle.dict_store import DictStore


@pytest.mark.parametrize(
    ("age_days", "factor"),
    [(-400, 1.2), (0, 1.2), (7, 1.2), (7.01, 1.1), (30, 1.1), (30.01, 1.0), (20_000, 1.0)],
)
def test_tiers(memory: DictStore, age_days: float, factor: float) -> None:
    put(memory, "a.md", "text", age_days=age_days)
    (hit,) = RecencyTiers()(hits(memory, {"a.md": 0.5}), run_over(memory))
    assert hit.score == pytest.approx(0.5 * factor)
    assert hit.evidence.get("recency", 1.0) == factor
    assert hit.evidence.get("age_days", 0.0) == pytest.approx(max(0.0, age_days) if factor > 1 else 0.0)


@pytest.mark.parametrize(
    ("half_life", "strength", "age_days", "decay"),
    [
        (180, 0.3, 0, 1.0), (180, 0.3, 180, 0.85), (180, 0.3, 360, 0.775), (180, 1, 180, 0.5),
        (180, 1, 1e6, 0.0), (180, 0, 1000, 1.0), (1e-300, 0.5, 1, 0.5), (180, 0.3, -5, 1.0),
    ],
)  # fmt: skip
def test_half_lives(memory: DictStore, half_life: float, strength: float, age_days: float, decay: float) -> None:
    put(memory, "a.md", "text", age_days=age_days)
    (hit,) = HalfLifeDecay(half_life, strength)(hits(memory, {"a.md": 0.5}), run_over(memory))
    assert hit.score == pytest.approx(0.5 * decay)
    assert hit.evidence.get("decay", 1.0) == pytest.approx(decay)


@pytest.mark.parametrize("stage", [RecencyTiers(), HalfLifeDecay(30, 0.5)])
def test_a_newer_record_may_overtake(memory: DictStore, stage: RecencyTiers | HalfLifeDecay) -> None:
    put(memory, "old.md", "text", age_days=300)
    put(memory, "new.md", "text")
    assert places(stage(hits(memory, {"old.md": 0.5, "new.md": 0.45}), run_over(memory))) == ["new.md#0", "old.md#0"]


def test_a_half_life_of_zero_is_off_and_says_so(memory: DictStore) -> None:
    put(memory, "a.md", "text", age_days=300)
    found, run = hits(memory, {"a.md": 0.5}), run_over(memory)
    assert HalfLifeDecay(0, 0.9)(found, run) == found
    assert run.notes == ["disabled: the half-life is 0 days"]
