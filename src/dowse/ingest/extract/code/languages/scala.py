"""Scala, with braces or with indentation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import UNKNOWN_ROOT, instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Definitions in Scala: types, functions, values and givens.

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
_VALUE_PARENTS = frozenset({"compilation_unit", "template_body", "with_template_body", "enum_body"})


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in _VALUES:
        return _define_values(node, enclosing, source)
    if node.type in ("function_definition", "function_declaration"):
        return [_function(node, enclosing, source)]
    if node.type == "given_definition":
        return [_define_given(node, source)]
    if node.type == "package_clause":
        return [_package(node, source)]
    if node.type == "type_definition":
        definition = _definition(node, source.text(child(node, "name")), "typeAlias", source)
        return [definition._replace(header=node.byte_range, type=source.text(child(node, "type")))]
    return _type(node, source)


def _definition(
    node: Node, name: str, kind: str, source: SourceText, parameters: tuple[Parameter, ...] = ()
) -> SyntaxDefinition:
    body = child(node, "body")
    return SyntaxDefinition(
        name,
        kind,
        node,
        (_start(node), body.start_byte if body else node.end_byte),
        parameters=parameters,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        has_body=body is not None,
    )


def _package(node: Node, source: SourceText) -> SyntaxDefinition:
    name, body = child(node, "name"), child(node, "body")
    header = (node.start_byte, body.start_byte if body else node.end_byte)
    return SyntaxDefinition(
        "".join(source.text(name).split()), "namespace", node, header, spans_rest_of_file=body is None
    )


def _type(node: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    """Define a type with a member for each parameter; those without `val` are private, except in a case class."""
    kind = _KINDS[node.type]
    parameter_lists = node.children_by_field_name("class_parameters")
    parameter_nodes = [
        each for part in parameter_lists for each in part.named_children if each.type == "class_parameter"
    ]
    parameters = tuple(_parameter(each, source) for each in parameter_nodes)
    definition = _definition(node, source.text(child(node, "name")), kind, source, parameters)
    definition = definition._replace(bases=tuple(_bases(node, source)))
    if kind == "enumMember":
        return [definition]
    is_case = "case" in definition.modifiers
    return [definition, *(_constructor_member(each, is_case, source) for each in parameter_nodes)]


def _constructor_member(node: Node, is_case: bool, source: SourceText) -> SyntaxDefinition:
    is_property = is_case or any(each.type in ("val", "var") for each in node.children)
    name, kind = source.text(child(node, "name")), "property" if is_property else "field"
    return _definition(node, name, kind, source)._replace(type=source.text(child(node, "type")), has_body=False)


def _function(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> SyntaxDefinition:
    """Define a function; in an extension the first parameter is the receiver."""
    name = source.text(child(node, "name"))
    extended = node.parent if node.parent is not None and node.parent.type == "extension_definition" else None
    receivers = tuple(_parameters(extended, source))[:1] if extended is not None else ()
    parameters = (*receivers, *_parameters(node, source))
    definition = _definition(node, name, _function_kind(node, name, enclosing), source, parameters)
    modifiers = (*definition.modifiers, "extension") if receivers else definition.modifiers
    return definition._replace(type=source.text(child(node, "return_type")), modifiers=modifiers)


def _function_kind(node: Node, name: str, enclosing: SyntaxDefinition | None) -> str:
    """Return the kind; members of an anonymous object are inside the function that creates it."""
    is_made = node.parent is not None and node.parent.type == "template_body" and enclosing is not None
    if enclosing is None or enclosing.kind == "namespace" or (enclosing.kind not in _OWNERS and not is_made):
        return "function"
    return "constructor" if name == "this" else "method"


def _parameters(node: Node, source: SourceText) -> Iterator[Parameter]:
    for parameter_list in node.children_by_field_name("parameters"):
        yield from (_parameter(each, source) for each in parameter_list.named_children if each.type == "parameter")


def _parameter(node: Node, source: SourceText) -> Parameter:
    return Parameter(source.text(child(node, "name")), source.text(child(node, "type")))


def _define_given(node: Node, source: SourceText) -> SyntaxDefinition:
    """Define a given; an anonymous one gets the compiler's name, one with members is a class."""
    type_text = source.text(child(node, "return_type"))
    name = source.text(child(node, "name")) or "_".join(["given", *re.findall(r"\w+", type_text)])
    body = child(node, "body")
    is_class = body is not None and body.type == "with_template_body"
    definition = _definition(node, name, "class" if is_class else "variable", source)
    definition = definition._replace(modifiers=("given", *definition.modifiers))
    if is_class:
        return definition._replace(bases=("".join(type_text.split())[:200],))
    return definition._replace(type=type_text, value=body, has_body=False)


def _define_values(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the values of a type or file; others are locals."""
    if node.parent is None or node.parent.type not in _VALUE_PARENTS:
        return
    kind = "field" if enclosing is not None and enclosing.kind in _OWNERS else "variable"
    target, value = child(node, "pattern") or child(node, "name"), child(node, "value")
    if target is None:
        return
    alone = target.type == "identifier"
    names = [target] if alone else [each for each in target.named_children if each.type == "identifier"]
    for each in names:
        definition = _definition(node, source.text(each), kind, source)
        end = value.start_byte if value is not None else node.end_byte
        type_text = source.text(child(node, "type")) if alone else ""
        yield definition._replace(
            type=type_text, value=value if alone else None, header=(definition.header[0], end), has_body=False
        )


def _start(node: Node) -> int:
    """Return where the node begins after its annotations."""
    return next((each.start_byte for each in node.children if each.type != "annotation"), node.start_byte)


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.children:
        if each.type == "modifiers":
            yield from (source.text(part) for part in each.children)
        elif each.type == "case" and node.type in _KINDS:
            yield "case"
    if node.type in _OBJECTS:
        yield "object"


def _annotations(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "annotation":
            yield source.text(child(each, "name"))[:200]


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    extended = child(node, "extend")
    for each in extended.children_by_field_name("type") if extended is not None else ():
        if each.is_named:
            yield "".join(source.text(each).split())[:200]


# --------------------------------------------------------------------------------------------------
# Bindings in Scala: declarations, assignments, loops, patterns and lambdas; and its imports.

_ELEMENT_CALLBACK_METHODS = frozenset(
    {
        "foreach", "map", "filter", "filterNot", "withFilter", "flatMap", "exists", "forall", "find", "collect",
        "collectFirst", "count", "groupBy", "sortBy", "maxBy", "minBy", "partition", "takeWhile", "dropWhile",
        "foldMap", "traverse", "tapEach",
    }
)  # fmt: skip
_MAX_LEVELS_TO_MATCH = 3  # levels from a name as pattern: its case and the list of cases


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type in ("val_definition", "var_definition", "assignment_expression"):
        return _bind_value(node, source)
    if node.type == "enumerator":
        return _bind_enumerator(node)
    if node.type == "typed_pattern":
        return _bind_typed(child(node, "pattern"), node, source.text(child(node, "type")))
    if node.type == "capture_pattern":
        inner = child(node, "pattern")
        return _bind_typed(child(node, "name"), node, source.text(child(inner, "type") if inner is not None else None))
    if node.type == "identifier":
        return [BoundName(node, node.end_byte, value=_matched_value(node), narrows=True)]
    return [BoundName(each, node.end_byte, narrows=True) for each in node.named_children if each.type == "identifier"]


def _bind_value(node: Node, source: SourceText) -> Iterable[BoundName]:
    target = child(node, "pattern") or child(node, "left")
    value = child(node, "value") or child(node, "right")
    if target is None or target.type != "identifier":
        return ()  # patterns are captured separately
    return [BoundName(target, node.end_byte, source.text(child(node, "type")), value)]


def _bind_enumerator(node: Node) -> Iterable[BoundName]:
    target, value = child(node, "0"), child(node, "1")
    if target is None or value is None or target.type != "identifier":
        return ()
    step = "[]" if any(each.type == "<-" for each in node.children) else ""
    return [BoundName(target, value.end_byte, value=value, step=step)]


def _bind_typed(target: Node | None, node: Node, type_text: str) -> Iterable[BoundName]:
    if target is None or target.type != "identifier":
        return ()
    return [BoundName(target, node.end_byte, type_text, narrows=True)]


def _matched_value(node: Node) -> Node | None:
    """Return the matched value, which a bare name as pattern binds."""
    enclosing: Node | None = node
    for _ in range(_MAX_LEVELS_TO_MATCH):
        enclosing = enclosing.parent if enclosing is not None else None
        if enclosing is not None and enclosing.type == "match_expression":
            return child(enclosing, "value")
    return None


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a lambda; a collection method passes an element of its receiver as the first."""
    names = list(_lambda_parameters(node, source))
    elements = _element_source(node, source)
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def _lambda_parameters(node: Node, source: SourceText) -> Iterator[Parameter]:
    """Read `x`, `(x: Foo, y)`, or `x: Foo` in braces, where the type is a second child of the field."""
    parameter_nodes = [each for each in node.children_by_field_name("parameters") if each.is_named]
    if not parameter_nodes:
        return
    if parameter_nodes[0].type == "bindings":
        for each in parameter_nodes[0].named_children:
            yield Parameter(source.text(child(each, "name")), source.text(child(each, "type")))
    else:
        yield Parameter(
            source.text(parameter_nodes[0]), source.text(parameter_nodes[1]) if len(parameter_nodes) > 1 else ""
        )


def _element_source(node: Node, source: SourceText) -> Node | None:
    enclosing = node.parent
    call = enclosing.parent if enclosing is not None and enclosing.type in ("arguments", "block") else enclosing
    if call is None:
        return None
    callee = child(call, "function") if call.type == "call_expression" else call
    if callee is None or callee.type not in ("field_expression", "infix_expression"):
        return None
    name = source.text(child(callee, "field") or child(callee, "operator"))
    return child(callee, "value") or child(callee, "left") if name in _ELEMENT_CALLBACK_METHODS else None


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    """Yield the imports of `import a.b.C, d.{E, F => G}`."""
    for is_comma, parts in groupby(node.children, key=lambda each: each.type == ","):
        if not is_comma:
            yield from _import_path([each for each in parts if each.is_named], source)


def _import_path(parts: list[Node], source: SourceText) -> Iterator[ImportedName]:
    path = [source.text(each) for each in parts if each.type in ("identifier", "operator_identifier")]
    if not path:
        return
    last = parts[-1]
    if last.type == "namespace_wildcard":
        yield ImportedName(".".join(path), "*")
    elif last.type == "namespace_selectors":
        yield from _import_selectors(last, ".".join(path), source)
    else:
        yield ImportedName(".".join(path[:-1]), path[-1], path[-1])


def _import_selectors(node: Node, module: str, source: SourceText) -> Iterator[ImportedName]:
    for each in node.named_children:
        name = source.text(child(each, "name") or each)
        if each.type == "namespace_wildcard":
            yield ImportedName(module, "*")
        elif first_child_of(each, "wildcard") is None:  # `a => _` hides a
            yield ImportedName(module, source.text(child(each, "alias")) or name, name)


# --------------------------------------------------------------------------------------------------
# Scala types.

_UNINFORMATIVE = frozenset({"", "Unit", "Nothing", "Any", "AnyRef"})
_FIRST = re.compile(r"\s+(?:with|&)\s+|\s*\{")


@lru_cache(maxsize=20_000)
def instance_of(type_text: str) -> str:
    """Translate a type: `=> Foo` is a Foo, `Foo*` several; functions and tuples are uninformative."""
    name = _FIRST.split(type_text.strip().removeprefix("=>").strip(), maxsplit=1)[0]
    if name in _UNINFORMATIVE or name.startswith("(") or "=>" in name.partition("[")[0] or name.endswith(".type"):
        return ""
    if "|" in name.partition("[")[0]:
        return "|".join(filter(None, (instance_of(part) for part in name.split("|"))))
    return instance_root(f"{name[:-1]}[]" if name.endswith("*") else name)


# --------------------------------------------------------------------------------------------------

# `f(a)(b)` is one call with several argument lists: the outer nodes are left out.
_QUERY = """
[(package_clause) (package_object) (class_definition) (object_definition) (trait_definition) (enum_definition)
 (simple_enum_case) (full_enum_case) (function_definition) (function_declaration) (val_definition) (var_definition)
 (val_declaration) (var_declaration) (type_definition) (given_definition)] @define
(import_declaration) @import
(call_expression function: [(identifier) (field_expression) (generic_function) (parenthesized_expression)
 (instance_expression)]) @call
(infix_expression operator: (identifier)) @call
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)]) @construct
(extends_clause arguments: (arguments) @construct)
((call_expression function: (identifier) @_this) @construct (#eq? @_this "this"))
[(val_definition) (var_definition) (assignment_expression) (enumerator) (typed_pattern) (capture_pattern)
 (tuple_pattern) (case_class_pattern)] @bind
(case_clause pattern: (identifier) @bind)
(lambda_expression) @lambda
[(if_expression) (for_expression) (while_expression) (do_while_expression)] @branch
(if_expression alternative: (if_expression) @else_if)
(if_expression alternative: [(block) (indented_block) (call_expression) (throw_expression) (return_expression)
 (instance_expression)] @else)
(match_expression) @switch
((case_clause pattern: (_) @_pattern) @case (#not-eq? @_pattern "_"))
(try_expression) @block
(infix_expression operator: (operator_identifier) @_sign (#any-of? @_sign "&&" "||")) @operator
(return_expression) @return
(function_definition body: [(call_expression) (field_expression) (instance_expression) (identifier) (if_expression)
 (string) (integer_literal) (boolean_literal) (infix_expression)] @result)
(function_definition body: [(block (_) @result .) (indented_block (_) @result .)])
(arguments) @refer
(method_value . [(identifier) (field_expression)] @refer)
"""

_SHAPES = {
    "identifier": NodeShape(is_name=True),  # includes `this` and `super`
    "field_expression": NodeShape(base="value", member="field"),
    "call_expression": NodeShape(base="function", step="()"),
    "generic_function": NodeShape(base="function"),
    "infix_expression": NodeShape(base="left", member="operator", step="()"),
    "parenthesized_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "ascription_expression": NodeShape(type="1"),
    "instance_expression": NodeShape(type="0"),
    "arguments": NodeShape(root="super"),  # captured as a call site only after a base class
    "if_expression": NodeShape(alternatives=("consequence", "alternative")),
    "string": NodeShape(root=":String;"),
    "interpolated_string_expression": NodeShape(root=":String;"),
    "integer_literal": NodeShape(root=":Int;"),
    "floating_point_literal": NodeShape(root=":Double;"),
    "boolean_literal": NodeShape(root=":Boolean;"),
    "character_literal": NodeShape(root=":Char;"),
}

_FILLERS = {
    "comment": "comments",
    "block_comment": "comments",
    "import_declaration": "imports",
    "export_declaration": "exports",
}


def _normalize(expression: str) -> str:
    """Merge several argument lists into one call; the result of an operator is unknown."""
    if expression.startswith("_."):  # an unnamed lambda parameter
        return UNKNOWN_ROOT + expression[expression.rfind(".") :]
    if ".?" not in expression:
        return expression.replace("()()", "()")
    return "|".join(_drop_operators(alternative) for alternative in expression.split("|"))


def _drop_operators(alternative: str) -> str:
    _, operator, rest = alternative.rpartition(".?")
    if not operator:
        return alternative
    return UNKNOWN_ROOT + rest[rest.find(".") :] if "." in rest else UNKNOWN_ROOT


def _call_result(definition: SyntaxDefinition, expression: str) -> str:
    return "" if definition.kind == "constructor" or definition.type == "Unit" else expression


LANGUAGES = (
    Language(
        name="scala",
        suffixes=(".scala", ".sc"),
        grammar="tree_sitter_scala",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=_normalize,
        call_result=_call_result,
        call_method="apply",
    ),
)
