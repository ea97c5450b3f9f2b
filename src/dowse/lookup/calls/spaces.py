"""Namespaces and packages: definitions found by name, and told apart by where they stand."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dowse.lookup.calls.outline import Import, Outline
from dowse.lookup.calls.values import Space, Thing, Trip, Values
from dowse.store.call_facts import Named

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_JOINTS = re.compile(r"::|[/\\]")
_OWN_CRATE = frozenset({"crate", "self", "super"})


class Spaces:
    def __init__(self, world: World) -> None:
        self._world = world

    def member(self, space: Space, name: str) -> Values:
        """A definition in the namespace, or a namespace in it."""
        outline = self._world.catalogue.outline(space.home)
        found = self.defined(name, space.names, outline)
        return found or (Space(tuple(f"{it}.{name}" for it in space.names), space.home),)

    def defined(self, name: str, spaces: Sequence[str], outline: Outline) -> Values:
        """What is so called in the first of the namespaces that has it."""
        rows = self._rows(name, outline)
        for space in spaces if rows else ():
            found = [it for it in rows if is_in(it, space)]
            if found:
                return self._things(found, outline)
        return ()

    def imported(self, it: Import, outline: Outline, trip: Trip) -> Values:
        """What an import of one name gives: a definition, a member of a type, or a namespace."""
        full = dotted(f"{it.module}.{it.member}" if it.member else it.module)
        space, _, name = full.rpartition(".")
        found = self.defined(name, [space], outline)
        if found:
            return found
        holder, _, type_name = space.rpartition(".")
        owners = self.defined(type_name, [holder], outline) if type_name else ()
        members = [value for owner in owners if isinstance(owner, Thing) for value in self._static(owner, name, trip)]
        return tuple(members) or (Space((full,), outline.key),)

    def everything(self, outline: Outline, name: str, trip: Trip) -> Values:
        """A name that an import of everything in a namespace, or in a type, gives."""
        opened = [dotted(it.module) for it in outline.imported.get("*", ())]
        found = self.defined(name, opened, outline)
        if found:
            return found
        for full in opened:
            holder, _, type_name = full.rpartition(".")
            owners = self.defined(type_name, [holder], outline)
            members = [
                value for owner in owners if isinstance(owner, Thing) for value in self._static(owner, name, trip)
            ]
            if members:
                return tuple(members)
        return ()

    def _static(self, owner: Thing, name: str, trip: Trip) -> Values:
        classes = self._world.classes
        return classes.member(classes.type_of(owner.place), name, trip)

    def around(self, outline: Outline, name: str) -> Values:
        """What is known without an import: in the same folder, or anywhere in the project."""
        rows = [it for it in self._rows(name, outline) if it.collection == outline.record.collection]
        top = [it for it in rows if not self._is_member(it)]
        folder = posixpath.dirname(outline.record.path)
        beside = [it for it in top if posixpath.dirname(it.path) == folder]
        if beside or outline.habits.reach != "project":
            return self._things(beside, outline)
        return self._things(top, outline)

    def only(self, outline: Outline, name: str) -> Values:
        """The one type in the project with this name, if there is just one."""
        rows = self._world.catalogue.types_named(name, outline.habits.family)
        mine = [it for it in rows if it.collection == outline.record.collection]
        return self._things(mine, outline) if len({(it.name, it.trail) for it in mine}) == 1 else ()

    def _rows(self, name: str, outline: Outline) -> Sequence[Named]:
        catalogue, family = self._world.catalogue, outline.habits.family
        types = catalogue.types_named(name, family)
        if outline.habits.reach == "file":
            return types  # where files reach no further than themselves, functions lie in types
        functions = catalogue.functions_named(name, family)
        if outline.habits.split_methods:  # methods lie beside types, but are known only through them
            functions = tuple(it for it in functions if it.kind != "method")
        return (*types, *functions)

    def _is_member(self, it: Named) -> bool:
        symbols = self._world.catalogue.outline(it.place.record).symbols
        parent = symbols[it.place.ordinal].parent
        return parent is not None and symbols[parent].kind != "namespace"

    def _things(self, found: Iterable[Named], outline: Outline) -> Values:
        return tuple(Thing(it.place) for it in nearest(list(found), outline))


def nearest(found: list[Named], outline: Outline) -> list[Named]:
    """Of several with the same name those that lie nearest to the file: in its collection, then in its folders."""
    if len(found) < 2:
        return found

    def distance(it: Named) -> tuple[bool, int]:
        shared = posixpath.commonpath(["/" + it.path, "/" + outline.record.path])
        return it.collection != outline.record.collection, -len(shared)

    least = min(map(distance, found))
    return [it for it in found if distance(it) == least]


def dotted(name: str) -> str:
    """A namespace, package or crate path in one form."""
    parts = _JOINTS.sub(".", name).strip(".\"'").split(".")
    while len(parts) > 1 and parts[0] in _OWN_CRATE:
        parts = parts[1:]
    return ".".join(parts)


def is_in(it: Named, space: str) -> bool:
    """By the names around it; where there are none, by the folder or the file it stands in."""
    if it.trail:
        return ".".join(it.trail) == space
    if not space:
        return True
    stem = it.path.rpartition(".")[0]
    places = (posixpath.dirname(it.path), stem, stem.removesuffix("/mod").removesuffix("/lib"))
    last = space.rpartition(".")[2]
    return any(_ends_alike(place.replace("/", "."), space, last) for place in places)


def _ends_alike(place: str, space: str, last: str) -> bool:
    """`src.main.java.a.b` is the package `a.b`; the folder `store` is that of `example.com.x.store`."""
    return place in (space, last) or place.endswith(f".{space}") or space.endswith(f".{place}")
