"""Newer is better: multipliers by the age of a record, in tiers or by a half-life."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score
from dowse.search.run import Run

_NS_PER_SECOND = 1_000_000_000
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class RecencyTiers:
    """The factor of the first tier (days, factor) that a record is young enough for; older ones keep their score."""

    tiers: tuple[tuple[float, float], ...] = ((7, 1.2), (30, 1.1))

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        now = run.now()
        return by_score([self._weighed(hit, age_days(hit, now)) for hit in hits])

    def _weighed(self, hit: Hit, age: float) -> Hit:
        factor = next((factor for days, factor in self.tiers if age <= days), 1.0)
        return multiplied(hit, factor, recency=factor, age_days=age)


@dataclass(frozen=True, slots=True)
class HalfLifeDecay:
    """Scores fade with age: `strength` is the share that is lost in the end, half of it after each half-life."""

    half_life_days: float
    strength: float

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if self.half_life_days <= 0:
            run.notes.append("switched off: the half-life is 0 days")
            return hits
        now = run.now()
        return by_score([self._faded(hit, age_days(hit, now)) for hit in hits])

    def _faded(self, hit: Hit, age: float) -> Hit:
        decay = (1 - self.strength) + self.strength * 2.0 ** (-age / self.half_life_days)
        return multiplied(hit, decay, decay=decay, age_days=age)


def age_days(hit: Hit, now: float) -> float:
    """Clocks differ: what was written in the future is new."""
    written = hit.stored.record.moment_ns / _NS_PER_SECOND
    return max(0.0, now - written) / _SECONDS_PER_DAY
