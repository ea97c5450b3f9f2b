"""Calibrated confidence of a hit: the measured share of comparable hits that were relevant.

Fusion and retriever scores have different scales in every recipe. Confidence has one scale for all recipes and kinds.
It combines the share of query words found, the similarity above that of unrelated texts, and the rank. It never changes
the order, but a recipe may use it as its score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, compress
from typing import NamedTuple

from dowse.encoders.base import EncoderTraits
from dowse.model import Hit
from dowse.search.run import SearchRun
from dowse.search.stages.base import UNSCALED_SCORE, rescore
from dowse.search.stages.code_priors import query_content_words

_MAX_SCORED_CHARS = 4_000
_MAX_LOG_ODDS = 50.0  # beyond it the share is 0 or 1, and a larger exponent overflows
_MIN_STEM_CHARS, _QUERY_STEM_SHARE = 4, 0.65
_WORD_SEPARATORS = re.compile(r"[\W_]+")


class _LogisticModel(NamedTuple):
    """Coefficients of a logistic model, fitted by `benchmarks/calibration.py` on prose, documentation and code with
    equal weight.

    They hardly change if one of the sets is left out, or between recipes when only words are used.
    """

    base: float
    words: float
    meaning: float
    rank: float

    def share(self, words: float, meaning: float, rank: int, penalty: float = 0.0) -> float:
        odds = self.base + self.words * words + self.meaning * meaning + self.rank * math.log(rank) - penalty
        return 1 / (1 + math.exp(-min(max(odds, -_MAX_LOG_ODDS), _MAX_LOG_ODDS)))


_LEXICAL_MODEL = _LogisticModel(-1.1, 1.9, 0.0, -1.0)
_HYBRID_MODEL = _LogisticModel(-2.3, 1.0, 4.3, -0.95)
# Models whether the index covers a question at all: one rare word that matches says more than three common ones.
_COVERAGE_MODEL = _LogisticModel(-3.1, 2.0, 5.0, 0.0)
_MISSED_COSINE_GAP = 0.05  # a hit that semantic search missed is assumed to be this far below the similarity floor


def add_confidence(hits: Sequence[Hit], text: str, similarity_floor: float) -> list[Hit]:
    """Return the hits in the same order, each with its confidence or that of the hit it replaces.

    `similarity_floor` is the cosine of unrelated texts, or 0 if it is unknown for the encoder.
    """
    stems = query_stems(text)
    confidences = [
        _hit_confidence(hit.matched_hit, stem_coverage(hit.matched_hit, stems), similarity_floor, rank)
        for rank, hit in enumerate(hits, 1)
    ]
    return [rescore(hit, hit.score, confidence=round(share, 4)) for hit, share in zip(hits, confidences, strict=True)]


def coverage_confidence(
    hits: Sequence[Hit], rarity: Mapping[str, float], unknown_words: Collection[str], traits: EncoderTraits
) -> float:
    """Return the confidence that at least one hit is about the question, with query words weighted by rarity.

    Words that the whole index lacks count against it once more, as far as the encoder's calibration says.
    """
    stems = [_query_stem(word) for word in rarity]
    total = sum(rarity.values())
    unknown = sum(weight for word, weight in rarity.items() if word in unknown_words) / total if total else 0.0
    penalty = traits.unknown_word_penalty * unknown
    similarity_floor = traits.similarity_floor

    def hit_confidence(hit: Hit) -> float:
        found = match_stems(_searchable_hit_text(hit), stems)
        words = sum(compress(rarity.values(), found)) / total if total else 1.0
        cosine = hit.evidence.get("cosine", similarity_floor - _MISSED_COSINE_GAP)
        return _COVERAGE_MODEL.share(words, (cosine - similarity_floor) / (1 - similarity_floor), 1, penalty)

    return max((hit_confidence(hit.matched_hit) for hit in hits), default=0.0)


def confidence_scores(hits: list[Hit], run: SearchRun) -> list[Hit]:
    """Replace each score by the confidence that the hit would have at rank 1.

    The rank is ignored so that the limit of a query does not decide which hits are good enough. A hit scores at least
    as high as those below it, which keeps the order. A linked hit gets a share of the confidence of the hit that links
    to it.
    """
    similarity_floor = run.vector.traits.similarity_floor if run.vector else 0.0
    stems = query_stems(run.query.text)
    confidences = {hit.stored.key: _top_rank_confidence(hit.matched_hit, stems, similarity_floor) for hit in hits}
    linked = (
        confidences.get(run.linked_from.get(it.stored.key, -1), 0.0) * it.evidence.get("link_factor", 0.0)
        for it in hits
    )
    shares = [max(confidences[hit.stored.key], by_link) for hit, by_link in zip(hits, linked, strict=True)]
    non_increasing = list(accumulate(reversed(shares), max))[::-1]
    return [
        rescore(hit, round(it, 4), **{UNSCALED_SCORE: hit.score}) for hit, it in zip(hits, non_increasing, strict=True)
    ]


def _top_rank_confidence(hit: Hit, stems: Sequence[str], similarity_floor: float) -> float:
    coverage = stem_coverage(hit, stems)
    return max(_hit_confidence(hit, coverage, similarity_floor, 1), _LEXICAL_MODEL.share(coverage, 0.0, 1))


def _hit_confidence(hit: Hit, coverage: float, similarity_floor: float, rank: int) -> float:
    cosine = hit.evidence.get("cosine")
    if similarity_floor > 0 and cosine is not None:
        return _HYBRID_MODEL.share(coverage, (cosine - similarity_floor) / (1 - similarity_floor), rank)
    return _LEXICAL_MODEL.share(coverage, 0.0, rank)


# --- words ------------------------------------------------------------------------------------


def query_stems(text: str) -> list[str]:
    """Return the prefixes shared by the inflected forms of the query's content words; short words must match whole."""
    return [_query_stem(word) for word in query_content_words(text)]


def _query_stem(word: str) -> str:
    return (
        word[: max(_MIN_STEM_CHARS, round(len(word) * _QUERY_STEM_SHARE))]
        if len(word) >= _MIN_STEM_CHARS
        else f" {word} "
    )


def stem_coverage(hit: Hit, stems: Sequence[str]) -> float:
    """Return the share of the stems that occur in the hit's text, path and names; 1 if there are no stems."""
    return text_stem_coverage(_searchable_hit_text(hit), stems)


def _searchable_hit_text(hit: Hit) -> str:
    chunk, record = hit.stored.chunk, hit.stored.record
    return " ".join((record.path, record.title, record.labels, *chunk.trail, chunk.text[:_MAX_SCORED_CHARS])).lower()


def text_stem_coverage(text: str, stems: Sequence[str]) -> float:
    """Return the share of the stems that occur in a lower-case text; 1 if there are no stems."""
    return sum(match_stems(text, stems)) / len(stems) if stems else 1.0


def match_stems(text: str, stems: Sequence[str]) -> list[bool]:
    """Return for each stem whether it occurs in a lower-case text."""
    if any(stem.startswith(" ") for stem in stems):  # splitting into words is the slowest step
        text = f" {_WORD_SEPARATORS.sub(' ', text)} "
    return [stem in text for stem in stems]
