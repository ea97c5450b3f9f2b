"""What may be asked of a history, and what is answered; commits are records, as everywhere."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dowse.model import Facet, Linked, Record, Scope
from dowse.text.globs import literal

TOUCHES, RENAMES = "touches", "renames"
"""The kinds of links from a commit to the paths it changed, and to the names it took from files."""
COMMIT = "commit"
AUTHOR, MESSAGE, PARENTS, PROBLEM = "author", "message", "parents", "problem"
"""The facets of a commit that are asked for here."""
_NS_PER_SECOND = 1_000_000_000
_HALF_A_SECOND = 0.5


@dataclass(frozen=True, slots=True)
class Sought:
    """Which commits are wanted: those that touched the path (a file, under all its names, or a directory; empty: any),
    of this time, by an author and with a message that have these texts in them, in whatever case."""

    path: str = ""
    since: float | None = None
    until: float | None = None
    author: str = ""
    message: str = ""

    def says(self, title: str, message: str) -> bool:
        """Whether the title or the rest of the message holds what is wanted; a scope can not ask for either."""
        if not self.message:
            return True
        wanted = self.message.casefold()
        return wanted in title.casefold() or wanted in message.casefold()

    def scope(self, history: str, names: tuple[str, ...], *kinds: str) -> Scope:
        """The commits with links of these kinds to one of the names, or to something below it."""
        return Scope(
            collections=(history,),
            kinds=(COMMIT,),
            since=self.since,
            until=self.until,
            facets=(Facet(AUTHOR, self.author, whole=False),) if self.author else (),
            links=tuple(Linked(kind, f"/{literal(name)}") for name in names for kind in kinds),
        )


def of_moment(scope: Scope, moment_ns: int) -> Scope:
    """What is of this moment: commits are of whole seconds, and far from now a float does not tell nanoseconds."""
    at = moment_ns / _NS_PER_SECOND
    return replace(scope, since=at - _HALF_A_SECOND, until=at + _HALF_A_SECOND)


@dataclass(frozen=True, slots=True)
class History:
    """Commits, newest first: the first of `total`. `names` are those the file had in them, the newest first."""

    commits: tuple[Record, ...]
    total: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Author:
    name: str
    email: str
    commits: int
    first_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class Authors:
    """Who wrote the commits, the busiest first, and how many these are."""

    people: tuple[Author, ...]
    commits: int


@dataclass(frozen=True, slots=True)
class Activity:
    """Paths with how many of the commits touched each, the most touched first."""

    files: tuple[tuple[str, int], ...]
    commits: int
