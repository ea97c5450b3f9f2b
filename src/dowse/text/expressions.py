"""What a call stands on, as text: small expressions that an extractor writes and a resolver reads.

    expression   one or more ways, joined by `|`, where a name may hold several things
    way          a root and any number of steps

    root         this       the object whose method it stands in (self, cls, this)
                 super      what its class inherits from
                 :TYPE;     an object of that type, the type as written but without blanks: `:IList<Foo>;`
                 NAME       a name that is no local of the function: a member, a definition, an import, a module
                 ?          something unknown

    step         .NAME      a member of it
                 ()         what calling it gives; of a class, an object of it
                 []         an element of it, each in turn
                 [KEY]      the element with this key: of a tuple, the one with that number
                 !          what awaiting it gives

    name         as it is written, but `!!` for a `!` that is a part of it (`save!` of Ruby)

Locals never appear: an extractor writes what they hold instead, `?` where it can not tell. So `self.repo.save(x)` has
the callee `this.repo.save`, `a = Foo(); a.bar()` has `Foo().bar`, and `new Foo()` has the callee `:Foo;`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

UNKNOWN = "?"
_NAME = r"(?:[^.()\[\]!|:;]|!!)+"
_STEPS = rf"(?:\.{_NAME}|\(\)|\[[^\[\]|{{}}&=]*\]|!)"
_WAY = re.compile(rf"(:[^;]*;|{_NAME})({_STEPS}*)(?:\||$)")
_STEP = re.compile(_STEPS)


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
        way = _WAY.match(expression, at)
        if way is None:
            return (Way(UNKNOWN),)
        steps = _STEP.findall(way[2])
        if "!!" in way[0]:
            found.append(Way(as_written(way[1]), tuple(as_written(it) for it in steps)))
        else:
            found.append(Way(way[1], tuple(steps)))
        at = way.end()
    return tuple(found) or (Way(UNKNOWN),)
