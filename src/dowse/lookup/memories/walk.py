"""Following references from memory to memory, the nearest first; what leads round in circles is cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dowse.lookup.memories.edges import Edge, Edges, Key, key
from dowse.model import Record

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
    reached: set[Key | str] = {key(start)}
    steps: list[Step] = []
    circular, level, distance = False, [start], 0
    while level and (far is None or distance < far):
        distance += 1
        following: list[Record] = []
        for step in _onward(edges, level, distance, back):
            place = step.name if step.record is None else key(step.record)
            circular = circular or place == key(start)
            if place in reached:
                continue
            if len(steps) == MOST_STEPS:
                return Walk(tuple(steps), circular, more=True)
            reached.add(place)
            steps.append(step)
            following += [step.record] if step.record else []
        level = following
    return Walk(tuple(steps), circular)


def _onward(edges: Edges, level: list[Record], distance: int, back: bool) -> Iterator[Step]:
    for record in level:
        for edge in edges.to(record) if back else edges.of(record):
            if back:
                yield Step(edge.source.path, edge.source, distance, edge)
            else:
                yield Step(edge.target.path if edge.target else edge.name, edge.target, distance, edge)
