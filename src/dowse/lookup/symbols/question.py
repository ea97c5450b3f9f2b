"""What can be asked of definitions, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dowse.model import EVERYTHING, Record, Scope, Symbol


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which definitions; what is empty does not filter, what is given must all hold. `names`: any of them as a part of
    the name, or as a regex in it, or exactly it. `least` are lower bounds by the names of `Stats`, and `lines`."""

    names: tuple[str, ...] = ()
    matching: str = "part"  # or: regex, exact
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
    """A symbol where it stands: `ordinal` is its place among its record's symbols, `trail` the names around it."""

    record: Record
    ordinal: int
    symbol: Symbol
    trail: tuple[str, ...] = ()

    @property
    def parent(self) -> str:
        return self.trail[-1] if self.trail else ""


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """`before_stats` is how many there were before `least` was applied."""

    definitions: tuple[Definition, ...]
    total: int
    before_stats: int
    index_files: int
    index_definitions: int


@dataclass(frozen=True, slots=True)
class Body:
    """The lines of a definition. `changed`: its file is not as it was indexed, so they may be others by now."""

    start_line: int
    lines: tuple[str, ...]
    truncated: bool = False
    changed: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Silent:
    """A file of a known language that yielded no definition, and why."""

    path: str
    collection: str
    size: int
    reason: str


@dataclass(frozen=True, slots=True)
class Audit:
    """`silent` are the files of at least the asked size; `unexplained` those of them without a reason."""

    files: int
    with_definitions: int
    unreadable: int
    lossy: int
    silent: tuple[Silent, ...]

    @property
    def unexplained(self) -> tuple[Silent, ...]:
        return tuple(it for it in self.silent if not it.reason)
