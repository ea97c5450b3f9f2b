"""What names of C and C++ are given: by declarations, loops over ranges, catches and lambdas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Parameter
from dowse.ingest.extract.code.languages.c.declarators import declared, parameters
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "catch_clause":
        listed = child(node, "parameters")
        caught = child(listed, "0") if listed is not None else None
        return _declared(caught, source) if caught is not None else ()
    if node.type == "for_range_loop":
        return _ranged(node, source)
    return _declared(node, source)


def _declared(node: Node, source: Source) -> Iterator[Bound]:
    written = source.of(child(node, "type"))
    for each in node.children_by_field_name("declarator"):
        found = declared(each)
        if found is not None and found.function is None and found.name.type == "identifier":
            many = "[]" if found.is_array else ""
            value = child(each, "value") if each.type == "init_declarator" else None
            yield Bound(found.name, each.end_byte, written + many if written != "auto" else "", value)


def _ranged(node: Node, source: Source) -> list[Bound]:
    found, value = declared(child(node, "declarator")), child(node, "right")
    if found is None or value is None:
        return []
    written = source.of(child(node, "type"))
    return [Bound(found.name, value.end_byte, "" if written == "auto" else written, value, "[]")]


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    declarator = child(node, "declarator")
    return parameters(child(declarator, "parameters") if declarator is not None else None, source)
