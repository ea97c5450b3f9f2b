"""The time, as something that is handed in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Moment(NamedTuple):
    """Ordered by what never goes back; `now` is what people are told."""

    elapsed: float = float("-inf")
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is the time of day, in seconds since 1970; `elapsed` never goes back."""

    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic

    def moment(self) -> Moment:
        return Moment(self.elapsed(), self.now())


SYSTEM_CLOCK = Clock()
