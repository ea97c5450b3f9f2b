"""Which records have a link or a facet that is asked for: worked out once for each state of the records.

Globs and parts of values can not be looked up in an index. Instead of asking for every link of every record in each
search, the distinct targets and values are compared once, and the records that have them remembered.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from dowse.model import Facet, Linked
from dowse.store.sqlite.database import Database
from dowse.store.sqlite.rows import as_json
from dowse.text.globs import beginning, compile_globs
from dowse.text.surrogates import is_text

Ids = frozenset[int]
Value = TypeVar("Value")

_KEPT = 32
_LAST = "\U0010ffff"  # no character is behind it
_ALIKE = 4  # records to a distinct value, from which on it pays to keep who has which
_TARGETS = "SELECT DISTINCT target FROM links"


class Members:
    """Of one state of the records; a few answers are kept, the oldest go first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._kept: OrderedDict[Hashable, object] = OrderedDict()

    def linked(self, wanted: Sequence[Linked]) -> Ids:
        """Those with at least one of the links."""
        return frozenset[int]().union(*map(self._linked_once, wanted))

    def holding(self, wanted: Sequence[Facet]) -> Ids:
        """Those with at least one of the facets."""
        return frozenset[int]().union(*map(self._holding_once, wanted))

    def _holding_once(self, facet: Facet) -> Ids:
        return self.once(facet, lambda: self._holding(facet))

    def _linked_once(self, wanted: Linked) -> Ids:
        return self.once(wanted, lambda: self._linked(wanted))

    def _linked(self, wanted: Linked) -> Ids:
        matches = compile_globs((wanted.glob,))
        targets = [target for target in self._targets(beginning(wanted.glob)) if matches(target)]
        kind = " AND kind = ?" if wanted.kind else ""
        rows = self._db.rows(
            f"SELECT DISTINCT record FROM json_each(?) AS named CROSS JOIN links ON target = named.value{kind}",
            (as_json(targets), *([wanted.kind] if wanted.kind else [])),
        )
        return frozenset(key for (key,) in rows)

    def _targets(self, start: str) -> Sequence[str]:
        if not is_text(start):
            return []
        if start:
            rows = self._db.rows(f"{_TARGETS} WHERE target >= ? AND target < ?", (start, start + _LAST))
            return [target for (target,) in rows]
        return self.once("targets", lambda: [target for (target,) in self._db.rows(_TARGETS)])

    def _holding(self, facet: Facet) -> Ids:
        wanted = facet.value.casefold()
        having = self._values(facet.name)
        if facet.whole:
            return frozenset(having.get(wanted, ()))
        return frozenset(key for value, keys in having.items() if wanted in value for key in keys)

    def _values(self, name: str) -> dict[str, list[int]]:
        """Who has which value, in lower case. Values that hardly any two share are too many to be kept."""
        kept = self._kept.get(("values", name))
        if isinstance(kept, dict):
            return kept
        rows = self._db.rows(
            "SELECT records.id, facet.value FROM records JOIN json_each(records.facets) AS facet WHERE facet.key = ?",
            (name,),
        )
        found: defaultdict[str, list[int]] = defaultdict(list)
        for key, value in rows:
            found[str(value).casefold()].append(key)
        return self.once(("values", name), lambda: found) if len(found) * _ALIKE <= len(rows) else found

    def once(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` gave, as long as not too much else is kept."""
        if name in self._kept:
            found: Value = self._kept[name]  # type: ignore[assignment]
            return found
        made = self._kept[name] = make()
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return made
