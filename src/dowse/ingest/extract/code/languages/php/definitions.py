"""What definitions of PHP say about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.php.names import dotted, held
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {
    "namespace_definition": "namespace",
    "class_declaration": "class",
    "interface_declaration": "interface",
    "trait_declaration": "interface",
    "enum_declaration": "enum",
    "enum_case": "enumMember",
    "function_definition": "function",
    "method_declaration": "method",
}
_OWNERS = frozenset({"class", "interface", "enum"})
_THIS = Parameter("$this", holds="this")


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type == "property_declaration":
        return _properties(node, source)
    if node.type == "const_declaration":
        return _constants(node, around, source)
    if node.type == "function_call_expression":
        return _defined(node, source)
    definition = _definition(node, source)
    # The fields that a constructor's parameters make are the class's: before it is entered.
    return [*_promoted(node, source), definition] if definition.kind == "constructor" else [definition]


def _definition(node: Node, source: Source) -> Definition:
    kind, written = _KINDS[node.type], source.of(child(node, "name"))
    if written.lower() == "__construct":
        kind = "constructor"
    name, body = dotted(written), child(node, "body")
    receiver = (_THIS,) if node.type == "method_declaration" else ()
    return Definition(
        name,
        kind,
        node,
        (_start(node), body.start_byte if body else node.end_byte),
        type=source.of(child(node, "return_type")),
        parameters=(*receiver, *parameters_of(child(node, "parameters"), source)),
        hidden=len(receiver),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=body is not None,
        to_the_end=kind == "namespace" and body is None,
    )


def _start(node: Node) -> int:
    return next((each.start_byte for each in node.children if each.type != "attribute_list"), node.start_byte)


def _modifiers(node: Node, source: Source) -> Iterator[str]:
    for each in node.children:
        if each.type.endswith("_modifier") and each.type != "reference_modifier":
            yield source.of(each)
    if node.type == "trait_declaration":
        yield "trait"


def _attributes(node: Node, source: Source) -> Iterator[str]:
    listed = child(node, "attributes")
    for group in listed.named_children if listed is not None else ():
        yield from (dotted(source.of(child(each, "0")))[:200] for each in group.named_children)


def _bases(node: Node, source: Source) -> Iterator[str]:
    """What it extends and implements, and the traits it uses."""
    body = child(node, "body")
    uses = body.named_children if body is not None and _KINDS[node.type] in _OWNERS else ()
    listed = [each for each in node.named_children if each.type in ("base_clause", "class_interface_clause")]
    for clause in (*listed, *(each for each in uses if each.type == "use_declaration")):
        for each in clause.named_children:
            if each.type in ("name", "qualified_name"):
                yield dotted(source.of(each))[:200]


def parameters_of(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        name, written = child(each, "name"), source.of(child(each, "type"))
        if each.type == "variadic_parameter":
            many = held(written).replace(";", "[];")
            yield Parameter(source.of(name), f"{written}...".lstrip(), many)
        elif name is not None:
            yield Parameter(source.of(name), written)


def _promoted(node: Node, source: Source) -> Iterator[Definition]:
    """`__construct(private Repo $repo)` makes a field of the class."""
    listed = child(node, "parameters")
    for each in listed.named_children if listed is not None else ():
        if each.type == "property_promotion_parameter":
            yield _field(each, each, source.of(child(each, "type")), child(each, "default_value"), source)


def _field(name: Node, node: Node, written: str, value: Node | None, source: Source) -> Definition:
    return Definition(
        source.of(child(name, "name")).lstrip("$"),
        "field",
        node,
        (_start(node), name.end_byte),
        written,
        value=value,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        has_body=False,
    )


def _properties(node: Node, source: Source) -> Iterator[Definition]:
    written = source.of(child(node, "type"))
    for each in node.named_children:
        if each.type == "property_element":
            yield _field(each, node, written, child(each, "default_value"), source)


def _constants(node: Node, around: Definition | None, source: Source) -> Iterator[Definition]:
    kind = "field" if around is not None and around.kind in _OWNERS else "variable"
    modifiers = (*_modifiers(node, source), "const")
    for each in node.named_children:
        if each.type == "const_element":
            header = (_start(node), each.end_byte)
            name, value = source.of(child(each, "0")), child(each, "1")
            yield Definition(name, kind, node, header, value=value, modifiers=modifiers, has_body=False)


def _defined(node: Node, source: Source) -> Iterator[Definition]:
    """`define('X', 1)` makes a constant, wherever it stands."""
    listed = child(node, "arguments")
    first, second = (child(it, "0") if it else None for it in (_argument(listed, 0), _argument(listed, 1)))
    name = source.of(first).strip("'\"") if first is not None and first.type in ("string", "encapsed_string") else ""
    if second is not None and name and "$" not in name:
        yield Definition(
            name.rpartition("\\")[2],
            "variable",
            node,
            node.byte_range,
            value=second,
            modifiers=("const",),
            has_body=False,
            divides=False,
        )


def _argument(listed: Node | None, number: int) -> Node | None:
    return child(listed, str(number)) if listed is not None else None


def kept(_name: str, around: Definition | None) -> str:
    return "field" if around is not None and around.kind in _OWNERS else "variable"
