"""What says of itself from when and until when it holds counts less before and after."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score
from dowse.search.run import Run
from dowse.text.memory_facts import out_of_time


@dataclass(frozen=True, slots=True)
class Validity:
    """The factor for what does not hold at the moment; what says nothing of that, or nothing that is a time, holds."""

    factor: float = 0.5

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        now = run.now()
        return by_score([self._judged(hit, now) for hit in hits])

    def _judged(self, hit: Hit, now: float) -> Hit:
        early, late = out_of_time(hit.stored.record.facets, now)
        if early:
            return multiplied(hit, self.factor, not_yet_valid=self.factor)
        return multiplied(hit, self.factor, expired=self.factor) if late else hit
