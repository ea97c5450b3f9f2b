"""Constants of the ranking chosen without the set that judges them: of each constant, the value that is best on the
other sets, for each set in turn. What a set scores with these is what to expect of files that nobody tuned for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from types import MappingProxyType, ModuleType

from dowse.search import query_features as worth
from dowse.search.recipes import Recipe, get_recipe
from dowse.search.stages import repeats
from dowse.search.stages.base import Stage
from dowse.search.stages.code_priors import CodePriors
from dowse.search.stages.scores import FileScores
from labelled.model import LabelledSet
from measuring import Bench, Patch, Way, mean, recipe_for
from report import table

RECIPE = "hybrid"
ASKED = 100  # questions of each set that choose; the set that judges is asked all of its own
# Sets of the same questions: where one judges, the other does not choose.
_ALIKE = (frozenset({"semble_code", "semble_passages"}),)
_WORDS = ("lexical", "headline")


@dataclass(frozen=True, slots=True)
class Constant:
    """A number of the ranking, the values it may have, and how a recipe gets one: as an option of its parts, or as a
    number of a module."""

    name: str
    shipped: float
    values: tuple[float, ...]
    option: Callable[[Recipe, float], Recipe] | None = None
    number: Callable[[float], Patch] | None = None

    def applied(self, way: Way, value: float) -> Way:
        if value == self.shipped:
            return way
        assert way.recipe is not None
        changed = replace(way, name=f"{way.name}, {self.name} {value:g}")
        if self.option is not None:
            return replace(changed, recipe=self.option(way.recipe, value))
        assert self.number is not None
        return replace(changed, patches=(*way.patches, self.number(value)))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a set scores with the shipped constants, and with those that the other sets choose."""

    name: str
    measure: str
    shipped: float
    left_out: float
    chosen: Mapping[str, float]


def _meaning_weight(recipe: Recipe, value: float) -> Recipe:
    routes = {name: replace(it, weight=value) if name == "semantic" else it for name, it in recipe.retrievers.items()}
    return replace(recipe, retrievers=MappingProxyType(routes))


def _path_weight(recipe: Recipe, value: float) -> Recipe:
    return replace(recipe, weights=recipe.weights._replace(path=value))


def _stage_option(kind: type, option: str) -> Callable[[Recipe, float], Recipe]:
    def change(stage: Stage, value: float) -> Stage:
        return replace(stage, **{option: value}) if isinstance(stage, kind) else stage  # type: ignore[type-var]

    def changed(recipe: Recipe, value: float) -> Recipe:
        routes = {
            name: replace(it, stages=tuple(change(stage, value) for stage in it.stages)) if name in _WORDS else it
            for name, it in recipe.retrievers.items()
        }
        return replace(recipe, retrievers=MappingProxyType(routes))

    return changed


def _number(module: ModuleType, name: str) -> Callable[[float], Patch]:
    return lambda value: (module, name, value)


CONSTANTS = (
    Constant("weight of meaning", 1.0, (0.5, 0.75, 1.0, 1.5, 2.0), _meaning_weight),
    Constant("short below", 300, (100, 300, 900), number=_number(worth, "_SHORT_PASSAGE_CHARS")),
    Constant("long above", 1800, (900, 1800, 7200), number=_number(worth, "_LONG_PASSAGE_CHARS")),
    Constant(
        "meaning of code",
        2.8,
        (1.0, 1.9, 2.8, 4.0),
        number=lambda value: (worth, "_SEMANTIC_KIND_FACTORS", {"code": value}),
    ),
    Constant("words of paths", 1.0, (0.5, 1.0, 2.0), _path_weight),
    Constant("next of a file", 0.93, (0.85, 0.93, 1.0), number=_number(repeats, "_REPEATED_FILE_FACTOR")),
    Constant("decay", 0.7, (0.4, 0.55, 0.7, 0.85), _stage_option(FileScores, "decay")),
    Constant("exact", 4.5, (2.0, 4.5, 8.0), _stage_option(CodePriors, "exact")),
    Constant("defines", 0.5, (0.0, 0.25, 0.5, 1.0), _stage_option(CodePriors, "defines")),
    Constant("stem", 1.0, (0.5, 1.0, 1.5), _stage_option(CodePriors, "stem")),
    Constant("aside", 0.3, (0.15, 0.3, 0.6), _stage_option(CodePriors, "peripheral")),
)


def measure(bench: Bench, sets: Sequence[LabelledSet], encoder: str) -> list[LeftOut]:
    sets = [it for it in sets if not it.smoke]
    gains = {it.name: _gains(bench, it.sampled(ASKED), encoder) for it in sets}
    return [_left_out(bench, it, encoder, gains) for it in sets]


Gains = Mapping[tuple[str, float], float]
"""By constant and value: the first measure with it, minus the same with the shipped value."""


def _gains(bench: Bench, labelled: LabelledSet, encoder: str) -> Gains:
    base = _base(labelled)
    ways = {(it.name, value): it.applied(base, value) for it in CONSTANTS for value in it.values}
    scores = bench.scores(labelled, encoder, list({way.name: way for way in ways.values()}.values()))
    first = labelled.measures[0]
    return {place: mean(scores[way.name], first) - mean(scores[base.name], first) for place, way in ways.items()}


def _base(labelled: LabelledSet) -> Way:
    recipe = get_recipe(recipe_for(labelled, RECIPE))
    name = f"{recipe.name} as shipped"
    return Way(name, replace(recipe, name=name))


def _left_out(bench: Bench, labelled: LabelledSet, encoder: str, gains: Mapping[str, Gains]) -> LeftOut:
    alike = next((it for it in _ALIKE if labelled.name in it), frozenset({labelled.name}))
    others = [it for name, it in gains.items() if name not in alike]
    chosen = {it.name: _best(it, others) for it in CONSTANTS} if others else {}
    base = way = _base(labelled)
    for constant in CONSTANTS if others else ():
        way = constant.applied(way, chosen[constant.name])
    scores, first = bench.scores(labelled, encoder, [base, way]), labelled.measures[0]
    different = {it.name: chosen[it.name] for it in CONSTANTS if others and chosen[it.name] != it.shipped}
    shipped, left_out = (mean(scores[it.name], first) for it in (base, way))
    return LeftOut(labelled.name, first, shipped, left_out, different)


def _best(constant: Constant, others: Sequence[Gains]) -> float:
    """The shipped value, unless another gains on the mean of the others."""
    means = {value: fmean(it[constant.name, value] for it in others) for value in constant.values}
    best = max(means.values())
    return constant.shipped if means[constant.shipped] >= best else next(v for v, it in means.items() if it == best)


def lines(found: Sequence[LeftOut], encoder: str) -> list[str]:
    rows = [
        [it.name, it.measure, f"{it.shipped:.4f}", f"{it.left_out:.4f}", f"{it.left_out - it.shipped:+.4f}", _told(it)]
        for it in found
    ]
    before = (
        f"`{RECIPE}` with {encoder}. Each of {len(CONSTANTS)} constants gets its best value on the other sets "
        f"({ASKED} questions of each). All values together are then tested on the set that was left out."
    )
    header = [
        "set",
        "measure",
        "as shipped",
        "chosen on the other sets",
        "difference",
        "other values",
    ]
    return [before, "", *table(header, rows)]


def _told(found: LeftOut) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in found.chosen.items()) or "none"
