"""Types as they are written, taken apart: `IDictionary<string,List<Foo>>`, `dict[str, list[Foo]]`, `Foo[]`, `Foo?`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

ARRAY = "[]"  # the name of `Foo[]`, with Foo as its argument
TUPLE = "tuple"
_TOKEN = re.compile(r"[\w.:\\$]+|[<>\[\](),|&]|(?<=[<\[(,])\?")  # a `?` behind a name only says: or nothing
_MAX_CHARS = 500
_NOTHING = frozenset({"None", "null", "undefined", "void"})
_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})


class TypeText(NamedTuple):
    """`name` may be dotted; `arguments` are of generics, elements of arrays and tuples."""

    name: str
    arguments: tuple[TypeText, ...] = ()

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


UNREADABLE = TypeText("")


@lru_cache(maxsize=20_000)
def parse_type(text: str) -> TypeText:
    """What can not be read has no name. Of alternatives the first that is something counts."""
    if len(text) > _MAX_CHARS:
        return UNREADABLE
    tokens = _TOKEN.findall(text.replace("::", "."))
    read, _ = _alternatives(tokens, 0, depth=0)
    return read


def type_arguments(text: str) -> tuple[str, ...]:
    """`<A,B<C>>` as the texts of its parts."""
    inner, depth, parts = text[1:-1], 0, [""]
    for character in inner:
        depth += (character in "<[(") - (character in ">])")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part for part in parts if part)


def _alternatives(tokens: list[str], at: int, depth: int) -> tuple[TypeText, int]:
    read, at = _one(tokens, at, depth)
    while at < len(tokens) and tokens[at] in "|&":
        other, at = _one(tokens, at + 1, depth)
        if read.name in _NOTHING or not read.name:
            read = other
    return read, at


def _one(tokens: list[str], at: int, depth: int) -> tuple[TypeText, int]:
    if at >= len(tokens) or depth > 20:
        return UNREADABLE, at + 1
    if tokens[at] in "([":
        arguments, at = _list(tokens, at + 1, depth)
        read = TypeText(TUPLE, arguments)
    elif tokens[at] in "<>]),":
        return UNREADABLE, at
    else:
        read, at = TypeText(tokens[at].strip(".:")), at + 1
    while at < len(tokens) and tokens[at] in "<[":
        if tokens[at : at + 2] == ["[", "]"] or tokens[at : at + 2] == ["[", ","]:
            at = tokens.index("]", at) + 1 if "]" in tokens[at:] else len(tokens)
            read = TypeText(ARRAY, (read,))
            continue
        is_python = tokens[at] == "["
        arguments, at = _list(tokens, at + 1, depth)
        read = arguments[0] if is_python and read.last in _WRAPPERS and arguments else TypeText(read.name, arguments)
    return read, at


def _list(tokens: list[str], at: int, depth: int) -> tuple[tuple[TypeText, ...], int]:
    """What stands between brackets, and where it ends."""
    found: list[TypeText] = []
    while at < len(tokens) and tokens[at] not in ">])":
        if tokens[at] == ",":
            at += 1
            continue
        read, following = _alternatives(tokens, at, depth + 1)
        found.append(read)
        at = max(following, at + 1)
    return tuple(found), at + 1
