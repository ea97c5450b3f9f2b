"""Which definitions a question about calls is about."""

from __future__ import annotations

from typing import NamedTuple

from dowse.errors import BadInput
from dowse.lookup.calls.kinds import CLASSES
from dowse.lookup.calls.question import CallQuery
from dowse.lookup.calls.world import World
from dowse.store.call_facts import Named, Place


class Asked(NamedTuple):
    """`owners` are the classes, or the files, that define the name, whether asked for or not."""

    places: tuple[Place, ...]
    owners: tuple[str, ...]


class Roots:
    def __init__(self, world: World) -> None:
        self._world = world

    def of(self, query: CallQuery) -> Asked:
        if query.at is not None:
            return Asked(self.with_constructors([self._at(*query.at)]), ())
        named = self._world.catalogue.callable_named(query.name.strip())
        rows = [it for it in named if not query.scope.collections or it.collection in query.scope.collections]
        exactly = [it for it in rows if it.name == query.name.strip()] or rows
        exactly = [self._with_owner(it) for it in exactly]
        owners = tuple(sorted({owner_of(it) for it in exactly}))
        mine = [it for it in exactly if not query.owner or _is_owned(it, query.owner)]
        return Asked(self.with_constructors([it.place for it in mine]), owners)

    def _with_owner(self, it: Named) -> Named:
        """A method that stands beside its type, as in Go, is a member of it all the same."""
        owner = self._world.classes.owner(it.place) if it.kind == "method" and not it.trail else None
        return it._replace(trail=(owner.name,)) if owner else it

    def _at(self, path: str, line: int) -> Place:
        name = path.rpartition("/")[2]
        files = [it for it in self._world.catalogue.files_named(name) if it.path == path]
        if not files:
            raise BadInput(f"{path!r} is not indexed")
        ordinal = self._world.catalogue.outline(files[0].key).at_line(line)
        if ordinal is None:
            raise BadInput(f"no definition holds line {line} of {path}")
        return Place(files[0].key, ordinal)

    def with_constructors(self, places: list[Place]) -> tuple[Place, ...]:
        """A class is asked about together with its constructors."""
        found = dict.fromkeys(places)
        for it in places:
            if self._world.catalogue.symbol(it).kind in CLASSES:
                own = self._world.catalogue.outline(it.record).constructors(it.ordinal)
                found |= dict.fromkeys(Place(it.record, child) for child in own)
        return tuple(found)


def owner_of(it: Named) -> str:
    """The class it is a member of, with what is around it; a file where it stands on its own."""
    return ".".join(it.trail) if it.trail else it.path


def _is_owned(it: Named, owner: str) -> bool:
    """`owner` may be the last name of it, as much of the full name as one likes, or a path."""
    full, wanted = owner_of(it).lower(), owner.strip().lower()
    if full == wanted or full.endswith(f".{wanted}") or it.path.lower() == wanted:
        return True
    return it.kind in CLASSES | {"constructor"} and it.name.lower() == wanted
