"""Retrievers and weights that follow from the query: code blocks, tags, expansion, encoder weight."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import sqrt
from statistics import fmean, pstdev, pvariance
from types import MappingProxyType

from dowse.model import ScoredChunk, StoredChunk
from dowse.search.classify import QueryIntent, classify_intent, classify_query
from dowse.search.retrieve import find_nearest, match_terms
from dowse.search.run import NO_INPUT, SearchRun
from dowse.store.types import ColumnWeights
from dowse.text.tokenize import (
    STOP_WORDS,
    QueryTerm,
    QueryTerms,
    camel_parts,
    cjk_runs,
    parse_query,
    split_words,
    subtokens,
)

# --------------------------------------------------------------------------------------------------
# Retriever for code that contains the query's words: code files, and fenced code in documents.

_FENCED_BLOCK = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n(.*?)(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class CodeBlocks:
    """Keeps BM25 candidates whose code contains at least the share `min_share` of the query's words."""

    kinds: tuple[str, ...] = ("code",)
    min_share: float = 0.8

    def __call__(self, run: SearchRun) -> list[ScoredChunk]:
        terms = parse_query(run.query.text)
        written = {word.lower(): word for word in split_words(run.query.text)}
        query_words = _split_code_words(
            " ".join(written.get(word, word) for term in (*terms.required, *terms.optional) for word in term.words)
        )
        found = match_terms(terms, run.query.scope, run)
        chunks = run.view.load([it.key for it in found])
        kept = {it.key for it in chunks if len(query_words & self._words(it)) >= self.min_share * len(query_words)}
        if not kept:
            run.notes.append("no code contains the words of the query")
        return [it for it in found if it.key in kept]

    def _words(self, stored: StoredChunk) -> set[str]:
        """Return the words of a chunk's code, with names split into parts."""
        text = stored.chunk.text
        code = text if stored.record.kind in self.kinds else "\n".join(body for _, body in _FENCED_BLOCK.findall(text))
        return _split_code_words(code) if code else set()


def _split_code_words(text: str) -> set[str]:
    """Return the words of a text, with each name replaced by its parts: `parse_json` and `parseJson` give parse and
    json."""
    parts = (part for word in split_words(text) for part in word.split("_") if part)
    return {piece.lower() for part in parts for piece in camel_parts(part) or (subtokens(part) or part).split()}


# --------------------------------------------------------------------------------------------------
# Retriever weights by the intent of the query.

Factors = Mapping[str, float]
# Names match by spelling, places by links, everything else by meaning.
INTENT_FACTORS: Mapping[QueryIntent, Factors] = MappingProxyType(
    {"factual": {"lexical": 1.5}, "navigational": {"graph": 1.5}, "exploratory": {"semantic": 1.3}}
)


@dataclass(frozen=True, slots=True)
class AdaptiveWeights:
    """Multiplies the weights of the available retrievers and returns the factors it applied."""

    factors: Mapping[QueryIntent, Factors] = field(default_factory=lambda: INTENT_FACTORS)

    def __call__(self, run: SearchRun) -> Sized:
        query_intent = classify_intent(run.query.text)
        changed = {name: factor for name, factor in self.factors[query_intent].items() if name in run.retriever_weights}
        for name, factor in changed.items():
            run.retriever_weights[name] *= factor
        run.notes.append(" ".join([query_intent, *(f"{name} ×{factor:g}" for name, factor in changed.items())]))
        return changed


# --------------------------------------------------------------------------------------------------
# Query expansion: a weak retriever with words from the passages nearest in meaning.

_MIN_CONCEPT_CHARS, _CONCEPT_STEM_CHARS = (
    3,
    5,
)  # words with this prefix in common are forms of one word, which the index has stemmed already


@dataclass(frozen=True, slots=True)
class QueryExpansion:
    """Adds words that the chunks nearest to the query use for its subject.

    A word's score is the mean similarity of the chunks that contain it. It is used if that mean is at least
    `min_standard_errors` above the mean of all nearby chunks. Nothing is cached between searches, so words cannot
    become stale or leak from outside the scope.
    """

    neighbours: int = 30
    limit: int = 5
    min_frequency: int = 3
    min_standard_errors: float = 1.5

    def __call__(self, run: SearchRun) -> list[ScoredChunk]:
        found = self.concepts(run)
        if not found:
            return []
        run.notes.append(f"added words: {', '.join(found)}")
        terms = parse_query(run.query.text)
        wanted = terms.optional + tuple(QueryTerm((word,)) for word in found)
        return match_terms(QueryTerms(terms.required, wanted), run.query.scope, run)

    def concepts(self, run: SearchRun) -> list[str]:
        """Return the most significant words, best first, or note why there are none."""
        near, why_not = find_nearest(run, self.neighbours)
        if why_not:
            run.notes.append(why_not)
            return []
        scores = {it.key: it.score for it in near}
        known = {word[:_CONCEPT_STEM_CHARS] for word in _concept_words(run.query.text)}
        worths = self._word_scores(_scores_by_word(run, scores), list(scores.values()))
        best = sorted((-ranking_weight, word) for word, ranking_weight in worths.items() if _is_new_word(word, known))[
            : self.limit
        ]
        if not best:
            run.notes.append("the nearest passages have no distinctive words")
        return [word for _, word in best]

    def _word_scores(self, by_word: Mapping[str, list[float]], scores: list[float]) -> dict[str, float]:
        spread = pstdev(scores) if scores else 0.0
        if not spread:
            return {}
        mean = fmean(scores)
        worths = {
            word: (fmean(word_scores) - mean) * sqrt(len(word_scores)) / spread
            for word, word_scores in by_word.items()
            if len(word_scores) >= self.min_frequency
        }
        return {
            word: ranking_weight
            for word, ranking_weight in worths.items()
            if ranking_weight >= self.min_standard_errors
        }


def _scores_by_word(run: SearchRun, scores: Mapping[int, float]) -> dict[str, list[float]]:
    """Map each word to the scores of the chunks that contain it."""
    by_word: dict[str, list[float]] = defaultdict(list)
    for stored in run.view.load(list(scores)):
        for word in _concept_words(f"{stored.record.title} {stored.chunk.text}"):
            by_word[word].append(scores[stored.key])
    return by_word


def _is_new_word(word: str, known: set[str]) -> bool:
    return not any(word[:size] in known for size in range(_MIN_CONCEPT_CHARS, _CONCEPT_STEM_CHARS + 1))


def _concept_words(text: str) -> set[str]:
    """Return the words that could name a concept. Scripts without spaces yield none."""
    found = {word.lower() for word in split_words(text) if len(word) >= _MIN_CONCEPT_CHARS and not word[0].isdigit()}
    return {word for word in found - STOP_WORDS if word.isascii() or not cjk_runs(word)}


# --------------------------------------------------------------------------------------------------
# Redistribution of the weight of retrievers that found nothing.


def redistribute_weights(rankings: Mapping[str, Sequence[ScoredChunk]], run: SearchRun) -> Sized:
    """Give the weight of empty retrievers to the others.

    Fused scores are compared with a fixed threshold, so an index without vectors must not score lower.
    """
    answering = [name for name, ranking in rankings.items() if ranking]
    answering_weight, total_weight = (
        sum(run.retriever_weights[name] for name in answering),
        sum(run.retriever_weights.values()),
    )
    if not answering_weight or answering_weight == total_weight:
        return NO_INPUT
    for name in run.retriever_weights:
        run.retriever_weights[name] *= total_weight / answering_weight if name in answering else 0.0
    return answering


# --------------------------------------------------------------------------------------------------
# Tag expansion: a weak retriever over documents with tags that the query names, and related tags.

_MAX_TAG_WORDS = 32
_MAX_TAGGED_CHUNKS = 200  # chunks of tagged documents whose other tags are counted
_ONLY_TAGS = ColumnWeights(title=0, trail=0, text=0, names=0, tags=1, path=0)


@dataclass(frozen=True, slots=True)
class TagExpansion:
    """Uses at most `limit` tags: those in the query, then for each step of `depth` those that most often occur with
    them.

    The scope filter finds the documents of a tag, so no list of all tags is needed.
    """

    limit: int = 5
    depth: int = 2

    def __call__(self, run: SearchRun) -> list[ScoredChunk]:
        if run.query.scope.tags:
            run.notes.append("skipped: the query filters by tag already")
            return []
        tags = self.tags(run)
        if not tags:
            run.notes.append("no word of the query is a tag")
            return []
        run.notes.append(f"tags: {', '.join(tags)}")
        terms = parse_query(run.query.text)
        wanted = dict.fromkeys((*terms.optional, *_tag_terms(tags)))
        return match_terms(QueryTerms(terms.required, tuple(wanted)), replace(run.query.scope, tags=tuple(tags)), run)

    def tags(self, run: SearchRun) -> list[str]:
        """Return the query's tags in its order, then tags that occur with them, most frequent first."""
        query_tags = _tag_candidates(run.query.text)
        co_occurring = _tags_of_documents_with(query_tags, run)
        found = [tag for tag in query_tags if tag in co_occurring][: self.limit]
        newest = found
        for _ in range(self.depth - 1):
            co_occurring = _tags_of_documents_with(newest, run) if newest else Counter()
            newest = sorted(co_occurring.keys() - found, key=lambda tag: (-co_occurring[tag], tag))[
                : self.limit - len(found)
            ]
            found = [*found, *newest]
        return found


def _tag_candidates(text: str) -> list[str]:
    """Return possible tags: each word, and pairs of words joined by `-` or `_`."""
    single = [word.lower() for word in split_words(text)][:_MAX_TAG_WORDS]
    joined = [f"{first}{joint}{second}" for first, second in pairwise(single) for joint in "-_"]
    return list(dict.fromkeys([*joined, *single]))


def _tags_of_documents_with(tags: Iterable[str], run: SearchRun) -> Counter[str]:
    """Count the tags of documents that have one of these tags."""
    tags = tuple(tags)
    terms = QueryTerms(optional=tuple(_tag_terms(tags)))
    found = run.view.match(terms, replace(run.query.scope, tags=tags), _ONLY_TAGS, _MAX_TAGGED_CHUNKS)
    records = {(it.record.collection, it.record.path): it.record for it in run.view.load([it.key for it in found])}
    return Counter(tag for record in records.values() for tag in record.tags)


def _tag_terms(tags: Iterable[str]) -> Iterable[QueryTerm]:
    """Return each tag as a phrase of its words, as the full-text index stores it."""
    return (QueryTerm(tuple(split_words(tag))) for tag in tags if any(split_words(tag)))


# --------------------------------------------------------------------------------------------------
# Lower weights for retrievers whose scores do not separate their candidates.


@dataclass(frozen=True, slots=True)
class VarianceWeights:
    """Reduces the weight of a retriever whose first `depth` scores have a variance below the threshold, down to
    `min_factor`.

    Scores are taken relative to the retriever's best, because retrievers have no common scale. The weights keep their
    sum, so only the ratio between retrievers with results changes. A single candidate has no variance.
    """

    threshold: float = 0.1
    min_factor: float = 0.5
    depth: int = 10

    def __call__(self, rankings: Mapping[str, Sequence[ScoredChunk]], run: SearchRun) -> Sized:
        factors = {name: self.factor([it.score for it in ranking]) for name, ranking in rankings.items() if ranking}
        total_before = sum(run.retriever_weights[name] for name in factors)
        reduced = {name: run.retriever_weights[name] * factor for name, factor in factors.items()}
        total_after = sum(reduced.values())
        if total_after:
            run.retriever_weights |= {name: share * total_before / total_after for name, share in reduced.items()}
        run.notes.append(" ".join(f"{name} ×{factor:.2f}" for name, factor in factors.items()))
        return factors

    def factor(self, scores: Sequence[float]) -> float:
        first = scores[: self.depth]
        if len(first) < 2:
            return 1.0
        variance = pvariance(_relative_scores(first))
        return 1.0 if variance >= self.threshold else max(self.min_factor, variance / self.threshold)


def _relative_scores(scores: Sequence[float]) -> list[float]:
    """Return the scores relative to the best; negative scores count as 0."""
    best = max(scores)
    return [max(score, 0.0) / best if best > 0 else 0.0 for score in scores]


# --------------------------------------------------------------------------------------------------
# The weight of semantic retrieval in a fusion, by encoder, passage length and kind.

# `benchmarks/left_out.py` refits these numbers without each set; docs/decisions.md has the results.
_SHORT_PASSAGE_CHARS = 300  # in shorter passages, personal names dominate the vector
_LONG_PASSAGE_CHARS = 1800  # the vector of a longer passage averages many subjects
_SEMANTIC_KIND_FACTORS: Mapping[str, float] = {"code": 2.8}  # questions about code rarely use the words of the code
# Numbers must match literally: texts that differ only in a year or an amount have similar vectors. Code is excluded,
# because hardly any measured question about code contains a number.
_LONG_NUMBER = re.compile(r"\b\d{2,}")
_NUMBER_FACTOR = 0.1
_MAX_WEIGHED_CANDIDATES = 20


def encoder_worth(rankings: Mapping[str, Sequence[ScoredChunk]], run: SearchRun) -> Sized:
    """Scale the semantic weight. A weak encoder at full weight would rank worse than words alone."""
    ranking = rankings.get("semantic", ())
    if run.vector is None or not ranking:
        return NO_INPUT
    nearest = run.filter_preferred_kinds(it.key for it in ranking)[:_MAX_WEIGHED_CANDIDATES]
    run.retriever_weights["semantic"] *= run.vector.traits.ranking_weight * _length_factor(nearest, run)
    if (
        classify_query(run.query.text) != "passage"
    ):  # a report contains the words of the code: messages, names, stack traces
        run.retriever_weights["semantic"] *= _kind_factor(nearest, run)
    return ranking


def _length_factor(keys: Sequence[int], run: SearchRun) -> float:
    """Return 1 for passages of the length that suits vectors best, less for shorter and longer ones."""
    lengths = run.view.text_lengths(keys).values()
    mean = sum(lengths) / len(lengths) if lengths else 0.0
    best = 1 + 2 * sqrt(_SHORT_PASSAGE_CHARS / _LONG_PASSAGE_CHARS)
    return best / (1 + _SHORT_PASSAGE_CHARS / mean + mean / _LONG_PASSAGE_CHARS) if mean else 0.0


def _kind_factor(keys: Sequence[int], run: SearchRun) -> float:
    (only, *others) = run.searchable_kinds() or {""}
    kinds = [run.kinds.get(key, "") for key in keys] if others else [only]
    other = _NUMBER_FACTOR if _LONG_NUMBER.search(run.query.text) else 1.0
    return sum(_SEMANTIC_KIND_FACTORS.get(kind, other) for kind in kinds) / len(kinds)
