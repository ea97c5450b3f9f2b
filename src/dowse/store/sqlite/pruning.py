"""Which rows need no score because they can not be among the best: BM25 of a row takes far longer than to find it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

from dowse.store.sqlite.frequencies import Frequencies
from dowse.text.terms import Term, Terms

# A term counts for its weight times this at most, however often it stands in a row: k1 + 1 of FTS5's bm25().
_MOST_TIMES = 2.2
_LEAST_WEIGHT = 1e-6  # of a term that is nearly everywhere, as FTS5 has it
_SPARED = 1_000  # rows: to score fewer takes less than to find out which they are
_ENOUGH = 2  # times as many rows as are wanted should have a rarer term
_MOST_COMMON = 6  # terms: they are asked for in pairs


class Promising(NamedTuple):
    """An expression that finds every row but those with a single, common term; `others` is less than a score any row
    must have that these can be left out for."""

    expression: str
    others: float


def promising(terms: Terms, frequencies: Frequencies, limit: int, quoted: Callable[[Term], str]) -> Promising | None:
    """None where it would not pay."""
    if terms.required or len({*terms.wanted}) < len(terms.wanted):
        return None
    counts = {term: frequencies.exactly(term) for term in terms.wanted}
    common = _common(counts, limit)
    if sum(counts[term] or 0 for term in common) < _SPARED:
        return None
    rare = [quoted(term) for term in terms.wanted if term not in common]
    pairs = [f"({quoted(one)} AND {quoted(other)})" for one, other in combinations(common, 2)]
    heaviest = max(_weight(counts[term] or 0, frequencies.chunks) for term in common)
    return Promising(" OR ".join((*rare, *pairs)), heaviest * _MOST_TIMES)


def _common(counts: dict[Term, int | None], limit: int) -> Sequence[Term]:
    """Those of the terms whose counts are known that enough rows have rarer ones than."""
    known = sorted((count, place, term) for place, (term, count) in enumerate(counts.items()) if count is not None)
    rows, common = 0, []
    for count, _, term in known:
        if rows >= limit * _ENOUGH:
            common.append(term)
        rows += count
    return common[-_MOST_COMMON:]


def _weight(count: int, chunks: int) -> float:
    return max(_LEAST_WEIGHT, math.log((chunks - count + 0.5) / (count + 0.5)))
