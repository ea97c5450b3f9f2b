"""What Java defines: types with their members, records with their components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {
    "package_declaration": "namespace",
    "class_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "enum_constant": "enumMember",
    "method_declaration": "method",
    "annotation_type_element_declaration": "method",
    "constructor_declaration": "constructor",
    "compact_constructor_declaration": "constructor",
}


def define(node: Node, _around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("field_declaration", "constant_declaration"):
        return _fields(node, source)
    kind = _KINDS[node.type]
    body = child(node, "body")
    found = Definition(
        source.of(child(node, "name") or first_of(node, "scoped_identifier", "identifier")),
        kind,
        node,
        _header(node),
        type=source.of(child(node, "type")) + _dimensions(node, source),
        parameters=tuple(parameters(child(node, "parameters"), source)),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=body is not None,
        to_the_end=kind == "namespace",
    )
    return (found, *_components(node, source)) if kind == "record" else (found,)


def _dimensions(node: Node, source: Source) -> str:
    """`int x[]` and `int f()[]` are of the type `int[]`."""
    return "".join(source.of(child(node, "dimensions")).split())


def _header(node: Node) -> tuple[int, int]:
    start, body = node.start_byte, child(node, "body")
    modifiers = first_of(node, "modifiers")
    for each in modifiers.children if modifiers else ():
        if each.type not in ("annotation", "marker_annotation"):
            start = each.start_byte
            break
        start = each.end_byte
    return start, body.start_byte if body is not None and node.type != "enum_constant" else node.end_byte


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.children if modifiers else ():
        if not each.is_named:
            yield source.of(each)


def _annotations(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type in ("annotation", "marker_annotation"):
            yield source.of(child(each, "name"))[:200]


def _bases(node: Node, source: Source) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "superclass":
            yield "".join(source.of(child(each, "0")).split())[:200]
        elif each.type in ("super_interfaces", "extends_interfaces"):
            listed = child(each, "0")
            for base in listed.named_children if listed else ():
                yield "".join(source.of(base).split())[:200]


def parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "formal_parameter":
            yield Parameter(source.of(child(each, "name")), source.of(child(each, "type")))
        elif each.type == "spread_parameter":
            declarator, written = first_of(each, "variable_declarator"), source.of(child(each, "0"))
            name = source.of(child(declarator, "name") if declarator else None)
            yield Parameter(name, f"{written}...", instance(f"{written}[]"))
        elif each.type == "identifier":
            yield Parameter(source.of(each))


def _components(node: Node, source: Source) -> Iterator[Definition]:
    listed = child(node, "parameters")
    for each in listed.named_children if listed else ():
        if each.type == "formal_parameter":
            name, written = source.of(child(each, "name")), source.of(child(each, "type"))
            yield Definition(name, "property", each, each.byte_range, written, has_body=False)


def _fields(node: Node, source: Source) -> Iterator[Definition]:
    modifiers, annotations = tuple(_modifiers(node, source)), tuple(_annotations(node, source))
    start, _ = _header(node)
    for each in node.children_by_field_name("declarator"):
        yield Definition(
            source.of(child(each, "name")),
            "field",
            node,
            (start, each.end_byte),
            source.of(child(node, "type")) + _dimensions(each, source),
            modifiers=modifiers,
            attributes=annotations,
            has_body=False,
        )
