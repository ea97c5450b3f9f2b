"""Which records have a link or a facet that is asked for: worked out once for each state of the records.

Globs and parts of values can not be looked up in an index. Instead of asking for every link of every record in each
search, the distinct targets and values are compared once, and the records that have them remembered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from json import loads
from typing import TypeVar

from dowse.model import Facet, Linked
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.kept import Kept
from dowse.store.sqlite.rows import as_json
from dowse.text.globs import beginning, compile_globs, tree_of
from dowse.text.surrogates import is_text

Ids = frozenset[int]
Value = TypeVar("Value")

_KEPT, _KEPT_BYTES = 96, 96_000_000
_PASSING, _PASSING_BYTES = 16, 24_000_000
_LAST = "\U0010ffff"  # no character is behind it
_AFTER_SLASH = "0"  # the next character
_ALIKE = 4  # records to a distinct value, from which on it pays to keep who has which
_TARGETS = "SELECT DISTINCT target FROM links"
_BELOW = "SELECT json_group_array(DISTINCT record) FROM links WHERE target > ? AND target < ?"


class Members:
    """Of one state of the records; a few answers are kept, those that nobody asked for go first. What hardly anybody
    asks for again is kept apart, for who answers the same question another way."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kept = Kept(_KEPT, _KEPT_BYTES)
        self._passing = Kept(_PASSING, _PASSING_BYTES)

    def having(self, facets: Sequence[Facet], links: Sequence[Linked]) -> Ids:
        """Those with at least one of the facets of each name, and at least one of the links if there are any."""
        if len(facets) + len(links) > 1:
            return self.once(("having", facets, links), lambda: self._having(facets, links))
        return self._having(facets, links)

    def told(self, facets: Sequence[Facet], links: Sequence[Linked]) -> str:
        """The same as a list for SQLite."""
        return self.once(("told", facets, links), lambda: as_json(sorted(self.having(facets, links))))

    def _having(self, facets: Sequence[Facet], links: Sequence[Linked]) -> Ids:
        names = dict.fromkeys(it.name for it in facets)
        sets = [_any_of([self._holding_once(it) for it in facets if it.name == name]) for name in names]
        sets += [_any_of([self._linked_once(it) for it in links])] if links else []
        return frozenset.intersection(*sets)

    def _holding_once(self, facet: Facet) -> Ids:
        return self.once(facet, lambda: self._holding(facet))

    def _linked_once(self, wanted: Linked) -> Ids:
        return self.once(wanted, lambda: self._linked(wanted))

    def _linked(self, wanted: Linked) -> Ids:
        matches = compile_globs((wanted.glob,))
        kind, kinds = (" AND kind = ?", [wanted.kind]) if wanted.kind else ("", [])
        if tree := tree_of(wanted.glob):
            return self._below(tree, kind, kinds)
        targets = [target for target in self._targets(beginning(wanted.glob), kind, kinds) if matches(target)]
        rows = self._db.rows(
            f"SELECT DISTINCT record FROM json_each(?) AS named CROSS JOIN links ON target = named.value{kind}",
            (as_json(targets), *kinds),
        )
        return frozenset(key for (key,) in rows)

    def _below(self, tree: str, kind: str, kinds: Sequence[str]) -> Ids:
        """Whatever is in the range matches, so that nobody need look at the targets."""
        if not is_text(tree):
            return frozenset()
        ((told,),) = self._db.rows(f"{_BELOW}{kind}", (f"{tree}/", f"{tree}{_AFTER_SLASH}", *kinds))
        return frozenset(loads(told))

    def _targets(self, start: str, kind: str, kinds: Sequence[str]) -> Sequence[str]:
        if not is_text(start):
            return []
        if start:
            within = f"{_TARGETS} WHERE target >= ? AND target < ?{kind}"
            return [target for (target,) in self._db.rows(within, (start, start + _LAST, *kinds))]
        return self.once("targets", lambda: [target for (target,) in self._db.rows(_TARGETS)])

    def _holding(self, facet: Facet) -> Ids:
        wanted = facet.value.casefold()
        having = self._values(facet.name)
        if facet.whole:
            return frozenset(having.get(wanted, ()))
        return frozenset(key for value, keys in having.items() if wanted in value for key in keys)

    def _values(self, name: str) -> dict[str, list[int]]:
        """Who has which value, in lower case. Values that hardly any two share are too many to be kept."""
        return self.once(("values", name), lambda: self._read_values(name))

    def _read_values(self, name: str) -> dict[str, list[int]]:
        rows = self._db.rows(
            "SELECT records.id, facet.value FROM records JOIN json_each(records.facets) AS facet WHERE facet.key = ?",
            (name,),
        )
        found: defaultdict[str, list[int]] = defaultdict(list)
        for key, value in rows:
            found[str(value).casefold()].append(key)
        if len(found) * _ALIKE > len(rows):
            self._kept.drop(("values", name))
        return found

    def once(self, name: Hashable, make: Callable[[], Value], *, passing: bool = False) -> Value:
        """What `make` gave, as long as not too much else is kept."""
        return (self._passing if passing else self._kept).once(name, make)


def _any_of(sets: Sequence[Ids]) -> Ids:
    return sets[0] if len(sets) == 1 else frozenset[int]().union(*sets)  # a copy of one would take longest of all
