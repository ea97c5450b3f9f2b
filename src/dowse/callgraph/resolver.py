"""Resolve one call site to its possible targets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from dowse.callgraph import values as library
from dowse.callgraph.facts import (
    CLASS_KINDS,
    FUNCTION_KINDS,
    TYPE_KINDS,
    VALUE_KINDS,
    BoundedCache,
    Confidence,
    FactIndex,
    FileImport,
    OutlineCache,
)
from dowse.callgraph.flow import AssignedValues, CandidateFinder, NameMentions, ParameterValues
from dowse.callgraph.names import Aliases, ModuleResolver, NameScopes, Namespaces, external_value_name
from dowse.callgraph.types import (
    CONTEXT_ENTRY_METHODS,
    ClassHierarchy,
    ElementAccess,
    MemberLookup,
    StructuralTypes,
    TypeResolver,
)
from dowse.callgraph.values import (
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
    parse_type,
    type_arguments,
)
from dowse.model import Symbol
from dowse.store.types import NamedDefinition, StoredCall, SymbolRef
from dowse.store.view import StoreView
from dowse.text.receiver_expressions import (
    CALL_RESULT_KEY,
    PARAMETER,
    UNKNOWN_ROOT,
    AccessPath,
    parse_entries,
    parse_expression,
)

# --------------------------------------------------------------------------------------------------
# Results of call resolution.

CONFIDENCE_ORDER: dict[str, int] = {"exact": 0, "virtual": 1, "possible": 2}


class ResolvedTarget(NamedTuple):
    """A definition that a call reaches.

    `is_overridable`: the receiver may also be of a subtype.
    """

    ref: SymbolRef
    how: str
    receiver_type: ResolvedType | None = None
    is_overridable: bool = False
    confidence: Confidence = "exact"
    is_reference: bool = False  # it is passed on, returned or stored, not called


class Resolution(NamedTuple):
    """The targets of a call site; `why` says why there are none and begins with `outside:` for library calls."""

    targets: tuple[ResolvedTarget, ...]
    receiver: str = ""
    why: str = ""

    @property
    def is_outside(self) -> bool:
        return self.why.startswith(OUTSIDE_PREFIX)


OUTSIDE_PREFIX = "outside:"


# --------------------------------------------------------------------------------------------------
# Overload selection by number of arguments.

_OPTIONAL_PARAMETER = re.compile(r"[^=!<>]=(?![=>])|\bparams\b|\.\.\.|\*|\bvararg\b")


def select_overloads(facts: FactIndex, targets: Sequence[ResolvedTarget], arguments: int) -> list[ResolvedTarget]:
    """In languages with overloads, keep the targets that accept the arguments; all, if none seems to."""
    if len(targets) < 2 or not all(facts.outline(it.ref.record).rules.overloads for it in targets):
        return list(targets)
    symbols = [facts.symbol(it.ref) for it in targets]
    wanted = [arguments + (it.how == "extension method") for it in targets]
    exactly = [
        it for it, symbol, count in zip(targets, symbols, wanted, strict=True) if _parameter_count(symbol) == count
    ]
    chosen = exactly or [
        it for it, symbol, count in zip(targets, symbols, wanted, strict=True) if _accepts_count(symbol, count)
    ]
    return _mark_ambiguous(chosen or list(targets), facts)


def _parameter_count(symbol: Symbol) -> int:
    return len(symbol.parameters)


def _accepts_count(symbol: Symbol, arguments: int) -> bool:
    """Return whether parameters are optional or variadic."""
    if not _OPTIONAL_PARAMETER.search(symbol.signature):
        return False
    return arguments < _parameter_count(symbol) or "params " in symbol.signature or "..." in symbol.signature


def _mark_ambiguous(chosen: list[ResolvedTarget], facts: FactIndex) -> list[ResolvedTarget]:
    """Lower the confidence of overloads with equal parameter counts: only argument types could decide."""
    symbols = [facts.symbol(it.ref) for it in chosen]
    owners = [(it.ref.record, symbol.parent, symbol.name) for it, symbol in zip(chosen, symbols, strict=True)]
    return [
        it._replace(confidence="virtual", how=f"one of {owners.count(owner)} overloads")
        if owners.count(owner) > 1 and it.confidence == "exact"
        else it
        for it, owner in zip(chosen, owners, strict=True)
    ]


_Key = tuple[int, int | None, str, int, str]
_OBJECT_CALL = "__call__"
_NO_RECEIVER = "receiver unknown"
_UNKNOWN_MEMBER = "the receiver has no known member of this name"


class Resolver:
    """Cached resolver for one index revision, shared by all threads."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._followed: BoundedCache[_Key, Resolution] = BoundedCache(100_000)
        self._unfollowed: BoundedCache[_Key, Resolution] = BoundedCache(
            100_000
        )  # results for which parameters were not followed

    def cached_resolution(self, site: StoredCall, *, follows_parameters: bool) -> Resolution | None:
        """Return the cached result; one without parameters followed counts only if `follows_parameters` is false."""
        key = _resolution_key(site)
        found = self._followed.get(key)
        return self._unfollowed.get(key) if found is None and not follows_parameters else found

    def resolve(self, site: StoredCall, guard: ResolutionGuard | None = None) -> Resolution:
        """Resolve a call site, within the limits of the given guard or a fresh one."""
        guard = guard or ResolutionGuard()
        key = _resolution_key(site)
        known = self._followed.get(key)
        if known is None and not guard.follows_parameters:
            known = self._unfollowed.get(key)
            guard.skipped_parameters |= known is not None
        if known is not None:
            return known
        previous, guard.hit_limit = guard.hit_limit, False
        skipped_parameters, guard.skipped_parameters = guard.skipped_parameters, False
        is_first = not guard.in_progress
        found = self._compute(site, guard)
        if not guard.hit_limit or (is_first and not guard.spent):
            (self._unfollowed if guard.skipped_parameters else self._followed).put(key, found)
        guard.skipped_parameters |= skipped_parameters
        guard.hit_limit |= previous
        return found

    def _compute(self, site: StoredCall, guard: ResolutionGuard) -> Resolution:
        scope = ExpressionScope(site.record, site.symbol)
        found: dict[SymbolRef, ResolvedTarget] = {}
        receiver, reasons = "", []
        for access_path in parse_expression(site.callee):
            receivers, callees = self._callees(access_path, scope, site, guard)
            receiver = receiver or next(filter(None, (self._type_name(it, guard) for it in receivers)), "")
            targets = list(self._targets(callees, site, guard))
            for target in targets or self._context.fallback.through_subclasses(access_path, receivers):
                found.setdefault(target.ref, target)
            if not targets:
                reasons.append(_failure_reason(access_path, receivers, callees))
        chosen = select_overloads(self._context.facts, list(found.values()), site.arguments)
        if not chosen and reasons and not any(it.startswith(OUTSIDE_PREFIX) for it in reasons):
            chosen = self._context.fallback.by_name(site, scope) if RECEIVER_UNKNOWN_REASON in reasons else []
        return Resolution(tuple(chosen), receiver, "" if chosen else _main_reason(reasons))

    def _callees(
        self, access_path: AccessPath, scope: ExpressionScope, site: StoredCall, guard: ResolutionGuard
    ) -> tuple[AbstractValues, AbstractValues]:
        """Return the possible receivers and callees."""
        evaluator = self._context.evaluator
        if not access_path.steps:
            return (), self._bare(access_path.root, scope, site, guard)
        if not access_path.steps[-1].startswith("."):
            return (), evaluator.evaluate_path(access_path, scope, guard)
        receivers = evaluator.evaluate_path(AccessPath(access_path.root, access_path.steps[:-1]), scope, guard)
        name = access_path.steps[-1][1:].partition("<")[0]
        return receivers, tuple(v for it in receivers for v in self._context.members.member(it, name, guard))

    def _bare(self, root: str, scope: ExpressionScope, site: StoredCall, guard: ResolutionGuard) -> AbstractValues:
        found = self._context.evaluator.evaluate_root(root, scope, guard)
        if site.kind == "new" or (root == "this" and self._in_class_method(scope)):
            return tuple(_as_class(it) for it in found)
        return found

    def _in_class_method(self, scope: ExpressionScope) -> bool:
        outline = self._context.facts.outline(scope.key)
        return any("classmethod" in outline.symbols[it].modifiers for it in outline.enclosing_symbols(scope.symbol))

    # --- callees to definitions ---

    def _targets(
        self, callees: Iterable[AbstractValue], site: StoredCall, guard: ResolutionGuard
    ) -> Iterator[ResolvedTarget]:
        for value in callees:
            if isinstance(value, SymbolValue):
                yield from self._targets_of_symbol(value, site, guard)
            elif isinstance(value, SuperValue):
                bases = self._context.classes.bases(value.type, guard)
                yield from (it for base in bases[:1] for it in self._constructors(base, "super", guard))
            elif isinstance(value, InstanceValue) and site.kind != "raise":
                yield from self._targets_of_instance(value, guard)

    def _targets_of_symbol(
        self, symbol_value: SymbolValue, site: StoredCall, guard: ResolutionGuard
    ) -> Iterator[ResolvedTarget]:
        if symbol_value.alternatives > 1:
            how = f"one of {symbol_value.alternatives} values"
            plain = self._targets_of_symbol(symbol_value._replace(alternatives=1), site, guard)
            yield from (it._replace(how=how, confidence="possible") for it in plain)
            return
        symbol = self._context.facts.symbol(symbol_value.ref)
        if site.kind == "raise" and symbol.kind not in CLASS_KINDS | VALUE_KINDS:
            return
        if symbol.kind in FUNCTION_KINDS:
            yield ResolvedTarget(
                symbol_value.ref,
                symbol_value.how or self._location(symbol_value.ref, site),
                symbol_value.receiver_type,
                symbol_value.is_overridable,
            )
            if symbol.attributes and not symbol_value.is_undecorated and site.kind not in ("refer", "decorate"):
                yield from self._wrappers(symbol_value.ref, symbol, guard)
        elif symbol.kind in CLASS_KINDS and site.kind == "refer":
            # A class is named for many reasons: to catch it, to compare with it, to inherit from it.
            yield ResolvedTarget(symbol_value.ref, "named, possibly not called", confidence="possible")
        elif symbol.kind in CLASS_KINDS:
            yield from self._constructors(
                self._context.classes.type_of(symbol_value.ref), f"creates {symbol.name}", guard
            )
        elif symbol.kind in VALUE_KINDS:
            for value in self._context.assigned_values.values_of(symbol_value, guard):
                if isinstance(value, SymbolValue):
                    targets = self._targets_of_symbol(value, site, guard)
                    yield from (it._replace(how=f"{symbol.kind} {symbol.name}") for it in targets)
                elif isinstance(value, InstanceValue) and site.kind != "raise":
                    yield from self._targets_of_instance(value, guard)

    def _wrappers(self, place: SymbolRef, symbol: Symbol, guard: ResolutionGuard) -> Iterator[ResolvedTarget]:
        """Yield the indexed functions that the decorators of a function replace it with."""
        what = ("decorated", place)
        if not guard.enter(what):
            return
        for site in self._context.facts.sites_of_kind(place.record, "decorate"):
            if not symbol.start_line <= site.line <= symbol.end_line:
                continue
            if not any(key == "0" for key, _ in parse_entries(site.passed)):
                continue
            wrappers = self._context.evaluator.values(
                f"{site.callee}()", ExpressionScope(site.record, site.symbol), guard
            )
            how = f"{symbol.name} is decorated by {site.name}"
            for value in wrappers:
                if isinstance(value, InstanceValue):
                    yield from (target._replace(how=how) for target in self._targets_of_instance(value, guard))
                elif isinstance(value, SymbolValue) and value.ref != place and self._is_function(value.ref):
                    yield ResolvedTarget(value.ref, how)
            break  # the outermost decorator decides
        guard.leave(what)

    def _is_function(self, place: SymbolRef) -> bool:
        return self._context.facts.symbol(place).kind in FUNCTION_KINDS

    def _location(self, place: SymbolRef, site: StoredCall) -> str:
        if place.record == site.record:
            return "in the same file"
        return f"from {self._context.facts.outline(place.record).record.path}"

    def _targets_of_instance(self, object: InstanceValue, guard: ResolutionGuard) -> Iterator[ResolvedTarget]:
        for value in self._context.classes.member(object.type, _OBJECT_CALL, guard) if object.type.definitions else ():
            if isinstance(value, SymbolValue):
                yield ResolvedTarget(value.ref, object.how, object.type, is_overridable=not object.is_exact_type)

    def _constructors(self, type: ResolvedType, how: str, guard: ResolutionGuard) -> Iterator[ResolvedTarget]:
        """Yield the constructors of a type, or the type itself if it declares none."""
        for place in self._context.classes.constructors(type, guard) or type.definitions[:1]:
            yield ResolvedTarget(place, how, type)

    def external_name(self, site: StoredCall, resolution: Resolution) -> str:
        """Return the full name of the library function that a site calls, as far as the source tells it."""
        outline = self._context.facts.outline(site.record)
        access_path = parse_expression(site.callee)[0]
        members = [step[1:].partition("<")[0] for step in access_path.steps if step.startswith(".")]
        imports = outline.visible_imports(access_path.root, site.symbol)
        if imports:
            return ".".join((_imported_name(access_path, imports[0]), *members))
        owner = resolution.why.removeprefix(OUTSIDE_PREFIX).strip()
        return owner if owner.endswith(f".{site.name}") else f"{owner}.{site.name}"

    def _type_name(self, value: AbstractValue, guard: ResolutionGuard) -> str:
        if isinstance(value, InstanceValue):
            return value.type.name
        if isinstance(value, SuperValue):
            return value.type.name
        if isinstance(value, LibraryMemberValue):
            return value.name
        if not isinstance(value, SymbolValue):
            return external_value_name(value)
        if self._context.facts.symbol(value.ref).kind in CLASS_KINDS:
            return self._context.facts.symbol(value.ref).name
        return next((it.type.name for it in self._context.assigned_values.instances(value, guard)), "")


RECEIVER_UNKNOWN_REASON = _NO_RECEIVER


def _resolution_key(site: StoredCall) -> _Key:
    """Return the cache key: everything that a resolution depends on."""
    return site.record, site.symbol, site.callee, site.arguments, site.kind


def _imported_name(access_path: AccessPath, it: FileImport) -> str:
    """Return the imported name: `import a.b as c` binds c to a.b, `import a.b` binds a."""
    if it.member:
        return f"{it.module}.{it.member}"
    return access_path.root if it.local == it.module and "." in it.module else it.module


def _as_class(value: AbstractValue) -> AbstractValue:
    """Return the class: the type in `new T()` is written like an instance of it."""
    return (
        SymbolValue(value.type.definitions[0]) if isinstance(value, InstanceValue) and value.type.definitions else value
    )


def _failure_reason(access_path: AccessPath, receivers: AbstractValues, callees: AbstractValues) -> str:
    for value in (*callees, *receivers):
        name = value.name if isinstance(value, LibraryMemberValue) else external_value_name(value)
        if name:
            return f"{OUTSIDE_PREFIX} {name}"
        if isinstance(value, InstanceValue) and not value.type.definitions:
            return f"{OUTSIDE_PREFIX} {value.type.name}"
        if isinstance(value, SuperValue):
            return f"{OUTSIDE_PREFIX} a base of {value.type.name}"
    if (
        access_path.root == UNKNOWN_ROOT
        or access_path.root.startswith(PARAMETER)
        or (access_path.steps and not receivers)
    ):
        return _NO_RECEIVER
    return _UNKNOWN_MEMBER if access_path.steps else "no indexed definition has this name"


def _main_reason(reasons: list[str]) -> str:
    return next((it for it in reasons if it.startswith(OUTSIDE_PREFIX)), reasons[0] if reasons else _NO_RECEIVER)


# --------------------------------------------------------------------------------------------------
# Symbolic evaluation of an expression: its root, then each member access, call, element access or await.

_MAX_STEPS = 64
_MAX_VALUES = 8


class Evaluator:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def values(self, expression: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        found = (
            value
            for access_path in parse_expression(expression)
            for value in self.evaluate_path(access_path, scope, guard)
        )
        return tuple(dict.fromkeys(found))[:_MAX_VALUES]

    def evaluate_path(self, access_path: AccessPath, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        if len(access_path.steps) > _MAX_STEPS:
            return ()
        values = self.evaluate_root(access_path.root, scope, guard)
        for step in access_path.steps:
            plain, _, written = step.partition("<")
            found: Iterable[AbstractValue] = (
                after for value in values for after in self.apply_step(value, plain, guard)
            )
            if written:
                found = [self._bind_type_arguments(it, f"<{written}", scope, guard) for it in found]
            values = tuple(dict.fromkeys(found))[:_MAX_VALUES]
        return values

    def _bind_type_arguments(
        self, value: AbstractValue, written: str, scope: ExpressionScope, guard: ResolutionGuard
    ) -> AbstractValue:
        """Bind written type arguments: `Create<User>` returns a User where the signature returns a T."""
        types = [self._context.types.resolve(it, scope, guard) for it in type_arguments(written)]
        if isinstance(value, SymbolValue):
            names = self._context.types.parameters(value.ref)
            bindings = tuple((name, it) for name, it in zip(names, types, strict=False) if it is not None)
            return value._replace(bindings=(*bindings, *value.bindings))
        if isinstance(value, ExternalValue | NamespaceValue) and len(types) == 1 and types[0] is not None:
            return LibraryMemberValue(
                (types[0],), external_value_name(value)
            )  # as DI containers do: `GetService<IStore>()`
        return value

    # --- roots ---

    def evaluate_root(self, root: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        if root == UNKNOWN_ROOT:
            return ()
        if root in ("this", "super"):
            return self._this_or_super(root, scope)
        if root.startswith(":"):
            return self.instance_of(root[1:-1], scope, guard)
        if root.startswith(PARAMETER):
            return self._context.parameter_values.values(root, scope, guard)
        if root.startswith("{"):
            return (LiteralValue(root, scope),)
        plain, _, written = root.partition("<")
        found = self._context.scopes.find(plain, scope, guard)
        return tuple(self._bind_type_arguments(it, f"<{written}", scope, guard) for it in found) if written else found

    def _this_or_super(self, root: str, scope: ExpressionScope) -> AbstractValues:
        around = self._context.classes.enclosing_class(scope)
        if around is None:
            return ()
        this_type = scope.this_type or around
        return (
            (InstanceValue(this_type, how="in its own class"),) if root == "this" else (SuperValue(around, this_type),)
        )

    def instance_of(self, text: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        """Return an instance of a written type; for `type[Foo]`, the class itself."""
        written = parse_type(text)
        if written.last_name in ("type", "Type") and written.arguments:
            named = self._context.types.resolve(written.arguments[0].name, scope, guard)
            return tuple(SymbolValue(it) for it in named.definitions[:1]) if named else ()
        found = self._context.types.resolve(text, scope, guard)
        return (InstanceValue(found, how=f"of type {found.name}"),) if found else ()

    # --- steps ---

    def apply_step(self, value: AbstractValue, step: str, guard: ResolutionGuard) -> AbstractValues:
        if step.startswith("."):
            return self._context.members.member(value, step[1:], guard)
        if isinstance(value, ExternalValue | NamespaceValue):
            return (value,)
        if isinstance(value, ModuleValue):
            return () if value.file is not None else (value,)
        if step == "()":
            return self._context.call_results.results_of(value, guard)
        if step == "!":
            return self._context.elements.await_value(value, guard)
        return self._context.elements.element(value, guard, step[1:-1])


# --------------------------------------------------------------------------------------------------
# Fallbacks for calls that types do not resolve: mixins, names that only one class has, similar names.

_MAX_MIXIN_SUBCLASSES = 50
_MIN_COMMON_PREFIX = 4
# Method names that every library has: on an unknown receiver, a match in the index is usually a coincidence.
_COMMON_METHOD_NAMES = frozenset(
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


class NameFallback:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    # --- mixins that rely on members of their subclasses ---

    def through_subclasses(self, access_path: AccessPath, receivers: AbstractValues) -> list[ResolvedTarget]:
        """Resolve a member that a mixin lacks through the classes that combine the mixin with others."""
        if (
            access_path.root not in ("this", "super")
            or len(access_path.steps) != 1
            or not access_path.steps[0].startswith(".")
        ):
            return []
        own_type = next((it.type for it in receivers if isinstance(it, InstanceValue | SuperValue)), None)
        if own_type is None or not own_type.definitions:
            return []
        return self._members_in_subclasses(own_type, access_path.steps[0][1:], after=access_path.root == "super")

    def _members_in_subclasses(self, own_type: ResolvedType, name: str, after: bool) -> list[ResolvedTarget]:
        classes = self._context.classes
        found: dict[object, ResolvedTarget] = {}
        for row in self._context.overrides.subtypes_named(own_type.name)[:_MAX_MIXIN_SUBCLASSES]:
            subtype = classes.type_of(row.ref)
            ancestors = classes.ancestry(subtype)
            at = next((place for place, it in enumerate(ancestors) if it.definitions == own_type.definitions), None)
            if at is None:
                continue
            for value in classes.member_in(subtype, ancestors[at + 1 :] if after else ancestors, name):
                if isinstance(value, SymbolValue):
                    found.setdefault(
                        value.ref, ResolvedTarget(value.ref, f"in {subtype.name}", subtype, confidence="virtual")
                    )
        return list(found.values())

    # --- by name only ---

    def by_name(self, site: StoredCall, scope: ExpressionScope) -> list[ResolvedTarget]:
        """Return the method if exactly one class defines this name and libraries rarely do."""
        if site.name.lower() in _COMMON_METHOD_NAMES or site.name.startswith("__"):
            return []
        outline = self._context.facts.outline(scope.key)
        rows = [
            it
            for it in self._context.facts.functions_named(site.name, outline.rules.family)
            if it.kind == "method" and it.collection == outline.record.collection
        ]
        owners = {(it.trail, it.path) for it in rows}
        return (
            [ResolvedTarget(it.ref, "name match only", confidence="possible") for it in rows]
            if len(owners) == 1
            else []
        )

    # --- similar names ---

    def similar_implementers(self, target: ResolvedTarget) -> list[ResolvedTarget]:
        """Return methods of classes named like an interface that no class declares to implement."""
        receiver_type = target.receiver_type
        if (
            not target.is_overridable
            or receiver_type is None
            or not receiver_type.definitions
            or self._context.overrides.subtypes_named(receiver_type.name)
        ):
            return []
        facts = self._context.facts
        if facts.symbol(receiver_type.definitions[0]).kind != "interface":
            return []
        family = facts.outline(receiver_type.definitions[0].record).rules.family
        rows = facts.functions_named(facts.symbol(target.ref).name, family)
        return [
            ResolvedTarget(it.ref, f"named like {receiver_type.name}", receiver_type, confidence="possible")
            for it in rows
            if it.ref != target.ref and _is_similar_name(receiver_type.name, it)
        ]


def _is_similar_name(interface: str, method: NamedDefinition) -> bool:
    """Compare names like `IDataModelService` and `DataModelWebService`: one contains the stem, or half of it is a
    common prefix."""
    name = method.trail[-1] if method.trail else ""
    is_marked = len(interface) > 2 and interface[0] == "I" and interface[1].isupper()
    stem = interface[1:] if is_marked else ""
    if not stem or name == interface or not name:
        return False
    common = next((at for at, (a, b) in enumerate(zip(stem, name, strict=False)) if a != b), min(len(stem), len(name)))
    return stem in name or (common >= _MIN_COMMON_PREFIX and 2 * common >= len(stem))


# --------------------------------------------------------------------------------------------------
# Dynamic dispatch: the definitions in subtypes that a call through a base or interface may reach.

MAX_SUBTYPES = 2_000
_MAX_SUBTYPES_CHECKED = 100
_PROTOCOL_BASE = "Protocol"
_MAX_PROTOCOLS = 200
_ABSTRACT_KINDS = frozenset({"interface", "trait"})


class DynamicDispatch:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._subtypes: BoundedCache[str, tuple[NamedDefinition, ...]] = BoundedCache(5_000)
        self._supertypes: BoundedCache[SymbolRef, tuple[ResolvedType, ...]] = BoundedCache(20_000)
        self._members_below: BoundedCache[tuple[str, str], tuple[NamedDefinition, ...]] = BoundedCache(50_000)

    def subtypes_named(self, name: str) -> tuple[NamedDefinition, ...]:
        """Return the types that inherit, directly or not, from a type of this name; the name may be ambiguous."""
        known = self._subtypes.get(name)
        if known is not None:
            return known
        found: dict[SymbolRef, NamedDefinition] = {}
        waiting, seen = [name], {name.lower()}
        while waiting and len(found) < MAX_SUBTYPES:
            for subtype in self._context.facts.definitions_extending(waiting.pop(0)):
                found.setdefault(subtype.ref, subtype)
                if subtype.name.lower() not in seen:
                    seen.add(subtype.name.lower())
                    waiting.append(subtype.name)
        return self._subtypes.put(name, tuple(found.values()))

    def overrides_of(self, resolved: ResolvedTarget) -> Iterator[ResolvedTarget]:
        """Yield the other definitions that a dynamically dispatched call may reach, ordered by file and line."""
        receiver_type = self._open_type(resolved)
        if receiver_type is None:
            return
        found: dict[SymbolRef, ResolvedTarget] = {}
        for override in (
            *self._declared_overrides(resolved, receiver_type),
            *self._structural(resolved, receiver_type),
        ):
            found.setdefault(override.ref, override)
        yield from found.values()

    def _open_type(self, resolved: ResolvedTarget) -> ResolvedType | None:
        """Return the receiver type of a call if a subtype may override the method."""
        receiver_type = resolved.receiver_type
        if not resolved.is_overridable or receiver_type is None or not receiver_type.definitions:
            return None
        rules = self._context.facts.outline(receiver_type.definitions[0].record).rules
        return receiver_type if rules.virtual or self._kind(receiver_type) in _ABSTRACT_KINDS else None

    def _kind(self, type: ResolvedType) -> str:
        return self._context.facts.symbol(type.definitions[0]).kind

    def _structural(self, resolved: ResolvedTarget, receiver_type: ResolvedType) -> Iterator[ResolvedTarget]:
        """Yield methods of types that implement the interface structurally."""
        name = self._context.facts.symbol(resolved.ref).name
        implementers = self._context.structures.implementers(receiver_type)
        for implementer in implementers.implementers:
            for place in implementer.members.get(name, ()):
                if self._is_implementation(place):
                    yield ResolvedTarget(
                        place, implementers.how(receiver_type.name), receiver_type, confidence=implementers.confidence
                    )

    def _is_implementation(self, place: SymbolRef) -> bool:
        owner = self._context.classes.owner(place)
        return owner is None or self._kind(owner) not in _ABSTRACT_KINDS

    def _declared_overrides(self, resolved: ResolvedTarget, receiver_type: ResolvedType) -> Iterator[ResolvedTarget]:
        """Yield methods of types that declare to extend or implement the receiver type."""
        facts, classes = self._context.facts, self._context.classes
        yield from self._protocol_implementers(resolved, receiver_type)
        rows = self.subtypes_named(receiver_type.name)
        if not rows:
            return
        places = {it.ref for it in rows}
        name = facts.symbol(resolved.ref).name
        for method in self._members_of_subtypes(receiver_type.name, name):
            owner = classes.owner(method.ref)
            if owner is None or method.ref == resolved.ref or places.isdisjoint(owner.definitions):
                continue
            if owner.definitions != receiver_type.definitions and classes.inherits(owner, receiver_type):
                yield self._via_base(method.ref, receiver_type)
        if self._kind(receiver_type) in _ABSTRACT_KINDS:
            yield from self._inherited_targets(rows, name, resolved, receiver_type)

    def _members_of_subtypes(self, type_name: str, name: str) -> tuple[NamedDefinition, ...]:
        """Return the definitions of this name in files with subtypes of the named type."""
        known = self._members_below.get((type_name, name))
        if known is None:
            facts = self._context.facts
            records = sorted({it.ref.record for it in self.subtypes_named(type_name)})
            known = tuple(facts.members_named(name, records))
            self._members_below.put((type_name, name), known, len(known) + 1)
            facts.prefetch(it.ref.record for it in known)
        return known

    # --- Python protocols: classes implement them without declaring it ---

    @cached_property
    def _protocols(self) -> dict[str, list[ResolvedType]]:
        """Protocols by the names of their members."""
        facts = self._context.facts
        rows = [it for it in facts.definitions_extending(_PROTOCOL_BASE) if it.path.endswith((".py", ".pyi"))][
            :_MAX_PROTOCOLS
        ]
        facts.prefetch(it.ref.record for it in rows)
        found: dict[str, list[ResolvedType]] = {}
        for protocol in rows:
            for name in self._members(self._context.classes.type_of(protocol.ref)):
                found.setdefault(name, []).append(self._context.classes.type_of(protocol.ref))
        return found

    def _members(self, type: ResolvedType) -> list[str]:
        outlines = ((self._context.facts.outline(it.record), it.ordinal) for it in type.definitions)
        return [name for outline, ordinal in outlines for name in outline.member_names(ordinal)]

    def _fits(self, type: ResolvedType, protocol: ResolvedType) -> bool:
        """Return whether the class has every member of the protocol."""
        is_other = type.definitions != protocol.definitions
        return is_other and all(self._context.classes.member(type, name) for name in self._members(protocol))

    def _protocol_implementers(self, resolved: ResolvedTarget, receiver_type: ResolvedType) -> Iterator[ResolvedTarget]:
        """Yield methods of classes that satisfy a protocol without declaring it."""
        facts, classes = self._context.facts, self._context.classes
        name = facts.symbol(resolved.ref).name
        if not any(it.definitions == receiver_type.definitions for it in self._protocols.get(name, ())):
            return
        family = facts.outline(receiver_type.definitions[0].record).rules.family
        rows = facts.functions_named(name, family)[:_MAX_SUBTYPES_CHECKED]
        facts.prefetch(it.ref.record for it in rows)
        for method in rows:
            owner = classes.owner(method.ref)
            if owner is not None and self._fits(owner, receiver_type) and not classes.inherits(owner, receiver_type):
                yield ResolvedTarget(
                    method.ref, f"implements protocol {receiver_type.name}", receiver_type, confidence="virtual"
                )

    def _inherited_targets(
        self, rows: tuple[NamedDefinition, ...], name: str, resolved: ResolvedTarget, receiver_type: ResolvedType
    ) -> Iterator[ResolvedTarget]:
        """Yield interface methods that a class implements by inheriting them from another class."""
        classes = self._context.classes
        seen = {resolved.ref}
        for row in rows[:_MAX_SUBTYPES_CHECKED]:
            subtype = classes.type_of(row.ref)
            if classes.own_members(subtype, name) or not classes.inherits(subtype, receiver_type):
                continue
            for found in classes.member(subtype, name):
                if isinstance(found, SymbolValue) and found.ref not in seen:
                    seen.add(found.ref)
                    owner = classes.owner(found.ref)
                    if owner is not None and not classes.inherits(owner, receiver_type):
                        yield self._via_base(found.ref, receiver_type)

    def _via_base(self, place: SymbolRef, receiver_type: ResolvedType) -> ResolvedTarget:
        kind = self._kind(receiver_type)
        sort = kind if kind in _ABSTRACT_KINDS else "base"
        return ResolvedTarget(place, f"through {sort} {receiver_type.name}", receiver_type, confidence="virtual")

    def dispatch_to(self, resolved: ResolvedTarget, target: SymbolRef) -> ResolvedTarget | None:
        """Return how a dynamically dispatched call may reach this definition, or None."""
        receiver_type = self._open_type(resolved)
        if receiver_type is None:
            return None
        if any(receiver_type.definitions == it.definitions for it in self._nominal_supertypes(target)):
            return ResolvedTarget(target, f"through {receiver_type.name}", receiver_type, confidence="virtual")
        return next((it for it in self._structural(resolved, receiver_type) if it.ref == target), None)

    def supertypes(self, target: SymbolRef) -> tuple[ResolvedType, ...]:
        """Return the indexed types, except the target's own, on which a call may reach the target."""
        return (*self._nominal_supertypes(target), *self._context.structures.interfaces(target))

    def _nominal_supertypes(self, target: SymbolRef) -> tuple[ResolvedType, ...]:
        known = self._supertypes.get(target)
        if known is not None:
            return known
        classes = self._context.classes
        owner = classes.owner(target)
        found = {it.definitions: it for it in classes.ancestry(owner)[1:] if it.definitions} if owner else {}
        name = self._context.facts.symbol(target).name
        for row in self.subtypes_named(owner.name)[:_MAX_SUBTYPES_CHECKED] if owner else ():
            subtype = classes.type_of(row.ref)
            if any(
                isinstance(symbol_value, SymbolValue) and symbol_value.ref == target
                for symbol_value in classes.member(subtype, name)
            ):
                found |= {above.definitions: above for above in classes.ancestry(subtype) if above.definitions}
        if owner is not None:
            found |= {it.definitions: it for it in self._protocols.get(name, ()) if self._fits(owner, it)}
        return self._supertypes.put(target, tuple(found.values()))


# --------------------------------------------------------------------------------------------------
# Values of call expressions: an instance of a class, or the return value of a function.

_CALL_METHOD = "__call__"
_CONTEXT_MANAGER_DECORATORS = frozenset({"contextmanager", "asynccontextmanager"})


class CallResults:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context

    def results_of(self, value: AbstractValue, guard: ResolutionGuard) -> AbstractValues:
        """Return the possible results of calling the value."""
        if isinstance(value, SymbolValue):
            return self._results_of_symbol(value, guard)
        if isinstance(value, InstanceValue):
            return self._results_of_instance(value, guard)
        if isinstance(value, LiteralValue):
            return self._context.elements.of_literal(value, CALL_RESULT_KEY, guard)
        if isinstance(value, LibraryMemberValue):
            return tuple(InstanceValue(it) for it in value.result_types)
        return (value,) if isinstance(value, ExternalValue | NamespaceValue) else ()

    def _results_of_symbol(self, symbol_value: SymbolValue, guard: ResolutionGuard) -> AbstractValues:
        symbol = self._context.facts.symbol(symbol_value.ref)
        if symbol.kind == "delegate":
            return self._context.assigned_values.values_of(symbol_value, guard)
        if symbol.kind in TYPE_KINDS - {"typeAlias"}:
            return (
                InstanceValue(
                    self._context.classes.type_of(symbol_value.ref), is_exact_type=True, how=f"creates {symbol.name}"
                ),
            )
        values = self._context.assigned_values.values_of(symbol_value, guard)
        if symbol.kind not in FUNCTION_KINDS:
            return tuple(v for it in values for v in self.results_of(it, guard))
        if not values and symbol.name in CONTEXT_ENTRY_METHODS and symbol_value.receiver_type:
            return (InstanceValue(symbol_value.receiver_type),)
        if _CONTEXT_MANAGER_DECORATORS.isdisjoint(it.rpartition(".")[2] for it in symbol.attributes):
            return values
        return tuple(v for it in values for v in self._context.elements.element(it, guard)) or values

    def _results_of_instance(self, object: InstanceValue, guard: ResolutionGuard) -> AbstractValues:
        type = object.type
        if not type.definitions:
            return tuple(InstanceValue(it) for it in library.library_result_types(type))
        if self._context.facts.symbol(type.definitions[0]).kind == "delegate":
            return self._context.assigned_values.values_of(
                SymbolValue(type.definitions[0], bindings=self._context.classes.bindings(type)), guard
            )
        callers = self._context.classes.member(type, _CALL_METHOD, guard)
        # `cls()` creates an instance of the class that the method was looked up on.
        return tuple(v for it in callers for v in self.results_of(it, guard)) or (object,)


# --------------------------------------------------------------------------------------------------
# The components of call resolution, wired together.


class ResolverContext:
    """All resolver components for one index revision."""

    def __init__(self, view: StoreView, outlines: OutlineCache) -> None:
        self.facts = FactIndex(view, outlines)
        self.modules = ModuleResolver(self)
        self.namespaces = Namespaces(self)
        self.scopes = NameScopes(self)
        self.types = TypeResolver(self)
        self.classes = ClassHierarchy(self)
        self.members = MemberLookup(self)
        self.call_results = CallResults(self)
        self.assigned_values = AssignedValues(self)
        self.elements = ElementAccess(self)
        self.evaluator = Evaluator(self)
        self.overrides = DynamicDispatch(self)
        self.structures = StructuralTypes(self)
        self.aliases = Aliases(self)
        self.candidate_finder = CandidateFinder(self)
        self.name_mentions = NameMentions(self)
        self.fallback = NameFallback(self)
        self.parameter_values = ParameterValues(self)
        self.resolver = Resolver(self)
