"""Every kind of question that is timed: how its questions are drawn, which verb answers it, what ripgrep would do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from code_search.names import Member, Names, Place
from code_search.ripgrep import Pattern
from code_search.sampling import QUERIES, Sample, across, drawn, parts_of, regexes, word_regexes
from dowse.callgraph.facts import CallQuery
from dowse.engine import Engine
from dowse.lookup.grep import GrepMode, GrepQuery
from dowse.store.types import SymbolQuery

Terms = tuple[str, ...]
Same = Literal["lines", "files", ""]


@dataclass(frozen=True, slots=True)
class Kind:
    """`pattern` is ripgrep's way to the same answer, or the scan that comes nearest to it; `same` is what must agree.

    `found` is how much an answer holds, so that a kind whose questions find nothing is seen.
    """

    name: str
    asked: Sequence[Any]
    answer: Callable[[Engine, Any], Any]
    found: Callable[[Any], int]
    pattern: Callable[[Any], Pattern] | None = None
    same: Same = ""
    aim: str = ""


# --- lines ------------------------------------------------------------------------------------


def of_lines(sample: Sample) -> list[Kind]:
    long = {it: number for it, number in sample.words.items() if len(it) > 7}
    parts = parts_of(across(long, QUERIES, "part"))
    pairs = drawn(sample.pairs, QUERIES)
    halves = word_regexes(across(long, QUERIES, "half"))
    shapes = regexes(drawn(sample.calls, QUERIES))
    return [
        _grep("a word", _tuples(sample, 1), "word", _word, "lines", "p50 < 0.6 ms"),
        _grep("two words, both in the file", pairs, "word", _both, "files", "p50 < 2 ms", every=True),
        _grep("three words, any of them", _tuples(sample, 3), "word", _word, "lines", "p50 < 2 ms"),
        _grep("a phrase of three words", _alone(drawn(sample.phrases, QUERIES)), "phrase", _row, "files", "p50 < 2 ms"),
        _grep("part of a word", _alone(parts), "substring", _part, "lines", "10 × faster"),
        _grep("a regex for a whole word", _alone(halves), "word-regex", _whole, "lines"),
        _grep("a regex for a line", _alone(shapes), "regex", _regex, "lines", "10 × faster"),
    ]


def _grep(
    name: str,
    asked: Sequence[Terms],
    mode: GrepMode,
    pattern: Callable[[GrepQuery], Pattern],
    same: Same,
    aim: str = "",
    *,
    every: bool = False,
) -> Kind:
    queries = [GrepQuery(terms, mode, match_all=every) for terms in asked]
    return Kind(f"grep: {name}", queries, Engine.grep, lambda it: it.total_files, pattern, same, aim)


def _tuples(sample: Sample, size: int) -> list[Terms]:
    """Words that are neighbours here are of different frequencies."""
    words = across(sample.words, size * QUERIES, f"{size} words")
    return [tuple(words[start : start + size]) for start in range(0, len(words) - size + 1, size)]


def _alone(terms: Sequence[str]) -> list[Terms]:
    return [(it,) for it in terms]


def _word(asked: GrepQuery) -> Pattern:
    return Pattern(asked.terms, ("-F", "-w"))


def _both(asked: GrepQuery) -> Pattern:
    return Pattern(asked.terms, ("-F", "-w"), every=True)


def _part(asked: GrepQuery) -> Pattern:
    return Pattern(asked.terms, ("-F",))


def _row(asked: GrepQuery) -> Pattern:
    return Pattern(tuple(r"\b" + r"\s+".join(it.split()) + r"\b" for it in asked.terms), ("-U",))


def _whole(asked: GrepQuery) -> Pattern:
    return Pattern(tuple(rf"\b{it}\b" for it in asked.terms))


def _regex(asked: GrepQuery) -> Pattern:
    return Pattern(asked.terms)


# --- definitions ------------------------------------------------------------------------------


def of_definitions(names: Names) -> list[Kind]:
    known = names.definitions()
    some = across(known, QUERIES, "name")
    parts = parts_of(across({it: number for it, number in known.items() if len(it) > 7}, QUERIES, "part of a name"))
    bases, attributes = (across(names.traits(kind), QUERIES) for kind in ("base", "attribute"))
    described = drawn(names.described(), QUERIES)
    compound = [SymbolQuery((it.part,), kinds=(it.kind,), parent=it.parent) for it in described]
    involved = [SymbolQuery((it,), min_metrics={"cyclomatic": 2}, order="cyclomatic") for it in parts]
    return [
        _symbols("by part of the name", [SymbolQuery((it,)) for it in parts], "p50 < 2 ms", near=True),
        _symbols("by the exact name", [SymbolQuery((it,), matching="exact") for it in some], near=True),
        _symbols("by base type", [SymbolQuery(base=it) for it in bases], "p50 < 0.6 ms"),
        _symbols("by attribute", [SymbolQuery(attribute=it) for it in attributes]),
        _symbols("by name, kind and parent", compound),
        _symbols("by part of the name, most complex first", involved),
        Kind("definitions: around a line", drawn(names.places(), QUERIES), _containing, len, aim="p50 < 1 ms"),
    ]


def _symbols(name: str, asked: Sequence[SymbolQuery], aim: str = "", *, near: bool = False) -> Kind:
    """What comes `near`: without an index, all lines with the name would have to be looked at."""
    pattern = _named if near else None
    return Kind(f"definitions: {name}", asked, Engine.symbols, lambda it: it.total, pattern, aim=aim)


def _named(asked: SymbolQuery) -> Pattern:
    return Pattern(asked.names, ("-F", "-w") if asked.matching == "exact" else ("-F",))


def _containing(engine: Engine, place: Place) -> object:
    return engine.code.definitions_at(place.path, place.line)


# --- calls ------------------------------------------------------------------------------------


def of_calls(names: Names) -> list[Kind]:
    up = across(names.called_alone(), QUERIES, "callers")
    any_of = across(names.called(), QUERIES, "callers of a name")
    down = across(names.calling(), QUERIES, "callees")
    return [
        _calls("callers, 3 levels", [_tree(it, "up") for it in up], "p50 < 5 ms", near=True),
        _calls("callers of every definition of a name, 3 levels", [CallQuery(it) for it in any_of]),
        _calls("callees, 3 levels", [_tree(it, "down") for it in down]),
    ]


def _tree(member: Member, direction: Literal["up", "down"]) -> CallQuery:
    return CallQuery(member.name, member.owner, direction)


def _calls(name: str, asked: Sequence[CallQuery], aim: str = "", *, near: bool = False) -> Kind:
    pattern = _called if near else None
    return Kind(f"calls: {name}", asked, Engine.calls, lambda it: it.total, pattern, aim=aim)


def _called(asked: CallQuery) -> Pattern:
    """One level of them."""
    return Pattern((rf"\b{re.escape(asked.name)}\s*\(",))
