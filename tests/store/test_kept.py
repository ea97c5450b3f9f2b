"""What is kept of what was asked for: made once, the least wanted goes first, within bounds."""

from __future__ import annotations

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dowse.store.sqlite.database import LruCache, deep_size

_KB = 1_000
_SLACK = 500  # bytes that all the texts of a test take besides their letters


class Making:
    """Counts what it is asked to make; sizes are in kilobytes."""

    def __init__(self, kept: LruCache) -> None:
        self.kept = kept
        self.made: list[str] = []

    def once(self, name: str, size: int = 1) -> str:
        return self.kept.get_or_make(name, lambda: self._make(name, size))

    def _make(self, name: str, size: int) -> str:
        self.made.append(name)
        return name * size * _KB


def test_what_was_asked_for_last_stays() -> None:
    making = Making(LruCache(2, 100 * _KB))
    for name in "abacab":
        assert making.once(name) == name * _KB
    assert making.made == [*"abcb"]  # when c came, a had just been asked for and b had not


def test_what_is_too_much_in_all_goes_but_the_last() -> None:
    making = Making(LruCache(10, 10 * _KB + _SLACK))
    making.once("a", 4)
    making.once("b", 6)
    making.once("a", 4)
    making.once("c", 3)  # b goes, which is enough
    making.once("a", 4)
    assert making.made == [*"abc"]
    making.once("d", 50)
    making.once("d", 50)
    assert making.made == [*"abcd"]
    making.once("a", 4)
    making.once("d", 50)
    assert making.made == [*"abcdad"]


def test_what_was_dropped_is_made_anew_and_counts_no_more() -> None:
    making = Making(LruCache(10, 10 * _KB + _SLACK))
    making.once("a", 9)
    making.kept.drop("a")
    making.kept.drop("nothing")
    making.once("b", 9)
    making.once("c", 1)
    making.once("b", 9)
    assert making.made == [*"abc"]
    making.once("a", 1)
    assert making.made == [*"abca"]


def test_what_is_dropped_while_it_is_made_is_given_but_not_kept() -> None:
    kept = LruCache(10, 10)

    def make() -> str:
        kept.drop("a")
        return "made"

    assert kept.get_or_make("a", make) == "made"
    assert kept.get_or_make("a", lambda: "anew") == "anew"


def test_what_fails_is_tried_again() -> None:
    kept = LruCache(2, 10)

    def fail() -> str:
        raise OSError("not now")

    with pytest.raises(OSError, match="not now"):
        kept.get_or_make("a", fail)
    assert kept.get_or_make("a", lambda: "made") == "made"


def test_others_wait_for_who_asked_first_and_for_nobody_else() -> None:
    making, begun, go_on = Making(LruCache(4, 100 * _KB)), threading.Event(), threading.Event()

    def slowly() -> str:
        begun.set()
        assert go_on.wait(30)
        return making._make("a", 1)

    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(making.kept.get_or_make, "a", slowly)
        assert begun.wait(30)
        others = [pool.submit(making.once, "a") for _ in range(2)]
        assert making.once("b")[:1] == "b"  # nobody has to wait for another answer
        go_on.set()
        assert {it.result(30) for it in (first, *others)} == {"a" * _KB}
    assert making.made == ["b", "a"]


def test_what_is_kept_weighs_what_it_takes() -> None:
    """As large as what Python takes for it, within what shared parts and growing lists differ by."""
    many = range(10_000, 20_000)
    for make in (
        lambda: "a" * 300_000,
        lambda: frozenset(many),
        lambda: [f"src/{number}.py" for number in many],
        lambda: {f"author {number}": [*range(number, number + 9)] for number in many},
        lambda: np.arange(50_000),
    ):
        tracemalloc.start()
        made: object = make()
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert deep_size(made) == pytest.approx(taken, rel=0.25)
