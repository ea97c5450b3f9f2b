"""What names are given in C#: by declarations, loops, patterns, `catch`, queries and lambdas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Assigned, Bound, Mapped, Parameter
from dowse.ingest.extract.code.languages.csharp.definitions import parameters_of
from dowse.ingest.extract.code.languages.csharp.meaning import ONE_OF_THEM, THE_SAME, held
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TO_ELEMENTS = frozenset(
    f"{ONE_OF_THEM} {THE_SAME} Any All Count LongCount Sum Average Select SelectMany GroupBy ToDictionary ToLookup"
    " ForEach Exists FindIndex RemoveAll TrueForAll MinBy MaxBy DistinctBy Partition Aggregate".split()
)
_MOST_CLIMBED: Final = 6
_MAKING = frozenset({"object_creation_expression", "implicit_object_creation_expression"})


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "variable_declaration":
        return _declared(node, source)
    if node.type == "assignment_expression":
        return _assigned(node, source)
    if node.type == "declaration_expression" and _is_of_tuple(node):
        return []
    if node.type == "foreach_statement":
        return _looped(node, child(node, "left"), child(node, "right"), source)
    if node.type == "from_clause":
        return _looped(node, child(node, "name"), node.named_children[-1], source)
    name = child(node, "name")
    return [Bound(name, node.end_byte, _type(node, source))] if name is not None else []


def _is_of_tuple(node: Node) -> bool:
    around = node.parent.parent if node.parent is not None else None
    return around is not None and around.type == "tuple_expression"


def _type(node: Node, source: Source) -> str:
    written = source.of(child(node, "type"))
    return "" if written == "var" else written


def _declared(node: Node, source: Source) -> Iterator[Bound]:
    type_text = _type(node, source)
    for each in node.named_children:
        if each.type != "variable_declarator":
            continue
        name, parts = child(each, "name"), each.named_children
        if name is not None:
            value = parts[-1] if len(parts) > 1 else None
            yield Bound(name, each.end_byte, type_text, value, keeps=node)
        else:
            pattern = first_of(each, "tuple_pattern")
            yield from _taken_apart(pattern, parts[-1], each.end_byte, "")


def _taken_apart(pattern: Node | None, value: Node, at: int, step: str) -> Iterator[Bound]:
    """`var (a, b) = x` gives a the first of x."""
    names = pattern.children_by_field_name("name") if pattern else []
    parts = [part for part in names if part.is_named]
    yield from (Bound(part, at, value=value, step=f"{step}[{number}]") for number, part in enumerate(parts))


def _assigned(node: Node, source: Source) -> Iterator[Bound]:
    """`(var a, b) = x` and `(a, b) = x`."""
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or target.type != "tuple_expression":
        return
    for number, argument in enumerate(target.named_children):
        part = child(argument, "0")
        name = child(part, "name") if part is not None and part.type == "declaration_expression" else part
        if part is not None and name is not None and name.type == "identifier":
            written = _type(part, source) if part is not name else ""
            yield Bound(name, node.end_byte, written, value, f"[{number}]")


def _looped(node: Node, name: Node | None, value: Node | None, source: Source) -> Iterable[Bound]:
    if name is None or value is None or name.type not in ("identifier", "tuple_pattern"):
        return []
    if name.type == "tuple_pattern":
        return _taken_apart(name, value, value.end_byte, "[]")
    return [Bound(name, value.end_byte, _type(node, source), value, "[]")]


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """What is passed to a lambda is only known where a method is known to pass the elements of what it is called on."""
    written = child(node, "parameters")
    if written is None:
        return ()
    names = [Parameter(source.of(written))] if not written.named_child_count else list(parameters_of(written, source))
    elements = _passed(node, source)
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def _passed(node: Node, source: Source) -> Node | None:
    """The sequence whose elements a lambda is given."""
    argument = node.parent
    arguments = argument.parent if argument is not None and argument.type == "argument" else None
    call = arguments.parent if arguments is not None else None
    called = child(call, "function") if call is not None and call.type == "invocation_expression" else None
    if called is None or called.type != "member_access_expression":
        return None
    return child(called, "expression") if source.of(child(called, "name")) in _TO_ELEMENTS else None


def mapped(node: Node, source: Source) -> Mapped | None:
    """`xs.Select(x => x.Y)` gives what is in Y of each."""
    arguments = child(node, "arguments")
    if arguments is None or arguments.named_child_count != 1:
        return None
    function = child(arguments.named_children[0], "0")
    called = child(node, "function")
    if function is None or function.type != "lambda_expression" or called is None:
        return None
    name, receiver = source.of(child(called, "name")), child(called, "expression")
    parameters, body = child(function, "parameters"), child(function, "body")
    if name not in ("Select", "SelectMany") or receiver is None or body is None:
        return None
    return Mapped(receiver, source.of(parameters).strip("() "), body, many=name == "SelectMany")


def target_type(node: Node, source: Source) -> str:
    """`new()` makes what is declared around it."""
    around = node.parent
    for _ in range(_MOST_CLIMBED):
        if around is None:
            return ""
        declared = child(around, "type") or child(around, "returns")
        if declared is not None:
            return held(source.of(declared))
        if around.type in ("argument", "assignment_expression", "initializer_expression", "lambda_expression"):
            return ""
        around = around.parent
    return ""


def assigned(node: Node, source: Source) -> Assigned | None:
    """What a field, a property or an event is given: where it is declared, by `=` or by `+=`."""
    if node.type != "assignment_expression":
        name, given = child(node, "name"), child(node, "value") or node.named_children[-1]
        return Assigned(name, given) if name is not None and given != name else None
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or source.data[target.end_byte : value.start_byte].strip() not in (b"=", b"+="):
        return None
    around = node.parent if node.parent is not None and node.parent.type == "initializer_expression" else None
    made = around.parent if around is not None else None
    return Assigned(target, value, made if made is not None and made.type in _MAKING else None)
