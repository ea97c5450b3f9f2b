"""Type parameters of classes and functions, read from what their headers say."""

from __future__ import annotations

import re

from dowse.lookup.calls.kinds import FUNCTIONS
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.type_text import TypeText, parse_type
from dowse.model import Symbol

_NAMES = re.compile(r"(?:\b(?:in|out|reified)\s+)?([^\W\d]\w*)\s*(?:(?::|\bextends\b)\s*([^,<>\[\]]+))?")
_WHERE = re.compile(r"\bwhere\s+(\w+)\s*:\s*([^{;=]+?)(?=\s*(?:\bwhere\b|[{=;]|$))")
# A TypeVar of Python as they are usually named.
_VARIABLE = re.compile(r"_?[A-Z]\d?|_?\w*[a-z]T|_?[A-Z]*T|\w+_(?:co|contra)")
_LEADING = re.compile(r"(?:^|\s)<([^()]*?)>\s")
_OF_ANYTHING = frozenset({"any", "comparable"})
_DECLARING = frozenset({"Generic", "Protocol"})
_NO_CONSTRAINTS = frozenset({"class", "struct", "new", "notnull", "unmanaged", "default", ""})


def type_parameters(outline: Outline, ordinal: int) -> dict[str, str]:
    """Their names in order, each with the type it is bound to be, or nothing."""
    symbol = outline.symbols[ordinal]
    if outline.habits.family == "go":
        return _of_go(symbol)
    if outline.habits.family == "jvm" and symbol.kind in FUNCTIONS:
        return _before_name(symbol) or _from_header(symbol, "<", ">")
    if outline.habits.modules == "python":
        return _from_header(symbol, "[", "]") or _from_bases(symbol)
    return _from_header(symbol, "<", ">")


def _of_go(symbol: Symbol) -> dict[str, str]:
    """`[K comparable, V Named]`: a constraint counts for all names before it that have none."""
    found: dict[str, str] = {}
    inner = _behind(symbol.name + "[", symbol.signature).partition("]")[0]
    for part in reversed(inner.split(",")):
        name, _, constraint = part.strip().partition(" ")
        if name.isidentifier():
            named = constraint.strip() or next(iter(reversed(found.values())), "")
            found[name] = named if named.replace(".", "").isidentifier() and named not in _OF_ANYTHING else ""
    return dict(reversed(found.items()))


def _before_name(symbol: Symbol) -> dict[str, str]:
    """`<T extends Named> void show(T it)`: methods of Java have them before their type."""
    found = _LEADING.search(symbol.signature)
    return {it[1]: (it[2] or "").strip() for it in _NAMES.finditer(found[1])} if found else {}


def _from_header(symbol: Symbol, opening: str, closing: str) -> dict[str, str]:
    rest = _behind(symbol.name + opening, symbol.signature)
    if not rest:
        return {}
    names = {it[1]: (it[2] or "").strip() for it in _NAMES.finditer(rest.partition(closing)[0])}
    for name, constraints in _WHERE.findall(rest):
        if name in names:
            names[name] = _first_type(constraints)
    return names


def _behind(opened: str, signature: str) -> str:
    """What follows this name, where it stands as a whole; no regex, for there are thousands of names."""
    at = signature.find(opened)
    while at > 0 and (signature[at - 1].isalnum() or signature[at - 1] == "_"):
        at = signature.find(opened, at + 1)
    return signature[at + len(opened) :] if at >= 0 else ""


def _first_type(constraints: str) -> str:
    parts = (part.strip().removesuffix("()") for part in constraints.split(","))
    return next((part for part in parts if part not in _NO_CONSTRAINTS), "")


def _from_bases(symbol: Symbol) -> dict[str, str]:
    bases = [parse_type(base) for base in symbol.bases]
    declared = [it for it in bases if it.last in _DECLARING and it.arguments]
    return {name: "" for base in declared or bases for name in _variables(base)}


def _variables(base: TypeText) -> list[str]:
    return [it.name for it in base.arguments if not it.arguments and _VARIABLE.fullmatch(it.name)]
