"""Resolve types: classes, members, generics, structural interfaces."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dowse.callgraph import values as library
from dowse.callgraph.facts import (
    ALIAS_KINDS,
    FUNCTION_KINDS,
    TYPE_KINDS,
    VALUE_KINDS,
    BoundedCache,
    Confidence,
    FileOutline,
)
from dowse.callgraph.names import nearest_definitions
from dowse.callgraph.values import (
    ARRAY_TYPE,
    TUPLE_TYPE,
    AbstractValue,
    AbstractValues,
    ExpressionScope,
    ExternalValue,
    InstanceValue,
    LibraryMemberValue,
    LiteralValue,
    ModuleValue,
    NamespaceValue,
    ResolutionGuard,
    ResolvedType,
    SuperValue,
    SymbolValue,
    TypeBindings,
    WrittenType,
    parse_type,
)
from dowse.model import Symbol
from dowse.store.types import Definition, NamedDefinition, SymbolRef
from dowse.text.receiver_expressions import ANY_KEY, CALL_RESULT_KEY, DICT_KEY_PREFIX, parse_entries

if TYPE_CHECKING:
    from dowse.callgraph.resolver import ResolverContext

# --------------------------------------------------------------------------------------------------
# Type parameters of classes and functions, parsed from their signatures.

_PARAMETER_NAMES = re.compile(r"(?:\b(?:in|out|reified)\s+)?([^\W\d]\w*)\s*(?:(?::|\bextends\b)\s*([^,<>\[\]]+))?")
_WHERE_CLAUSE = re.compile(r"\bwhere\s+(\w+)\s*:\s*([^{;=]+?)(?=\s*(?:\bwhere\b|[{=;]|$))")
# The usual names of a Python TypeVar.
_TYPE_VARIABLE = re.compile(r"_?[A-Z]\d?|_?\w*[a-z]T|_?[A-Z]*T|\w+_(?:co|contra)")
_LEADING_PARAMETERS = re.compile(r"(?:^|\s)<([^()]*?)>\s")
_GO_UNCONSTRAINED = frozenset({"any", "comparable"})
_GENERIC_BASES = frozenset({"Generic", "Protocol"})
_NON_TYPE_CONSTRAINTS = frozenset({"class", "struct", "new", "notnull", "unmanaged", "default", ""})


def type_parameters(outline: FileOutline, ordinal: int) -> dict[str, str]:
    """Return the type parameters in order, each with its constraint or an empty string."""
    symbol = outline.symbols[ordinal]
    if outline.rules.family == "go":
        return _go_parameters(symbol)
    if outline.rules.family == "jvm" and symbol.kind in FUNCTION_KINDS:
        return _java_parameters(symbol) or _from_header(symbol, "<", ">")
    if outline.rules.modules == "python":
        return _from_header(symbol, "[", "]") or _from_bases(symbol)
    return _from_header(symbol, "<", ">")


def _go_parameters(symbol: Symbol) -> dict[str, str]:
    """Parse `[K comparable, V Named]`: a constraint applies to all unconstrained names before it."""
    found: dict[str, str] = {}
    inner = _text_after(symbol.name + "[", symbol.signature).partition("]")[0]
    for part in reversed(inner.split(",")):
        name, _, constraint = part.strip().partition(" ")
        if name.isidentifier():
            named = constraint.strip() or next(iter(reversed(found.values())), "")
            found[name] = named if named.replace(".", "").isidentifier() and named not in _GO_UNCONSTRAINED else ""
    return dict(reversed(found.items()))


def _java_parameters(symbol: Symbol) -> dict[str, str]:
    """Parse `<T extends Named> void show(T it)`: Java methods have them before the return type."""
    found = _LEADING_PARAMETERS.search(symbol.signature)
    return {it[1]: (it[2] or "").strip() for it in _PARAMETER_NAMES.finditer(found[1])} if found else {}


def _from_header(symbol: Symbol, opening: str, closing: str) -> dict[str, str]:
    rest = _text_after(symbol.name + opening, symbol.signature)
    if not rest:
        return {}
    names = {it[1]: (it[2] or "").strip() for it in _PARAMETER_NAMES.finditer(rest.partition(closing)[0])}
    for name, constraints in _WHERE_CLAUSE.findall(rest):
        if name in names:
            names[name] = _first_type(constraints)
    return names


def _text_after(opened: str, signature: str) -> str:
    """Return the text after this name as a whole word; no regex, because there are thousands of names."""
    at = signature.find(opened)
    while at > 0 and (signature[at - 1].isalnum() or signature[at - 1] == "_"):
        at = signature.find(opened, at + 1)
    return signature[at + len(opened) :] if at >= 0 else ""


def _first_type(constraints: str) -> str:
    parts = (part.strip().removesuffix("()") for part in constraints.split(","))
    return next((part for part in parts if part not in _NON_TYPE_CONSTRAINTS), "")


def _from_bases(symbol: Symbol) -> dict[str, str]:
    bases = [parse_type(base) for base in symbol.bases]
    declared = [it for it in bases if it.last_name in _GENERIC_BASES and it.arguments]
    return {name: "" for base in declared or bases for name in _type_variables(base)}


def _type_variables(base: WrittenType) -> list[str]:
    return [it.name for it in base.arguments if not it.arguments and _TYPE_VARIABLE.fullmatch(it.name)]


_SELF_TYPES = frozenset({"Self", "self", "this"})
_UNINFORMATIVE_TYPES = frozenset({"", "?", "Any", "any", "dynamic", "unknown", "None", "void", "null", "var"})


class TypeResolver:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._parameters: BoundedCache[SymbolRef, dict[str, str]] = BoundedCache(50_000)

    def resolve(self, text: str, scope: ExpressionScope, guard: ResolutionGuard) -> ResolvedType | None:
        """Resolve a written type; None if it carries no information."""
        return self.resolve_parsed(parse_type(text), scope, guard)

    def resolve_parsed(self, text: WrittenType, scope: ExpressionScope, guard: ResolutionGuard) -> ResolvedType | None:
        if text.name in _UNINFORMATIVE_TYPES:
            return None
        if text.name in _SELF_TYPES:
            return scope.this_type or self._context.classes.enclosing_class(scope)
        is_parameter, bound_type = self._parameter(text.name, scope, guard)
        if is_parameter:
            return bound_type
        if text.last_name in ("Type", "type") and text.arguments:
            return None  # a class passed as a value: calls on it are not calls on an instance
        arguments = tuple(self.resolve_parsed(it, scope, guard) or ResolvedType(it.name) for it in text.arguments)
        return self._resolve_named(text, scope, guard)._replace(arguments=arguments)

    def _parameter(self, name: str, scope: ExpressionScope, guard: ResolutionGuard) -> tuple[bool, ResolvedType | None]:
        """Return whether the name is a type parameter, and the type it is bound to."""
        for bound_name, bound_type in scope.bindings:
            if bound_name == name:
                return True, bound_type
        outline = self._context.facts.outline(scope.key)
        for ordinal in outline.enclosing_symbols(scope.symbol):
            constraint = self.parameters(SymbolRef(scope.key, ordinal)).get(name)
            if constraint is not None:
                beyond = ExpressionScope(scope.key, outline.symbols[ordinal].parent)
                return True, self.resolve(constraint, beyond, guard) if constraint else None
        return False, None

    def parameters(self, place: SymbolRef) -> dict[str, str]:
        known = self._parameters.get(place)
        if known is None:
            outline = self._context.facts.outline(place.record)
            known = self._parameters.put(place, type_parameters(outline, place.ordinal))
        return known

    def _resolve_named(self, text: WrittenType, scope: ExpressionScope, guard: ResolutionGuard) -> ResolvedType:
        first, *rest = text.name.split(".")
        values = self._context.scopes.find(first, scope, guard, is_type=True)
        for name in rest:
            values = tuple(v for value in values for v in self._context.members.member(value, name, guard))
        found = next((it for value in values for it in self._types(value, guard)), None)
        return found or ResolvedType(text.last_name)

    def _is_class(self, symbol_value: SymbolValue) -> bool:
        return self._context.facts.symbol(symbol_value.ref).kind in TYPE_KINDS - {"typeAlias"}

    def _types(self, value: AbstractValue, guard: ResolutionGuard) -> list[ResolvedType]:
        """Return the types that a value names: a class, or an alias of one."""
        if not isinstance(value, SymbolValue):
            return []
        kind = self._context.facts.symbol(value.ref).kind
        if self._is_class(value):
            return [self._context.classes.type_of(value.ref)]
        if kind not in ALIAS_KINDS:
            return []
        values: AbstractValues = self._context.assigned_values.values_of(value, guard)
        named = [
            self._context.classes.type_of(it.ref) for it in values if isinstance(it, SymbolValue) and self._is_class(it)
        ]
        # An alias may be declared as the type itself: `using Users = List<User>`, `Users: TypeAlias = list[User]`.
        return named or [it.type for it in values if isinstance(it, InstanceValue) and kind == "typeAlias"]


# --------------------------------------------------------------------------------------------------
# Indexed classes: method resolution order and member lookup.

_MAX_ANCESTORS = 200


class ClassHierarchy:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._whole: BoundedCache[SymbolRef, ResolvedType] = BoundedCache(50_000)
        self._lines: BoundedCache[ResolvedType, tuple[ResolvedType, ...]] = BoundedCache(20_000)
        self._members: BoundedCache[tuple[ResolvedType, str], AbstractValues] = BoundedCache(100_000)

    # --- classes as types ---

    def type_of(self, place: SymbolRef) -> ResolvedType:
        """Return the type defined at this place, with all its parts."""
        known = self._whole.get(place)
        if known is None:
            symbol = self._context.facts.symbol(place)
            has_parts = self._context.facts.outline(place.record).rules.open_types or _is_partial(symbol)
            parts = self._parts(place) if has_parts else (place,)
            known = self._whole.put(place, ResolvedType(symbol.name, parts))
        return known

    def _parts(self, place: SymbolRef) -> tuple[SymbolRef, ...]:
        facts = self._context.facts
        outline = facts.outline(place.record)
        symbol, trail = outline.symbols[place.ordinal], outline.trail(place.ordinal)
        full = ".".join(trail)
        rows = [
            it
            for it in facts.types_named(symbol.name, outline.rules.family)
            if it.collection == outline.record.collection and ".".join(it.trail) == full
        ]
        if outline.rules.defined_once:
            rows = self._of_one_type(rows, place)
        wanted = [it.ref for it in rows if outline.rules.open_types or _is_partial(facts.symbol(it.ref))]
        return tuple(sorted({*wanted, place}))

    def _of_one_type(self, rows: list[NamedDefinition], place: SymbolRef) -> list[NamedDefinition]:
        """If several files define a type of this name, keep only the parts that belong to the same one."""
        facts = self._context.facts
        whole = [it for it in rows if "impl" not in facts.symbol(it.ref).modifiers]
        if len(whole) < 2:
            return rows
        meant = {it.ref: self._meant(it, whole) for it in rows}
        return [it for it in rows if meant[it.ref] == meant.get(place)]

    def _meant(self, part: NamedDefinition, whole: list[NamedDefinition]) -> SymbolRef:
        """Return the type that a partial definition extends: in its file, else imported by it, else the nearest."""
        if any(it.ref == part.ref for it in whole):
            return part.ref
        outline = self._context.facts.outline(part.ref.record)
        imports = outline.visible_imports(part.name, None)
        imported = [
            v for it in imports for v in self._context.namespaces.resolve_import(it, outline, ResolutionGuard())
        ]
        places = [it.ref for it in imported if isinstance(it, SymbolValue)]
        found = next((it.ref for it in whole if it.ref in places), None)
        return found or nearest_definitions(whole, outline)[0].ref

    def enclosing_class(self, scope: ExpressionScope) -> ResolvedType | None:
        """Return the innermost class around an expression."""
        ordinal = self._context.facts.outline(scope.key).enclosing_class(scope.symbol)
        return None if ordinal is None else self.type_of(SymbolRef(scope.key, ordinal))

    # --- inheritance ---

    def ancestry(self, type: ResolvedType, guard: ResolutionGuard | None = None) -> tuple[ResolvedType, ...]:
        """Return the type and its ancestors in member lookup order."""
        known = self._lines.get(type)
        if known is not None:
            return known
        guard = guard or ResolutionGuard(0)
        what = ("ancestry", type)
        if not guard.enter(what):
            return (type,)
        previous, guard.hit_limit = guard.hit_limit, False
        bases = self.bases(type, guard)
        found = (type, *_c3_merge([*(self.ancestry(it, guard) for it in bases), tuple(bases)], type))
        guard.leave(what)
        if not guard.hit_limit:
            self._lines.put(type, found)
        guard.hit_limit |= previous
        return found

    def bases(self, type: ResolvedType, guard: ResolutionGuard) -> list[ResolvedType]:
        found: list[ResolvedType] = []
        bindings = self.bindings(type)
        for place in type.definitions:
            outline = self._context.facts.outline(place.record)
            symbol = outline.symbols[place.ordinal]
            scope = ExpressionScope(place.record, symbol.parent, bindings)
            resolved = (self._context.types.resolve(text, scope, guard) for text in symbol.bases)
            found += [it for it in resolved if it is not None and it not in found]
        return found

    def bindings(self, type: ResolvedType) -> TypeBindings:
        """Return the type arguments bound to the parameters of a generic type."""
        if not type.arguments or not type.definitions:
            return ()
        return tuple(zip(self._context.types.parameters(type.definitions[0]), type.arguments, strict=False))

    def inherits(self, type: ResolvedType, base: ResolvedType) -> bool:
        return any(it.definitions == base.definitions for it in self.ancestry(type)) if base.definitions else False

    # --- members ---

    def member(self, type: ResolvedType, name: str, guard: ResolutionGuard | None = None) -> AbstractValues:
        """Return the definitions of a member in the first ancestor that has it."""
        key = (type, name)
        known = self._members.get(key)
        if known is not None:
            return known
        guard = guard or ResolutionGuard(0)
        previous, guard.hit_limit = guard.hit_limit, False
        found = self.member_in(type, self.ancestry(type, guard), name)
        if not guard.hit_limit:
            self._members.put(key, found)
        guard.hit_limit |= previous
        return found

    def member_in(self, receiver_type: ResolvedType, ancestors: Sequence[ResolvedType], name: str) -> AbstractValues:
        for entry in ancestors:
            places = self.own_members(entry, name)
            if places:
                bindings = self.bindings(entry)
                through = entry if self._is_taken_in(entry, receiver_type) else receiver_type
                return tuple(SymbolValue(it, through, bindings, is_overridable=True) for it in places)
        return ()

    def _is_taken_in(self, entry: ResolvedType, receiver_type: ResolvedType) -> bool:
        """Return whether a type gets the interface's methods by embedding it, as Go structs do."""
        if not entry.definitions or not receiver_type.definitions or entry.definitions == receiver_type.definitions:
            return False
        symbol = self._context.facts.symbol
        if self._context.facts.outline(entry.definitions[0].record).rules.virtual:
            return False
        return symbol(entry.definitions[0]).kind == "interface" != symbol(receiver_type.definitions[0]).kind

    def own_members(self, type: ResolvedType, name: str) -> list[SymbolRef]:
        """Return the members of this name that the type itself defines."""
        outline = self._context.facts.outline
        found = [
            SymbolRef(it.record, child)
            for it in type.definitions
            for child in outline(it.record).children(it.ordinal, name)
        ]
        if not found and type.definitions and outline(type.definitions[0].record).rules.split_methods:
            return self._split_off(type, name)
        return found

    def _split_off(self, type: ResolvedType, name: str) -> list[SymbolRef]:
        """Return methods of the type that are defined in other files, or above the type."""
        outline = self._context.facts.outline(type.definitions[0].record)
        rows = self._context.facts.extensions_named(name, outline.rules.family)
        return [it.ref for it in rows if self._is_beside(outline, it.path) and self._receiver(it.ref) == type.name]

    def _is_beside(self, outline: FileOutline, path: str) -> bool:
        return posixpath.dirname(path) == posixpath.dirname(outline.record.path)

    def _receiver(self, place: SymbolRef) -> str:
        """Return the receiver type of a method defined outside its type."""
        symbol = self._context.facts.symbol(place)
        is_split_off = "extension" in symbol.modifiers and symbol.parameters
        return parse_type(symbol.parameters[0]).last_name if is_split_off else ""

    def constructors(self, type: ResolvedType, guard: ResolutionGuard | None = None) -> list[SymbolRef]:
        """Return the type's constructors, else those of the first ancestor that has any."""
        outline = self._context.facts.outline
        for entry in self.ancestry(type, guard):
            found = [
                SymbolRef(it.record, child)
                for it in entry.definitions
                for child in outline(it.record).constructors(it.ordinal)
            ]
            if found:
                return found
        return []

    def owner(self, place: SymbolRef) -> ResolvedType | None:
        """Return the class that a definition is a member of."""
        outline = self._context.facts.outline(place.record)
        parent = outline.symbols[place.ordinal].parent
        if parent is None and outline.rules.split_methods:
            return self._owner_beside(place, outline)
        is_member = parent is not None and outline.symbols[parent].kind in TYPE_KINDS
        return self.type_of(SymbolRef(place.record, parent)) if is_member and parent is not None else None

    def _owner_beside(self, place: SymbolRef, outline: FileOutline) -> ResolvedType | None:
        receiver = self._receiver(place)
        rows = self._context.facts.types_named(receiver, outline.rules.family) if receiver else ()
        candidates = (
            it for it in rows if it.collection == outline.record.collection and self._is_beside(outline, it.path)
        )
        return next((self.type_of(it.ref) for it in candidates), None)

    def unknown_base(self, type: ResolvedType, guard: ResolutionGuard) -> str:
        """Return the name of an ancestor that is not indexed, or an empty string."""
        outside = (it.name for it in self.ancestry(type, guard) if not it.definitions)
        return next((it for it in outside if it not in ("object", "Object")), "")


def _c3_merge(lines: list[tuple[ResolvedType, ...]], start: ResolvedType) -> list[ResolvedType]:
    """Return the C3 linearization of several bases; if none exists, fall back to first come, first served."""
    found: list[ResolvedType] = []
    seen = {start.definitions or start.name}
    rest = [list(ancestors) for ancestors in lines if ancestors]
    while rest and len(found) < _MAX_ANCESTORS:
        heads = [ancestors[0] for ancestors in rest]
        tails = {it.definitions or it.name for ancestors in rest for it in ancestors[1:]}
        head = next((it for it in heads if (it.definitions or it.name) not in tails), heads[0])
        identity = head.definitions or head.name
        if identity not in seen:
            seen.add(identity)
            found.append(head)
        rest = [
            remaining
            for ancestors in rest
            if (remaining := [it for it in ancestors if (it.definitions or it.name) != identity])
        ]
    return found


def _is_partial(symbol: Symbol) -> bool:
    return "partial" in symbol.modifiers


# --------------------------------------------------------------------------------------------------
# Structural typing: the types that have all methods of an interface without naming it.

_MAX_METHODS_COMPARED = 400  # methods of the interface's rarest method name
_MAX_EMBEDDING_TYPES = 100
_MAX_TYPES_COMPARED = 1_000  # types compared with one interface
_MAX_INTERFACES = 50  # interfaces that declare a method of one name
_MAX_GUESSED_IMPLEMENTERS = 50  # implementers of a single-method interface
_COMMON_METHOD_TYPES = 8
# Methods that types have for many reasons, so that having this one alone says little.
_UBIQUITOUS_METHODS = frozenset(
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
_TYPE_WORD = re.compile(r"[^\W\d]\w*")
_QUALIFIER = re.compile(r"\b\w+\.(?=\w)|\s+")
_TYPE_SYNONYMS = {"interface{}": "any", "uint8": "byte", "int32": "rune"}
_PRIMITIVE_TYPES = frozenset({"string", "number", "boolean"})
_ANY_RESULT = frozenset({"void", "unknown", "any", ""})


class Implementer(NamedTuple):
    """A type or object literal with the methods of an interface; `members` are its definitions of them."""

    name: str
    ref: SymbolRef
    members: dict[str, tuple[SymbolRef, ...]]


class Implementers(NamedTuple):
    """The implementers of an interface.

    `is_guess`: they share only a method that many types have. `total` includes those left out.
    """

    implementers: tuple[Implementer, ...] = ()
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


_NO_IMPLEMENTERS = Implementers()


class StructuralTypes:
    """Finder of structural implementers, for languages in which having the methods is enough."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[SymbolRef, ...], Implementers] = BoundedCache(5_000)

    def implementers(self, interface: ResolvedType) -> Implementers:
        known = self._known.get(interface.definitions)
        if known is None:
            found = self._find(interface) if self._is_structural(interface) else _NO_IMPLEMENTERS
            known = self._known.put(interface.definitions, found)
        return known

    def interfaces(self, target: SymbolRef) -> Iterator[ResolvedType]:
        """Yield the interfaces, and the types that embed them, through which a call may reach this definition."""
        facts = self._context.facts
        outline = facts.outline(target.record)
        if not outline.rules.structural:
            return
        name = facts.symbol(target).name
        asking: dict[tuple[SymbolRef, ...], ResolvedType] = {}
        for method in facts.functions_named(name, outline.rules.family)[:_MAX_METHODS_COMPARED]:
            owner = self._context.classes.owner(method.ref)
            if owner is not None and self._is_structural(owner):
                subtypes = self._context.overrides.subtypes_named(owner.name)[:_MAX_EMBEDDING_TYPES]
                above = (self._context.classes.type_of(subtype.ref) for subtype in subtypes)
                asking |= {one.definitions: one for one in (owner, *filter(self._is_structural, above))}
                if len(asking) >= _MAX_INTERFACES:
                    break
        for interface in asking.values():
            if any(target in it.members.get(name, ()) for it in self.implementers(interface).implementers):
                yield interface
                subtypes = self._context.overrides.subtypes_named(interface.name)[:_MAX_EMBEDDING_TYPES]
                yield from (self._context.classes.type_of(subtype.ref) for subtype in subtypes)

    def may_miss_interfaces(self, target: SymbolRef) -> bool:
        """Return whether this method name is so common that some interfaces with it are not known."""
        outline = self._context.facts.outline(target.record)
        name = outline.symbols[target.ordinal].name
        return outline.rules.structural and self._context.facts.exceeds_limit(name, outline.rules.family)

    def _is_structural(self, type: ResolvedType) -> bool:
        if not type.definitions or not self._context.facts.outline(type.definitions[0].record).rules.structural:
            return False
        return self._context.facts.symbol(type.definitions[0]).kind == "interface"

    def _find(self, interface: ResolvedType) -> Implementers:
        required = self._required_methods(interface)
        if not required:
            return _NO_IMPLEMENTERS  # every type would implement it
        home = self._context.facts.outline(interface.definitions[0].record)
        rows = min((self._rows(name, interface) for name in required), key=len)
        self._context.facts.prefetch(it.ref.record for it in rows)
        found = [it for it in self._types_with_all(rows, required, interface) if it.ref not in interface.definitions]
        is_common = len(required) == 1 and (
            len(found) > _COMMON_METHOD_TYPES or next(iter(required)).lower() in _UBIQUITOUS_METHODS
        )
        is_guess = is_common or len(rows) >= _MAX_METHODS_COMPARED  # or there are too many methods to compare
        if home.rules.family == "go" and any(name[:1].islower() for name in required):
            folder = posixpath.dirname(home.record.path)
            found = [it for it in found if posixpath.dirname(self._path(it.ref)) == folder]
        return Implementers(tuple(found[:_MAX_GUESSED_IMPLEMENTERS] if is_guess else found), is_guess, len(found))

    def _path(self, place: SymbolRef) -> str:
        return self._context.facts.outline(place.record).record.path

    def _required_methods(self, interface: ResolvedType) -> dict[str, Symbol]:
        """Return the methods an interface requires, including those of embedded interfaces."""
        found: dict[str, Symbol] = {}
        for place in (place for entry in self._context.classes.ancestry(interface) for place in entry.definitions):
            outline = self._context.facts.outline(place.record)
            for symbol in outline.symbols:
                if (
                    symbol.parent == place.ordinal
                    and symbol.kind in FUNCTION_KINDS
                    and not symbol.signature.startswith(f"{symbol.name}?")
                ):
                    found.setdefault(symbol.name, symbol)
        return found

    def _rows(self, name: str, interface: ResolvedType) -> list[NamedDefinition]:
        outline = self._context.facts.outline(interface.definitions[0].record)
        rows = self._context.facts.functions_named(name, outline.rules.family)
        return [it for it in rows if it.collection == outline.record.collection][:_MAX_METHODS_COMPARED]

    def _types_with_all(
        self, rows: list[NamedDefinition], required: dict[str, Symbol], interface: ResolvedType
    ) -> Iterator[Implementer]:
        """Yield the types that have all required methods, among those that define or inherit one of them."""
        classes, symbol = self._context.classes, self._context.facts.symbol
        owners: dict[tuple[SymbolRef, ...], ResolvedType] = {}
        for method in rows:
            owner = classes.owner(method.ref)
            if owner is None:
                yield from self._object_literals(method.ref, required, interface)
                continue
            subtypes = self._context.overrides.subtypes_named(owner.name)[:_MAX_EMBEDDING_TYPES]
            for one in (owner, *(classes.type_of(subtype.ref) for subtype in subtypes)):
                owners.setdefault(one.definitions, one)
        for type in list(owners.values())[:_MAX_TYPES_COMPARED]:
            if symbol(type.definitions[0]).kind != "interface":
                members = {name: self._matching_members(type, one) for name, one in required.items()}
                if all(members.values()):
                    yield Implementer(type.name, type.definitions[0], members)

    def _matching_members(self, type: ResolvedType, required: Symbol) -> tuple[SymbolRef, ...]:
        facts = self._context.facts
        found = (it.ref for it in self._context.classes.member(type, required.name) if isinstance(it, SymbolValue))
        family = facts.outline(type.definitions[0].record).rules.family
        free = set(self._context.types.parameters(type.definitions[0]))
        fits = self._fits_go if family == "go" else _fits_script
        return tuple(it for it in found if fits(required, facts.symbol(it), free))

    def _fits_go(self, required: Symbol, it: Symbol, free: set[str]) -> bool:
        if it.kind not in FUNCTION_KINDS:
            return False
        passed = it.parameters["extension" in it.modifiers :]
        if len(passed) != len(required.parameters) or bool(it.value_expression) != bool(required.value_expression):
            return False
        pairs = zip((*passed, it.value_expression), (*required.parameters, required.value_expression), strict=True)
        return all(self._may_be_same(written, expected, free) for written, expected in pairs)

    def _may_be_same(self, written: str, expected: str, free: set[str]) -> bool:
        """Return whether two written types may be equal, allowing for packages, aliases and type parameters."""
        one, other = _normalize_go_type(written), _normalize_go_type(expected)
        if one == other:
            return True
        words = {*_TYPE_WORD.findall(one), *_TYPE_WORD.findall(other)}
        return any(word in free or len(word) == 1 or self._is_alias(word) for word in words)

    def _is_alias(self, name: str) -> bool:
        return any(it.kind == "typeAlias" for it in self._context.facts.types_named(name, "go"))

    # --- object literals ---

    def _object_literals(
        self, place: SymbolRef, required: dict[str, Symbol], interface: ResolvedType
    ) -> Iterator[Implementer]:
        """Yield the variables and functions around a method that have the interface's type: `const repo: Repo =
        {…}`."""
        outline = self._context.facts.outline(place.record)
        if outline.rules.family != "script":
            return
        inner = outline.symbols[place.ordinal]
        for ordinal, holder in enumerate(outline.symbols):
            is_around = holder.start_line <= inner.start_line and inner.end_line <= holder.end_line
            if (
                not is_around
                or ordinal == place.ordinal
                or holder.kind not in FUNCTION_KINDS | VALUE_KINDS
                or not holder.value_expression
            ):
                continue
            values = self._context.evaluator.values(
                holder.value_expression, ExpressionScope(place.record, ordinal), ResolutionGuard()
            )
            if any(isinstance(it, InstanceValue) and _is_or_contains(it.type, interface) for it in values):
                members: dict[str, list[SymbolRef]] = {}
                for at, it in enumerate(outline.symbols):
                    if it.name in required and holder.start_line <= it.start_line <= it.end_line <= holder.end_line:
                        members.setdefault(it.name, []).append(SymbolRef(place.record, at))
                yield Implementer(
                    holder.name, SymbolRef(place.record, ordinal), {k: tuple(v) for k, v in members.items()}
                )


def structural_implementers(context: ResolverContext, name: str, collections: Sequence[str]) -> list[Definition]:
    """Return the types that implement an interface of this name structurally, each with a note that says so."""
    interfaces = [
        context.classes.type_of(it.ref)
        for it in context.facts.interfaces_named(name)
        if not collections or it.collection in collections
    ]
    found: dict[SymbolRef, Definition] = {}
    for interface in interfaces:
        named = {it.ref for it in context.overrides.subtypes_named(interface.name)}
        structural = context.structures.implementers(interface)
        for implementer in structural.implementers:
            if implementer.ref not in named:
                definition = context.facts.outline(implementer.ref.record).definition(implementer.ref.ordinal)
                found.setdefault(implementer.ref, replace(definition, note=structural.note(interface.name)))
    return sorted(found.values(), key=lambda it: (it.record.collection, it.record.path, it.ordinal))


def _is_or_contains(type: ResolvedType, interface: ResolvedType) -> bool:
    return any(it.definitions == interface.definitions for it in (type, *type.arguments))


def _normalize_go_type(written: str) -> str:
    text = _QUALIFIER.sub("", written).strip(":;")
    for name, other in _TYPE_SYNONYMS.items():
        text = text.replace(name, other)
    return text


def _fits_script(required: Symbol, it: Symbol, _free: Iterable[str]) -> bool:
    """Compare signatures loosely: a function may take fewer parameters; primitive return types must be equal."""
    if it.kind not in FUNCTION_KINDS:
        return it.kind in VALUE_KINDS
    is_optional = (
        "?" in it.signature or "=" in it.signature.replace("=>", "") or "..." in required.signature + it.signature
    )
    if len(it.parameters) > len(required.parameters) and not is_optional:
        return False
    written, expected = it.value_expression.strip(":;"), required.value_expression.strip(":;")
    return written == expected or written not in _PRIMITIVE_TYPES or expected not in _PRIMITIVE_TYPES


# --------------------------------------------------------------------------------------------------
# Extension methods: defined outside the type they are called on.

_TOP_TYPES = frozenset({"object", "Object", "dynamic", "Any", "System.Object"})
_SEQUENCE_INTERFACES = frozenset(
    {"IEnumerable", "IQueryable", "IReadOnlyCollection", "IReadOnlyList", "ICollection", "IList"}
)
_SEQUENCE_TYPES = _SEQUENCE_INTERFACES | {
    ARRAY_TYPE, "HashSet", "Queue", "Stack", "IOrderedEnumerable", "Collection", "ObservableCollection", "DbSet",
    "IGrouping", "ISet", "List", "ImmutableArray", "ImmutableList", "ReadOnlyCollection", "LinkedList", "SortedSet",
    "IOrderedQueryable",
}  # fmt: skip


class ExtensionMethods:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def find(self, type: ResolvedType, name: str, guard: ResolutionGuard) -> AbstractValues:
        """Return the extension methods of this name whose first parameter accepts the type."""
        family = self._family(type)
        rows = self._context.facts.extensions_named(name, family) if family else ()
        found = (self._match(it.ref, type, guard) for it in rows)
        return tuple(it for it in found if it is not None)

    def _family(self, type: ResolvedType) -> str:
        # Only C# extraction sets the `extension` modifier so far; Kotlin and Swift could use it, too.
        places = type.definitions
        return self._context.facts.outline(places[0].record).rules.family if places else "dotnet"

    def _match(self, place: SymbolRef, type: ResolvedType, guard: ResolutionGuard) -> SymbolValue | None:
        symbol = self._context.facts.symbol(place)
        if not symbol.parameters:
            return None
        wanted = parse_type(symbol.parameters[0].removeprefix("this"))
        parameters = self._context.types.parameters(place)
        if wanted.name in parameters:
            return self._match_constraint(place, wanted, parameters[wanted.name], type, guard)
        if wanted.name in _TOP_TYPES:
            return SymbolValue(place, None, (), is_overridable=False, how="extension method")
        entry = next(
            (
                it
                for it in self._context.classes.ancestry(type, guard)
                if _accepts_receiver(wanted, it, set(parameters))
            ),
            None,
        )
        return (
            SymbolValue(place, None, _infer_bindings(wanted, entry, set(parameters)), how="extension method")
            if entry
            else None
        )

    def _match_constraint(
        self, place: SymbolRef, wanted: WrittenType, constraint: str, type: ResolvedType, guard: ResolutionGuard
    ) -> SymbolValue | None:
        limit = parse_type(constraint).last_name
        if limit and all(it.name != limit for it in self._context.classes.ancestry(type, guard)):
            return None
        return SymbolValue(place, None, ((wanted.name, type),), how="extension method")


def _accepts_receiver(wanted: WrittenType, type: ResolvedType, parameters: set[str]) -> bool:
    is_sequence = wanted.last_name in _SEQUENCE_INTERFACES and type.name in _SEQUENCE_TYPES
    if wanted.last_name != type.name and not is_sequence:
        return False
    pairs = zip(wanted.arguments, type.arguments, strict=False)
    return all(wanted.name in parameters or wanted.last_name == argument.name for wanted, argument in pairs)


def _infer_bindings(wanted: WrittenType, type: ResolvedType, parameters: set[str]) -> TypeBindings:
    pairs = zip(wanted.arguments, type.arguments, strict=False)
    return tuple((wanted.name, argument) for wanted, argument in pairs if wanted.name in parameters)


# --------------------------------------------------------------------------------------------------
# Member access on classes, instances, modules and namespaces.

CONTEXT_ENTRY_METHODS = frozenset({"__enter__", "__aenter__"})  # return the object itself by default

_NON_VIRTUAL_MODIFIERS = frozenset({"static", "private", "sealed", "staticmethod"})
_DELEGATE_INVOKERS = frozenset({"Invoke", "BeginInvoke", "DynamicInvoke"})  # how a .NET delegate is invoked
_RUST_POINTERS = frozenset({"Box", "Rc", "Arc"})
_UNIVERSAL_METHODS = frozenset({"ToString", "GetType", "Equals", "GetHashCode", "MemberwiseClone", "ReferenceEquals"})


class MemberLookup:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._extensions = ExtensionMethods(context)

    def member(self, value: AbstractValue, name: str, guard: ResolutionGuard) -> AbstractValues:
        if isinstance(value, SymbolValue):
            return self._member_of_symbol(value, name, guard)
        if isinstance(value, InstanceValue):
            return self.member_of_type(value, name, guard)
        if isinstance(value, SuperValue):
            ancestors = self._context.classes.ancestry(value.type, guard)[1:]
            found = self._context.classes.member_in(value.receiver_type, ancestors, name)
            of_super = tuple(
                it._replace(is_overridable=False, how="super") for it in found if isinstance(it, SymbolValue)
            )
            return of_super or self._from_unknown_base(value.type, guard)
        if isinstance(value, ModuleValue):
            return self._context.modules.member(value, name, guard)
        if isinstance(value, NamespaceValue):
            return self._context.namespaces.member(value, name)
        if isinstance(value, LiteralValue):
            return self._context.elements.member_of_literal(value, name)
        if isinstance(value, LibraryMemberValue):
            return tuple(v for it in value.result_types for v in self.member(InstanceValue(it), name, guard))
        return (value,)

    def _member_of_symbol(self, symbol_value: SymbolValue, name: str, guard: ResolutionGuard) -> AbstractValues:
        kind = self._context.facts.symbol(symbol_value.ref).kind
        if kind in TYPE_KINDS - {"typeAlias"}:
            own_type = self._context.classes.type_of(symbol_value.ref)
            found = self._context.classes.member(own_type, name, guard)
            of_class = tuple(
                it._replace(is_overridable=False, how=f"on {own_type.name}")
                for it in found
                if isinstance(it, SymbolValue)
            )
            return of_class or self._from_unknown_base(own_type, guard)
        if kind == "namespace" or (kind == "enumMember" and name.isdigit()):
            return self._lookup_inside(symbol_value, kind, name, guard)
        if name in _DELEGATE_INVOKERS and kind in FUNCTION_KINDS:
            return (symbol_value,)
        if kind in ALIAS_KINDS:
            values = self._context.assigned_values.values_of(symbol_value, guard)
            return tuple(v for it in values for v in self.member(it, name, guard)) or self._member_of_object_literal(
                symbol_value, name
            )
        return ()

    def _lookup_inside(self, symbol_value: SymbolValue, kind: str, name: str, guard: ResolutionGuard) -> AbstractValues:
        """Return a definition in a namespace, or the content of an enum variant by its number."""
        outline = self._context.facts.outline(symbol_value.ref.record)
        if kind == "namespace":
            return tuple(
                SymbolValue(SymbolRef(outline.key, it)) for it in outline.children(symbol_value.ref.ordinal, name)
            )
        written = parse_type(outline.symbols[symbol_value.ref.ordinal].signature.partition("(")[2].join(("(", "")))
        scope = ExpressionScope(outline.key, outline.symbols[symbol_value.ref.ordinal].parent)
        bare = [it.arguments[0] if it.last_name in _RUST_POINTERS and it.arguments else it for it in written.arguments]
        types = [self._context.types.resolve_parsed(it, scope, guard) for it in bare]
        found = types[int(name)] if int(name) < len(types) else None
        return (InstanceValue(found, how=f"of type {found.name}"),) if found else ()

    def _member_of_object_literal(self, symbol_value: SymbolValue, name: str) -> AbstractValues:
        """Return a function of an object literal assigned to a variable: `const api = { save() {} }`."""
        outline = self._context.facts.outline(symbol_value.ref.record)
        variable = outline.symbols[symbol_value.ref.ordinal]
        if outline.rules.family != "script" or variable.kind != "variable":
            return ()
        inside = (
            it
            for it in outline.children(variable.parent, name)
            if variable.start_line
            <= outline.symbols[it].start_line
            <= outline.symbols[it].end_line
            <= variable.end_line
        )
        return tuple(
            SymbolValue(SymbolRef(outline.key, it), how=f"in {variable.name}")
            for it in inside
            if it != symbol_value.ref.ordinal
        )

    def member_of_type(self, object: InstanceValue, name: str, guard: ResolutionGuard) -> AbstractValues:
        type = object.type
        found = self._context.classes.member(type, name, guard) if type.definitions else ()
        if found:
            return tuple(self._looked_up_on(it, object) for it in found if isinstance(it, SymbolValue))
        if name in CONTEXT_ENTRY_METHODS:
            return (LibraryMemberValue((type,), type.name),)
        extending = self._extensions.find(type, name, guard)
        if extending:
            return extending
        for entry in self._context.classes.ancestry(type, guard):
            result_types = () if entry.definitions else library.library_member_types(entry, name)
            if result_types:
                return (LibraryMemberValue(result_types, entry.name),)
        return (ExternalValue("object"),) if name in _UNIVERSAL_METHODS else self._from_unknown_base(type, guard)

    def _looked_up_on(self, symbol_value: SymbolValue, object: InstanceValue) -> SymbolValue:
        symbol = self._context.facts.symbol(symbol_value.ref)
        is_private = symbol.name.startswith("__") and not symbol.name.endswith("__")  # Python mangles the name
        is_exact_type = object.is_exact_type and symbol_value.receiver_type == object.type
        is_overridable = not is_exact_type and not is_private and _NON_VIRTUAL_MODIFIERS.isdisjoint(symbol.modifiers)
        return symbol_value._replace(is_overridable=is_overridable, how=object.how)

    def _from_unknown_base(self, type: ResolvedType, guard: ResolutionGuard) -> AbstractValues:
        """Return the base that is not indexed, if there is one: the member may come from there."""
        unknown = self._context.classes.unknown_base(type, guard)
        return (ExternalValue(unknown),) if unknown else ()


# --------------------------------------------------------------------------------------------------
# Elements of collections and iterators, and results of awaited values.

_ELEMENT_ACCESS_METHODS = ("__getitem__", "this[]", "__iter__", "__next__", "__aiter__", "__anext__", "GetEnumerator")
_ITERATOR_METHODS = frozenset({"__iter__", "__aiter__", "GetEnumerator"})

_SELF_RETURNING_METHODS = frozenset({"__enter__", "__iter__", "__aiter__"})
_ELEMENT_RETURNING_METHODS = frozenset({"get", "pop", "setdefault", "__getitem__", "__next__", "popleft"})


class ElementAccess:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def element(self, value: AbstractValue, guard: ResolutionGuard, key: str = "") -> AbstractValues:
        """Return the possible elements of a value, or those with this key."""
        aliased = (
            self._context.assigned_values.follow_alias(value, guard) if isinstance(value, SymbolValue) else (value,)
        )
        found = [v for it in aliased if isinstance(it, LiteralValue) for v in self.of_literal(it, key, guard)]
        if found:
            return tuple(dict.fromkeys(found))
        for object in self._context.assigned_values.instances(value, guard):
            for entry in self._context.classes.ancestry(object.type, guard):
                if not entry.definitions:
                    types = _tuple_element(library.library_element_types(entry), entry, key)
                    found += [InstanceValue(it, how=f"element of type {it.name}") for it in types]
                else:
                    found += self._elements_of_type(entry, guard)
                if found:
                    break
        return tuple(found) or ((value,) if isinstance(value, ExternalValue) else ())

    def of_literal(self, literal: LiteralValue, key: str, guard: ResolutionGuard) -> AbstractValues:
        """Return the elements of a literal: by key, by unknown key (`?`), from an index on (`N:`), or all."""
        if key.endswith(":"):
            return (_drop_before(literal, int(key[:-1] or 0)),)
        what = (literal, key)
        if not guard.enter(what):
            return ()
        expressions = list(_matching_entries(parse_entries(literal.text), key))
        found = tuple(
            dict.fromkeys(
                v
                for expression in expressions
                for v in self._context.evaluator.values(expression, literal.scope, guard)
            )
        )
        guard.leave(what)
        if key != "?" or len(found) < 2:
            return found
        return tuple(it._replace(alternatives=len(found)) if isinstance(it, SymbolValue) else it for it in found)

    def member_of_literal(self, literal: LiteralValue, name: str) -> AbstractValues:
        """Model methods of list and dict literals that return elements; the method becomes a lambda."""
        pairs = [(key, expression) for key, expression in parse_entries(literal.text) if key != CALL_RESULT_KEY]
        if name == "copy" or name in _SELF_RETURNING_METHODS:
            results = [literal.text]
        elif name in ("values", "items"):
            expressions = [expression if name == "values" else "{1=" + expression + "}" for _, expression in pairs]
            results = ["{" + "&".join(f"*={expression}" for expression in expressions) + "}"]
        elif name in _ELEMENT_RETURNING_METHODS:
            results = [expression for _, expression in pairs]
        else:
            return (ExternalValue("list"),)
        return (
            LiteralValue(
                "{" + "&".join(f"{CALL_RESULT_KEY}={expression}" for expression in results) + "}", literal.scope
            ),
        )

    def _elements_of_type(self, type: ResolvedType, guard: ResolutionGuard) -> AbstractValues:
        for name in _ELEMENT_ACCESS_METHODS:
            own = [it for it in self._context.classes.member(type, name, guard) if isinstance(it, SymbolValue)]
            values = (v for it in own for v in self._context.assigned_values.values_of(it, guard))
            if own and name in _ITERATOR_METHODS:
                return tuple(v for it in values for v in self._iterator_elements(it, type, guard))
            if own:
                return tuple(values)
        return ()

    def _iterator_elements(self, value: AbstractValue, type: ResolvedType, guard: ResolutionGuard) -> AbstractValues:
        """Return the elements of an iterator; an object that is its own iterator would recurse forever."""
        is_itself = isinstance(value, InstanceValue) and value.type.definitions == type.definitions
        return self._context.members.member(value, "__next__", guard) if is_itself else self.element(value, guard)

    def await_value(self, value: AbstractValue, guard: ResolutionGuard) -> AbstractValues:
        instances = self._context.assigned_values.instances(value, guard)
        return tuple(
            InstanceValue(it, o.is_exact_type, o.how) for o in instances for it in library.library_awaited_types(o.type)
        ) or ((value,) if isinstance(value, ExternalValue) else ())


def _matching_entries(pairs: tuple[tuple[str, str], ...], key: str) -> Iterator[str]:
    for entry_key, expression in pairs:
        bare = entry_key.removeprefix(DICT_KEY_PREFIX)
        if key == CALL_RESULT_KEY or entry_key == CALL_RESULT_KEY:
            is_meant = entry_key == key
        elif key == "?":
            is_meant = True
        elif not key:
            is_meant = not entry_key.startswith(DICT_KEY_PREFIX)  # iterating a dict yields its keys
        else:
            is_meant = bare in (key, ANY_KEY)
        if is_meant:
            yield expression


def _drop_before(literal: LiteralValue, first: int) -> LiteralValue:
    """Return the literal without the elements before an index."""
    pairs = [
        (str(int(key) - first) if key.isdigit() else key, expression) for key, expression in parse_entries(literal.text)
    ]
    return literal._replace(
        text="{" + "&".join(f"{key}={expression}" for key, expression in pairs if not key.startswith("-")) + "}"
    )


def _tuple_element(types: tuple[ResolvedType, ...], type: ResolvedType, key: str) -> tuple[ResolvedType, ...]:
    """Return the tuple element at this index."""
    if type.name not in (TUPLE_TYPE, library.PAIR_TYPE) or not key.isdigit() or len(types) <= int(key):
        return types
    return types[int(key) : int(key) + 1]
