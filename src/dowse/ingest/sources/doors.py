"""Which directories may be entered, by .dowseignore files and by being barred; each is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules

IGNORE_FILE = ".dowseignore"

_Found = TypeVar("_Found")


class Doors:
    """`barred` are absolute resolved directories. The root itself is always open."""

    __slots__ = ("_barred", "_root", "_rules")

    def __init__(self, root: str, barred: frozenset[str]) -> None:
        self._root = root
        self._barred = barred
        self._rules: dict[str, IgnoreRules | None] = {"": NO_RULES.entering(f"{root}/", IGNORE_FILE)}

    def rules(self, directory: str) -> IgnoreRules | None:
        """The rules for the directory's entries, or None if it must not be entered."""
        return looked_up(directory, self._rules, self._look_at)

    def _look_at(self, directory: str) -> IgnoreRules | None:
        parent, _, name = directory.rpartition("/")
        rules = self._rules[parent]
        if rules is None or f"{self._root}/{directory}" in self._barred:
            return None
        if rules.ignores(f"{self._root}/{parent}/" if parent else f"{self._root}/", name + "/"):
            return None
        return rules.entering(f"{self._root}/{directory}/", IGNORE_FILE)


def looked_up(directory: str, known: dict[str, _Found], look_at: Callable[[str], _Found]) -> _Found:
    """What is known of it; each place on the way there is looked at once, the outer ones first."""
    if directory not in known:
        for place in ancestors_and_self(directory):
            if place not in known:
                known[place] = look_at(place)
    return known[directory]


def ancestors_and_self(directory: str) -> Iterator[str]:
    """`a`, `a/b`, `a/b/c` for `a/b/c`; nothing for the root."""
    end = directory.find("/")
    while end >= 0:
        yield directory[:end]
        end = directory.find("/", end + 1)
    if directory:
        yield directory
