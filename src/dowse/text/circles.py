"""References that lead round in circles: which things lead to each other, found in one pass over what is reached."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Thing = TypeVar("Thing", bound=Hashable)


def circles(starts: Iterable[Thing], onward: Callable[[Thing], Iterable[Thing]]) -> Iterator[list[Thing]]:
    """The starts and all they lead to, those that lead to each other together, each after whatever it leads to.

    What lies in no circle comes alone. Nothing recurses: a chain may be as long as it likes.
    """
    walk = _Walk(onward)
    for start in starts:
        if start not in walk.number:
            yield from walk.from_start(start)


@dataclass(slots=True)
class _Walk(Generic[Thing]):
    """Tarjan's: `number` is the order in which things were met, `lowest` the first one of those still `waiting` that
    each leads back to."""

    onward: Callable[[Thing], Iterable[Thing]]
    number: dict[Thing, int] = field(default_factory=dict)
    lowest: dict[Thing, int] = field(default_factory=dict)
    waiting: dict[Thing, None] = field(default_factory=dict)

    def from_start(self, start: Thing) -> Iterator[list[Thing]]:
        path = [(start, self._met(start))]
        while path:
            thing, others = path[-1]
            new = self._next_new(thing, others)
            if new is not None:
                path.append((new, self._met(new)))
                continue
            path.pop()
            if path:
                self._leads_to(path[-1][0], self.lowest[thing])
            if self.lowest[thing] == self.number[thing]:
                yield self._closed(thing)

    def _met(self, thing: Thing) -> Iterator[Thing]:
        self.number[thing] = self.lowest[thing] = len(self.number)
        self.waiting[thing] = None
        return iter(self.onward(thing))

    def _next_new(self, thing: Thing, others: Iterator[Thing]) -> Thing | None:
        for other in others:
            if other not in self.number:
                return other
            if other in self.waiting:
                self._leads_to(thing, self.number[other])
        return None

    def _leads_to(self, thing: Thing, number: int) -> None:
        self.lowest[thing] = min(self.lowest[thing], number)

    def _closed(self, first: Thing) -> list[Thing]:
        """All that were met since and lead back to it."""
        circle: list[Thing] = []
        while first in self.waiting:
            circle.append(self.waiting.popitem()[0])
        return circle
