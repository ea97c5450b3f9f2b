"""What an expression stands for: its root, and then step by step what each member, call, element or await gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.lookup.calls import library
from dowse.lookup.calls.extensions import Extensions
from dowse.lookup.calls.kinds import FUNCTIONS, NAMES, TYPES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.scopes import outside_name
from dowse.lookup.calls.type_text import parse_type, type_arguments
from dowse.lookup.calls.values import (
    Here,
    Module,
    Object,
    Outside,
    Parent,
    Result,
    Space,
    Thing,
    Trip,
    Type,
    Value,
    Values,
)
from dowse.text.expressions import UNKNOWN, Way, ways

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_MOST_STEPS = 64
_MOST_VALUES = 8
_CALLED = "__call__"
_ELEMENT_GIVERS = ("__getitem__", "this[]", "__iter__", "__next__", "__aiter__", "__anext__", "GetEnumerator")
_STATIC = frozenset({"static", "private", "sealed", "staticmethod"})
_OF_EVERYTHING = frozenset({"ToString", "GetType", "Equals", "GetHashCode", "MemberwiseClone", "ReferenceEquals"})
_ENTERING = frozenset({"__enter__", "__aenter__"})  # gives itself unless it says otherwise
_CONTEXTS = frozenset({"contextmanager", "asynccontextmanager"})


class Evaluator:
    def __init__(self, world: World) -> None:
        self._world = world
        self._extensions = Extensions(world)
        self._held: Memo[Thing, Values] = Memo(50_000)

    def values(self, expression: str, here: Here, trip: Trip) -> Values:
        found = (value for way in ways(expression) for value in self.way(way, here, trip))
        return tuple(dict.fromkeys(found))[:_MOST_VALUES]

    def way(self, way: Way, here: Here, trip: Trip) -> Values:
        if len(way.steps) > _MOST_STEPS:
            return ()
        values = self.root(way.root, here, trip)
        for step in way.steps:
            plain, _, written = step.partition("<")
            found: Iterable[Value] = (after for value in values for after in self.step(value, plain, trip))
            if written:
                found = [self._given(it, f"<{written}", here, trip) for it in found]
            values = tuple(dict.fromkeys(found))[:_MOST_VALUES]
        return values

    def _given(self, value: Value, written: str, here: Here, trip: Trip) -> Value:
        """A function with its types written: `Create<User>` gives a User where it says that it gives a T."""
        types = [self._world.types.resolve(it, here, trip) for it in type_arguments(written)]
        if isinstance(value, Thing):
            names = self._world.types.parameters(value.place)
            bound = tuple((name, it) for name, it in zip(names, types, strict=False) if it is not None)
            return value._replace(bound=(*bound, *value.bound))
        if isinstance(value, Outside | Space) and len(types) == 1 and types[0] is not None:
            return Result((types[0],), outside_name(value))  # as containers do: `GetService<IStore>()`
        return value

    # --- where a way begins ---

    def root(self, root: str, here: Here, trip: Trip) -> Values:
        if root == UNKNOWN:
            return ()
        if root in ("this", "super"):
            return self._own(root, here)
        if root.startswith(":"):
            return self.typed(root[1:-1], here, trip)
        plain, _, written = root.partition("<")
        found = self._world.scopes.find(plain, here, trip)
        return tuple(self._given(it, f"<{written}", here, trip) for it in found) if written else found

    def _own(self, root: str, here: Here) -> Values:
        around = self._world.classes.around(here)
        if around is None:
            return ()
        mine = here.this or around
        return (Object(mine, how="in its own class"),) if root == "this" else (Parent(around, mine),)

    def typed(self, text: str, here: Here, trip: Trip) -> Values:
        """An object of a written type; of `type[Foo]` it is the class itself."""
        written = parse_type(text)
        if written.last in ("type", "Type") and written.arguments:
            named = self._world.types.resolve(written.arguments[0].name, here, trip)
            return tuple(Thing(it) for it in named.places[:1]) if named else ()
        found = self._world.types.resolve(text, here, trip)
        return (Object(found, how=f"of type {found.name}"),) if found else ()

    # --- steps ---

    def step(self, value: Value, step: str, trip: Trip) -> Values:
        if step.startswith("."):
            return self.member(value, step[1:], trip)
        if isinstance(value, Outside | Space):
            return (value,)
        if isinstance(value, Module):
            return () if value.file is not None else (value,)
        if step == "()":
            return self.called(value, trip)
        return self._element(value, trip) if step == "[]" else self._awaited(value, trip)

    def member(self, value: Value, name: str, trip: Trip) -> Values:
        if isinstance(value, Thing):
            return self._member_of_thing(value, name, trip)
        if isinstance(value, Object):
            return self.member_of_type(value, name, trip)
        if isinstance(value, Parent):
            line = self._world.classes.line(value.type, trip)[1:]
            found = self._world.classes.in_line(value.asked, line, name)
            of_super = tuple(it._replace(is_open=False, how="super") for it in found if isinstance(it, Thing))
            return of_super or self._inherited_unknown(value.type, trip)
        if isinstance(value, Module):
            return self._world.modules.member(value, name, trip)
        if isinstance(value, Space):
            return self._world.spaces.member(value, name)
        if isinstance(value, Result):
            return tuple(v for it in value.gives for v in self.member(Object(it), name, trip))
        return (value,)

    def _member_of_thing(self, thing: Thing, name: str, trip: Trip) -> Values:
        kind = self._world.catalogue.symbol(thing.place).kind
        if kind in TYPES - {"typeAlias"}:
            mine = self._world.classes.type_of(thing.place)
            found = self._world.classes.member(mine, name, trip)
            of_class = tuple(it._replace(is_open=False, how=f"on {mine.name}") for it in found if isinstance(it, Thing))
            return of_class or self._inherited_unknown(mine, trip)
        if kind in NAMES:
            return tuple(v for held in self.held(thing, trip) for v in self.member(held, name, trip))
        return ()

    def member_of_type(self, object: Object, name: str, trip: Trip) -> Values:
        type = object.type
        found = self._world.classes.member(type, name, trip) if type.places else ()
        if found:
            return tuple(self._asked_of(it, object) for it in found if isinstance(it, Thing))
        if name in _ENTERING:
            return (Result((type,), type.name),)
        extending = self._extensions.find(type, name, trip)
        if extending:
            return extending
        for entry in self._world.classes.line(type, trip):
            gives = () if entry.places else library.member(entry, name)
            if gives:
                return (Result(gives, entry.name),)
        return (Outside("object"),) if name in _OF_EVERYTHING else self._inherited_unknown(type, trip)

    def _asked_of(self, thing: Thing, object: Object) -> Thing:
        symbol = self._world.catalogue.symbol(thing.place)
        is_private = symbol.name.startswith("__") and not symbol.name.endswith("__")  # Python gives it another name
        is_open = not object.is_made and not is_private and _STATIC.isdisjoint(symbol.modifiers)
        return thing._replace(is_open=is_open, how=object.how)

    def _inherited_unknown(self, type: Type, trip: Trip) -> Values:
        """What is not in the index may come from something that is not."""
        unknown = self._world.classes.unknown_base(type, trip)
        return (Outside(unknown),) if unknown else ()

    # --- calling ---

    def called(self, value: Value, trip: Trip) -> Values:
        """What calling it gives."""
        if isinstance(value, Thing):
            return self._called_thing(value, trip)
        if isinstance(value, Object):
            return self._called_object(value, trip)
        if isinstance(value, Result):
            return tuple(Object(it) for it in value.gives)
        return (value,) if isinstance(value, Outside | Space) else ()

    def _called_thing(self, thing: Thing, trip: Trip) -> Values:
        symbol = self._world.catalogue.symbol(thing.place)
        if symbol.kind == "delegate":
            return self.held(thing, trip)
        if symbol.kind in TYPES - {"typeAlias"}:
            return (Object(self._world.classes.type_of(thing.place), is_made=True, how=f"creates {symbol.name}"),)
        held = self.held(thing, trip)
        if symbol.kind not in FUNCTIONS:
            return tuple(v for it in held for v in self.called(it, trip))
        if not held and symbol.name in _ENTERING and thing.asked:
            return (Object(thing.asked),)
        if _CONTEXTS.isdisjoint(it.rpartition(".")[2] for it in symbol.attributes):
            return held
        return tuple(v for it in held for v in self._element(it, trip)) or held

    def _called_object(self, object: Object, trip: Trip) -> Values:
        type = object.type
        if not type.places:
            return tuple(Object(it) for it in library.called(type))
        if self._world.catalogue.symbol(type.places[0]).kind == "delegate":
            return self.held(Thing(type.places[0], bound=self._world.classes.bound(type)), trip)
        callers = self._world.classes.member(type, _CALLED, trip)
        # `cls()` makes an object of the class the method is asked of.
        return tuple(v for it in callers for v in self.called(it, trip)) or (object,)

    # --- what lies behind a name ---

    def held(self, thing: Thing, trip: Trip) -> Values:
        """The value of a field, a property, a variable; of a function what it returns."""
        known = self._held.get(thing)
        if known is not None:
            return known
        if not trip.enter(thing):
            return ()
        before, trip.was_cut = trip.was_cut, False
        found = self._evaluated(thing, trip)
        trip.leave(thing)
        if not trip.was_cut:
            self._held.keep(thing, found)
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
        found = [it for value in self.values(symbol.holds, here, trip) for it in self._behind(value, trip)]
        return tuple(
            it._replace(how=f"{symbol.kind} {symbol.name}{mark}: {it.type.name}") if isinstance(it, Object) else it
            for it in found
        )

    def _behind(self, value: Value, trip: Trip) -> Values:
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

    # --- elements and awaiting ---

    def _element(self, value: Value, trip: Trip) -> Values:
        found: list[Value] = []
        for object in self.objects(value, trip):
            for entry in self._world.classes.line(object.type, trip):
                if not entry.places:
                    found += [Object(it, how=f"an element: {it.name}") for it in library.element(entry)]
                else:
                    found += self._given_by(entry, trip)
                if found:
                    break
        return tuple(found) or ((value,) if isinstance(value, Outside) else ())

    def _given_by(self, type: Type, trip: Trip) -> Values:
        for name in _ELEMENT_GIVERS:
            own = [it for it in self._world.classes.member(type, name, trip) if isinstance(it, Thing)]
            if own and name in ("__iter__", "__aiter__", "GetEnumerator"):
                return tuple(v for it in own for held in self.held(it, trip) for v in self._unwrapped(held, type, trip))
            if own:
                return tuple(v for it in own for v in self.held(it, trip))
        return ()

    def _unwrapped(self, held: Value, type: Type, trip: Trip) -> Values:
        """An iterator gives its elements; an object that is its own iterator would lead round in a circle."""
        is_itself = isinstance(held, Object) and held.type.places == type.places
        return self.member(held, "__next__", trip) if is_itself else self._element(held, trip)

    def _awaited(self, value: Value, trip: Trip) -> Values:
        objects = self.objects(value, trip)
        return tuple(Object(it, o.is_made, o.how) for o in objects for it in library.awaited(o.type)) or (
            (value,) if isinstance(value, Outside) else ()
        )
