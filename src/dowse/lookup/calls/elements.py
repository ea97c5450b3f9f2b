"""What is inside of something: the elements of a collection, what an awaited thing gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dowse.lookup.calls import library
from dowse.lookup.calls.type_text import TUPLE
from dowse.lookup.calls.values import Bundle, Object, Outside, Thing, Trip, Type, Value, Values
from dowse.text.expressions import ANY_KEY, BY_KEY, CALLED, entries

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_GIVERS = ("__getitem__", "this[]", "__iter__", "__next__", "__aiter__", "__anext__", "GetEnumerator")
_GIVERS_OF_ITERATORS = frozenset({"__iter__", "__aiter__", "GetEnumerator"})

_ENTERED = frozenset({"__enter__", "__iter__", "__aiter__"})
_ONE_OF_THEM = frozenset({"get", "pop", "setdefault", "__getitem__", "__next__", "popleft"})


class Elements:
    def __init__(self, world: World) -> None:
        self._world = world

    def element(self, value: Value, trip: Trip, key: str = "") -> Values:
        """Each of its elements, or, with a key, the one that has it."""
        behind = self._world.holdings.behind(value, trip) if isinstance(value, Thing) else (value,)
        found = [v for it in behind if isinstance(it, Bundle) for v in self.of_bundle(it, key, trip)]
        if found:
            return tuple(dict.fromkeys(found))
        for object in self._world.holdings.objects(value, trip):
            for entry in self._world.classes.line(object.type, trip):
                if not entry.places:
                    types = _at(library.element(entry), entry, key)
                    found += [Object(it, how=f"an element: {it.name}") for it in types]
                else:
                    found += self._given_by(entry, trip)
                if found:
                    break
        return tuple(found) or ((value,) if isinstance(value, Outside) else ())

    def of_bundle(self, bundle: Bundle, key: str, trip: Trip) -> Values:
        """What is written there: by a key, by any that is not known (`?`), from a number on (`N:`), or each in turn."""
        if key.endswith(":"):
            return (_from(bundle, int(key[:-1] or 0)),)
        what = (bundle, key)
        if not trip.enter(what):
            return ()
        ways = list(_chosen(entries(bundle.text), key))
        found = tuple(dict.fromkeys(v for way in ways for v in self._world.evaluator.values(way, bundle.here, trip)))
        trip.leave(what)
        if key != "?" or len(found) < 2:
            return found
        return tuple(it._replace(one_of=len(found)) if isinstance(it, Thing) else it for it in found)

    def member_of_bundle(self, bundle: Bundle, name: str) -> Values:
        """Methods of lists and dicts that give what is inside; a method is told as a lambda is."""
        pairs = [(key, way) for key, way in entries(bundle.text) if key != CALLED]
        if name == "copy" or name in _ENTERED:
            given = [bundle.text]
        elif name in ("values", "items"):
            ways = [way if name == "values" else "{1=" + way + "}" for _, way in pairs]
            given = ["{" + "&".join(f"*={way}" for way in ways) + "}"]
        elif name in _ONE_OF_THEM:
            given = [way for _, way in pairs]
        else:
            return (Outside("list"),)
        return (Bundle("{" + "&".join(f"{CALLED}={way}" for way in given) + "}", bundle.here),)

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


def _chosen(pairs: tuple[tuple[str, str], ...], key: str) -> Iterator[str]:
    for its, way in pairs:
        bare = its.removeprefix(BY_KEY)
        if key == CALLED or its == CALLED:
            is_meant = its == key
        elif key == "?":
            is_meant = True
        elif not key:
            is_meant = not its.startswith(BY_KEY)  # going through a dict gives its keys
        else:
            is_meant = bare in (key, ANY_KEY)
        if is_meant:
            yield way


def _from(bundle: Bundle, first: int) -> Bundle:
    """What is left of a list without those before a number."""
    pairs = [(str(int(key) - first) if key.isdigit() else key, way) for key, way in entries(bundle.text)]
    return bundle._replace(text="{" + "&".join(f"{key}={way}" for key, way in pairs if not key.startswith("-")) + "}")


def _at(types: tuple[Type, ...], type: Type, key: str) -> tuple[Type, ...]:
    """Of a tuple the one with this number."""
    if type.name not in (TUPLE, library.PAIR) or not key.isdigit() or len(types) <= int(key):
        return types
    return types[int(key) : int(key) + 1]
