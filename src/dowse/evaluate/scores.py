"""Runs a gold set through a search and keeps what each query scored and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from statistics import fmean

from dowse.errors import BadInput
from dowse.evaluate import metrics
from dowse.evaluate.gold import Gold, GoldQuery, Judge

DEFAULT_KS = (5, 10, 100)
MEASURES = ("mrr", *(f"{name}@{k}" for k in DEFAULT_KS for name in ("ndcg", "recall", "precision", "hit")))

Run = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class QueryScore:
    """What one query scored by measure (`ndcg@10`, `mrr` …) and what its answer cost."""

    id: str
    values: Mapping[str, float]
    ms: float


@dataclass(frozen=True, slots=True)
class Scores:
    """What one recipe scored on one gold set, in the gold set's order; never empty."""

    queries: tuple[QueryScore, ...]
    unjudged: int = 0

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(self.queries[0].values)

    def mean(self, measure: str) -> float:
        return fmean(query.values[measure] for query in self.queries)

    def latency_ms(self, percent: int) -> float:
        """The nearest-rank percentile: a latency that was really measured, not one between two."""
        ordered = sorted(query.ms for query in self.queries)
        return ordered[max(ceil(percent * len(ordered) / 100), 1) - 1]


def evaluate(
    gold: Gold,
    run: Run,
    ks: Sequence[int] = DEFAULT_KS,
    *,
    perf: Callable[[], float] = time.perf_counter,
) -> Scores:
    """`run` answers a query's text with ranked documents, best first, each once; `perf` counts seconds."""
    if not ks or min(ks) < 1:
        raise BadInput(f"cannot score at ranks {list(ks)}; give at least one, each 1 or more")
    return Scores(tuple(_score(query, run, ks, perf) for query in gold.queries), gold.unjudged)


def _score(query: GoldQuery, run: Run, ks: Sequence[int], perf: Callable[[], float]) -> QueryScore:
    started = perf()
    ranking = run(query.text)
    ms = (perf() - started) * 1000
    return QueryScore(query.id, _values(query.judge, ranking, ks), ms)


def _values(judge: Judge, ranking: Sequence[str], ks: Sequence[int]) -> dict[str, float]:
    gains, ideal = judge.gains(ranking), judge.ideal()
    values = {"mrr": metrics.reciprocal_rank(gains)}
    for k in ks:
        values[f"ndcg@{k}"] = metrics.ndcg(gains, ideal, k)
        values[f"recall@{k}"] = metrics.recall(gains, ideal, k)
        values[f"precision@{k}"] = metrics.precision(gains, k)
        values[f"hit@{k}"] = metrics.hit(gains, k)
    return values
