"""Calls through a base or an interface: which definitions of subtypes they may reach."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.reach import Reach
from dowse.lookup.calls.values import Thing, Type
from dowse.store.call_facts import Named, Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

MOST_SUBTYPES = 2_000
_MOST_HEIRS = 100
_PROTOCOL = "Protocol"
_MOST_PROTOCOLS = 200
_ABSTRACT = frozenset({"interface", "trait"})


class Overrides:
    def __init__(self, world: World) -> None:
        self._world = world
        self._below: Memo[str, tuple[Named, ...]] = Memo(5_000)
        self._above: Memo[Place, tuple[Type, ...]] = Memo(20_000)
        self._members_below: Memo[tuple[str, str], tuple[Named, ...]] = Memo(50_000)

    def below(self, name: str) -> tuple[Named, ...]:
        """Whatever says that it inherits, at first or second hand, from something of this name: names may deceive."""
        known = self._below.get(name)
        if known is not None:
            return known
        found: dict[Place, Named] = {}
        waiting, seen = [name], {name.lower()}
        while waiting and len(found) < MOST_SUBTYPES:
            for it in self._world.catalogue.extending(waiting.pop(0)):
                found.setdefault(it.place, it)
                if it.name.lower() not in seen:
                    seen.add(it.name.lower())
                    waiting.append(it.name)
        return self._below.keep(name, tuple(found.values()))

    def overriding(self, reach: Reach) -> Iterator[Reach]:
        """What else an open call may reach, in the order of files and lines."""
        asked = self._open_type(reach)
        if asked is None:
            return
        found: dict[Place, Reach] = {}
        for it in (*self._named(reach, asked), *self._structural(reach, asked)):
            found.setdefault(it.place, it)
        yield from found.values()

    def _open_type(self, reach: Reach) -> Type | None:
        """The type a call is made on, if an object of another type may be meant by it."""
        asked = reach.asked
        if not reach.is_open or asked is None or not asked.places:
            return None
        habits = self._world.catalogue.outline(asked.places[0].record).habits
        return asked if habits.virtual or self._kind(asked) in _ABSTRACT else None

    def _kind(self, type: Type) -> str:
        return self._world.catalogue.symbol(type.places[0]).kind

    def _structural(self, reach: Reach, asked: Type) -> Iterator[Reach]:
        """Definitions of types that have all methods of the interface without naming it."""
        name = self._world.catalogue.symbol(reach.place).name
        implementers = self._world.structures.implementers(asked)
        for it in implementers.found:
            for place in it.members.get(name, ()):
                if self._is_implementation(place):
                    yield Reach(place, implementers.how(asked.name), asked, confidence=implementers.confidence)

    def _is_implementation(self, place: Place) -> bool:
        owner = self._world.classes.owner(place)
        return owner is None or self._kind(owner) not in _ABSTRACT

    def _named(self, reach: Reach, asked: Type) -> Iterator[Reach]:
        """Definitions of types that say to extend or to implement it."""
        catalogue, classes = self._world.catalogue, self._world.classes
        yield from self._alike(reach, asked)
        rows = self.below(asked.name)
        if not rows:
            return
        places = {it.place for it in rows}
        name = catalogue.symbol(reach.place).name
        for it in self._named_below(asked.name, name):
            owner = classes.owner(it.place)
            if owner is None or it.place == reach.place or places.isdisjoint(owner.places):
                continue
            if owner.places != asked.places and classes.inherits(owner, asked):
                yield self._through(it.place, asked)
        if self._kind(asked) in _ABSTRACT:
            yield from self._inherited(rows, name, reach, asked)

    def _named_below(self, type_name: str, name: str) -> tuple[Named, ...]:
        """The definitions of this name in the files of whatever inherits from something of the type's name."""
        known = self._members_below.get((type_name, name))
        if known is None:
            catalogue = self._world.catalogue
            records = sorted({it.place.record for it in self.below(type_name)})
            known = tuple(catalogue.members_named(name, records))
            self._members_below.keep((type_name, name), known, len(known) + 1)
            catalogue.prefetch(it.place.record for it in known)
        return known

    # --- protocols of Python: who has their members need not say so ---

    @cached_property
    def _protocols(self) -> dict[str, list[Type]]:
        """By the names of their members."""
        catalogue = self._world.catalogue
        rows = [it for it in catalogue.extending(_PROTOCOL) if it.path.endswith((".py", ".pyi"))][:_MOST_PROTOCOLS]
        catalogue.prefetch(it.place.record for it in rows)
        found: dict[str, list[Type]] = {}
        for it in rows:
            for name in self._members(self._world.classes.type_of(it.place)):
                found.setdefault(name, []).append(self._world.classes.type_of(it.place))
        return found

    def _members(self, type: Type) -> list[str]:
        outlines = ((self._world.catalogue.outline(it.record), it.ordinal) for it in type.places)
        return [name for outline, ordinal in outlines for name in outline.member_names(ordinal)]

    def _fits(self, type: Type, protocol: Type) -> bool:
        """Whether the class has every member of the protocol."""
        is_other = type.places != protocol.places
        return is_other and all(self._world.classes.member(type, name) for name in self._members(protocol))

    def _alike(self, reach: Reach, asked: Type) -> Iterator[Reach]:
        """The methods of classes that fit a protocol without saying that they do."""
        catalogue, classes = self._world.catalogue, self._world.classes
        name = catalogue.symbol(reach.place).name
        if not any(it.places == asked.places for it in self._protocols.get(name, ())):
            return
        family = catalogue.outline(asked.places[0].record).habits.family
        rows = catalogue.functions_named(name, family)[:_MOST_HEIRS]
        catalogue.prefetch(it.place.record for it in rows)
        for it in rows:
            owner = classes.owner(it.place)
            if owner is not None and self._fits(owner, asked) and not classes.inherits(owner, asked):
                yield Reach(it.place, f"has the members of protocol {asked.name}", asked, confidence="virtual")

    def _inherited(self, rows: tuple[Named, ...], name: str, reach: Reach, asked: Type) -> Iterator[Reach]:
        """A class may implement an interface by what it inherits from another class."""
        classes = self._world.classes
        seen = {reach.place}
        for it in rows[:_MOST_HEIRS]:
            heir = classes.type_of(it.place)
            if classes.own(heir, name) or not classes.inherits(heir, asked):
                continue
            for found in classes.member(heir, name):
                if isinstance(found, Thing) and found.place not in seen:
                    seen.add(found.place)
                    owner = classes.owner(found.place)
                    if owner is not None and not classes.inherits(owner, asked):
                        yield self._through(found.place, asked)

    def _through(self, place: Place, asked: Type) -> Reach:
        kind = self._kind(asked)
        sort = kind if kind in _ABSTRACT else "base"
        return Reach(place, f"through {sort} {asked.name}", asked, confidence="virtual")

    def landing(self, reach: Reach, target: Place) -> Reach | None:
        """How an open call may reach this definition, which its class overrides or implements."""
        asked = self._open_type(reach)
        if asked is None:
            return None
        if any(asked.places == it.places for it in self._types_named_above(target)):
            return Reach(target, f"through {asked.name}", asked, confidence="virtual")
        return next((it for it in self._structural(reach, asked) if it.place == target), None)

    def types_above(self, target: Place) -> tuple[Type, ...]:
        """The types of the index, other than its own, on which a call may lead to this definition."""
        return (*self._types_named_above(target), *self._world.structures.interfaces(target))

    def _types_named_above(self, target: Place) -> tuple[Type, ...]:
        known = self._above.get(target)
        if known is not None:
            return known
        classes = self._world.classes
        owner = classes.owner(target)
        found = {it.places: it for it in classes.line(owner)[1:] if it.places} if owner else {}
        name = self._world.catalogue.symbol(target).name
        for it in self.below(owner.name)[:_MOST_HEIRS] if owner else ():
            heir = classes.type_of(it.place)
            if any(isinstance(thing, Thing) and thing.place == target for thing in classes.member(heir, name)):
                found |= {above.places: above for above in classes.line(heir) if above.places}
        if owner is not None:
            found |= {it.places: it for it in self._protocols.get(name, ()) if self._fits(owner, it)}
        return self._above.keep(target, tuple(found.values()))
