"""The state of one search: query, scope, candidates, weights and timed steps."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from dowse.encoders.base import DEFAULT_TRAITS, EncoderTraits
from dowse.model import LinkFilter, Query, Scope, ScoredChunk, Step, StoredChunk
from dowse.search.classify import classify_subject
from dowse.search.kinds import RESULT_GROUPS, ResultGroup, choose_kind_weights
from dowse.store.types import ColumnWeights
from dowse.store.view import StoreView

if TYPE_CHECKING:
    from dowse.store.types import Vector

StepResult = TypeVar("StepResult", bound=Sized)


@dataclass(frozen=True, slots=True)
class QueryVector:
    """The encoded query, or the reason why there is no vector."""

    vector: Vector | None
    skip_reason: str = ""
    traits: EncoderTraits = DEFAULT_TRAITS
    encoder_fingerprint: str | None = None  # vectors of other encoders are not comparable
    note: str = ""  # for the user


@dataclass(frozen=True, slots=True)
class RerankResult:
    """A reranker's score for each text (higher is better), or the reason why there are none."""

    scores: tuple[float, ...] | None
    skip_reason: str = ""


def no_reranker(reranker: str, query: str, texts: Sequence[str]) -> RerankResult:
    return RerankResult(None, f"skipped: no reranker {reranker!r}")


@dataclass(frozen=True, slots=True)
class SearchModels:
    """The models a search may use: an encoder, and rerankers by name."""

    encode: Callable[[str], QueryVector]
    judge: Callable[[str, str, Sequence[str]], RerankResult] = no_reranker


@dataclass(slots=True)
class SearchRun:
    query: Query
    view: StoreView
    models: SearchModels
    pool: int
    weights: ColumnWeights
    rrf_k: int
    # The weight of each retriever in the fusion. Steps before the fusion may change it.
    retriever_weights: dict[str, float] = field(default_factory=dict)
    # The preferences of the query's subject: factors by collection and path.
    priors: Mapping[tuple[str, str], float] = field(default_factory=dict)
    # Keys of the chunks that contain every quoted phrase; None if no phrase is required.
    phrase_chunks: frozenset[int] | None = None
    # The encoded query, set on first use.
    vector: QueryVector | None = None
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], float] = time.time
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Whether kinds are weighted by the subject of the question. Then each kind gets its own candidates.
    weights_kinds: bool = False
    # The kind of each candidate (or another kind of its group) by key, if several kinds are searchable.
    kinds: dict[int, str] = field(default_factory=dict)
    # For each hit that was lifted by a link: the key of the better hit it is linked with.
    linked_from: dict[int, int] = field(default_factory=dict)
    # The passage that represents a record if whole records are ranked.
    representatives: dict[tuple[str, str], StoredChunk] = field(default_factory=dict)
    # The kinds that the index has and the query allows, set on first use.
    _searchable_kinds: frozenset[str] | None = None
    # The score factor of each kind for this question, set on first use.
    _kind_weights: Mapping[str, float] | None = None
    # Each retriever's scores before the kind factors were applied, for the evidence.
    raw_scores: dict[str, dict[int, float]] = field(default_factory=dict)
    # Evidence added by the stages of single retrievers, by chunk key.
    evidence: defaultdict[int, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))

    def searchable_kinds(self) -> frozenset[str]:
        if self._searchable_kinds is None:
            present, wanted = self.view.kinds(), self.query.scope.kinds
            self._searchable_kinds = present.intersection(wanted) if wanted else present
        return self._searchable_kinds

    def kind_weights(self) -> Mapping[str, float]:
        """Return the score factor of each kind for this question."""
        if self._kind_weights is None:
            self.set_kind_weights(dict.fromkeys(self.searchable_kinds(), 1.0))
        assert self._kind_weights is not None
        return self._kind_weights

    def set_kind_weights(self, best: Mapping[str, float]) -> None:
        """Set the kind factors from the best score of each kind. Before lexical retrieval all kinds count the same."""
        self._kind_weights = choose_kind_weights(classify_subject(self.query.text), best)

    def filter_preferred_kinds(self, keys: Iterable[int]) -> list[int]:
        """Return the candidates whose kind has factor 1 for this question, or all if there are none."""
        keys = list(keys)
        lesser = {kind for kind, factor in self.kind_weights().items() if factor < 1} if self.weights_kinds else ()
        kind_of = self.kinds.get
        return [key for key in keys if kind_of(key, "") not in lesser] or keys if lesser else keys

    def branch(self) -> SearchRun:
        """Return a copy with a separate log, for a retriever that runs concurrently."""
        return replace(self, notes=[], steps=[])

    def join(self, branch: SearchRun) -> None:
        """Append the log of a branch and take over its vector."""
        self.steps += branch.steps
        self.vector = branch.vector or self.vector

    def step(self, name: str, before: Sized, work: Callable[[], StepResult]) -> StepResult:
        """Run `work` and log its input size, output size, duration and notes."""
        self.notes.clear()
        began = self.clock()
        result = work()
        took_ms = (self.clock() - began) * 1000
        self.steps.append(Step(name, len(before), len(result), round(took_ms, 3), "; ".join(self.notes)))
        return result


NO_INPUT: Sequence[object] = ()


# --------------------------------------------------------------------------------------------------
# Candidate retrieval per result group.
#
# An index may hold far more records of one group than of another, so each group gets its own candidates.

_MAX_JOINT_FACTOR = 3  # one query fetches up to this many times the limit; it usually yields enough for every group
_MIN_GROUP_SHARE = 0.25  # of the limit: a group with fewer candidates gets its own query

RetrieveFn = Callable[[Scope, int], list[ScoredChunk]]


_GROUP_BY_KIND = {kind: group for group in RESULT_GROUPS for kind in group.kinds}


def group_of_kind(kind: str) -> ResultGroup:
    return _GROUP_BY_KIND.get(kind, RESULT_GROUPS[0])


def groups_of_kinds(kinds: Iterable[str]) -> tuple[ResultGroup, ...]:
    """Return the result groups of these kinds, in the order of `RESULT_GROUPS`."""
    wanted = {group_of_kind(kind) for kind in kinds}
    return tuple(it for it in RESULT_GROUPS if it in wanted)


def retrieve_per_group(
    scope: Scope, run: SearchRun, limit: int, retrieve: RetrieveFn, *, sets_kind_weights: bool = False
) -> list[ScoredChunk]:
    """Retrieve the best candidates of every searchable group and merge them into one ranking; their scores share a
    scale.

    With `sets_kind_weights`, the scores also decide how documents and code are weighted.
    """
    groups = _split_groups_by_kind(groups_of_kinds(run.searchable_kinds()), run)
    if len(groups) < 2:
        return retrieve(_adapt_scope(groups[0], scope) if groups else scope, limit)
    best = _retrieve_jointly(scope, groups, run, limit, retrieve, sets_kind_weights)
    for group in groups:
        if group not in best:
            best[group] = retrieve(replace(_adapt_scope(group, scope), kinds=_allowed_kinds(group, scope)), limit)
            run.kinds |= dict.fromkeys((it.key for it in best[group]), group.kinds[0])
    return sort_scored(it for found in best.values() for it in found[:limit])


def _split_groups_by_kind(groups: tuple[ResultGroup, ...], run: SearchRun) -> tuple[ResultGroup, ...]:
    """Split groups into one per kind if the run weights kinds differently."""
    if not run.weights_kinds:
        return groups
    found = run.searchable_kinds()
    return tuple(it._replace(kinds=(kind,)) for it in groups for kind in it.kinds if kind in found) or groups


def _retrieve_jointly(
    scope: Scope,
    groups: Iterable[ResultGroup],
    run: SearchRun,
    limit: int,
    retrieve: RetrieveFn,
    sets_kind_weights: bool,
) -> dict[ResultGroup, list[ScoredChunk]]:
    """Run one query for several groups. Return the groups that got enough candidates and leave out the others."""
    candidates: dict[ResultGroup, list[ScoredChunk]] = {it: [] for it in groups if _adapt_scope(it, scope) == scope}
    if len(candidates) < 2:
        return {}
    if any(it not in candidates for it in groups):
        scope = replace(scope, kinds=tuple(kind for it in candidates for kind in _allowed_kinds(it, scope)))
    wanted = limit * min(_MAX_JOINT_FACTOR, len(candidates))
    joint = retrieve(scope, wanted)
    run.kinds |= run.view.chunk_kinds([it.key for it in joint])
    by_kind = {kind: found for group, found in candidates.items() for kind in group.kinds}
    for scored in joint:
        by_kind.get(run.kinds.get(scored.key, ""), next(iter(by_kind.values()))).append(scored)
    if sets_kind_weights and run.weights_kinds and joint:
        lowest = joint[-1].score  # kinds that were not found score below everything that was
        run.set_kind_weights({kind: found[0].score if found else lowest for kind, found in by_kind.items()})
    minimum = limit * _MIN_GROUP_SHARE if len(joint) == wanted else 0
    return {
        group: found
        for group, found in candidates.items()
        if len(found) >= minimum or not _needs_own_candidates(group, run)
    }


def _needs_own_candidates(group: ResultGroup, run: SearchRun) -> bool:
    """Return whether the group needs its own candidates. Of documents and code, only the preferred kind does."""
    return not run.weights_kinds or group.share < 1 or run.kind_weights()[group.kinds[0]] == 1


def _adapt_scope(group: ResultGroup, scope: Scope) -> Scope:
    """Adapt the scope to a group: records without file paths are matched by their links instead."""
    if not group.scope_link or not scope.paths or scope.links:
        return scope
    return replace(scope, paths=(), links=tuple(LinkFilter(group.scope_link, glob) for glob in scope.paths))


def _allowed_kinds(group: ResultGroup, scope: Scope) -> tuple[str, ...]:
    return tuple(kind for kind in group.kinds if not scope.kinds or kind in scope.kinds)


def sort_scored(ranking: Iterable[ScoredChunk]) -> list[ScoredChunk]:
    return sorted(ranking, key=lambda it: (-it.score, it.key))


def split_by_kind(
    ranking: list[ScoredChunk], kinds: Collection[str], run: SearchRun
) -> tuple[list[ScoredChunk], list[ScoredChunk]]:
    """Split a ranking into candidates of these kinds and all others.

    Nothing is split off if no kinds are given or if the kinds of the candidates are unknown.
    """
    if not kinds or not run.kinds:
        return ranking, []
    matching: list[ScoredChunk] = []
    others: list[ScoredChunk] = []
    for scored in ranking:
        (matching if run.kinds.get(scored.key, "") in kinds else others).append(scored)
    return matching, others
