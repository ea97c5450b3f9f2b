"""What a backend answers about definitions and files: found by name, by trait and by place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from dowse.model import EVERYTHING, NO_FACETS, Record, Scope, Symbol

HEADING = "heading"  # the one kind of symbol that is no definition
TYPES = ("class", "interface", "enum", "struct", "record")
"""Of equally good names, these come first."""

Matching = Literal["part", "regex", "exact"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which definitions; what is empty does not filter, what is given must all hold. `names`: any of them as a part of
    the name, or as a regex in it, or exactly it; case never counts. `least` are lower bounds by the names of `Stats`,
    and `lines`. `attribute` and `base` are asked for by their last name: `Repo` finds `data.Repo<Item>`."""

    names: tuple[str, ...] = ()
    matching: Matching = "part"
    kinds: tuple[str, ...] = ()
    attribute: str = ""
    base: str = ""
    parent: str = ""  # part of the name of what it is defined in
    modifiers: tuple[str, ...] = ()
    scope: Scope = EVERYTHING
    wanted: Callable[[str], bool] | None = None  # by path, after the scope
    least: Mapping[str, int] = field(default_factory=dict)
    order: str = ""  # one of Stats' names or `lines`, largest first; empty: best match of the name first
    limit: int = 100  # 0 is all of them


@dataclass(frozen=True, slots=True)
class Definition:
    """A symbol where it stands: `ordinal` is its place among its record's symbols, `trail` the names around it.

    `note` says why it is in an answer, where the question alone does not."""

    record: Record
    ordinal: int
    symbol: Symbol
    trail: tuple[str, ...] = ()
    note: str = ""

    @property
    def parent(self) -> str:
        return self.trail[-1] if self.trail else ""


class Named(NamedTuple):
    """A definition by its name alone."""

    name: str
    kind: str


class Found(NamedTuple):
    """The best of them in order; `total` counts all, `before_stats` also those that `least` leaves out."""

    definitions: list[Definition]
    total: int
    before_stats: int


class FileFacts(NamedTuple):
    """What is known of an indexed file without looking into it."""

    collection: str
    path: str
    size: int
    facets: Mapping[str, str] = NO_FACETS


class Definitions(Protocol):
    """Each answer is of one state of the index. What is a heading is no definition."""

    def definitions(self, wanted: Wanted) -> Found:
        """Best first: exact names, then those that begin with what was asked; types before members; shorter names;
        then by name, path and line. Raises BadInput for a regex that can not be used."""
        ...

    def around(self, record: Record, line: int) -> list[Definition]:
        """The definitions that hold the line, innermost first."""
        ...

    def defined_in(self, keys: Sequence[int]) -> Mapping[int, tuple[Named, ...]]:
        """Names and kinds of the definitions that begin in the lines of these chunks, by the chunk's key."""
        ...

    def chunks_defining(self, names: Sequence[str], scope: Scope, limit: int) -> list[int]:
        """The keys of the chunks inside the scope in which a definition of one of these names begins, types first, then
        by path and line."""
        ...

    def definition_kinds(self) -> frozenset[str]: ...

    def definition_count(self) -> int: ...

    def record_count(self) -> int:
        """How many records of files there are."""
        ...

    def files(self) -> list[FileFacts]:
        """Every record of a file, ordered by collection and path."""
        ...

    def defining(self) -> set[tuple[str, str]]:
        """Collection and path of every record that has a definition."""
        ...

    def lossy(self) -> set[tuple[str, str]]:
        """Collection and path of every record whose text has characters that could not be read."""
        ...
