"""Declarators of C and C++: `*(*name)[3]` is a name with what is around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.ingest.extract.code.language import Parameter
from dowse.ingest.extract.code.languages.c.types import held
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_MOST_AROUND: Final = 30
_UNNAMED: Final = frozenset({"reference_declarator", "parenthesized_declarator", "attributed_declarator"})


class Declared(NamedTuple):
    """`name` is the node with the name, `function` the declarator with parameters, if it declares a function."""

    name: Node
    function: Node | None = None
    is_array: bool = False


def declared(node: Node | None) -> Declared | None:
    """What a declarator declares; a pointer to a function is no function."""
    function, is_array = None, False
    for _ in range(_MOST_AROUND):
        if node is None:
            return None
        inner = child(node, "declarator") or (child(node, "0") if node.type in _UNNAMED else None)
        if node.type == "operator_cast":
            return Declared(node, node)
        if inner is None:
            return Declared(node, function, is_array)
        if node.type == "function_declarator":
            function = None if inner.type == "parenthesized_declarator" else node
        is_array |= node.type == "array_declarator"
        node = inner
    return None


def parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
            found = declared(child(each, "declarator"))
            written = source.of(child(each, "type"))
            is_named = found is not None and found.name.type == "identifier"
            name = source.of(found.name) if found is not None and is_named else ""
            if name or written != "void" or child(each, "declarator") is not None:
                yield Parameter(name, _as_written(each, source), _held(found, written))
        elif each.type == "identifier":
            yield Parameter(source.of(each))


def _as_written(node: Node, source: Source) -> str:
    """`const char *name` as `const char *`: what is in front of the name."""
    found = declared(child(node, "declarator"))
    end = found.name.start_byte if found is not None and found.name.type == "identifier" else node.end_byte
    default = child(node, "default_value")
    end = min(end, default.start_byte) if default is not None else end
    return source.line(node.start_byte, end, 400).rstrip("= ")


def _held(found: Declared | None, written: str) -> str:
    return held(f"{written}[]") if found is not None and found.is_array and held(written) else held(written)
