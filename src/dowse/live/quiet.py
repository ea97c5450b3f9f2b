"""Waits until what changes has been left alone for a while, and takes little time to look."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

_SHARE: Final = 20  # of the time, at most one part in so many is spent looking


class Quiet:
    """Told again and again what differs, each with its state; it is due when no state moved for so long."""

    def __init__(self, quiet_s: float, timer: Callable[[], float] = time.monotonic) -> None:
        self._quiet_s = quiet_s
        self._timer = timer
        self._states: Mapping[str, str] = {}
        self._since = 0.0
        self._look_at = 0.0

    def is_due(self, differing: Callable[[], Mapping[str, str]], now: float) -> bool:
        if now >= self._look_at:
            began = self._timer()
            states = differing()
            self._look_at = now + _SHARE * (self._timer() - began)
            if states != self._states:
                self._states, self._since = states, now
        return bool(self._states) and now - self._since >= self._quiet_s
