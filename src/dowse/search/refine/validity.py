"""What says of itself from when and until when it holds counts less before and after."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score
from dowse.search.run import Run
from dowse.text.times import moment_of

_FROM, _UNTIL = "valid_from", "valid_until"


@dataclass(frozen=True, slots=True)
class Validity:
    """The factor for what does not hold at the moment; what says nothing of that, or nothing that is a time, holds."""

    factor: float = 0.5

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        now = run.now()
        return by_score([self._judged(hit, now) for hit in hits])

    def _judged(self, hit: Hit, now: float) -> Hit:
        facets = hit.stored.record.facets
        begins = moment_of(facets.get(_FROM, ""))
        ends = moment_of(facets.get(_UNTIL, ""), end_of_day=True)
        if begins is not None and now < begins:
            return multiplied(hit, self.factor, not_yet_valid=self.factor)
        if ends is not None and now > ends:
            return multiplied(hit, self.factor, expired=self.factor)
        return hit
