"""The time, as something that is handed in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is the time of day, in seconds since 1970; `elapsed` never goes back."""

    now: Callable[[], float] = time.time
    elapsed: Callable[[], float] = time.monotonic


SYSTEM_CLOCK = Clock()
