"""What a call stands on, as text: small expressions that an extractor writes and a resolver reads.

    expression   one or more ways, joined by `|`, where a name may hold several things
    way          a root and any number of steps

    root         this       the object whose method it stands in (self, cls, this)
                 super      what its class inherits from
                 :TYPE;     an object of that type, the type as written but without blanks: `:IList<Foo>;`
                 NAME       a name that is no local of the function: a member, a definition, an import, a module
                 $NAME      a parameter of the function it stands in, or of one around that; `$^N` of a lambda there
                 {KEY=WAY&KEY=WAY}   something written out: a list or tuple by number, a dict by `'key`, `*` for any
                            key, and by the key `()` what calling a lambda gives
                 ?          something unknown

    step         .NAME      a member of it
                 ()         what calling it gives; of a class, an object of it
                 []         an element of it, each in turn
                 [KEY]      the element with this key: of a tuple, the one with that number; `[?]` with an unknown key,
                            `[N:]` all from number N on
                 !          what awaiting it gives

    name         as it is written, but `!!` for a `!` that is a part of it (`save!` of Ruby)

Locals never appear: an extractor writes what they hold instead, `?` where it can not tell. So `self.repo.save(x)` has
the callee `this.repo.save`, `a = Foo(); a.bar()` has `Foo().bar`, and `new Foo()` has the callee `:Foo;`.

Behind the callee of a call stands, after a tab, what is passed: `KEY=WAY&KEY=WAY`, by number or by name, `*` and `**`
for what is spread out. Behind that of a reference stands what becomes of it: passed, returned or stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

UNKNOWN = "?"
PARAMETER = "$"
OF_LAMBDA = "$^"
ANY_KEY = "*"
SPREAD = "**"
CALLED = "()"
BY_KEY = "'"  # before the key of a dict
NO_KEY = "[?]"
_NAME = r"(?:[^.()\[\]!|:;]|!!)+"
_STEPS = rf"(?:\.{_NAME}|\(\)|\[[^\[\]|{{}}&=]*\]|!)"
_WAY = re.compile(rf"(:[^;]*;|{_NAME})({_STEPS}*)(?:\||$)")
_BEHIND_BRACES = re.compile(rf"({_STEPS}*)(?:\||$)")
_STEP = re.compile(_STEPS)
_MOST_NESTED = 8


@dataclass(frozen=True, slots=True)
class Way:
    """`steps` are `.name`, `()`, `[]` and `!`."""

    root: str
    steps: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        """The type written in the root, or nothing."""
        return self.root[1:-1] if self.root.startswith(":") else ""


def instance(type_text: str) -> str:
    """An object of the type, as a root."""
    return f":{''.join(type_text.split()).replace(';', '')};"


def as_name(written: str) -> str:
    """A name as a part of an expression."""
    return written.replace("!", "!!")


def as_written(name: str) -> str:
    """A name of an expression as it stands in the source."""
    return name.replace("!!", "!")


@lru_cache(maxsize=50_000)
def ways(expression: str) -> tuple[Way, ...]:
    """The expression taken apart; what can not be read is unknown."""
    found: list[Way] = []
    at = 0
    while at < len(expression):
        end = _closing(expression, at) if expression[at] == "{" else 0
        way = _BEHIND_BRACES.match(expression, end) if end else _WAY.match(expression, at)
        if way is None:
            return (Way(UNKNOWN),)
        root, steps = (expression[at:end], way[1]) if end else (way[1], way[2])
        found.append(Way(as_written(root), tuple(as_written(it) for it in _STEP.findall(steps))))
        at = way.end()
    return tuple(found) or (Way(UNKNOWN),)


@lru_cache(maxsize=20_000)
def entries(text: str) -> tuple[tuple[str, str], ...]:
    """`KEY=WAY&KEY=WAY`, with or without braces around it, as pairs."""
    inner = text[1:-1] if text.startswith("{") else text
    found: list[tuple[str, str]] = []
    depth = start = 0
    for at, sign in enumerate(f"{inner}&"):
        depth += (sign == "{") - (sign == "}")
        if sign == "&" and depth == 0:
            key, is_pair, way = inner[start:at].partition("=")
            start = at + 1
            if is_pair:
                found.append((key, way))
    return tuple(found)


def bundle(pairs: Iterable[tuple[str, str]]) -> str:
    """Something written out, as a root; the ways of one key are told one by one."""
    return "{" + "&".join(f"{key}={way}" for key, value in pairs for way in split_ways(value)) + "}"


def split_ways(expression: str) -> list[str]:
    return expression.split("|")  # no way has a `|` inside of it: see `bundle`


def split_passed(callee: str) -> tuple[str, str]:
    """The callee of a call, and what stands behind it."""
    callee, _, passed = callee.partition("\t")
    return callee, passed


def _closing(expression: str, at: int) -> int:
    """Where the braces that open there are over; 0 if they are not, or are nested too deep."""
    depth = 0
    for place in range(at, len(expression)):
        depth += (expression[place] == "{") - (expression[place] == "}")
        if depth == 0:
            return place + 1
        if depth > _MOST_NESTED:
            break
    return 0
