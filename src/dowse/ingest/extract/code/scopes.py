"""Local names: what they are given, where, and which of it a place may see."""

from __future__ import annotations

import sys
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

EVERYWHERE: Final = sys.maxsize
MOST_WAYS: Final = 4
_MOST_LOOKED_AT: Final = 32  # bindings of one name: a name that is given things all over says little


class Binding:
    """Something a name is given at byte `at`, in a branch that is over at `end`. `holds` is filled in when asked."""

    __slots__ = ("at", "end", "holds", "key", "narrow", "step", "type", "value")

    def __init__(
        self,
        at: int,
        end: int,
        type_text: str = "",
        value: Node | None = None,
        step: str = "",
        holds: str = "",
        narrow: bool = False,
        key: str = "",
    ) -> None:
        self.at = at
        self.end = end
        self.type = type_text
        self.value = value
        self.step = step
        self.holds = holds
        self.narrow = narrow
        self.key = key  # of the element that is given something, where the name keeps what it held


class Scope:
    """The names of one function, lambda or comprehension. What `runs_later` sees all that is ever held around it."""

    __slots__ = ("names", "parent", "runs_later")

    def __init__(self, parent: Scope | None, runs_later: bool) -> None:
        self.parent = parent
        self.runs_later = runs_later
        self.names: dict[str, list[Binding]] = {}

    def bind(self, name: str, binding: Binding) -> None:
        self.names.setdefault(name, []).append(binding)


def bindings_seen(name: str, scope: Scope | None, at: int) -> tuple[list[Binding], Scope | None]:
    """What the name may hold at byte `at`, the latest first, and the scope it is a local of; none if it is no local."""
    while scope is not None:
        found = scope.names.get(name)
        reaching = _reaching(found, at) if found else None
        if reaching:
            return reaching, scope
        if scope.runs_later:
            at = EVERYWHERE
        scope = scope.parent
    return [], None


def is_local(name: str, scope: Scope | None) -> bool:
    """Whether a function around has given the name something so far."""
    while scope is not None and name not in scope.names:
        scope = scope.parent
    return scope is not None


def _reaching(found: list[Binding], at: int) -> list[Binding]:
    """Back from the place to the first binding that is sure to have happened; if there is none before, what follows."""
    if len(found) == 1 and not found[0].narrow and not found[0].key:
        return found
    before = bisect_right(found, at, key=lambda binding: binding.at)
    seen: list[Binding] = []
    for binding in found[max(0, before - _MOST_LOOKED_AT) : before][::-1]:
        if binding.narrow and binding.end <= at:
            continue
        seen.append(binding)
        if (binding.end > at and not binding.key) or len(seen) == MOST_WAYS:
            return seen
    return seen or [binding for binding in found[:_MOST_LOOKED_AT] if not binding.narrow][:MOST_WAYS]
