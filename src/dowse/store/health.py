"""What can be wrong with a store: its parts, what is found of them, and what is done about it.

One rule: words, names, vectors and lines are caches of the catalog, and the catalog is a cache of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

SIDECARS = "sidecars"  # answers miss nothing where they are damaged
PARTS = ("words", "names", "vectors", SIDECARS, "records", "catalog")
"""`names` are the trigrams of symbols' names, `sidecars` the derived files beside an index; `records` are single ones
that do not match their checksums; `catalog` is what can only be made anew as a whole, from the files."""

State = Literal["ok", "warning", "problem"]
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. `fix` is the next step, empty where none is needed."""

    part: str
    state: State
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A record that was dropped because it was damaged: its file is to be read again."""

    collection: str
    path: str


class Health(Protocol):
    def damaged(self) -> Mapping[str, str]:
        """The parts that were found damaged since the store was opened, or are being made anew, with the reasons."""
        ...

    def probe(self) -> None:
        """Read every page once, for some seconds at most: what is not sound is found damaged from then on."""
        ...

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        """What is found of every part. Deep reads everything, and writes nothing."""
        ...

    def begin_mending(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[Lost]:
        """Empty what is damaged, and note that it is to be filled again: until then, searches do without it.

        Damaged records are dropped, if they are of a collection that is `available` and can be read again.
        Raises IndexDamaged when the damage is such that only a whole new store will do.
        """
        ...

    def finish_mending(self, progress: Progress) -> None:
        """Fill what was emptied, by whomever, from the catalog. A kill loses nothing."""
        ...


class AlwaysSound:
    """A store that lies in memory, where nothing is damaged."""

    def damaged(self) -> Mapping[str, str]:
        return {}

    def probe(self) -> None:
        pass

    def check(self, *, deep: bool, progress: Progress) -> list[Finding]:
        return []

    def begin_mending(self, parts: Iterable[str], available: Iterable[str], progress: Progress) -> list[Lost]:
        return []

    def finish_mending(self, progress: Progress) -> None:
        pass
