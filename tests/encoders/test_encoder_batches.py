"""Grouping texts by length, and encoding them group by group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.encoders.base import (
    BATCH_CHARS,
    encode_in_batches,
    group_by_equal_length,
    group_by_similar_length,
    pack_by_length,
)
from dowse.encoders.static import HashingEncoder

LENGTHS = st.lists(st.integers(min_value=1, max_value=300), max_size=60)


@pytest.mark.parametrize(
    ("lengths", "budget", "groups"),
    [
        ([], 10, []),
        ([99], 10, [[0]]),
        ([5, 5, 5], 10, [[0, 1], [2]]),
        ([9, 1, 2, 8], 10, [[1, 2], [3], [0]]),
        ([4, 4, 4, 4], 100, [[0, 1, 2, 3]]),
    ],
)
def test_groups_hold_like_lengths_within_the_budget(lengths, budget, groups):
    assert list(pack_by_length(lengths, budget)) == groups


@given(LENGTHS, st.integers(min_value=1, max_value=1000))
def test_every_position_comes_once_and_only_single_texts_exceed_the_budget(lengths, budget):
    groups = list(pack_by_length(lengths, budget))
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or len(group) * max(lengths[position] for position in group) <= budget


@pytest.mark.parametrize(
    ("lengths", "budget", "groups"),
    [
        ([], 10, []),
        ([99, 99], 10, [[0], [1]]),
        ([5, 5, 5], 10, [[0, 1], [2]]),
        ([4, 2, 4, 3, 2], 100, [[1, 4], [3], [0, 2]]),
        ([0, 0], 1, [[0], [1]]),
    ],
)
def test_groups_of_one_length_stay_within_the_budget(lengths, budget, groups):
    assert list(group_by_equal_length(lengths, budget)) == groups


@given(LENGTHS, st.integers(min_value=1, max_value=1000))
def test_groups_of_one_length_hold_every_position_once(lengths, budget):
    groups = list(group_by_equal_length(lengths, budget))
    assert sorted(position for group in groups for position in group) == list(range(len(lengths)))
    for group in groups:
        assert len({lengths[position] for position in group}) == 1
        assert len(group) == 1 or sum(lengths[position] for position in group) <= budget


def test_huge_texts_share_a_group_because_the_model_cuts_them():
    assert list(group_by_similar_length(["x" * 10 * BATCH_CHARS] * 2)) == [[0, 1]]


def test_empty_texts_do_not_make_one_endless_group():
    assert len(list(group_by_similar_length([""] * 3 * BATCH_CHARS))) == 3


@settings(deadline=None)
@given(st.lists(st.text(alphabet="ab c", max_size=3000), max_size=8))
def test_rows_of_batches_are_the_rows_of_one_call(texts):
    encoder = HashingEncoder(16)
    rows = np.full((len(texts), 16), np.nan, dtype=np.float32)
    for positions, part in encode_in_batches(encoder, texts):
        rows[positions] = part
    np.testing.assert_array_equal(rows, encoder.encode(texts))


def test_work_is_done_only_as_far_as_it_is_asked_for():
    encoded: list[int] = []

    class Counting(HashingEncoder):
        def encode(self, texts):
            encoded.append(len(texts))
            return super().encode(texts)

    batches = encode_in_batches(Counting(), ["word " * 300] * 20)
    next(batches)
    assert encoded == [15]
