"""What definitions of JavaScript and TypeScript say about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Mapped, Parameter
from dowse.ingest.extract.code.languages.javascript.types import held
from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "typeAlias",
    "enum_declaration": "enum",
    "enum_assignment": "enumMember",
    "property_identifier": "enumMember",
    "internal_module": "namespace",
    "module": "namespace",
    "method_definition": "method",
    "method_signature": "method",
    "abstract_method_signature": "method",
    "property_signature": "field",
    "public_field_definition": "field",
    "field_definition": "field",
    "function_expression": "function",
    "generator_function": "function",
    "class": "class",
}
_FUNCTIONS = frozenset({"arrow_function", "function_expression", "generator_function"})
_MODIFIERS = frozenset({"static", "async", "abstract", "readonly", "declare", "default", "const"})
_TO_ELEMENTS = frozenset({"map", "filter", "forEach", "find", "findLast", "some", "every", "flatMap", "findIndex"})
_OWNERS = frozenset({"class", "interface"})
_MOST_MEMBERS = 200  # of one object: what has more is data
EXPORTS = frozenset({"exports", "module.exports"})
_THIS = Parameter("this", holds="this")


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("variable_declarator", "pair", "assignment_expression"):
        return _named(node, source)
    in_class = around is not None and around.kind in _OWNERS
    if node.type in ("public_field_definition", "field_definition"):
        return [_field(node, source)]
    definition = _definition(node, in_class, source)
    if node.type in _FUNCTIONS:  # read as a lambda all the same
        return [definition._replace(has_body=False, divides=False)]
    # The fields that a constructor's parameters make are the class's: before it is entered.
    return [*_parameter_fields(node, source), definition] if definition.kind == "constructor" else [definition]


def _definition(node: Node, in_class: bool, source: Source) -> Definition:
    function = _function_member(node)
    kind = "method" if function is not None else _KINDS[node.type]
    name = source.of(child(node, "name") or node).strip("\"'`")
    modifiers = tuple(_modifiers(node))
    if kind == "method":
        kind = _method_kind(name, modifiers, in_class)
    receiver = (_THIS,) if in_class and kind != "function" else ()
    passed, parts = _parameters(child(function or node, "parameters"), source)
    return Definition(
        name,
        kind,
        _span(node),
        _header(node),
        type=source.of(child(function or node, "return_type") or child(node, "type")),
        parameters=(*receiver, *passed, *parts),
        hidden=len(receiver),
        added=len(parts),
        modifiers=modifiers,
        attributes=tuple(_decorators(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=child(node, "body") is not None,
    )


def _function_member(node: Node) -> Node | None:
    """The function in `save: (name: string) => void`, which is called like a method of the interface."""
    written = child(node, "type") if node.type == "property_signature" else None
    inner = child(written, "0") if written is not None else None
    return inner if inner is not None and inner.type == "function_type" else None


def _method_kind(name: str, modifiers: tuple[str, ...], in_class: bool) -> str:
    if name == "constructor" and in_class:
        return "constructor"
    return "property" if "get" in modifiers or "set" in modifiers else "method"


def _named(node: Node, source: Source) -> list[Definition]:
    """A function or class that gets its name by being given to it."""
    target = child(node, "name") or child(node, "key") or child(node, "left")
    value = child(node, "value") or child(node, "right")
    if target is None or value is None or target.type in ("object_pattern", "array_pattern"):
        return []
    own = child(value, "name") if source.of(target) in EXPORTS else None
    name = source.of(own or child(target, "property") or target).strip("\"'`")
    body = child(value, "body")
    passed, parts = _parameters(child(value, "parameters") or child(value, "parameter"), source)
    return [
        Definition(
            name,
            "class" if value.type == "class" else "function",
            _span(node.parent) if node.type == "variable_declarator" and node.parent else node,
            (node.start_byte, body.start_byte if body else node.end_byte),
            type=source.of(child(value, "return_type")),
            parameters=passed + parts,
            added=len(parts),
            modifiers=tuple(_modifiers(value)) + tuple(_modifiers(node.parent) if node.parent else ()),
            bases=tuple(_bases(value, source)),
            function=value,
        )
    ]


def _field(node: Node, source: Source) -> Definition:
    name = source.of(child(node, "name") or child(node, "property")).strip("\"'")
    value = child(node, "value")
    body = child(value, "body") if value is not None and value.type in _FUNCTIONS else None
    is_method = body is not None and value is not None
    passed, parts = _parameters(child(value, "parameters") if is_method and value else None, source)
    return Definition(
        name,
        "method" if is_method else "field",
        node,
        (node.start_byte, body.start_byte if body else node.end_byte),
        type=source.of(child(value, "return_type")) if is_method and value else source.of(child(node, "type")),
        value=None if is_method else value,
        parameters=(_THIS, *passed, *parts) if is_method else (),
        hidden=int(is_method),
        added=len(parts),
        modifiers=tuple(_modifiers(node)),
        attributes=tuple(_decorators(node, source)),
        has_body=is_method,
        function=value if is_method else None,
    )


def _span(node: Node) -> Node:
    """With the `export` before it."""
    parent = node.parent
    return parent if parent is not None and parent.type == "export_statement" else node


def _header(node: Node) -> tuple[int, int]:
    start = next((each.start_byte for each in node.children if each.type != "decorator"), node.start_byte)
    body = child(node, "body")
    return start, body.start_byte if body else node.end_byte


def _modifiers(node: Node) -> Iterator[str]:
    span = _span(node)
    if span is not node:
        yield "export"
        if any(each.type == "default" for each in span.children):
            yield "default"
    if node.type == "abstract_class_declaration":
        yield "abstract"
    for each in node.children:
        if each.type in ("accessibility_modifier", "override_modifier") or each.type in ("get", "set"):
            yield each.text.decode() if each.text else each.type
        elif each.type in _MODIFIERS and node.type != "abstract_class_declaration":
            yield each.type


def _decorators(node: Node, source: Source) -> Iterator[str]:
    """Those of a method stand before it in the body of its class, those of an exported class before the export."""
    found = [each for part in (_span(node), node) for each in part.named_children if each.type == "decorator"]
    before = node.prev_named_sibling
    while before is not None and before.type == "decorator":
        found.insert(0, before)
        before = before.prev_named_sibling
    yield from dict.fromkeys(source.of(child(it, "0")).partition("(")[0].strip()[:200] for it in found)


def _bases(node: Node, source: Source) -> Iterator[str]:
    heritage = first_of(node, "class_heritage", "extends_type_clause")
    if heritage is None:
        return
    clauses = [each for each in heritage.named_children if each.type.endswith("_clause")]
    for clause in clauses or [heritage]:
        for each in clause.named_children:
            if each.type != "type_arguments" and not each.is_extra:
                yield "".join(source.of(each).partition("(")[0].split())[:200]


def _parameters(node: Node | None, source: Source) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Those that are passed, and the names that patterns take out of them."""
    if node is None or node.type == "identifier":
        return ((Parameter(source.of(node)),) if node else ()), ()
    passed: list[Parameter] = []
    parts: list[Parameter] = []
    for each in node.named_children:
        if each.is_extra:
            continue
        target = child(each, "pattern") or child(each, "left") or each
        written = source.of(child(each, "type")).lstrip(":").strip()
        if target.type == "object_pattern":
            parts += _taken_out(target, written, source)
        passed.append(Parameter(source.of(target).lstrip("."), written))
    return tuple(passed), tuple(parts)


def _taken_out(pattern: Node, written: str, source: Source) -> Iterator[Parameter]:
    whole = held(written)
    for each in pattern.named_children:
        name = child(each, "value") or child(each, "left") or each
        key = source.of(child(each, "key") or name)
        simple = whole and "|" not in whole and key.isidentifier()
        yield Parameter(source.of(name), holds=f"{whole}.{key}" if simple else UNKNOWN)


def _parameter_fields(node: Node, source: Source) -> Iterator[Definition]:
    """`constructor(private repo: Repo)` makes a field of the class."""
    for each in getattr(child(node, "parameters"), "named_children", ()):
        access = first_of(each, "accessibility_modifier")
        modifiers = ([source.of(access)] if access else []) + [it.type for it in each.children if it.type == "readonly"]
        name = child(each, "pattern")
        if modifiers and name is not None:
            written = source.of(child(each, "type")).lstrip(":").strip()
            yield Definition(
                source.of(name), "field", each, each.byte_range, written, modifiers=tuple(modifiers), has_body=False
            )


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    passed, parts = _parameters(child(node, "parameters") or child(node, "parameter"), source)
    elements = _iterated(node, source)
    if passed and not passed[0].type and elements is not None:
        passed = (Parameter(passed[0].name, value=elements, step="[]"), *passed[1:])
    return passed + parts


def _iterated(node: Node, source: Source) -> Node | None:
    call = node.parent.parent if node.parent is not None and node.parent.type == "arguments" else None
    called = child(call, "function") if call is not None and call.type == "call_expression" else None
    if called is None or called.type != "member_expression" or source.of(child(called, "property")) not in _TO_ELEMENTS:
        return None
    return child(called, "object")


def mapped(node: Node, source: Source) -> Mapped | None:
    """`xs.map(x => x.y)` gives what is in y of each."""
    arguments, called = child(node, "arguments"), child(node, "function")
    if arguments is None or called is None or arguments.named_child_count != 1:
        return None
    function, name = arguments.named_children[0], source.of(child(called, "property"))
    receiver, body = child(called, "object"), child(function, "body")
    if function.type != "arrow_function" or name not in ("map", "flatMap") or receiver is None or body is None:
        return None
    parameters = child(function, "parameter") or child(function, "parameters")
    parameter = source.of(parameters).strip("() ").partition(":")[0].strip()
    return Mapped(receiver, parameter, body, many=name == "flatMap")


def members(node: Node, source: Source) -> Iterator[tuple[Definition, Node]]:
    """Of an object that is written out, or of its type. Functions in it are definitions of their own."""
    parts = node.named_children
    for each in parts[:_MOST_MEMBERS] if node.type == "object" else parts:
        if each.type in ("property_signature", "method_signature"):
            yield _definition(each, True, source)._replace(divides=False), each
            continue
        key, value = child(each, "key"), child(each, "value")
        if key is None or value is None or value.type in _FUNCTIONS or key.type == "computed_property_name":
            continue
        header = (each.start_byte, key.end_byte if value.type == "object" else each.end_byte)
        yield Definition(source.of(key).strip("\"'"), "field", each, header, has_body=False, divides=False), each


def kept(_name: str, around: Definition | None) -> str:
    return "variable" if around is None or around.kind == "namespace" else "field"
