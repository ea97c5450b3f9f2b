"""Structural interfaces: which types have all the methods that an interface asks for, without naming it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dowse.lookup.calls.kinds import FUNCTIONS, VALUES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.question import Confidence
from dowse.lookup.calls.values import Here, Object, Thing, Trip, Type
from dowse.lookup.symbols.question import Definition
from dowse.model import Symbol
from dowse.store.call_facts import Named, Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_MOST_ROWS = 400  # methods of the rarest name an interface asks for
_MOST_HEIRS = 100
_MOST_TYPES = 1_000  # that are compared with one interface
_MOST_ASKING = 50  # interfaces that ask for a method of one name
_MOST_SHOWN = 50  # of the types that have the one method of an interface
_MANY = 8
# Methods that types have for many reasons: to have this one alone says little.
_EVERYWHERE = frozenset(
    [
        "close",
        "string",
        "error",
        "tostring",
        "equals",
        "valueof",
        "tojson",
        "len",
        "less",
        "unwrap",
        "hashcode",
        "dispose",
        "name",
        "id",
        "clone",
        "reset",
    ]
)
_WORD = re.compile(r"[^\W\d]\w*")
_QUALIFIER = re.compile(r"\b\w+\.(?=\w)|\s+")
_SAME = {"interface{}": "any", "uint8": "byte", "int32": "rune"}
_PLAIN = frozenset({"string", "number", "boolean"})
_ANY_RESULT = frozenset({"void", "unknown", "any", ""})


class Implementer(NamedTuple):
    """A type, or something that holds an object; `members` are its definitions of what the interface asks for."""

    name: str
    place: Place
    members: dict[str, tuple[Place, ...]]


class Implementers(NamedTuple):
    """`is_guess`: they share only what many types have; `total` counts also those that are left out."""

    found: tuple[Implementer, ...] = ()
    is_guess: bool = False
    total: int = 0

    @property
    def confidence(self) -> Confidence:
        return "possible" if self.is_guess else "virtual"

    def how(self, interface: str) -> str:
        if self.is_guess:
            return f"one of {self.total:,} types that have the methods of interface {interface}"
        return f"through interface {interface}, whose methods it has"

    def note(self, interface: str) -> str:
        if self.is_guess:
            return f"possible: {self.how(interface)}"
        return f"structural: has the methods of interface {interface}"


_NONE = Implementers()


class Structures:
    """Only for languages where a type implements an interface by having its methods."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[Place, ...], Implementers] = Memo(5_000)

    def implementers(self, interface: Type) -> Implementers:
        known = self._known.get(interface.places)
        if known is None:
            found = self._found(interface) if self._is_structural(interface) else _NONE
            known = self._known.keep(interface.places, found)
        return known

    def interfaces(self, target: Place) -> Iterator[Type]:
        """The interfaces through which a call may lead to this definition, and what takes them in."""
        catalogue = self._world.catalogue
        outline = catalogue.outline(target.record)
        if not outline.habits.structural:
            return
        name = catalogue.symbol(target).name
        asking: dict[tuple[Place, ...], Type] = {}
        for it in catalogue.functions_named(name, outline.habits.family)[:_MOST_ROWS]:
            owner = self._world.classes.owner(it.place)
            if owner is not None and self._is_structural(owner):
                heirs = self._world.overrides.below(owner.name)[:_MOST_HEIRS]
                above = (self._world.classes.type_of(heir.place) for heir in heirs)
                asking |= {one.places: one for one in (owner, *filter(self._is_structural, above))}
                if len(asking) >= _MOST_ASKING:
                    break
        for interface in asking.values():
            if any(target in it.members.get(name, ()) for it in self.implementers(interface).found):
                yield interface
                heirs = self._world.overrides.below(interface.name)[:_MOST_HEIRS]
                yield from (self._world.classes.type_of(heir.place) for heir in heirs)

    def may_miss(self, target: Place) -> bool:
        """Whether so many have a method of this name that not all interfaces with it are known."""
        outline = self._world.catalogue.outline(target.record)
        name = outline.symbols[target.ordinal].name
        return outline.habits.structural and self._world.catalogue.has_more(name, outline.habits.family)

    def _is_structural(self, type: Type) -> bool:
        if not type.places or not self._world.catalogue.outline(type.places[0].record).habits.structural:
            return False
        return self._world.catalogue.symbol(type.places[0]).kind == "interface"

    def _found(self, interface: Type) -> Implementers:
        asked = self._asked(interface)
        if not asked:
            return _NONE  # everything would implement it
        home = self._world.catalogue.outline(interface.places[0].record)
        rows = min((self._rows(name, interface) for name in asked), key=len)
        self._world.catalogue.prefetch(it.place.record for it in rows)
        found = [it for it in self._with_all(rows, asked, interface) if it.place not in interface.places]
        is_common = len(asked) == 1 and (len(found) > _MANY or next(iter(asked)).lower() in _EVERYWHERE)
        is_guess = is_common or len(rows) >= _MOST_ROWS  # or there are too many to compare them all
        if home.habits.family == "go" and any(name[:1].islower() for name in asked):
            folder = posixpath.dirname(home.record.path)
            found = [it for it in found if posixpath.dirname(self._path(it.place)) == folder]
        return Implementers(tuple(found[:_MOST_SHOWN] if is_guess else found), is_guess, len(found))

    def _path(self, place: Place) -> str:
        return self._world.catalogue.outline(place.record).record.path

    def _asked(self, interface: Type) -> dict[str, Symbol]:
        """The methods it asks for, also those of the interfaces it takes in."""
        found: dict[str, Symbol] = {}
        for place in (place for entry in self._world.classes.line(interface) for place in entry.places):
            outline = self._world.catalogue.outline(place.record)
            for it in outline.symbols:
                if it.parent == place.ordinal and it.kind in FUNCTIONS and not it.signature.startswith(f"{it.name}?"):
                    found.setdefault(it.name, it)
        return found

    def _rows(self, name: str, interface: Type) -> list[Named]:
        outline = self._world.catalogue.outline(interface.places[0].record)
        rows = self._world.catalogue.functions_named(name, outline.habits.family)
        return [it for it in rows if it.collection == outline.record.collection][:_MOST_ROWS]

    def _with_all(self, rows: list[Named], asked: dict[str, Symbol], interface: Type) -> Iterator[Implementer]:
        """Of those that define one of the methods, or take in what does, those that have all of them."""
        classes, symbol = self._world.classes, self._world.catalogue.symbol
        owners: dict[tuple[Place, ...], Type] = {}
        for it in rows:
            owner = classes.owner(it.place)
            if owner is None:
                yield from self._object_around(it.place, asked, interface)
                continue
            heirs = self._world.overrides.below(owner.name)[:_MOST_HEIRS]
            for one in (owner, *(classes.type_of(heir.place) for heir in heirs)):
                owners.setdefault(one.places, one)
        for type in list(owners.values())[:_MOST_TYPES]:
            if symbol(type.places[0]).kind != "interface":
                members = {name: self._fitting(type, one) for name, one in asked.items()}
                if all(members.values()):
                    yield Implementer(type.name, type.places[0], members)

    def _fitting(self, type: Type, asked: Symbol) -> tuple[Place, ...]:
        catalogue = self._world.catalogue
        found = (it.place for it in self._world.classes.member(type, asked.name) if isinstance(it, Thing))
        family = catalogue.outline(type.places[0].record).habits.family
        free = set(self._world.types.parameters(type.places[0]))
        fits = self._fits_go if family == "go" else _fits_script
        return tuple(it for it in found if fits(asked, catalogue.symbol(it), free))

    def _fits_go(self, asked: Symbol, it: Symbol, free: set[str]) -> bool:
        if it.kind not in FUNCTIONS:
            return False
        passed = it.parameters["extension" in it.modifiers :]
        if len(passed) != len(asked.parameters) or bool(it.holds) != bool(asked.holds):
            return False
        pairs = zip((*passed, it.holds), (*asked.parameters, asked.holds), strict=True)
        return all(self._may_be_same(mine, theirs, free) for mine, theirs in pairs)

    def _may_be_same(self, mine: str, theirs: str, free: set[str]) -> bool:
        """Whether two types are written alike, as far as packages, aliases and type parameters leave that open."""
        one, other = _plain(mine), _plain(theirs)
        if one == other:
            return True
        words = {*_WORD.findall(one), *_WORD.findall(other)}
        return any(word in free or len(word) == 1 or self._is_alias(word) for word in words)

    def _is_alias(self, name: str) -> bool:
        return any(it.kind == "typeAlias" for it in self._world.catalogue.types_named(name, "go"))

    # --- objects that are written as they are, without a class ---

    def _object_around(self, place: Place, asked: dict[str, Symbol], interface: Type) -> Iterator[Implementer]:
        """The variable or function around it that says to hold the interface: `const repo: Repo = { save() {} }`."""
        outline = self._world.catalogue.outline(place.record)
        if outline.habits.family != "script":
            return
        inner = outline.symbols[place.ordinal]
        for ordinal, holder in enumerate(outline.symbols):
            is_around = holder.start_line <= inner.start_line and inner.end_line <= holder.end_line
            if not is_around or ordinal == place.ordinal or holder.kind not in FUNCTIONS | VALUES or not holder.holds:
                continue
            values = self._world.evaluator.values(holder.holds, Here(place.record, ordinal), Trip())
            if any(isinstance(it, Object) and _holds(it.type, interface) for it in values):
                members: dict[str, list[Place]] = {}
                for at, it in enumerate(outline.symbols):
                    if it.name in asked and holder.start_line <= it.start_line <= it.end_line <= holder.end_line:
                        members.setdefault(it.name, []).append(Place(place.record, at))
                yield Implementer(holder.name, Place(place.record, ordinal), {k: tuple(v) for k, v in members.items()})


def implementers(world: World, name: str, collections: Sequence[str]) -> list[Definition]:
    """The types that have all methods of an interface of this name without naming it, each with a note that says so."""
    interfaces = [
        world.classes.type_of(it.place)
        for it in world.catalogue.interfaces_named(name)
        if not collections or it.collection in collections
    ]
    found: dict[Place, Definition] = {}
    for interface in interfaces:
        named = {it.place for it in world.overrides.below(interface.name)}
        structural = world.structures.implementers(interface)
        for it in structural.found:
            if it.place not in named:
                definition = world.catalogue.outline(it.place.record).definition(it.place.ordinal)
                found.setdefault(it.place, replace(definition, note=structural.note(interface.name)))
    return sorted(found.values(), key=lambda it: (it.record.collection, it.record.path, it.ordinal))


def _holds(type: Type, interface: Type) -> bool:
    return any(it.places == interface.places for it in (type, *type.arguments))


def _plain(written: str) -> str:
    text = _QUALIFIER.sub("", written).strip(":;")
    for name, other in _SAME.items():
        text = text.replace(name, other)
    return text


def _fits_script(asked: Symbol, it: Symbol, _free: Iterable[str]) -> bool:
    """A function may take fewer arguments than it is given; what it gives back must be the same where that is plain."""
    if it.kind not in FUNCTIONS:
        return it.kind in VALUES
    is_optional = (
        "?" in it.signature or "=" in it.signature.replace("=>", "") or "..." in asked.signature + it.signature
    )
    if len(it.parameters) > len(asked.parameters) and not is_optional:
        return False
    mine, theirs = it.holds.strip(":;"), asked.holds.strip(":;")
    return mine == theirs or mine not in _PLAIN or theirs not in _PLAIN
