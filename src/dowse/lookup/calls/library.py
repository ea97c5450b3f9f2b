"""What is known of types that are not in the index: their elements, and members that give an element or themselves."""

from __future__ import annotations

import re

from dowse.lookup.calls.type_text import ARRAY, TUPLE
from dowse.lookup.calls.values import Type

_AWAITED = frozenset(
    {
        "Task", "ValueTask", "Awaitable", "Coroutine", "Future", "Promise", "ConfiguredTaskAwaitable", "IAsyncResult",
        "PromiseLike",
    }
)  # fmt: skip
_MAPPINGS = frozenset(
    {
        "dict", "Dict", "defaultdict", "DefaultDict", "OrderedDict", "Mapping", "MutableMapping", "Dictionary",
        "IDictionary", "IReadOnlyDictionary", "ConcurrentDictionary", "SortedDictionary", "SortedList",
        "ImmutableDictionary", "WeakValueDictionary", "Map", "HashMap", "TreeMap", "BTreeMap", "LinkedHashMap",
        "ConcurrentHashMap", "ReadonlyMap", "Record", "map", "KeyedCollection",
    }
)  # fmt: skip
_ITEM = re.compile(r"item(\d)")  # of a tuple of .NET
_LOCKS = frozenset({"Mutex", "RwLock"})
_FIRST = frozenset({"Generator", "AsyncGenerator", ARRAY, "array", "Result"})
_CALLED = frozenset({"Func", "Callable", "Function", "Supplier", "Delegate", "Converter"})
_SAME = frozenset(
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
_ONE = frozenset(
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
PAIR = "KeyValuePair"
CALLING = frozenset(
    {
        "map", "filter", "sorted", "min", "max", "reduce", "sort", "starmap", "accumulate", "groupby", "takewhile",
        "dropwhile", "filterfalse", "partial", "partialmethod", "Thread", "Process", "Timer", "submit", "apply_async",
        "imap", "imap_unordered", "run_in_executor", "to_thread", "call_soon", "call_soon_threadsafe", "call_later",
        "call_at", "create_task", "gather", "finalize", "cmp_to_key", "iter",
    }
)  # fmt: skip
"""Functions of Python's library that call what is passed to them."""
CALLING_OF_DOTNET = frozenset(
    {
        "Select", "SelectMany", "Where", "Any", "All", "First", "FirstOrDefault", "Single", "SingleOrDefault", "Last",
        "LastOrDefault", "Count", "LongCount", "Sum", "Min", "Max", "Average", "MinBy", "MaxBy", "OrderBy",
        "OrderByDescending", "ThenBy", "ThenByDescending", "GroupBy", "ToDictionary", "ToLookup", "DistinctBy",
        "SkipWhile", "TakeWhile", "Aggregate", "Zip", "ForEach", "ConvertAll", "Find", "FindAll", "FindIndex",
        "FindLast", "Exists", "TrueForAll", "RemoveAll", "Sort", "Run", "StartNew", "ContinueWith", "Thread", "Timer",
        "QueueUserWorkItem", "Lazy", "GetOrAdd", "AddOrUpdate",
    }
)  # fmt: skip
FUNCTION_TYPES = frozenset(
    {
        "Action", "Func", "Predicate", "Comparison", "Converter", "EventHandler", "Delegate", "MulticastDelegate",
        "ThreadStart", "ParameterizedThreadStart", "MethodInvoker",
    }
)  # fmt: skip
"""Delegates of .NET's library."""


def taken(type: Type) -> tuple[Type | None, ...] | None:
    """What a delegate of .NET's library is called with, None for a type that is not written; None for other types."""
    if type.name == "EventHandler":
        return None, (type.arguments or (None,))[0]
    if type.name in ("Action", "Predicate"):
        return type.arguments
    if type.name == "Func":
        return type.arguments[:-1]
    return type.arguments * 2 if type.name == "Comparison" else None


def element(type: Type) -> tuple[Type, ...]:
    """What going through it, or indexing it, gives."""
    given = type.arguments
    if not given:
        return ()
    if type.name in _MAPPINGS and len(given) > 1:
        # An index gives a value, going through it a key, or in .NET a pair.
        return (given[1], Type(PAIR, (), given))
    if type.name in (TUPLE, PAIR):
        return given
    return (given[0],) if type.name in _FIRST or len(given) == 1 else (given[-1],)


def awaited(type: Type) -> tuple[Type, ...]:
    if type.name in _AWAITED:
        return type.arguments[-1:]
    return (type,)


def called(type: Type) -> tuple[Type, ...]:
    return type.arguments[-1:] if type.name in _CALLED else ()


def member(type: Type, name: str) -> tuple[Type, ...]:
    """What a member of it gives, as far as its name says so."""
    given, folded = type.arguments, name.lower()
    if not given:
        return ()
    if type.name == PAIR:
        return given[:1] if folded == "key" else given[-1:] if folded == "value" else ()
    if type.name == TUPLE and (item := _ITEM.fullmatch(folded)) and 0 < int(item[1]) <= len(given):
        return given[int(item[1]) - 1 : int(item[1])]
    if type.name in _LOCKS and folded in ("lock", "read", "write"):
        return (Type("Result", (), given), *given)  # which of them is up to the library
    if type.name in _MAPPINGS and folded in ("values", "keys", "items", "entries"):
        inner = {"values": given[-1], "keys": given[0]}.get(folded, Type(TUPLE, (), given))
        return (Type("Iterable", (), (inner,)),)
    if folded in _SAME:
        return (type,)
    if folded in _ONE:
        return awaited(type) if type.name in _AWAITED else element(type)
    return ()
