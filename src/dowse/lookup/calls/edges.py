"""The calls that lead to a definition, and those that lead away from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import NamedTuple

from dowse.lookup.calls.aliases import CALLED
from dowse.lookup.calls.carriers import MOST_SCANS, Carriers
from dowse.lookup.calls.kinds import ASSIGN, CLASSES
from dowse.lookup.calls.overloads import fitting
from dowse.lookup.calls.question import Confidence, Edge, External
from dowse.lookup.calls.reach import ORDER, Reach, Resolution
from dowse.lookup.calls.values import Trip
from dowse.lookup.calls.world import World
from dowse.model import Call, Record
from dowse.store.call_facts import Place, Site

_FILES_AT_ONCE = 50
_ALLOWANCE = 40  # of a question, to follow parameters
_MOST_REFERENCES = 30  # are followed to where they lead
_MOST_ON_PARAMETERS = 20  # calls on parameters of one name: of more, nobody is asked what is passed
_UNSAID = frozenset({"refer", "implied", "raise"})


class Rules(NamedTuple):
    """What of the graph is wanted."""

    confidence: Confidence
    through_interfaces: bool
    is_wanted: Callable[[Record], bool]
    is_over: Callable[[], bool] = lambda: False  # whether there is no time left
    with_references: bool = False  # whether what is only passed on counts as called


class Found(NamedTuple):
    """An edge with where its ends are: the near one, and the far one, unless that lies outside of any definition."""

    edge: Edge
    near: Place
    place: Place | None


class Edges:
    def __init__(self, world: World, rules: Rules) -> None:
        self._world = world
        self._rules = rules
        self._least = ORDER[rules.confidence]
        self.ran_out = False  # whether there were more sites than are looked at
        self.was_late = False  # whether time was over before all were
        self.references: list[Edge] = []  # met so far, where they do not count as calls
        self._outside: dict[tuple[int, str], list[int]] = {}
        self._allowance = _ALLOWANCE
        self._scans_left = MOST_SCANS
        self._unfollowed: set[tuple[int, int]] = set()  # sites on parameters, where there are too many of them

    def stop_following(self) -> None:
        """From now on parameters, and what was stored or returned, are not followed."""
        self._allowance = self._scans_left = 0

    # --- up ---

    def to(self, targets: Sequence[Place], unresolved: list[Edge] | None = None) -> Iterator[Found]:
        """Who calls one of the targets: each caller once, by file and line.

        Sites met on the way of which can not be told where they lead are added to `unresolved`.
        """
        wanted = self._matching(targets)
        for sites in self._by_record(self._candidates(tuple(targets), with_unknown=unresolved is not None)):
            yield from self._callers(sites, wanted)
            if unresolved is not None:
                unresolved += self.unresolved(sites, with_outside=False)
                unresolved += self._unsure(sites, wanted)

    def _candidates(self, targets: tuple[Place, ...], *, with_unknown: bool) -> list[Site]:
        """The sites that, by their name and by how they are written, may lead there."""
        by_name = self._is_sure_enough("possible")
        sifted = self._world.sifting.candidates(targets, is_coarse=by_name)
        self.ran_out |= sifted.ran_out
        passed = {"perhaps", "unknown", "parameter"} if with_unknown or by_name else {"perhaps", "parameter"}
        if len(sifted.on_parameters) > _MOST_ON_PARAMETERS or not self._allowance:
            self._unfollowed.update(sifted.on_parameters)
            passed -= set() if with_unknown or by_name else {"parameter"}
        left_out = "" if self._allowance else "implied"  # of which there is one for each loop
        sites = [it for verdict, it in sifted.judged if verdict in passed and it.kind != left_out]
        carried = self._carried(targets, sites) if self._scans_left else {}
        if not carried:
            return sites
        found = {(it.record, it.ordinal): it for it in sites}
        return self._in_order(found, carried) if carried.keys() - found.keys() else sites

    def _carried(self, targets: tuple[Place, ...], found: Iterable[Site]) -> dict[tuple[int, int], Site]:
        """Sites that may call a target because somebody passed it on, returned or stored it."""
        wanted = self._matching(targets)
        named = islice((it for it in found if it.kind == "refer" and it.passed), _MOST_REFERENCES)
        references = [it for it in named if any(reach.place in wanted for reach in self._resolve(it).reaches)]
        carriers = Carriers(self._world, targets, self._scans_left)
        carried = carriers.sites(references)
        self._scans_left = max(self._scans_left - carriers.scanned, 0)
        return {(it.record, it.ordinal): it for it in carried}

    def _in_order(self, found: dict[tuple[int, int], Site], more: dict[tuple[int, int], Site]) -> list[Site]:
        catalogue = self._world.catalogue

        def place(site: Site) -> tuple[str, str, int, int]:
            record = catalogue.outline(site.record).record
            return record.collection, record.path, site.line, site.ordinal

        return sorted((more | found).values(), key=place)

    def _resolve(self, site: Site) -> Resolution:
        """As far as there is something left to follow parameters."""
        allowance = self._allowance
        if allowance and self._unfollowed and (site.record, site.ordinal) in self._unfollowed:
            allowance = 0
        known = self._world.resolver.known(site, follows=allowance > 0)
        if known is not None:
            return known
        trip = Trip(allowance)
        found = self._world.resolver.resolve(site, trip)
        self._allowance = max(self._allowance - trip.spent, 0)
        return found

    def _by_record(self, sites: list[Site]) -> Iterator[list[Site]]:
        """The sites of each file that is wanted; files are read a few at a time, for not all may be needed."""
        groups = [list(group) for _, group in groupby(sites, key=lambda it: it.record)]
        catalogue = self._world.catalogue
        for start in range(0, len(groups), _FILES_AT_ONCE):
            some = groups[start : start + _FILES_AT_ONCE]
            catalogue.prefetch(group[0].record for group in some)
            for it in some:
                if self._is_over():
                    return
                if self._rules.is_wanted(catalogue.outline(it[0].record).record):
                    yield it

    def _is_over(self) -> bool:
        self.was_late |= self._rules.is_over()
        return self.was_late

    def _matching(self, targets: Sequence[Place]) -> frozenset[Place]:
        """Places that count as a target: a class is called through its constructors."""
        matching = set(targets)
        for it in targets:
            if self._world.catalogue.symbol(it).kind in CLASSES:
                own = self._world.catalogue.outline(it.record).constructors(it.ordinal)
                matching |= {Place(it.record, child) for child in own}
        return frozenset(matching)

    def _callers(self, sites: list[Site], wanted: frozenset[Place]) -> Iterator[Found]:
        groups: dict[tuple[int | None, Place, bool], list[tuple[Site, Reach, Resolution]]] = {}
        for site in sites:
            if self._rules.with_references and self._world.aliases.is_only_named(site):
                continue
            resolution = self._resolve(site)
            for reach in self._landing(site, resolution, wanted) if resolution.reaches else ():
                for it in self._meant(site, reach):
                    groups.setdefault((site.symbol, it.place, it.is_reference), []).append((site, it, resolution))
        for (caller, place, is_reference), found in groups.items():
            edge = self._of_group(found)
            far = None if caller is None else Place(found[0][0].record, caller)
            if is_reference:
                self.references.append(edge)
            else:
                yield Found(edge, place, far)

    def _meant(self, site: Site, reach: Reach) -> Iterator[Reach]:
        """A reach as it counts: that something is named may be a call of what it is passed to, or a reference."""
        if site.kind != "refer" or self._rules.with_references:
            yield from (reach,) if self._is_sure_enough(reach.confidence) else ()
            return
        taker = self._world.passing.caller_of(site)
        if taker and reach.confidence != "possible":
            yield reach._replace(how=f"passed to {taker}, which calls it")
        else:
            yield reach._replace(how=site.passed or "named", is_reference=True)

    def _of_group(self, found: list[tuple[Site, Reach, Resolution]]) -> Edge:
        lines = tuple(dict.fromkeys(it[0].line for it in found))
        site, reach, resolution = min(found, key=lambda it: ORDER[it[1].confidence])
        return self.edge(site, reach.place, reach, resolution.receiver, lines)

    def _landing(self, site: Site, resolution: Resolution, wanted: frozenset[Place]) -> list[Reach]:
        """The targets a site leads to; what it may lead to through a base only where it leads to none directly."""
        landed = [it for it in resolution.reaches if it.place in wanted]
        if landed or not self._rules.through_interfaces:
            return landed
        through = [reach for it in sorted(wanted) for reach in self._through(resolution, it)]
        return fitting(self._world.catalogue, through, site.arguments)

    def _through(self, resolution: Resolution, target: Place) -> Iterator[Reach]:
        name = self._world.catalogue.symbol(target).name
        for reach in resolution.reaches:
            if self._world.catalogue.symbol(reach.place).name != name:
                continue
            landing = self._world.overrides.landing(reach, target)
            if landing is not None:
                yield landing
            else:
                yield from (it for it in self._world.guesses.kindred(reach) if it.place == target)

    def _unsure(self, sites: list[Site], wanted: frozenset[Place]) -> Iterator[Edge]:
        """Sites of a file that lead to an interface, and to a target only if one of many types is meant."""
        for site in sites if self._world.catalogue.outline(sites[0].record).habits.structural else ():
            resolution = self._world.resolver.resolve(site)
            if not self._is_told(resolution):
                continue  # told already
            landing = self._landing(site, resolution, wanted)
            if landing and not any(self._is_sure_enough(it.confidence) for it in landing):
                yield self.edge(site, None, landing[0], resolution.receiver, (site.line,))

    # --- down ---

    def of(self, sources: Sequence[Place], unresolved: list[Edge] | None = None) -> Iterator[Found]:
        """What the sources call: each callee once for each source, in the order of the lines."""
        for source in sources:
            sites = self._sites_of(source)
            if unresolved is not None:
                unresolved += self.unresolved(sites, with_outside=True)
            groups: dict[tuple[Place, bool], list[tuple[Site, Reach, Resolution]]] = {}
            for site in sites:
                if self._is_over():
                    break
                resolution = self._resolve(site)
                for reach in self._reached(site, resolution):
                    groups.setdefault((reach.place, reach.is_reference), []).append((site, reach, resolution))
            for (place, is_reference), found in groups.items():
                if not self._rules.is_wanted(self._world.catalogue.outline(place.record).record):
                    continue
                if is_reference:
                    self.references.append(self._of_group(found))
                else:
                    yield Found(self._of_group(found), source, place)

    def _sites_of(self, source: Place) -> list[Site]:
        sites = [it for it in self._world.catalogue.sites_in(source.record).of(source.ordinal) if it.kind != ASSIGN]
        if not self._rules.with_references:
            return sites
        return [it for it in sites if not self._world.aliases.is_only_named(it)]

    def _reached(self, site: Site, resolution: Resolution) -> Iterator[Reach]:
        for reach in resolution.reaches:
            yield from self._meant(site, reach)
            if site.kind == "refer" and not self._rules.with_references:
                continue
            if not self._rules.through_interfaces or not self._is_sure_enough("virtual"):
                continue
            overriding = [it for it in self._world.overrides.overriding(reach) if self._is_sure_enough(it.confidence)]
            yield from fitting(self._world.catalogue, overriding, site.arguments)
            if self._is_sure_enough("possible"):
                yield from self._world.guesses.kindred(reach)

    # --- what leads nowhere ---

    def unresolved(self, sites: Iterable[Site], *, with_outside: bool) -> Iterator[Edge]:
        """Sites of which can not be told where they lead, or not surely enough."""
        for site in sites:
            if site.kind in _UNSAID or (site.kind == "decorate" and site.name == CALLED):
                continue  # most values that are passed on are nothing that can be called
            resolution = self._resolve(site)
            if self._is_told(resolution):
                continue
            if resolution.is_outside and with_outside:
                name = self._world.resolver.external_name(site, resolution)
                self._outside.setdefault((site.record, name), []).append(site.line)
            if with_outside or not resolution.is_outside:
                how = resolution.reaches[0].how if resolution.reaches else resolution.why
                reach = Reach(Place(site.record, 0), how, confidence="possible")
                yield self.edge(site, None, reach, resolution.receiver, (site.line,))

    def external(self) -> Iterator[External]:
        """What was met of libraries so far, in the order of the lines."""
        for (record, name), lines in self._outside.items():
            yield External(name, self._world.catalogue.outline(record).record, tuple(dict.fromkeys(lines)))

    def _is_told(self, resolution: Resolution) -> bool:
        """Whether it leads somewhere, as surely as is wanted."""
        return any(ORDER[it.confidence] <= self._least for it in resolution.reaches) if resolution.reaches else False

    def _is_sure_enough(self, confidence: Confidence) -> bool:
        return ORDER[confidence] <= self._least

    def edge(self, site: Site, callee: Place | None, reach: Reach, receiver: str, lines: tuple[int, ...]) -> Edge:
        outline = self._world.catalogue.outline(site.record)
        return Edge(
            Call(site.name, _shown(site.callee), site.line, site.symbol, site.arguments, site.kind),
            outline.record,
            None if site.symbol is None else outline.definition(site.symbol),
            None if callee is None else self._world.catalogue.outline(callee.record).definition(callee.ordinal),
            receiver,
            reach.confidence,
            reach.how,
            lines,
        )


def _shown(callee: str) -> str:
    """As a reader knows it: a parameter has no sign before its name."""
    return callee.replace("$", "") if "$" in callee else callee
