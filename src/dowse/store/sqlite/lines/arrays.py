"""What numpy lacks, or does several times slower than this: runs in ascending values, and sums of rows."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Numbers = NDArray[np.int64]
Ordered = TypeVar("Ordered", bound=np.generic)


def begins(ascending: Array) -> Numbers:
    """Where a value begins that differs from the one before."""
    changes = np.ones(len(ascending), dtype=np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=changes[1:])
    return np.flatnonzero(changes)


def distinct(ascending: NDArray[Ordered]) -> NDArray[Ordered]:
    """Each value once."""
    return ascending[begins(ascending)]


def lengths(starts: Numbers, end: int) -> Numbers:
    """How long the runs are that begin there; the last one ends there."""
    result = np.empty(len(starts), dtype=np.int64)
    np.subtract(starts[1:], starts[:-1], out=result[:-1])
    result[-1:] = end - starts[-1:]
    return result


def runs(starts: Numbers, counts: Numbers) -> Numbers:
    """The places of runs that begin there and are so long, one run after another."""
    shifts = starts - (np.cumsum(counts) - counts)
    result: Numbers = np.repeat(shifts, counts) + np.arange(int(counts.sum()))
    return result


def among(wanted: Array, ascending: Array) -> NDArray[np.bool_]:
    """Of each of the wanted whether it is in the other array; costs by the first rather than by the second."""
    if not len(ascending):
        return np.zeros(len(wanted), dtype=np.bool_)
    places = np.searchsorted(ascending, wanted)
    places[places == len(ascending)] = 0
    result: NDArray[np.bool_] = ascending[places] == wanted
    return result


def any_between(ascending: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Of each pair of bounds whether a value lies between them, or is one of them."""
    places = np.searchsorted(ascending, low)
    within = places < len(ascending)
    result: NDArray[np.bool_] = within & (ascending[np.where(within, places, 0)] <= high)
    return result
