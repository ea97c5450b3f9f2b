"""Combine and calibrate scores: blend, confidence, whole files and quotas per kind."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dowse.model import Hit
from dowse.search.fuse import FUSED_SCORE, LEXICAL_RETRIEVER
from dowse.search.kinds import ResultGroup
from dowse.search.run import SearchRun, group_of_kind
from dowse.search.stages.base import rescore, sort_by_score
from dowse.search.stages.graph import RecordNode, record_node

Signal = Sequence[float | None]
"""One value per hit, or None for a hit without that signal."""


def blend_signals(signals: Mapping[str, Signal], weights: Mapping[str, float]) -> list[float]:
    """Return one value from 0 to 1 per hit.

    A signal that no hit has is ignored; a missing value counts as the minimum.
    """
    present = {name: signal for name, signal in signals.items() if any(it is not None for it in signal)}
    total = sum(weights[name] for name in present) or 1.0
    shares = [[weights[name] / total * value for value in scale_min_max(signal)] for name, signal in present.items()]
    return [sum(parts) for parts in zip(*shares, strict=True)]


def scale_min_max(signal: Signal) -> list[float]:
    """Scale the known values to 0–1; all are 1 if they are equal."""
    # Work with halves: the difference of two huge floats may overflow.
    halves = [None if it is None else it / 2 for it in signal]
    known = [it for it in halves if it is not None]
    least, span = min(known), max(known) - min(known)
    return [0.0 if it is None else (it - least) / span if span > 0 else 1.0 for it in halves]


@dataclass(frozen=True, slots=True)
class Combine:
    """Replaces scores by a weighted blend of the named evidence values."""

    weights: tuple[tuple[str, float], ...] = (("bm25", 0.2), ("cosine", 0.3), ("rerank", 0.5))

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        signals = {name: [hit.evidence.get(name) for hit in hits] for name, _ in self.weights}
        absent = [name for name, signal in signals.items() if hits and not any(it is not None for it in signal)]
        if len(absent) == len(signals):
            run.notes.append("skipped: no hit has any of the weighted evidence")
            return hits
        if absent:
            run.notes.append(f"no hit has {', '.join(absent)}")
        scores = blend_signals(signals, dict(self.weights))
        return sort_by_score([rescore(hit, score, fused=hit.score) for hit, score in zip(hits, scores, strict=True)])


# --------------------------------------------------------------------------------------------------
# Score calibration and minimum scores.

_MAX_EXPONENT = 700.0  # exp() of a larger value overflows; the sigmoid is 0 or 1 long before


@dataclass(frozen=True, slots=True)
class Calibrate:
    """Maps fused scores to confidences by a sigmoid; a score at the threshold becomes 0.5."""

    threshold: float = 0.035
    steepness: float = 150

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        return [rescore(hit, self.confidence(hit.score), uncalibrated=hit.score) for hit in hits]

    def confidence(self, score: float) -> float:
        exponent = max(-_MAX_EXPONENT, self.steepness * (score - self.threshold))  # NaN gives the minimum in this order
        return 1 / (1 + math.exp(-min(_MAX_EXPONENT, exponent)))


@dataclass(frozen=True, slots=True)
class MinConfidence:
    """Drops hits below a minimum score, which a query may override."""

    minimum: float

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        minimum = self.minimum if run.query.min_score is None else run.query.min_score
        kept = [hit for hit in hits if hit.score >= minimum]
        if len(kept) < len(hits):
            run.notes.append(f"hits dropped with a score below {minimum:g}: {len(hits) - len(kept)}")
        return kept


@dataclass(frozen=True, slots=True)
class ConfidenceFloor:
    """Drops hits below a minimum confidence, judging each by its most trusted retriever.

    A hit is scored as if every retriever had given it the rank of the trusted one. Lexical ranks are always trusted,
    semantic ranks if the cosine is above the similarity floor. Otherwise a new record without a vector, or an exact
    match that the encoder misjudges, would be dropped.
    """

    minimum: float
    scale: Calibrate = Calibrate()

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        minimum = self.minimum if run.query.min_score is None else run.query.min_score
        kept = [hit for hit in hits if self._confidence(hit, run) >= minimum]
        if len(kept) < len(hits):
            run.notes.append(f"hits dropped with a confidence below {minimum:g}: {len(hits) - len(kept)}")
        return kept

    def _confidence(self, hit: Hit, run: SearchRun) -> float:
        ranks = _trusted_ranks(hit, run.vector.traits.similarity_floor if run.vector else 0.0)
        scores = [sum(run.retriever_weights.values()) / (run.rrf_k + rank) for rank in ranks]
        return self.scale.confidence(max([hit.score, *scores]))


def _trusted_ranks(hit: Hit, unrelated: float) -> list[float]:
    by_words = [hit.evidence["lexical_rank"]] if "lexical_rank" in hit.evidence else []
    is_related = unrelated > 0 and hit.evidence.get("cosine", 0.0) >= unrelated
    return [*by_words, hit.evidence["semantic_rank"]] if is_related else by_words


# --------------------------------------------------------------------------------------------------
# Aggregation of passages into whole files.


@dataclass(frozen=True, slots=True)
class FileScores:
    """Keeps one hit per record. Its score is that of the best passage plus geometrically decaying shares of the next
    ones.

    Code that treats a subject at length beats code that mentions it once. For other kinds only the best passage counts,
    because long documents are not better answers.
    """

    decay: float = 0.7
    passages: int = 8
    kinds: tuple[str, ...] = ("code",)

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        of_record: dict[tuple[str, str], list[Hit]] = {}
        for hit in hits:
            record = hit.stored.record
            of_record.setdefault((record.collection, record.path), []).append(hit)
        return sort_by_score([self._aggregate(found, run) for found in of_record.values()])

    def _aggregate(self, found: list[Hit], run: SearchRun) -> Hit:
        record = found[0].stored.record
        counted = found[: self.passages if record.kind in self.kinds else 1]
        score = sum(hit.score * self.decay**place for place, hit in enumerate(counted))
        # All retrievers must use the same passage for a file: the best one of the first retriever.
        face = run.representatives.setdefault((record.collection, record.path), found[0].stored)
        return Hit(face, score, {**found[0].evidence, "passages": len(found)})


# --------------------------------------------------------------------------------------------------
# Quotas: each result group gets a limited share of the results while others can fill the rest.

_PREFERRED_SHARE = 0.9  # share of a group that the question is about
_MIN_RESERVING_LIMIT = 4  # a smaller limit reserves no places


@dataclass(frozen=True, slots=True)
class Quotas:
    """Fills the results best first, within the share of each result group and with one hit per record of a limited
    group.

    A group that the question is about gets a larger share. Hits beyond the shares are used only if nothing else is
    left. Each group gets at least one place if its best score reaches `min_score_share` times the top score. A query
    that names kinds is not limited.
    """

    min_score_share: float = 0.66

    def __call__(self, hits: list[Hit], run: SearchRun) -> list[Hit]:
        groups = {_result_group(hit) for hit in hits}
        if run.query.scope.kinds or len(groups) < 2:
            return hits
        places = list(self._places(hits, run))
        reserved = self._reserve_places(hits, places, run)
        kept = places[: len(places) - len(reserved)] if len(places) >= run.query.limit else places
        chosen = {*kept, *reserved}
        if dropped := [hit for place, hit in enumerate(hits[: run.query.limit]) if place not in chosen]:
            run.notes.append(f"{_count_by_group(dropped)} dropped by quota")
        return [self._mark_reserved(hits[place], place in reserved) for place in sorted(chosen)]

    def _places(self, hits: list[Hit], run: SearchRun) -> Iterator[int]:
        """Yield the indexes of the kept hits: first those within the shares, then the best of the rest."""
        limit, about = run.query.limit, run.kind_weights()
        taken: dict[ResultGroup, set[RecordNode]] = defaultdict(set)
        within: list[int] = []
        beyond: list[int] = []
        for place, hit in enumerate(hits):
            group, node = _result_group(hit), record_node(hit.stored.record)
            share = _PREFERRED_SHARE if about.get(hit.stored.record.kind) == 1 else group.share
            fits = group.share >= 1 or (node not in taken[group] and len(taken[group]) < max(1, int(limit * share)))
            (within if fits else beyond).append(place)
            taken[group] |= {node} if fits else set()
        yield from [*within, *beyond][:limit]

    def _reserve_places(self, hits: list[Hit], kept: list[int], run: SearchRun) -> list[int]:
        """Return the best hit of each group without a place, if its score justifies one."""
        if run.query.limit < _MIN_RESERVING_LIMIT:
            return []
        best_places: dict[ResultGroup, int] = {}
        for place, hit in enumerate(hits):
            best_places.setdefault(_result_group(hit), place)
        without = best_places.keys() - {_result_group(hits[place]) for place in kept}
        best = max(_unweighted_score(hit, run) for hit in hits)
        return [
            best_places[it]
            for it in without
            if _unweighted_score(hits[best_places[it]], run) >= self.min_score_share * best
        ]

    def _mark_reserved(self, hit: Hit, reserved: bool) -> Hit:
        return rescore(hit, hit.score, quota=1) if reserved else hit


def _unweighted_score(hit: Hit, run: SearchRun) -> float:
    """Return the score before kind factors were applied; for fused hits, the lexical one."""
    if not run.weights_kinds:
        return hit.score
    if FUSED_SCORE in hit.evidence:
        return run.raw_scores.get(LEXICAL_RETRIEVER, {}).get(hit.stored.key, 0.0)
    return hit.score / run.kind_weights().get(hit.stored.record.kind, 1.0)


def _result_group(hit: Hit) -> ResultGroup:
    return group_of_kind(hit.stored.record.kind)


def _count_by_group(hits: list[Hit]) -> str:
    counts = Counter(_result_group(hit).name for hit in hits)
    return ", ".join(f"{count} {name}" for name, count in counts.items())
