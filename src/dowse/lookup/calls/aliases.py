"""The names under which something may be called: its own, and those that imports, variables and heirs give it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.lookup.calls.kinds import CLASSES, FUNCTIONS, VALUES
from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Outline
from dowse.lookup.calls.values import Type
from dowse.store.call_facts import Place, Site

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

CALLED = "__call__"
_MOST_HEIRS = 50
_MOST_DOTS = 4
_BY_INITIALISER = ("super", "base", "this", "__init__", "__construct", "initialize", "init")
_ROOTS_OF_SCRIPTS = ("./", "../", "../../", "../../../", "@/", "~/", "")


class Aliases:
    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[Place, frozenset[str]] = Memo(20_000)

    def of(self, target: Place) -> frozenset[str]:
        known = self._known.get(target)
        return known if known is not None else self._known.keep(target, frozenset(self._names(target)))

    def _names(self, target: Place) -> Iterator[str]:
        outline = self._world.catalogue.outline(target.record)
        symbol = outline.symbols[target.ordinal]
        yield symbol.name
        yield from self._imported_as(outline, target.ordinal)
        owner = self._made_by(target)
        if owner is not None:
            yield from (owner.name, *_BY_INITIALISER)
            for it in owner.places:  # a class may be written in several files
                yield from self._imported_as(self._world.catalogue.outline(it.record), it.ordinal)
            yield from (it.name for it in self._world.overrides.below(owner.name)[:_MOST_HEIRS])
        parent = None if symbol.parent is None else outline.symbols[symbol.parent]
        if parent is not None and parent.kind in FUNCTIONS and symbol.name in parent.holds:
            yield CALLED  # what a function gives back is called without a name

    def _made_by(self, target: Place) -> Type | None:
        """The type whose objects it makes: a class, or a constructor's."""
        kind = self._world.catalogue.symbol(target).kind
        if kind in CLASSES:
            return self._world.classes.type_of(target)
        return self._world.classes.owner(target) if kind == "constructor" else None

    def _imported_as(self, outline: Outline, ordinal: int) -> list[str]:
        symbol = outline.symbols[ordinal]
        if outline.habits.modules == "namespace":
            full = ".".join((*outline.trail(ordinal), symbol.name))
            return self._world.catalogue.imported_as([full], "") if symbol.kind in CLASSES else []
        if symbol.parent is not None:
            return []
        targets = _python_names if outline.habits.modules == "python" else _script_names
        names = targets(outline.record.path)
        by_default = self._world.catalogue.imported_as(names, "default") if "default" in symbol.modifiers else []
        return [*self._world.catalogue.imported_as(names, symbol.name), *by_default]

    def is_imported(self, target: Place) -> bool:
        """Whether some file imports it out of its class: `import static util.Texts.join`."""
        outline = self._world.catalogue.outline(target.record)
        if outline.habits.family != "jvm" or "static" not in outline.symbols[target.ordinal].modifiers:
            return False
        owner = ".".join(outline.trail(target.ordinal))
        return bool(self._world.catalogue.imported_as([owner], outline.symbols[target.ordinal].name))

    # --- variables and fields that hold it ---

    def held_as(self, target: Place, sites: Iterable[Site]) -> set[str]:
        """Names of variables and fields that are set to it where these sites, of its own name, stand."""
        symbol = self._world.catalogue.symbol(target)
        suffix = "()" if symbol.name == CALLED else ""
        return {
            it.name
            for site in sites
            if suffix or site.kind == "refer"
            for it in self._world.catalogue.outline(site.record).set_at(site.line)
            if it.holds == site.callee + suffix
        }

    def sources(self, target: Place) -> frozenset[str]:
        """The names at whose sites a variable may be set to it: of an object that can be called, its class's."""
        owner = self._world.classes.owner(target) if self._world.catalogue.symbol(target).name == CALLED else None
        return frozenset({owner.name}) if owner else frozenset()

    def is_only_named(self, site: Site) -> bool:
        """Whether the site gives something another name at the top of a file or of a class, and calls nothing."""
        outline = self._world.catalogue.outline(site.record)
        if site.kind != "refer" or (site.symbol is not None and outline.symbols[site.symbol].kind in FUNCTIONS):
            return False
        return any(it.kind in VALUES and it.holds == site.callee for it in outline.set_at(site.line))


def _python_names(path: str) -> list[str]:
    """How imports may write the module in this file: as much of its path as they like, with or without dots."""
    stem = path.rpartition(".")[0].removesuffix("__init__").rstrip("/")
    parts = stem.split("/")
    names = [".".join(parts[start:]) for start in range(len(parts))]
    return [f"{'.' * dots}{name}" for name in (*names, "") for dots in range(_MOST_DOTS + 1) if dots or name]


def _script_names(path: str) -> list[str]:
    stem = posixpath.splitext(path)[0]
    stems = [stem, stem.removesuffix("/index")] if stem.endswith("/index") else [stem]
    parts = [(it.split("/"), ending) for it in stems for ending in ("", posixpath.splitext(path)[1], ".js")]
    names = {"/".join(them[start:]) + ending for them, ending in parts for start in range(len(them))}
    return sorted(f"{root}{name}" for name in names for root in _ROOTS_OF_SCRIPTS)
