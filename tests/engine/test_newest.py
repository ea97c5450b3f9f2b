"""How often repositories are looked at before answers."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dowse.engine import freshness as newest
from dowse.engine.freshness import InlineReindex, RefCheck

_QUESTIONS_S = 0.01  # from one to the next


@pytest.fixture(autouse=True)
def as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests take any look for a cheap one."""
    monkeypatch.setattr(newest, "_CHEAP_REF_CHECK_S", 0.005)


def looks(took_s: Sequence[float], questions: int) -> int:
    """How many of so many questions looked, where looks take so long, over and over."""
    now, count = 0.0, 0

    def behind() -> dict[str, str]:
        nonlocal now, count
        now += took_s[count % len(took_s)]
        count += 1
        return {}

    looking = RefCheck(behind, InlineReindex(lambda collection, paths: None, lambda: now), lambda: now, repair_s=0.0)
    for _ in range(questions):
        looking.check()
        now += _QUESTIONS_S
    looking.close()
    return count


@pytest.mark.parametrize("took_s", [[0.001], [0.001, 3.0], [2.0, 1.0, 0.002]])
def test_cheap_looks_are_made_for_every_question_though_some_are_held_up(took_s: list[float]) -> None:
    assert looks(took_s, 50) == 50


def test_dear_ones_take_a_tenth_of_all_time() -> None:
    assert looks([0.1], 303) == 3 + 3  # the first three, then one a second
