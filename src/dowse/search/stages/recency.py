"""Boost recent records, and demote superseded and expired ones."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dowse.model import DecayRate, Hit, Record, Scope
from dowse.search.kinds import DECAY_RATES, SUPERSEDABLE_KINDS
from dowse.search.run import SearchRun, group_of_kind
from dowse.search.stages.base import in_scope, load_first_passage, multiply_score, rescore, scale_score, sort_by_score
from dowse.store.view import StoreView
from dowse.text.code_names import strongly_connected_components
from dowse.text.memory_notes import (
    ARCHIVED,
    SUPERSEDES,
    RecordKey,
    check_validity,
    collect_edges,
    link_kinds_for,
    record_key,
)
from dowse.text.tokenize import parse_query

_RECENCY_NS_PER_SECOND = 1_000_000_000
_SECONDS_PER_DAY = 86_400


@dataclass(frozen=True, slots=True)
class RecencyTiers:
    """Multiplies the score by the factor of the first tier (days, factor) that covers the record's age."""

    tiers: tuple[tuple[float, float], ...] = ((7, 1.2), (30, 1.1))

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        now = run.now()
        return sort_by_score([self._weigh(hit, age_days(hit, now)) for hit in hits])

    def _weigh(self, hit: Hit, age: float) -> Hit:
        factor = next((factor for days, factor in self.tiers if age <= days), 1.0)
        return multiply_score(hit, factor, recency=factor, age_days=age)


@dataclass(frozen=True, slots=True)
class HalfLifeDecay:
    """Decays scores with age: `strength` is the share lost eventually, half of it after each half-life."""

    half_life_days: float
    strength: float

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        if self.half_life_days <= 0:
            run.notes.append("disabled: the half-life is 0 days")
            return hits
        now = run.now()
        return sort_by_score([self._decay(hit, age_days(hit, now)) for hit in hits])

    def _decay(self, hit: Hit, age: float) -> Hit:
        decay = (1 - self.strength) + self.strength * 2.0 ** (-age / self.half_life_days)
        return multiply_score(hit, decay, decay=decay, age_days=age)


def age_days(hit: Hit, now: float) -> float:
    """Return the record's age in days; dates in the future (clock skew) count as now."""
    written = hit.stored.record.timestamp_ns / _RECENCY_NS_PER_SECOND
    return max(0.0, now - written) / _SECONDS_PER_DAY


# --------------------------------------------------------------------------------------------------
# Age decay, at a rate that depends on the kind and type of a record.

_TYPE_FACET = "type"


@dataclass(frozen=True, slots=True)
class AgeDecay:
    """Multiplies scores by an exponential decay with age; `share` scales the loss.

    Rates of the query take precedence. Records without a rate keep their score.
    """

    share: float = 1.0
    decay_rates: tuple[DecayRate, ...] = DECAY_RATES

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        now, decay_rates = run.now(), (*run.query.decay_rates, *self.decay_rates)
        return sort_by_score([self._decay(hit, now, decay_rates) for hit in hits])

    def _decay(self, hit: Hit, now: float, decay_rates: tuple[DecayRate, ...]) -> Hit:
        decay_rate = _decay_rate(hit.stored.record, decay_rates)
        if decay_rate is None:
            return hit
        age = age_days(hit, now)
        decay = 1 - self.share * (1 - max(decay_rate.floor, decay_rate.rate**age))
        return multiply_score(hit, decay, decay=decay, age_days=age)


def _decay_rate(record: Record, decay_rates: tuple[DecayRate, ...]) -> DecayRate | None:
    own = record.facets.get(_TYPE_FACET, "")
    return next((it for it in decay_rates if it.kind == record.kind and it.type in (own, "")), None)


@dataclass(frozen=True, slots=True)
class DecayWithinGroup:
    """Applies age decay only within each result group, because an old note does not make a file a better answer.

    Each group keeps its positions and their scores; only the order within the group changes.
    """

    share: float

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        places = sort_by_score(hits)
        successors: defaultdict[str, deque[Hit]] = defaultdict(deque)
        for hit in AgeDecay(self.share)(places, run):
            successors[_group_name(hit)].append(hit)
        return [rescore(successors[_group_name(place)].popleft(), place.score) for place in places]


def _group_name(hit: Hit) -> str:
    return group_of_kind(hit.stored.record.kind).name


# --------------------------------------------------------------------------------------------------
# Lower scores for records outside their validity period and for archived records.


@dataclass(frozen=True, slots=True)
class Validity:
    """Multiplies the scores of records that are not yet valid, expired or archived.

    Records without a validity period, or with one that is not a date, are valid. Only records of these kinds can be
    archived.
    """

    factor: float = 0.5
    kinds: tuple[str, ...] = SUPERSEDABLE_KINDS

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        now = run.now()
        return sort_by_score([self._apply_factor(hit, now) for hit in hits])

    def _apply_factor(self, hit: Hit, now: float) -> Hit:
        record = hit.stored.record
        early, late = check_validity(record.facets, now)
        if early:
            return multiply_score(hit, self.factor, not_yet_valid=self.factor)
        if late:
            return multiply_score(hit, self.factor, expired=self.factor)
        is_archived = record.kind in self.kinds and record.facets.get("status") == ARCHIVED
        return multiply_score(hit, self.factor, archived=self.factor) if is_archived else hit


# --------------------------------------------------------------------------------------------------
# Superseded records rank below their successors, which take their place.

Successors = Mapping[RecordKey, Sequence[RecordKey]]
Claims = Mapping[RecordKey, Hit]


@dataclass(frozen=True, slots=True)
class SuccessorBoost:
    """Ranks superseded records below their successors.

    Successors among the hits get at least the score of the record they supersede, across the whole chain. The newest
    records of a chain join the hits if they were not found, `max_joining` at most. A superseded record keeps `factor`
    times its score. Cycles of superseding records get no boost.
    """

    factor: float = 0.5
    kinds: tuple[str, ...] = SUPERSEDABLE_KINDS
    max_joining: int = 10

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        if not any(hit.stored.record.kind in self.kinds for hit in hits):
            return hits
        successors = get_successors(run.view, self.kinds)
        order = list(strongly_connected_components(_record_keys(hits), lambda it: successors.get(it, ())))
        hits = self._lift_successors(hits, order, successors, run)
        found: defaultdict[RecordKey, list[Hit]] = defaultdict(list)
        for hit in hits:
            found[record_key(hit.stored.record)].append(hit)
        judged: dict[int, Hit] = {}
        lowest: dict[RecordKey, float] = {}  # lowest score among a record's hits and those of all its successors
        chain_lengths: dict[RecordKey, int] = {}  # length of the longest chain of successors
        for component in order:
            outside = _successors_outside(component, successors)
            bound = min((lowest[it] for it in outside), default=math.inf)
            steps = max((chain_lengths[it] + 1 for it in outside), default=0)
            demoted = [[self._demote(hit, steps, bound) for hit in found[it]] for it in component if it in found]
            judged |= {hit.stored.key: hit for each in demoted for hit in each}
            chain_lengths |= dict.fromkeys(component, steps)
            lowest |= dict.fromkeys(component, min([bound, *(max(hit.score for hit in each) for each in demoted)]))
        return sort_by_score([judged[hit.stored.key] for hit in hits])

    def _lift_successors(
        self, hits: list[Hit], order: Sequence[Sequence[RecordKey]], successors: Successors, run: SearchRun
    ) -> list[Hit]:
        """Raise each successor to at least the score that it can claim."""
        best = _best_hits(hits)
        claims = _best_claims(best, order, successors)
        lifted = {hit.stored.key: _lift_to_claim(hit, claims[it]) for it, hit in best.items() if it in claims}
        missing = {it: claim for it, claim in claims.items() if it not in best}
        joining = [] if parse_query(run.query.text).required else self._joining_hits(missing, run)
        return sort_by_score([*(lifted.get(hit.stored.key, hit) for hit in hits), *joining])

    def _joining_hits(self, claims: Claims, run: SearchRun) -> list[Hit]:
        """Return hits for successors that were not found. With a required phrase there are none: they would lack the
        phrase."""
        first = sorted(claims, key=lambda it: (-claims[it].score, it))[: self.max_joining]
        is_wanted = in_scope(run.query.scope, run.view)
        records = [record for collection, path in first for record in run.view.records(path, collection)]
        passages = [it for record in records if (it := load_first_passage(record, is_wanted, run.view))]
        return [_lift_to_claim(Hit(it, -math.inf, {}), claims[record_key(it.record)]) for it in passages]

    def _demote(self, hit: Hit, steps: int, bound: float) -> Hit:
        if not steps:
            return hit
        score = min(scale_score(hit.score, self.factor), math.nextafter(bound, -math.inf))
        return rescore(hit, score, superseded=steps)


def _record_keys(hits: Sequence[Hit]) -> list[RecordKey]:
    return list(dict.fromkeys(record_key(hit.stored.record) for hit in hits))


def _successors_outside(component: Sequence[RecordKey], successors: Successors) -> set[RecordKey]:
    return {it for node in component for it in successors.get(node, ())}.difference(component)


def _best_hits(hits: Sequence[Hit]) -> dict[RecordKey, Hit]:
    """Return the best hit of each record."""
    best: dict[RecordKey, Hit] = {}
    for hit in hits:
        place = record_key(hit.stored.record)
        best[place] = max(best.get(place, hit), hit, key=_hit_score)
    return best


def _best_claims(best: Mapping[RecordKey, Hit], order: Sequence[Sequence[RecordKey]], successors: Successors) -> Claims:
    """Return for each successor the best hit among the records it supersedes.

    Claims go to the newest record of each chain, and to records in between that are hits themselves.
    """
    claims: dict[RecordKey, Hit] = {}
    for component in reversed(order):  # older records first
        outside = _successors_outside(component, successors)
        claim = max((it[node] for node in component for it in (best, claims) if node in it), key=_hit_score)
        for node in outside:
            claims[node] = max(claims.get(node, claim), claim, key=_hit_score)
        for node in component if outside else ():
            if node not in best:
                claims.pop(node, None)
    return claims


def _lift_to_claim(hit: Hit, claim: Hit) -> Hit:
    """Return the hit in the place of the record it supersedes, unless its own score is higher."""
    return hit if hit.score >= claim.score else replace(rescore(hit, claim.score, succeeds=1), replaces=claim)


def _hit_score(hit: Hit) -> float:
    return hit.score


def get_successors(view: StoreView, kinds: tuple[str, ...] = SUPERSEDABLE_KINDS) -> Successors:
    """Map each superseded record to its direct successors, cached per revision of the records."""

    def make() -> Successors:
        edges = collect_edges(view.records_with_links(link_kinds_for(SUPERSEDES), Scope(kinds=kinds)), SUPERSEDES)
        return {older: [it.source.key for it in newer] for older, newer in edges.incoming.items()}

    return view.cached_by_revision(f"successors of {kinds}", make)
