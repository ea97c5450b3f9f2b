"""What declarations of C# say about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.csharp.meaning import held, is_function_type
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {
    "namespace_declaration": "namespace",
    "file_scoped_namespace_declaration": "namespace",
    "class_declaration": "class",
    "struct_declaration": "struct",
    "record_declaration": "record",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "enum_member_declaration": "enumMember",
    "delegate_declaration": "delegate",
    "method_declaration": "method",
    "constructor_declaration": "constructor",
    "destructor_declaration": "method",
    "property_declaration": "property",
    "indexer_declaration": "property",
    "operator_declaration": "method",
    "conversion_operator_declaration": "method",
    "event_declaration": "event",
    "local_function_statement": "function",
}
_DECLARED = {"field_declaration": "field", "event_field_declaration": "event"}
_WITH_PRIMARY = frozenset({"class", "struct", "record"})
_ACCEPTING = frozenset({"property", "event"})  # in their accessors `value` is what is assigned
_BODIES = ("body", "accessors", "value")
_INVOKING = (b"(", b".Invoke(", b"?.Invoke(")
_CALLED = frozenset({"method", "constructor", "function"})


def define(node: Node, _around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in _DECLARED:
        return _declarators(node, source)
    found = _definition(node, source)
    return (found, *_primary(found, node, source)) if found.kind in _WITH_PRIMARY else (found,)


def _definition(node: Node, source: Source) -> Definition:
    kind = _KINDS[node.type]
    listed = first_of(node, "parameter_list") if kind in _WITH_PRIMARY else child(node, "parameters")
    parameters = tuple(parameters_of(listed, source))
    accepts = kind in _ACCEPTING
    if accepts:
        parameters = (*parameters, Parameter("value", source.of(child(node, "type"))))
    elif kind in _CALLED:
        parameters = tuple(_followed(each, node, source) for each in parameters)
    modifiers = tuple(_modifiers(node, listed, source))
    return Definition(
        name=_name(node, source),
        kind=kind,
        span=node,
        header=_header(node),
        type=source.of(child(node, "returns") or child(node, "type")),
        parameters=parameters,
        added=int(accepts),
        modifiers=modifiers,
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=_has_body(node),
        to_the_end=node.type == "file_scoped_namespace_declaration",
    )


def _followed(parameter: Parameter, node: Node, source: Source) -> Parameter:
    """What is passed for a parameter that holds a function is found by its name, beside what its type says."""
    if not is_function_type(parameter.type) and not _is_invoked(parameter.name, node, source):
        return parameter
    return parameter._replace(holds=f"{held(parameter.type)}|${parameter.name}")


def _is_invoked(name: str, node: Node, source: Source) -> bool:
    """Whether the body calls it as only a delegate can be called."""
    body = child(node, "body")
    if body is None or not name:
        return False
    text = source.data[body.start_byte : body.end_byte]
    bare = name.encode()
    if not any(bare + sign in text for sign in _INVOKING):
        return False
    return re.search(rb"(?<![\w.])" + re.escape(bare) + rb"(?:\(|\??\.Invoke\()", text) is not None


def _name(node: Node, source: Source) -> str:
    written = source.of(child(node, "name"))
    if node.type == "indexer_declaration":
        return "this[]"
    if node.type == "destructor_declaration":
        return f"~{written}"
    if node.type == "operator_declaration":
        return f"operator {source.of(child(node, 'operator'))}"
    if node.type == "conversion_operator_declaration":
        return f"operator {source.of(child(node, 'type'))}"
    return written


def _header(node: Node) -> tuple[int, int]:
    """From behind the attributes to where the body begins."""
    start = next((each.start_byte for each in node.children if each.type != "attribute_list"), node.start_byte)
    if node.type == "enum_member_declaration":
        return start, node.end_byte
    bodies = [part.start_byte for part in (child(node, name) for name in _BODIES) if part is not None]
    return start, min(bodies, default=node.end_byte)


def _has_body(node: Node) -> bool:
    if child(node, "body") is not None:
        return True
    value = child(node, "value")
    if value is not None and value.type == "arrow_expression_clause":
        return True
    accessors = child(node, "accessors")
    return accessors is not None and any(child(each, "body") is not None for each in accessors.named_children)


def _modifiers(node: Node, parameters: Node | None, source: Source) -> Iterator[str]:
    for each in node.children:
        if each.type == "modifier":
            yield source.of(each)
        elif each.type == "struct" and node.type == "record_declaration":
            yield "struct"
    first = first_of(parameters, "parameter") if parameters is not None else None
    receiver = first_of(first, "modifier") if first is not None else None
    if source.of(receiver) == "this":
        yield "extension"


def _attributes(node: Node, source: Source) -> Iterator[str]:
    for attributes in node.named_children:
        if attributes.type == "attribute_list":
            named = [child(each, "name") for each in attributes.named_children if each.type == "attribute"]
            yield from (source.of(name)[:200] for name in named)


def _bases(node: Node, source: Source) -> Iterator[str]:
    bases = first_of(node, "base_list")
    for each in bases.named_children if bases else ():
        if each.type != "argument_list" and not each.is_extra:
            yield "".join(source.of(each).partition("(")[0].split())[:200]


def parameters_of(node: Node | None, source: Source) -> Iterator[Parameter]:
    if node is None:
        return
    for each in node.named_children:
        if each.type == "parameter":
            yield Parameter(source.of(child(each, "name")), source.of(child(each, "type")))
    # The grammar gives `params T[] x` no node of its own.
    last = child(node, "name")
    if last is not None:
        yield Parameter(source.of(last), f"params {source.of(child(node, 'type'))}")


def _primary(owner: Definition, node: Node, source: Source) -> Iterator[Definition]:
    """Parameters of a primary constructor are seen in the whole class; those of a record are its properties."""
    listed = first_of(node, "parameter_list")
    for each in listed.named_children if listed else ():
        name = child(each, "name")
        if each.type == "parameter" and name is not None:
            kind = "property" if owner.kind == "record" else "field"
            yield Definition(
                source.of(name), kind, each, each.byte_range, source.of(child(each, "type")), has_body=False
            )


def _declarators(node: Node, source: Source) -> Iterator[Definition]:
    declaration = first_of(node, "variable_declaration")
    if declaration is None:
        return
    modifiers, attributes = tuple(_modifiers(node, None, source)), tuple(_attributes(node, source))
    start, _ = _header(node)
    for each in declaration.named_children:
        name = child(each, "name")
        if each.type == "variable_declarator" and name is not None:
            yield Definition(
                source.of(name),
                _DECLARED[node.type],
                node,
                (start, each.end_byte),
                source.of(child(declaration, "type")),
                modifiers=modifiers,
                attributes=attributes,
                has_body=False,
            )
