"""What to think of calls that types alone do not lead to: mixins, names that only one class has, kindred names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.lookup.calls.reach import Reach
from dowse.lookup.calls.values import Here, Object, Parent, Thing, Type, Values
from dowse.store.call_facts import Named, Site
from dowse.text.expressions import Way

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_MOST_HEIRS = 50
_LEAST_COMMON = 4
# Methods that every library has: an unknown object's is seldom the one class's of the index that has it too.
_COMMON = frozenset(
    {
        "get", "set", "add", "append", "remove", "pop", "push", "insert", "update", "delete", "find", "first",
        "last", "count", "clear", "copy", "close", "open", "read", "write", "send", "recv", "start", "stop",
        "run", "join", "split", "strip", "replace", "format", "encode", "decode", "lower", "upper", "keys",
        "values", "items", "sort", "index", "extend", "reverse", "startswith", "endswith", "save", "load",
        "dump", "dumps", "loads", "next", "iter", "put", "call", "apply", "map", "filter", "reduce", "exists",
        "create", "connect", "commit", "rollback", "execute", "fetchone", "fetchall", "cursor", "flush", "seek",
        "tell", "wait", "notify", "acquire", "release", "submit", "result", "cancel", "done", "tostring",
        "equals", "gethashcode", "gettype", "dispose", "compareto", "invoke", "contains", "select", "where",
        "toarray", "tolist", "any", "all", "sum", "min", "max", "parse", "match", "search", "sub", "group",
        "assert_called_once", "render", "reset", "size", "length", "empty", "isempty",
    }
)  # fmt: skip


class Guesses:
    def __init__(self, world: World) -> None:
        self._world = world

    # --- a class that relies on what its subclasses bring ---

    def instead(self, way: Way, receivers: Values) -> list[Reach]:
        """A mixin calls what its own line does not have: whatever combines it with others does."""
        if way.root not in ("this", "super") or len(way.steps) != 1 or not way.steps[0].startswith("."):
            return []
        mine = next((it.type for it in receivers if isinstance(it, Object | Parent)), None)
        if mine is None or not mine.places:
            return []
        return self._brought(mine, way.steps[0][1:], after=way.root == "super")

    def _brought(self, mine: Type, name: str, after: bool) -> list[Reach]:
        classes = self._world.classes
        found: dict[object, Reach] = {}
        for row in self._world.overrides.below(mine.name)[:_MOST_HEIRS]:
            heir = classes.type_of(row.place)
            line = classes.line(heir)
            at = next((place for place, it in enumerate(line) if it.places == mine.places), None)
            if at is None:
                continue
            for it in classes.in_line(heir, line[at + 1 :] if after else line, name):
                if isinstance(it, Thing):
                    found.setdefault(it.place, Reach(it.place, f"in {heir.name}", heir, confidence="virtual"))
        return list(found.values())

    # --- only the name ---

    def by_name(self, site: Site, here: Here) -> list[Reach]:
        """A method that exactly one class defines, and no library is likely to."""
        if site.name.lower() in _COMMON or site.name.startswith("__"):
            return []
        outline = self._world.catalogue.outline(here.key)
        rows = [
            it
            for it in self._world.catalogue.functions_named(site.name, outline.habits.family)
            if it.kind == "method" and it.collection == outline.record.collection
        ]
        owners = {(it.trail, it.path) for it in rows}
        return [Reach(it.place, "only the name", confidence="possible") for it in rows] if len(owners) == 1 else []

    # --- kindred names ---

    def kindred(self, reach: Reach) -> list[Reach]:
        """An interface nobody says to implement: a class whose name is alike may do so all the same."""
        asked = reach.asked
        if not reach.is_open or asked is None or not asked.places or self._world.overrides.below(asked.name):
            return []
        catalogue = self._world.catalogue
        if catalogue.symbol(asked.places[0]).kind != "interface":
            return []
        family = catalogue.outline(asked.places[0].record).habits.family
        rows = catalogue.functions_named(catalogue.symbol(reach.place).name, family)
        return [
            Reach(it.place, f"named like {asked.name}", asked, confidence="possible")
            for it in rows
            if it.place != reach.place and _is_kindred(asked.name, it)
        ]


def _is_kindred(interface: str, method: Named) -> bool:
    """`IDataModelService` ~ `DataModelWebService`: the stem is in it, or they begin alike for half of it."""
    name = method.trail[-1] if method.trail else ""
    is_marked = len(interface) > 2 and interface[0] == "I" and interface[1].isupper()
    stem = interface[1:] if is_marked else ""
    if not stem or name == interface or not name:
        return False
    common = next((at for at, (a, b) in enumerate(zip(stem, name, strict=False)) if a != b), min(len(stem), len(name)))
    return stem in name or (common >= _LEAST_COMMON and 2 * common >= len(stem))
