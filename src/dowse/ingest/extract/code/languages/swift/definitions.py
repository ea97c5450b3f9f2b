"""What Swift defines; what stands in an extension are members of the type it extends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.swift.bindings import Declared, declared
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TYPES: Final = {"struct": "struct", "enum": "enum"}
_FUNCTIONS: Final = frozenset({"function", "method", "constructor", "property"})
_HOLDERS: Final = frozenset({"class", "struct", "enum", "interface"})
_NAMES: Final = {"init_declaration": "init", "deinit_declaration": "deinit", "subscript_declaration": "subscript"}
_SELF: Final = Parameter("self", holds="this")


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("class_declaration", "protocol_declaration"):
        return _type(node, source)
    if node.type in ("property_declaration", "protocol_property_declaration"):
        return _properties(node, around, source)
    if node.type == "enum_entry":
        return _cases(node, source)
    if node.type in ("typealias_declaration", "associatedtype_declaration"):
        return _alias(node, source)
    return [_function(node, around, source)]


def _type(node: Node, source: Source) -> Iterator[Definition]:
    """`extension A.B` adds to the B of an A, of which only the names may be known here."""
    sort, body = source.of(child(node, "declaration_kind")), child(node, "body")
    is_added = sort == "extension"
    name = child(node, "name") or node
    *path, last = source.of(name).partition("<")[0].replace(" ", "").split(".")
    for part in path:
        yield Definition(part, "namespace", node, name.byte_range, modifiers=("partial",), reopens=True)
    if not last:
        return
    added = ("extension", "partial") if is_added else (sort,) if sort == "actor" else ()
    yield Definition(
        last,
        "interface" if node.type == "protocol_declaration" else _TYPES.get(sort, "class"),
        node,
        (_start(node), body.start_byte if body is not None else node.end_byte),
        modifiers=(*_modifiers(node, source), *added),
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        reopens=is_added,
    )


def _function(node: Node, around: Definition | None, source: Source) -> Definition:
    body = child(node, "body") or first_of(node, "computed_property")
    inside = around is not None and around.kind in _HOLDERS
    passed = tuple(_parameters(node, source))
    name = _NAMES.get(node.type) or source.of(child(node, "name"))
    is_made = node.type == "init_declaration"
    return Definition(
        name,
        "constructor" if is_made else "method" if inside else "function",
        node,
        (_start(node), body.start_byte if body is not None else node.end_byte),
        type="" if is_made else source.of(_given(node)),
        parameters=(_SELF, *passed) if inside else passed,
        hidden=int(inside),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        has_body=body is not None,
    )


def _given(node: Node) -> Node | None:
    """The type behind the arrow: the grammar calls it a name, as it does the function's own."""
    names = node.children_by_field_name("name")
    own = 0 if node.type == "subscript_declaration" else 1
    return names[own] if len(names) > own else None


def _parameters(node: Node, source: Source) -> Iterator[Parameter]:
    for each in node.named_children:
        if each.type == "parameter":
            names = each.children_by_field_name("name")
            yield (
                Parameter(source.of(names[0]), source.of(names[1] if len(names) > 1 else None))
                if names
                else Parameter("")
            )


def _properties(node: Node, around: Definition | None, source: Source) -> Iterator[Definition]:
    if around is not None and around.kind in _FUNCTIONS:
        return
    inside = around is not None and around.kind in _HOLDERS
    for it in declared(node, source) or _required(node, source):
        computed = it.computed is not None or node.type.startswith("protocol")
        yield Definition(
            source.of(it.name),
            "property" if computed and inside else "field" if inside else "variable",
            node,
            (_start(node), it.computed.start_byte if it.computed is not None else max(it.end, it.name.end_byte)),
            type=it.type,
            value=it.value,
            parameters=(_SELF,) if it.computed is not None and inside else (),
            hidden=int(it.computed is not None and inside),
            modifiers=tuple(_modifiers(node, source)),
            attributes=tuple(_attributes(node, source)),
            has_body=it.computed is not None,
        )


def _required(node: Node, source: Source) -> list[Declared]:
    """What a protocol asks for: `var n: Int { get }`."""
    pattern, annotation = child(node, "name"), first_of(node, "type_annotation")
    name = child(pattern, "bound_identifier") if pattern is not None else None
    if name is None:
        return []
    found = Declared(name, annotation.end_byte if annotation is not None else node.end_byte)
    found.type = source.of(child(annotation, "0") if annotation is not None else None)
    return [found]


def _cases(node: Node, source: Source) -> Iterator[Definition]:
    for each in node.children_by_field_name("name"):
        if each.type == "simple_identifier":
            yield Definition(source.of(each), "enumMember", node, node.byte_range, has_body=False)


def _alias(node: Node, source: Source) -> Iterator[Definition]:
    names = node.children_by_field_name("name")
    if names:
        written = source.of(names[1]) if len(names) > 1 else ""
        yield Definition(source.of(names[0]), "typeAlias", node, node.byte_range, written, has_body=False)


def _start(node: Node) -> int:
    """Behind the attributes."""
    start = node.start_byte
    modifiers = first_of(node, "modifiers")
    for each in modifiers.children if modifiers is not None else ():
        if each.type != "attribute":
            return each.start_byte
        start = each.end_byte
    return start


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.children if modifiers is not None else ():
        if each.type != "attribute":
            yield "".join(source.of(each).split())[:50]
    for each in node.children:
        if each.type in ("async", "throws", "mutating"):
            yield each.type


def _attributes(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.named_children if modifiers is not None else ():
        if each.type == "attribute":
            yield source.of(child(each, "0"))[:200]


def _bases(node: Node, source: Source) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "inheritance_specifier":
            yield "".join(source.of(child(each, "inherits_from")).split())[:200]
