"""How sure one may be of a hit: the share of such hits that were right, as measured on labelled sets.

Scores of fusions and retrievers are of scales of their own, which differ from recipe to recipe; what is told here means
the same for every recipe and every kind: how many of the words asked for a hit holds, how much nearer in meaning it is
than unrelated texts are, and how far up it came. It decides no rank, but may be the score of a recipe.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import accumulate, compress
from typing import NamedTuple

from dowse.model import Hit
from dowse.search.refine.code import asked_words
from dowse.search.refine.stage import UNSCALED, rescored
from dowse.search.run import Run

_READ_CHARS = 4_000
_SHORT, _STEM_SHARE = 4, 0.65
_BETWEEN = re.compile(r"[\W_]+")


class _Odds(NamedTuple):
    """Logarithms of odds, fitted by `benchmarks/calibration.py` to sets of prose, documentation and code, each of which
    counts the same. Nearly the same come out whichever of them is left out, and with words alone from either recipe."""

    base: float
    words: float
    meaning: float
    rank: float

    def share(self, words: float, meaning: float, rank: int) -> float:
        odds = self.base + self.words * words + self.meaning * meaning + self.rank * math.log(rank)
        return 1 / (1 + math.exp(-odds))


_BY_WORDS = _Odds(-1.1, 1.9, 0.0, -1.0)
_BY_BOTH = _Odds(-2.3, 1.0, 4.3, -0.95)
# Of a whole question, whether the files are about it: a rare word that is found says more than three common ones.
_BY_RARITY = _Odds(-3.1, 2.0, 5.0, 0.0)
_BEYOND = 0.05  # a hit that meaning did not find is further away than unrelated texts are


def with_confidence(hits: Sequence[Hit], text: str, unrelated: float) -> list[Hit]:
    """The hits, in their order, with how sure one may be of each, or of what it is shown instead of; `unrelated` is the
    cosine below which texts have nothing to do with each other, 0 where nobody knows."""
    stems = stems_of(text)
    shares = [_share(hit.found, held(hit.found, stems), unrelated, rank) for rank, hit in enumerate(hits, 1)]
    return [rescored(hit, hit.score, confidence=round(it, 4)) for hit, it in zip(hits, shares, strict=True)]


def best_share(hits: Sequence[Hit], rarity: Mapping[str, float], unrelated: float) -> float:
    """How sure one may be that one of these is about the question, whose words count by how rare they are."""
    stems = [_stem(word) for word in rarity]
    total = sum(rarity.values())

    def share(hit: Hit) -> float:
        there = which_held(_searched_text(hit), stems)
        words = sum(compress(rarity.values(), there)) / total if total else 1.0
        cosine = hit.evidence.get("cosine", unrelated - _BEYOND)
        return _BY_RARITY.share(words, (cosine - unrelated) / (1 - unrelated), 1)

    return max((share(hit.found) for hit in hits), default=0.0)


def confidence_scores(hits: list[Hit], run: Run) -> list[Hit]:
    """Each score as how sure one may be of the hit by its words, or by words and meaning, as if it came first: how many
    are wanted must not decide which are good enough. A hit is as sure as what ranks below it, so that scores keep their
    order; one that is linked with another has a share of what that has."""
    unrelated = run.vector.traits.unrelated if run.vector else 0.0
    stems = stems_of(run.query.text)
    own = {hit.stored.key: _share_of_first(hit.found, stems, unrelated) for hit in hits}
    linked = (own.get(run.linked_from.get(it.stored.key, -1), 0.0) * it.evidence.get("link_factor", 0.0) for it in hits)
    shares = [max(own[hit.stored.key], by_link) for hit, by_link in zip(hits, linked, strict=True)]
    falling = list(accumulate(reversed(shares), max))[::-1]
    return [rescored(hit, round(it, 4), **{UNSCALED: hit.score}) for hit, it in zip(hits, falling, strict=True)]


def _share_of_first(hit: Hit, stems: Sequence[str], unrelated: float) -> float:
    words = held(hit, stems)
    return max(_share(hit, words, unrelated, 1), _BY_WORDS.share(words, 0.0, 1))


def _share(hit: Hit, words: float, unrelated: float, rank: int) -> float:
    cosine = hit.evidence.get("cosine")
    if unrelated > 0 and cosine is not None:
        return _BY_BOTH.share(words, (cosine - unrelated) / (1 - unrelated), rank)
    return _BY_WORDS.share(words, 0.0, rank)


# --- words ------------------------------------------------------------------------------------


def stems_of(text: str) -> list[str]:
    """What the forms of the query's telling words begin with; a short one has to stand alone."""
    return [_stem(word) for word in asked_words(text)]


def _stem(word: str) -> str:
    return word[: max(_SHORT, round(len(word) * _STEM_SHARE))] if len(word) >= _SHORT else f" {word} "


def held(hit: Hit, stems: Sequence[str]) -> float:
    """The share of these that the hit holds, its path and names included; all, if there are none."""
    return share_held(_searched_text(hit), stems)


def _searched_text(hit: Hit) -> str:
    chunk, record = hit.stored.chunk, hit.stored.record
    return " ".join((record.path, record.title, record.labels, *chunk.trail, chunk.text[:_READ_CHARS])).lower()


def share_held(text: str, stems: Sequence[str]) -> float:
    """The share of these that a text in small letters holds; all, if there are none."""
    return sum(which_held(text, stems)) / len(stems) if stems else 1.0


def which_held(text: str, stems: Sequence[str]) -> list[bool]:
    """Of each of these, whether a text in small letters holds it."""
    if any(stem.startswith(" ") for stem in stems):  # to part all words takes longer than all the rest
        text = f" {_BETWEEN.sub(' ', text)} "
    return [stem in text for stem in stems]
