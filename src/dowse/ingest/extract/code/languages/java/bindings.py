"""What names of Java are given: by declarations, loops, patterns, catches and lambdas; and what a file imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported, Mapped, Parameter
from dowse.ingest.extract.code.languages.java.definitions import parameters
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TO_ELEMENTS = frozenset(
    {"forEach", "map", "filter", "anyMatch", "allMatch", "noneMatch", "flatMap", "removeIf", "mapToInt", "peek"}
    | {"ifPresent", "ifPresentOrElse", "takeWhile", "dropWhile", "toMap", "mapToLong", "mapToObj", "mapToDouble"}
)


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "local_variable_declaration":
        return _declared(node, source)
    name, written = child(node, "name"), _type(node, source)
    if node.type == "enhanced_for_statement" and name is not None:
        value = child(node, "value")
        return [Bound(name, value.end_byte if value else node.end_byte, written, value, "[]")]
    if node.type == "type_pattern":
        name = child(node, "1")
    return [Bound(name, node.end_byte, written, child(node, "value"))] if name is not None else []


def _type(node: Node, source: Source) -> str:
    if node.type == "catch_formal_parameter":
        caught = first_of(node, "catch_type")
        return source.of(child(caught, "0") if caught else None)
    written = child(node, "right") if node.type == "instanceof_expression" else child(node, "type")
    return source.of(written or (child(node, "0") if node.type == "type_pattern" else None))


def _declared(node: Node, source: Source) -> Iterator[Bound]:
    written = source.of(child(node, "type"))
    for each in node.children_by_field_name("declarator"):
        name = child(each, "name")
        if name is not None:
            yield Bound(name, each.end_byte, written, child(each, "value"))


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    written = child(node, "parameters")
    names = (
        [Parameter(source.of(written))]
        if written is not None and written.type == "identifier"
        else list(parameters(written, source))
    )
    call = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    passes = call is not None and source.of(child(call, "name")) in _TO_ELEMENTS
    elements = child(call, "object") if call is not None and passes else None
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def mapped(node: Node, source: Source) -> Mapped | None:
    """`xs.map(x -> x.y())` and `xs.map(X::y)` give what y of each gives."""
    arguments, receiver = child(node, "arguments"), child(node, "object")
    if arguments is None or receiver is None or arguments.named_child_count != 1:
        return None
    function, name = arguments.named_children[0], source.of(child(node, "name"))
    if function.type not in ("lambda_expression", "method_reference") or name not in ("map", "flatMap"):
        return None
    if function.type == "method_reference":
        member = source.of(child(function, "1"))
        return Mapped(receiver, member=member, many=name == "flatMap") if member else None
    return Mapped(
        receiver, source.of(child(function, "parameters")).strip("() "), child(function, "body"), many=name == "flatMap"
    )


def imports(node: Node, source: Source) -> Iterator[Imported]:
    named = child(node, "0")
    path = "".join(source.of(named).split())
    if first_of(node, "asterisk") is not None:
        yield Imported(path, "*")
    elif path:
        module, _, member = path.rpartition(".")
        yield Imported(module, member, member)
