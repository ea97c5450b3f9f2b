"""A boost raises and a penalty lowers, also below zero."""

from __future__ import annotations

import pytest

from dowse.search.stages.base import scale_score


@pytest.mark.parametrize(
    ("score", "factor", "product"),
    [
        (0.5, 1.2, 0.6), (0.5, 0.5, 0.25), (0.5, 1, 0.5), (0.5, 0, 0.0), (0.0, 3, 0.0),
        (-0.5, 1.2, -0.4), (-0.5, 0.5, -0.75), (-0.5, 1, -0.5), (-0.5, 0, -1.0),
    ],
)  # fmt: skip
def test_factors(score: float, factor: float, product: float) -> None:
    assert scale_score(score, factor) == pytest.approx(product)
