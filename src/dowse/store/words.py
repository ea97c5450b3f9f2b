"""What a backend must offer of words: the best chunks by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from dowse.model import Scope, Scored
from dowse.text.terms import Term, Terms


class Weights(NamedTuple):
    """How much a match in each column of the words index counts."""

    title: float = 1.0
    trail: float = 1.0
    text: float = 1.0
    names: float = 1.0
    tags: float = 1.0
    path: float = 1.0


def inverse_frequency(chunks: int, containing: int) -> float:
    """The weight of a word that `containing` of all chunks have: a rare word says more than a common one."""
    return math.log(1 + (chunks - containing + 0.5) / (containing + 0.5))


class Words(Protocol):
    def match(self, terms: Terms, scope: Scope, weights: Weights, limit: int) -> list[Scored]:
        """The best chunks by BM25, higher is better; never raises for any terms."""
        ...

    def holding(self, required: Sequence[Term]) -> list[int]:
        """The keys of all chunks that hold every one of these terms, whatever the scope."""
        ...

    def inverse_frequencies(self, words: Sequence[str]) -> list[float]:
        """`inverse_frequency` of each of these words, of all chunks."""
        ...
