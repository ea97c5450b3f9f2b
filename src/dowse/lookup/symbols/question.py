"""What can be asked of definitions, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass

from dowse.model import NOT_LOOKED, Seen
from dowse.store.definitions import Definition, Wanted

__all__ = ["Audit", "Body", "Definition", "Silent", "SymbolAnswer", "Wanted"]


@dataclass(frozen=True, slots=True)
class SymbolAnswer:
    """`before_stats` is how many there were before `least` was applied."""

    definitions: tuple[Definition, ...]
    total: int
    before_stats: int
    index_files: int
    index_definitions: int
    seen: Seen = NOT_LOOKED


@dataclass(frozen=True, slots=True)
class Body:
    """The lines of a definition. `changed`: its file is not as it was indexed, so they may be others by now.
    `omitted`: none are shown, because the bodies before it used up the lines there were for all of them."""

    start_line: int
    lines: tuple[str, ...]
    truncated: bool = False
    changed: bool = False
    omitted: bool = False
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
