"""Waits until what changes has been left alone for a while, and takes little time to look."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

_SHARE: Final = 20  # of the time, at most one part in so many is spent looking


class Quiet:
    """Asked again and again about things that differ, each with its state: it is due when no state moved for so long,
    and what was done about it in vain is due again after a while."""

    def __init__(self, quiet_s: float, again_s: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._quiet_s = quiet_s
        self._again_s = again_s
        self._timer = timer
        self._states: Mapping[str, str] = {}
        self._since = 0.0
        self._look_at = 0.0
        self._told: tuple[Mapping[str, str], float] | None = None

    def is_due(self, differing: Callable[[], Mapping[str, str]], now: float) -> bool:
        self._look(differing, now)
        if not self._states or now - self._since < self._quiet_s or self._is_told(now):
            return False
        self._told = self._states, now
        return True

    def _look(self, differing: Callable[[], Mapping[str, str]], now: float) -> None:
        if now < self._look_at:
            return
        began = self._timer()
        states = differing()
        self._look_at = now + _SHARE * (self._timer() - began)
        if states != self._states:
            self._states, self._since = states, now

    def _is_told(self, now: float) -> bool:
        return self._told is not None and self._told[0] == self._states and now - self._told[1] < self._again_s
