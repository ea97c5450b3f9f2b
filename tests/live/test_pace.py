"""When a job will be done: from how quickly it goes, whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.live.job import ProgressRate, Throttle


def at(pace: ProgressRate, *steps: tuple[str, int, int, float]) -> float | None:
    for step in steps:
        pace.note(*step)
    return pace.eta_s


def test_nothing_is_known_before_something_was_done() -> None:
    assert ProgressRate().eta_s is None
    assert at(ProgressRate(), ("reading", 0, 100, 5.0)) is None
    assert at(ProgressRate(), ("reading", 0, 100, 5.0), ("reading", 0, 100, 50.0)) is None


def test_a_steady_rate_is_extrapolated() -> None:
    steps = [("reading", done, 100, float(done)) for done in range(51)]
    assert at(ProgressRate(), *steps) == pytest.approx(50.0)


def test_what_was_done_before_does_not_count_as_quick() -> None:
    assert at(ProgressRate(), ("reading", 900, 1000, 0.0), ("reading", 901, 1000, 1.0)) == pytest.approx(99.0)


def test_a_new_stage_or_a_new_try_begins_anew() -> None:
    first = [("reading", done, 100, float(done)) for done in range(20)]
    assert at(ProgressRate(), *first, ("encoding", 19, 100, 20.0)) is None
    assert at(ProgressRate(), *first, ("reading", 0, 100, 20.0)) is None
    assert at(ProgressRate(), *first, ("reading", 500, 1000, 20.0)) is None


def test_a_change_of_pace_is_followed_but_not_at_once() -> None:
    slow = [("reading", done, 10_000, float(done)) for done in range(10)]
    one = [*slow, ("reading", 109, 10_000, 10.0)]
    assert 99 < (at(ProgressRate(), *one) or 0) < 9_891
    many = [*slow, *(("reading", 9 + 100 * step, 10_000, 9.0 + step) for step in range(1, 60))]
    assert at(ProgressRate(), *many) == pytest.approx((10_000 - 5_909) / 100, rel=0.05)


def test_steps_in_quick_succession_are_taken_together() -> None:
    steps = [("reading", done, 1000, done / 1000) for done in range(501)]
    assert at(ProgressRate(), *steps) == pytest.approx(0.5, rel=0.05)


def test_two_steps_in_one_moment_say_nothing() -> None:
    assert at(ProgressRate(), ("reading", 0, 100, 0.0), ("reading", 1, 100, 0.001)) is None


def test_more_than_all_leaves_nothing_to_do() -> None:
    assert at(ProgressRate(), ("reading", 0, 5, 0.0), ("reading", 9, 5, 1.0)) == 0


def test_a_clock_that_went_backwards_is_followed_from_there() -> None:
    assert at(
        ProgressRate(), ("reading", 0, 100, 1e6), ("reading", 1, 100, 0.0), ("reading", 2, 100, 1.0)
    ) == pytest.approx(98)


STEPS = st.tuples(
    st.sampled_from(["reading", "encoding"]),
    st.integers(0, 1000),
    st.integers(0, 1000),
    st.floats(-1e9, 1e9, allow_nan=False),
)


@given(st.lists(STEPS, max_size=30))
def test_it_is_never_negative(steps: list[tuple[str, int, int, float]]) -> None:
    eta_s = at(ProgressRate(), *steps)
    assert eta_s is None or eta_s >= 0


def test_every_so_often_even_when_the_clock_goes_backwards() -> None:
    every = Throttle(2.0)
    assert [every.is_due(now) for now in (5.0, 6.9, 7.0, 8.0, 1.0, 2.9, 3.0)] == [
        True, False, True, False, True, False, True,
    ]  # fmt: skip
