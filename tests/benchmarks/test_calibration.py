"""Constants that made the data are found again, and what is measured is what hits say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import calibration
from calibration import Judged


def judged(name: str, odds: tuple[float, ...], seed: int) -> Judged:
    chance = np.random.default_rng(seed)
    known = np.column_stack([chance.random(4000), chance.random(4000), np.log(chance.integers(1, 11, 4000))])
    share = 1 / (1 + np.exp(-(odds[0] + known @ np.array(odds[1:]))))
    return Judged(name, "made up", known, share, (chance.random(4000) < share).astype(float))


def test_what_made_the_data_is_found_again() -> None:
    made_of = (-1.1, 1.9, 2.5, -1.0)
    found = calibration._fitted([judged("one", made_of, 1), judged("other", made_of, 2)])
    assert found == pytest.approx(made_of, abs=0.25)


@pytest.mark.parametrize(
    ("said", "share"), [((0.9, 0.8, 0.2, 0.1), 1.0), ((0.1, 0.2, 0.8, 0.9), 0.0), ((0.5, 0.5, 0.5, 0.5), 0.5)]
)
def test_how_often_a_right_one_is_surer(said: tuple[float, ...], share: float) -> None:
    assert calibration._auc(np.array(said), np.array([1.0, 1.0, 0.0, 0.0])) == share


def test_a_row_for_every_set_with_and_without_it() -> None:
    lines = calibration._lines([judged("one", (0.0, 0.0, 0.0, 0.0), 1), judged("other", (0.0, 0.0, 0.0, 0.0), 2)])
    rows = [line.split(" | ")[0].strip("| ") for line in lines if line.startswith("| ")]
    assert rows[2:] == ["one", "other", "one, fitted to the other sets", "other, fitted to the other sets", "**all**"]
    (middle,) = {line.split(" | ")[3] for line in lines if line.startswith("| one |")}
    said, right = (float(it.split(" ")[0]) for it in middle.split("→ ")[:1] + middle.split("→ ")[1:])
    assert said == pytest.approx(right, abs=0.05)
