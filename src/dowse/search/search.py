"""Flow 2: retrieve → fuse → load → stages. Every step is timed and counted; nothing is skipped silently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

from dowse.errors import DowseError
from dowse.model import Hit, Query, Scored, Step
from dowse.search.fuse import SCORE_NAMES, Candidate, fuse, single
from dowse.search.recipes import Recipe, Route, recipe_named
from dowse.search.refine.stage import stage_name
from dowse.search.retrieve import Retriever
from dowse.search.run import NOTHING, Models, Run
from dowse.store.base import Store

EVEN: Mapping[str, float] = MappingProxyType({})
INDIFFERENT: Mapping[tuple[str, str], float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a recipe found, how, and the cosine below which texts are unrelated (0 if nobody knows)."""

    hits: list[Hit]
    steps: list[Step]
    unrelated: float = 0.0


def search(
    query: Query,
    store: Store,
    models: Models,
    *,
    rrf_k: int,
    shares: Mapping[str, float] = EVEN,
    priors: Mapping[tuple[str, str], float] = INDIFFERENT,
) -> Ranked:
    recipe = recipe_named(query.recipe)
    run = Run(query, store, models, recipe.pool(query.limit), recipe.weights, rrf_k, priors=priors)
    routes = {name: route for name, route in recipe.routes.items() if route.applies(query.text)}
    run.shares = {name: route.weight * shares.get(name, 1.0) for name, route in routes.items()}
    for prepare in recipe.prepare:
        run.step(stage_name(prepare), NOTHING, partial(prepare, run))
    retrieve = _or_note if len(routes) > 1 else _or_raise
    rankings = {
        name: _refined(name, route, run.step(name, NOTHING, partial(retrieve, route.retriever, run)), run)
        for name, route in routes.items()
    }
    # What is promoted may come from far down.
    candidates = _fused(recipe, rankings, run)[: run.pool if priors else recipe.loaded(query.limit)]
    hits = run.step("load", candidates, partial(_load, candidates, run))
    for stage in recipe.stages:
        hits = run.step(stage_name(stage), hits, partial(stage, hits, run))
    return Ranked(hits, run.steps, run.vector.traits.unrelated if run.vector else 0.0)


def _refined(name: str, route: Route, ranking: list[Scored], run: Run) -> list[Scored]:
    """The retriever's candidates after its own stages; those not looked at follow in their order."""
    if not route.stages or not ranking or not _concerns(route, run):
        return ranking
    scores = dict(ranking[: route.refined])
    evidence = SCORE_NAMES[name]
    hits = [Hit(stored, scores[stored.key], {evidence: scores[stored.key]}) for stored in run.store.load(list(scores))]
    for stage in route.stages:
        hits = run.step(f"{name}.{stage_name(stage)}", hits, partial(stage, hits, run))
    for hit in hits:
        run.evidence[hit.stored.key] |= hit.evidence
    lowest = hits[-1].score if hits else 0.0
    rest = [Scored(it.key, min(it.score, lowest)) for it in ranking[route.refined :]]
    return [*(Scored(hit.stored.key, hit.score) for hit in hits), *rest]


def _concerns(route: Route, run: Run) -> bool:
    """To look at the candidates costs more than to find them: not where the stages would leave them as they are."""
    wanted = run.query.scope.kinds
    return not route.kinds or any(kind in run.store.kinds() and (not wanted or kind in wanted) for kind in route.kinds)


def _or_raise(retriever: Retriever, run: Run) -> list[Scored]:
    return retriever(run)


def _or_note(retriever: Retriever, run: Run) -> list[Scored]:
    """One retriever of several may fail without failing the answer; the step says so."""
    try:
        return retriever(run)
    except DowseError:
        raise
    except Exception as error:  # noqa: BLE001 - a model or a driver may raise anything here
        run.notes.append(f"failed and was left out: {type(error).__name__}: {error}")
        return []


def _fused(recipe: Recipe, rankings: dict[str, list[Scored]], run: Run) -> list[Candidate]:
    if len(rankings) == 1:
        ((name, ranking),) = rankings.items()
        return single(name, ranking)
    found = [scored for ranking in rankings.values() for scored in ranking]
    for weigh in recipe.weigh:
        run.step(stage_name(weigh), found, partial(weigh, rankings, run))
    return run.step("fuse", found, partial(fuse, rankings, run.shares, run.rrf_k))


def _load(candidates: list[Candidate], run: Run) -> list[Hit]:
    by_key = {candidate.key: candidate for candidate in candidates}
    chunks = run.store.load(list(by_key))
    return [Hit(it, by_key[it.key].score, by_key[it.key].evidence | run.evidence[it.key]) for it in chunks]
