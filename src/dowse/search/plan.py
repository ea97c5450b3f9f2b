"""The planner: which recipe suits a query, what to try when that found little, and when to say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.model import IN_FILES, Hit, Query, Step
from dowse.search.confidence import best_share, held, stems_of, with_confidence
from dowse.search.recipes import recipe_named
from dowse.search.refine.code import asked_words, is_identifier, written_names
from dowse.search.search import Ranked
from dowse.search.understand.classify import QueryKind, classify
from dowse.text.terms import STOP_WORDS

AUTO = "auto"
_FILES = "-files"
# What is tried first, and what when the best hits hold hardly any of the words asked for. Who types a name or a path
# wants the place where it stands; everything else is asked by its words and its meaning.
_BY_KIND: Mapping[QueryKind, tuple[str, str]] = MappingProxyType(
    {
        "identifier": ("lexical", "hybrid"),
        "path": ("lexical", "hybrid"),
        "keywords": ("hybrid", "lexical"),
        "question": ("hybrid", "lexical"),
        "passage": ("hybrid", "lexical"),
    }
)
_LOOKED_AT = 3
_WEAK = 0.25
_NEARLY_ALL = 0.8  # who asks for words that a hit has wants to see it, however far its meaning
_NAMED = 1.0  # a name of which only some words are found may be one of something else

# A word in capitals that does not begin a sentence.
_PROPER = re.compile(r"(?<=[\w,;:] )[A-Z][\w-]+")

Ask = Callable[[Query], Ranked]


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    steps: list[Step]
    abstained: str = ""


def check_recipe(name: str) -> None:
    """Refuse a recipe that does not exist, before any work is done for it."""
    if _split(name)[0] != AUTO:
        recipe_named(name)


def answer(query: Query, ask: Ask) -> Found:
    """What the query's recipe finds, each hit with how sure one may be of it; with `auto`, what the recipe that suits
    the query finds, or why nothing is shown."""
    name, files = _split(query.recipe)
    if name != AUTO:
        ranked = ask(query)
        return Found(_told(ranked, query), ranked.steps, ranked.unheld)
    kind = classify(query.text)
    first, second = (recipe + files for recipe in _BY_KIND[kind])
    ranked = ask(replace(query, recipe=first))
    enough = _NAMED if kind == "identifier" else _WEAK
    found = support(ranked.hits, query.text, enough)
    steps = [_decided("plan", f"{kind}: {first}"), *ranked.steps]
    if ranked.unheld:
        return Found([], steps, ranked.unheld)
    if found < enough:
        again = ask(replace(query, recipe=second))
        steps += [_decided("retry", f"{found:.0%} of the words were found, so {second} was tried too"), *again.steps]
        # Whichever is shown, whether it is about this is for the encoder to say.
        traits = again.traits if again.traits.unrelated else ranked.traits
        better = support(again.hits, query.text, enough)
        ranked, found = (again, better) if better > found else (ranked, found)
        ranked = replace(ranked, traits=traits, rarity=ranked.rarity or again.rarity)
    return _sure(ranked, query, found, steps)


def _told(ranked: Ranked, query: Query) -> list[Hit]:
    return with_confidence(ranked.hits, query.text, ranked.traits.unrelated)


def _decided(name: str, why: str) -> Step:
    return Step(name, 0, 0, 0.0, why)


def _split(recipe: str) -> tuple[str, str]:
    return (AUTO, _FILES) if recipe == AUTO + _FILES else (recipe, "")


def _sure(ranked: Ranked, query: Query, found: float, steps: list[Step]) -> Found:
    """Hits that share hardly any words and no meaning with the query only mislead whoever asked. Words alone tell too
    little to hold them back: that takes an encoder for which the cosine of unrelated texts is known."""
    first = ranked.hits[:_LOOKED_AT]
    sure = best_share(first, ranked.rarity or dict.fromkeys(asked_words(query.text), 1.0), ranked.traits.unrelated)
    if not first or ranked.traits.unrelated <= 0 or sure >= ranked.traits.least_sure:
        return Found(_told(ranked, query), steps)
    # Commits and memories say in few words what questions about them say in many, so that little of it is held.
    is_short = any(it.stored.record.kind not in IN_FILES for it in first)
    if is_short or _holds_its_words(first, query.text) or _holds_its_names(first, query.text):
        return Found(_told(ranked, query), steps)
    nearest = max(hit.found.evidence.get("cosine", 0.0) for hit in first)
    why = (
        f"nothing here seems to be about this: the best hits have {found:.0%} of its words, and a cosine of "
        f"{nearest:.2f} (unrelated texts have {ranked.traits.unrelated:.2f}); name a recipe to see them all the same"
    )
    return Found([], [*steps, Step("abstain", len(ranked.hits), 0, 0.0, why)], why)


def _holds_its_words(hits: Sequence[Hit], text: str) -> bool:
    stems = stems_of(text)
    return any(held(hit.found, stems) >= _NEARLY_ALL for hit in hits)


def _holds_its_names(hits: Sequence[Hit], text: str) -> bool:
    """Whether one of the hits has an identifier of the query, or all its proper names, as they are written: files about
    something else do not."""
    identifiers = [name for name in written_names(text) if is_identifier(name)]
    proper = [name for name in _PROPER.findall(text) if name.lower() not in STOP_WORDS]
    texts = [hit.found.stored.chunk.text for hit in hits]
    return any(
        any(name in it for name in identifiers) or (bool(proper) and all(name in it for name in proper)) for it in texts
    )


def support(hits: Sequence[Hit], text: str, enough: float = _WEAK) -> float:
    """The share of the query's telling words that one of the best hits holds, whatever their endings; once a hit has
    enough of them, the others are not looked at."""
    stems = stems_of(text)
    if not stems:
        return 1.0
    best = 0.0
    for hit in hits[:_LOOKED_AT]:
        best = max(best, held(hit.found, stems))
        if best >= enough:
            break
    return best
