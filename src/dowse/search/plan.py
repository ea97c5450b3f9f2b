"""The planner: which recipe suits a query, what to try when that found little, and when to say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dowse.model import Hit, Query, Step
from dowse.search.refine.code import asked_words
from dowse.search.search import Ranked
from dowse.search.understand.classify import QueryKind, classify

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
_READ_CHARS = 4_000
_SHORT, _STEM_SHARE = 4, 0.65
_BETWEEN = re.compile(r"[\W_]+")

Ask = Callable[[Query], Ranked]


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[Hit]
    steps: list[Step]
    abstained: str = ""


def answer(query: Query, ask: Ask) -> Found:
    """What the query's recipe finds; with `auto`, what the recipe that suits it finds, or why nothing is shown."""
    name, files = _split(query.recipe)
    if name != AUTO:
        ranked = ask(query)
        return Found(ranked.hits, ranked.steps)
    kind = classify(query.text)
    first, second = (recipe + files for recipe in _BY_KIND[kind])
    ranked = ask(replace(query, recipe=first))
    held = support(ranked.hits, query.text)
    steps = [_decided("plan", f"{kind}: {first}"), *ranked.steps]
    if held < _WEAK:
        again = ask(replace(query, recipe=second))
        steps += [_decided("retry", f"{held:.0%} of the words were found, so {second} was tried too"), *again.steps]
        better = support(again.hits, query.text)
        if better > held:
            ranked, held = again, better
    return _sure(ranked, held, steps)


def _decided(name: str, why: str) -> Step:
    return Step(name, 0, 0, 0.0, why)


def _split(recipe: str) -> tuple[str, str]:
    return (AUTO, _FILES) if recipe == AUTO + _FILES else (recipe, "")


def _sure(ranked: Ranked, held: float, steps: list[Step]) -> Found:
    """Hits that share neither words nor meaning with the query only mislead whoever asked."""
    nearest = max((hit.evidence.get("cosine", 0.0) for hit in ranked.hits), default=0.0)
    if not ranked.hits or held >= _WEAK or nearest >= ranked.unrelated:
        return Found(ranked.hits, steps)
    why = (
        f"nothing here seems to be about this: the best hits hold {held:.0%} of its words and are no nearer in meaning "
        f"({nearest:.2f}) than unrelated texts are ({ranked.unrelated:.2f}); name a recipe to see them all the same"
    )
    return Found([], [*steps, Step("abstain", len(ranked.hits), 0, 0.0, why)], why)


def support(hits: Sequence[Hit], text: str) -> float:
    """The share of the query's telling words that one of the best hits holds, whatever their endings; once a hit has
    enough of them, the others are not looked at."""
    stems = [_stem(word) for word in asked_words(text)]
    if not stems:
        return 1.0
    best = 0.0
    for hit in hits[:_LOOKED_AT]:
        best = max(best, _held(hit, stems))
        if best >= _WEAK:
            break
    return best


def _stem(word: str) -> str:
    """What the forms of a word begin with; a short one has to stand alone."""
    return word[: max(_SHORT, round(len(word) * _STEM_SHARE))] if len(word) >= _SHORT else f" {word} "


def _held(hit: Hit, stems: Sequence[str]) -> float:
    chunk, record = hit.stored.chunk, hit.stored.record
    text = " ".join((record.path, record.title, *chunk.trail, chunk.text[:_READ_CHARS])).lower()
    apart = f" {_BETWEEN.sub(' ', text)} "
    return sum(stem in apart for stem in stems) / len(stems)
