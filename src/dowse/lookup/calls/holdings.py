"""What lies behind a name: the value of a field or a variable, what a function returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.lookup.calls.kinds import FUNCTIONS, NAMES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.values import Here, Object, Result, Thing, Trip, Type, Value, Values

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_ASSIGNED = frozenset({"field", "property", "event"})


class Holdings:
    def __init__(self, world: World) -> None:
        self._world = world
        self._held: Memo[tuple[Thing, bool], Values] = Memo(50_000)

    def held(self, thing: Thing, trip: Trip) -> Values:
        """The value of a field, a property, a variable; of a function what it returns."""
        for follows in (True, trip.follows):
            known = self._held.get((thing, follows))
            if known is not None:
                trip.skipped |= not follows
                return known
        if not trip.enter(thing):
            return ()
        before, trip.was_cut = trip.was_cut, False
        skipped, trip.skipped = trip.skipped, False
        found = self._evaluated(thing, trip)
        trip.leave(thing)
        if not trip.was_cut:
            self._held.keep((thing, not trip.skipped), found)
        trip.skipped |= skipped
        trip.was_cut |= before
        return found

    def _evaluated(self, thing: Thing, trip: Trip) -> Values:
        place = thing.place
        symbol = self._world.catalogue.symbol(place)
        if symbol.kind == "enumMember":
            owner = self._world.classes.owner(place)
            return (Object(owner, is_made=True, how=f"of type {owner.name}"),) if owner else ()
        if not symbol.holds:
            return ()
        here = Here(place.record, place.ordinal, thing.bound, thing.asked)
        mark = "()" if symbol.kind in FUNCTIONS else ""
        values = self._world.evaluator.values(symbol.holds, here, trip)
        found = [it for value in values for it in self.behind(value, trip)]
        if symbol.kind in _ASSIGNED and self._world.catalogue.outline(place.record).habits.delegates:
            found += [
                it for type in self._function_types(found) for it in self._world.passing.assigned(place, type, trip)
            ]
        return tuple(
            it._replace(how=f"{symbol.kind} {symbol.name}{mark}: {it.type.name}") if isinstance(it, Object) else it
            for it in found
        )

    def _function_types(self, values: Iterable[Value]) -> list[Type]:
        return [it.type for it in values if isinstance(it, Object) and self._world.passing.is_of_functions(it.type)][:1]

    def behind(self, value: Value, trip: Trip) -> Values:
        """A name that stands for another name is followed, so that what is held is never just a name again."""
        if isinstance(value, Thing) and self._world.catalogue.symbol(value.place).kind in NAMES:
            return self.held(value, trip)
        return (value,)

    def objects(self, value: Value, trip: Trip) -> list[Object]:
        """The value as objects: a name stands for what it holds."""
        if isinstance(value, Object):
            return [value]
        if isinstance(value, Result):
            return [Object(it) for it in value.gives]
        if isinstance(value, Thing) and self._world.catalogue.symbol(value.place).kind in NAMES:
            return [it for it in self.held(value, trip) if isinstance(it, Object)]
        return []
