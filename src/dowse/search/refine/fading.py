"""Some kinds fade: what was noted or done long ago counts less, each kind at its own pace."""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

from dowse.model import Hit, Pace, Record
from dowse.search.families import family_of
from dowse.search.kinds import PACES
from dowse.search.refine.recency import age_days
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run

_TYPE = "type"


@dataclass(frozen=True, slots=True)
class Fading:
    """Scores of kinds that have a pace are multiplied by what is left after their age; `share` says how much of the
    loss counts. What no pace is for keeps its score; those of the query come first."""

    share: float = 1.0
    paces: tuple[Pace, ...] = PACES

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        now, paces = run.now(), (*run.query.paces, *self.paces)
        return by_score([self._faded(hit, now, paces) for hit in hits])

    def _faded(self, hit: Hit, now: float, paces: tuple[Pace, ...]) -> Hit:
        pace = _pace(hit.stored.record, paces)
        if pace is None:
            return hit
        age = age_days(hit, now)
        decay = 1 - self.share * (1 - max(pace.floor, pace.rate**age))
        return multiplied(hit, decay, decay=decay, age_days=age)


def _pace(record: Record, paces: tuple[Pace, ...]) -> Pace | None:
    own = record.facets.get(_TYPE, "")
    return next((it for it in paces if it.kind == record.kind and it.type in (own, "")), None)


@dataclass(frozen=True, slots=True)
class FadingAmongOwn:
    """What is old gives way to what is newer of its own family, and to nothing else: a file is no better an answer
    because a note is old. So each family keeps its places and their scores, whoever takes them."""

    share: float

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        places = by_score(hits)
        successors: defaultdict[str, deque[Hit]] = defaultdict(deque)
        for hit in Fading(self.share)(places, run):
            successors[_family(hit)].append(hit)
        return [rescored(successors[_family(place)].popleft(), place.score) for place in places]


def _family(hit: Hit) -> str:
    return family_of(hit.stored.record.kind).name
