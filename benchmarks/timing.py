"""Stopwatches and percentiles."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def timed(work: Callable[Given, Result], *values: Given.args, **named: Given.kwargs) -> tuple[Result, float]:
    """What the work gives, and the milliseconds it took."""
    began = time.perf_counter()
    result = work(*values, **named)
    return result, (time.perf_counter() - began) * 1000


def ms(work: Callable[Given, object], *values: Given.args, **named: Given.kwargs) -> float:
    return timed(work, *values, **named)[1]


def p(values: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile: a value that was really measured."""
    return sorted(values)[max(ceil(percent * len(values) / 100), 1) - 1]


def p50_p95(values: Sequence[float]) -> str:
    return f"p50 {p(values, 50):.2f} ms, p95 {p(values, 95):.2f} ms"


def times(theirs: float, ours: float) -> str:
    ratio = theirs / ours
    return f"{ratio:.1f} ×" if ratio >= 1 else f"{ratio:.2g} ×"
