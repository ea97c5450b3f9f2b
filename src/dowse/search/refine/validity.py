"""What says of itself from when and until when it holds counts less before and after, and what is archived always."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.kinds import SUCCEEDING
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score
from dowse.search.run import Run
from dowse.text.memory_facts import ARCHIVED, out_of_time


@dataclass(frozen=True, slots=True)
class Validity:
    """The factor for what does not hold at the moment; what says nothing of that, or nothing that is a time, holds. Of
    these kinds, what is archived holds no more."""

    factor: float = 0.5
    kinds: tuple[str, ...] = SUCCEEDING

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        now = run.now()
        return by_score([self._judged(hit, now) for hit in hits])

    def _judged(self, hit: Hit, now: float) -> Hit:
        record = hit.stored.record
        early, late = out_of_time(record.facets, now)
        if early:
            return multiplied(hit, self.factor, not_yet_valid=self.factor)
        if late:
            return multiplied(hit, self.factor, expired=self.factor)
        is_archived = record.kind in self.kinds and record.facets.get("status") == ARCHIVED
        return multiplied(hit, self.factor, archived=self.factor) if is_archived else hit
