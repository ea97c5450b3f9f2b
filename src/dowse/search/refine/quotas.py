"""No family of kinds drowns the others: each has a share of the places, as long as others can fill the rest."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.families import family_of
from dowse.search.fuse import FUSED, LEXICAL
from dowse.search.kinds import Family
from dowse.search.refine.links import Node, node_of
from dowse.search.refine.stage import rescored
from dowse.search.run import Run

_ASKED_FOR = 0.9  # the share of a family that the question is about
_LEAST_PLACES = 4  # where fewer are wanted, they are for the best


@dataclass(frozen=True, slots=True)
class Quotas:
    """As many hits as are wanted, the best first: of each family no more than its share (more, where the question is
    about what it holds), no record of a share twice, unless nothing else is there; and at least one, where it has
    something `worth` that share of the best score. A query that names its kinds gets them as they come."""

    worth: float = 0.66

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        families = {_family(hit) for hit in hits}
        if run.query.scope.kinds or len(families) < 2:
            return hits
        places = list(self._places(hits, run))
        reserved = self._reserved(hits, places, run)
        kept = places[: len(places) - len(reserved)] if len(places) >= run.query.limit else places
        chosen = {*kept, *reserved}
        if passed := [hit for place, hit in enumerate(hits[: run.query.limit]) if place not in chosen]:
            run.notes.append(f"{_told(passed)} gave way to others")
        return [self._marked(hits[place], place in reserved) for place in sorted(chosen)]

    def _places(self, hits: list[Hit], run: Run) -> Iterator[int]:
        """The places of the hits that are kept: within the shares first, then whatever is best of the rest."""
        limit, about = run.query.limit, run.leaning()
        taken: dict[Family, set[Node]] = defaultdict(set)
        within: list[int] = []
        beyond: list[int] = []
        for place, hit in enumerate(hits):
            family, node = _family(hit), node_of(hit.stored.record)
            share = _ASKED_FOR if about.get(hit.stored.record.kind) == 1 else family.share
            fits = family.share >= 1 or (node not in taken[family] and len(taken[family]) < max(1, int(limit * share)))
            (within if fits else beyond).append(place)
            taken[family] |= {node} if fits else set()
        yield from [*within, *beyond][:limit]

    def _reserved(self, hits: list[Hit], kept: list[int], run: Run) -> list[int]:
        """The best of each family that has no place, where it is worth one, whatever the question is about."""
        if run.query.limit < _LEAST_PLACES:
            return []
        first: dict[Family, int] = {}
        for place, hit in enumerate(hits):
            first.setdefault(_family(hit), place)
        without = first.keys() - {_family(hits[place]) for place in kept}
        best = max(_worth(hit, run) for hit in hits)
        return [first[it] for it in without if _worth(hits[first[it]], run) >= self.worth * best]

    def _marked(self, hit: Hit, reserved: bool) -> Hit:
        return rescored(hit, hit.score, quota=1) if reserved else hit


def _worth(hit: Hit, run: Run) -> float:
    """What a retriever gave before kinds were weighed: of several, the one that goes by words."""
    if not run.leans:
        return hit.score
    if FUSED in hit.evidence:
        return run.unweighed.get(LEXICAL, {}).get(hit.stored.key, 0.0)
    return hit.score / run.leaning().get(hit.stored.record.kind, 1.0)


def _family(hit: Hit) -> Family:
    return family_of(hit.stored.record.kind)


def _told(hits: list[Hit]) -> str:
    counts = Counter(_family(hit).name for hit in hits)
    return ", ".join(f"{count} of the {name}" for name, count in counts.items())
