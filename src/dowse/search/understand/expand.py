"""Words the query does not have but the passages near its meaning do, matched as a weaker retriever of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pstdev

from dowse.model import Scored
from dowse.search.retrieve import matched, nearest
from dowse.search.run import Run
from dowse.text.names import cjk_runs, words
from dowse.text.terms import STOP_WORDS, Term, Terms, parse

_SHORTEST, _STEM = 3, 5  # words that begin alike are forms of one, and the words index has made them one already


@dataclass(frozen=True, slots=True)
class Expanded:
    """The corpus' own words for what is asked, as far as the chunks nearest to the query use them.

    A word is worth what the chunks that have it are worth: their mean nearness, which is the nearness of the mean of
    their vectors. It stands out when that mean is `outstanding` standard errors above the mean of all of them. Nothing
    is kept between searches, so nothing can be stale, and words out of scope can not leak in.
    """

    nearby: int = 30
    limit: int = 5
    min_frequency: int = 3
    outstanding: float = 1.5

    def __call__(self, run: Run) -> list[Scored]:
        found = self.concepts(run)
        if not found:
            return []
        run.notes.append(f"with {', '.join(found)}")
        terms = parse(run.query.text)
        wanted = terms.wanted + tuple(Term((word,)) for word in found)
        return matched(Terms(terms.required, wanted), run.query.scope, run)

    def concepts(self, run: Run) -> list[str]:
        """The words that stand out most, best first; notes why there are none."""
        near, why_not = nearest(run, self.nearby)
        if why_not:
            run.notes.append(why_not)
            return []
        scores = {it.key: it.score for it in near}
        known = {word[:_STEM] for word in _telling(run.query.text)}
        worths = self._worths(_scores_by_word(run, scores), list(scores.values()))
        best = sorted((-worth, word) for word, worth in worths.items() if _is_news(word, known))[: self.limit]
        if not best:
            run.notes.append("no word stands out among the nearest passages")
        return [word for _, word in best]

    def _worths(self, by_word: Mapping[str, list[float]], scores: list[float]) -> dict[str, float]:
        spread = pstdev(scores) if scores else 0.0
        if not spread:
            return {}
        mean = fmean(scores)
        worths = {
            word: (fmean(having) - mean) * sqrt(len(having)) / spread
            for word, having in by_word.items()
            if len(having) >= self.min_frequency
        }
        return {word: worth for word, worth in worths.items() if worth >= self.outstanding}


def _scores_by_word(run: Run, scores: Mapping[int, float]) -> dict[str, list[float]]:
    """For each word, the scores of the chunks that have it."""
    by_word: dict[str, list[float]] = defaultdict(list)
    for stored in run.store.load(list(scores)):
        for word in _telling(f"{stored.record.title} {stored.chunk.text}"):
            by_word[word].append(scores[stored.key])
    return by_word


def _is_news(word: str, known: set[str]) -> bool:
    return not any(word[:size] in known for size in range(_SHORTEST, _STEM + 1))


def _telling(text: str) -> set[str]:
    """Words that could name a concept. Scripts without spaces have no words to see here."""
    found = {word.lower() for word in words(text) if len(word) >= _SHORTEST and not word[0].isdigit()}
    return {word for word in found - STOP_WORDS if word.isascii() or not cjk_runs(word)}
