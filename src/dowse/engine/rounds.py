"""Looking at everything again and again without taking more than a share of the time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from dowse.engine.clock import Moment

Place = tuple[str, str]  # collection and path

# A round that takes no longer than this is made for every question; others take at most this part of all time.
_CHEAP_S: Final = 0.02
_SHARE: Final = 10


class Round:
    """Of steps that give a place now and then; it may take several slices."""

    def __init__(self, steps: Callable[[], Iterator[Place | None]], elapsed: Callable[[], float]) -> None:
        self._make_steps = steps
        self._elapsed = elapsed
        self._steps: Iterator[Place | None] | None = None
        self._begun = Moment()
        self._due = 0.0
        # When the last round that came to its end began.
        self.seen_at = Moment()

    def go_on(self, begun: Moment, slice_s: float, *, always: bool) -> tuple[int, set[Place]]:
        """How many steps were made now, and what they gave."""
        started = self._elapsed()
        if started < self._due:
            return 0, set()
        if self._steps is None:
            self._steps, self._begun = self._make_steps(), begun
        found: set[Place] = set()
        count = 0
        for count, place in enumerate(self._steps, 1):
            if place is not None:
                found.add(place)
            if count % 32 == 0 and self._elapsed() - started > slice_s:
                break
        else:
            self._steps, self.seen_at = None, self._begun
        took_s = self._elapsed() - started
        self._due = 0.0 if always or took_s <= _CHEAP_S else started + _SHARE * took_s
        return count, found

    def end(self, seen_at: Moment) -> None:
        """Somebody else knows that nothing was left to be seen at this moment."""
        self._steps, self.seen_at = None, seen_at
