"""Calls that may lead to a definition though they do not name it: it was passed, returned or stored before.

They are only suspected: whether one leads there is for the resolver to say. So names are compared as texts, and what is
looked at is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from dowse.lookup.calls.aliases import CALLED
from dowse.lookup.calls.kinds import ASSIGN, CLASSES, FUNCTIONS, VALUES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.values import Here, Thing, Trip
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import OF_LAMBDA, PARAMETER

if TYPE_CHECKING:
    from dowse.lookup.calls.outline import Outline
    from dowse.lookup.calls.world import World

_MOST_SITES = 2_000
_MOST_NAMES = 12
_MOST_FOUND = 100
MOST_SCANS = 16  # of a file for a name
_LIBRARY = frozenset(
    {
        "property", "classmethod", "staticmethod", "abstractmethod", "cached_property", "setter", "getter", "deleter",
        "overload", "override", "final", "wraps", "dataclass", "lru_cache", "cache", "contextmanager",
        "asynccontextmanager", "total_ordering", "unique", "fixture",
    }
)  # fmt: skip
"""Decorators of libraries, which call nothing of the index."""
_HOLDERS = FUNCTIONS | VALUES
_NO_NAMES = frozenset({"super", "base", "this", "__init__", "__construct", "initialize", "init", CALLED, "*"})


class Mentioned(NamedTuple):
    """`holders` are names of what holds it, `defaults` functions with a header that has it; of each site whether its
    callee has it, and whether what is passed there has."""

    holders: tuple[str, ...]
    sites: tuple[tuple[Site, bool, bool], ...]
    defaults: tuple[Place, ...]


class Mentions:
    """Where a file has a name in its expressions, compared as text."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[int, str], Mentioned] = Memo(20_000)

    def of(self, key: int, name: str) -> Mentioned:
        known = self._known.get((key, name))
        return known if known is not None else self._known.keep((key, name), self._read(key, name))

    def _read(self, key: int, name: str) -> Mentioned:
        pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?!\w)")

        def has(text: str) -> bool:
            return name in text and pattern.search(text) is not None

        symbols = self._world.catalogue.outline(key).symbols
        told = ((it, has(it.callee), has(it.passed)) for it in self._world.catalogue.sites_having(key, name))
        return Mentioned(
            tuple(it.name for it in symbols if it.kind in _HOLDERS and has(it.holds)),
            tuple(it for it in told if (it[1] or it[2]) and it[0].kind != "refer"),
            tuple(
                Place(key, ordinal)
                for ordinal, it in enumerate(symbols)
                if it.kind in FUNCTIONS and "=" in it.signature and has(it.signature)
            ),
        )


class Carriers:
    """For some targets. Files may be looked through for names `scans` times; `scanned` counts how often they were."""

    def __init__(self, world: World, targets: Iterable[Place], scans: int = MOST_SCANS) -> None:
        self._world = world
        self._most_scans = scans
        self.scanned = 0
        self._found: dict[tuple[int, int], Site] = {}
        self._names: dict[str, None] = {}
        self._entered: set[Place] = set()
        self._homes: dict[str, list[int]] = {}  # files that define what is given something, by its name
        self._targets = tuple(targets)
        self._own = {name for it in self._targets for name in self._names_of(it)} - _NO_NAMES

    def sites(self, references: Iterable[Site]) -> list[Site]:
        """Suspected sites that are not found by the names of the targets; `references` are those that name them."""
        homes = [it.record for it in self._targets if self._is_replaced(it)]
        for it in references:
            homes.append(it.record)
            self._own.add(it.callee.rpartition(".")[2])
        homes = list(dict.fromkeys(homes))
        for name in sorted(self._own - _NO_NAMES) if homes else ():
            self._follow(name, homes)
        return list(self._found.values())

    def _names_of(self, target: Place) -> Iterator[str]:
        """Its own name; of a constructor, and of what makes objects of a class callable, the class's."""
        symbol = self._world.catalogue.symbol(target)
        yield symbol.name
        owner = self._world.classes.owner(target) if symbol.name in _NO_NAMES else None
        if owner is not None:
            yield owner.name

    def _is_replaced(self, target: Place) -> bool:
        """Whether decorators of the index, or a function that gives it back, may stand between it and its callers."""
        outline = self._world.catalogue.outline(target.record)
        symbol = outline.symbols[target.ordinal]
        if outline.habits.modules != "python":
            return False
        parent = None if symbol.parent is None else outline.symbols[symbol.parent]
        is_given = parent is not None and parent.kind in FUNCTIONS and symbol.name in parent.holds
        is_decorated = any(it.rpartition(".")[2] not in _LIBRARY for it in symbol.attributes)
        return is_given or symbol.name == CALLED or (is_decorated and self._has_own_decorator(target))

    def _has_own_decorator(self, target: Place) -> bool:
        symbol = self._world.catalogue.symbol(target)
        return any(
            symbol.start_line <= site.line <= symbol.end_line and self._world.resolver.resolve(site, Trip(0)).reaches
            for site in self._world.catalogue.sites_of_kind(target.record, "decorate")
        )

    # --- by names ---

    def _follow(self, name: str, homes: list[int]) -> None:
        """Look where something that has it, under this name, is used; `homes` are files that give it the name."""
        waiting = [(name, homes)]
        while waiting and len(self._names) < _MOST_NAMES:
            name, homes = waiting.pop(0)
            if name in self._names or name in _NO_NAMES:
                continue
            self._names[name] = None
            keys = dict.fromkeys(homes)
            if name not in self._own:
                rows = self._world.catalogue.sites({name}, _MOST_SITES)
                self._add(it for it in rows if it.kind not in ("refer", ASSIGN))
                keys |= dict.fromkeys(self._homes.pop(name, ()))
                keys |= dict.fromkeys(it.record for it in rows)
                unnamed = self._world.catalogue.sites({CALLED}, _MOST_SITES)
                keys |= dict.fromkeys(it.record for it in unnamed if name in it.callee)
            for key in keys:
                if self.scanned >= self._most_scans:
                    return
                self.scanned += 1
                waiting += [(it, [key]) for it in self._in_file(key, name)]

    def _in_file(self, key: int, name: str) -> list[str]:
        """Suspects of a file, and further names that hold what has this name."""
        outline = self._world.catalogue.outline(key)
        mentioned = self._world.mentions.of(key, name)
        further = list(mentioned.holders)
        for site, in_callee, in_passed in mentioned.sites:
            if in_callee and site.name not in self._own and site.kind != ASSIGN:
                self._add([site])
            if in_passed:
                further += self._passed_on(site) if site.kind != ASSIGN else self._assigned(site)
            if site.kind == "decorate" and (in_callee or in_passed):
                decorated = outline.at_line(site.line)
                further += [outline.symbols[decorated].name] if decorated is not None else []
        for it in mentioned.defaults:
            further += self._entered_once(it)
        return further

    def _add(self, sites: Iterable[Site]) -> None:
        for it in sites:
            if len(self._found) < _MOST_FOUND:
                self._found.setdefault((it.record, it.ordinal), it)

    # --- by parameters ---

    def _passed_on(self, site: Site) -> list[str]:
        """Into the functions that a site calls; gives the names of what they keep of it."""
        reaches = self._world.resolver.resolve(site, Trip(0)).reaches
        if not reaches:  # perhaps it calls a lambda
            self._add(it for it in self._world.catalogue.sites_having(site.record, OF_LAMBDA) if OF_LAMBDA in it.callee)
        return [name for it in reaches for name in self._entered_once(it.place)]

    def _assigned(self, site: Site) -> list[str]:
        """What is given to a member may be called wherever the member is: first of all where it is defined."""
        targets = self._world.evaluator.values(site.callee, Here(site.record, site.symbol), Trip(0))
        self._homes.setdefault(site.name, []).extend(it.place.record for it in targets if isinstance(it, Thing))
        return [site.name]

    def _entered_once(self, place: Place) -> list[str]:
        if place in self._entered or len(self._entered) >= _MOST_NAMES:
            return []
        self._entered.add(place)
        return list(self._inside(place))

    def _inside(self, place: Place) -> Iterator[str]:
        outline = self._world.catalogue.outline(place.record)
        inner = _below(outline, place.ordinal)
        sites = self._world.catalogue.sites_in(place.record)
        for site in sorted((it for one in inner for it in sites.of(one)), key=lambda it: (it.line, it.ordinal)):
            if site.kind == "refer":
                continue
            if PARAMETER in site.callee:
                self._add([site])
            if PARAMETER in site.passed:
                yield from self._passed_on(site) if site.kind != ASSIGN else self._assigned(site)
        symbol = outline.symbols[place.ordinal]
        if PARAMETER in symbol.holds or any(outline.symbols[it].kind in FUNCTIONS for it in inner - {place.ordinal}):
            yield symbol.name
        yield from (
            it.name
            for it in outline.symbols
            if it.kind in VALUES and PARAMETER in it.holds and (it.parent is None or it.parent == symbol.parent)
        )


def _below(outline: Outline, ordinal: int) -> set[int]:
    """A function and the functions inside of it."""
    found = {ordinal}
    for place in range(ordinal + 1, len(outline.symbols)):
        symbol = outline.symbols[place]
        if symbol.parent in found and symbol.kind not in CLASSES:
            found.add(place)
    return found
