"""Search recipes: retrievers, weights, candidate depth and stages, one row per recipe."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.encoders.base import CONTRACT_DUPLICATE_SIMILARITY
from dowse.errors import BadInput
from dowse.model import DEFAULT_TUNING, RagdocsTuning, ScoredChunk
from dowse.search.confidence import confidence_scores
from dowse.search.kinds import DECAYING_KINDS, LIMITED_KINDS, SUPERSEDABLE_KINDS
from dowse.search.query_features import (
    AdaptiveWeights,
    CodeBlocks,
    QueryExpansion,
    TagExpansion,
    VarianceWeights,
    encoder_worth,
    redistribute_weights,
)
from dowse.search.retrieve import Retriever, retrieve_headline, retrieve_lexical, retrieve_semantic
from dowse.search.run import SearchRun
from dowse.search.stages.base import KindFilteredStage, Stage, best_first, within_budget
from dowse.search.stages.code_priors import CODE_KINDS, CodePriors
from dowse.search.stages.context import ParentSection
from dowse.search.stages.dedup import Mmr, NgramDedup, PerRecord, SemanticDedup, exact_dedup, subject_priors
from dowse.search.stages.graph import CommunityBoost, GraphNeighbours
from dowse.search.stages.recency import AgeDecay, DecayWithinGroup, RecencyTiers, SuccessorBoost, Validity
from dowse.search.stages.repeats import answers_before_quotes, fold_copies
from dowse.search.stages.rerank import Rerank
from dowse.search.stages.scores import Calibrate, ConfidenceFloor, FileScores, MinConfidence, Quotas
from dowse.store.types import ColumnWeights
from dowse.text.tokenize import headline

# A match in a title or heading counts more than one in the text. Parts of identifiers count less than the identifier.
COLUMN_WEIGHTS = ColumnWeights(title=2.0, trail=1.5, text=1.0, names=0.5, tags=1.0, path=1.0)
# Defaults of the ragdocs contract; settings and queries may override them.
_RAGDOCS_COLUMN_WEIGHTS = ColumnWeights(title=3.0, trail=2.5, text=1.0, names=0.5, tags=2.0, path=0.5)
_RAGDOCS_MIN_CONFIDENCE, _DEFAULT_RECENCY_BIAS = 0.3, DEFAULT_TUNING.recency_bias
_RERANK_WEIGHT = 0.2  # weight of the reranker; the rest is the weight of the fused order
# The strength of age decay. Fused scores are close together, so a small factor moves hits far.
_AGE_DECAY_STRENGTH = 0.05
_SPARE_CANDIDATES = 2  # extra candidates, so that folded copies leave no gap
_BASIC_STAGES: tuple[Stage, ...] = (subject_priors, best_first, within_budget)
# With several result groups, old, expired or superseded records count less, and quotas keep one group from filling the
# page.
PASSAGE_STAGES: tuple[Stage | KindFilteredStage, ...] = (
    subject_priors,
    fold_copies,
    answers_before_quotes,
    KindFilteredStage(DECAYING_KINDS, DecayWithinGroup(_AGE_DECAY_STRENGTH)),
    KindFilteredStage(SUPERSEDABLE_KINDS, SuccessorBoost()),
    KindFilteredStage(SUPERSEDABLE_KINDS, Validity()),
    KindFilteredStage(LIMITED_KINDS, Quotas()),
    best_first,
    within_budget,
)


@dataclass(frozen=True, slots=True)
class RetrieverSpec:
    """A retriever with its weight in the fusion and its own stages.

    The stages reorder the first `refine_limit` candidates; the others follow in their order. A retriever is skipped if
    `applies_to` rejects the query. Its stages are skipped if none of its `kinds` is searchable. A `concurrent`
    retriever may run in parallel with the others. `kind_weight_exponent` is applied to the kind factors
    (`KIND_WEIGHTS`).
    """

    retriever: Retriever
    weight: float = 1.0
    stages: tuple[Stage, ...] = ()
    refine_limit: int = 50
    applies_to: Callable[[str], object] = bool
    kinds: tuple[str, ...] = ()
    concurrent: bool = False
    kind_weight_exponent: float = 0.0


# A step before retrieval: reads the query, may change the run, and returns its result for the log.
PrepareStep = Callable[[SearchRun], Sized]
# A step between retrieval and fusion: may change the retriever weights according to the rankings.
WeightStep = Callable[[Mapping[str, Sequence[ScoredChunk]], SearchRun], Sized]


@dataclass(frozen=True, slots=True)
class Recipe:
    """A named search configuration.

    Each retriever returns `pool_per_hit` candidates per requested hit, and at least `min_pool`. Stages that fold hits
    see `folded_per_hit` candidates per retriever and hit. `dedup_before_load` drops near-duplicates of better
    candidates. `by_score` fuses scores instead of ranks.
    """

    name: str
    retrievers: Mapping[str, RetrieverSpec]
    stages: tuple[Stage | KindFilteredStage, ...] = PASSAGE_STAGES
    prepare: tuple[PrepareStep, ...] = ()
    weigh: tuple[WeightStep, ...] = ()
    weights: ColumnWeights = COLUMN_WEIGHTS
    pool_per_hit: int = 4
    min_pool: int = 100
    folded_per_hit: int = 2
    min_loaded: int = 0
    dedup_before_load: bool = False
    by_score: bool = False

    def pool(self, limit: int) -> int:
        return max(self.min_pool, limit * self.pool_per_hit)

    def candidates_to_load(self, limit: int) -> int:
        """Return how many candidates the stages need. Only stages that fold hits need more than the limit."""
        if self.stages == PASSAGE_STAGES:
            needed = limit + _SPARE_CANDIDATES
        elif self.stages == _BASIC_STAGES:
            needed = limit
        else:
            needed = limit * self.folded_per_hit * len(self.retrievers)
        return max(needed, self.min_loaded)


def _freeze_retrievers(**routes: RetrieverSpec) -> Mapping[str, RetrieverSpec]:
    return MappingProxyType(routes)


def _select_retrievers(routes: Mapping[str, RetrieverSpec], *names: str) -> Mapping[str, RetrieverSpec]:
    return _freeze_retrievers(**{name: routes[name] for name in names})


# Cosines are close together, so small factors move candidates far.
_SEMANTIC_CODE_PRIORS = CodePriors(
    defines=0.1, exact=0.2, stem=0.1, peripheral=0.7, entry_file=0.9, project=0.9, copy=0.7, named=1.3
)
_SEMANTIC_KIND_EXPONENT = 1.0
_MIN_FILE_POOL = 300  # a file is scored by many of its passages
_NO_REFINE_LIMIT = 1_000_000_000

# The first line of a multi-line query states its subject, so it gets a separate retriever.
_PASSAGE_RETRIEVERS = _freeze_retrievers(
    lexical=RetrieverSpec(retrieve_lexical, stages=(CodePriors(),), kinds=CODE_KINDS, kind_weight_exponent=1.0),
    headline=RetrieverSpec(
        retrieve_headline,
        stages=(CodePriors(headline_only=True),),
        applies_to=headline,
        kinds=CODE_KINDS,
        kind_weight_exponent=1.0,
    ),
    semantic=RetrieverSpec(
        retrieve_semantic,
        stages=(_SEMANTIC_CODE_PRIORS,),
        kinds=CODE_KINDS,
        concurrent=True,
        kind_weight_exponent=_SEMANTIC_KIND_EXPONENT,
    ),
)
_FILE_RETRIEVERS = _freeze_retrievers(
    lexical=RetrieverSpec(
        retrieve_lexical, stages=(CodePriors(), FileScores()), refine_limit=_NO_REFINE_LIMIT, kind_weight_exponent=1.0
    ),
    headline=RetrieverSpec(
        retrieve_headline,
        stages=(CodePriors(headline_only=True), FileScores()),
        refine_limit=_NO_REFINE_LIMIT,
        applies_to=headline,
        kind_weight_exponent=1.0,
    ),
    semantic=RetrieverSpec(
        retrieve_semantic,
        stages=(_SEMANTIC_CODE_PRIORS, FileScores(decay=0.0)),
        refine_limit=_NO_REFINE_LIMIT,
        concurrent=True,
        kind_weight_exponent=_SEMANTIC_KIND_EXPONENT,
    ),
)
_PLAIN_RETRIEVERS = _freeze_retrievers(
    lexical=RetrieverSpec(retrieve_lexical), semantic=RetrieverSpec(retrieve_semantic, concurrent=True)
)

_HYBRID_RECIPE = Recipe("hybrid", _PASSAGE_RETRIEVERS, weigh=(encoder_worth,), dedup_before_load=True, by_score=True)
_HYBRID_FILES_RECIPE = replace(
    _HYBRID_RECIPE, name="hybrid-files", retrievers=_FILE_RETRIEVERS, min_pool=_MIN_FILE_POOL
)
# Notes decay at the rate of their type. Relevance is judged before age, so an old note is never dropped for its age
# alone. Unrelated successors do not join.
_MEMORIES_RECIPE = Recipe(
    "memories",
    _PLAIN_RETRIEVERS,
    stages=(
        ConfidenceFloor(0.2),
        Calibrate(),
        AgeDecay(),
        SuccessorBoost(max_joining=0),
        Validity(),
        PerRecord(1),
        *_BASIC_STAGES,
    ),
    weigh=(redistribute_weights,),
    folded_per_hit=4,
)
# One hit per commit; of two similar commits the newer comes first. Scores are confidences.
_COMMITS_RECIPE = Recipe(
    "commits",
    _PLAIN_RETRIEVERS,
    stages=(AgeDecay(_AGE_DECAY_STRENGTH), PerRecord(1), confidence_scores, MinConfidence(0.0), *_BASIC_STAGES),
    weigh=(encoder_worth,),
    folded_per_hit=3,
    by_score=True,
)
# The Rifflux contract fixes the order and the depth (two candidates per hit).
_RIFFLUX_RECIPE = Recipe("rifflux-hybrid", _PLAIN_RETRIEVERS, stages=_BASIC_STAGES, pool_per_hit=2, min_pool=1)


def _rerank_recipes(name: str, rerank: Rerank) -> tuple[Recipe, Recipe]:
    """Return hybrid recipes with a rerank stage, for passages and for whole files."""
    stages: tuple[Stage | KindFilteredStage, ...] = (rerank, *PASSAGE_STAGES)
    return (
        replace(_HYBRID_RECIPE, name=name, stages=stages, min_loaded=rerank.top),
        replace(_HYBRID_FILES_RECIPE, name=f"{name}-files", stages=stages, min_loaded=rerank.top),
    )


def _ragdocs_recipes(tuning: RagdocsTuning) -> tuple[Recipe, ...]:
    """Return the recipes of the ragdocs contract: few, diverse passages, each widened to its section.

    The query's form sets the weights of words and meaning. Query expansion and tags add weak retrievers. Documents
    linked to the best hits join, and newer documents rank higher.
    """
    routes = dict(_PLAIN_RETRIEVERS)
    if tuning.query_expansion_enabled:
        routes["expanded"] = RetrieverSpec(
            QueryExpansion(min_frequency=tuning.query_expansion_min_frequency), weight=0.3
        )
    if tuning.tag_expansion_enabled:
        tagged = TagExpansion(tuning.tag_expansion_max_tags, tuning.tag_expansion_depth)
        routes["tagged"] = RetrieverSpec(tagged, weight=0.3)
    code = {"code_blocks": RetrieverSpec(CodeBlocks(), tuning.code_search_weight)}
    prepare: tuple[PrepareStep, ...] = (AdaptiveWeights(),) if tuning.adaptive_weights_enabled else ()
    weigh: tuple[WeightStep, ...] = ()
    if tuning.dynamic_weights_enabled:
        weigh = (VarianceWeights(tuning.variance_threshold, tuning.min_weight_factor),)
    # Many candidates may come from one record, so a stricter limit per record needs more candidates.
    depth = 10 if tuning.max_chunks_per_doc == 1 else 4
    linked, filters = _link_stages(tuning), _filter_stages(tuning)
    diversify: Stage = Mmr(tuning.mmr_lambda) if tuning.mmr_enabled else PerRecord(tuning.max_chunks_per_doc)
    final = _final_stages(tuning)
    documents = Recipe(
        "ragdocs",
        _freeze_retrievers(**routes, **(code if tuning.code_search_enabled else {})),
        stages=(*linked, *filters, diversify, *final),
        prepare=prepare,
        weigh=weigh,
        weights=_RAGDOCS_COLUMN_WEIGHTS,
        folded_per_hit=depth,
    )
    unique = (*linked, *filters, *((diversify,) if tuning.mmr_enabled else ()), PerRecord(1), *final)
    return (
        documents,
        replace(documents, name="ragdocs-unique", stages=unique, folded_per_hit=10),
        replace(documents, name="ragdocs-code", retrievers=_freeze_retrievers(**routes, **code)),
        Recipe(
            "ragdocs-hypothesis",
            _select_retrievers(_PLAIN_RETRIEVERS, "semantic"),
            stages=(*filters, diversify, *final),
            folded_per_hit=depth,
        ),
    )


def _link_stages(tuning: RagdocsTuning) -> tuple[Stage, ...]:
    """Return the stages for links and recency. A bias of 0.5 applies the recency factors as defined, 1 doubles them, 0
    disables them."""
    company = (CommunityBoost(tuning.community_boost_factor),) if tuning.community_detection_enabled else ()
    usual = RecencyTiers()
    tiers = tuple(
        (days, 1 + (factor - 1) * tuning.recency_bias / _DEFAULT_RECENCY_BIAS) for days, factor in usual.tiers
    )
    return (GraphNeighbours(), *company, usual if tuning.recency_bias == _DEFAULT_RECENCY_BIAS else RecencyTiers(tiers))


def _filter_stages(tuning: RagdocsTuning) -> tuple[Stage, ...]:
    """Return the stages that drop irrelevant hits and duplicates. They compare confidences.

    A score relative to the best would be 1 even for nonsense. A fused score depends on how many retrievers contributed,
    which differs between indexes.
    """
    minimum = _RAGDOCS_MIN_CONFIDENCE if tuning.min_confidence is None else tuning.min_confidence
    duplicate_threshold = (
        CONTRACT_DUPLICATE_SIMILARITY
        if tuning.dedup_similarity_threshold is None
        else tuning.dedup_similarity_threshold
    )
    ngrams = (NgramDedup(tuning.ngram_dedup_threshold),) if tuning.ngram_dedup_enabled else ()
    semantic = (SemanticDedup(duplicate_threshold),) if tuning.dedup_enabled else ()
    return (subject_priors, confidence_scores, MinConfidence(minimum), exact_dedup, *ngrams, *semantic)


def _final_stages(tuning: RagdocsTuning) -> tuple[Stage, ...]:
    rerank = (Rerank("cross", weight=_RERANK_WEIGHT, top=tuning.rerank_top_n),) if tuning.rerank_enabled else ()
    widen = (ParentSection(tuning.parent_chunk_max_chars),) if tuning.parent_retrieval_enabled else ()
    return (*rerank, best_first, *widen, within_budget)


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        recipe.name: recipe
        for recipe in (
            # A single retriever needs no fusion, so the scores of the lexical recipe are BM25.
            replace(_HYBRID_RECIPE, name="lexical", retrievers=_select_retrievers(_PASSAGE_RETRIEVERS, "lexical")),
            replace(_HYBRID_RECIPE, name="semantic", retrievers=_select_retrievers(_PASSAGE_RETRIEVERS, "semantic")),
            _HYBRID_RECIPE,
            replace(
                _HYBRID_FILES_RECIPE,
                name="lexical-files",
                retrievers=_select_retrievers(_FILE_RETRIEVERS, "lexical", "headline"),
            ),
            replace(
                _HYBRID_FILES_RECIPE, name="semantic-files", retrievers=_select_retrievers(_FILE_RETRIEVERS, "semantic")
            ),
            _HYBRID_FILES_RECIPE,
            *_rerank_recipes("rerank", Rerank("cross", weight=_RERANK_WEIGHT)),
            *_rerank_recipes("late", Rerank("late", weight=_RERANK_WEIGHT)),
            *_ragdocs_recipes(DEFAULT_TUNING),
            replace(
                _RIFFLUX_RECIPE, name="rifflux-lexical", retrievers=_select_retrievers(_PLAIN_RETRIEVERS, "lexical")
            ),
            replace(
                _RIFFLUX_RECIPE, name="rifflux-semantic", retrievers=_select_retrievers(_PLAIN_RETRIEVERS, "semantic")
            ),
            _RIFFLUX_RECIPE,
            _MEMORIES_RECIPE,
            _COMMITS_RECIPE,
        )
    }
)


def get_recipe(name: str, tuning: RagdocsTuning = DEFAULT_TUNING) -> Recipe:
    if name not in RECIPES:
        raise BadInput(f"unknown recipe {name!r}; choose one of auto, {', '.join(RECIPES)}")
    if tuning == DEFAULT_TUNING:
        return RECIPES[name]
    return next((it for it in _ragdocs_recipes(tuning) if it.name == name), RECIPES[name])
