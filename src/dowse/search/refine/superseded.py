"""What another record supersedes ranks below it, and gives it its place."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dowse.model import Hit, Scope
from dowse.search.kinds import SUCCEEDING
from dowse.search.refine.joining import first_passage, within
from dowse.search.refine.scale import times
from dowse.search.refine.stage import by_score, rescored
from dowse.search.run import Run
from dowse.store.base import Catalog
from dowse.text.circles import circles
from dowse.text.memory_edges import SUPERSEDES, Key, edges_among, key, saying
from dowse.text.terms import parse

Successors = Mapping[Key, Sequence[Key]]
Claims = Mapping[Key, Hit]


@dataclass(frozen=True, slots=True)
class Superseded:
    """What has successors gives them its place: however far along a chain they are, those that were found have at least
    its score, and the last ones join the hits if nothing else found them, `joining` at most. It keeps this factor of
    its own, and ranks below all of them. Those that supersede each other in a circle are none the better for it."""

    factor: float = 0.5
    kinds: tuple[str, ...] = SUCCEEDING
    joining: int = 10

    def __call__(self, hits: list[Hit], run: Run) -> list[Hit]:
        if not any(hit.stored.record.kind in self.kinds for hit in hits):
            return hits
        successors = successors_of(run.store, self.kinds)
        order = list(circles(_places(hits), lambda it: successors.get(it, ())))
        hits = self._succeeded(hits, order, successors, run)
        found: defaultdict[Key, list[Hit]] = defaultdict(list)
        for hit in hits:
            found[key(hit.stored.record)].append(hit)
        judged: dict[int, Hit] = {}
        lowest: dict[Key, float] = {}  # score of what was found of a record and of all above it
        behind: dict[Key, int] = {}  # how many steps the longest way up from a record has
        for circle in order:
            above = _above(circle, successors)
            bound = min((lowest[it] for it in above), default=math.inf)
            steps = max((behind[it] + 1 for it in above), default=0)
            own = [[self._judged(hit, steps, bound) for hit in found[it]] for it in circle if it in found]
            judged |= {hit.stored.key: hit for each in own for hit in each}
            behind |= dict.fromkeys(circle, steps)
            lowest |= dict.fromkeys(circle, min([bound, *(max(hit.score for hit in each) for each in own)]))
        return by_score([judged[hit.stored.key] for hit in hits])

    def _succeeded(
        self, hits: list[Hit], order: Sequence[Sequence[Key]], successors: Successors, run: Run
    ) -> list[Hit]:
        """The hits, with each successor at least where it has a claim to be."""
        best = _best(hits)
        claims = _claims(best, order, successors)
        lifted = {hit.stored.key: _lifted(hit, claims[it]) for it, hit in best.items() if it in claims}
        missing = {it: claim for it, claim in claims.items() if it not in best}
        joining = [] if parse(run.query.text).required else self._joining(missing, run)
        return by_score([*(lifted.get(hit.stored.key, hit) for hit in hits), *joining])

    def _joining(self, claims: Claims, run: Run) -> list[Hit]:
        """The successors that were not found; where a phrase is required they would have been, if they had it."""
        first = sorted(claims, key=lambda it: (-claims[it].score, it))[: self.joining]
        is_wanted = within(run.query.scope, run.store)
        records = [record for collection, path in first for record in run.store.records(path, collection)]
        passages = [it for record in records if (it := first_passage(record, is_wanted, run.store))]
        return [_lifted(Hit(it, -math.inf, {}), claims[key(it.record)]) for it in passages]

    def _judged(self, hit: Hit, steps: int, bound: float) -> Hit:
        if not steps:
            return hit
        score = min(times(hit.score, self.factor), math.nextafter(bound, -math.inf))
        return rescored(hit, score, superseded=steps)


def _places(hits: Sequence[Hit]) -> list[Key]:
    return list(dict.fromkeys(key(hit.stored.record) for hit in hits))


def _above(circle: Sequence[Key], successors: Successors) -> set[Key]:
    return {it for node in circle for it in successors.get(node, ())}.difference(circle)


def _best(hits: Sequence[Hit]) -> dict[Key, Hit]:
    """Of each record, the hit with the best score."""
    best: dict[Key, Hit] = {}
    for hit in hits:
        place = key(hit.stored.record)
        best[place] = max(best.get(place, hit), hit, key=_score)
    return best


def _claims(best: Mapping[Key, Hit], order: Sequence[Sequence[Key]], successors: Successors) -> Claims:
    """What was found of that which each of them supersedes, the best of it: of those that nothing supersedes, and of
    those between that were found themselves."""
    claims: dict[Key, Hit] = {}
    for circle in reversed(order):  # each before what supersedes it
        above = _above(circle, successors)
        claim = max((it[node] for node in circle for it in (best, claims) if node in it), key=_score)
        for node in above:
            claims[node] = max(claims.get(node, claim), claim, key=_score)
        for node in circle if above else ():
            if node not in best:
                claims.pop(node, None)
    return claims


def _lifted(hit: Hit, claim: Hit) -> Hit:
    """In the place of what it supersedes, unless its own is better."""
    return hit if hit.score >= claim.score else replace(rescored(hit, claim.score, succeeds=1), instead_of=claim)


def _score(hit: Hit) -> float:
    return hit.score


def successors_of(catalog: Catalog, kinds: tuple[str, ...] = SUCCEEDING) -> Successors:
    """Of each record that is superseded, those that do so directly; worked out once for each state of the records."""

    def make() -> Successors:
        edges = edges_among(catalog.linked(saying(SUPERSEDES), Scope(kinds=kinds)), SUPERSEDES)
        return {older: [it.source.key for it in newer] for older, newer in edges.incoming.items()}

    return catalog.remembered(f"successors of {kinds}", make)
