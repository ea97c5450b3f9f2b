"""What definitions of Kotlin say about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.kotlin.bindings import value_of
from dowse.ingest.extract.code.languages.kotlin.types import type_in, types_around
from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_OBJECTS = frozenset({"object_declaration", "companion_object"})
_BODIES = ("class_body", "enum_class_body", "function_body", "getter", "setter", "block")
_PLACES = frozenset({"source_file", "class_body", "enum_class_body"})
_MOST_ANNOTATIONS = 20
_OWNERS = frozenset({"class", "interface", "enum", "enumMember"})


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type == "property_declaration":
        return _property(node, around, source)
    if node.type == "infix_expression":
        return [_annotation_class(node, source)]
    if node.type == "function_declaration":
        return [_function(node, around, source)]
    if node.type == "secondary_constructor":
        parameters = tuple(_parameters(first_of(node, "function_value_parameters"), source))
        # It calls another one even where it has no body.
        return [_definition(node, "constructor", "constructor", source, parameters)._replace(has_body=True)]
    if node.type == "package_header":
        return [Definition(_text(child(node, "0"), source), "namespace", node, node.byte_range, to_the_end=True)]
    if node.type == "type_alias":
        name = source.of(child(node, "type"))
        return [Definition(name, "typeAlias", node, node.byte_range, type_in(node, source))]
    if node.type == "enum_entry":
        return [Definition(source.of(child(node, "0")), "enumMember", node, node.byte_range)]
    return _class(node, source)


def _definition(
    node: Node, name: str, kind: str, source: Source, parameters: tuple[Parameter, ...] = (), type_text: str = ""
) -> Definition:
    return Definition(
        name,
        kind,
        node,
        _header(node),
        type=type_text,
        parameters=parameters,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        has_body=first_of(node, *_BODIES) is not None,
    )


def _class(node: Node, source: Source) -> Iterable[Definition]:
    """With a property for each parameter that is one; the others are seen in initialisers only."""
    primary = first_of(node, "primary_constructor")
    listed = first_of(primary, "class_parameters") if primary is not None else None
    passed = [each for each in listed.named_children if each.type == "class_parameter"] if listed else []
    name = source.of(child(node, "name")) or "Companion"
    types = tuple(Parameter(_name(each, source), type_in(each, source)) for each in passed)
    found = _definition(node, name, _kind(node, source), source, types)
    return [found._replace(bases=tuple(_bases(node, source))), *(_component(each, source) for each in passed)]


def _annotation_class(node: Node, source: Source) -> Definition:
    """`@Target(X) annotation class Foo`: without a body the grammar takes it for a function between two names."""
    name, whole, names = source.of(child(node, "2")), node, list[str]()
    for _ in range(_MOST_ANNOTATIONS):
        above = whole.parent
        if above is None or above.type != "annotated_expression":
            break
        whole = above
        names = [*(_annotation(each, source) for each in whole.named_children if each.type == "annotation"), *names]
    return Definition(name, "class", whole, node.byte_range, modifiers=("annotation",), attributes=tuple(names))


def _kind(node: Node, source: Source) -> str:
    if any(each.type == "interface" for each in node.children):
        return "interface"
    return "enum" if "enum" in _modifiers(node, source) else "class"


def _component(node: Node, source: Source) -> Definition:
    kind = "property" if any(each.type in ("val", "var") for each in node.children) else "field"
    found = _definition(node, _name(node, source), kind, source, type_text=type_in(node, source))
    return found._replace(has_body=False)


def _function(node: Node, around: Definition | None, source: Source) -> Definition:
    """The receiver of an extension is its first parameter, called `this` in it."""
    receiver, given = types_around(node, "function_value_parameters", source)
    own = (Parameter("this", receiver),) if receiver else ()
    parameters = (*own, *_parameters(first_of(node, "function_value_parameters"), source))
    kind = "method" if around is not None and around.kind in _OWNERS else "function"
    found = _definition(node, source.of(child(node, "name")), kind, source, parameters, given)
    return found._replace(modifiers=(*found.modifiers, "extension")) if receiver else found


def _property(node: Node, around: Definition | None, source: Source) -> Iterator[Definition]:
    """Of a class or a file; others are local ones."""
    if node.parent is None or node.parent.type not in _PLACES:
        return
    several = first_of(node, "multi_variable_declaration")
    for each in several.named_children if several is not None else ():  # `val (a, b) = …` of a script
        if each.type == "variable_declaration" and _name(each, source) != "_":
            yield _definition(node, _name(each, source), "variable", source, (), type_in(each, source))
    declared = first_of(node, "variable_declaration")
    if declared is None:
        return
    receiver, _ = types_around(node, "variable_declaration", source)
    computed = first_of(node, "getter", "setter") is not None
    kind = "property" if computed or (around is not None and around.kind in _OWNERS) else "variable"
    own = (Parameter("this", receiver),) if receiver else ()
    found = _definition(node, _name(declared, source), kind, source, own, type_in(declared, source))
    modifiers = (*found.modifiers, "extension") if receiver else found.modifiers
    yield found._replace(value=value_of(node, source), modifiers=modifiers)


def _name(node: Node, source: Source) -> str:
    return source.of(first_of(node, "identifier"))


def _text(node: Node | None, source: Source) -> str:
    return "".join(source.of(node).split())[:200]


def _header(node: Node) -> tuple[int, int]:
    """From behind the annotations to where the body begins."""
    start, body = node.start_byte, first_of(node, *_BODIES)
    modifiers = first_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type != "annotation":
            start = each.start_byte
            break
        following = each.next_sibling or (modifiers.next_sibling if modifiers else None)
        start = following.start_byte if following is not None else each.end_byte
    return start, body.start_byte if body is not None else node.end_byte


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type.endswith("_modifier"):
            yield source.of(each)
    if node.type == "companion_object":
        yield "companion"
    if node.type in _OBJECTS:
        yield "object"


def _annotations(node: Node, source: Source) -> Iterator[str]:
    modifiers = first_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type == "annotation":
            yield _annotation(each, source)


def _annotation(node: Node, source: Source) -> str:
    return source.of(node).lstrip("@").partition("(")[0].rpartition(":")[2].strip()[:200]


def _bases(node: Node, source: Source) -> Iterator[str]:
    listed = first_of(node, "delegation_specifiers")
    for each in listed.named_children if listed else ():
        base = first_of(each, "constructor_invocation", "explicit_delegation")
        yield _text(child(base, "0") if base is not None else child(each, "0"), source)


def _parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    several = False
    for each in node.named_children if node else ():
        if each.type == "parameter":
            written = type_in(each, source)
            many = Parameter(_name(each, source), f"vararg {written}", instance(f"{written}[]"))
            yield many if several else Parameter(_name(each, source), written)
        several = each.type == "parameter_modifiers" and "vararg" in source.of(each)
