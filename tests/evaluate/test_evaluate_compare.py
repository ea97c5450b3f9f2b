"""Paired comparison: counts exact, interval and p-value reproducible and on the right side of zero."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.errors import BadInput
from dowse.evaluate import QueryScore, Scores, compare, compare_scores

STEADY = [0.5] * 40


def test_counts_and_mean_are_exact():
    result = compare([0.1, 0.5, 0.5, 1.0], [0.3, 0.5, 0.4, 1.0], seed=1)
    assert (result.queries, result.wins, result.losses, result.ties) == (4, 1, 1, 2)
    assert result.mean_difference == pytest.approx(0.025)
    assert result.verdict == "no difference"


VERDICTS = {
    "better throughout": ([0.6] * 40, "better"),
    "worse throughout": ([0.4] * 40, "worse"),
    "the same": (STEADY, "no difference"),
    "the same but for the last bits": ([0.5 + 1e-15] * 40, "no difference"),
    "as many wins as losses": ([0.4, 0.6] * 20, "no difference"),
    "many small wins, few losses": ([0.55] * 34 + [0.45] * 6, "better"),
    "one lucky query": ([0.5] * 39 + [1.0], "no difference"),
}


@pytest.mark.parametrize(("candidate", "verdict"), VERDICTS.values(), ids=VERDICTS)
def test_verdicts(candidate, verdict):
    assert compare(STEADY, candidate, seed=7).verdict == verdict


def test_three_wins_of_three_prove_nothing():
    """All signs agree in 2 of 8 throws, so the p-value is a quarter however large the wins are."""
    result = compare([0.0] * 3, [1.0] * 3, seed=7)
    assert result.p_value == pytest.approx(0.25, abs=0.02)
    assert result.verdict == "no difference"


def test_the_p_value_is_never_zero():
    assert compare(STEADY, [0.6] * 40, seed=7, rounds=99).p_value == pytest.approx(0.01)


def test_identical_recipes_have_an_empty_interval():
    result = compare(STEADY, STEADY, seed=3)
    assert (result.low, result.high, result.p_value, result.ties) == (0.0, 0.0, 1.0, 40)


def test_the_interval_is_close_to_the_normal_one():
    """Differences of ±0.1 shifted by 0.05: the mean's standard error is 0.01 over 100 queries."""
    candidate = [0.65, 0.45] * 50
    result = compare([0.5] * 100, candidate, seed=11)
    assert result.low == pytest.approx(0.05 - 1.96 * 0.01, abs=0.003)
    assert result.high == pytest.approx(0.05 + 1.96 * 0.01, abs=0.003)


values = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12)


@settings(max_examples=40)
@given(values, st.integers())
def test_swapping_the_recipes_mirrors_the_result(pairs, seed):
    baseline, candidate = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    there = compare(baseline, candidate, seed=seed, rounds=200)
    back = compare(candidate, baseline, seed=seed, rounds=200)
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties)
    assert there.mean_difference == pytest.approx(-back.mean_difference)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.p_value == back.p_value
    assert there.low - 1e-12 <= there.high


@given(values, st.integers())
@settings(max_examples=20)
def test_the_same_seed_gives_the_same_result(pairs, seed):
    baseline, candidate = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert compare(baseline, candidate, seed=seed, rounds=100) == compare(baseline, candidate, seed=seed, rounds=100)


def test_another_seed_throws_other_coins():
    baseline, candidate = [0.0, 0.2, 0.4, 0.3, 0.9], [0.1, 0.3, 0.2, 0.9, 0.5]
    results = {compare(baseline, candidate, seed=seed, rounds=101).p_value for seed in range(5)}
    assert len(results) > 1


@pytest.mark.parametrize(("baseline", "candidate"), [([], []), ([1.0], [1.0, 0.0])])
def test_values_that_cannot_be_paired(baseline, candidate):
    with pytest.raises(BadInput, match="give one per query"):
        compare(baseline, candidate, seed=1)


def scored(**values):
    return Scores(tuple(QueryScore(id, {"mrr": value}, 1.0) for id, value in values.items()))


def test_scores_are_paired_by_query_id():
    result = compare_scores(scored(a=0.0, b=1.0, c=0.5), scored(c=0.5, b=1.0, a=0.9), "mrr", seed=1)
    assert (result.wins, result.losses, result.ties) == (1, 0, 2)
    assert result.mean_difference == pytest.approx(0.3)


def test_scores_of_different_queries_or_measures_are_refused():
    with pytest.raises(BadInput, match="same gold set"):
        compare_scores(scored(a=1.0), scored(b=1.0), "mrr", seed=1)
    with pytest.raises(BadInput, match="unknown measure 'ndcg@10'; choose one of mrr"):
        compare_scores(scored(a=1.0), scored(a=1.0), "ndcg@10", seed=1)
