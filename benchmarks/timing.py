"""Stopwatches and percentiles."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import NamedTuple, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


def timed(work: Callable[Given, Result], *values: Given.args, **named: Given.kwargs) -> tuple[Result, float]:
    """What the work gives, and the milliseconds it took."""
    began = time.perf_counter()
    result = work(*values, **named)
    return result, (time.perf_counter() - began) * 1000


def ms(work: Callable[Given, object], *values: Given.args, **named: Given.kwargs) -> float:
    return timed(work, *values, **named)[1]


class Cost(NamedTuple):
    """CPU is what the work itself takes, also where others keep the machine busy."""

    wall_ms: float
    cpu_ms: float


def costed(work: Callable[Given, Result], *values: Given.args, **named: Given.kwargs) -> tuple[Result, Cost]:
    """What the work gives and what it costs here, on all threads."""
    began = time.process_time()
    result, wall_ms = timed(work, *values, **named)
    return result, Cost(wall_ms, (time.process_time() - began) * 1000)


def children_costed(work: Callable[Given, Result], *values: Given.args, **named: Given.kwargs) -> tuple[Result, Cost]:
    """What the work gives and what the processes cost that it waits for."""
    began = _children_s()
    result, wall_ms = timed(work, *values, **named)
    return result, Cost(wall_ms, (_children_s() - began) * 1000)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def p(values: Sequence[float], percent: int) -> float:
    """The nearest-rank percentile: a value that was really measured."""
    return sorted(values)[max(ceil(percent * len(values) / 100), 1) - 1]


def p50_p95(values: Sequence[float]) -> str:
    return f"p50 {p(values, 50):.2f} ms, p95 {p(values, 95):.2f} ms"


def times(theirs: float, ours: float) -> str:
    ratio = theirs / ours
    return f"{ratio:.1f} ×" if ratio >= 1 else f"{ratio:.2g} ×"
