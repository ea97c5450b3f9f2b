"""Which calls of a name can not lead to a definition, told from how they are written, before any file is opened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from dowse.lookup.calls.kinds import CLASSES
from dowse.lookup.calls.type_text import parse_type
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import PARAMETER, UNKNOWN, Way, ways

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

Verdict = Literal["never", "unknown", "parameter", "perhaps"]
"""unknown: whatever it is called on, nobody can say what that is; parameter: only those who pass it can."""

_TYPE_PARAMETER = re.compile(r"T[A-Z]?\w*|[A-Z]\d?")


class Sieve:
    """For members of types: by the names and the files of the types on which a call may lead to one of the targets.

    `is_coarse`: nearly everything passes, as where names that are merely alike count.
    """

    def __init__(self, world: World, targets: tuple[Place, ...], *, is_coarse: bool = False) -> None:
        self._world = world
        self._names: set[str] = set()
        self._records: set[int] = set()
        self._own_names: set[str] = set()
        self._is_coarse = is_coarse
        self._is_imported = False  # whether a target is known somewhere by its bare name
        for it in targets:
            self._add(it)

    def _add(self, target: Place) -> None:
        symbol = self._world.catalogue.symbol(target)
        owner = self._world.classes.owner(target)
        if owner is None or symbol.kind in CLASSES or symbol.kind == "constructor" or "extension" in symbol.modifiers:
            self._is_coarse = True  # may be called in any way
            return
        types = [*self._world.classes.line(owner), *self._world.overrides.types_above(target)]
        heirs = self._world.overrides.below(owner.name)
        self._own_names.add(symbol.name)
        self._names |= {it.name for it in types} | {it.name for it in heirs}
        self._names |= {name for it in owner.places for name in self._world.aliases.of(it)}
        self._records |= {place.record for it in types for place in it.places} | {it.place.record for it in heirs}
        self._is_coarse |= self._world.structures.may_miss(target)
        self._is_imported |= self._world.aliases.is_imported(target)
        self._is_coarse |= "*" in self._names  # `using static` makes members of it known by their bare names

    def judge(self, site: Site) -> Verdict:
        parts = ways(site.callee)
        if all(it.root == UNKNOWN or it.root[0] == PARAMETER for it in parts):
            return "unknown" if parts[0].root == UNKNOWN else "parameter"
        if self._is_coarse or site.name not in self._own_names or any(self._may_lead(it, site) for it in parts):
            return "perhaps"
        return "never"

    def _may_lead(self, way: Way, site: Site) -> bool:
        if not way.steps:
            return self._is_imported or site.record in self._records
        if len(way.steps) > 1:
            return True
        if way.root in ("this", "super"):
            return site.record in self._records
        if not way.type:
            return True
        last = parse_type(way.type).last
        return last in self._names or last == "type" or _TYPE_PARAMETER.fullmatch(last) is not None
