"""Work done ahead by threads comes in its order, in bounded batches, and stops with whoever takes it."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dowse.ingest.pipeline import MAX_AHEAD_BYTES, MAX_BATCH_BYTES, MAX_BATCH_ITEMS, run_in_batches


def nothing() -> None:
    pass


@settings(max_examples=30)
@given(
    sizes=st.lists(
        st.sampled_from([1, 1_000, MAX_BATCH_BYTES // 3, MAX_AHEAD_BYTES, 2 * MAX_AHEAD_BYTES]), max_size=1_000
    ),
    threads=st.integers(1, 4),
)
def test_batches_are_in_order_and_bounded(sizes: list[int], threads: int) -> None:
    arrived: list[None] = []
    work = ((partial(lambda place: place, place), size) for place, size in enumerate(sizes))
    batches = list(run_in_batches(work, threads, lambda: arrived.append(None)))
    assert [place for batch in batches for place in batch] == list(range(len(sizes)))
    assert len(arrived) == len(sizes)
    for batch in batches:
        assert 0 < len(batch) <= MAX_BATCH_ITEMS
        assert len(batch) == 1 or sum(sizes[place] for place in batch) <= MAX_BATCH_BYTES


def test_order_does_not_depend_on_who_is_quicker() -> None:
    rng = random.Random(3)

    def slow(place: int, wait_s: float) -> int:
        time.sleep(wait_s)
        return place

    work = ((partial(slow, place, rng.random() / 500), 50_000) for place in range(600))
    found = [place for batch in run_in_batches(work, 4, nothing) for place in batch]
    assert found == list(range(600))


def test_only_so_much_is_begun_ahead() -> None:
    begun: list[int] = []

    def work() -> Iterator[tuple[Callable[[], None], int]]:
        for place in range(100):
            begun.append(place)
            yield nothing, MAX_AHEAD_BYTES // 4

    taken = run_in_batches(work(), 2, nothing)
    next(taken)
    assert len(begun) <= 10
    taken.close()


def test_whoever_stops_does_not_wait_for_what_was_begun() -> None:
    going_on = threading.Event()
    done: list[int] = []

    def wait(place: int) -> None:
        going_on.wait(60)
        done.append(place)

    work = [(nothing, 1), *((partial(wait, place), 1) for place in range(100))]
    taken = run_in_batches(iter(work), 1, nothing)
    next(taken)
    taken.close()
    assert done == []
    going_on.set()


def test_what_one_raises_is_raised_in_its_turn() -> None:
    def fail() -> int:
        raise KeyError("of the work")

    taken = run_in_batches(iter([(lambda: 1, 1), (fail, 1)]), 1, nothing)
    with pytest.raises(KeyError, match="of the work"):
        list(taken)
