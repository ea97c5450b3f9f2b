"""Which directories may be entered, by .dowseignore files and by being barred; each is looked at once."""

from __future__ import annotations

from collections.abc import Iterator

from dowse.ingest.sources.ignore_files import NO_RULES, IgnoreRules

IGNORE_FILE = ".dowseignore"


class Doors:
    """`barred` are absolute resolved directories. The root itself is always open."""

    __slots__ = ("_barred", "_root", "_rules")

    def __init__(self, root: str, barred: frozenset[str]) -> None:
        self._root = root
        self._barred = barred
        self._rules: dict[str, IgnoreRules | None] = {"": NO_RULES.entering(f"{root}/", IGNORE_FILE)}

    def rules(self, directory: str) -> IgnoreRules | None:
        """The rules for the directory's entries, or None if it must not be entered."""
        if directory not in self._rules:
            for place in ancestors_and_self(directory):
                if place not in self._rules:
                    self._rules[place] = self._look_at(place)
        return self._rules[directory]

    def _look_at(self, directory: str) -> IgnoreRules | None:
        parent, _, name = directory.rpartition("/")
        rules = self._rules[parent]
        if rules is None or f"{self._root}/{directory}" in self._barred:
            return None
        if rules.ignores(f"{self._root}/{parent}/" if parent else f"{self._root}/", name + "/"):
            return None
        return rules.entering(f"{self._root}/{directory}/", IGNORE_FILE)


def ancestors_and_self(directory: str) -> Iterator[str]:
    """`a`, `a/b`, `a/b/c` for `a/b/c`; nothing for the root."""
    end = directory.find("/")
    while end >= 0:
        yield directory[:end]
        end = directory.find("/", end + 1)
    if directory:
        yield directory
