"""What an expression stands for: its root, and then step by step what each member, call, element or await gives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.lookup.calls.scopes import outside_name
from dowse.lookup.calls.type_text import parse_type, type_arguments
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
    Value,
    Values,
)
from dowse.text.expressions import PARAMETER, UNKNOWN, Way, ways

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_MOST_STEPS = 64
_MOST_VALUES = 8


class Evaluator:
    def __init__(self, world: World) -> None:
        self._world = world

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
        if root.startswith(PARAMETER):
            return self._world.passing.values(root, here, trip)
        if root.startswith("{"):
            return (Bundle(root, here),)
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
            return self._world.members.member(value, step[1:], trip)
        if isinstance(value, Outside | Space):
            return (value,)
        if isinstance(value, Module):
            return () if value.file is not None else (value,)
        if step == "()":
            return self._world.calling.called(value, trip)
        if step == "!":
            return self._world.elements.awaited(value, trip)
        return self._world.elements.element(value, trip, step[1:-1])
