"""What a bare name stands for where it is written: from the innermost scope outwards, then imports, then beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls.kinds import CLASSES, TYPES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.values import Here, Module, Outside, Space, Thing, Trip, Values
from dowse.store.call_facts import Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World


class Scopes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[str, int, int | None, bool], Values] = Memo(50_000)

    def find(self, name: str, here: Here, trip: Trip, *, is_type: bool = False) -> Values:
        """Everything the name may be; nothing where it can not be told. `is_type`: only a type can stand there."""
        key = (name, here.key, here.symbol, is_type)
        known = self._known.get(key)
        if known is not None:
            return known
        before, trip.was_cut = trip.was_cut, False
        found = self._inside(name, here, trip, is_type) or self._beyond(name, here, trip)
        if not trip.was_cut:
            self._known.keep(key, found)
        trip.was_cut |= before
        return found

    def _inside(self, name: str, here: Here, trip: Trip, is_type: bool) -> Values:
        """In the definitions around, or at the top of the file."""
        outline = self._world.catalogue.outline(here.key)
        for ordinal in outline.around(here.symbol):
            kind = outline.symbols[ordinal].kind
            if kind in CLASSES:
                found = self._in_class(name, outline, ordinal, here, trip)
            else:
                found = _things(outline, outline.children(ordinal, name))
            found = self._fitting(found, outline, is_type)
            if found:
                return found
        return self._fitting(self._at_top(name, outline, here, trip), outline, is_type)

    def _in_class(self, name: str, outline: Outline, ordinal: int, here: Here, trip: Trip) -> Values:
        if not outline.habits.bare_members and ordinal != here.symbol:
            return ()
        classes = self._world.classes
        mine = classes.type_of(Place(outline.key, ordinal))
        found = classes.member(mine, name, trip)
        return tuple(it._replace(how="in its own class") if isinstance(it, Thing) else it for it in found)

    def _at_top(self, name: str, outline: Outline, here: Here, trip: Trip) -> Values:
        imports = outline.imports_seen(name, here.symbol)
        mine = outline.children(None, name)
        if any(it.within is not None for it in imports):
            mine = []  # an import inside the function hides what the file defines
        # A definition hides an import of the file; a variable may be what it gave, changed or replaced.
        if any(outline.symbols[it].kind != "variable" for it in mine):
            return _things(outline, mine)
        if outline.habits.modules == "namespace":
            given = [v for it in imports for v in self._world.spaces.imported(it, outline, trip)]
        else:
            given = [v for it in imports for v in self._world.modules.imported(it, name, outline.key, trip)]
        return (*_things(outline, mine), *given)

    def _beyond(self, name: str, here: Here, trip: Trip) -> Values:
        outline = self._world.catalogue.outline(here.key)
        if outline.habits.modules != "namespace":
            return self._world.modules.everything(outline, name, trip) or _of_the_language(name, outline)
        spaces = self._world.spaces
        around = outline.namespaces(here.symbol)
        found = spaces.defined(name, around, outline) or spaces.everything(outline, name, trip)
        if not found and outline.habits.reach != "file":
            found = spaces.around(outline, name)
        found = found or spaces.only(outline, name)
        return found or (Space(tuple(f"{it}.{name}" if it else name for it in around), here.key),)

    def _fitting(self, found: Values, outline: Outline, is_type: bool) -> Values:
        """A constructor is no name of its own, nor is a method that stands beside its type.

        Where only a type can stand, other members do not count.
        """
        return tuple(it for it in found if not isinstance(it, Thing) or self._fits(it, outline, is_type))

    def _fits(self, it: Thing, outline: Outline, is_type: bool) -> bool:
        kind = self._world.catalogue.symbol(it.place).kind
        if kind == "method" and outline.habits.split_methods:
            return False
        if is_type and outline.habits.bare_members:
            return kind in TYPES
        return kind != "constructor" and (kind != "namespace" or outline.habits.modules == "path")


def _things(outline: Outline, ordinals: list[int]) -> Values:
    return tuple(Thing(Place(outline.key, it)) for it in ordinals)


def _of_the_language(name: str, outline: Outline) -> Values:
    import builtins

    is_builtin = outline.habits.modules == "python" and hasattr(builtins, name)
    return (Outside("builtins"),) if is_builtin else ()


def outside_name(value: object) -> str:
    """What a value is called that lies outside of the index, or nothing."""
    if isinstance(value, Outside):
        return value.name
    if isinstance(value, Module) and value.file is None:
        return value.name
    return value.names[-1] if isinstance(value, Space) else ""
