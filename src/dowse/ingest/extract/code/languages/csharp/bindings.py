"""What names are given in C#: by declarations, loops, patterns, `catch`, queries and lambdas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Bound, Parameter
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


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "variable_declaration":
        return _declared(node, source)
    if node.type == "foreach_statement":
        return _looped(node, child(node, "left"), child(node, "right"), source)
    if node.type == "from_clause":
        return _looped(node, child(node, "name"), node.named_children[-1], source)
    name = child(node, "name")
    return [Bound(name, node.end_byte, _type(node, source))] if name is not None else []


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
            names = pattern.children_by_field_name("name") if pattern else []
            yield from (Bound(part, each.end_byte) for part in names)


def _looped(node: Node, name: Node | None, value: Node | None, source: Source) -> Iterable[Bound]:
    if name is None or value is None or name.type != "identifier":
        return []
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
