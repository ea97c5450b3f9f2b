"""Modules that are files: what `import a.b`, `from .x import y` and `import {z} from "./z"` lead to."""

from __future__ import annotations

import posixpath
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from dowse.lookup.calls.memo import Memo
from dowse.lookup.calls.outline import Import, Outline
from dowse.lookup.calls.values import Module, Outside, Thing, Trip, Values
from dowse.store.call_facts import FileName, Place

if TYPE_CHECKING:
    from dowse.lookup.calls.world import World

_PYTHON = (".py", ".pyi")
_SCRIPTS = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte")
_SCRIPT_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
_PACKAGE = "__init__"


class Modules:
    def __init__(self, world: World) -> None:
        self._world = world
        self._known: Memo[tuple[str, int], Module] = Memo(20_000)

    # --- from a name to a file ---

    def module(self, name: str, home: int) -> Module:
        """The module as this file would import it; without a file it is a folder, or of a library."""
        key = (name, home)
        found = self._known.get(key)
        if found is None:
            outline = self._world.catalogue.outline(home)
            look = self._python_file if outline.habits.modules == "python" else self._script_file
            found = self._known.keep(key, Module(name, home, look(name, outline)))
        return found

    def _python_file(self, name: str, outline: Outline) -> int | None:
        folder = posixpath.dirname(outline.record.path)
        path = name.lstrip(".").replace(".", "/")
        if not name.startswith("."):
            return self._nearest(self._named(path), outline, path)
        for _ in range(len(name) - len(name.lstrip(".")) - 1):
            folder = posixpath.dirname(folder)
        wanted = posixpath.join(folder, path) if path else folder
        return self._exactly(wanted, outline)

    def _named(self, path: str) -> list[FileName]:
        """Files of Python that a module with this path may be, wherever its root is: also above what is indexed."""
        last = path.rpartition("/")[2]
        files = (it for suffix in _PYTHON for it in self._world.catalogue.files_named(last + suffix))
        found = (*files, *self._packages_by_name.get(last, ()))
        return [it for it in found if f"{it.root}/{_module_path(it.path)}".rstrip("/").endswith(f"/{path}")]

    @cached_property
    def _packages_by_name(self) -> dict[str, list[FileName]]:
        """Files that make a folder a package, by the folder's name: a large project has hundreds of them."""
        found: dict[str, list[FileName]] = {}
        for suffix in _PYTHON:
            for it in self._world.catalogue.files_named(_PACKAGE + suffix):
                folder = f"{it.root}/{_module_path(it.path)}".rstrip("/")
                found.setdefault(folder.rpartition("/")[2], []).append(it)
        return found

    def _exactly(self, wanted: str, outline: Outline) -> int | None:
        same = [it for it in self._named(wanted) if _module_path(it.path) == wanted]
        mine = [it for it in same if it.collection == outline.record.collection]
        return mine[0].key if mine else None

    def _nearest(self, found: list[FileName], outline: Outline, path: str) -> int | None:
        """Below the folder that the importing file's own package lies in, else in a folder above it, else anywhere.

        No package is a root of modules; and a module of the standard library is not taken for a far one of its name.
        """
        own, folder = self._root_of(outline), posixpath.dirname(outline.record.path)
        packages = self._packages

        def root_of(it: FileName) -> str:
            place = _module_path(it.path)
            return place[: -len(path)].rstrip("/") if place.endswith(path) else ""

        def rank(it: FileName) -> tuple[bool, bool, bool, int, str]:
            root = root_of(it)
            above = not root or f"{folder}/".startswith(f"{root}/")
            shared = len(posixpath.commonprefix([f"{root}/", f"{folder}/"]))
            return it.collection != outline.record.collection, root != own, not above, -shared, it.path

        is_standard = path.partition("/")[0] in sys.stdlib_module_names
        fitting = [
            it
            for it in found
            if (it.collection, root_of(it)) not in packages and (not is_standard or root_of(it) in (own, ""))
        ]
        return min(fitting, key=rank).key if fitting else None

    @cached_property
    def _packages(self) -> set[tuple[str, str]]:
        """The folders that are packages, each with its collection; the top of a collection is none."""
        inits = self._world.catalogue.files_named(f"{_PACKAGE}.py")
        return {(it.collection, posixpath.dirname(it.path)) for it in inits} - {(it.collection, "") for it in inits}

    def _root_of(self, outline: Outline) -> str:
        """The folder that holds the outermost package around a file."""
        packages = self._packages
        folder = posixpath.dirname(outline.record.path)
        while folder and (outline.record.collection, folder) in packages:
            folder = posixpath.dirname(folder)
        return folder

    def _script_file(self, name: str, outline: Outline) -> int | None:
        is_relative = name.startswith(".")
        folder = posixpath.dirname(outline.record.path) if is_relative else ""
        wanted = posixpath.normpath(posixpath.join(folder, name.removeprefix("@/").removeprefix("~/")))
        for path in _script_paths(wanted):
            same = self._world.catalogue.files_named(path.rpartition("/")[2])
            mine = [it for it in same if it.collection == outline.record.collection]
            found = [it for it in mine if it.path == path or (not is_relative and it.path.endswith(f"/{path}"))]
            if len(found) == 1:
                return found[0].key
        return None

    # --- from a module to what is in it ---

    def imported(self, it: Import, local: str, home: int, trip: Trip) -> Values:
        """What a name that an import gives stands for."""
        if it.member:
            return self.member(self.module(it.module, home), it.member, trip)
        if it.local == it.module and "." in it.module:
            return (self.module(local, home),)  # `import a.b` gives the name `a`
        return (self.module(it.module, home),)

    def member(self, module: Module, name: str, trip: Trip) -> Values:
        if module.file is not None:
            found = self._defined(module.file, name, trip)
            if found:
                return found
        joint = "" if module.name.endswith(".") else "."
        inner = self.module(f"{module.name}{joint}{name}", module.home) if self._has_inner(module) else None
        if inner is not None and (inner.file is not None or module.file is None):
            return (inner,)
        return () if module.file is not None else (Outside(module.name),)

    def _has_inner(self, module: Module) -> bool:
        return self._world.catalogue.outline(module.home).habits.modules == "python"

    def _defined(self, file: int, name: str, trip: Trip) -> Values:
        """What the file itself calls so: a definition, or what it has imported under this name."""
        outline = self._world.catalogue.outline(file)
        found: Values = tuple(Thing(Place(file, it)) for it in outline.children(None, name))
        if found and any(outline.symbols[it].kind != "variable" for it in outline.children(None, name)):
            return found
        what = ("module", file, name)
        if not trip.enter(what):
            return found
        try:
            return found + self._passed_on(outline, name, trip)
        finally:
            trip.leave(what)

    def _passed_on(self, outline: Outline, name: str, trip: Trip) -> Values:
        found = [
            value for it in outline.imports_seen(name, None) for value in self.imported(it, name, outline.key, trip)
        ]
        if not found and name == "default":
            found = list(_default(outline))
        return tuple(found) or self.everything(outline, name, trip)

    def everything(self, outline: Outline, name: str, trip: Trip) -> Values:
        """What the imports of everything (`from m import *`) give for a name; the last one counts."""
        if name.startswith("_"):
            return ()
        for it in reversed(outline.imported.get("*", ())):
            module = self.module(it.module, outline.key)
            found = self._defined(module.file, name, trip) if module.file is not None else ()
            if found:
                return found
        return ()


def _module_path(path: str) -> str:
    """`a/b.py` → a/b, `a/__init__.py` → a."""
    stem = path.rpartition(".")[0]
    return stem.removesuffix(_PACKAGE).rstrip("/") if stem.rpartition("/")[2] == _PACKAGE else stem


def _script_paths(wanted: str) -> list[str]:
    """The files a path of scripts may mean; what is written as `.js` may be made of a `.ts`."""
    stem = next((wanted[: -len(it)] for it in _SCRIPT_SUFFIXES if wanted.endswith(it)), wanted)
    return [
        wanted,
        *(stem + suffix for suffix in _SCRIPTS),
        *(f"{wanted}/index{suffix}" for suffix in _SCRIPTS),
    ]


def _default(outline: Outline) -> Values:
    """What a file of scripts exports without a name: marked so, or all there is."""
    top = [place for place, it in enumerate(outline.symbols) if it.parent is None]
    marked = [it for it in top if "default" in outline.symbols[it].modifiers]
    return tuple(Thing(Place(outline.key, it)) for it in marked or (top if len(top) == 1 else []))
