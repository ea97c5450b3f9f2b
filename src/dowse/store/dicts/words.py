"""Words of the store of dicts: BM25 by hand, as FTS5 counts it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import apsw

from dowse.model import (
    Scope,
    Scored,
    Stored,
)
from dowse.store.base import UNENCODED, Weights, inverse_frequency
from dowse.store.dicts.state import State
from dowse.text.names import names
from dowse.text.terms import Term, Terms

if TYPE_CHECKING:
    pass

_K1, _B = 1.2, 0.75  # what FTS5's bm25() uses


class DictWords(State):
    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        if not terms or limit < 1:
            return []
        ranked = [*terms.required, *terms.wanted]
        if terms.required and terms.wanted:
            ranked.append(terms.required[0])  # it stands in both halves of the expression, and counts twice
        tokens = {term: self._tokens(" ".join(term.words)) for term in ranked}
        hits = {
            key: {term: _occurrences(row.columns, tokens[term], term.prefix) for term in tokens}
            for key, row in self._rows.items()
        }
        scores = self._bm25(ranked, hits, weights)
        wanted = self._within(scope)
        matching = [
            Scored(key, scores[key])
            for key, found in hits.items()
            if _satisfies(terms, found) and wanted(self._rows[key].stored.record)
        ]
        return sorted(matching, key=lambda it: (-it.score, it.key))[:limit]

    def holding(self, required: Sequence[Term]) -> list[int]:
        tokens = {term: self._tokens(" ".join(term.words)) for term in required}
        return [
            key
            for key, row in self._rows.items()
            if all(any(_occurrences(row.columns, tokens[term], term.prefix)) for term in tokens)
        ]

    def inverse_frequencies(self, words: Sequence[str]) -> list[float]:
        return [inverse_frequency(len(self._rows), self._rarest(word)) for word in words]

    def _rarest(self, word: str) -> int:
        """In how many chunks the rarest token of a word occurs."""
        tokens = [[token] for token in self._tokens(word)]
        columns = [row.columns for row in self._rows.values()]
        return min((sum(any(_occurrences(it, token, False)) for it in columns) for token in tokens), default=0)

    def _bm25(
        self, ranked: Sequence[Term], hits: Mapping[int, Mapping[Term, tuple[int, ...]]], weights: Weights
    ) -> dict[int, float]:
        total = len(self._rows)
        lengths = {key: sum(map(len, row.columns)) for key, row in self._rows.items()}
        average = sum(lengths.values()) / total if total else 1.0
        scores = dict.fromkeys(hits, 0.0)
        for term in ranked:
            containing = sum(any(found[term]) for found in hits.values())
            idf = max(1e-6, math.log((total - containing + 0.5) / (containing + 0.5)))
            for key, found in hits.items():
                frequency = sum(weight * count for weight, count in zip(weights, found[term], strict=True))
                length = _K1 * (1 - _B + _B * lengths[key] / average)
                scores[key] += idf * frequency * (_K1 + 1) / (frequency + length)
        return scores

    def _columns(self, stored: Stored) -> tuple[list[str], ...]:
        record, chunk = stored.record, stored.chunk
        trail = " ".join(chunk.trail)
        if chunk.role in UNENCODED:
            return tuple(map(self._tokens, ("", trail, chunk.text, "", "", "")))
        extra = names(f"{record.title} {trail} {chunk.text}")
        texts = (
            record.title,
            trail,
            chunk.text,
            extra,
            record.labels,
            record.path,
        )
        return tuple(map(self._tokens, texts))

    def _tokens(self, text: str) -> list[str]:
        found = self._tokenize(text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False)
        return [str(token) for colocated in found for token in colocated]


def _occurrences(columns: tuple[list[str], ...], phrase: list[str], prefix: bool) -> tuple[int, ...]:
    """How often the phrase stands in each column."""
    if not phrase:
        return (0,) * len(columns)
    size = len(phrase)
    return tuple(
        sum(_same(column[start : start + size], phrase, prefix) for start in range(len(column) - size + 1))
        for column in columns
    )


def _same(window: list[str], phrase: list[str], prefix: bool) -> bool:
    last_agrees = window[-1].startswith(phrase[-1]) if prefix else window[-1] == phrase[-1]
    return window[:-1] == phrase[:-1] and last_agrees


def _satisfies(terms: Terms, found: Mapping[Term, tuple[int, ...]]) -> bool:
    if terms.required:
        return all(any(found[term]) for term in terms.required)
    return any(any(found[term]) for term in terms.wanted)
