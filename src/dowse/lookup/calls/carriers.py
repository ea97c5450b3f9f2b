"""Calls that may lead to a definition though they do not name it: it was passed, returned or stored before.

They are only suspected: whether one leads there is for the resolver to say. So names are compared as texts, and what is
looked at is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.lookup.calls.aliases import CALLED
from dowse.lookup.calls.kinds import CLASSES, FUNCTIONS, VALUES
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import OF_LAMBDA, PARAMETER

if TYPE_CHECKING:
    from dowse.lookup.calls.outline import Outline
    from dowse.lookup.calls.world import World

_MOST_SITES = 2_000
_MOST_NAMES = 30
_MOST_FILES = 40
_MOST_FOUND = 300
_HOLDERS = FUNCTIONS | VALUES
_NO_NAMES = frozenset({"super", "base", "this", "__init__", "__construct", "initialize", "init", CALLED, "*"})


class Carriers:
    """For one question. `found` are the suspected sites, by record and ordinal."""

    def __init__(self, world: World, targets: Iterable[Place], names: set[str]) -> None:
        self._world = world
        self._found: dict[tuple[int, int], Site] = {}
        self._names: dict[str, None] = {}
        self._files: set[int] = set()
        self._entered: set[Place] = set()
        self._targets = tuple(targets)
        self._own = names - _NO_NAMES

    def sites(self) -> list[Site]:
        """Suspected sites that are not found by the names of the targets."""
        carried = [it for it in self._targets if self._may_be_carried(it)]
        for it in carried:
            for name in (self._world.catalogue.symbol(it).name, *sorted(self._own)):
                self._follow(name, it.record)
        return list(self._found.values())

    def _may_be_carried(self, target: Place) -> bool:
        """Whether anybody does more with it than to call it."""
        outline = self._world.catalogue.outline(target.record)
        symbol = outline.symbols[target.ordinal]
        if outline.habits.modules != "python":
            return False
        if (
            symbol.attributes
            or symbol.name == CALLED
            or (symbol.parent is not None and outline.symbols[symbol.parent].kind in FUNCTIONS)
        ):
            return True
        return any(it.kind == "refer" for it in self._world.catalogue.sites(self._own, _MOST_SITES))

    # --- by names ---

    def _follow(self, name: str, home: int) -> None:
        """Look where something that has it, under this name, is used; `home` is the file that gives it the name."""
        waiting = [(name, home)]
        while waiting and len(self._names) < _MOST_NAMES:
            name, home = waiting.pop(0)
            if name in self._names or name in _NO_NAMES:
                continue
            self._names[name] = None
            rows = self._world.catalogue.sites({name}, _MOST_SITES)
            if name not in self._own:
                self._add(it for it in rows if it.kind != "refer")
            unnamed = (it for it in self._world.catalogue.sites({CALLED}, _MOST_SITES) if name in it.callee)
            keys = dict.fromkeys((home, *(it.record for it in rows), *(it.record for it in unnamed)))
            for key in list(keys)[:_MOST_FILES]:
                if key in self._files or len(self._files) < _MOST_FILES:
                    self._files.add(key)
                    waiting += [(it, key) for it in self._in_file(key, name)]

    def _in_file(self, key: int, name: str) -> list[str]:
        """Suspects of a file, and further names that hold what has this name."""
        mentions = re.compile(rf"(?<![\w$]){re.escape(name)}(?!\w)").search
        outline = self._world.catalogue.outline(key)
        further = [it.name for it in outline.symbols if it.kind in _HOLDERS and it.holds and mentions(it.holds)]
        for site in self._world.catalogue.sites_in(key):
            if site.kind == "refer":
                continue
            in_callee, in_passed = mentions(site.callee), site.passed and mentions(site.passed)
            if in_callee and site.name not in self._own:
                self._add([site])
            if in_passed:
                further += self._passed_on(site)
            if site.kind == "decorate" and (in_callee or in_passed):
                decorated = outline.at_line(site.line)
                further += [outline.symbols[decorated].name] if decorated is not None else []
        further += self._defaults(outline, mentions)
        return further

    def _defaults(self, outline: Outline, mentions: Callable[[str], object]) -> Iterator[str]:
        for ordinal, it in enumerate(outline.symbols):
            if it.kind in FUNCTIONS and "=" in it.signature and mentions(it.signature):
                yield from self._entered_once(Place(outline.key, ordinal))

    def _add(self, sites: Iterable[Site]) -> None:
        for it in sites:
            if len(self._found) < _MOST_FOUND:
                self._found.setdefault((it.record, it.ordinal), it)

    # --- by parameters ---

    def _passed_on(self, site: Site) -> list[str]:
        """Into the functions that a site calls; gives the names of what they keep of it."""
        reaches = self._world.resolver.resolve(site).reaches
        if not reaches:  # perhaps it calls a lambda
            self._add(it for it in self._world.catalogue.sites_in(site.record) if OF_LAMBDA in it.callee)
        return [name for it in reaches for name in self._entered_once(it.place)]

    def _entered_once(self, place: Place) -> list[str]:
        if place in self._entered or len(self._entered) >= _MOST_NAMES:
            return []
        self._entered.add(place)
        return list(self._inside(place))

    def _inside(self, place: Place) -> Iterator[str]:
        outline = self._world.catalogue.outline(place.record)
        inner = _below(outline, place.ordinal)
        for site in self._world.catalogue.sites_in(place.record):
            if site.symbol not in inner or site.kind == "refer":
                continue
            if PARAMETER in site.callee:
                self._add([site])
            if PARAMETER in site.passed:
                yield from self._passed_on(site)
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
