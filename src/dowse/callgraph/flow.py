"""Follow values through parameters, returns, assignments and containers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from dowse.callgraph import values as library
from dowse.callgraph.facts import (
    ALIAS_KINDS,
    ASSIGN_SITE,
    CLASS_KINDS,
    FUNCTION_KINDS,
    MAX_CACHED_SITES,
    VALUE_KINDS,
    BoundedCache,
)
from dowse.callgraph.names import DUNDER_CALL
from dowse.callgraph.values import (
    AbstractValue,
    AbstractValues,
    ExpressionScope,
    InstanceValue,
    LibraryMemberValue,
    LiteralValue,
    ResolutionGuard,
    ResolvedType,
    SymbolValue,
    parse_type,
)
from dowse.model import Symbol
from dowse.store.types import StoredCall, SymbolRef
from dowse.text.receiver_expressions import (
    CALL_RESULT_KEY,
    LAMBDA_PARAMETER,
    PARAMETER,
    UNKNOWN_ROOT,
    AccessPath,
    parse_entries,
    parse_expression,
)

if TYPE_CHECKING:
    from dowse.callgraph.facts import FileOutline
    from dowse.callgraph.resolver import ResolverContext

# --------------------------------------------------------------------------------------------------
# Cheap filter for call sites that cannot reach a definition, judged by their text before any file is loaded.

SiteVerdict = Literal["never", "unknown", "parameter", "perhaps"]
"""unknown: the receiver is unknown; parameter: the receiver is a parameter, known only at the function's call sites."""

MAX_SITES_PER_QUERY = 20_000
"""Maximum number of call sites of one name per query."""

_TYPE_PARAMETER = re.compile(r"T[A-Z]?\w*|[A-Z]\d?")


class CallSiteFilter:
    """Filter for calls of members, by names and files of the types on which a call may reach a target.

    `is_coarse`: let nearly everything pass, for queries that accept name matches.
    """

    def __init__(self, context: ResolverContext, targets: tuple[SymbolRef, ...], *, is_coarse: bool = False) -> None:
        self._context = context
        self._names: set[str] = set()
        self._records: set[int] = set()
        self._own_names: set[str] = set()
        self._is_coarse = is_coarse
        self._is_imported = False  # whether a target is imported as a bare name anywhere
        for target in targets:
            self._add(target)

    def _add(self, target: SymbolRef) -> None:
        symbol = self._context.facts.symbol(target)
        owner = self._context.classes.owner(target)
        if (
            owner is None
            or symbol.kind in CLASS_KINDS
            or symbol.kind == "constructor"
            or "extension" in symbol.modifiers
        ):
            self._is_coarse = True  # callable without a receiver of a known type
            return
        types = [*self._context.classes.ancestry(owner), *self._context.overrides.supertypes(target)]
        subtypes = self._context.overrides.subtypes_named(owner.name)
        self._own_names.add(symbol.name)
        self._names |= {it.name for it in types} | {it.name for it in subtypes}
        self._names |= {name for it in owner.definitions for name in self._context.aliases.names_of(it)}
        self._records |= {place.record for it in types for place in it.definitions} | {it.ref.record for it in subtypes}
        self._is_coarse |= self._context.structures.may_miss_interfaces(target)
        self._is_imported |= self._context.aliases.is_imported(target)
        self._is_coarse |= "*" in self._names  # `using static` makes members visible as bare names

    def judge(self, site: StoredCall) -> SiteVerdict:
        parts = parse_expression(site.callee)
        if all(it.root == UNKNOWN_ROOT or it.root[0] == PARAMETER for it in parts):
            return "unknown" if parts[0].root == UNKNOWN_ROOT else "parameter"
        if self._is_coarse or site.name not in self._own_names or any(self._may_lead(it, site) for it in parts):
            return "perhaps"
        return "never"

    def _may_lead(self, access_path: AccessPath, site: StoredCall) -> bool:
        if not access_path.steps:
            return self._is_imported or site.record in self._records
        if len(access_path.steps) > 1:
            return True
        if access_path.root in ("this", "super"):
            return site.record in self._records
        if not access_path.type:
            return True
        last = parse_type(access_path.type).last_name
        return last in self._names or last == "type" or _TYPE_PARAMETER.fullmatch(last) is not None


class CandidateSites(NamedTuple):
    """Call sites with a name of some targets, with verdicts; `hit_site_limit`: there are more than the limit."""

    verdicts: tuple[tuple[SiteVerdict, StoredCall], ...]
    on_parameters: tuple[tuple[int, int], ...]
    hit_site_limit: bool


class CandidateFinder:
    """Cached candidate lookup; candidates depend on the targets alone, so they serve several queries."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[tuple[SymbolRef, ...], bool], CandidateSites] = BoundedCache(MAX_CACHED_SITES)

    def candidates(self, targets: tuple[SymbolRef, ...], *, is_coarse: bool) -> CandidateSites:
        known = self._known.get((targets, is_coarse))
        if known is None:
            known = self._find(targets, is_coarse)
            self._known.put((targets, is_coarse), known, len(known.verdicts) + 1)
        return known

    def _find(self, targets: tuple[SymbolRef, ...], is_coarse: bool) -> CandidateSites:
        aliases, facts = self._context.aliases, self._context.facts
        names = {name for it in targets for name in (*aliases.names_of(it), *aliases.assignment_names(it))}
        sites = facts.sites(names, MAX_SITES_PER_QUERY)
        hit_site_limit = len(sites) >= MAX_SITES_PER_QUERY
        holders = {name for it in targets for name in aliases.holder_names(it, sites)} - names
        if holders:
            sites = facts.sites(names | holders, MAX_SITES_PER_QUERY)
        judge = CallSiteFilter(self._context, targets, is_coarse=is_coarse).judge
        called = (it for it in sites if it.kind != ASSIGN_SITE)
        judged = tuple((verdict, it) for it in called if (verdict := judge(it)) != "never")
        on_parameters = tuple((it.record, it.ordinal) for verdict, it in judged if verdict == "parameter")
        return CandidateSites(judged, on_parameters, hit_site_limit or len(sites) >= MAX_SITES_PER_QUERY)


_CONSTRUCTOR_CALLS = frozenset({"super", "this"})
_NON_CALL_KINDS = frozenset({"refer", ASSIGN_SITE})
_MAX_PASSING_SITES = 2_000
_MAX_CALLS_FOLLOWED = 40  # calls of one function; the values of a function with more calls say little
_MAX_LAMBDA_CALLS = 100  # calls of one file checked as possible calls of a lambda
_TYPED_PARAMETER = re.compile(
    r"(?:\[[^\]]*\]\s*)?(?:(?:this|ref|out|in|params|scoped|readonly)\s+)*(.*[\w>\])?])\s+@?(\w+)"
)
_DOTTED_DEFAULT = re.compile(r"[^\W\d]\w*(?:\.\w+)*")


class FormalParameter(NamedTuple):
    """A parameter in the signature of a function; `stars` precede its name."""

    name: str
    stars: str
    default: str
    type: str = ""  # in languages that write types before names


class ParameterValues:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[SymbolRef, str], AbstractValues] = BoundedCache(20_000)
        self._formals: BoundedCache[SymbolRef, tuple[FormalParameter, ...]] = BoundedCache(20_000)
        self._passing: BoundedCache[SymbolRef, tuple[StoredCall, ...]] = BoundedCache(MAX_CACHED_SITES)

    def values(self, root: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        """Return the possible values of a parameter at the place of its use."""
        if not guard.follows_parameters:
            guard.skipped_parameters = True
            return ()
        if root.startswith(LAMBDA_PARAMETER):
            return self._lambda_arguments(root.removeprefix(LAMBDA_PARAMETER), scope, guard)
        name = root.removeprefix(PARAMETER)
        owner = self.owner(name, scope)
        if owner is None:
            return ()
        known = self._known.get((owner, name))
        if known is not None:
            return known
        what = ("parameter", owner, name)
        if not guard.enter_parameter(what):
            return ()
        previous, guard.hit_limit = guard.hit_limit, False
        found = tuple(dict.fromkeys(self._arguments(owner, name, guard)))
        guard.leave_parameter(what)
        if not guard.hit_limit:
            self._known.put((owner, name), found)
        guard.hit_limit |= previous
        return found

    # --- the owner of a parameter ---

    def owner(self, name: str, scope: ExpressionScope) -> SymbolRef | None:
        """Return the innermost function around with this parameter; for a field, the method that assigns it."""
        outline = self._context.facts.outline(scope.key)
        around = list(outline.enclosing_symbols(scope.symbol))
        for ordinal in around:
            if outline.symbols[ordinal].kind in FUNCTION_KINDS and self._has(SymbolRef(scope.key, ordinal), name):
                return SymbolRef(scope.key, ordinal)
        if not around:
            return None
        symbol = outline.symbols[around[0]]
        setters = [
            ordinal
            for ordinal, it in enumerate(outline.symbols)
            if it.kind in FUNCTION_KINDS
            and (it.parent == symbol.parent or symbol.parent is None)
            and self._has(SymbolRef(scope.key, ordinal), name)
        ]
        at_line = [it for it in setters if _contains_line(outline.symbols[it], symbol.start_line)]
        chosen = at_line or (setters if len(setters) == 1 else [])
        return SymbolRef(scope.key, chosen[0]) if chosen else None

    def _has(self, place: SymbolRef, name: str) -> bool:
        return any(it.name == name for it in self.formals(place))

    def formals(self, place: SymbolRef) -> tuple[FormalParameter, ...]:
        """Return the parameters that callers pass, without the receiver."""
        known = self._formals.get(place)
        if known is None:
            outline = self._context.facts.outline(place.record)
            symbol = outline.symbols[place.ordinal]
            found = tuple(_parse_typed_parameters(symbol) if outline.rules.delegates else _parse_parameters(symbol))
            hidden = not outline.rules.delegates and self._is_method(outline, symbol)
            known = self._formals.put(place, found[1:] if hidden else found)
        return known

    def _is_method(self, outline: FileOutline, symbol: Symbol) -> bool:
        in_class = symbol.parent is not None and outline.symbols[symbol.parent].kind in CLASS_KINDS
        return in_class and "staticmethod" not in symbol.modifiers

    # --- arguments ---

    def _arguments(self, owner: SymbolRef, name: str, guard: ResolutionGuard) -> Iterator[AbstractValue]:
        formals = self.formals(owner)
        number = next((at for at, it in enumerate(formals) if it.name == name), None)
        if number is None:
            return
        formal = formals[number]
        symbol = self._context.facts.symbol(owner)
        for site in self.sites(owner, guard):
            scope = ExpressionScope(site.record, site.symbol)
            path = self._context.facts.outline(site.record).record.path
            how = f"parameter {name} of {symbol.name}, passed at {path}:{site.line}"
            shift = int("extension" in symbol.modifiers and self._is_extension_call(site, owner))
            values = self._arguments_at(site, formal, number - shift, scope, guard)
            if formal.type:
                type = self._context.types.resolve(formal.type, ExpressionScope(owner.record, owner.ordinal), guard)
                values = self._select_overloads(values, type)
            for value in values:
                if isinstance(value, SymbolValue):
                    yield value._replace(how=how, is_undecorated=site.kind == "decorate")
                else:
                    yield value._replace(how=how) if isinstance(value, InstanceValue) else value
        if formal.default:
            parent = self._context.facts.symbol(owner).parent
            yield from self._context.evaluator.values(formal.default, ExpressionScope(owner.record, parent), guard)

    def _is_extension_call(self, site: StoredCall, owner: SymbolRef) -> bool:
        """Return whether the site calls the function as an extension method, so that the receiver is its first
        argument."""
        known = self._context.resolver.resolve(site, ResolutionGuard(0)).targets
        return any(it.ref == owner and it.how == "extension method" for it in known)

    def _arguments_at(
        self, site: StoredCall, formal: FormalParameter, number: int, scope: ExpressionScope, guard: ResolutionGuard
    ) -> AbstractValues:
        pairs = parse_entries(site.passed)
        if formal.stars == "*":
            rest = [
                (str(int(key) - number), expression)
                for key, expression in pairs
                if key.isdigit() and int(key) >= number
            ]
        elif formal.stars:
            rest = [(f"'{key}", expression) for key, expression in pairs if key.isidentifier()]
        else:
            expressions = [expression for key, expression in pairs if key in (str(number), formal.name)]
            expressions += [
                _spread_argument(key, expression, number, formal.name)
                for key, expression in pairs
                if key.startswith("*")
            ]
            return tuple(
                v
                for expression in expressions
                if expression
                for v in self._context.evaluator.values(expression, scope, guard)
            )
        rest += [
            ("*", f"{expression}[]") for key, expression in pairs if key.startswith("*") and not key.startswith("**")
        ]
        return (
            (LiteralValue("{" + "&".join(f"{key}={expression}" for key, expression in rest) + "}", scope),)
            if rest
            else ()
        )

    def sites(self, owner: SymbolRef, guard: ResolutionGuard) -> Iterator[StoredCall]:
        """Yield the calls of a function that pass arguments, within the limits of the guard."""
        passing = self._passing.get(owner)
        if passing is None:
            passing = tuple(islice(self._candidate_sites(owner), _MAX_CALLS_FOLLOWED + 1))
            self._passing.put(owner, passing, len(passing) + 1)
        for count, site in enumerate(passing):
            if count >= _MAX_CALLS_FOLLOWED or not guard.spend(1):
                guard.hit_limit = True
                return
            if any(it.ref == owner for it in self._context.resolver.resolve(site, guard).targets):
                yield site

    def _candidate_sites(self, owner: SymbolRef) -> Iterator[StoredCall]:
        aliases = self._context.aliases
        names = {*aliases.names_of(owner), *aliases.assignment_names(owner)}
        named = self._context.facts.sites(names, _MAX_PASSING_SITES)
        holders = aliases.holder_names(owner, [it for it in named if it.kind == "refer"][:_MAX_LAMBDA_CALLS]) - names
        if holders:
            named = self._context.facts.sites(names | holders, _MAX_PASSING_SITES)
        sieve = CallSiteFilter(self._context, (owner,))
        near = self._constructor_call_files(owner)
        return (
            it
            for it in named
            if it.passed
            and it.kind not in _NON_CALL_KINDS
            and (near is None or it.callee not in _CONSTRUCTOR_CALLS or it.record in near)
            and sieve.judge(it) == "perhaps"
        )

    def _constructor_call_files(self, constructor: SymbolRef) -> set[int] | None:
        """Return the files in which C# `: base(…)` or `: this(…)` may call this constructor, to skip all others."""
        outline = self._context.facts.outline(constructor.record)
        if not outline.rules.delegates or outline.symbols[constructor.ordinal].kind != "constructor":
            return None
        of_class = self._context.classes.owner(constructor)
        if of_class is None:
            return None
        subtypes = self._context.overrides.subtypes_named(of_class.name)
        return {it.record for it in of_class.definitions} | {it.ref.record for it in subtypes}

    # --- fields, properties and events ---

    def assigned_functions(self, place: SymbolRef, type: ResolvedType, guard: ResolutionGuard) -> AbstractValues:
        """Return the functions assigned to a member of a delegate type, anywhere in the index."""
        what = ("assigned", place)
        if not guard.follows_parameters or not guard.enter_parameter(what):
            guard.skipped_parameters |= not guard.follows_parameters
            return ()
        found: list[SymbolValue] = []
        symbol = self._context.facts.symbol(place)
        for site in (
            it for it in self._context.facts.sites({symbol.name}, _MAX_PASSING_SITES) if it.kind == ASSIGN_SITE
        ):
            if not guard.spend(1):
                break
            scope = ExpressionScope(site.record, site.symbol)
            targets = self._context.evaluator.values(site.callee, scope, guard)
            if any(isinstance(it, SymbolValue) and it.ref == place for it in targets):
                expressions = [expression for _, expression in parse_entries(site.passed)]
                values = tuple(
                    v for expression in expressions for v in self._context.evaluator.values(expression, scope, guard)
                )
                path = self._context.facts.outline(site.record).record.path
                how = f"{symbol.kind} {symbol.name}, assigned at {path}:{site.line}"
                symbol_values = (it for it in self._select_overloads(values, type) if isinstance(it, SymbolValue))
                found += [it._replace(how=how) for it in symbol_values]
        guard.leave_parameter(what)
        return tuple({it._replace(how=""): it for it in found}.values())

    def is_delegate_type(self, type: ResolvedType) -> bool:
        if not type.definitions:
            return type.name in library.DOTNET_DELEGATES or type.name.endswith(("EventHandler", "Callback", "Delegate"))
        return self._context.facts.symbol(type.definitions[0]).kind == "delegate"

    def _select_overloads(self, values: AbstractValues, type: ResolvedType | None) -> AbstractValues:
        """Choose the overload that the delegate type accepts; if that is undecidable, mark each as one of several."""
        symbol_values = [it for it in values if isinstance(it, SymbolValue) and self._is_function(it.ref)]
        others = tuple(it for it in values if it not in symbol_values)
        by_name: dict[tuple[int, int | None, str], list[SymbolValue]] = {}
        for symbol_value in symbol_values:
            symbol = self._context.facts.symbol(symbol_value.ref)
            by_name.setdefault((symbol_value.ref.record, symbol.parent, symbol.name), []).append(symbol_value)
        return tuple(it for overloads in by_name.values() for it in self._best_overloads(overloads, type)) + others

    def _is_function(self, place: SymbolRef) -> bool:
        return self._context.facts.symbol(place).kind in FUNCTION_KINDS

    def _best_overloads(self, overloads: list[SymbolValue], type: ResolvedType | None) -> list[SymbolValue]:
        wanted = self._delegate_parameters(type) if type is not None and len(overloads) > 1 else None
        if wanted is not None:
            parameters = {it: self._context.facts.symbol(it.ref).parameters for it in overloads}
            overloads = [it for it in overloads if len(parameters[it]) == len(wanted)] or overloads
            matching = [it for it in overloads if all(map(_accepts_type, parameters[it], wanted))]
            overloads = matching or overloads
        return overloads if len(overloads) < 2 else [it._replace(alternatives=len(overloads)) for it in overloads]

    def _delegate_parameters(self, type: ResolvedType) -> tuple[str, ...] | None:
        """Return the unqualified parameter types of a delegate, an empty string for an unknown one."""
        if type.definitions:
            return tuple(parse_type(it).last_name for it in self._context.facts.symbol(type.definitions[0]).parameters)
        taken = library.delegate_parameters(type)
        return None if taken is None else tuple("" if it is None else it.name for it in taken)

    # --- functions that call their arguments ---

    def library_caller(self, reference: StoredCall) -> str:
        """Return the name of the library function that this reference is passed to and that calls it, if any."""
        if reference.passed != "passed":
            return ""
        is_dotnet = self._context.facts.outline(reference.record).rules.delegates
        higher_order = library.DOTNET_HIGHER_ORDER if is_dotnet else library.PYTHON_HIGHER_ORDER
        for site in self._context.facts.sites_in(reference.record).sites_inside(reference.symbol):
            if site.name not in higher_order or site.kind in _NON_CALL_KINDS:
                continue
            is_passed = any(expression == reference.callee for _, expression in parse_entries(site.passed))
            if is_passed and not self._context.resolver.resolve(site, ResolutionGuard(0)).targets:
                return site.name
        return ""

    # --- lambdas ---

    def _lambda_arguments(self, number: str, scope: ExpressionScope, guard: ResolutionGuard) -> AbstractValues:
        """Return the arguments passed to a lambda by calls in the same file."""
        what = ("lambda", scope.key, number)
        if not guard.enter_parameter(what):
            return ()
        found: list[AbstractValue] = []
        for site in self._context.facts.sites_in(scope.key).sites_with_arguments[:_MAX_LAMBDA_CALLS]:
            site_scope = ExpressionScope(site.record, site.symbol)
            expressions = [expression for key, expression in parse_entries(site.passed) if key == number]
            if expressions and any(map(_is_lambda, self._callees(site, site_scope, guard))):
                found += [
                    v
                    for expression in expressions
                    for v in self._context.evaluator.values(expression, site_scope, guard)
                ]
        guard.leave_parameter(what)
        return tuple(dict.fromkeys(found))

    def _callees(
        self, site: StoredCall, site_scope: ExpressionScope, guard: ResolutionGuard
    ) -> Iterator[AbstractValue]:
        for value in self._context.evaluator.values(site.callee, site_scope, guard):
            yield from self._context.assigned_values.follow_alias(value, guard)


def _is_lambda(value: AbstractValue) -> bool:
    return isinstance(value, LiteralValue) and any(key == CALL_RESULT_KEY for key, _ in parse_entries(value.text))


def _accepts_type(parameter: str, wanted: str) -> bool:
    return not wanted or parse_type(parameter).last_name == wanted


def _spread_argument(key: str, expression: str, number: int, name: str) -> str:
    """Return what a parameter receives from `*x` or `**x`; the key holds the index of the first element."""
    if key.startswith("**"):
        return f"{expression}[{name}]"
    first = int(key[1:]) if key[1:].isdigit() else 0
    return f"{expression}[{number - first}]" if number >= first else ""


def _contains_line(symbol: Symbol, line: int) -> bool:
    return symbol.start_line <= line <= symbol.end_line


def _parse_parameters(symbol: Symbol) -> Iterator[FormalParameter]:
    """Parse the parameters of a signature, splitting at commas outside brackets."""
    _, _, rest = symbol.signature.partition(f"{symbol.name}(")
    depth, start = 0, 0
    for at, sign in enumerate(f"{rest},"):
        if depth == 0 and sign in ",)":
            text = rest[start:at].strip()
            start = at + 1
            bare = text.lstrip("*")
            name = re.split(r"[\s:=]", bare, maxsplit=1)[0]
            if name.isidentifier():
                default = text.rpartition("=")[2].strip() if "=" in text else ""
                is_name = _DOTTED_DEFAULT.fullmatch(default) is not None and default not in ("None", "True", "False")
                yield FormalParameter(name, text[: len(text) - len(bare)], default if is_name else "")
            if sign == ")":
                return
        depth += (sign in "([{") - (sign in ")]}")


def _parse_typed_parameters(symbol: Symbol) -> Iterator[FormalParameter]:
    """Parse C# parameters, `this List<int> them, Action<int> act = null`, ignoring commas inside generic types."""
    opened = re.search(rf"(?<!\w){re.escape(symbol.name)}\s*(?:<[^()]*>)?\s*\(", symbol.signature)
    rest = symbol.signature[opened.end() :] if opened else ""
    depth, start = 0, 0
    for at, sign in enumerate(rest):
        if depth == 0 and sign in ",)":
            written = _TYPED_PARAMETER.fullmatch(rest[start:at].partition("=")[0].strip())
            start = at + 1
            if written is not None:
                yield FormalParameter(written[2], "", "", written[1])
            if sign == ")":
                return
        depth += (sign in "([{<") - (sign in ")]}>")


# --------------------------------------------------------------------------------------------------
# Values behind names: of fields and variables, and return values of functions.

_ASSIGNABLE_KINDS = frozenset({"field", "property", "event"})


class AssignedValues:
    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._cache: BoundedCache[tuple[SymbolValue, bool], AbstractValues] = BoundedCache(50_000)

    def values_of(self, symbol_value: SymbolValue, guard: ResolutionGuard) -> AbstractValues:
        """Return the value of a field, property or variable, or what a function returns."""
        for follows_parameters in (True, guard.follows_parameters):
            known = self._cache.get((symbol_value, follows_parameters))
            if known is not None:
                guard.skipped_parameters |= not follows_parameters
                return known
        if not guard.enter(symbol_value):
            return ()
        previous, guard.hit_limit = guard.hit_limit, False
        skipped_parameters, guard.skipped_parameters = guard.skipped_parameters, False
        found = self._evaluate(symbol_value, guard)
        guard.leave(symbol_value)
        if not guard.hit_limit:
            self._cache.put((symbol_value, not guard.skipped_parameters), found)
        guard.skipped_parameters |= skipped_parameters
        guard.hit_limit |= previous
        return found

    def _evaluate(self, symbol_value: SymbolValue, guard: ResolutionGuard) -> AbstractValues:
        place = symbol_value.ref
        symbol = self._context.facts.symbol(place)
        if symbol.kind == "enumMember":
            owner = self._context.classes.owner(place)
            return (InstanceValue(owner, is_exact_type=True, how=f"of type {owner.name}"),) if owner else ()
        if not symbol.value_expression:
            return ()
        scope = ExpressionScope(place.record, place.ordinal, symbol_value.bindings, symbol_value.receiver_type)
        mark = "()" if symbol.kind in FUNCTION_KINDS else ""
        values = self._context.evaluator.values(symbol.value_expression, scope, guard)
        found = [it for value in values for it in self.follow_alias(value, guard)]
        if symbol.kind in _ASSIGNABLE_KINDS and self._context.facts.outline(place.record).rules.delegates:
            found += [
                it
                for type in self._function_types(found)
                for it in self._context.parameter_values.assigned_functions(place, type, guard)
            ]
        return tuple(
            it._replace(how=f"{symbol.kind} {symbol.name}{mark}: {it.type.name}")
            if isinstance(it, InstanceValue)
            else it
            for it in found
        )

    def _function_types(self, values: Iterable[AbstractValue]) -> list[ResolvedType]:
        return [
            it.type
            for it in values
            if isinstance(it, InstanceValue) and self._context.parameter_values.is_delegate_type(it.type)
        ][:1]

    def follow_alias(self, value: AbstractValue, guard: ResolutionGuard) -> AbstractValues:
        """Follow a name that stands for another name, so that the result is never just a name."""
        if isinstance(value, SymbolValue) and self._context.facts.symbol(value.ref).kind in ALIAS_KINDS:
            return self.values_of(value, guard)
        return (value,)

    def instances(self, value: AbstractValue, guard: ResolutionGuard) -> list[InstanceValue]:
        """Return the value as instances; a name stands for its value."""
        if isinstance(value, InstanceValue):
            return [value]
        if isinstance(value, LibraryMemberValue):
            return [InstanceValue(it) for it in value.result_types]
        if isinstance(value, SymbolValue) and self._context.facts.symbol(value.ref).kind in ALIAS_KINDS:
            return [it for it in self.values_of(value, guard) if isinstance(it, InstanceValue)]
        return []


# --------------------------------------------------------------------------------------------------
# Calls that may reach a definition without naming it, because it was passed, returned or stored before.
#
# These sites are only suspects; the resolver decides. So names are compared as text, and the number of scans is
# bounded.

_MAX_INDIRECT_SITES_READ = 2_000
_MAX_HOLDER_NAMES = 12
_MAX_SUSPECTS = 100
MAX_FILE_SCANS = 16  # scans of one file for one name
_LIBRARY_DECORATORS = frozenset(
    {
        "property", "classmethod", "staticmethod", "abstractmethod", "cached_property", "setter", "getter", "deleter",
        "overload", "override", "final", "wraps", "dataclass", "lru_cache", "cache", "contextmanager",
        "asynccontextmanager", "total_ordering", "unique", "fixture",
    }
)  # fmt: skip
"""Library decorators, which never call indexed code."""
_HOLDER_KINDS = FUNCTION_KINDS | VALUE_KINDS
_GENERIC_NAMES = frozenset({"super", "base", "this", "__init__", "__construct", "initialize", "init", DUNDER_CALL, "*"})


class FileMentions(NamedTuple):
    """Where one file mentions a name.

    `holders` are the variables and functions whose value contains the name, `defaults` the functions with it in their
    signature. Each site comes with two flags: the callee contains the name, the arguments contain it.
    """

    holders: tuple[str, ...]
    sites: tuple[tuple[StoredCall, bool, bool], ...]
    defaults: tuple[SymbolRef, ...]


class NameMentions:
    """Text search for names in the expressions of a file."""

    def __init__(self, context: ResolverContext) -> None:
        self._context = context
        self._known: BoundedCache[tuple[int, str], FileMentions] = BoundedCache(20_000)

    def find(self, key: int, name: str) -> FileMentions:
        known = self._known.get((key, name))
        return known if known is not None else self._known.put((key, name), self._read(key, name))

    def _read(self, key: int, name: str) -> FileMentions:
        pattern = re.compile(rf"(?<![\w$]){re.escape(name)}(?!\w)")

        def has(text: str) -> bool:
            return name in text and pattern.search(text) is not None

        symbols = self._context.facts.outline(key).symbols
        flagged = ((it, has(it.callee), has(it.passed)) for it in self._context.facts.sites_containing(key, name))
        return FileMentions(
            tuple(it.name for it in symbols if it.kind in _HOLDER_KINDS and has(it.value_expression)),
            tuple(it for it in flagged if (it[1] or it[2]) and it[0].kind != "refer"),
            tuple(
                SymbolRef(key, ordinal)
                for ordinal, it in enumerate(symbols)
                if it.kind in FUNCTION_KINDS and "=" in it.signature and has(it.signature)
            ),
        )


class IndirectCallFinder:
    """Finder of indirect call sites for some targets.

    It scans files for names at most `scans` times; `scanned` counts the scans done.
    """

    def __init__(self, context: ResolverContext, targets: Iterable[SymbolRef], scans: int = MAX_FILE_SCANS) -> None:
        self._context = context
        self._most_scans = scans
        self.scanned = 0
        self._found: dict[tuple[int, int], StoredCall] = {}
        self._names: dict[str, None] = {}
        self._entered: set[SymbolRef] = set()
        self._homes: dict[str, list[int]] = {}  # files that define a member that is assigned something, by member name
        self._targets = tuple(targets)
        self._own = {name for it in self._targets for name in self._names_of(it)} - _GENERIC_NAMES

    def sites(self, references: Iterable[StoredCall]) -> list[StoredCall]:
        """Return suspected sites that do not name a target; `references` are the sites that do."""
        homes = [it.record for it in self._targets if self._may_be_wrapped(it)]
        for reference in references:
            homes.append(reference.record)
            self._own.add(reference.callee.rpartition(".")[2])
        homes = list(dict.fromkeys(homes))
        for name in sorted(self._own - _GENERIC_NAMES) if homes else ():
            self._follow(name, homes)
        return list(self._found.values())

    def _names_of(self, target: SymbolRef) -> Iterator[str]:
        """Yield the target's name, or its class's name for constructors and `__call__`."""
        symbol = self._context.facts.symbol(target)
        yield symbol.name
        owner = self._context.classes.owner(target) if symbol.name in _GENERIC_NAMES else None
        if owner is not None:
            yield owner.name

    def _may_be_wrapped(self, target: SymbolRef) -> bool:
        """Return whether an indexed decorator or an enclosing factory function may hide the target from its callers."""
        outline = self._context.facts.outline(target.record)
        symbol = outline.symbols[target.ordinal]
        if outline.rules.modules != "python":
            return False
        parent = None if symbol.parent is None else outline.symbols[symbol.parent]
        is_given = parent is not None and parent.kind in FUNCTION_KINDS and symbol.name in parent.value_expression
        is_decorated = any(it.rpartition(".")[2] not in _LIBRARY_DECORATORS for it in symbol.attributes)
        return is_given or symbol.name == DUNDER_CALL or (is_decorated and self._has_own_decorator(target))

    def _has_own_decorator(self, target: SymbolRef) -> bool:
        symbol = self._context.facts.symbol(target)
        return any(
            symbol.start_line <= site.line <= symbol.end_line
            and self._context.resolver.resolve(site, ResolutionGuard(0)).targets
            for site in self._context.facts.sites_of_kind(target.record, "decorate")
        )

    # --- by name ---

    def _follow(self, name: str, homes: list[int]) -> None:
        """Collect sites that use a holder of the target under this name; `homes` are the files that assign it."""
        waiting = [(name, homes)]
        while waiting and len(self._names) < _MAX_HOLDER_NAMES:
            name, homes = waiting.pop(0)
            if name in self._names or name in _GENERIC_NAMES:
                continue
            self._names[name] = None
            keys = dict.fromkeys(homes)
            if name not in self._own:
                rows = self._context.facts.sites({name}, _MAX_INDIRECT_SITES_READ)
                self._add(it for it in rows if it.kind not in ("refer", ASSIGN_SITE))
                keys |= dict.fromkeys(self._homes.pop(name, ()))
                keys |= dict.fromkeys(it.record for it in rows)
                unnamed = self._context.facts.sites({DUNDER_CALL}, _MAX_INDIRECT_SITES_READ)
                keys |= dict.fromkeys(it.record for it in unnamed if name in it.callee)
            for key in keys:
                if self.scanned >= self._most_scans:
                    return
                self.scanned += 1
                waiting += [(it, [key]) for it in self._search_file(key, name)]

    def _search_file(self, key: int, name: str) -> list[str]:
        """Record suspects in one file and return further names that hold the value."""
        outline = self._context.facts.outline(key)
        mentioned = self._context.name_mentions.find(key, name)
        further = list(mentioned.holders)
        for site, in_callee, in_passed in mentioned.sites:
            if in_callee and site.name not in self._own and site.kind != ASSIGN_SITE:
                self._add([site])
            if in_passed:
                further += self._follow_arguments(site) if site.kind != ASSIGN_SITE else self._follow_assignment(site)
            if site.kind == "decorate" and (in_callee or in_passed):
                decorated = outline.at_line(site.line)
                further += [outline.symbols[decorated].name] if decorated is not None else []
        for default in mentioned.defaults:
            further += self._enter_function(default)
        return further

    def _add(self, sites: Iterable[StoredCall]) -> None:
        for site in sites:
            if len(self._found) < _MAX_SUSPECTS:
                self._found.setdefault((site.record, site.ordinal), site)

    # --- by parameter ---

    def _follow_arguments(self, site: StoredCall) -> list[str]:
        """Follow the arguments of a site into its callees and return the names under which they are stored."""
        targets = self._context.resolver.resolve(site, ResolutionGuard(0)).targets
        if not targets:  # the callee may be a lambda
            self._add(
                it
                for it in self._context.facts.sites_containing(site.record, LAMBDA_PARAMETER)
                if LAMBDA_PARAMETER in it.callee
            )
        return [name for it in targets for name in self._enter_function(it.ref)]

    def _follow_assignment(self, site: StoredCall) -> list[str]:
        """Record the files that define the assigned member, where it is most likely called, and return its name."""
        targets = self._context.evaluator.values(
            site.callee, ExpressionScope(site.record, site.symbol), ResolutionGuard(0)
        )
        self._homes.setdefault(site.name, []).extend(it.ref.record for it in targets if isinstance(it, SymbolValue))
        return [site.name]

    def _enter_function(self, place: SymbolRef) -> list[str]:
        if place in self._entered or len(self._entered) >= _MAX_HOLDER_NAMES:
            return []
        self._entered.add(place)
        return list(self._search_function(place))

    def _search_function(self, place: SymbolRef) -> Iterator[str]:
        outline = self._context.facts.outline(place.record)
        inner = _nested_functions(outline, place.ordinal)
        sites = self._context.facts.sites_in(place.record)
        for site in sorted(
            (it for one in inner for it in sites.sites_inside(one)), key=lambda it: (it.line, it.ordinal)
        ):
            if site.kind == "refer":
                continue
            if PARAMETER in site.callee:
                self._add([site])
            if PARAMETER in site.passed:
                yield from self._follow_arguments(site) if site.kind != ASSIGN_SITE else self._follow_assignment(site)
        symbol = outline.symbols[place.ordinal]
        if PARAMETER in symbol.value_expression or any(
            outline.symbols[it].kind in FUNCTION_KINDS for it in inner - {place.ordinal}
        ):
            yield symbol.name
        yield from (
            it.name
            for it in outline.symbols
            if it.kind in VALUE_KINDS
            and PARAMETER in it.value_expression
            and (it.parent is None or it.parent == symbol.parent)
        )


def _nested_functions(outline: FileOutline, ordinal: int) -> set[int]:
    """Return a function and the functions nested in it."""
    found = {ordinal}
    for place in range(ordinal + 1, len(outline.symbols)):
        symbol = outline.symbols[place]
        if symbol.parent in found and symbol.kind not in CLASS_KINDS:
            found.add(place)
    return found
