"""Every way to search, one row each: which retrievers, how much they weigh, how deep, what happens to the hits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.encoders.base import SAME
from dowse.errors import BadInput
from dowse.model import AS_USUAL, Scored, Tuning
from dowse.search.confidence import confidence_scores
from dowse.search.kinds import LIMITED, PASSING, SUCCEEDING
from dowse.search.refine.calibrate import Calibrate, MinConfidence, Vouched
from dowse.search.refine.code import CODE, CodePriors
from dowse.search.refine.context import ParentSection
from dowse.search.refine.dedup import NgramDedup, SemanticDedup, exact_dedup
from dowse.search.refine.diversity import Mmr, PerRecord
from dowse.search.refine.fading import Fading, FadingAmongOwn
from dowse.search.refine.files import FileScores
from dowse.search.refine.graph import CommunityBoost, GraphNeighbours
from dowse.search.refine.limits import best_first, within_budget
from dowse.search.refine.quotas import Quotas
from dowse.search.refine.recency import RecencyTiers
from dowse.search.refine.rerank import Rerank
from dowse.search.refine.stage import Concerning, Stage
from dowse.search.refine.subjects import subject_priors
from dowse.search.refine.superseded import Superseded
from dowse.search.refine.validity import Validity
from dowse.search.repeats import answers_before_quotes, fold_copies
from dowse.search.retrieve import Retriever, headlined, lexical, semantic
from dowse.search.run import Run
from dowse.search.understand.adaptive import AdaptiveWeights
from dowse.search.understand.code_blocks import CodeBlocks
from dowse.search.understand.expand import Expanded
from dowse.search.understand.shared import shared_out
from dowse.search.understand.tags import Tagged
from dowse.search.understand.variance import VarianceWeights
from dowse.search.understand.worth import encoder_worth
from dowse.store.base import Weights
from dowse.text.terms import headline

# A match in a title or heading says more than one in the text; the parts of identifiers say less than the identifier.
WORDS = Weights(title=2.0, trail=1.5, text=1.0, names=0.5, tags=1.0, path=1.0)
# What the ragdocs contract has, unless its user or a query says otherwise.
_BOOSTS = Weights(title=3.0, trail=2.5, text=1.0, names=0.5, tags=2.0, path=0.5)
_LEAST, _USUAL_BIAS = 0.3, AS_USUAL.recency_bias
_RERANKED = 0.2  # how much a reranker's opinion counts beside the order it is asked about
# How much of the loss by age counts: fused scores lie close together, so that little moves them far.
_AGE = 0.05
_COPIES = 2  # that may be folded away without leaving a place empty
_AS_THEY_COME: tuple[Stage, ...] = (subject_priors, best_first, within_budget)
# Of several families of kinds, what is old, over or superseded counts less, and none takes the places of all others.
PASSAGES: tuple[Stage | Concerning, ...] = (
    subject_priors,
    fold_copies,
    answers_before_quotes,
    Concerning(PASSING, FadingAmongOwn(_AGE)),
    Concerning(SUCCEEDING, Superseded()),
    Concerning(SUCCEEDING, Validity()),
    Concerning(LIMITED, Quotas()),
    best_first,
    within_budget,
)


@dataclass(frozen=True, slots=True)
class Route:
    """A retriever with its weight in the fusion, and stages that reorder the first `refined` of its own candidates
    by what only they show; the rest keeps its place behind them. It is left out where it does not apply to a query,
    and its stages where nothing of the kinds they concern can be found. One that is `apart` may be asked while those
    before it are. `leaning` says how much of what the question leans to counts for its scores (`kinds.LEANINGS`)."""

    retriever: Retriever
    weight: float = 1.0
    stages: tuple[Stage, ...] = ()
    refined: int = 50
    applies: Callable[[str], object] = bool
    kinds: tuple[str, ...] = ()
    apart: bool = False
    leaning: float = 0.0


# Done before anything is retrieved: reads the query, may change the run, gives what it found for the log.
Prepare = Callable[[Run], Sized]
# Done between retrieving and fusing: may change the run's shares by what the retrievers gave.
Weigh = Callable[[Mapping[str, Sequence[Scored]], Run], Sized]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Each retriever gives `pool_per_hit` candidates for each hit asked for, and at least `pool_least`; stages that
    fold some away see `folded_per_hit` of them for each retriever and hit. `once`: what says the same again as a better
    candidate is not loaded. `by_score`: scores are fused, not ranks."""

    name: str
    routes: Mapping[str, Route]
    stages: tuple[Stage | Concerning, ...] = PASSAGES
    prepare: tuple[Prepare, ...] = ()
    weigh: tuple[Weigh, ...] = ()
    weights: Weights = WORDS
    pool_per_hit: int = 4
    pool_least: int = 100
    folded_per_hit: int = 2
    loaded_least: int = 0
    once: bool = False
    by_score: bool = False

    def pool(self, limit: int) -> int:
        return max(self.pool_least, limit * self.pool_per_hit)

    def loaded(self, limit: int) -> int:
        """How many candidates the stages need to see: all of them only where some will be folded away."""
        if self.stages == PASSAGES:
            needed = limit + _COPIES
        elif self.stages == _AS_THEY_COME:
            needed = limit
        else:
            needed = limit * self.folded_per_hit * len(self.routes)
        return max(needed, self.loaded_least)


def _routes(**routes: Route) -> Mapping[str, Route]:
    return MappingProxyType(routes)


def _only(routes: Mapping[str, Route], *names: str) -> Mapping[str, Route]:
    return _routes(**{name: routes[name] for name in names})


# Cosines lie close together, so that little moves them far.
_SOFT_PRIORS = CodePriors(defines=0.1, exact=0.2, stem=0.1, aside=0.7, entrance=0.9, project=0.9, copy=0.7, named=1.3)
_SOFT_LEANING = 1.0
_FILE_POOL = 300  # a file is judged by many of its passages
_ALL = 1_000_000_000

# Of a text of several lines, the first says what it is about: it counts as a retriever of its own.
_OF_PASSAGES = _routes(
    lexical=Route(lexical, stages=(CodePriors(),), kinds=CODE, leaning=1.0),
    headline=Route(headlined, stages=(CodePriors(of_headline=True),), applies=headline, kinds=CODE, leaning=1.0),
    semantic=Route(semantic, stages=(_SOFT_PRIORS,), kinds=CODE, apart=True, leaning=_SOFT_LEANING),
)
_OF_FILES = _routes(
    lexical=Route(lexical, stages=(CodePriors(), FileScores()), refined=_ALL, leaning=1.0),
    headline=Route(
        headlined, stages=(CodePriors(of_headline=True), FileScores()), refined=_ALL, applies=headline, leaning=1.0
    ),
    semantic=Route(
        semantic, stages=(_SOFT_PRIORS, FileScores(decay=0.0)), refined=_ALL, apart=True, leaning=_SOFT_LEANING
    ),
)
_PLAIN = _routes(lexical=Route(lexical), semantic=Route(semantic, apart=True))

_HYBRID = Recipe("hybrid", _OF_PASSAGES, weigh=(encoder_worth,), once=True, by_score=True)
_HYBRID_FILES = replace(_HYBRID, name="hybrid-files", routes=_OF_FILES, pool_least=_FILE_POOL)
# Notes fade at the pace of their type. What is only old is not left out: whether it is about what was asked is judged
# before its age is, and a successor that is not about it does not join.
_MEMORIES = Recipe(
    "memories",
    _PLAIN,
    stages=(Vouched(0.2), Calibrate(), Fading(), Superseded(joining=0), Validity(), PerRecord(1), *_AS_THEY_COME),
    weigh=(shared_out,),
    folded_per_hit=4,
)
# Each commit once, the newer of two that are alike first; scores are confidences.
_COMMITS = Recipe(
    "commits",
    _PLAIN,
    stages=(Fading(_AGE), PerRecord(1), confidence_scores, MinConfidence(0.0), *_AS_THEY_COME),
    weigh=(encoder_worth,),
    folded_per_hit=3,
    by_score=True,
)
# The Rifflux contract fixes the order, and the depth: twice as many candidates as hits.
_RIFFLUX = Recipe("rifflux-hybrid", _PLAIN, stages=_AS_THEY_COME, pool_per_hit=2, pool_least=1)


def _reranked(name: str, rerank: Rerank) -> tuple[Recipe, Recipe]:
    """Hybrid, with the best of it judged once more, for passages and for whole files."""
    stages: tuple[Stage | Concerning, ...] = (rerank, *PASSAGES)
    return (
        replace(_HYBRID, name=name, stages=stages, loaded_least=rerank.top),
        replace(_HYBRID_FILES, name=f"{name}-files", stages=stages, loaded_least=rerank.top),
    )


def _ragdocs(tuning: Tuning) -> tuple[Recipe, ...]:
    """The recipes of the ragdocs contract: few passages that say different things, each with the section around it.
    Words and meaning count by what is asked for, words and tags that go with it count for a little, what the best link
    to joins them, and newer ones come first."""
    routes = dict(_PLAIN)
    if tuning.query_expansion_enabled:
        routes["expanded"] = Route(Expanded(min_frequency=tuning.query_expansion_min_frequency), weight=0.3)
    if tuning.tag_expansion_enabled:
        tagged = Tagged(tuning.tag_expansion_max_tags, tuning.tag_expansion_depth)
        routes["tagged"] = Route(tagged, weight=0.3)
    code = {"code_blocks": Route(CodeBlocks(), tuning.code_search_weight)}
    prepare: tuple[Prepare, ...] = (AdaptiveWeights(),) if tuning.adaptive_weights_enabled else ()
    weigh: tuple[Weigh, ...] = ()
    if tuning.dynamic_weights_enabled:
        weigh = (VarianceWeights(tuning.variance_threshold, tuning.min_weight_factor),)
    # Most candidates may be of one record, the more so the fewer of it are shown.
    depth = 10 if tuning.max_chunks_per_doc == 1 else 4
    linked, once = _linked(tuning), _sure_and_once(tuning)
    several: Stage = Mmr(tuning.mmr_lambda) if tuning.mmr_enabled else PerRecord(tuning.max_chunks_per_doc)
    shown = _shown(tuning)
    documents = Recipe(
        "ragdocs",
        _routes(**routes, **(code if tuning.code_search_enabled else {})),
        stages=(*linked, *once, several, *shown),
        prepare=prepare,
        weigh=weigh,
        weights=_BOOSTS,
        folded_per_hit=depth,
    )
    unique = (*linked, *once, *((several,) if tuning.mmr_enabled else ()), PerRecord(1), *shown)
    return (
        documents,
        replace(documents, name="ragdocs-unique", stages=unique, folded_per_hit=10),
        replace(documents, name="ragdocs-code", routes=_routes(**routes, **code)),
        Recipe(
            "ragdocs-hypothesis",
            _only(_PLAIN, "semantic"),
            stages=(*once, several, *shown),
            folded_per_hit=depth,
        ),
    )


def _linked(tuning: Tuning) -> tuple[Stage, ...]:
    """What the hits link to joins them, and what is new counts more: as much as a bias of one half says, twice as much
    with 1, nothing with 0."""
    company = (CommunityBoost(tuning.community_boost_factor),) if tuning.community_detection_enabled else ()
    usual = RecencyTiers()
    tiers = tuple((days, 1 + (factor - 1) * tuning.recency_bias / _USUAL_BIAS) for days, factor in usual.tiers)
    return (GraphNeighbours(), *company, usual if tuning.recency_bias == _USUAL_BIAS else RecencyTiers(tiers))


def _sure_and_once(tuning: Tuning) -> tuple[Stage, ...]:
    """None that nothing speaks for, nothing said twice. Scores are confidences: a share of the best would be 1 for
    nonsense, too, and a fused score depends on how many retrievers had something to say, which differs from index to
    index."""
    least = _LEAST if tuning.min_confidence is None else tuning.min_confidence
    same = SAME if tuning.dedup_similarity_threshold is None else tuning.dedup_similarity_threshold
    ngrams = (NgramDedup(tuning.ngram_dedup_threshold),) if tuning.ngram_dedup_enabled else ()
    meaning = (SemanticDedup(same),) if tuning.dedup_enabled else ()
    return (subject_priors, confidence_scores, MinConfidence(least), exact_dedup, *ngrams, *meaning)


def _shown(tuning: Tuning) -> tuple[Stage, ...]:
    judged = (Rerank("cross", weight=_RERANKED, top=tuning.rerank_top_n),) if tuning.rerank_enabled else ()
    section = (ParentSection(tuning.parent_chunk_max_chars),) if tuning.parent_retrieval_enabled else ()
    return (*judged, best_first, *section, within_budget)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            # Where words alone rank passages, BM25 is the score and nothing is fused.
            replace(_HYBRID, name="lexical", routes=_only(_OF_PASSAGES, "lexical")),
            replace(_HYBRID, name="semantic", routes=_only(_OF_PASSAGES, "semantic")),
            _HYBRID,
            replace(_HYBRID_FILES, name="lexical-files", routes=_only(_OF_FILES, "lexical", "headline")),
            replace(_HYBRID_FILES, name="semantic-files", routes=_only(_OF_FILES, "semantic")),
            _HYBRID_FILES,
            *_reranked("rerank", Rerank("cross", weight=_RERANKED)),
            *_reranked("late", Rerank("late", weight=_RERANKED)),
            *_ragdocs(AS_USUAL),
            replace(_RIFFLUX, name="rifflux-lexical", routes=_only(_PLAIN, "lexical")),
            replace(_RIFFLUX, name="rifflux-semantic", routes=_only(_PLAIN, "semantic")),
            _RIFFLUX,
            _MEMORIES,
            _COMMITS,
        )
    }
)


def recipe_named(name: str, tuning: Tuning = AS_USUAL) -> Recipe:
    if name not in RECIPES:
        raise BadInput(f"there is no recipe {name!r}; known are auto, {', '.join(RECIPES)}")
    if tuning == AS_USUAL:
        return RECIPES[name]
    return next((it for it in _ragdocs(tuning) if it.name == name), RECIPES[name])
