"""What TypeScript's types say, as expressions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from dowse.text.expressions import UNKNOWN, instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_SAY_NOTHING = frozenset({"", "any", "unknown", "null", "undefined", "void", "never", "object", "const"})
_NAMED = re.compile(r"[\w$.]+(?:<.*>)?(?:\[\])*", re.DOTALL)
_WRAPPERS = re.compile(r"^(?:Readonly|Partial|Required|NonNullable)<(.*)>$", re.DOTALL)


@lru_cache(maxsize=20_000)
def held(written: str) -> str:
    """`: Foo | null` holds a Foo; types that are no name say nothing."""
    ways = dict.fromkeys(_way(part) for part in _members(written.lstrip(":? \t\n")))
    return "|".join(way for way in ways if way)


def _way(text: str) -> str:
    text = text.strip().removeprefix("readonly ")
    wrapped = _WRAPPERS.match(text)
    text = wrapped[1].strip() if wrapped else text
    if text == "this":
        return "this"
    return instance(text) if text not in _SAY_NOTHING and _NAMED.fullmatch(text) else ""


def _members(text: str) -> list[str]:
    """Of a union, at `|` outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "<({[":
            depth += 1
        elif sign in ">)}]":
            depth -= 1
        elif sign == "|" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def asserted(node: Node, source: Source) -> str:
    """`x as Foo` and `<Foo>x` are a Foo."""
    parts = node.named_children
    if len(parts) < 2:
        return UNKNOWN
    written = source.of(parts[0]).strip("<>") if node.type == "type_assertion" else source.of(parts[1])
    return held(written)
