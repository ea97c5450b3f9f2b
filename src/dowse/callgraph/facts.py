"""Facts about files that the call resolver reads from the store."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from dowse.model import EVERYTHING, FRESHNESS_UNKNOWN, Call, DiskFreshness, Record, Scope, Symbol
from dowse.store.types import CodeFacts, Definition, NamedDefinition, NamedFile, StoredCall, SymbolRef
from dowse.store.view import StoreView

# --------------------------------------------------------------------------------------------------
# Kinds of symbols: types, callables and values.

TYPE_KINDS = frozenset({"class", "interface", "struct", "record", "enum", "delegate", "trait", "typeAlias"})
FUNCTION_KINDS = frozenset({"method", "function", "constructor", "storedProcedure", "sqlFunction"})
VALUE_KINDS = frozenset({"field", "property", "variable", "event", "enumMember"})
ALIAS_KINDS = VALUE_KINDS | {"typeAlias"}  # symbols that stand for something else
IMPORT_LINK = "import"
CLASS_KINDS = TYPE_KINDS - {"typeAlias", "delegate"}
CALLABLE_KINDS = FUNCTION_KINDS | CLASS_KINDS | {"property"}
ASSIGN_SITE = "assign"
"""The kind of a site that assigns a function to a member and calls nothing."""


# --------------------------------------------------------------------------------------------------
# Name lookup rules of each language, by file suffix.


@dataclass(frozen=True, slots=True)
class LanguageRules:
    """How one language looks up names.

    - `family`: files of the same family see each other's names.
    - `bare_members`: members are named without their object.
    - `modules`: an import names a Python module, a path, or a namespace.
    - `implicit_scope`: where names of other files are visible without an import: nowhere, the folder, the project.
    - `open_types`: definitions of the same qualified name are parts of one type.
    - `defined_once`: with `open_types`: if several files define the type, a part extends only one of them.
    - `structural`: a type with the methods of an interface implements it.
    - `virtual`: any inherited method may be overridden, not only interface methods.
    - `split_methods`: a method may be in another file of the folder than its type.
    - `delegates`: only values of a delegate type hold functions.
    """

    family: str
    bare_members: bool = False
    modules: Literal["python", "path", "namespace"] = "namespace"
    implicit_scope: Literal["file", "folder", "project"] = "project"
    overloads: bool = False
    case_sensitive: bool = True
    open_types: bool = False
    defined_once: bool = False
    structural: bool = False
    virtual: bool = True
    split_methods: bool = False
    delegates: bool = False


_PYTHON_RULES = LanguageRules("python", modules="python", implicit_scope="file")
_SCRIPT_RULES = LanguageRules("script", modules="path", implicit_scope="file", structural=True)
_DOTNET_RULES = LanguageRules("dotnet", bare_members=True, implicit_scope="file", overloads=True, delegates=True)
_JVM_RULES = LanguageRules("jvm", bare_members=True, implicit_scope="folder", overloads=True)
_GO_RULES = LanguageRules("go", implicit_scope="folder", structural=True, virtual=False, split_methods=True)
_RUST_RULES = LanguageRules("rust", open_types=True, defined_once=True)
_C_RULES = LanguageRules("c", bare_members=True, overloads=True, open_types=True)
_PHP_RULES = LanguageRules("php")
_RUBY_RULES = LanguageRules("ruby", bare_members=True, open_types=True)
_SWIFT_RULES = LanguageRules("swift", bare_members=True, overloads=True, open_types=True)
_SHELL_RULES = LanguageRules("shell")
_SQL_RULES = LanguageRules("sql", case_sensitive=False)
_OTHER_RULES = LanguageRules("other", bare_members=True)

_RULES_BY_SUFFIX = {
    suffix: rules
    for rules, suffixes in (
        (_PYTHON_RULES, "py pyi pyw"),
        (_SCRIPT_RULES, "js jsx mjs cjs ts tsx mts cts vue svelte"),
        (_DOTNET_RULES, "cs vb csx"),
        (_JVM_RULES, "java kt kts scala sc groovy"),
        (_GO_RULES, "go"),
        (_RUST_RULES, "rs"),
        (_C_RULES, "c h cc cpp cxx hh hpp hxx inl m mm ipp tpp ino cu cuh h++ c++"),
        (_PHP_RULES, "php phtml"),
        (_RUBY_RULES, "rb rake gemspec ru podspec"),
        (_SWIFT_RULES, "swift"),
        (_SHELL_RULES, "sh bash zsh ksh bats"),
        (_SQL_RULES, "sql tsql ddl prc pks pkb pkg pck pls plsql plb tps tpb fnc"),
    )
    for suffix in suffixes.split()
}


def rules_for(path: str) -> LanguageRules:
    return _RULES_BY_SUFFIX.get(path.rpartition(".")[2].lower(), _OTHER_RULES)


# --------------------------------------------------------------------------------------------------
# One file's definitions and imports, indexed by name.


@dataclass(frozen=True, slots=True)
class FileImport:
    """One imported name.

    `local` is its name in the file, `*` for a wildcard import; `member` the member of the module, if any. `within` is
    the function that contains the import, if it is local to one.
    """

    module: str
    local: str
    member: str
    within: int | None = None


class FileOutline:
    """The definitions and imports of one file. Immutable, so all threads share it."""

    def __init__(self, facts: CodeFacts) -> None:
        self.key = facts.key
        self.record: Record = facts.record
        self.symbols: tuple[Symbol, ...] = facts.symbols
        self.rules: LanguageRules = rules_for(facts.record.path)
        self._facts = facts

    @cached_property
    def imports(self) -> tuple[FileImport, ...]:
        parts = [(link, *link.context.partition("=")[::2]) for link in self._facts.imports]
        return tuple(
            FileImport(link.target, local, member, self._function_at(link.line)) for link, local, member in parts
        )

    def _function_at(self, line: int) -> int | None:
        if not self.symbols or line < self.symbols[0].start_line:
            return None  # nearly all imports are above the first definition
        around = self.enclosing_symbols(self.at_line(line))
        return next((it for it in around if self.symbols[it].kind in FUNCTION_KINDS), None)

    def visible_imports(self, local: str, symbol: int | None) -> tuple[FileImport, ...]:
        """Return the imports visible under a name at a symbol; those local to enclosing functions take precedence."""
        found = self.imports_by_name.get(local, ())
        if all(it.within is None for it in found):
            return found
        around = list(self.enclosing_symbols(symbol))
        inner = [it for it in found if it.within in around]
        return tuple(inner) or tuple(it for it in found if it.within is None)

    @cached_property
    def imports_by_name(self) -> dict[str, tuple[FileImport, ...]]:
        """Imports by local name; `import a.b` also binds `a`."""
        found: dict[str, tuple[FileImport, ...]] = {}
        for imported in self.imports:
            for local in dict.fromkeys((imported.local, imported.local.partition(".")[0])):
                found[local] = (*found.get(local, ()), imported)
        return found

    @cached_property
    def _children(self) -> dict[tuple[int | None, str], list[int]]:
        found: dict[tuple[int | None, str], list[int]] = {}
        for ordinal, symbol in enumerate(self.symbols):
            found.setdefault((symbol.parent, symbol.name), []).append(ordinal)
        return found

    def children(self, parent: int | None, name: str) -> list[int]:
        """Return the definitions of this name directly inside another, or at the top of the file."""
        return self._children.get((parent, name), [])

    def member_names(self, parent: int) -> list[str]:
        """Return the names defined directly inside a definition."""
        return [name for owner, name in self._children if owner == parent]

    @cached_property
    def _assigned_at(self) -> dict[int, list[Symbol]]:
        found: dict[int, list[Symbol]] = {}
        for symbol in self.symbols:
            if symbol.kind in VALUE_KINDS and symbol.value_expression:
                found.setdefault(symbol.start_line, []).append(symbol)
        return found

    def assigned_at(self, line: int) -> list[Symbol]:
        """Return the variables and fields assigned on this line."""
        return self._assigned_at.get(line, [])

    @cached_property
    def _constructors(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for ordinal, symbol in enumerate(self.symbols):
            if symbol.kind == "constructor" and symbol.parent is not None and "static" not in symbol.modifiers:
                found.setdefault(symbol.parent, []).append(ordinal)
        return found

    def constructors(self, owner: int) -> list[int]:
        return self._constructors.get(owner, [])

    def enclosing_symbols(self, ordinal: int | None) -> Iterator[int]:
        """Yield the symbol and the symbols around it, innermost first."""
        while ordinal is not None and 0 <= ordinal < len(self.symbols):
            yield ordinal
            parent = self.symbols[ordinal].parent
            # A parent precedes its children; otherwise the data is not a tree.
            ordinal = parent if parent is not None and parent < ordinal else None

    def enclosing_class(self, ordinal: int | None) -> int | None:
        return next((it for it in self.enclosing_symbols(ordinal) if self.symbols[it].kind in CLASS_KINDS), None)

    def trail(self, ordinal: int) -> tuple[str, ...]:
        return tuple(self.symbols[it].name for it in self.enclosing_symbols(self.symbols[ordinal].parent))[::-1]

    def namespaces(self, ordinal: int | None) -> list[str]:
        """Return the full names of the namespaces around a symbol, innermost first, the global one last."""
        parts = [
            self.symbols[it].name for it in self.enclosing_symbols(ordinal) if self.symbols[it].kind == "namespace"
        ]
        full = ".".join(reversed(parts)).split(".") if parts else []
        return [".".join(full[:end]) for end in range(len(full), -1, -1)]

    def definition(self, ordinal: int) -> Definition:
        return Definition(self.record, ordinal, self.symbols[ordinal], self.trail(ordinal))

    def at_line(self, line: int) -> int | None:
        """Return the innermost definition that contains the line."""
        around = [place for place, it in enumerate(self.symbols) if it.start_line <= line <= it.end_line]
        return max(around, key=lambda it: (self.symbols[it].start_line, -self.symbols[it].end_line, it), default=None)

    @cached_property
    def last_line(self) -> int:
        """The last line of any definition."""
        return max((it.end_line for it in self.symbols), default=0)


# --------------------------------------------------------------------------------------------------
# Cache of file outlines, loaded in batches and valid as long as the file is unchanged.

MAX_CACHED_OUTLINES = 2_000  # about 100 kB each for a large source file, 20 kB for a typical one


class OutlineCache:
    """LRU cache of outlines, shared by all threads; an entry is valid only for the stamp it was built from."""

    def __init__(self, max_entries: int = MAX_CACHED_OUTLINES) -> None:
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._cached: OrderedDict[int, tuple[str, FileOutline]] = OrderedDict()

    def get(self, view: StoreView, keys: Iterable[int]) -> dict[int, FileOutline]:
        """Return the outlines of those records that exist."""
        stamps = view.fingerprints(list(keys))
        found = self._fresh(stamps)
        missing = [key for key in stamps if key not in found]
        built = {facts.key: FileOutline(facts) for facts in view.facts(missing)} if missing else {}
        self._add({key: (stamps[key], outline) for key, outline in built.items()})
        return found | built

    def _fresh(self, stamps: dict[int, str]) -> dict[int, FileOutline]:
        found = {}
        with self._lock:
            for key, stamp in stamps.items():
                cached = self._cached.get(key)
                if cached is not None and cached[0] == stamp:
                    self._cached.move_to_end(key)
                    found[key] = cached[1]
        return found

    def _add(self, built: dict[int, tuple[str, FileOutline]]) -> None:
        with self._lock:
            self._cached.update(built)
            while len(self._cached) > self._max_entries:
                self._cached.popitem(last=False)


# --------------------------------------------------------------------------------------------------
# Bounded cache for derived facts.

CacheKey = TypeVar("CacheKey")
CacheValue = TypeVar("CacheValue")


class BoundedCache(dict[CacheKey, CacheValue]):
    """A dict that clears itself when full: simple, thread-safe, and full only for very large indexes.

    An entry may count as several, by its `size`.
    """

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most
        self._more = 0  # extra size of entries beyond one each

    def put(self, key: CacheKey, value: CacheValue, size: int = 1) -> CacheValue:
        if len(self) + self._more + size > self._most:
            self.clear()
            self._more = 0
        self._more += size - 1
        self[key] = value
        return value


MAX_DEFINITIONS_PER_NAME = 500
"""Maximum number of definitions read when only the name is known."""

MAX_CACHED_SITES = 200_000
"""Maximum number of cached call sites, about 400 bytes each."""


class FileSites:
    """The call sites of one file, also grouped by the definition that contains them."""

    def __init__(self, sites: tuple[StoredCall, ...]) -> None:
        self.all = sites

    @cached_property
    def _by_symbol(self) -> dict[int | None, tuple[StoredCall, ...]]:
        found: dict[int | None, list[StoredCall]] = {}
        for site in self.all:
            found.setdefault(site.symbol, []).append(site)
        return {symbol: tuple(sites) for symbol, sites in found.items()}

    def sites_inside(self, symbol: int | None) -> tuple[StoredCall, ...]:
        """Return the sites directly inside a definition, without those of nested definitions."""
        return self._by_symbol.get(symbol, ())

    @cached_property
    def sites_with_arguments(self) -> tuple[StoredCall, ...]:
        """Plain calls with arguments worth following."""
        return tuple(it for it in self.all if it.passed and it.kind == "call")


class FactIndex:
    def __init__(self, view: StoreView, outlines: OutlineCache) -> None:
        self._view = view
        self._shared = outlines
        self._outlines: BoundedCache[int, FileOutline] = BoundedCache(5_000)
        self._named: BoundedCache[tuple[str, str, str], tuple[NamedDefinition, ...]] = BoundedCache(50_000)
        self._truncated_names: set[str] = set()
        self._files: BoundedCache[str, tuple[NamedFile, ...]] = BoundedCache(50_000)
        self._extending: BoundedCache[str, tuple[NamedDefinition, ...]] = BoundedCache(50_000)
        self._callable: BoundedCache[str, tuple[NamedDefinition, ...]] = BoundedCache(5_000)
        self._called: BoundedCache[tuple[str, ...], tuple[StoredCall, ...]] = BoundedCache(MAX_CACHED_SITES)
        self._sites: BoundedCache[int, FileSites] = BoundedCache(2_000)
        self._site_cache: BoundedCache[tuple[int, str, str], tuple[StoredCall, ...]] = BoundedCache(MAX_CACHED_SITES)

    def outline(self, key: int) -> FileOutline:
        found = self._outlines.get(key)
        return found if found is not None else self._outlines.put(key, self._shared.get(self._view, [key])[key])

    def prefetch(self, keys: Iterable[int]) -> None:
        """Load several outlines in one query, which is faster than one at a time."""
        missing = [key for key in dict.fromkeys(keys) if key not in self._outlines]
        for key, outline in self._shared.get(self._view, missing).items() if len(missing) > 1 else ():
            self._outlines.put(key, outline)

    def symbol(self, place: SymbolRef) -> Symbol:
        return self.outline(place.record).symbols[place.ordinal]

    def files_named(self, name: str) -> tuple[NamedFile, ...]:
        found = self._files.get(name)
        return found if found is not None else self._files.put(name, tuple(self._view.files_named(name)))

    def types_named(self, name: str, family: str) -> tuple[NamedDefinition, ...]:
        return self._lookup(name, family, "types")

    def functions_named(self, name: str, family: str) -> tuple[NamedDefinition, ...]:
        return self._lookup(name, family, "functions")

    def exceeds_limit(self, name: str, family: str) -> bool:
        """Return whether there are more functions of this name than the lookup limit."""
        self.functions_named(name, family)
        return name in self._truncated_names

    def extensions_named(self, name: str, family: str) -> tuple[NamedDefinition, ...]:
        """Return methods defined outside the type they extend."""
        return self._lookup(name, family, "extensions")

    def _lookup(self, name: str, family: str, sort: str) -> tuple[NamedDefinition, ...]:
        key = (name, family, sort)
        found = self._named.get(key)
        return found if found is not None else self._named.put(key, tuple(self._read(name, family, sort)))

    def _read(self, name: str, family: str, sort: str) -> Iterable[NamedDefinition]:
        kinds: Sequence[str] = sorted(TYPE_KINDS if sort == "types" else FUNCTION_KINDS)
        modifier = "extension" if sort == "extensions" else ""
        rows = self._view.definitions_named([name], kinds=kinds, modifier=modifier, limit=MAX_DEFINITIONS_PER_NAME)
        if len(rows) >= MAX_DEFINITIONS_PER_NAME and sort == "functions":
            self._truncated_names.add(name)
        return (it for it in rows if it.name == name and rules_for(it.path).family == family)

    def callable_named(self, name: str) -> tuple[NamedDefinition, ...]:
        """Return every callable of this name, ignoring case."""
        found = self._callable.get(name)
        if found is None:
            found = self._callable.put(name, tuple(self._view.definitions_named([name], kinds=sorted(CALLABLE_KINDS))))
        return found

    def interfaces_named(self, name: str) -> list[NamedDefinition]:
        """Return the interfaces of this name in any language, ignoring case."""
        return self._view.definitions_named([name], kinds=["interface"], limit=MAX_DEFINITIONS_PER_NAME)

    def members_named(self, name: str, records: Sequence[int]) -> list[NamedDefinition]:
        return [it for it in self._view.definitions_named([name], within=records) if it.name == name]

    def definitions_extending(self, name: str) -> tuple[NamedDefinition, ...]:
        """Return the types with a base of this unqualified name."""
        folded = name.lower()
        found = self._extending.get(folded)
        return (
            found
            if found is not None
            else self._extending.put(folded, tuple(self._view.definitions_extending([folded])))
        )

    def imported_as(self, targets: Sequence[str], member: str) -> list[str]:
        return self._view.imported_as(targets, member)

    def sites_in(self, key: int) -> FileSites:
        found = self._sites.get(key)
        return found if found is not None else self._sites.put(key, FileSites(tuple(self._view.sites_in(key))))

    def sites_of_kind(self, key: int, kind: str) -> tuple[StoredCall, ...]:
        return self._matching_sites(key, kind, "")

    def sites_containing(self, key: int, text: str) -> tuple[StoredCall, ...]:
        """Return the sites of a file with this text in the callee or the arguments."""
        return self._matching_sites(key, "", text)

    def _matching_sites(self, key: int, kind: str, having: str) -> tuple[StoredCall, ...]:
        """Query the matching sites only: a large file has thousands of others."""
        cache_key = (key, kind, having)
        found = self._site_cache.get(cache_key)
        if found is None:
            found = tuple(self._view.sites_in(key, kind=kind, having=having))
            self._site_cache.put(cache_key, found, len(found) + 1)
        return found

    def sites(self, names: Iterable[str], limit: int) -> tuple[StoredCall, ...]:
        """Return the first call sites of these names, ordered by file and line."""
        key = (*sorted(names), str(limit))
        found = self._called.get(key)
        if found is None:
            found = tuple(self._view.sites(key[:-1], limit))
            self._called.put(key, found, len(found) + 1)
        return found


# --------------------------------------------------------------------------------------------------
# Call queries and call trees.

Confidence = Literal["exact", "virtual", "possible"]
"""exact: resolved by names and types; virtual: one of several targets of a call through a base or interface; possible:
a match by name only."""

MAX_CALL_DEPTH = 10


@dataclass(frozen=True, slots=True)
class CallQuery:
    """A query for the callers (`up`) or callees (`down`) of a definition.

    - `owner`: the class or file that defines the name.
    - `at`: path and line instead of a name; selects the innermost definition there.
    - `width`, `nodes`: maximum branches per node and in total; 0 means no limit.
    - `count_beyond_width`: how many branches beyond `width` to count.
    - `deadline_s`: time after which partial results are returned.
    """

    name: str
    owner: str = ""
    direction: Literal["up", "down"] = "up"
    depth: int = 3
    width: int = 10
    nodes: int = 200
    confidence: Confidence = "virtual"  # the minimum shown
    through_interfaces: bool = True
    scope: Scope = EVERYTHING
    path_filter: Callable[[str], bool] | None = None  # applied after the scope
    at: tuple[str, int] | None = None
    deadline_s: float = 5.0
    count_beyond_width: int = 0
    with_references: bool = False  # whether passing, returning or storing a function counts as calling it


@dataclass(frozen=True, slots=True)
class CallEdge:
    """A call from one definition to another.

    `caller` is None for a call at module level, `callee` for an unresolved one. `how` says briefly how the callee was
    resolved; `lines` are all lines of the caller with this call.
    """

    site: Call
    record: Record  # of the call site
    caller: Definition | None
    callee: Definition | None
    receiver: str  # the type it is called on, if known
    confidence: Confidence
    how: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CallNode:
    """An edge and the subtree beyond it.

    `cut` says why branches may be missing: depth, width, nodes, sites (too many to check), time, or cycle (the node is
    its own ancestor). `more` counts the branches left out because of width or nodes, as far as they were counted.
    """

    edge: CallEdge
    branches: tuple[CallNode, ...] = ()
    cut: str = ""
    more: int = 0


@dataclass(frozen=True, slots=True)
class ExternalCall:
    """A library function that is called: its full name, and the lines of the file that call it."""

    name: str
    record: Record
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CallTree:
    """The answer to a call query.

    - `roots`: the definitions queried; `owners`: all classes that define the name.
    - `unresolved`: sites of that name (up) or inside it (down) without a known callee.
    - `visited`: number of definitions expanded; `total`: number of nodes.
    - `cut`, `more`: as in `CallNode`, for the roots.
    - `references`: sites that pass on, return or store a root (up), or functions that the roots treat so (down).
    - `possible`: if no certain caller is known, some calls of the name on an unknown receiver.
    - `more_possible`: number of further possible calls.
    - `external`: library functions that the roots call (down).
    """

    query: CallQuery
    roots: tuple[Definition, ...]
    nodes: tuple[CallNode, ...]
    owners: tuple[str, ...]
    unresolved: tuple[CallEdge, ...]
    visited: int
    total: int
    truncated: bool
    cut: str = ""
    disk_freshness: DiskFreshness = FRESHNESS_UNKNOWN
    more: int = 0
    references: tuple[CallEdge, ...] = ()
    possible: tuple[CallEdge, ...] = ()
    more_possible: int = 0
    external: tuple[ExternalCall, ...] = ()
