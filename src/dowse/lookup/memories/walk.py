"""Following references from memory to memory, the nearest first; what leads round in circles is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dowse.model import Record
from dowse.text.memory_edges import Edge, Edges, Key, key

MOST_STEPS: Final = 500


@dataclass(frozen=True, slots=True)
class Step:
    """A memory that was reached, how far from the first one, and by which reference. Its `record` is None where no
    memory has that name."""

    name: str
    record: Record | None
    distance: int
    edge: Edge


@dataclass(frozen=True, slots=True)
class Walk:
    """`circular`: a reference leads back to the first memory. `more`: there were more than are told."""

    steps: tuple[Step, ...] = ()
    circular: bool = False
    more: bool = False


def follow(edges: Edges, start: Record, *, back: bool = False, far: int | None = None) -> Walk:
    """What the memory refers to, or what refers to it: directly, then by way of others, as far as wanted."""
    reached: dict[Key, Step | None] = {key(start): None}
    circular, level, distance = False, [key(start)], 0
    while level and (far is None or distance < far):
        distance += 1
        following: list[Key] = []
        for place, step in _onward(edges, level, distance, back):
            circular = circular or place == key(start)
            if place not in reached:
                reached[place] = step
                following.append(place)
        level = following
    steps = tuple(filter(None, reached.values()))
    return Walk(steps[:MOST_STEPS], circular, more=len(steps) > MOST_STEPS)


def _onward(edges: Edges, level: list[Key], distance: int, back: bool) -> Iterator[tuple[Key, Step]]:
    for place in level:
        for edge in edges.to(place) if back else edges.of(place):
            end = edge.source if back else edge.target
            yield end.key, Step(end.name, end.record, distance, edge)
