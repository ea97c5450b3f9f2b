"""From types as they are written to the classes of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls.generics import type_parameters
from dowse.lookup.calls.kinds import NAMES, TYPES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.type_text import TypeText, parse_type
from dowse.lookup.calls.values import Here, Object, Thing, Trip, Type, Value, Values
from dowse.store.call_facts import Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_SELF = frozenset({"Self", "self", "this"})
_UNKNOWN = frozenset({"", "?", "Any", "any", "dynamic", "unknown", "None", "void", "null", "var"})


class Types:
    def __init__(self, world: World) -> None:
        self._world = world
        self._parameters: Memo[Place, dict[str, str]] = Memo(50_000)

    def resolve(self, text: str, here: Here, trip: Trip) -> Type | None:
        """The type as it is written here; None where it says nothing."""
        return self.of(parse_type(text), here, trip)

    def of(self, text: TypeText, here: Here, trip: Trip) -> Type | None:
        if text.name in _UNKNOWN:
            return None
        if text.name in _SELF:
            return here.this or self._world.classes.around(here)
        is_parameter, bound = self._parameter(text.name, here, trip)
        if is_parameter:
            return bound
        if text.last in ("Type", "type") and text.arguments:
            return None  # a class passed as a value: what is called on it is not an object's
        arguments = tuple(self.of(it, here, trip) or Type(it.name) for it in text.arguments)
        return self._named(text, here, trip)._replace(arguments=arguments)

    def _parameter(self, name: str, here: Here, trip: Trip) -> tuple[bool, Type | None]:
        """Whether it is a type parameter, and what it stands for."""
        for bound_name, bound in here.bound:
            if bound_name == name:
                return True, bound
        outline = self._world.catalogue.outline(here.key)
        for ordinal in outline.around(here.symbol):
            constraint = self.parameters(Place(here.key, ordinal)).get(name)
            if constraint is not None:
                beyond = Here(here.key, outline.symbols[ordinal].parent)
                return True, self.resolve(constraint, beyond, trip) if constraint else None
        return False, None

    def parameters(self, place: Place) -> dict[str, str]:
        known = self._parameters.get(place)
        if known is None:
            outline = self._world.catalogue.outline(place.record)
            known = self._parameters.keep(place, type_parameters(outline, place.ordinal))
        return known

    def _named(self, text: TypeText, here: Here, trip: Trip) -> Type:
        first, *rest = text.name.split(".")
        values = self._world.scopes.find(first, here, trip, is_type=True)
        for name in rest:
            values = tuple(v for value in values for v in self._world.members.member(value, name, trip))
        found = next((it for value in values for it in self._types(value, trip)), None)
        return found or Type(text.last)

    def _is_class(self, thing: Thing) -> bool:
        return self._world.catalogue.symbol(thing.place).kind in TYPES - {"typeAlias"}

    def _types(self, value: Value, trip: Trip) -> list[Type]:
        """The types a value names: a class, or another name for one."""
        if not isinstance(value, Thing):
            return []
        kind = self._world.catalogue.symbol(value.place).kind
        if self._is_class(value):
            return [self._world.classes.type_of(value.place)]
        if kind not in NAMES:
            return []
        held: Values = self._world.holdings.held(value, trip)
        named = [self._world.classes.type_of(it.place) for it in held if isinstance(it, Thing) and self._is_class(it)]
        # An alias may be written as the type itself: `using Users = List<User>`, `Users: TypeAlias = list[User]`.
        return named or [it.type for it in held if isinstance(it, Object) and kind == "typeAlias"]
