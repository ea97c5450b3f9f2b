"""What is answered about one thing: what it is, and its neighbours, each with how it is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dowse.lookup.calls.graph import CallGraph
from dowse.lookup.symbols.question import Definition
from dowse.model import NOT_LOOKED, Collection, Record, Seen
from dowse.store.base import Store

MAX_TARGET_CHARS = 1_000
DEFAULT_BUDGET = 1_500
LEAST_BUDGET, MOST_BUDGET = 150, 100_000  # name, place and counts take some 100
_MOST_ALSO = 3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """Something that has to do with what was asked about: a caller, a commit, a document, a memory.

    `kind` is what ties the two: the kind of a link, or one of `calls`, `refers`, `names` (its text has the name),
    `wrote` (lines are as it left them) and `changes_with`. `record` is None where a link leads to nothing indexed. The
    evidence stands at `line` of the record (0: nowhere in particular) and reads `text`; `how` says in a few words why
    it counts, `sure` how sure that is, `warning` what a reader should know before relying on it.
    """

    kind: str
    name: str
    record: Record | None
    line: int = 0
    how: str = ""
    text: str = ""
    sure: str = ""
    warning: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The neighbours of one sort that are shown; `total` counts all that were found."""

    name: str
    shown: tuple[Neighbour, ...]
    total: int

    @property
    def left_out(self) -> int:
        return self.total - len(self.shown)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is asked about: a record, or a definition in it; `line` is the one that was named, else 0.

    `name` is what it is called; without a record it is all there is: something that links name and nobody indexed.
    `also` are others that may have been meant, with less reason.
    """

    name: str
    record: Record | None = None
    definition: Definition | None = None
    line: int = 0
    also: tuple[str, ...] = ()

    @property
    def first_line(self) -> int:
        return self.definition.symbol.start_line if self.definition else self.line

    @property
    def last_line(self) -> int:
        return self.definition.symbol.end_line if self.definition else self.line

    def notes(self) -> tuple[str, ...]:
        """What a reader should know of how it was found."""
        if self.record is None:
            return (f"{self.name} is not indexed now; this is what is said of it",)
        if not self.also:
            return ()
        more = f" and {len(self.also) - _MOST_ALSO:,} more" if len(self.also) > _MOST_ALSO else ""
        return (f"also called so: {', '.join(self.also[:_MOST_ALSO])}{more}",)


@dataclass(frozen=True, slots=True)
class Source:
    """The first lines of a definition; `left_out` counts those that are not shown."""

    start_line: int = 0
    lines: tuple[str, ...] = ()
    left_out: int = 0


NO_SOURCE = Source()


@dataclass(frozen=True, slots=True)
class WhyAnswer:
    """`subject` is None unless exactly one thing was meant: then `candidates` are what may have been, `near` are names
    like the one given. `notes` say what could not be told, and why; and what is to be known of the index, as far as
    that fits."""

    target: str
    subject: Subject | None
    source: Source = NO_SOURCE
    sections: tuple[Section, ...] = ()
    candidates: tuple[Subject, ...] = ()
    near: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seen: Seen = NOT_LOOKED


class Span(NamedTuple):
    """First and last line, from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Written:
    """Which commits left lines as they are now, by full hash; `problem` says why that is not known."""

    by: Mapping[str, Sequence[Span]] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Ground:
    """What an answer is made from: the store, and what only the engine knows how to ask.

    `history_of` gives the history of a file, and its path in there; `file_of` the way back; `written` says who wrote
    lines of a file; `stale` how what a memory is anchored to has changed; `calls` knows calls and imports; `now` is the
    time of the question.
    """

    store: Store
    calls: CallGraph
    history_of: Callable[[Record], tuple[Collection, str] | None]
    file_of: Callable[[str, str], Record | None]
    written: Callable[[Record, Span], Written]
    stale: Callable[[Record], Sequence[str]]
    now: float
