"""Every way to search, one row each: which retrievers, how much they weigh, how deep, what happens to the hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.errors import BadInput
from dowse.search.refine.limits import best_first, one_per_record, within_budget
from dowse.search.refine.stage import Stage
from dowse.search.retrieve import Retriever, lexical, semantic
from dowse.store.base import Weights

# A match in a title or heading says more than one in the text; the parts of identifiers say less than
# the identifier, and a path repeats what the title says.
WORDS = Weights(title=2.0, trail=1.5, text=1.0, names=0.5, tags=1.0, path=0.5)
PASSAGES: tuple[Stage, ...] = (best_first, within_budget)
FILES: tuple[Stage, ...] = (one_per_record, best_first, within_budget)


@dataclass(frozen=True, slots=True)
class Route:
    """A retriever with its weight in the fusion."""

    retriever: Retriever
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """Each retriever gives `pool_per_hit` candidates for each hit asked for, and at least `pool_least`."""

    name: str
    routes: Mapping[str, Route]
    stages: tuple[Stage, ...] = PASSAGES
    weights: Weights = WORDS
    pool_per_hit: int = 4
    pool_least: int = 100

    def pool(self, limit: int) -> int:
        return max(self.pool_least, limit * self.pool_per_hit)

    def loaded(self, limit: int) -> int:
        """How many candidates the stages need to see: all of them only where some will be folded away."""
        return limit if self.stages == PASSAGES else self.pool(limit) * len(self.routes)


_LEXICAL = MappingProxyType({"lexical": Route(lexical)})
_SEMANTIC = MappingProxyType({"semantic": Route(semantic)})
_BOTH = MappingProxyType({**_LEXICAL, **_SEMANTIC})

_PASSAGE_RECIPES = (
    Recipe("lexical", _LEXICAL),
    Recipe("semantic", _SEMANTIC),
    Recipe("hybrid", _BOTH),
)
# The Rifflux contract fixes the depth: twice as many candidates as hits.
_RIFFLUX_RECIPES = tuple(
    replace(recipe, name=f"rifflux-{recipe.name}", pool_per_hit=2, pool_least=1) for recipe in _PASSAGE_RECIPES
)
_FILE_RECIPES = tuple(
    replace(recipe, name=f"{recipe.name}-files", stages=FILES, pool_per_hit=10) for recipe in _PASSAGE_RECIPES
)

RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {recipe.name: recipe for recipe in (*_PASSAGE_RECIPES, *_FILE_RECIPES, *_RIFFLUX_RECIPES)}
)


def plan(name: str) -> Recipe:
    if name not in RECIPES:
        raise BadInput(f"there is no recipe {name!r}; known are {', '.join(RECIPES)}")
    return RECIPES[name]
