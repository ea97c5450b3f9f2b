"""Resolve names: modules, imports, aliases, namespaces and scopes."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from dowse.callgraph.facts import (
    CLASS_KINDS,
    FUNCTION_KINDS,
    TYPE_KINDS,
    VALUE_KINDS,
    BoundedCache,
    FileImport,
    FileOutline,
)
from dowse.callgraph.values import (
    AbstractValues,
    ExpressionScope,
    ExternalValue,
    ModuleValue,
    NamespaceValue,
    ResolutionGuard,
    ResolvedType,
    SymbolValue,
)
from dowse.store.types import NamedDefinition, NamedFile, StoredCall, SymbolRef

if TYPE_CHECKING:
    from dowse.callgraph.resolver import ResolverContext

DUNDER_CALL = "__call__"
_MAX_SUBCLASS_NAMES = 50
_MAX_LEADING_DOTS = 4
_CONSTRUCTOR_NAMES = ("super", "base", "this", "__init__", "__construct", "initialize", "init")
_SCRIPT_IMPORT_ROOTS = ("./", "../", "../../", "../../../", "@/", "~/", "")


class Aliases:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[SymbolRef, frozenset[str]] = BoundedCache(20_000)

    def names_of(self, target: SymbolRef) -> frozenset[str]:
        known = self._known.get(target)
        return known if known is not None else self._known.put(target, frozenset(self._names(target)))

    def _names(self, target: SymbolRef) -> Iterator[str]:
        outline = self._context.facts.outline(target.record)
        symbol = outline.symbols[target.ordinal]
        yield symbol.name
        yield from self._imported_as(outline, target.ordinal)
        owner = self._instantiated_type(target)
        if owner is not None:
            yield from (owner.name, *_CONSTRUCTOR_NAMES)
            for definition in owner.definitions:  # a class may be spread over several files
                yield from self._imported_as(self._context.facts.outline(definition.record), definition.ordinal)
            yield from (it.name for it in self._context.overrides.subtypes_named(owner.name)[:_MAX_SUBCLASS_NAMES])
        parent = None if symbol.parent is None else outline.symbols[symbol.parent]
        if parent is not None and parent.kind in FUNCTION_KINDS and symbol.name in parent.value_expression:
            yield DUNDER_CALL  # a caller of the returned function does not name it

    def _instantiated_type(self, target: SymbolRef) -> ResolvedType | None:
        """Return the type that the target instantiates: the class itself, or the class of a constructor."""
        kind = self._context.facts.symbol(target).kind
        if kind in CLASS_KINDS:
            return self._context.classes.type_of(target)
        return self._context.classes.owner(target) if kind == "constructor" else None

    def _imported_as(self, outline: FileOutline, ordinal: int) -> list[str]:
        symbol = outline.symbols[ordinal]
        if outline.rules.modules == "namespace":
            full = ".".join((*outline.trail(ordinal), symbol.name))
            return self._context.facts.imported_as([full], "") if symbol.kind in CLASS_KINDS else []
        if symbol.parent is not None:
            return []
        targets = _python_names if outline.rules.modules == "python" else _script_names
        names = targets(outline.record.path)
        by_default = self._context.facts.imported_as(names, "default") if "default" in symbol.modifiers else []
        return [*self._context.facts.imported_as(names, symbol.name), *by_default]

    def is_imported(self, target: SymbolRef) -> bool:
        """Return whether any file imports the target out of its class: `import static util.Texts.join`."""
        outline = self._context.facts.outline(target.record)
        if outline.rules.family != "jvm" or "static" not in outline.symbols[target.ordinal].modifiers:
            return False
        owner = ".".join(outline.trail(target.ordinal))
        return bool(self._context.facts.imported_as([owner], outline.symbols[target.ordinal].name))

    # --- variables and fields that hold the target ---

    def holder_names(self, target: SymbolRef, sites: Iterable[StoredCall]) -> set[str]:
        """Return the names of variables and fields that are assigned the target at one of these sites."""
        symbol = self._context.facts.symbol(target)
        suffix = "()" if symbol.name == DUNDER_CALL else ""
        return {
            it.name
            for site in sites
            if suffix or site.kind == "refer"
            for it in self._context.facts.outline(site.record).assigned_at(site.line)
            if it.value_expression == site.callee + suffix
        }

    def assignment_names(self, target: SymbolRef) -> frozenset[str]:
        """Return further names whose call sites may assign the target: for `__call__`, the name of its class."""
        owner = self._context.classes.owner(target) if self._context.facts.symbol(target).name == DUNDER_CALL else None
        return frozenset({owner.name}) if owner else frozenset()

    def is_alias_definition(self, site: StoredCall) -> bool:
        """Return whether the site only creates an alias at module or class level, without calling anything."""
        outline = self._context.facts.outline(site.record)
        if site.kind != "refer" or (site.symbol is not None and outline.symbols[site.symbol].kind in FUNCTION_KINDS):
            return False
        return any(
            it.kind in VALUE_KINDS and it.value_expression == site.callee for it in outline.assigned_at(site.line)
        )


def _python_names(path: str) -> list[str]:
    """Return the ways imports may spell this module: any suffix of its path, with or without leading dots."""
    stem = path.rpartition(".")[0].removesuffix("__init__").rstrip("/")
    parts = stem.split("/")
    names = [".".join(parts[start:]) for start in range(len(parts))]
    return [f"{'.' * dots}{name}" for name in (*names, "") for dots in range(_MAX_LEADING_DOTS + 1) if dots or name]


def _script_names(path: str) -> list[str]:
    stem = posixpath.splitext(path)[0]
    stems = [stem, stem.removesuffix("/index")] if stem.endswith("/index") else [stem]
    parts = [(it.split("/"), ending) for it in stems for ending in ("", posixpath.splitext(path)[1], ".js")]
    names = {"/".join(segments[start:]) + ending for segments, ending in parts for start in range(len(segments))}
    return sorted(f"{root}{name}" for name in names for root in _SCRIPT_IMPORT_ROOTS)


# --------------------------------------------------------------------------------------------------
# Modules that are files: resolution of `import a.b`, `from .x import y` and `import {z} from "./z"`.

_PYTHON_SUFFIXES = (".py", ".pyi")
_SCRIPT_FILE_SUFFIXES = (".ts", ".tsx", ".mts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".vue", ".svelte")
_SCRIPT_IMPORT_SUFFIXES = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
_PACKAGE_STEM = "__init__"


class ModuleResolver:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[str, int], ModuleValue] = BoundedCache(20_000)

    # --- module names to files ---

    def module(self, name: str, home: int) -> ModuleValue:
        """Return the module as this file would import it; without a file it is a folder or a library."""
        key = (name, home)
        found = self._known.get(key)
        if found is None:
            outline = self._context.facts.outline(home)
            look = self._python_file if outline.rules.modules == "python" else self._script_file
            found = self._known.put(key, ModuleValue(name, home, look(name, outline)))
        return found

    def _python_file(self, name: str, outline: FileOutline) -> int | None:
        folder = posixpath.dirname(outline.record.path)
        path = name.lstrip(".").replace(".", "/")
        if not name.startswith("."):
            return self._choose_nearest(self._files_for(path), outline, path)
        for _ in range(len(name) - len(name.lstrip(".")) - 1):
            folder = posixpath.dirname(folder)
        wanted = posixpath.join(folder, path) if path else folder
        return self._file_at(wanted, outline)

    def _files_for(self, path: str) -> list[NamedFile]:
        """Return Python files that a module of this path may be, under any root, even one above the indexed folder."""
        last = path.rpartition("/")[2]
        files = (it for suffix in _PYTHON_SUFFIXES for it in self._context.facts.files_named(last + suffix))
        found = (*files, *self._packages_by_name.get(last, ()))
        return [it for it in found if f"{it.root}/{_module_path(it.path)}".rstrip("/").endswith(f"/{path}")]

    @cached_property
    def _packages_by_name(self) -> dict[str, list[NamedFile]]:
        """`__init__` files by the name of their package; a large project has hundreds of them."""
        found: dict[str, list[NamedFile]] = {}
        for suffix in _PYTHON_SUFFIXES:
            for file in self._context.facts.files_named(_PACKAGE_STEM + suffix):
                folder = f"{file.root}/{_module_path(file.path)}".rstrip("/")
                found.setdefault(folder.rpartition("/")[2], []).append(file)
        return found

    def _file_at(self, wanted: str, outline: FileOutline) -> int | None:
        same_name = [it for it in self._files_for(wanted) if _module_path(it.path) == wanted]
        in_collection = [it for it in same_name if it.collection == outline.record.collection]
        return in_collection[0].key if in_collection else None

    def _choose_nearest(self, found: list[NamedFile], outline: FileOutline, path: str) -> int | None:
        """Prefer the root of the importing file's own package, then a folder above it, then any.

        No package is a module root. A standard library name never matches a distant module.
        """
        own, folder = self._root_of(outline), posixpath.dirname(outline.record.path)
        packages = self._packages

        def root_of(it: NamedFile) -> str:
            place = _module_path(it.path)
            return place[: -len(path)].rstrip("/") if place.endswith(path) else ""

        def rank(it: NamedFile) -> tuple[bool, bool, bool, int, str]:
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
        """The package folders, each with its collection; the top of a collection is not one."""
        inits = self._context.facts.files_named(f"{_PACKAGE_STEM}.py")
        return {(it.collection, posixpath.dirname(it.path)) for it in inits} - {(it.collection, "") for it in inits}

    def _root_of(self, outline: FileOutline) -> str:
        """Return the folder that contains the outermost package around a file."""
        packages = self._packages
        folder = posixpath.dirname(outline.record.path)
        while folder and (outline.record.collection, folder) in packages:
            folder = posixpath.dirname(folder)
        return folder

    def _script_file(self, name: str, outline: FileOutline) -> int | None:
        is_relative = name.startswith(".")
        folder = posixpath.dirname(outline.record.path) if is_relative else ""
        wanted = posixpath.normpath(posixpath.join(folder, name.removeprefix("@/").removeprefix("~/")))
        for path in _script_paths(wanted):
            same_name = self._context.facts.files_named(path.rpartition("/")[2])
            in_collection = [it for it in same_name if it.collection == outline.record.collection]
            found = [
                it for it in in_collection if it.path == path or (not is_relative and it.path.endswith(f"/{path}"))
            ]
            if len(found) == 1:
                return found[0].key
        return None

    # --- members of modules ---

    def resolve_import(self, it: FileImport, local: str, home: int, guard: ResolutionGuard) -> AbstractValues:
        """Return the values of an imported name."""
        if it.member:
            return self.member(self.module(it.module, home), it.member, guard)
        if it.local == it.module and "." in it.module:
            return (self.module(local, home),)  # `import a.b` binds the name `a`
        return (self.module(it.module, home),)

    def member(self, module: ModuleValue, name: str, guard: ResolutionGuard) -> AbstractValues:
        if module.file is not None:
            found = self._lookup_in_file(module.file, name, guard)
            if found:
                return found
        joint = "" if module.name.endswith(".") else "."
        inner = self.module(f"{module.name}{joint}{name}", module.home) if self._has_submodules(module) else None
        if inner is not None and (inner.file is not None or module.file is None):
            return (inner,)
        return () if module.file is not None else (ExternalValue(module.name),)

    def _has_submodules(self, module: ModuleValue) -> bool:
        return self._context.facts.outline(module.home).rules.modules == "python"

    def _lookup_in_file(self, file: int, name: str, guard: ResolutionGuard) -> AbstractValues:
        """Return what the file defines or imports under this name."""
        outline = self._context.facts.outline(file)
        found: AbstractValues = tuple(SymbolValue(SymbolRef(file, it)) for it in outline.children(None, name))
        if found and any(outline.symbols[it].kind != "variable" for it in outline.children(None, name)):
            return found
        what = ("module", file, name)
        if not guard.enter(what):
            return found
        try:
            return found + self._re_exported(outline, name, guard)
        finally:
            guard.leave(what)

    def _re_exported(self, outline: FileOutline, name: str, guard: ResolutionGuard) -> AbstractValues:
        found = [
            value
            for it in outline.visible_imports(name, None)
            for value in self.resolve_import(it, name, outline.key, guard)
        ]
        if not found and name == "default":
            found = list(_default_export(outline))
        return tuple(found) or self.wildcard_import(outline, name, guard)

    def wildcard_import(self, outline: FileOutline, name: str, guard: ResolutionGuard) -> AbstractValues:
        """Return the values that `from m import *` gives for a name; the last import wins."""
        if name.startswith("_"):
            return ()
        for imported in reversed(outline.imports_by_name.get("*", ())):
            module = self.module(imported.module, outline.key)
            found = self._lookup_in_file(module.file, name, guard) if module.file is not None else ()
            if found:
                return found
        return ()


def _module_path(path: str) -> str:
    """Convert `a/b.py` to a/b and `a/__init__.py` to a."""
    stem = path.rpartition(".")[0]
    return stem.removesuffix(_PACKAGE_STEM).rstrip("/") if stem.rpartition("/")[2] == _PACKAGE_STEM else stem


def _script_paths(wanted: str) -> list[str]:
    """Return the files a script path may mean; a `.js` path may be compiled from `.ts`."""
    stem = next((wanted[: -len(it)] for it in _SCRIPT_IMPORT_SUFFIXES if wanted.endswith(it)), wanted)
    return [
        wanted,
        *(stem + suffix for suffix in _SCRIPT_FILE_SUFFIXES),
        *(f"{wanted}/index{suffix}" for suffix in _SCRIPT_FILE_SUFFIXES),
    ]


def _default_export(outline: FileOutline) -> AbstractValues:
    """Return the default export of a script: the marked one, or the only definition."""
    top = [place for place, it in enumerate(outline.symbols) if it.parent is None]
    marked = [it for it in top if "default" in outline.symbols[it].modifiers]
    return tuple(SymbolValue(SymbolRef(outline.key, it)) for it in marked or (top if len(top) == 1 else []))


# --------------------------------------------------------------------------------------------------
# Namespaces and packages: definitions found by name and disambiguated by location.

_NAMESPACE_SEPARATORS = re.compile(r"::|[/\\]")
_OWN_CRATE_PREFIXES = frozenset({"crate", "self", "super"})


class Namespaces:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def member(self, namespace: NamespaceValue, name: str) -> AbstractValues:
        """Return a definition in the namespace, or the nested namespace."""
        outline = self._context.facts.outline(namespace.home)
        found = self.lookup(name, namespace.names, outline)
        return found or (NamespaceValue(tuple(f"{it}.{name}" for it in namespace.names), namespace.home),)

    def lookup(self, name: str, namespaces: Sequence[str], outline: FileOutline) -> AbstractValues:
        """Return the definitions of a name in the first of the namespaces that has it."""
        rows = self._rows(name, outline)
        for namespace in namespaces if rows else ():
            found = [it for it in rows if is_in_namespace(it, namespace)]
            if found:
                return self._to_values(found, outline)
        return ()

    def resolve_import(self, it: FileImport, outline: FileOutline, guard: ResolutionGuard) -> AbstractValues:
        """Return the values of a single-name import: a definition, a member of a type, or a namespace."""
        full = dotted_namespace(f"{it.module}.{it.member}" if it.member else it.module)
        namespace, _, name = full.rpartition(".")
        found = self.lookup(name, [namespace], outline)
        if found:
            return found
        holder, _, type_name = namespace.rpartition(".")
        owners = self.lookup(type_name, [holder], outline) if type_name else ()
        members = [
            value for owner in owners if isinstance(owner, SymbolValue) for value in self._static(owner, name, guard)
        ]
        return tuple(members) or (NamespaceValue((full,), outline.key),)

    def wildcard_import(self, outline: FileOutline, name: str, guard: ResolutionGuard) -> AbstractValues:
        """Return the values that wildcard imports of namespaces or types give for a name."""
        opened = [dotted_namespace(it.module) for it in outline.imports_by_name.get("*", ())]
        found = self.lookup(name, opened, outline)
        if found:
            return found
        for full in opened:
            holder, _, type_name = full.rpartition(".")
            owners = self.lookup(type_name, [holder], outline)
            members = [
                value
                for owner in owners
                if isinstance(owner, SymbolValue)
                for value in self._static(owner, name, guard)
            ]
            if members:
                return tuple(members)
        return ()

    def _static(self, owner: SymbolValue, name: str, guard: ResolutionGuard) -> AbstractValues:
        classes = self._context.classes
        return classes.member(classes.type_of(owner.ref), name, guard)

    def visible_without_import(self, outline: FileOutline, name: str) -> AbstractValues:
        """Return definitions visible without an import: in the same folder, or anywhere in the project."""
        rows = [it for it in self._rows(name, outline) if it.collection == outline.record.collection]
        top = [it for it in rows if not self._is_member(it)]
        folder = posixpath.dirname(outline.record.path)
        same_folder = [it for it in top if posixpath.dirname(it.path) == folder]
        if same_folder or outline.rules.implicit_scope != "project":
            return self._to_values(same_folder, outline)
        return self._to_values(top, outline)

    def unique_type(self, outline: FileOutline, name: str) -> AbstractValues:
        """Return the type of this name if the project has exactly one."""
        rows = self._context.facts.types_named(name, outline.rules.family)
        candidates = [it for it in rows if it.collection == outline.record.collection]
        return self._to_values(candidates, outline) if len({(it.name, it.trail) for it in candidates}) == 1 else ()

    def _rows(self, name: str, outline: FileOutline) -> Sequence[NamedDefinition]:
        facts, family = self._context.facts, outline.rules.family
        types = facts.types_named(name, family)
        if outline.rules.implicit_scope == "file":
            return types  # with file-level visibility, functions are always members of types
        functions = facts.functions_named(name, family)
        if outline.rules.split_methods:  # methods are outside types, but reachable only through them
            functions = tuple(it for it in functions if it.kind != "method")
        return (*types, *functions)

    def _is_member(self, it: NamedDefinition) -> bool:
        symbols = self._context.facts.outline(it.ref.record).symbols
        parent = symbols[it.ref.ordinal].parent
        return parent is not None and symbols[parent].kind != "namespace"

    def _to_values(self, found: Iterable[NamedDefinition], outline: FileOutline) -> AbstractValues:
        return tuple(SymbolValue(it.ref) for it in nearest_definitions(list(found), outline))


def nearest_definitions(found: list[NamedDefinition], outline: FileOutline) -> list[NamedDefinition]:
    """Keep the definitions nearest to the file: in the same collection, then with the longest common path."""
    if len(found) < 2:
        return found

    def distance(it: NamedDefinition) -> tuple[bool, int]:
        shared = posixpath.commonpath(["/" + it.path, "/" + outline.record.path])
        return it.collection != outline.record.collection, -len(shared)

    least = min(map(distance, found))
    return [it for it in found if distance(it) == least]


def dotted_namespace(name: str) -> str:
    """Normalize a namespace, package or crate path to dots."""
    parts = _NAMESPACE_SEPARATORS.sub(".", name).strip(".\"'").split(".")
    while len(parts) > 1 and parts[0] in _OWN_CRATE_PREFIXES:
        parts = parts[1:]
    return ".".join(parts)


def is_in_namespace(it: NamedDefinition, namespace: str) -> bool:
    """Return whether a definition is in a namespace, by its enclosing names, else by its folder or file."""
    if it.trail:
        return ".".join(it.trail) == namespace
    if not namespace:
        return True
    stem = it.path.rpartition(".")[0]
    places = (posixpath.dirname(it.path), stem, stem.removesuffix("/mod").removesuffix("/lib"))
    last = namespace.rpartition(".")[2]
    return any(_namespace_matches(place.replace("/", "."), namespace, last) for place in places)


def _namespace_matches(place: str, namespace: str, last: str) -> bool:
    """Match `src.main.java.a.b` with the package `a.b`, and the folder `store` with `example.com.x.store`."""
    return place in (namespace, last) or place.endswith(f".{namespace}") or namespace.endswith(f".{place}")


# --------------------------------------------------------------------------------------------------
# Lookup of bare names: from the innermost scope outwards, then imports, then other files.


class NameScopes:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[str, int, int | None, bool], AbstractValues] = BoundedCache(50_000)

    def find(
        self, name: str, scope: ExpressionScope, guard: ResolutionGuard, *, is_type: bool = False
    ) -> AbstractValues:
        """Return every possible meaning of a name; `is_type` restricts them to types."""
        key = (name, scope.key, scope.symbol, is_type)
        known = self._known.get(key)
        if known is not None:
            return known
        previous, guard.hit_limit = guard.hit_limit, False
        found = self._lookup_in_file(name, scope, guard, is_type) or self._outside_file(name, scope, guard)
        if not guard.hit_limit:
            self._known.put(key, found)
        guard.hit_limit |= previous
        return found

    def _lookup_in_file(
        self, name: str, scope: ExpressionScope, guard: ResolutionGuard, is_type: bool
    ) -> AbstractValues:
        """Look the name up in the enclosing definitions and at the top of the file."""
        outline = self._context.facts.outline(scope.key)
        for ordinal in outline.enclosing_symbols(scope.symbol):
            kind = outline.symbols[ordinal].kind
            if kind in CLASS_KINDS:
                found = self._in_class(name, outline, ordinal, scope, guard)
            else:
                found = _symbol_values(outline, outline.children(ordinal, name))
            found = self._visible(found, outline, is_type)
            if found:
                return found
        return self._visible(self._lookup_at_top(name, outline, scope, guard), outline, is_type)

    def _in_class(
        self, name: str, outline: FileOutline, ordinal: int, scope: ExpressionScope, guard: ResolutionGuard
    ) -> AbstractValues:
        if not outline.rules.bare_members and ordinal != scope.symbol:
            return ()
        classes = self._context.classes
        own_type = classes.type_of(SymbolRef(outline.key, ordinal))
        found = classes.member(own_type, name, guard)
        return tuple(it._replace(how="in its own class") if isinstance(it, SymbolValue) else it for it in found)

    def _lookup_at_top(
        self, name: str, outline: FileOutline, scope: ExpressionScope, guard: ResolutionGuard
    ) -> AbstractValues:
        imports = outline.visible_imports(name, scope.symbol)
        own_ordinals = outline.children(None, name)
        if any(it.within is not None for it in imports):
            own_ordinals = []  # an import inside the function shadows the file's definition
        # A definition shadows an import of the file; a variable may hold the import, wrapped or replaced.
        if any(outline.symbols[it].kind != "variable" for it in own_ordinals):
            return _symbol_values(outline, own_ordinals)
        if outline.rules.modules == "namespace":
            imported = [v for it in imports for v in self._context.namespaces.resolve_import(it, outline, guard)]
        else:
            imported = [v for it in imports for v in self._context.modules.resolve_import(it, name, outline.key, guard)]
        return (*_symbol_values(outline, own_ordinals), *imported)

    def _outside_file(self, name: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        outline = self._context.facts.outline(scope.key)
        if outline.rules.modules != "namespace":
            return self._context.modules.wildcard_import(outline, name, guard) or _builtin(name, outline)
        namespaces = self._context.namespaces
        around = outline.namespaces(scope.symbol)
        found = namespaces.lookup(name, around, outline) or namespaces.wildcard_import(outline, name, guard)
        if not found and outline.rules.implicit_scope != "file":
            found = namespaces.visible_without_import(outline, name)
        found = found or namespaces.unique_type(outline, name)
        return found or (NamespaceValue(tuple(f"{it}.{name}" if it else name for it in around), scope.key),)

    def _visible(self, found: AbstractValues, outline: FileOutline, is_type: bool) -> AbstractValues:
        """Drop constructors and methods defined outside their type: neither is visible as a bare name.

        Where only a type is possible, drop everything else.
        """
        return tuple(it for it in found if not isinstance(it, SymbolValue) or self._is_visible(it, outline, is_type))

    def _is_visible(self, it: SymbolValue, outline: FileOutline, is_type: bool) -> bool:
        kind = self._context.facts.symbol(it.ref).kind
        if kind == "method" and outline.rules.split_methods:
            return False
        if is_type and outline.rules.bare_members:
            return kind in TYPE_KINDS
        return kind != "constructor" and (kind != "namespace" or outline.rules.modules == "path")


def _symbol_values(outline: FileOutline, ordinals: list[int]) -> AbstractValues:
    return tuple(SymbolValue(SymbolRef(outline.key, it)) for it in ordinals)


def _builtin(name: str, outline: FileOutline) -> AbstractValues:
    import builtins

    is_builtin = outline.rules.modules == "python" and hasattr(builtins, name)
    return (ExternalValue("builtins"),) if is_builtin else ()


def external_value_name(value: object) -> str:
    """Return the library name of a value outside the index, or an empty string."""
    if isinstance(value, ExternalValue):
        return value.name
    if isinstance(value, ModuleValue) and value.file is None:
        return value.name
    return value.names[-1] if isinstance(value, NamespaceValue) else ""
