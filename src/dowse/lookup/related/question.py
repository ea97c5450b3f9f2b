"""What is answered about the neighbours of a thing: groups of one kind and one direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dowse.lookup.why.question import Neighbour, Subject
from dowse.model import NOT_LOOKED, Seen

DEFAULT_LIMIT, MOST_LIMIT = 5, 100

Direction = Literal["out", "in"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A neighbour, and whether the link leads there (`out`) or comes from there (`in`)."""

    direction: Direction
    neighbour: Neighbour


@dataclass(frozen=True, slots=True)
class Group:
    """Neighbours by one kind of link in one direction; `total` counts all of them."""

    kind: str
    direction: Direction
    shown: tuple[Neighbour, ...]
    total: int


@dataclass(frozen=True, slots=True)
class RelatedAnswer:
    """`subject` is None unless exactly one thing was meant; the rest is as in `WhyAnswer`."""

    target: str
    subject: Subject | None
    groups: tuple[Group, ...] = ()
    candidates: tuple[Subject, ...] = ()
    near: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: Seen = NOT_LOOKED
