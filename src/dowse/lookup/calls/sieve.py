"""Which calls of a name can not lead to a definition, told from how they are written, before any file is opened."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, NamedTuple

from dowse.lookup.calls.catalogue import MOST_SITES_KEPT
from dowse.lookup.calls.kinds import ASSIGN, CLASSES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.type_text import parse_type
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import PARAMETER, UNKNOWN, Way, ways

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

Verdict = Literal["never", "unknown", "parameter", "perhaps"]
"""unknown: whatever it is called on, nobody can say what that is; parameter: only those who pass it can."""

MOST_SITES = 20_000
"""So many calls of one name are looked at in one question."""

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


class Candidates(NamedTuple):
    """The sites that bear a name of some targets, by what the sieve says; `ran_out`: there are more of that name."""

    judged: tuple[tuple[Verdict, Site], ...]
    on_parameters: tuple[tuple[int, int], ...]
    ran_out: bool


class Sifting:
    """Candidates depend on the targets alone, so they are kept from question to question."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[tuple[Place, ...], bool], Candidates] = Memo(MOST_SITES_KEPT)

    def candidates(self, targets: tuple[Place, ...], *, is_coarse: bool) -> Candidates:
        known = self._known.get((targets, is_coarse))
        if known is None:
            known = self._sifted(targets, is_coarse)
            self._known.keep((targets, is_coarse), known, len(known.judged) + 1)
        return known

    def _sifted(self, targets: tuple[Place, ...], is_coarse: bool) -> Candidates:
        aliases, catalogue = self._world.aliases, self._world.catalogue
        names = {name for it in targets for name in (*aliases.of(it), *aliases.sources(it))}
        sites = catalogue.sites(names, MOST_SITES)
        ran_out = len(sites) >= MOST_SITES
        held = {name for it in targets for name in aliases.held_as(it, sites)} - names
        if held:
            sites = catalogue.sites(names | held, MOST_SITES)
        judge = Sieve(self._world, targets, is_coarse=is_coarse).judge
        called = (it for it in sites if it.kind != ASSIGN)
        judged = tuple((verdict, it) for it in called if (verdict := judge(it)) != "never")
        on_parameters = tuple((it.record, it.ordinal) for verdict, it in judged if verdict == "parameter")
        return Candidates(judged, on_parameters, ran_out or len(sites) >= MOST_SITES)
