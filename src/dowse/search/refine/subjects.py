"""What a subject asked to see more or less of: documents promoted or demoted by hand, for one session."""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from dowse.errors import BadInput
from dowse.model import Hit
from dowse.search.refine.scale import multiplied
from dowse.search.refine.stage import by_score
from dowse.search.run import Run

LEAST_DELTA, MOST_DELTA = -0.9, 4.0
LEAST_MULTIPLIER = 0.1  # demoted as far as possible, a document can still be found


@dataclass(frozen=True, slots=True)
class Preference:
    """A delta of 0.2 makes a document count a fifth more, one of -0.5 half as much."""

    delta: float = 0.0

    @property
    def multiplier(self) -> float:
        return max(LEAST_MULTIPLIER, 1 + self.delta)

    def moved(self, delta: float) -> Preference:
        return Preference(min(max(self.delta + delta, LEAST_DELTA), MOST_DELTA))


class Preferences:
    """Of each subject, by collection and path; each change adds to the ones before."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._known: defaultdict[str, dict[tuple[str, str], Preference]] = defaultdict(dict)

    def move(self, subject: str, collection: str, path: str, delta: float) -> Preference:
        if math.isnan(delta):
            raise BadInput("the delta is not a number; give one from -0.9 to 4")
        with self._turn:
            mine = self._known[subject]
            mine[collection, path] = mine.get((collection, path), Preference()).moved(delta)
            return mine[collection, path]

    def of(self, subject: str) -> Mapping[tuple[str, str], float]:
        """What to multiply with, as it is now."""
        with self._turn:
            return {place: it.multiplier for place, it in self._known.get(subject, {}).items()}


def subject_priors(hits: list[Hit], run: Run) -> list[Hit]:
    """Scores multiplied by what the query's subject prefers."""
    return by_score([_weighed(hit, run.priors) for hit in hits]) if run.priors else hits


def _weighed(hit: Hit, priors: Mapping[tuple[str, str], float]) -> Hit:
    prior = priors.get((hit.stored.record.collection, hit.stored.record.path), 1.0)
    return multiplied(hit, prior, prior=prior)
