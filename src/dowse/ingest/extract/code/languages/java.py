"""Java."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Definition, Imported, Language, Parameter, Shape
from dowse.ingest.extract.code.source import child, first_of
from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = """
[(package_declaration) (class_declaration) (interface_declaration) (annotation_type_declaration) (enum_declaration)
 (record_declaration) (enum_constant) (method_declaration) (constructor_declaration)
 (compact_constructor_declaration) (field_declaration) (constant_declaration)] @define
(import_declaration) @import
(method_invocation) @call
[(object_creation_expression) (explicit_constructor_invocation)] @construct
[(local_variable_declaration) (enhanced_for_statement) (resource) (catch_formal_parameter) (instanceof_expression)
 (type_pattern)] @bind
(lambda_expression) @lambda
(lambda_expression body: (expression) @result)
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression)] @branch
(if_statement alternative: (if_statement) @further)
(if_statement alternative: (block) @otherwise)
(switch_expression) @switch
(switch_label . "case") @case
[(try_statement) (try_with_resources_statement) (synchronized_statement)] @block
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
(argument_list) @refer
"""


def _initialised(node: Node, _source: Source) -> str:
    called = child(node, "constructor")
    return "this" if called is not None and called.type == "this" else "super"


_SHAPES = {
    "identifier": Shape(name=True),
    "type_identifier": Shape(name=True),
    "this": Shape(root="this"),
    "super": Shape(root="super"),
    "field_access": Shape(onto="object", member="field"),
    "scoped_identifier": Shape(onto="scope", member="name"),
    "method_invocation": Shape(onto="object", member="name", step="()"),
    "array_access": Shape(onto="array", step="[]"),
    "parenthesized_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "cast_expression": Shape(type="type"),
    "object_creation_expression": Shape(type="type"),
    "array_creation_expression": Shape(root=":{}[];", element="type"),
    "explicit_constructor_invocation": Shape(read=_initialised),
    "ternary_expression": Shape(either=("consequence", "alternative")),
    "method_reference": Shape(onto="0", member="1"),
    "string_literal": Shape(root=":String;"),
    "decimal_integer_literal": Shape(root=":int;"),
    "decimal_floating_point_literal": Shape(root=":double;"),
    "true": Shape(root=":boolean;"),
    "false": Shape(root=":boolean;"),
    "class_literal": Shape(root=":Class;"),
}

_KINDS = {
    "package_declaration": "namespace",
    "class_declaration": "class",
    "interface_declaration": "interface",
    "annotation_type_declaration": "interface",
    "enum_declaration": "enum",
    "record_declaration": "record",
    "enum_constant": "enumMember",
    "method_declaration": "method",
    "constructor_declaration": "constructor",
    "compact_constructor_declaration": "constructor",
}
_FILLERS = {
    "line_comment": "comments",
    "block_comment": "comments",
    "import_declaration": "imports",
    "module_declaration": "a module's list of packages",
}
_SAY_NOTHING = frozenset({"", "var", "void"})
_TO_ELEMENTS = frozenset(
    {"forEach", "map", "filter", "anyMatch", "allMatch", "noneMatch", "flatMap", "removeIf", "mapToInt", "peek"}
)


def _define(node: Node, _around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("field_declaration", "constant_declaration"):
        return _fields(node, source)
    kind = _KINDS[node.type]
    body = child(node, "body")
    found = Definition(
        source.of(child(node, "name") or child(node, "0")),
        kind,
        node,
        _header(node),
        type=source.of(child(node, "type")),
        parameters=tuple(_parameters(child(node, "parameters"), source)),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=body is not None,
        to_the_end=kind == "namespace",
    )
    return (found, *_components(node, source)) if kind == "record" else (found,)


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


def _parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
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
            source.of(child(node, "type")),
            modifiers=modifiers,
            attributes=annotations,
            has_body=False,
        )


def _bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "local_variable_declaration":
        return _declared(node, source)
    name, written = child(node, "name"), _type(node, source)
    if node.type == "enhanced_for_statement" and name is not None:
        value = child(node, "value")
        return [Bound(name, value.end_byte if value else node.end_byte, written, value, "[]")]
    if node.type == "type_pattern":
        name = child(node, "1")
    return [Bound(name, node.end_byte, written, child(node, "value"))] if name is not None else []


def _type(node: Node, source: Source) -> str:
    if node.type == "catch_formal_parameter":
        caught = first_of(node, "catch_type")
        return source.of(child(caught, "0") if caught else None)
    written = child(node, "right") if node.type == "instanceof_expression" else child(node, "type")
    return source.of(written or (child(node, "0") if node.type == "type_pattern" else None))


def _declared(node: Node, source: Source) -> Iterator[Bound]:
    written = source.of(child(node, "type"))
    for each in node.children_by_field_name("declarator"):
        name = child(each, "name")
        if name is not None:
            yield Bound(name, each.end_byte, written, child(each, "value"))


def _lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    written = child(node, "parameters")
    names = (
        [Parameter(source.of(written))]
        if written is not None and written.type == "identifier"
        else list(_parameters(written, source))
    )
    call = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    passes = call is not None and source.of(child(call, "name")) in _TO_ELEMENTS
    elements = child(call, "object") if call is not None and passes else None
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def _imports(node: Node, source: Source) -> Iterator[Imported]:
    named = child(node, "0")
    path = "".join(source.of(named).split())
    if first_of(node, "asterisk") is not None:
        yield Imported(path, "*")
    elif path:
        module, _, member = path.rpartition(".")
        yield Imported(module, member, member)


def _held(written: str) -> str:
    return "" if written in _SAY_NOTHING else instance(written)


LANGUAGES = (
    Language(
        name="java",
        suffixes=(".java",),
        grammar="tree_sitter_java",
        query=_QUERY,
        shapes=_SHAPES,
        define=_define,
        bind=_bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=_lambda_parameters,
        held=_held,
    ),
)
