"""What a member of something stands for: of a class, an object, a module, a namespace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls import library
from dowse.lookup.calls.extensions import Extensions
from dowse.lookup.calls.kinds import FUNCTIONS, NAMES, TYPES
from dowse.lookup.calls.type_text import parse_type
from dowse.lookup.calls.values import (
    Bundle,
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
from dowse.store.call_facts import Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

ENTERING = frozenset({"__enter__", "__aenter__"})  # gives itself unless it says otherwise

_STATIC = frozenset({"static", "private", "sealed", "staticmethod"})
_INVOKING = frozenset({"Invoke", "BeginInvoke", "DynamicInvoke"})  # what a delegate of .NET is called by
_POINTERS = frozenset({"Box", "Rc", "Arc"})
_OF_EVERYTHING = frozenset({"ToString", "GetType", "Equals", "GetHashCode", "MemberwiseClone", "ReferenceEquals"})


class Members:
    def __init__(self, world: World) -> None:
        self._world = world
        self._extensions = Extensions(world)

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
        if isinstance(value, Bundle):
            return self._world.elements.member_of_bundle(value, name)
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
        if kind == "namespace" or (kind == "enumMember" and name.isdigit()):
            return self._inside(thing, kind, name, trip)
        if name in _INVOKING and kind in FUNCTIONS:
            return (thing,)
        if kind in NAMES:
            held = self._world.holdings.held(thing, trip)
            return tuple(v for it in held for v in self.member(it, name, trip)) or self._written_in(thing, name)
        return ()

    def _inside(self, thing: Thing, kind: str, name: str, trip: Trip) -> Values:
        """A definition in a namespace; what a variant of an enum holds, by its number."""
        outline = self._world.catalogue.outline(thing.place.record)
        if kind == "namespace":
            return tuple(Thing(Place(outline.key, it)) for it in outline.children(thing.place.ordinal, name))
        held = parse_type(outline.symbols[thing.place.ordinal].signature.partition("(")[2].join(("(", "")))
        here = Here(outline.key, outline.symbols[thing.place.ordinal].parent)
        bare = [it.arguments[0] if it.last in _POINTERS and it.arguments else it for it in held.arguments]
        types = [self._world.types.of(it, here, trip) for it in bare]
        found = types[int(name)] if int(name) < len(types) else None
        return (Object(found, how=f"of type {found.name}"),) if found else ()

    def _written_in(self, thing: Thing, name: str) -> Values:
        """A function of an object that a variable is given as it is written: `const api = { save() {} }`."""
        outline = self._world.catalogue.outline(thing.place.record)
        variable = outline.symbols[thing.place.ordinal]
        if outline.habits.family != "script" or variable.kind != "variable":
            return ()
        inside = (
            it
            for it in outline.children(variable.parent, name)
            if variable.start_line
            <= outline.symbols[it].start_line
            <= outline.symbols[it].end_line
            <= variable.end_line
        )
        return tuple(
            Thing(Place(outline.key, it), how=f"in {variable.name}") for it in inside if it != thing.place.ordinal
        )

    def member_of_type(self, object: Object, name: str, trip: Trip) -> Values:
        type = object.type
        found = self._world.classes.member(type, name, trip) if type.places else ()
        if found:
            return tuple(self._asked_of(it, object) for it in found if isinstance(it, Thing))
        if name in ENTERING:
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
        is_made = object.is_made and thing.asked == object.type
        is_open = not is_made and not is_private and _STATIC.isdisjoint(symbol.modifiers)
        return thing._replace(is_open=is_open, how=object.how)

    def _inherited_unknown(self, type: Type, trip: Trip) -> Values:
        """What is not in the index may come from something that is not."""
        unknown = self._world.classes.unknown_base(type, trip)
        return (Outside(unknown),) if unknown else ()
