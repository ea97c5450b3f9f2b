"""Flow 2: retrieve → fuse → load → stages. Every step is timed and counted; nothing is skipped silently."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from types import MappingProxyType

from dowse.encoders.base import UNMEASURED, Traits
from dowse.errors import DowseError, IndexDamaged, PartDamaged
from dowse.model import EVERYTHING, IN_FILES, Hit, Query, Scored, Step
from dowse.search.families import families_of, family_of, parted
from dowse.search.fuse import FUSED, LEXICAL, RRF, SCORE_NAMES, Rankings, evidence_for, fuse_ranks, fuse_scores
from dowse.search.kinds import FAMILIES, SUCCEEDING
from dowse.search.recipes import Recipe, Route, recipe_named
from dowse.search.refine.code import CODE, asked_words, written_names
from dowse.search.refine.stage import Concerning, Stage, stage_name
from dowse.search.repeats import first_of_each
from dowse.search.retrieve import find_holders, matched, phrases_of
from dowse.search.run import NOTHING, Models, Result, Run
from dowse.search.understand.classify import classify
from dowse.store.base import Store
from dowse.text.terms import Term, Terms, quoted

SEMANTIC = "semantic"
EVEN: Mapping[str, float] = MappingProxyType({})
# Of kinds whose hits may lose most of their score (superseded, out of date), those behind them must be there to follow.
_STAND_BY = 20
_MOST_DEFINITIONS = 20  # of the names of a query: a name that more places define tells little
INDIFFERENT: Mapping[tuple[str, str], float] = MappingProxyType({})


# Starts work, on another thread or not before it is asked for, and gives what waits for its result.
Begin = Callable[[Callable[[], list[Scored]]], Callable[[], list[Scored]]]


def one_by_one(work: Callable[[], list[Scored]]) -> Callable[[], list[Scored]]:
    return work


@dataclass(frozen=True, slots=True)
class Ranked:
    """What a recipe found, how, and what is known of the encoder that took part."""

    hits: list[Hit]
    steps: list[Step]
    traits: Traits = UNMEASURED
    # Why nothing can be found: no passage holds the phrases that the query requires.
    unheld: str = ""
    # How much each word of the query says, by how rare it is; empty where no encoder took part.
    rarity: Mapping[str, float] = field(default_factory=dict)


def search(
    query: Query,
    store: Store,
    models: Models,
    *,
    rrf_k: int,
    shares: Mapping[str, float] = EVEN,
    priors: Mapping[tuple[str, str], float] = INDIFFERENT,
    begin: Begin = one_by_one,
    now: Callable[[], float] = time.time,
) -> Ranked:
    """`begin` may start work on another thread, and gives what waits for its result; ages are counted from `now`."""
    recipe = recipe_named(query.recipe, query.tuning)
    run = Run(query, store, models, recipe.pool(query.limit), recipe.weights, rrf_k, priors=priors, now=now)
    routes = {name: route for name, route in recipe.routes.items() if route.applies(query.text)}
    run.leans = any(route.leaning for route in routes.values()) and LEXICAL in routes
    run.shares = {name: route.weight * shares.get(name, 1.0) for name, route in routes.items()}
    if phrases := phrases_of(query):
        nothing: frozenset[int] = frozenset()
        run.step("phrases", NOTHING, partial(_unless_damaged, partial(find_holders, run, phrases), nothing, run))
    for prepare in recipe.prepare:
        run.step(stage_name(prepare), NOTHING, partial(prepare, run))
    rankings = _rankings(routes, run, begin)
    fused = _fused(recipe, rankings, run)
    if recipe.once:
        fused = run.step("once", fused, partial(first_of_each, fused, recipe.loaded(query.limit), run))
    best = _first(fused, recipe, run)
    hits = run.step("load", best, partial(_load, best, rankings, recipe, run))
    for stage in _wanted(recipe.stages, run):
        hits = run.step(stage_name(stage), hits, partial(_unless_damaged, partial(stage, hits, run), hits, run))
        hits = [hit for hit in hits if _is_held(hit.stored.key, run)]  # a stage may have added some
    unheld = "" if hits or not phrases else _unheld(phrases, run)
    return Ranked(hits, run.steps, run.vector.traits if run.vector else UNMEASURED, unheld, _rarity(run))


def _rarity(run: Run) -> dict[str, float]:
    words = asked_words(run.query.text) if run.vector is not None else ()
    alike = [1.0] * len(words)
    found = _unless_damaged(partial(run.store.inverse_frequencies, words), alike, run) if words else alike
    return dict(zip(words, found, strict=True))


def _is_held(key: int, run: Run) -> bool:
    return run.holders is None or key in run.holders


def _unheld(phrases: tuple[Term, ...], run: Run) -> str:
    """That no passage inside the scope holds what is required; nothing where one does, or nobody can tell."""
    scope = run.query.scope
    try:
        if matched(Terms(phrases), scope, run):
            return ""
    except (PartDamaged, IndexDamaged):
        return ""
    wanted = " and ".join(f'"{it}"' for it in quoted(run.query.text))
    where = "" if replace(scope, below=()) == EVERYTHING else " in this scope"
    return f"no indexed passage{where} holds {wanted}; remove the quotes to search for the words"


def _rankings(routes: Mapping[str, Route], run: Run, begin: Begin) -> dict[str, list[Scored]]:
    """In the order of the routes, whichever was asked first."""
    alone = len(routes) == 1
    apart = {name: _begun(name, route, run, begin) for name, route in routes.items() if route.apart and not alone}
    rankings = {}
    for name, route in routes.items():
        found = apart[name]() if name in apart else _retrieved(name, route, run, alone=alone)
        rankings[name] = _refined(name, route, found, run)
    return rankings


def _begun(name: str, route: Route, run: Run, begin: Begin) -> Callable[[], list[Scored]]:
    run.findable()  # known to both from here on
    branch = run.branch()
    found = begin(partial(_retrieved, name, route, branch, alone=False))

    def joined() -> list[Scored]:
        result = found()
        run.join(branch)
        return result

    return joined


def _retrieved(name: str, route: Route, run: Run, *, alone: bool) -> list[Scored]:
    guarded = _unless_damaged if alone else _or_note
    nothing: list[Scored] = []
    found = run.step(name, NOTHING, partial(guarded, partial(route.retriever, run), nothing, run))
    return found if run.holders is None else [it for it in found if it.key in run.holders]


def _refined(name: str, route: Route, ranking: list[Scored], run: Run) -> list[Scored]:
    """The retriever's candidates after its own stages; those not looked at follow in their order."""
    ranking = _leaning(name, route.leaning, ranking, run)
    if not route.stages or not ranking or not _concerns(route, run):
        return ranking
    last = ranking[-1].score
    ranking, others = parted(ranking, route.kinds, run)
    if name == LEXICAL:
        ranking = _with_definitions(ranking, ranking[-1].score if ranking else last, run)
    scores, own = dict(ranking[: route.refined]), SCORE_NAMES[name]
    unweighed = run.unweighed.get(name, scores)
    hits = [
        Hit(it, scores[it.key], {own: unweighed.get(it.key, scores[it.key])}) for it in run.store.load(list(scores))
    ]
    for stage in route.stages:
        hits = run.step(f"{name}.{stage_name(stage)}", hits, partial(stage, hits, run))
    for hit in hits:
        run.evidence[hit.stored.key] |= hit.evidence
    lowest = hits[-1].score if hits else 0.0
    rest = [Scored(it.key, min(it.score, lowest)) for it in ranking[route.refined :]]
    refined = [*(Scored(hit.stored.key, hit.score) for hit in hits), *rest]
    return sorted([*refined, *others], key=lambda it: -it.score) if others else refined


def _with_definitions(ranking: list[Scored], least: float, run: Run) -> list[Scored]:
    """The candidates that define a name of the query first, so that they are refined however little their words count.
    One that was not found has the `least` score, that of the last candidate."""
    names = () if classify(run.query.text) == "passage" else written_names(run.query.text)
    if not names or run.findable().isdisjoint(CODE):
        return ranking
    defining = dict.fromkeys(run.store.chunks_defining(sorted(names), run.query.scope, _MOST_DEFINITIONS))
    known = dict(ranking)
    added = [key for key in defining if key not in known and _is_held(key, run)]
    run.kinds |= dict.fromkeys(added if run.kinds else (), CODE[0])
    first = [it for it in ranking if it.key in defining] + [Scored(key, least) for key in added]
    return [*first, *(it for it in ranking if it.key not in defining)]


def _leaning(name: str, share: float, ranking: list[Scored], run: Run) -> list[Scored]:
    """The candidates by how much their kinds count for what the question is about. Kinds that were asked for are left
    as they come, but for documents and code: whoever asks for files does not choose between them."""
    if not share or not run.leans or not run.kinds or not {*run.query.scope.kinds} <= {*IN_FILES}:
        return ranking
    factors = {kind: factor**share for kind, factor in run.leaning().items()}
    # Another retriever may be adding its candidates to `kinds` meanwhile: look up, do not iterate.
    kind_of = run.kinds.get
    run.unweighed[name] = dict(ranking)
    none = run.vector.traits.unrelated if name == SEMANTIC and run.vector else 0.0  # the score that says nothing
    leaned = [
        Scored(key, none + (score - none) * factors.get(kind_of(key, ""), 1.0) if score > none else score)
        for key, score in ranking
    ]
    leaned.sort(key=itemgetter(1), reverse=True)
    return leaned


def _concerns(route: Route, run: Run) -> bool:
    """To look at the candidates costs more than to find them: not where the stages would leave them as they are."""
    return not route.kinds or not run.findable().isdisjoint(route.kinds)


def _wanted(stages: Iterable[Stage | Concerning], run: Run) -> list[Stage]:
    """Those that have something to do."""
    findable = run.findable()
    concerned = (it for it in stages if not isinstance(it, Concerning) or not findable.isdisjoint(it.kinds))
    return [it.stage if isinstance(it, Concerning) else it for it in concerned]


def _unless_damaged(work: Callable[[], Result], otherwise: Result, run: Run) -> Result:
    """What a damaged part of the index can not do is left out; the step says so, and whoever serves makes it anew."""
    try:
        return work()
    except (PartDamaged, IndexDamaged) as error:
        run.notes.append(f"skipped: {error}")
        return otherwise


def _or_note(work: Callable[[], Result], otherwise: Result, run: Run) -> Result:
    """One retriever of several may fail without failing the answer; the step says so."""
    try:
        return _unless_damaged(work, otherwise, run)
    except DowseError:
        raise
    except Exception as error:  # noqa: BLE001 - a model or a driver may raise anything here
        run.notes.append(f"failed and was left out: {type(error).__name__}: {error}")
        return otherwise


def _fused(recipe: Recipe, rankings: dict[str, list[Scored]], run: Run) -> list[Scored]:
    if len(rankings) == 1:
        (alone,) = rankings.values()
        return alone  # its own scores are the scores
    found = [scored for ranking in rankings.values() for scored in ranking]
    for weigh in recipe.weigh:
        run.step(stage_name(weigh), found, partial(weigh, rankings, run))
    by_rank = partial(fuse_ranks, rankings, run.shares, run.rrf_k)
    by_score = partial(fuse_scores, rankings, run.shares, run.asked_for)
    return run.step("fuse", found, by_score if recipe.by_score else by_rank)


def _first(fused: list[Scored], recipe: Recipe, run: Run) -> list[Scored]:
    """So many of each family, where there are several: what becomes of them is for the stages to say."""
    # What is promoted may come from far down.
    wanted = run.pool if run.priors else recipe.loaded(run.query.limit)
    concerned = {kind for it in recipe.stages if isinstance(it, Concerning) for kind in it.kinds}
    passing = {family_of(kind) for kind in SUCCEEDING if kind in concerned}
    present = families_of(run.findable())
    most = {family.name: wanted + _STAND_BY * (family in passing) for family in FAMILIES}
    if len(present) == 1:  # then nobody asked for the kinds of candidates
        return fused[: most[present[0].name]]
    taken: Counter[str] = Counter()
    kept: list[Scored] = []
    for scored in fused:
        family = family_of(run.kinds.get(scored.key, "")).name
        taken[family] += 1
        if taken[family] <= most[family]:
            kept.append(scored)
    return kept


def _load(best: list[Scored], rankings: Rankings, recipe: Recipe, run: Run) -> list[Hit]:
    scores, evidence = dict(best), evidence_for(best, rankings, FUSED if recipe.by_score else RRF)
    for name, own in run.unweighed.items():
        for key, told in evidence.items():
            if SCORE_NAMES[name] in told and key in own:
                told[SCORE_NAMES[name]] = own[key]
    return [Hit(it, scores[it.key], evidence[it.key] | run.evidence[it.key]) for it in run.store.load([*scores])]
