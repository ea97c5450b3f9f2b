"""From a call site to the definitions it leads to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.lookup.calls.kinds import CLASSES, FUNCTIONS, VALUES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Import
from dowse.lookup.calls.overloads import fitting
from dowse.lookup.calls.reach import OUTSIDE, Reach, Resolution
from dowse.lookup.calls.scopes import outside_name
from dowse.lookup.calls.values import Here, Object, Parent, Result, Thing, Trip, Type, Value, Values
from dowse.model import Symbol
from dowse.store.call_facts import Place, Site
from dowse.text.expressions import PARAMETER, UNKNOWN, Way, entries, ways

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_Key = tuple[int, int | None, str, int, str]
_CALLED = "__call__"
_NOT_KNOWN = "what it is called on is not known"
_NO_MEMBER = "no such member is known"


class Resolver:
    """For one state of an index; shared by all threads."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._followed: Memo[_Key, Resolution] = Memo(100_000)
        self._unfollowed: Memo[_Key, Resolution] = Memo(100_000)  # as far as parameters need not be followed

    def known(self, site: Site, *, follows: bool) -> Resolution | None:
        """What was found before: with parameters followed, or else, where that is not wanted, without."""
        key = _key(site)
        found = self._followed.get(key)
        return self._unfollowed.get(key) if found is None and not follows else found

    def resolve(self, site: Site, trip: Trip | None = None) -> Resolution:
        """On the way of a trip, or on one of its own."""
        trip = trip or Trip()
        key = _key(site)
        known = self._followed.get(key)
        if known is None and not trip.follows:
            known = self._unfollowed.get(key)
            trip.skipped |= known is not None
        if known is not None:
            return known
        before, trip.was_cut = trip.was_cut, False
        skipped, trip.skipped = trip.skipped, False
        is_first = not trip.under_way
        found = self._resolved(site, trip)
        if not trip.was_cut or (is_first and not trip.spent):
            (self._unfollowed if trip.skipped else self._followed).keep(key, found)
        trip.skipped |= skipped
        trip.was_cut |= before
        return found

    def _resolved(self, site: Site, trip: Trip) -> Resolution:
        here = Here(site.record, site.symbol)
        found: dict[Place, Reach] = {}
        receiver, reasons = "", []
        for way in ways(site.callee):
            receivers, callees = self._callees(way, here, site, trip)
            receiver = receiver or next(filter(None, (self._type_name(it, trip) for it in receivers)), "")
            reaches = list(self._reaches(callees, site, trip))
            for it in reaches or self._world.guesses.instead(way, receivers):
                found.setdefault(it.place, it)
            if not reaches:
                reasons.append(_reason(way, receivers, callees))
        chosen = fitting(self._world.catalogue, list(found.values()), site.arguments)
        if not chosen and reasons and not any(it.startswith(OUTSIDE) for it in reasons):
            chosen = self._world.guesses.by_name(site, here) if UNKNOWN_RECEIVER in reasons else []
        return Resolution(tuple(chosen), receiver, "" if chosen else _first(reasons))

    def _callees(self, way: Way, here: Here, site: Site, trip: Trip) -> tuple[Values, Values]:
        """What it is called on, and what is called."""
        evaluator = self._world.evaluator
        if not way.steps:
            return (), self._bare(way.root, here, site, trip)
        if not way.steps[-1].startswith("."):
            return (), evaluator.way(way, here, trip)
        receivers = evaluator.way(Way(way.root, way.steps[:-1]), here, trip)
        name = way.steps[-1][1:].partition("<")[0]
        return receivers, tuple(v for it in receivers for v in self._world.members.member(it, name, trip))

    def _bare(self, root: str, here: Here, site: Site, trip: Trip) -> Values:
        found = self._world.evaluator.root(root, here, trip)
        if site.kind == "new" or (root == "this" and self._in_class_method(here)):
            return tuple(_as_class(it) for it in found)
        return found

    def _in_class_method(self, here: Here) -> bool:
        outline = self._world.catalogue.outline(here.key)
        return any("classmethod" in outline.symbols[it].modifiers for it in outline.around(here.symbol))

    # --- from what is called to definitions ---

    def _reaches(self, callees: Iterable[Value], site: Site, trip: Trip) -> Iterator[Reach]:
        for value in callees:
            if isinstance(value, Thing):
                yield from self._of_thing(value, site, trip)
            elif isinstance(value, Parent):
                bases = self._world.classes.bases(value.type, trip)
                yield from (it for base in bases[:1] for it in self._made(base, "super", trip))
            elif isinstance(value, Object) and site.kind != "raise":
                yield from self._of_object(value, trip)

    def _of_thing(self, thing: Thing, site: Site, trip: Trip) -> Iterator[Reach]:
        if thing.one_of > 1:
            how = f"one of {thing.one_of} by a key"
            plain = self._of_thing(thing._replace(one_of=1), site, trip)
            yield from (it._replace(how=how, confidence="possible") for it in plain)
            return
        symbol = self._world.catalogue.symbol(thing.place)
        if site.kind == "raise" and symbol.kind not in CLASSES | VALUES:
            return
        if symbol.kind in FUNCTIONS:
            yield Reach(thing.place, thing.how or self._seen(thing.place, site), thing.asked, thing.is_open)
            if symbol.attributes and not thing.is_bare and site.kind not in ("refer", "decorate"):
                yield from self._wrappers(thing.place, symbol, trip)
        elif symbol.kind in CLASSES and site.kind == "refer":
            # Classes are named for many reasons: to be caught, to be compared with, to inherit from.
            yield Reach(thing.place, "named, perhaps not called", confidence="possible")
        elif symbol.kind in CLASSES:
            yield from self._made(self._world.classes.type_of(thing.place), f"creates {symbol.name}", trip)
        elif symbol.kind in VALUES:
            for held in self._world.holdings.held(thing, trip):
                if isinstance(held, Thing):
                    reaches = self._of_thing(held, site, trip)
                    yield from (it._replace(how=f"{symbol.kind} {symbol.name}") for it in reaches)
                elif isinstance(held, Object) and site.kind != "raise":
                    yield from self._of_object(held, trip)

    def _wrappers(self, place: Place, symbol: Symbol, trip: Trip) -> Iterator[Reach]:
        """The functions of the index that the decorators of a function put in its place."""
        what = ("decorated", place)
        if not trip.enter(what):
            return
        for site in self._world.catalogue.sites_of_kind(place.record, "decorate"):
            if not symbol.start_line <= site.line <= symbol.end_line:
                continue
            if not any(key == "0" for key, _ in entries(site.passed)):
                continue
            made = self._world.evaluator.values(f"{site.callee}()", Here(site.record, site.symbol), trip)
            how = f"{symbol.name} is decorated by {site.name}"
            for it in made:
                if isinstance(it, Object):
                    yield from (reach._replace(how=how) for reach in self._of_object(it, trip))
                elif isinstance(it, Thing) and it.place != place and self._is_function(it.place):
                    yield Reach(it.place, how)
            break  # the outermost one decides
        trip.leave(what)

    def _is_function(self, place: Place) -> bool:
        return self._world.catalogue.symbol(place).kind in FUNCTIONS

    def _seen(self, place: Place, site: Site) -> str:
        if place.record == site.record:
            return "in the same file"
        return f"from {self._world.catalogue.outline(place.record).record.path}"

    def _of_object(self, object: Object, trip: Trip) -> Iterator[Reach]:
        for it in self._world.classes.member(object.type, _CALLED, trip) if object.type.places else ():
            if isinstance(it, Thing):
                yield Reach(it.place, object.how, object.type, is_open=not object.is_made)

    def _made(self, type: Type, how: str, trip: Trip) -> Iterator[Reach]:
        """The constructors that make an object of the type; the type itself where none is written."""
        for place in self._world.classes.constructors(type, trip) or type.places[:1]:
            yield Reach(place, how, type)

    def external_name(self, site: Site, resolution: Resolution) -> str:
        """The full name of what a call of something of a library calls, as far as it is written."""
        outline = self._world.catalogue.outline(site.record)
        way = ways(site.callee)[0]
        members = [step[1:].partition("<")[0] for step in way.steps if step.startswith(".")]
        imports = outline.imports_seen(way.root, site.symbol)
        if imports:
            return ".".join((_outside_of(way, imports[0]), *members))
        owner = resolution.why.removeprefix(OUTSIDE).strip()
        return owner if owner.endswith(f".{site.name}") else f"{owner}.{site.name}"

    def _type_name(self, value: Value, trip: Trip) -> str:
        if isinstance(value, Object):
            return value.type.name
        if isinstance(value, Parent):
            return value.type.name
        if isinstance(value, Result):
            return value.name
        if not isinstance(value, Thing):
            return outside_name(value)
        if self._world.catalogue.symbol(value.place).kind in CLASSES:
            return self._world.catalogue.symbol(value.place).name
        return next((it.type.name for it in self._world.holdings.objects(value, trip)), "")


UNKNOWN_RECEIVER = _NOT_KNOWN


def _key(site: Site) -> _Key:
    """What a resolution depends on."""
    return site.record, site.symbol, site.callee, site.arguments, site.kind


def _outside_of(way: Way, it: Import) -> str:
    """`import a.b as c` gives c; `import a.b` gives a."""
    if it.member:
        return f"{it.module}.{it.member}"
    return way.root if it.local == it.module and "." in it.module else it.module


def _as_class(value: Value) -> Value:
    """`new T()` writes the type as if it were an object of it."""
    return Thing(value.type.places[0]) if isinstance(value, Object) and value.type.places else value


def _reason(way: Way, receivers: Values, callees: Values) -> str:
    for value in (*callees, *receivers):
        name = value.name if isinstance(value, Result) else outside_name(value)
        if name:
            return f"{OUTSIDE} {name}"
        if isinstance(value, Object) and not value.type.places:
            return f"{OUTSIDE} {value.type.name}"
        if isinstance(value, Parent):
            return f"{OUTSIDE} what {value.type.name} inherits from"
    if way.root == UNKNOWN or way.root.startswith(PARAMETER) or (way.steps and not receivers):
        return _NOT_KNOWN
    return _NO_MEMBER if way.steps else "the name is not defined in the index"


def _first(reasons: list[str]) -> str:
    return next((it for it in reasons if it.startswith(OUTSIDE)), reasons[0] if reasons else _NOT_KNOWN)
