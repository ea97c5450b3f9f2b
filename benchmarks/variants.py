"""Every recipe with one thing left out or put in: made from the recipes and stages that are there, none is named."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from dowse.search import stages as refine
from dowse.search.recipes import RECIPES, Recipe
from dowse.search.stages.base import Stage, stage_name
from dowse.search.stages.rerank import Rerank

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Thing = TypeVar("Thing", bound=Callable[..., object])
Change = Literal["without", "with"]


@dataclass(frozen=True, slots=True)
class Variant:
    """The recipe with a thing (a stage, a retriever) taken out or put in; `label` names it and its place."""

    thing: object
    label: str
    change: Change
    recipe: Recipe


def worth_ablating() -> list[str]:
    """Every recipe that fuses; what is asked of whole files, and contracts that fix the order, come by their own.

    Rerankers take seconds for each question: they are taken apart when asked for by name.
    """
    return [
        name
        for name, it in RECIPES.items()
        if len(it.retrievers) > 1
        and not name.endswith("-files")
        and not name.startswith("rifflux-")
        and not any(isinstance(stage, Rerank) for stage in it.stages)
    ]


def lesser(recipe: Recipe) -> Iterator[Variant]:
    """Without each stage, each stage of a retriever, each preparation and weighing, and each retriever."""

    def variant(thing: object, label: str, changed: Recipe) -> Variant:
        return Variant(thing, label, "without", replace(changed, name=f"{recipe.name} without {label}"))

    for thing, label, prepare in _without_one(recipe.prepare):
        yield variant(thing, label, replace(recipe, prepare=prepare))
    for name, route in recipe.retrievers.items():
        if len(recipe.retrievers) > 1:
            others = _proxy({k: v for k, v in recipe.retrievers.items() if k != name})
            yield variant(route, name, replace(recipe, retrievers=others))
        for thing, label, stages in _without_one(route.stages):
            routes = _proxy({**recipe.retrievers, name: replace(route, stages=stages)})
            yield variant((name, thing), f"{name}.{label}", replace(recipe, retrievers=routes))
    for thing, label, weigh in _without_one(recipe.weigh):
        yield variant(thing, label, replace(recipe, weigh=weigh))
    for thing, label, stages in _without_one(recipe.stages):
        yield variant(thing, label, replace(recipe, stages=stages))


def greater(recipe: Recipe) -> Iterator[Variant]:
    """With each stage that no recipe has, put before those that cut the answer to its length."""
    for stage in unused_stages():
        label = stage_name(stage)
        name = f"{recipe.name} with {label}"
        yield Variant(stage, label, "with", replace(recipe, name=name, stages=(stage, *recipe.stages)))


def unused_stages() -> list[Stage]:
    """Stages of the refine package that work without options and stand in no recipe."""
    modules = [importlib.import_module(f"{refine.__name__}.{it.name}") for it in pkgutil.iter_modules(refine.__path__)]
    found = {stage_name(stage): stage for module in modules for stage in _stages_in(module)}
    used = {stage_name(it) for recipe in RECIPES.values() for it in (*recipe.stages, *_of_routes(recipe))}
    return [stage for name, stage in found.items() if name not in used]


def _of_routes(recipe: Recipe) -> list[Stage]:
    return [stage for route in recipe.retrievers.values() for stage in route.stages]


def _stages_in(module: ModuleType) -> Iterator[Stage]:
    for name, it in vars(module).items():
        if name.startswith("_") or getattr(it, "__module__", "") != module.__name__:
            continue
        if inspect.isfunction(it) and _takes(it) == (["hits", "run"], "list[Hit]"):
            yield it
        elif inspect.isclass(it) and is_dataclass(it) and _is_stage(it):
            yield cast(Stage, it())


def _is_stage(kind: type[DataclassInstance]) -> bool:
    """Called with the hits and the run, and made without options."""
    call = vars(kind).get("__call__")
    return call is not None and _takes(call) == (["self", "hits", "run"], "list[Hit]") and _needs_nothing(kind)


def _takes(function: Callable[..., object]) -> tuple[list[str], str]:
    """The names of its parameters, and what it gives, as written."""
    signature = inspect.signature(function)
    return list(signature.parameters), str(signature.return_annotation)


def _needs_nothing(kind: type[DataclassInstance]) -> bool:
    return all(it.default is not MISSING or it.default_factory is not MISSING for it in fields(kind))


def _without_one(things: Sequence[Thing]) -> Iterator[tuple[Thing, str, tuple[Thing, ...]]]:
    """Each thing and its name with the others; a name that comes again is numbered."""
    seen: dict[str, int] = {}
    for place, thing in enumerate(things):
        name = stage_name(thing)
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        yield thing, label, (*things[:place], *things[place + 1 :])


Value = TypeVar("Value")


def _proxy(routes: dict[str, Value]) -> Mapping[str, Value]:
    return MappingProxyType(routes)
