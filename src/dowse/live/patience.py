"""How long to wait: for what others may do first, and before something that came to nothing is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dowse.live.jobs import Jobs

AGAIN_AFTER_S: Final = 30.0  # when a job has failed


class Patience:
    """Asked second by second about things that are known by name."""

    def __init__(self, jobs: Jobs, clock: Callable[[], float]) -> None:
        self._jobs = jobs
        self._clock = clock
        self._waiting_since: dict[str, float] = {}

    def is_over(self, name: str, holds: bool, for_s: float) -> bool:
        """Whether this has held for so long without a break."""
        if not holds:
            self._waiting_since.pop(name, None)
            return False
        return self._clock() - self._waiting_since.setdefault(name, self._clock()) >= for_s

    def rest(self, name: str, for_s: float) -> None:
        """Begin to wait for it anew when so much time has gone by."""
        self._waiting_since[name] = self._clock() + for_s

    def once(self, kind: str, submit: Callable[[], object], again_s: float = AGAIN_AFTER_S) -> None:
        """Submit a job of this kind, unless one is under way already or has just ended."""
        last = self._jobs.last(kind)
        ended = None if last is None else last.finished
        if last is None or (ended is not None and self._jobs.clock() - ended > again_s):
            submit()
