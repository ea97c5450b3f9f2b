"""Classes of the index: what they inherit from, in order, and their members."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dowse.lookup.calls.kinds import TYPES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.spaces import nearest
from dowse.lookup.calls.type_text import parse_type
from dowse.lookup.calls.values import Bound, Here, Thing, Trip, Type, Values
from dowse.model import Symbol
from dowse.store.call_facts import Named, Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_MOST_ANCESTORS = 200


class Classes:
    def __init__(self, world: World) -> None:
        self._world = world
        self._whole: Memo[Place, Type] = Memo(50_000)
        self._lines: Memo[Type, tuple[Type, ...]] = Memo(20_000)
        self._members: Memo[tuple[Type, str], Values] = Memo(100_000)

    # --- a class as a type ---

    def type_of(self, place: Place) -> Type:
        """The type defined here, with all its parts."""
        known = self._whole.get(place)
        if known is None:
            symbol = self._world.catalogue.symbol(place)
            is_open = self._world.catalogue.outline(place.record).habits.open_types or _is_partial(symbol)
            parts = self._parts(place) if is_open else (place,)
            known = self._whole.keep(place, Type(symbol.name, parts))
        return known

    def _parts(self, place: Place) -> tuple[Place, ...]:
        catalogue = self._world.catalogue
        outline = catalogue.outline(place.record)
        symbol, trail = outline.symbols[place.ordinal], outline.trail(place.ordinal)
        full = ".".join(trail)
        rows = [
            it
            for it in catalogue.types_named(symbol.name, outline.habits.family)
            if it.collection == outline.record.collection and ".".join(it.trail) == full
        ]
        if outline.habits.defined_once:
            rows = self._of_one_type(rows, place)
        wanted = [it.place for it in rows if outline.habits.open_types or _is_partial(catalogue.symbol(it.place))]
        return tuple(sorted({*wanted, place}))

    def _of_one_type(self, rows: list[Named], place: Place) -> list[Named]:
        """Where several files define a type of this name, only those parts that add to the same of them."""
        catalogue = self._world.catalogue
        whole = [it for it in rows if "impl" not in catalogue.symbol(it.place).modifiers]
        if len(whole) < 2:
            return rows
        meant = {it.place: self._meant(it, whole) for it in rows}
        return [it for it in rows if meant[it.place] == meant.get(place)]

    def _meant(self, part: Named, whole: list[Named]) -> Place:
        """The type that a part adds to: that of its file, that which its file imports, else the nearest."""
        if any(it.place == part.place for it in whole):
            return part.place
        outline = self._world.catalogue.outline(part.place.record)
        imports = outline.imports_seen(part.name, None)
        imported = [v for it in imports for v in self._world.spaces.imported(it, outline, Trip())]
        places = [it.place for it in imported if isinstance(it, Thing)]
        found = next((it.place for it in whole if it.place in places), None)
        return found or nearest(whole, outline)[0].place

    def around(self, here: Here) -> Type | None:
        """The class it stands in."""
        ordinal = self._world.catalogue.outline(here.key).class_around(here.symbol)
        return None if ordinal is None else self.type_of(Place(here.key, ordinal))

    # --- what it inherits ---

    def line(self, type: Type, trip: Trip | None = None) -> tuple[Type, ...]:
        """The type and all it inherits from, in the order in which members are looked for."""
        known = self._lines.get(type)
        if known is not None:
            return known
        trip = trip or Trip(0)
        what = ("line", type)
        if not trip.enter(what):
            return (type,)
        before, trip.was_cut = trip.was_cut, False
        bases = self.bases(type, trip)
        found = (type, *_merged([*(self.line(it, trip) for it in bases), tuple(bases)], type))
        trip.leave(what)
        if not trip.was_cut:
            self._lines.keep(type, found)
        trip.was_cut |= before
        return found

    def bases(self, type: Type, trip: Trip) -> list[Type]:
        found: list[Type] = []
        bound = self.bound(type)
        for place in type.places:
            outline = self._world.catalogue.outline(place.record)
            symbol = outline.symbols[place.ordinal]
            here = Here(place.record, symbol.parent, bound)
            resolved = (self._world.types.resolve(text, here, trip) for text in symbol.bases)
            found += [it for it in resolved if it is not None and it not in found]
        return found

    def bound(self, type: Type) -> Bound:
        """What the parameters of a generic type stand for, where it says so."""
        if not type.arguments or not type.places:
            return ()
        return tuple(zip(self._world.types.parameters(type.places[0]), type.arguments, strict=False))

    def inherits(self, type: Type, base: Type) -> bool:
        return any(it.places == base.places for it in self.line(type)) if base.places else False

    # --- members ---

    def member(self, type: Type, name: str, trip: Trip | None = None) -> Values:
        """The definitions of this name in the first of its line that has any."""
        key = (type, name)
        known = self._members.get(key)
        if known is not None:
            return known
        trip = trip or Trip(0)
        before, trip.was_cut = trip.was_cut, False
        found = self.in_line(type, self.line(type, trip), name)
        if not trip.was_cut:
            self._members.keep(key, found)
        trip.was_cut |= before
        return found

    def in_line(self, asked: Type, line: Sequence[Type], name: str) -> Values:
        for entry in line:
            places = self.own(entry, name)
            if places:
                bound = self.bound(entry)
                through = entry if self._is_taken_in(entry, asked) else asked
                return tuple(Thing(it, through, bound, is_open=True) for it in places)
        return ()

    def _is_taken_in(self, entry: Type, asked: Type) -> bool:
        """Whether a type has the methods of an interface because it holds something of it, as structs of Go do."""
        if not entry.places or not asked.places or entry.places == asked.places:
            return False
        symbol = self._world.catalogue.symbol
        if self._world.catalogue.outline(entry.places[0].record).habits.virtual:
            return False
        return symbol(entry.places[0]).kind == "interface" != symbol(asked.places[0]).kind

    def own(self, type: Type, name: str) -> list[Place]:
        """The members of this name that the type itself defines."""
        outline = self._world.catalogue.outline
        found = [
            Place(it.record, child) for it in type.places for child in outline(it.record).children(it.ordinal, name)
        ]
        if not found and type.places and outline(type.places[0].record).habits.split_methods:
            return self._split_off(type, name)
        return found

    def _split_off(self, type: Type, name: str) -> list[Place]:
        """Its methods that stand in other files, or above the type."""
        outline = self._world.catalogue.outline(type.places[0].record)
        rows = self._world.catalogue.extensions_named(name, outline.habits.family)
        return [it.place for it in rows if self._is_beside(outline, it.path) and self._receiver(it.place) == type.name]

    def _is_beside(self, outline: Outline, path: str) -> bool:
        return posixpath.dirname(path) == posixpath.dirname(outline.record.path)

    def _receiver(self, place: Place) -> str:
        """The name of the type that a method outside of it is written for."""
        symbol = self._world.catalogue.symbol(place)
        is_split_off = "extension" in symbol.modifiers and symbol.parameters
        return parse_type(symbol.parameters[0]).last if is_split_off else ""

    def constructors(self, type: Type, trip: Trip | None = None) -> list[Place]:
        """Its own, else those of the first it inherits from that has any."""
        outline = self._world.catalogue.outline
        for entry in self.line(type, trip):
            found = [
                Place(it.record, child) for it in entry.places for child in outline(it.record).constructors(it.ordinal)
            ]
            if found:
                return found
        return []

    def owner(self, place: Place) -> Type | None:
        """The class that a definition is a member of."""
        outline = self._world.catalogue.outline(place.record)
        parent = outline.symbols[place.ordinal].parent
        if parent is None and outline.habits.split_methods:
            return self._owner_beside(place, outline)
        is_member = parent is not None and outline.symbols[parent].kind in TYPES
        return self.type_of(Place(place.record, parent)) if is_member and parent is not None else None

    def _owner_beside(self, place: Place, outline: Outline) -> Type | None:
        receiver = self._receiver(place)
        rows = self._world.catalogue.types_named(receiver, outline.habits.family) if receiver else ()
        mine = (it for it in rows if it.collection == outline.record.collection and self._is_beside(outline, it.path))
        return next((self.type_of(it.place) for it in mine), None)

    def unknown_base(self, type: Type, trip: Trip) -> str:
        """The name of something it inherits from that is not in the index, or nothing."""
        outside = (it.name for it in self.line(type, trip) if not it.places)
        return next((it for it in outside if it not in ("object", "Object")), "")


def _merged(lines: list[tuple[Type, ...]], start: Type) -> list[Type]:
    """The C3 order of what several bases inherit from; where there is none, first come, first served."""
    found: list[Type] = []
    seen = {start.places or start.name}
    rest = [list(line) for line in lines if line]
    while rest and len(found) < _MOST_ANCESTORS:
        heads = [line[0] for line in rest]
        tails = {it.places or it.name for line in rest for it in line[1:]}
        head = next((it for it in heads if (it.places or it.name) not in tails), heads[0])
        identity = head.places or head.name
        if identity not in seen:
            seen.add(identity)
            found.append(head)
        rest = [kept for line in rest if (kept := [it for it in line if (it.places or it.name) != identity])]
    return found


def _is_partial(symbol: Symbol) -> bool:
    return "partial" in symbol.modifiers
