"""What is inside of something: the elements of a collection, what an awaited thing gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls import library
from dowse.lookup.calls.type_text import TUPLE
from dowse.lookup.calls.values import Object, Outside, Thing, Trip, Type, Value, Values

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_GIVERS = ("__getitem__", "this[]", "__iter__", "__next__", "__aiter__", "__anext__", "GetEnumerator")
_GIVERS_OF_ITERATORS = frozenset({"__iter__", "__aiter__", "GetEnumerator"})


class Elements:
    def __init__(self, world: World) -> None:
        self._world = world

    def element(self, value: Value, trip: Trip, key: str = "") -> Values:
        """Each of its elements, or, with a key, the one that has it."""
        found: list[Value] = []
        for object in self._world.holdings.objects(value, trip):
            for entry in self._world.classes.line(object.type, trip):
                if not entry.places:
                    found += [
                        Object(it, how=f"an element: {it.name}") for it in _at(library.element(entry), entry, key)
                    ]
                else:
                    found += self._given_by(entry, trip)
                if found:
                    break
        return tuple(found) or ((value,) if isinstance(value, Outside) else ())

    def _given_by(self, type: Type, trip: Trip) -> Values:
        for name in _GIVERS:
            own = [it for it in self._world.classes.member(type, name, trip) if isinstance(it, Thing)]
            held = (v for it in own for v in self._world.holdings.held(it, trip))
            if own and name in _GIVERS_OF_ITERATORS:
                return tuple(v for it in held for v in self._unwrapped(it, type, trip))
            if own:
                return tuple(held)
        return ()

    def _unwrapped(self, held: Value, type: Type, trip: Trip) -> Values:
        """An iterator gives its elements; an object that is its own iterator would lead round in a circle."""
        is_itself = isinstance(held, Object) and held.type.places == type.places
        return self._world.members.member(held, "__next__", trip) if is_itself else self.element(held, trip)

    def awaited(self, value: Value, trip: Trip) -> Values:
        objects = self._world.holdings.objects(value, trip)
        return tuple(Object(it, o.is_made, o.how) for o in objects for it in library.awaited(o.type)) or (
            (value,) if isinstance(value, Outside) else ()
        )


def _at(types: tuple[Type, ...], type: Type, key: str) -> tuple[Type, ...]:
    """Of a tuple the one with this number."""
    if type.name not in (TUPLE, library.PAIR) or not key.isdigit() or len(types) <= int(key):
        return types
    return types[int(key) : int(key) + 1]
