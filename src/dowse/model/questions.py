"""What is asked: a query and the scope it keeps to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Facet(NamedTuple):
    """A condition: the record's facet of this name is the value or, unless `whole`, holds it; in whatever case."""

    name: str
    value: str
    whole: bool = True


class Linked(NamedTuple):
    """A condition: the record has a link of this kind (any, if empty) whose target matches the glob."""

    kind: str
    glob: str


class Below(NamedTuple):
    """A collection that lies below a root, by its path from there."""

    collection: str
    way: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The one filter type. Empty fields do not filter; it is applied before ranking, never after.

    `paths` and `excluded` are globs; what the second match is left out, whatever else would let it in. Every field
    must hold, and every facet that is named; of the values of one facet, of tags, paths and links, one. `below` is no
    condition: paths of these collections are compared with globs as they are there, and as they are from a root around.
    """

    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    since: float | None = None
    until: float | None = None
    facets: tuple[Facet, ...] = ()
    links: tuple[Linked, ...] = ()
    below: tuple[Below, ...] = ()

    def spellings(self, collection: str, path: str) -> tuple[str, ...]:
        """What globs are compared with."""
        return (path, *(f"{it.way}/{path}" for it in self.below if it.collection == collection))


EVERYTHING = Scope()


class Pace(NamedTuple):
    """How records of a kind, with this value of their facet `type` (any, if empty), fade: `rate` of their score is
    left with each day, and never less than `floor`."""

    kind: str
    type: str
    rate: float
    floor: float


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    scope: Scope = EVERYTHING
    limit: int = 10
    recipe: str = "hybrid"
    budget_tokens: int | None = None
    # What an answer might say, written by the client: compared by meaning in place of the question.
    hypothesis: str = ""
    # Thresholds of the stages that have them, where the caller wants others than the recipe's.
    min_score: float | None = None
    same_above: float | None = None
    # How fast records fade, where the caller wants other paces than those of their kind.
    paces: tuple[Pace, ...] = ()
    # On whose behalf it is asked: what this subject prefers counts.
    subject: str = ""
