"""Types as Go writes them, in the form in which all languages' types are read: `[]Foo` is `Foo[]`."""

from __future__ import annotations

import re
from functools import lru_cache

from dowse.text.expressions import instance

_LIST = re.compile(r"\[[^\[\]]*\]")
_CHANNEL = re.compile(r"(?:<-)?chan(?:<-)?\s+")
_MAP = re.compile(r"map\[([^\[\]]*)\]")
_NAMED = re.compile(r"[^\W\d][\w.]*(?:\[.*\])?", re.DOTALL)
_MOST_LAYERS = 8
_PLACE = "\0"  # of what is inside; braces may be part of a type


@lru_cache(maxsize=20_000)
def held(written: str) -> str:
    """`*Foo` is used as Foo is; functions, structs without a name and `any` say nothing."""
    if written.startswith("(") and "," in written:
        return _several(written[1:-1])
    rest, form = written.strip(), _PLACE
    for _ in range(_MOST_LAYERS):
        rest = rest.lstrip("*(&~ ")
        around = _layer(rest)
        if around is None:
            break
        rest, layer = around
        form = form.replace(_PLACE, layer)
    name = rest.rstrip(") ")
    return instance(form.replace(_PLACE, name)) if _says_something(name) else ""


def _several(written: str) -> str:
    """The results of a function, as a tuple."""
    parts, depth = [""], 0
    for sign in written:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return instance(f"({','.join(held(part)[1:-1] or '?' for part in parts)})")


def _layer(written: str) -> tuple[str, str] | None:
    """What the outermost list, map or channel is of, and how it is written around that."""
    if written.startswith("..."):
        return written[3:], f"{_PLACE}[]"
    many = _LIST.match(written)
    if many:
        return written[many.end() :], f"{_PLACE}[]"
    keyed = _MAP.match(written)
    if keyed:
        return written[keyed.end() :], f"map<{keyed[1]},{_PLACE}>"
    channel = _CHANNEL.match(written)
    return (written[channel.end() :], f"{_PLACE}[]") if channel else None


def _says_something(name: str) -> bool:
    return _NAMED.fullmatch(name) is not None and not name.startswith(("func", "struct", "interface")) and name != "any"
