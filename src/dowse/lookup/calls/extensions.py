"""Extension methods: written outside of the type they are called on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls.type_text import ARRAY, TypeText, parse_type
from dowse.lookup.calls.values import Bound, Thing, Trip, Type, Values
from dowse.store.call_facts import Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_ANYTHING = frozenset({"object", "Object", "dynamic", "Any", "System.Object"})
_SEQUENCES = frozenset({"IEnumerable", "IQueryable", "IReadOnlyCollection", "IReadOnlyList", "ICollection", "IList"})
_SEQUENCE_TYPES = _SEQUENCES | {
    ARRAY, "List", "HashSet", "Queue", "Stack", "IOrderedEnumerable", "Collection", "ObservableCollection", "DbSet",
    "IGrouping", "ISet", "ImmutableArray", "ImmutableList", "ReadOnlyCollection", "LinkedList", "SortedSet",
    "IOrderedQueryable",
}  # fmt: skip


class Extensions:
    def __init__(self, world: World) -> None:
        self._world = world

    def find(self, type: Type, name: str, trip: Trip) -> Values:
        """Those of this name whose first parameter takes such an object."""
        family = self._family(type)
        rows = self._world.catalogue.extensions_named(name, family) if family else ()
        found = (self._fitted(it.place, type, trip) for it in rows)
        return tuple(it for it in found if it is not None)

    def _family(self, type: Type) -> str:
        # Only C# marks methods so; Kotlin and Swift do under the same modifier once their extractors say it.
        places = type.places
        return self._world.catalogue.outline(places[0].record).habits.family if places else "dotnet"

    def _fitted(self, place: Place, type: Type, trip: Trip) -> Thing | None:
        symbol = self._world.catalogue.symbol(place)
        if not symbol.parameters:
            return None
        wanted = parse_type(symbol.parameters[0].removeprefix("this"))
        parameters = self._world.types.parameters(place)
        if wanted.name in parameters:
            return self._constrained(place, wanted, parameters[wanted.name], type, trip)
        if wanted.name in _ANYTHING:
            return Thing(place, None, (), is_open=False, how="extension method")
        entry = next((it for it in self._world.classes.line(type, trip) if _takes(wanted, it, set(parameters))), None)
        return Thing(place, None, _bound(wanted, entry, set(parameters)), how="extension method") if entry else None

    def _constrained(self, place: Place, wanted: TypeText, constraint: str, type: Type, trip: Trip) -> Thing | None:
        limit = parse_type(constraint).last
        if limit and all(it.name != limit for it in self._world.classes.line(type, trip)):
            return None
        return Thing(place, None, ((wanted.name, type),), how="extension method")


def _takes(wanted: TypeText, type: Type, parameters: set[str]) -> bool:
    is_sequence = wanted.last in _SEQUENCES and type.name in _SEQUENCE_TYPES
    if wanted.last != type.name and not is_sequence:
        return False
    pairs = zip(wanted.arguments, type.arguments, strict=False)
    return all(asked.name in parameters or asked.last == given.name for asked, given in pairs)


def _bound(wanted: TypeText, type: Type, parameters: set[str]) -> Bound:
    pairs = zip(wanted.arguments, type.arguments, strict=False)
    return tuple((asked.name, given) for asked, given in pairs if asked.name in parameters)
