"""What is loaded once, however many ask at the same time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from dowse.encoders.base import LazyValue


def test_it_is_made_once_when_it_is_asked_for() -> None:
    together = threading.Barrier(8)
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    once = LazyValue(make)
    assert made == []

    def ask() -> object:
        together.wait(20)
        return once()

    with ThreadPoolExecutor(8) as pool:
        found = [it.result(20) for it in [pool.submit(ask) for _ in range(8)]]
    assert len(made) == 1
    assert {id(it) for it in found} == {id(made[0])}


def test_after_a_failure_the_next_tries_again() -> None:
    tries: list[int] = []

    def make() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not now")
        return "here"

    once = LazyValue(make)
    with pytest.raises(OSError, match="not now"):
        once()
    assert (once(), once(), len(tries)) == ("here", "here", 2)
