"""A part of a root: some of its files and directories, with all that lies below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """`places` are paths relative to the root; none at all means the whole root."""

    places: frozenset[str]
    leading: frozenset[str]

    @property
    def is_whole(self) -> bool:
        return not self.places

    def holds(self, path: str) -> bool:
        return self.is_whole or path in self.places or not self.places.isdisjoint(_above(path))

    def is_on_the_way(self, directory: str) -> bool:
        """Whether something of it lies below the directory."""
        return directory in self.leading

    def inside(self, directory: str) -> list[str] | None:
        """Its places below the directory, relative to that; None where all of the directory belongs to it."""
        if not directory or self.is_whole:
            return None if self.is_whole else sorted(self.places)
        if self.holds(directory):
            return None
        prefix = f"{directory}/"
        return sorted(place.removeprefix(prefix) for place in self.places if place.startswith(prefix))


def part_of(places: Iterable[str]) -> Part:
    wanted = frozenset(place.removesuffix("/") for place in places)
    return Part(wanted, frozenset(above for place in wanted for above in _above(place)))


WHOLE = part_of(())


def _above(path: str) -> Iterator[str]:
    """`a`, `a/b` for `a/b/c`."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)
