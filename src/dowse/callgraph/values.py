"""Values that an expression can have: instances, types, modules, results."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from dowse.store.types import SymbolRef


class ResolvedType(NamedTuple):
    """A resolved type; `definitions` are its definitions: several for a partial class, none for a library type."""

    name: str
    definitions: tuple[SymbolRef, ...] = ()
    arguments: tuple[ResolvedType, ...] = ()


TypeBindings = tuple[tuple[str, ResolvedType], ...]
"""Type parameters with the types they are bound to."""


class SymbolValue(NamedTuple):
    """A definition itself.

    For a member, `receiver_type` is the type it was looked up on; `bindings` bind its class's type parameters.
    `is_overridable`: the receiver may be of a subtype, so an override may be meant.
    """

    ref: SymbolRef
    receiver_type: ResolvedType | None = None
    bindings: TypeBindings = ()
    is_overridable: bool = False
    how: str = ""
    alternatives: int = 1  # number of alternative values
    is_undecorated: bool = False  # the undecorated definition


class InstanceValue(NamedTuple):
    """An instance of a type; `is_exact_type`: created by calling the type, so it is of no subtype."""

    type: ResolvedType
    is_exact_type: bool = False
    how: str = ""


class SuperValue(NamedTuple):
    """`super`: the object viewed as its base class; `type` is the class, `receiver_type` the object's type."""

    type: ResolvedType
    receiver_type: ResolvedType


class ModuleValue(NamedTuple):
    """A Python module or script file; `name` as the file `home` writes it, `file` if it is indexed."""

    name: str
    home: int
    file: int | None


class NamespaceValue(NamedTuple):
    """A namespace, or one of several candidates; `home` is the key of the file that names it."""

    names: tuple[str, ...]
    home: int


class ExternalValue(NamedTuple):
    """A value from a library, with its name there."""

    name: str


class LibraryMemberValue(NamedTuple):
    """A member of a library type of which only the result types are known."""

    result_types: tuple[ResolvedType, ...]
    name: str


class ExpressionScope(NamedTuple):
    """The context of an expression: its file, the enclosing symbol, and the bindings of `this` and type parameters."""

    key: int
    symbol: int | None
    bindings: TypeBindings = ()
    this_type: ResolvedType | None = None


class LiteralValue(NamedTuple):
    """A list, tuple or dict literal, or a lambda; `text` follows the grammar of `dowse.text.receiver_expressions`."""

    text: str
    scope: ExpressionScope


AbstractValue = (
    SymbolValue
    | InstanceValue
    | SuperValue
    | ModuleValue
    | NamespaceValue
    | ExternalValue
    | LibraryMemberValue
    | LiteralValue
)
AbstractValues = tuple[AbstractValue, ...]


MAX_PARAMETER_COST = 200  # call sites checked to follow the parameters of one expression


class ResolutionGuard:
    """Recursion guard and budget of one evaluation: nothing that is in progress is entered again.

    `budget` bounds the cost of following parameters to the arguments of all calls; `spent` is the cost so far,
    `depth` the number of parameters in progress.
    """

    __slots__ = ("budget", "depth", "entered", "hit_limit", "in_progress", "skipped_parameters", "spent")

    def __init__(self, budget: int = MAX_PARAMETER_COST) -> None:
        self.budget = budget
        self.depth = 0
        self.spent = 0
        self.skipped_parameters = False  # whether a parameter was not followed
        self.entered = 0
        self.in_progress: set[object] = set()
        self.hit_limit = False

    def enter(self, what: object) -> bool:
        if what in self.in_progress or len(self.in_progress) >= MAX_IN_PROGRESS or self.entered >= MAX_ENTERED:
            self.hit_limit = True
            return False
        self.entered += 1
        self.in_progress.add(what)
        return True

    def enter_parameter(self, what: object) -> bool:
        if self.depth >= MAX_PARAMETER_DEPTH or not self.spend(PARAMETER_COST) or not self.enter(what):
            self.hit_limit = True
            return False
        self.depth += 1
        return True

    def spend(self, cost: int) -> bool:
        """Take a cost from the budget; return whether it was enough."""
        if self.spent + cost > self.budget:
            self.hit_limit = True
            return False
        self.spent += cost
        return True

    @property
    def follows_parameters(self) -> bool:
        return self.budget > 0

    def leave_parameter(self, what: object) -> None:
        self.depth -= 1
        self.leave(what)

    def leave(self, what: object) -> None:
        self.in_progress.discard(what)


MAX_IN_PROGRESS = 40  # real code has no longer chains of definitions that refer to each other
MAX_PARAMETER_DEPTH = 5  # parameters passed on as parameters
PARAMETER_COST = 4  # in call sites checked
MAX_ENTERED = 1_000  # bounds the work where definitions refer to each other in dense cycles


# --------------------------------------------------------------------------------------------------
# Parser for written types: `IDictionary<string,List<Foo>>`, `dict[str, list[Foo]]`, `Foo[]`, `Foo?`.

ARRAY_TYPE = "[]"  # `Foo[]` parses to this name with Foo as its argument
TUPLE_TYPE = "tuple"
_TOKEN = re.compile(r"[\w.:\\$]+|[<>\[\](),|&]|(?<=[<\[(,])\?")  # a `?` after a name only marks it as nullable
_MAX_CHARS = 500
_NULL_TYPES = frozenset({"None", "null", "undefined", "void"})
_WRAPPERS = frozenset({"Optional", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"})


class WrittenType(NamedTuple):
    """A parsed type. `name` may be dotted; `arguments` are type arguments, or element types of arrays and tuples."""

    name: str
    arguments: tuple[WrittenType, ...] = ()

    @property
    def last_name(self) -> str:
        return self.name.rpartition(".")[2]


UNREADABLE_TYPE = WrittenType("")


@lru_cache(maxsize=20_000)
def parse_type(text: str) -> WrittenType:
    """Parse a type; the name is empty if that fails. Of a union, the first member that is not null counts."""
    if len(text) > _MAX_CHARS:
        return UNREADABLE_TYPE
    tokens = _TOKEN.findall(text.replace("::", "."))
    read, _ = _parse_union(tokens, 0, depth=0)
    return read


def type_arguments(text: str) -> tuple[str, ...]:
    """Split `<A,B<C>>` into the texts of its arguments."""
    inner, depth, parts = text[1:-1], 0, [""]
    for character in inner:
        depth += (character in "<[(") - (character in ">])")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part for part in parts if part)


def _parse_union(tokens: list[str], at: int, depth: int) -> tuple[WrittenType, int]:
    read, at = _parse_single(tokens, at, depth)
    while at < len(tokens) and tokens[at] in "|&":
        other, at = _parse_single(tokens, at + 1, depth)
        if read.name in _NULL_TYPES or not read.name:
            read = other
    return read, at


def _parse_single(tokens: list[str], at: int, depth: int) -> tuple[WrittenType, int]:
    if at >= len(tokens) or depth > 20:
        return UNREADABLE_TYPE, at + 1
    if tokens[at] in "([":
        arguments, at = _parse_list(tokens, at + 1, depth)
        read = WrittenType(TUPLE_TYPE, arguments)
    elif tokens[at] in "<>]),":
        return UNREADABLE_TYPE, at
    else:
        read, at = WrittenType(tokens[at].strip(".:")), at + 1
    while at < len(tokens) and tokens[at] in "<[":
        if tokens[at : at + 2] == ["[", "]"] or tokens[at : at + 2] == ["[", ","]:
            at = tokens.index("]", at) + 1 if "]" in tokens[at:] else len(tokens)
            read = WrittenType(ARRAY_TYPE, (read,))
            continue
        is_python = tokens[at] == "["
        arguments, at = _parse_list(tokens, at + 1, depth)
        read = (
            arguments[0]
            if is_python and read.last_name in _WRAPPERS and arguments
            else WrittenType(read.name, arguments)
        )
    return read, at


def _parse_list(tokens: list[str], at: int, depth: int) -> tuple[tuple[WrittenType, ...], int]:
    """Parse the types between brackets and return them with the position after the closing one."""
    found: list[WrittenType] = []
    while at < len(tokens) and tokens[at] not in ">])":
        if tokens[at] == ",":
            at += 1
            continue
        read, end = _parse_union(tokens, at, depth + 1)
        found.append(read)
        at = max(end, at + 1)
    return tuple(found), at + 1


# --------------------------------------------------------------------------------------------------
# Known library types: their elements, and members that return an element or the collection itself.

_AWAITABLE_TYPES = frozenset(
    {
        "Task", "ValueTask", "Awaitable", "Coroutine", "Future", "Promise", "ConfiguredTaskAwaitable", "IAsyncResult",
        "PromiseLike",
    }
)  # fmt: skip
_MAPPING_TYPES = frozenset(
    {
        "dict", "Dict", "defaultdict", "DefaultDict", "OrderedDict", "Mapping", "MutableMapping", "Dictionary",
        "IDictionary", "IReadOnlyDictionary", "ConcurrentDictionary", "SortedDictionary", "SortedList",
        "ImmutableDictionary", "WeakValueDictionary", "Map", "HashMap", "TreeMap", "BTreeMap", "LinkedHashMap",
        "ConcurrentHashMap", "ReadonlyMap", "Record", "map", "KeyedCollection",
    }
)  # fmt: skip
_TUPLE_ITEM = re.compile(r"item(\d)")  # of a .NET tuple
_LOCK_TYPES = frozenset({"Mutex", "RwLock"})
_FIRST_ARGUMENT_TYPES = frozenset({"Generator", "AsyncGenerator", ARRAY_TYPE, "array", "Result"})
_FUNCTION_LIKE_TYPES = frozenset({"Func", "Callable", "Function", "Supplier", "Delegate", "Converter"})
_SAME_TYPE_MEMBERS = frozenset(
    {
        "where", "orderby", "orderbydescending", "thenby", "thenbydescending", "skip", "take", "skipwhile",
        "takewhile", "distinct", "reverse", "tolist", "toarray", "asenumerable", "asqueryable", "asreadonly",
        "concat", "union", "except", "intersect", "append", "prepend", "tohashset", "toset", "configureawait",
        "copy", "filter", "sorted", "sort", "slice", "stream", "iterator", "iter", "getenumerator",
        "asnotracking", "include", "theninclude", "defaultifempty", "distinctby", "findall", "getrange",
        "toimmutablearray", "toimmutablelist", "collect", "clone", "all_", "union_", "asparallel", "ofrange",
        "order", "rev", "chain",
    }
)  # fmt: skip
_ELEMENT_MEMBERS = frozenset(
    {
        "first", "firstordefault", "single", "singleordefault", "last", "lastordefault", "elementat",
        "elementatordefault", "pop", "popleft", "peek", "dequeue", "find", "findlast", "findasync",
        "firstasync", "firstordefaultasync", "singleasync", "singleordefaultasync", "lastasync", "min", "max",
        "minby", "maxby", "value", "result", "current", "next", "get", "get_or_insert", "getvalueordefault",
        "setdefault", "popitem", "unwrap", "expect", "orelse", "target", "getresult", "getawaiter", "at",
        "shift", "aggregate", "poll", "element", "take_one", "lock", "borrow", "read", "write", "__next__",
        "__getitem__", "get_nowait", "popright", "getordefault", "orelsethrow", "receive",
    }
)  # fmt: skip
PAIR_TYPE = "KeyValuePair"
PYTHON_HIGHER_ORDER = frozenset(
    {
        "map", "filter", "sorted", "min", "max", "reduce", "sort", "starmap", "accumulate", "groupby", "takewhile",
        "dropwhile", "filterfalse", "partial", "partialmethod", "Thread", "Process", "Timer", "submit", "apply_async",
        "imap", "imap_unordered", "run_in_executor", "to_thread", "call_soon", "call_soon_threadsafe", "call_later",
        "call_at", "create_task", "gather", "finalize", "cmp_to_key", "iter",
    }
)  # fmt: skip
"""Python library functions that call their arguments."""
DOTNET_HIGHER_ORDER = frozenset(
    {
        "Select", "SelectMany", "Where", "Any", "All", "First", "FirstOrDefault", "Single", "SingleOrDefault", "Last",
        "LastOrDefault", "Count", "LongCount", "Sum", "Min", "Max", "Average", "MinBy", "MaxBy", "OrderBy",
        "OrderByDescending", "ThenBy", "ThenByDescending", "GroupBy", "ToDictionary", "ToLookup", "DistinctBy",
        "SkipWhile", "TakeWhile", "Aggregate", "Zip", "ForEach", "ConvertAll", "Find", "FindAll", "FindIndex",
        "FindLast", "Exists", "TrueForAll", "RemoveAll", "Sort", "Run", "StartNew", "ContinueWith", "Thread", "Timer",
        "QueueUserWorkItem", "Lazy", "GetOrAdd", "AddOrUpdate",
    }
)  # fmt: skip
DOTNET_DELEGATES = frozenset(
    {
        "Action", "Func", "Predicate", "Comparison", "Converter", "EventHandler", "Delegate", "MulticastDelegate",
        "ThreadStart", "ParameterizedThreadStart", "MethodInvoker",
    }
)  # fmt: skip
"""Delegates of the .NET library."""


def delegate_parameters(type: ResolvedType) -> tuple[ResolvedType | None, ...] | None:
    """Return the parameter types of a .NET library delegate, None for an unwritten one; None for other types."""
    if type.name == "EventHandler":
        return None, (type.arguments or (None,))[0]
    if type.name in ("Action", "Predicate"):
        return type.arguments
    if type.name == "Func":
        return type.arguments[:-1]
    return type.arguments * 2 if type.name == "Comparison" else None


def library_element_types(type: ResolvedType) -> tuple[ResolvedType, ...]:
    """Return the types that iterating or indexing the type may give."""
    arguments = type.arguments
    if not arguments:
        return ()
    if type.name in _MAPPING_TYPES and len(arguments) > 1:
        # Indexing gives a value; iterating gives a key, or a pair in .NET.
        return (arguments[1], ResolvedType(PAIR_TYPE, (), arguments))
    if type.name in (TUPLE_TYPE, PAIR_TYPE):
        return arguments
    return (arguments[0],) if type.name in _FIRST_ARGUMENT_TYPES or len(arguments) == 1 else (arguments[-1],)


def library_awaited_types(type: ResolvedType) -> tuple[ResolvedType, ...]:
    if type.name in _AWAITABLE_TYPES:
        return type.arguments[-1:]
    return (type,)


def library_result_types(type: ResolvedType) -> tuple[ResolvedType, ...]:
    return type.arguments[-1:] if type.name in _FUNCTION_LIKE_TYPES else ()


def library_member_types(type: ResolvedType, name: str) -> tuple[ResolvedType, ...]:
    """Return the types that a member gives, as far as its name says so."""
    arguments, folded = type.arguments, name.lower()
    if not arguments:
        return ()
    if type.name == PAIR_TYPE:
        return arguments[:1] if folded == "key" else arguments[-1:] if folded == "value" else ()
    if type.name == TUPLE_TYPE and (item := _TUPLE_ITEM.fullmatch(folded)) and 0 < int(item[1]) <= len(arguments):
        return arguments[int(item[1]) - 1 : int(item[1])]
    if type.name in _LOCK_TYPES and folded in ("lock", "read", "write"):
        return (ResolvedType("Result", (), arguments), *arguments)  # either, depending on the library
    if type.name in _MAPPING_TYPES and folded in ("values", "keys", "items", "entries"):
        inner = {"values": arguments[-1], "keys": arguments[0]}.get(folded, ResolvedType(TUPLE_TYPE, (), arguments))
        return (ResolvedType("Iterable", (), (inner,)),)
    if folded in _SAME_TYPE_MEMBERS:
        return (type,)
    if folded in _ELEMENT_MEMBERS:
        return library_awaited_types(type) if type.name in _AWAITABLE_TYPES else library_element_types(type)
    return ()
