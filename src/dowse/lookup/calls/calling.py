"""What calling something gives: an object of a class, what a function returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls import library
from dowse.lookup.calls.kinds import FUNCTIONS, TYPES
from dowse.lookup.calls.members import ENTERING
from dowse.lookup.calls.values import Bundle, Object, Outside, Result, Space, Thing, Trip, Value, Values
from dowse.text.expressions import CALLED

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_CALLED = "__call__"
_CONTEXTS = frozenset({"contextmanager", "asynccontextmanager"})


class Calling:
    def __init__(self, world: World) -> None:
        self._world = world

    def called(self, value: Value, trip: Trip) -> Values:
        """What calling it gives."""
        if isinstance(value, Thing):
            return self._called_thing(value, trip)
        if isinstance(value, Object):
            return self._called_object(value, trip)
        if isinstance(value, Bundle):
            return self._world.elements.of_bundle(value, CALLED, trip)
        if isinstance(value, Result):
            return tuple(Object(it) for it in value.gives)
        return (value,) if isinstance(value, Outside | Space) else ()

    def _called_thing(self, thing: Thing, trip: Trip) -> Values:
        symbol = self._world.catalogue.symbol(thing.place)
        if symbol.kind == "delegate":
            return self._world.holdings.held(thing, trip)
        if symbol.kind in TYPES - {"typeAlias"}:
            return (Object(self._world.classes.type_of(thing.place), is_made=True, how=f"creates {symbol.name}"),)
        held = self._world.holdings.held(thing, trip)
        if symbol.kind not in FUNCTIONS:
            return tuple(v for it in held for v in self.called(it, trip))
        if not held and symbol.name in ENTERING and thing.asked:
            return (Object(thing.asked),)
        if _CONTEXTS.isdisjoint(it.rpartition(".")[2] for it in symbol.attributes):
            return held
        return tuple(v for it in held for v in self._world.elements.element(it, trip)) or held

    def _called_object(self, object: Object, trip: Trip) -> Values:
        type = object.type
        if not type.places:
            return tuple(Object(it) for it in library.called(type))
        if self._world.catalogue.symbol(type.places[0]).kind == "delegate":
            return self._world.holdings.held(Thing(type.places[0], bound=self._world.classes.bound(type)), trip)
        callers = self._world.classes.member(type, _CALLED, trip)
        # `cls()` makes an object of the class the method is asked of.
        return tuple(v for it in callers for v in self.called(it, trip)) or (object,)
