"""What types and expressions of C# mean."""

from __future__ import annotations

import re
from functools import lru_cache

from dowse.text.expressions import instance

_SAYS_NOTHING = frozenset({"", "var", "void", "dynamic"})
_PASSING = re.compile(r"^(?:(?:params|ref|out|in|this|readonly|scoped)\s+)+|global::")
_ITEM_NAMES = re.compile(r"(?<=[\w>\]?)])\s+@?\w+(?=\s*[,)])")  # of a tuple: `(Cat cat, Dog dog)`
_LENGTHS = re.compile(r"\[[^\],]*\]")
_FUNCTIONS = re.compile(
    r"(?:[\w.]+\.)?(?:Action|Func|Predicate|Comparison|Converter|ThreadStart|ParameterizedThreadStart|MethodInvoker"
    r"|\w*(?:EventHandler|Callback|Delegate))(?:<.*>)?\??"
)
_BASE = re.compile(r"(^|\|)base(?=[.\[(|]|$)")

# Methods of sequences in the standard library: which give an element, and which a sequence of the same elements.
ONE_OF_THEM = "First FirstOrDefault Last LastOrDefault Single SingleOrDefault ElementAt ElementAtOrDefault Min Max Find"
THE_SAME = (
    "Where OrderBy OrderByDescending ThenBy ThenByDescending Skip SkipWhile Take TakeWhile Distinct Reverse Concat"
    " Union Intersect Except ToList ToArray AsEnumerable AsQueryable AsParallel DefaultIfEmpty ToHashSet FindAll"
)
_ONE = re.compile(rf"\.(?:{ONE_OF_THEM.replace(' ', '|')})\(\)")
_SAME = re.compile(rf"\.(?:{THE_SAME.replace(' ', '|')})\(\)")


@lru_cache(maxsize=20_000)
def held(written: str) -> str:
    """`Foo?` holds a Foo; `var` and the like say nothing."""
    name = _PASSING.sub("", written.strip()).rstrip("?")
    if name in _SAYS_NOTHING:
        return ""
    if name.startswith("("):
        name = _ITEM_NAMES.sub("", name)
    return instance(_LENGTHS.sub("[]", name))


@lru_cache(maxsize=20_000)
def is_function_type(written: str) -> bool:
    """`Action<int>`, or a tuple with one such in it; what else is a delegate only its definition could tell."""
    name = _PASSING.sub("", written.strip())
    if name.startswith("("):
        return any(_FUNCTIONS.fullmatch(part.strip()) for part in re.split(r",(?![^<]*>)", held(name)[2:-2]))
    return _FUNCTIONS.fullmatch(name) is not None


def rewritten(expression: str) -> str:
    """`base` is what is inherited. What LINQ gives is a second way, for its own methods are seldom in the index."""
    if "base" in expression:
        expression = _BASE.sub(r"\1super", expression)
    if "()" not in expression or "|" in expression:
        return expression
    plain = _SAME.sub("", _ONE.sub("[]", expression))
    return expression if plain == expression else f"{expression}|{plain}"
