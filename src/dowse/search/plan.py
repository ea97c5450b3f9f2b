"""Query planner: choose a recipe, retry with another one, or abstain."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.encoders.base import EncoderTraits
from dowse.model import FILE_KINDS, Hit, Query, Step
from dowse.search.classify import QueryKind, classify_query
from dowse.search.confidence import add_confidence, coverage_confidence, query_stems, stem_coverage
from dowse.search.recipes import get_recipe
from dowse.search.search import SearchResult
from dowse.search.stages.code_priors import is_identifier, query_content_words, query_identifiers
from dowse.text.tokenize import STOP_WORDS

AUTO_RECIPE = "auto"
_FILES_SUFFIX = "-files"
# First and second choice of recipe; the second is tried if the best hits contain hardly any query words. A name or a
# path is looked up literally. Everything else is searched by words and meaning.
_RECIPES_BY_QUERY_KIND: Mapping[QueryKind, tuple[str, str]] = MappingProxyType(
    {
        "identifier": ("lexical", "hybrid"),
        "path": ("lexical", "hybrid"),
        "keywords": ("hybrid", "lexical"),
        "question": ("hybrid", "lexical"),
        "passage": ("hybrid", "lexical"),
    }
)
_MAX_JUDGED_HITS = 3
_WEAK_COVERAGE = 0.25
_HIGH_COVERAGE = 0.8  # a hit with this share of the query words is shown, however low its cosine
_CLEAR_SIMILARITY = 0.125  # share of the way from the similarity floor to identical texts
_IDENTIFIER_COVERAGE = 1.0  # identifiers must match completely: a partial match may be a different name
# Words by which a question speaks of its sources instead of its subject.
_SOURCE_WORDS = frozenset(
    [
        "according",
        "article",
        "articles",
        "described",
        "detailed",
        "discussed",
        "document",
        "documents",
        "mention",
        "mentioned",
        "paper",
        "papers",
        "passage",
        "passages",
        "publication",
        "publications",
        "stated",
        "text",
        "texts",
    ]
)

# Matches a capitalised word that does not begin a sentence.
_PROPER_NAME = re.compile(r"(?<=[\w,;:] )[A-Z][\w-]+")

RunRecipeFn = Callable[[Query], SearchResult]


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    hits: list[Hit]
    steps: list[Step]
    abstained: str = ""


def check_recipe(name: str) -> None:
    """Raise `BadInput` for an unknown recipe before any work is done."""
    if _split_files_suffix(name)[0] != AUTO_RECIPE:
        get_recipe(name)


def answer_query(query: Query, run_recipe: RunRecipeFn) -> PlannedAnswer:
    """Run the query's recipe and add a confidence to each hit. With `auto`, choose the recipe and abstain if nothing
    fits."""
    name, files = _split_files_suffix(query.recipe)
    if name != AUTO_RECIPE:
        ranked = run_recipe(query)
        return PlannedAnswer(_add_confidences(ranked, query), ranked.steps, ranked.missing_phrases)
    kind = classify_query(query.text)
    first, second = (recipe + files for recipe in _RECIPES_BY_QUERY_KIND[kind])
    ranked = run_recipe(replace(query, recipe=first))
    needed_coverage = _IDENTIFIER_COVERAGE if kind == "identifier" else _WEAK_COVERAGE
    coverage = best_word_coverage(ranked.hits, query.text, needed_coverage)
    steps = [_planner_step("plan", f"{kind}: {first}"), *ranked.steps]
    if ranked.missing_phrases:
        return PlannedAnswer([], steps, ranked.missing_phrases)
    if coverage < needed_coverage:
        second_result = run_recipe(replace(query, recipe=second))
        steps += [
            _planner_step("retry", f"best hits have {coverage:.0%} of the words; also tried {second}"),
            *second_result.steps,
        ]
        # The encoder decides whether the hits are relevant, whichever of the two results is shown.
        traits = second_result.traits if second_result.traits.similarity_floor else ranked.traits
        better_coverage = best_word_coverage(second_result.hits, query.text, needed_coverage)
        ranked, coverage = (second_result, better_coverage) if better_coverage > coverage else (ranked, coverage)
        ranked = replace(
            ranked,
            traits=traits,
            rarity=ranked.rarity or second_result.rarity,
            unknown_words=ranked.unknown_words or second_result.unknown_words,
        )
    return _answer_or_abstain(ranked, query, coverage, steps)


def _add_confidences(ranked: SearchResult, query: Query) -> list[Hit]:
    return add_confidence(ranked.hits, query.text, ranked.traits.similarity_floor)


def _planner_step(name: str, why: str) -> Step:
    return Step(name, 0, 0, 0.0, why)


def _split_files_suffix(recipe: str) -> tuple[str, str]:
    return (AUTO_RECIPE, _FILES_SUFFIX) if recipe == AUTO_RECIPE + _FILES_SUFFIX else (recipe, "")


def _answer_or_abstain(ranked: SearchResult, query: Query, coverage: float, steps: list[Step]) -> PlannedAnswer:
    """Abstain if the best hits share hardly any words and no meaning with the query, because they would mislead.

    Words alone are not enough evidence: this needs an encoder with a known similarity floor.
    """
    best_hits = ranked.hits[:_MAX_JUDGED_HITS]
    if not best_hits or ranked.traits.similarity_floor <= 0 or _is_covered(best_hits, ranked, query.text):
        return PlannedAnswer(_add_confidences(ranked, query), steps)
    # Commits and memories are terse, so they contain few words of a long question.
    is_short = any(it.stored.record.kind not in FILE_KINDS for it in best_hits)
    if (
        is_short
        or _has_most_query_words(best_hits, query.text)
        or _has_query_names(best_hits, query.text)
        or _is_first_by_words_and_meaning(best_hits, ranked.traits)
    ):
        return PlannedAnswer(_add_confidences(ranked, query), steps)
    nearest = max(hit.matched_hit.evidence.get("cosine", 0.0) for hit in best_hits)
    reason = (
        f"nothing relevant found: the best hits have {coverage:.0%} of the words and a cosine of {nearest:.2f} "
        f"(unrelated text has {ranked.traits.similarity_floor:.2f}); choose a recipe to see them anyway"
    )
    return PlannedAnswer([], [*steps, Step("abstain", len(ranked.hits), 0, 0.0, reason)], reason)


def _is_covered(hits: Sequence[Hit], ranked: SearchResult, text: str) -> bool:
    """Return whether the index is about the question, with sufficient confidence."""
    rarity = ranked.rarity or dict.fromkeys(query_content_words(text), 1.0)
    if ranked.traits.unknown_word_penalty:
        rarity = {word: weight for word, weight in rarity.items() if word not in _SOURCE_WORDS} or rarity
    # A report quotes paths, hashes and values that no index contains.
    unknown = frozenset[str]() if classify_query(text) == "passage" else ranked.unknown_words
    return coverage_confidence(hits, rarity, unknown, ranked.traits) >= ranked.traits.min_confidence


def _is_first_by_words_and_meaning(hits: Sequence[Hit], traits: EncoderTraits) -> bool:
    """Return whether both retrievers rank one of the hits first, with a cosine well above that of unrelated texts."""
    if not traits.unknown_word_penalty:
        return False
    least = traits.similarity_floor + _CLEAR_SIMILARITY * (1 - traits.similarity_floor)
    evidence = [hit.matched_hit.evidence for hit in hits]
    return any(
        it.get("lexical_rank") == 1 and it.get("semantic_rank") == 1 and it.get("cosine", 0.0) >= least
        for it in evidence
    )


def _has_most_query_words(hits: Sequence[Hit], text: str) -> bool:
    stems = query_stems(text)
    return any(stem_coverage(hit.matched_hit, stems) >= _HIGH_COVERAGE for hit in hits)


def _has_query_names(hits: Sequence[Hit], text: str) -> bool:
    """Return whether a hit contains an identifier of the query, or all of its proper names, verbatim."""
    identifiers = [name for name in query_identifiers(text) if is_identifier(name)]
    proper = [name for name in _PROPER_NAME.findall(text) if name.lower() not in STOP_WORDS]
    texts = [hit.matched_hit.stored.chunk.text for hit in hits]
    return any(
        any(name in it for name in identifiers) or (bool(proper) and all(name in it for name in proper)) for it in texts
    )


def best_word_coverage(hits: Sequence[Hit], text: str, needed: float = _WEAK_COVERAGE) -> float:
    """Return the largest share of the query's content words that one of the best hits contains, ignoring inflection.

    Stop at the first hit that reaches `needed`.
    """
    stems = query_stems(text)
    if not stems:
        return 1.0
    best = 0.0
    for hit in hits[:_MAX_JUDGED_HITS]:
        best = max(best, stem_coverage(hit.matched_hit, stems))
        if best >= needed:
            break
    return best
