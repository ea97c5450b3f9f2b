"""What definitions of Scala say about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {
    "class_definition": "class",
    "object_definition": "class",
    "package_object": "class",
    "trait_definition": "interface",
    "enum_definition": "enum",
    "simple_enum_case": "enumMember",
    "full_enum_case": "enumMember",
}
_VALUES = frozenset({"val_definition", "var_definition", "val_declaration", "var_declaration"})
_OBJECTS = frozenset({"object_definition", "package_object"})
_OWNERS = frozenset({"class", "interface", "enum"})
_PLACES = frozenset({"compilation_unit", "template_body", "with_template_body", "enum_body"})


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in _VALUES:
        return _values(node, around, source)
    if node.type in ("function_definition", "function_declaration"):
        return [_function(node, around, source)]
    if node.type == "given_definition":
        return [_given(node, source)]
    if node.type == "package_clause":
        return [_package(node, source)]
    if node.type == "type_definition":
        found = _definition(node, source.of(child(node, "name")), "typeAlias", source)
        return [found._replace(header=node.byte_range, type=source.of(child(node, "type")))]
    return _type(node, source)


def _definition(node: Node, name: str, kind: str, source: Source, parameters: tuple[Parameter, ...] = ()) -> Definition:
    body = child(node, "body")
    return Definition(
        name,
        kind,
        node,
        (_start(node), body.start_byte if body else node.end_byte),
        parameters=parameters,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        has_body=body is not None,
    )


def _package(node: Node, source: Source) -> Definition:
    name, body = child(node, "name"), child(node, "body")
    header = (node.start_byte, body.start_byte if body else node.end_byte)
    return Definition("".join(source.of(name).split()), "namespace", node, header, to_the_end=body is None)


def _type(node: Node, source: Source) -> Iterable[Definition]:
    """With a member for each parameter; those without `val` are seen inside only, except in a case class."""
    kind = _KINDS[node.type]
    listed = node.children_by_field_name("class_parameters")
    passed = [each for part in listed for each in part.named_children if each.type == "class_parameter"]
    parameters = tuple(_parameter(each, source) for each in passed)
    found = _definition(node, source.of(child(node, "name")), kind, source, parameters)
    found = found._replace(bases=tuple(_bases(node, source)))
    if kind == "enumMember":
        return [found]
    is_case = "case" in found.modifiers
    return [found, *(_component(each, is_case, source) for each in passed)]


def _component(node: Node, is_case: bool, source: Source) -> Definition:
    is_property = is_case or any(each.type in ("val", "var") for each in node.children)
    name, kind = source.of(child(node, "name")), "property" if is_property else "field"
    return _definition(node, name, kind, source)._replace(type=source.of(child(node, "type")), has_body=False)


def _function(node: Node, around: Definition | None, source: Source) -> Definition:
    """In an extension the first parameter is what it is called on."""
    name = source.of(child(node, "name"))
    extended = node.parent if node.parent is not None and node.parent.type == "extension_definition" else None
    own = tuple(_parameters(extended, source))[:1] if extended is not None else ()
    parameters = (*own, *_parameters(node, source))
    found = _definition(node, name, _function_kind(node, name, around), source, parameters)
    modifiers = (*found.modifiers, "extension") if own else found.modifiers
    return found._replace(type=source.of(child(node, "return_type")), modifiers=modifiers)


def _function_kind(node: Node, name: str, around: Definition | None) -> str:
    """Members of an object without a name stand in the function that makes it."""
    is_made = node.parent is not None and node.parent.type == "template_body" and around is not None
    if around is None or around.kind == "namespace" or (around.kind not in _OWNERS and not is_made):
        return "function"
    return "constructor" if name == "this" else "method"


def _parameters(node: Node, source: Source) -> Iterator[Parameter]:
    for listed in node.children_by_field_name("parameters"):
        yield from (_parameter(each, source) for each in listed.named_children if each.type == "parameter")


def _parameter(node: Node, source: Source) -> Parameter:
    return Parameter(source.of(child(node, "name")), source.of(child(node, "type")))


def _given(node: Node, source: Source) -> Definition:
    """One without a name gets the one that the compiler gives it; with members it is a class of its own."""
    written = source.of(child(node, "return_type"))
    name = source.of(child(node, "name")) or "_".join(["given", *re.findall(r"\w+", written)])
    body = child(node, "body")
    is_class = body is not None and body.type == "with_template_body"
    found = _definition(node, name, "class" if is_class else "variable", source)
    found = found._replace(modifiers=("given", *found.modifiers))
    if is_class:
        return found._replace(bases=("".join(written.split())[:200],))
    return found._replace(type=written, value=body, has_body=False)


def _values(node: Node, around: Definition | None, source: Source) -> Iterator[Definition]:
    """Of a type or a file; others are local ones."""
    if node.parent is None or node.parent.type not in _PLACES:
        return
    kind = "field" if around is not None and around.kind in _OWNERS else "variable"
    target, value = child(node, "pattern") or child(node, "name"), child(node, "value")
    if target is None:
        return
    alone = target.type == "identifier"
    names = [target] if alone else [each for each in target.named_children if each.type == "identifier"]
    for each in names:
        found = _definition(node, source.of(each), kind, source)
        end = value.start_byte if value is not None else node.end_byte
        written = source.of(child(node, "type")) if alone else ""
        yield found._replace(
            type=written, value=value if alone else None, header=(found.header[0], end), has_body=False
        )


def _start(node: Node) -> int:
    """Behind the annotations."""
    return next((each.start_byte for each in node.children if each.type != "annotation"), node.start_byte)


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    for each in node.children:
        if each.type == "modifiers":
            yield from (source.of(part) for part in each.children)
        elif each.type == "case" and node.type in _KINDS:
            yield "case"
    if node.type in _OBJECTS:
        yield "object"


def _annotations(node: Node, source: Source) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "annotation":
            yield source.of(child(each, "name"))[:200]


def _bases(node: Node, source: Source) -> Iterator[str]:
    extended = child(node, "extend")
    for each in extended.children_by_field_name("type") if extended is not None else ():
        if each.is_named:
            yield "".join(source.of(each).split())[:200]
