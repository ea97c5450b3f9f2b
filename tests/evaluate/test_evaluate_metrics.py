"""Metrics against tables worked out by hand, and judges against rankings."""

from __future__ import annotations

from collections import Counter
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dowse.evaluate import metrics
from dowse.evaluate.gold import DocumentJudge, PathJudge

# Discounts of ranks 1 to 4: 1, 0.63093, 0.5, 0.43068.
NDCG = [
    ([1], [1], 10, 1.0),
    ([0, 1], [1], 10, 0.63093),
    ([0, 0, 1], [1], 10, 0.5),
    ([0, 0, 1], [1], 2, 0.0),
    ([1, 0, 1], [1, 1], 10, 1.5 / 1.63093),
    ([1, 0, 1], [1, 1], 1, 1.0),
    ([1, 3], [3, 1], 10, (1 + 3 * 0.63093) / (3 + 0.63093)),
    ([2, 0, 0, 1], [2, 1], 3, 2 / 2.63093),
    ([], [1], 10, 0.0),
    ([0, 0], [], 10, 0.0),
]


@pytest.mark.parametrize(("gains", "ideal", "k", "expected"), NDCG)
def test_ndcg(gains, ideal, k, expected):
    assert metrics.ndcg(gains, ideal, k) == pytest.approx(expected, abs=1e-5)


AT_K = [
    # gains, ideal, k, recall, precision, hit
    ([1, 0, 2, 0], [2, 1, 1], 1, 1 / 3, 1.0, 1.0),
    ([1, 0, 2, 0], [2, 1, 1], 3, 2 / 3, 2 / 3, 1.0),
    ([1, 0, 2, 0], [2, 1, 1], 100, 2 / 3, 0.02, 1.0),
    ([0, 0, 1], [1], 2, 0.0, 0.0, 0.0),
    ([], [1], 5, 0.0, 0.0, 0.0),
    ([0, 0], [], 5, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize(("gains", "ideal", "k", "recall", "precision", "hit"), AT_K)
def test_counts_at_k(gains, ideal, k, recall, precision, hit):
    assert metrics.recall(gains, ideal, k) == pytest.approx(recall)
    assert metrics.precision(gains, k) == pytest.approx(precision)
    assert metrics.hit_rate(gains, k) == hit


@pytest.mark.parametrize(
    ("gains", "expected"),
    [
        ([1, 1], 1.0),
        ([0, 3], 0.5),
        ([0, 0, 0, 1], 0.25),
        ([0, 0], 0.0),
        ([], 0.0),
        ([0] * 199 + [1], 1 / 200),
    ],
)
def test_reciprocal_rank_looks_at_the_whole_list(gains, expected):
    assert metrics.reciprocal_rank(gains) == expected


@given(st.lists(st.sampled_from([0.0, 1.0]), max_size=30), st.integers(1, 40))
def test_linear_and_exponential_gains_agree_on_binary_labels(gains, k):
    ideal = sorted((gain for gain in gains if gain), reverse=True)
    exponential = sum((2**gain - 1) / log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))
    best = sum((2**gain - 1) / log2(rank + 1) for rank, gain in enumerate(ideal[:k], 1))
    assert metrics.ndcg(gains, ideal, k) == pytest.approx(exponential / best if best else 0.0)


BY_DOCUMENT = [
    ({"a": 1.0}, ["a", "b"], [1, 0]),
    ({"a": 2.0, "c": 1.0}, ["b", "c", "a"], [0, 1, 2]),
    ({"a": 1.0}, ["a", "a", "a"], [1, 0, 0]),
    ({"a": 1.0}, ["A", "aa", ""], [0, 0, 0]),
    ({"a": 1.0}, [], []),
]


@pytest.mark.parametrize(("relevant", "ranking", "expected"), BY_DOCUMENT)
def test_documents_are_credited_once_by_exact_id(relevant, ranking, expected):
    assert DocumentJudge(relevant).gains(ranking) == expected


BY_PATH = [
    ([("guide", 1.0)], ["docs/guide.md", "docs/guide/old.md"], [1, 0]),
    ([("old", 1.0), ("guide", 2.0)], ["docs/guide.md", "docs/old.md"], [2, 1]),
    ([("guide", 1.0)], ["docs/Guide.md"], [0]),
    # A path is credited for its best open pair; what remains open goes to a later path …
    ([("api/", 1.0), ("auth", 3.0)], ["api/auth.md", "api/keys.md", "api/more.md"], [3, 1, 0]),
    # … but never to the same path again.
    ([("api/", 1.0), ("auth", 3.0)], ["api/auth.md", "api/auth.md"], [3, 0]),
    ([("guide", 1.0)], [], []),
]


@pytest.mark.parametrize(("parts", "ranking", "expected"), BY_PATH)
def test_parts_of_paths_are_credited_once(parts, ranking, expected):
    assert PathJudge(tuple(parts)).gains(ranking) == expected


def test_ideal_is_best_first():
    assert DocumentJudge({"a": 1.0, "b": 3.0, "c": 2.0}).ideal() == [3, 2, 1]
    assert PathJudge((("a", 1.0), ("b", 3.0))).ideal() == [3, 1]


names = st.text("abc", min_size=1, max_size=3)
gains = st.sampled_from([1.0, 2.0, 3.0])
judges = st.one_of(
    st.dictionaries(names, gains, max_size=5).map(DocumentJudge),
    st.lists(st.tuples(names, gains), max_size=5).map(lambda parts: PathJudge(tuple(parts))),
)


@given(judges, st.lists(names, max_size=12), st.integers(1, 15))
def test_no_ranking_beats_the_ideal(judge, ranking, k):
    credited, ideal = judge.gains(ranking), judge.ideal()
    assert len(credited) == len(ranking)
    assert 0 <= metrics.ndcg(credited, ideal, k) <= 1 + 1e-12
    assert 0 <= metrics.recall(credited, ideal, k) <= 1
    assert Counter(gain for gain in credited if gain) <= Counter(ideal)
    assert metrics.ndcg(ideal, ideal, k) == (1.0 if ideal else 0.0)


@given(judges, st.lists(names, unique=True, max_size=12), st.integers(1, 11))
def test_recall_and_hit_never_fall_with_k(judge, ranking, k):
    credited, ideal = judge.gains(ranking), judge.ideal()
    assert metrics.recall(credited, ideal, k) <= metrics.recall(credited, ideal, k + 1)
    assert metrics.hit_rate(credited, k) <= metrics.hit_rate(credited, k + 1)
