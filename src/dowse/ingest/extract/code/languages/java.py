"""Java."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    MappingCall,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Definitions in Java: types with their members, records with their components.

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


def define(node: Node, _enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in ("field_declaration", "constant_declaration"):
        return _fields(node, source)
    kind = _KINDS[node.type]
    body = child(node, "body")
    definition = SyntaxDefinition(
        source.text(child(node, "name") or first_child_of(node, "scoped_identifier", "identifier")),
        kind,
        node,
        _header(node),
        type=source.text(child(node, "type")) + _dimensions(node, source),
        parameters=tuple(read_parameters(child(node, "parameters"), source)),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=body is not None,
        spans_rest_of_file=kind == "namespace",
    )
    return (definition, *_components(node, source)) if kind == "record" else (definition,)


def _dimensions(node: Node, source: SourceText) -> str:
    """Return the array brackets after a name: `int x[]` and `int f()[]` have the type `int[]`."""
    return "".join(source.text(child(node, "dimensions")).split())


def _header(node: Node) -> tuple[int, int]:
    start, body = node.start_byte, child(node, "body")
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.children if modifiers else ():
        if each.type not in ("annotation", "marker_annotation"):
            start = each.start_byte
            break
        start = each.end_byte
    return start, body.start_byte if body is not None and node.type != "enum_constant" else node.end_byte


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.children if modifiers else ():
        if not each.is_named:
            yield source.text(each)


def _annotations(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type in ("annotation", "marker_annotation"):
            yield source.text(child(each, "name"))[:200]


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "superclass":
            yield "".join(source.text(child(each, "0")).split())[:200]
        elif each.type in ("super_interfaces", "extends_interfaces"):
            bases = child(each, "0")
            for base in bases.named_children if bases else ():
                yield "".join(source.text(base).split())[:200]


def read_parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "formal_parameter":
            yield Parameter(source.text(child(each, "name")), source.text(child(each, "type")))
        elif each.type == "spread_parameter":
            declarator, type_text = first_child_of(each, "variable_declarator"), source.text(child(each, "0"))
            name = source.text(child(declarator, "name") if declarator else None)
            yield Parameter(name, f"{type_text}...", instance_root(f"{type_text}[]"))
        elif each.type == "identifier":
            yield Parameter(source.text(each))


def _components(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    parameters_node = child(node, "parameters")
    for each in parameters_node.named_children if parameters_node else ():
        if each.type == "formal_parameter":
            name, type_text = source.text(child(each, "name")), source.text(child(each, "type"))
            yield SyntaxDefinition(name, "property", each, each.byte_range, type_text, has_body=False)


def _fields(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    modifiers, annotations = tuple(_modifiers(node, source)), tuple(_annotations(node, source))
    start, _ = _header(node)
    for each in node.children_by_field_name("declarator"):
        yield SyntaxDefinition(
            source.text(child(each, "name")),
            "field",
            node,
            (start, each.end_byte),
            source.text(child(node, "type")) + _dimensions(each, source),
            modifiers=modifiers,
            attributes=annotations,
            has_body=False,
        )


# --------------------------------------------------------------------------------------------------
# Bindings in Java: declarations, loops, patterns, catches and lambdas; and its imports.

_ELEMENT_CALLBACK_METHODS = frozenset(
    {"forEach", "map", "filter", "anyMatch", "allMatch", "noneMatch", "flatMap", "removeIf", "mapToInt", "peek"}
    | {"ifPresent", "ifPresentOrElse", "takeWhile", "dropWhile", "toMap", "mapToLong", "mapToObj", "mapToDouble"}
)


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "local_variable_declaration":
        return _bind_declarators(node, source)
    name, type_text = child(node, "name"), _declared_type(node, source)
    if node.type == "enhanced_for_statement" and name is not None:
        value = child(node, "value")
        return [BoundName(name, value.end_byte if value else node.end_byte, type_text, value, "[]")]
    if node.type == "type_pattern":
        name = child(node, "1")
    return [BoundName(name, node.end_byte, type_text, child(node, "value"))] if name is not None else []


def _declared_type(node: Node, source: SourceText) -> str:
    if node.type == "catch_formal_parameter":
        caught = first_child_of(node, "catch_type")
        return source.text(child(caught, "0") if caught else None)
    type_node = child(node, "right") if node.type == "instanceof_expression" else child(node, "type")
    return source.text(type_node or (child(node, "0") if node.type == "type_pattern" else None))


def _bind_declarators(node: Node, source: SourceText) -> Iterator[BoundName]:
    type_text = source.text(child(node, "type"))
    for each in node.children_by_field_name("declarator"):
        name = child(each, "name")
        if name is not None:
            yield BoundName(name, each.end_byte, type_text, child(each, "value"))


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a lambda; a collection method passes an element of its receiver as the first."""
    parameter_node = child(node, "parameters")
    names = (
        [Parameter(source.text(parameter_node))]
        if parameter_node is not None and parameter_node.type == "identifier"
        else list(read_parameters(parameter_node, source))
    )
    call = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    passes = call is not None and source.text(child(call, "name")) in _ELEMENT_CALLBACK_METHODS
    elements = child(call, "object") if call is not None and passes else None
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def mapping_call(node: Node, source: SourceText) -> MappingCall | None:
    """Recognize `xs.map(x -> x.y())` and `xs.map(X::y)`."""
    arguments, receiver = child(node, "arguments"), child(node, "object")
    if arguments is None or receiver is None or arguments.named_child_count != 1:
        return None
    function, name = arguments.named_children[0], source.text(child(node, "name"))
    if function.type not in ("lambda_expression", "method_reference") or name not in ("map", "flatMap"):
        return None
    if function.type == "method_reference":
        member = source.text(child(function, "1"))
        return MappingCall(receiver, member=member, is_flat=name == "flatMap") if member else None
    return MappingCall(
        receiver,
        source.text(child(function, "parameters")).strip("() "),
        child(function, "body"),
        is_flat=name == "flatMap",
    )


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    named = child(node, "0")
    path = "".join(source.text(named).split())
    if first_child_of(node, "asterisk") is not None:
        yield ImportedName(path, "*")
    elif path:
        module, _, member = path.rpartition(".")
        yield ImportedName(module, member, member)


_QUERY = """
[(package_declaration) (class_declaration) (interface_declaration) (annotation_type_declaration) (enum_declaration)
 (record_declaration) (enum_constant) (method_declaration) (constructor_declaration)
 (compact_constructor_declaration) (annotation_type_element_declaration) (field_declaration)
 (constant_declaration)] @define
(import_declaration) @import
(method_invocation) @call
[(object_creation_expression) (explicit_constructor_invocation)] @construct
[(local_variable_declaration) (enhanced_for_statement) (resource) (catch_formal_parameter) (instanceof_expression)
 (type_pattern)] @bind
(lambda_expression) @lambda
(lambda_expression body: (expression) @result)
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression)] @branch
(if_statement alternative: (if_statement) @else_if)
(if_statement alternative: (block) @else)
(switch_expression) @switch
(switch_label . "case") @case
[(try_statement) (try_with_resources_statement) (synchronized_statement)] @block
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
(argument_list) @refer
"""


def _constructor_receiver(node: Node, _source: SourceText) -> str:
    callee = child(node, "constructor")
    return "this" if callee is not None and callee.type == "this" else "super"


_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "type_identifier": NodeShape(is_name=True),
    "this": NodeShape(root="this"),
    "super": NodeShape(root="super"),
    "field_access": NodeShape(base="object", member="field"),
    "scoped_identifier": NodeShape(base="scope", member="name"),
    "method_invocation": NodeShape(base="object", member="name", step="()", never_local=True),
    "array_access": NodeShape(base="array", step="[]"),
    "parenthesized_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "cast_expression": NodeShape(type="type"),
    "object_creation_expression": NodeShape(type="type"),
    "array_creation_expression": NodeShape(root=":{}[];", element="type"),
    "explicit_constructor_invocation": NodeShape(translate=_constructor_receiver),
    "ternary_expression": NodeShape(alternatives=("consequence", "alternative")),
    "method_reference": NodeShape(base="0", member="1"),
    "string_literal": NodeShape(root=":String;"),
    "decimal_integer_literal": NodeShape(root=":int;"),
    "decimal_floating_point_literal": NodeShape(root=":double;"),
    "true": NodeShape(root=":boolean;"),
    "false": NodeShape(root=":boolean;"),
    "class_literal": NodeShape(root=":Class;"),
}

_FILLERS = {
    "line_comment": "comments",
    "block_comment": "comments",
    "import_declaration": "imports",
    "module_declaration": "a module's list of packages",
}
_UNINFORMATIVE = frozenset({"", "var", "void"})


def _instance_of(type_text: str) -> str:
    return "" if type_text in _UNINFORMATIVE else instance_root(type_text)


LANGUAGES = (
    Language(
        name="java",
        suffixes=(".java",),
        grammar="tree_sitter_java",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=_instance_of,
        mapping_call=mapping_call,
        sequence_type=":Stream<?>;",
    ),
)
