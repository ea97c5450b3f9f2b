"""What Python's annotations say, as expressions."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from dowse.text.expressions import instance

_MAX_NESTING: Final = 8
_QUOTES = re.compile(r"""^(["'])(.*)\1$""", re.DOTALL)
_SUBSCRIPT = re.compile(r"^([\w.]+)\s*\[(.*)\]$", re.DOTALL)
_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly", "InitVar"})
_ITERATORS = frozenset({"Iterator", "Iterable", "Generator", "AsyncIterator", "AsyncIterable", "AsyncGenerator"})
_SAY_NOTHING = frozenset({"", "None", "Any", "object", "Literal", "NoReturn", "Never", "..."})


@lru_cache(maxsize=20_000)
def held(annotation: str) -> str:
    """`Optional[X]` holds an X, a union any of its members, `type[X]` the class itself."""
    return "|".join(dict.fromkeys(_ways(annotation, 0)))


def contextmanaged(annotation: str) -> str:
    """What a function that yields once for `with` gives: what it yields."""
    iterator = _SUBSCRIPT.match(annotation.strip())
    if iterator is None or _last(iterator[1]) not in _ITERATORS:
        return annotation
    return _parts(iterator[2], ",")[0]


def _ways(annotation: str, depth: int) -> list[str]:
    text = annotation.strip()
    quoted = _QUOTES.match(text)
    text = quoted[2].strip() if quoted else text
    alternatives = _parts(text, "|")
    if depth > _MAX_NESTING:
        return []
    if len(alternatives) > 1:
        return [way for each in alternatives for way in _ways(each, depth + 1)]
    subscript = _SUBSCRIPT.match(text)
    return _subscripted(subscript[1], subscript[2], text, depth) if subscript else _plain(text)


def _plain(name: str) -> list[str]:
    if _last(name) in _SAY_NOTHING:
        return []
    return ["this"] if _last(name) == "Self" else [instance(name)]


def _subscripted(name: str, inside: str, text: str, depth: int) -> list[str]:
    last = _last(name)
    if last in _SAY_NOTHING:
        return []
    if last == "Union":
        return [way for each in _parts(inside, ",") for way in _ways(each, depth + 1)]
    if last in _WRAPPERS:
        return _ways(_parts(inside, ",")[0], depth + 1)
    if last in ("type", "Type"):
        return [re.split(r"[\[|,]", inside.strip("\"' "), maxsplit=1)[0].strip()]
    return [instance(text.replace('"', "").replace("'", ""))]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _parts(text: str, separator: str) -> list[str]:
    """Split where the separator stands outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "[(":
            depth += 1
        elif sign in "])":
            depth -= 1
        elif sign == separator and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
