"""What names of Swift are given: by declarations, conditions, loops, patterns and closures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Bound, Parameter
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TO_ELEMENTS: Final = frozenset(
    {
        "map", "filter", "forEach", "contains", "first", "last", "compactMap", "flatMap", "allSatisfy", "sorted",
        "firstIndex", "removeAll", "min", "max",
    }
)  # fmt: skip
_FIRST: Final = "$0"  # what a closure calls its first parameter if it does not name any


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "property_declaration":
        return (Bound(it.name, it.end, it.type, it.value) for it in declared(node, source))
    if node.type in ("if_statement", "guard_statement"):
        return _conditions(node)
    if node.type == "for_statement":
        name, value = _bound_in(child(node, "item")), child(node, "collection")
        return [Bound(name, value.end_byte, value=value, step="[]")] if name is not None and value is not None else []
    if node.type == "catch_block":
        name = _bound_in(child(node, "error"))
        return [Bound(name, name.end_byte)] if name is not None else []
    return _matched(node, source)


class Declared:
    """One name of a `let` or `var`."""

    __slots__ = ("computed", "end", "name", "type", "value")

    def __init__(self, name: Node, end: int) -> None:
        self.name = name
        self.end = end
        self.type = ""
        self.value: Node | None = None
        self.computed: Node | None = None


def declared(node: Node, source: Source) -> list[Declared]:
    """The names of a declaration, each with the type and the value that follow it."""
    found: list[Declared] = []
    for number, each in enumerate(node.children):
        field = node.field_name_for_child(number)
        name = _bound_in(each) if field == "name" else None
        if name is not None:
            found.append(Declared(name, each.end_byte))
        elif found and each.type == "type_annotation":
            found[-1].type, found[-1].end = source.of(child(each, "0")), each.end_byte
        elif found and field == "value":
            found[-1].value, found[-1].end = each, each.end_byte
        elif found and field == "computed_value":
            found[-1].computed = each
    return found


def _bound_in(pattern: Node | None) -> Node | None:
    return child(pattern, "bound_identifier") if pattern is not None else None


def _conditions(node: Node) -> Iterator[Bound]:
    """`if let a = b, let c = d`: a name, then what it is given."""
    name, narrow = None, node.type == "if_statement"
    for number, each in enumerate(node.children):
        field = node.field_name_for_child(number)
        if field == "bound_identifier":
            name = each
        elif name is not None and field == "condition" and each.is_named:
            yield Bound(name, each.end_byte, value=each, narrow=narrow)
            name = None
        elif field is None and each.type in ("statements", "{"):
            return


def _matched(entry: Node, source: Source) -> Iterator[Bound]:
    """`case let x as Foo`; what a case of an enum holds is not known."""
    listed = first_of(entry, "switch_pattern")
    pattern = child(listed, "0") if listed is not None else None
    for each in pattern.named_children if pattern is not None else ():
        name = _bound_in(each) if each.type == "pattern" else None
        if name is not None and pattern is not None:
            yield Bound(name, each.end_byte, source.of(child(pattern, "name")), narrow=True)


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    written = child(node, "type")
    listed = first_of(written, "lambda_function_type_parameters") if written is not None else None
    found = [_parameter(each, source) for each in (listed.named_children if listed else ())] or [Parameter(_FIRST)]
    elements = _passed_from(node, source)
    if not found[0].type and elements is not None:
        found[0] = Parameter(found[0].name, value=elements, step="[]")
    return found


def _parameter(node: Node, source: Source) -> Parameter:
    names = node.children_by_field_name("name")
    written = names[1] if len(names) > 1 else None
    return Parameter(source.of(names[0] if names else node), source.of(written))


def _passed_from(node: Node, source: Source) -> Node | None:
    around = node.parent
    for _ in range(3):  # a closure stands behind the brackets or as an argument in them
        if around is None or around.type == "call_expression":
            break
        around = around.parent
    called = child(around, "0") if around is not None and around.type == "call_expression" else None
    if called is None or called.type != "navigation_expression":
        return None
    name = source.of(child(called, "suffix")).lstrip(".")
    return child(called, "target") if name in _TO_ELEMENTS else None
