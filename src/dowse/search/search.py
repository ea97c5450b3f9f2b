"""Search flow: retrieve, fuse, load, then stages. Each step is timed and counted; skipped steps say so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from types import MappingProxyType

from dowse.encoders.base import DEFAULT_TRAITS, EncoderTraits
from dowse.errors import DowseError, IndexDamaged, PartDamaged
from dowse.model import EVERYTHING, FILE_KINDS, Hit, Query, ScoredChunk, Step
from dowse.search.classify import classify_query
from dowse.search.fuse import (
    FUSED_SCORE,
    LEXICAL_RETRIEVER,
    RRF_SCORE,
    SCORE_NAMES,
    Rankings,
    build_evidence,
    fuse_ranks,
    fuse_scores,
)
from dowse.search.kinds import RESULT_GROUPS, SUPERSEDABLE_KINDS
from dowse.search.recipes import Recipe, RetrieverSpec, get_recipe
from dowse.search.retrieve import find_phrase_chunks, match_terms, required_phrases
from dowse.search.run import (
    NO_INPUT,
    SearchModels,
    SearchRun,
    StepResult,
    group_of_kind,
    groups_of_kinds,
    split_by_kind,
)
from dowse.search.stages.base import KindFilteredStage, Stage, stage_name
from dowse.search.stages.code_priors import CODE_KINDS, query_content_words, query_identifiers
from dowse.search.stages.repeats import drop_redundant_candidates
from dowse.store.types import inverse_frequency
from dowse.store.view import StoreView
from dowse.text.tokenize import QueryTerm, QueryTerms, quoted_phrases

SEMANTIC = "semantic"
EQUAL_WEIGHTS: Mapping[str, float] = MappingProxyType({})
# Hits of these kinds may lose most of their score, so extra candidates must be ready to move up.
_SPARE_SUPERSEDABLE = 20
_MAX_DEFINITIONS = 20  # for the names in a query; names with more definitions are too common to help
NO_PREFERENCES: Mapping[tuple[str, str], float] = MappingProxyType({})


# Starts work, on another thread or lazily, and returns a function that waits for the result.
StartFn = Callable[[Callable[[], list[ScoredChunk]]], Callable[[], list[ScoredChunk]]]


def run_lazily(work: Callable[[], list[ScoredChunk]]) -> Callable[[], list[ScoredChunk]]:
    return work


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The hits of one recipe, the steps taken, and the traits of the encoder used."""

    hits: list[Hit]
    steps: list[Step]
    traits: EncoderTraits = DEFAULT_TRAITS
    # The reason why nothing can match: no passage contains the required phrases.
    missing_phrases: str = ""
    # The weight of each query word by rarity; empty if no encoder was used.
    rarity: Mapping[str, float] = field(default_factory=dict)
    # The query words that no chunk of the index contains.
    unknown_words: frozenset[str] = frozenset()


def search(
    query: Query,
    view: StoreView,
    models: SearchModels,
    *,
    rrf_k: int,
    shares: Mapping[str, float] = EQUAL_WEIGHTS,
    priors: Mapping[tuple[str, str], float] = NO_PREFERENCES,
    begin: StartFn = run_lazily,
    now: Callable[[], float] = time.time,
) -> SearchResult:
    """Run the query's recipe.

    `begin` starts a concurrent retriever and returns a function that waits for its result. `now` is the time that ages
    are measured from.
    """
    recipe = get_recipe(query.recipe, query.tuning)
    run = SearchRun(query, view, models, recipe.pool(query.limit), recipe.weights, rrf_k, priors=priors, now=now)
    routes = {name: route for name, route in recipe.retrievers.items() if route.applies_to(query.text)}
    run.weights_kinds = any(route.kind_weight_exponent for route in routes.values()) and LEXICAL_RETRIEVER in routes
    run.retriever_weights = {name: route.weight * shares.get(name, 1.0) for name, route in routes.items()}
    if phrases := required_phrases(query):
        nothing: frozenset[int] = frozenset()
        run.step(
            "phrases", NO_INPUT, partial(_skip_if_damaged, partial(find_phrase_chunks, run, phrases), nothing, run)
        )
    for prepare in recipe.prepare:
        run.step(stage_name(prepare), NO_INPUT, partial(prepare, run))
    rankings = _retrieve_all(routes, run, begin)
    fused = _fuse_rankings(recipe, rankings, run)
    if recipe.dedup_before_load:
        fused = run.step(
            "once", fused, partial(drop_redundant_candidates, fused, recipe.candidates_to_load(query.limit), run)
        )
    best = _take_per_group(fused, recipe, run)
    hits = run.step("load", best, partial(_load_hits, best, rankings, recipe, run))
    for stage in _applicable_stages(recipe.stages, run):
        hits = run.step(stage_name(stage), hits, partial(_skip_if_damaged, partial(stage, hits, run), hits, run))
        hits = [hit for hit in hits if _has_phrases(hit.stored.key, run)]  # a stage may have added hits
    unheld = "" if hits or not phrases else _explain_missing_phrases(phrases, run)
    rarity, unknown = _word_rarity(run)
    traits = run.vector.traits if run.vector else DEFAULT_TRAITS
    return SearchResult(hits, run.steps, traits, unheld, rarity, unknown)


def _word_rarity(run: SearchRun) -> tuple[dict[str, float], frozenset[str]]:
    """Return the inverse document frequency of each query word, and the words that no chunk contains."""
    words = query_content_words(run.query.text) if run.vector is not None else ()
    equal = 1, [1] * len(words)
    chunks, counts = _skip_if_damaged(partial(run.view.document_frequencies, words), equal, run) if words else equal
    rarity = {word: inverse_frequency(chunks, count) for word, count in zip(words, counts, strict=True)}
    return rarity, frozenset(word for word, count in zip(words, counts, strict=True) if not count)


def _has_phrases(key: int, run: SearchRun) -> bool:
    return run.phrase_chunks is None or key in run.phrase_chunks


def _explain_missing_phrases(phrases: tuple[QueryTerm, ...], run: SearchRun) -> str:
    """Explain that no passage in scope contains the required phrases; return "" if one does or the index is damaged."""
    scope = run.query.scope
    try:
        if match_terms(QueryTerms(phrases), scope, run):
            return ""
    except (PartDamaged, IndexDamaged):
        return ""
    phrases_text = " and ".join(f'"{it}"' for it in quoted_phrases(run.query.text))
    scope_text = "" if replace(scope, nested=()) == EVERYTHING else " in this scope"
    return f"no indexed passage{scope_text} contains {phrases_text}; remove the quotes to search for the words"


def _retrieve_all(routes: Mapping[str, RetrieverSpec], run: SearchRun, begin: StartFn) -> dict[str, list[ScoredChunk]]:
    """Return the rankings in the order of the routes, whichever started first."""
    alone = len(routes) == 1
    apart = {
        name: _start_retriever(name, route, run, begin)
        for name, route in routes.items()
        if route.concurrent and not alone
    }
    rankings = {}
    for name, route in routes.items():
        found = apart[name]() if name in apart else _run_retriever(name, route, run, alone=alone)
        rankings[name] = _refine_ranking(name, route, found, run)
    return rankings


def _start_retriever(
    name: str, route: RetrieverSpec, run: SearchRun, begin: StartFn
) -> Callable[[], list[ScoredChunk]]:
    run.searchable_kinds()  # cache the kinds before the run is copied
    branch = run.branch()
    found = begin(partial(_run_retriever, name, route, branch, alone=False))

    def joined() -> list[ScoredChunk]:
        result = found()
        run.join(branch)
        return result

    return joined


def _run_retriever(name: str, route: RetrieverSpec, run: SearchRun, *, alone: bool) -> list[ScoredChunk]:
    guarded = _skip_if_damaged if alone else _skip_on_error
    nothing: list[ScoredChunk] = []
    found = run.step(name, NO_INPUT, partial(guarded, partial(route.retriever, run), nothing, run))
    return found if run.phrase_chunks is None else [it for it in found if it.key in run.phrase_chunks]


def _refine_ranking(name: str, route: RetrieverSpec, ranking: list[ScoredChunk], run: SearchRun) -> list[ScoredChunk]:
    """Apply the retriever's stages to its candidates. Candidates beyond `refine_limit` follow in their order."""
    ranking = _apply_kind_weights(name, route.kind_weight_exponent, ranking, run)
    if not route.stages or not ranking or not _stages_apply(route, run):
        return ranking
    last_score = ranking[-1].score
    ranking, others = split_by_kind(ranking, route.kinds, run)
    if name == LEXICAL_RETRIEVER:
        ranking = _prepend_definitions(ranking, ranking[-1].score if ranking else last_score, run)
    scores, score_key = dict(ranking[: route.refine_limit]), SCORE_NAMES[name]
    unweighed = run.raw_scores.get(name, scores)
    hits = [
        Hit(it, scores[it.key], {score_key: unweighed.get(it.key, scores[it.key])})
        for it in run.view.load(list(scores))
    ]
    for stage in route.stages:
        hits = run.step(f"{name}.{stage_name(stage)}", hits, partial(stage, hits, run))
    for hit in hits:
        run.evidence[hit.stored.key] |= hit.evidence
    lowest = hits[-1].score if hits else 0.0
    rest = [ScoredChunk(it.key, min(it.score, lowest)) for it in ranking[route.refine_limit :]]
    refined = [*(ScoredChunk(hit.stored.key, hit.score) for hit in hits), *rest]
    return sorted([*refined, *others], key=lambda it: -it.score) if others else refined


def _prepend_definitions(ranking: list[ScoredChunk], least: float, run: SearchRun) -> list[ScoredChunk]:
    """Move candidates that define a name of the query to the front, so that they are refined even with a low score.

    Definitions that were not retrieved are added with the `least` score.
    """
    names = () if classify_query(run.query.text) == "passage" else query_identifiers(run.query.text)
    if not names or run.searchable_kinds().isdisjoint(CODE_KINDS):
        return ranking
    defining = dict.fromkeys(run.view.chunks_defining(sorted(names), run.query.scope, _MAX_DEFINITIONS))
    found = dict(ranking)
    added = [key for key in defining if key not in found and _has_phrases(key, run)]
    run.kinds |= dict.fromkeys(added if run.kinds else (), CODE_KINDS[0])
    first = [it for it in ranking if it.key in defining] + [ScoredChunk(key, least) for key in added]
    return [*first, *(it for it in ranking if it.key not in defining)]


def _apply_kind_weights(name: str, exponent: float, ranking: list[ScoredChunk], run: SearchRun) -> list[ScoredChunk]:
    """Multiply scores by the kind factors for this question.

    If the query names kinds, they are not weighted, except that documents and code still are: asking for files does not
    choose between them.
    """
    if not exponent or not run.weights_kinds or not run.kinds or not {*run.query.scope.kinds} <= {*FILE_KINDS}:
        return ranking
    factors = {kind: factor**exponent for kind, factor in run.kind_weights().items()}
    # A concurrent retriever may be adding to `kinds`, so look up and do not iterate.
    kind_of = run.kinds.get
    run.raw_scores[name] = dict(ranking)
    neutral = (
        run.vector.traits.similarity_floor if name == SEMANTIC and run.vector else 0.0
    )  # the score of an unrelated text
    weighted = [
        ScoredChunk(key, neutral + (score - neutral) * factors.get(kind_of(key, ""), 1.0) if score > neutral else score)
        for key, score in ranking
    ]
    weighted.sort(key=itemgetter(1), reverse=True)
    return weighted


def _stages_apply(route: RetrieverSpec, run: SearchRun) -> bool:
    """Return whether the route's stages can change anything. Loading candidates costs more than finding them."""
    return not route.kinds or not run.searchable_kinds().isdisjoint(route.kinds)


def _applicable_stages(stages: Iterable[Stage | KindFilteredStage], run: SearchRun) -> list[Stage]:
    """Return the stages that apply to the searchable kinds."""
    findable = run.searchable_kinds()
    concerned = (it for it in stages if not isinstance(it, KindFilteredStage) or not findable.isdisjoint(it.kinds))
    return [it.stage if isinstance(it, KindFilteredStage) else it for it in concerned]


def _skip_if_damaged(work: Callable[[], StepResult], fallback: StepResult, run: SearchRun) -> StepResult:
    """Skip work that needs a damaged part of the index, and note it. The server repairs that part."""
    try:
        return work()
    except (PartDamaged, IndexDamaged) as error:
        run.notes.append(f"skipped: {error}")
        return fallback


def _skip_on_error(work: Callable[[], StepResult], fallback: StepResult, run: SearchRun) -> StepResult:
    """Let one of several retrievers fail without failing the search, and note it."""
    try:
        return _skip_if_damaged(work, fallback, run)
    except DowseError:
        raise
    except Exception as error:  # noqa: BLE001 - a model or a driver may raise anything here
        run.notes.append(f"failed and skipped: {type(error).__name__}: {error}")
        return fallback


def _fuse_rankings(recipe: Recipe, rankings: dict[str, list[ScoredChunk]], run: SearchRun) -> list[ScoredChunk]:
    if len(rankings) == 1:
        (alone,) = rankings.values()
        return alone  # no fusion: keep the retriever's scores
    found = [scored for ranking in rankings.values() for scored in ranking]
    for weigh in recipe.weigh:
        run.step(stage_name(weigh), found, partial(weigh, rankings, run))
    by_rank = partial(fuse_ranks, rankings, run.retriever_weights, run.rrf_k)
    by_score = partial(fuse_scores, rankings, run.retriever_weights, run.filter_preferred_kinds)
    return run.step("fuse", found, by_score if recipe.by_score else by_rank)


def _take_per_group(fused: list[ScoredChunk], recipe: Recipe, run: SearchRun) -> list[ScoredChunk]:
    """Take the best candidates of each result group; the stages decide between them."""
    # A promoted document may rank far down before its factor is applied.
    per_group = run.pool if run.priors else recipe.candidates_to_load(run.query.limit)
    stage_kinds = {kind for it in recipe.stages if isinstance(it, KindFilteredStage) for kind in it.kinds}
    extra_groups = {group_of_kind(kind) for kind in SUPERSEDABLE_KINDS if kind in stage_kinds}
    groups = groups_of_kinds(run.searchable_kinds())
    limits = {group.name: per_group + _SPARE_SUPERSEDABLE * (group in extra_groups) for group in RESULT_GROUPS}
    if len(groups) == 1:  # then the kinds of candidates are not known
        return fused[: limits[groups[0].name]]
    counts: Counter[str] = Counter()
    selected: list[ScoredChunk] = []
    for scored in fused:
        group = group_of_kind(run.kinds.get(scored.key, "")).name
        counts[group] += 1
        if counts[group] <= limits[group]:
            selected.append(scored)
    return selected


def _load_hits(best: list[ScoredChunk], rankings: Rankings, recipe: Recipe, run: SearchRun) -> list[Hit]:
    scores, evidence = dict(best), build_evidence(best, rankings, FUSED_SCORE if recipe.by_score else RRF_SCORE)
    for name, raw_scores in run.raw_scores.items():
        for key, values in evidence.items():
            if SCORE_NAMES[name] in values and key in raw_scores:
                values[SCORE_NAMES[name]] = raw_scores[key]
    return [Hit(it, scores[it.key], evidence[it.key] | run.evidence[it.key]) for it in run.view.load([*scores])]
