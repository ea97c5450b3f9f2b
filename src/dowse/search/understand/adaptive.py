"""How much each retriever counts, by what the query's form says is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from types import MappingProxyType

from dowse.search.run import Run
from dowse.search.understand.classify import Intent, intent

Factors = Mapping[str, float]
# A name is found by its letters, a place by its links, everything else by its meaning.
BY_INTENT: Mapping[Intent, Factors] = MappingProxyType(
    {"factual": {"lexical": 1.5}, "navigational": {"graph": 1.5}, "exploratory": {"semantic": 1.3}}
)


@dataclass(frozen=True, slots=True)
class AdaptiveWeights:
    """Multiplies the shares of the retrievers that are there; gives the names of those it changed."""

    factors: Mapping[Intent, Factors] = field(default_factory=lambda: BY_INTENT)

    def __call__(self, run: Run) -> Sized:
        wanted = intent(run.query.text)
        changed = {name: factor for name, factor in self.factors[wanted].items() if name in run.shares}
        for name, factor in changed.items():
            run.shares[name] *= factor
        run.notes.append(" ".join([wanted, *(f"{name} ×{factor:g}" for name, factor in changed.items())]))
        return changed
