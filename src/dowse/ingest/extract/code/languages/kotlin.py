"""Kotlin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    blank_out,
    child,
    first_child_of,
)
from dowse.text.receiver_expressions import instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Kotlin types, and where to find them: the grammar has no field for them.

_TYPES = frozenset({"user_type", "nullable_type", "function_type", "parenthesized_type", "non_nullable_type"})
_UNINFORMATIVE = frozenset({"", "Unit", "Nothing"})


def instance_of(type_text: str) -> str:
    """Translate a type: `Foo?` holds a Foo; function types are uninformative."""
    name = type_text.strip().rstrip("?")
    if name.startswith("(") and name.endswith(")"):
        name = name[1:-1].rstrip("?")
    return (
        "" if name in _UNINFORMATIVE or "->" in name.partition("<")[0] or name.startswith("(") else instance_root(name)
    )


def child_type(node: Node | None, source: SourceText) -> str:
    """Return the type among the children."""
    return next((source.text(each) for each in node.named_children if each.type in _TYPES), "") if node else ""


def surrounding_types(node: Node, divider: str, source: SourceText) -> tuple[str, str]:
    """Return the types before and after the child `divider`: receiver and result of a function."""
    before, after, is_past_divider = "", "", False
    for each in node.named_children:
        is_past_divider = is_past_divider or each.type == divider
        if each.type in _TYPES:
            before, after = (before, after or source.text(each)) if is_past_divider else (source.text(each), after)
    return before, after


# --------------------------------------------------------------------------------------------------
# Bindings in Kotlin: declarations, assignments, loops, type checks, `when`, `catch` and lambdas.

# Standard library functions by what they pass to a lambda: elements of the receiver, the receiver, or the receiver as
# `this`.
_PASS_ELEMENTS = frozenset(
    {
        "forEach", "map", "filter", "filterNot", "any", "all", "none", "first", "firstOrNull", "last",
        "lastOrNull", "find", "flatMap", "mapNotNull", "onEach", "associateBy", "associateWith", "groupBy",
        "sortedBy", "sortedByDescending", "maxBy", "minBy", "maxByOrNull", "minByOrNull", "sumOf", "count",
        "partition", "single", "singleOrNull", "distinctBy", "takeWhile", "dropWhile", "removeAll",
        "removeIf", "indexOfFirst",
    }
)  # fmt: skip
_PASS_RECEIVER = frozenset({"let", "also", "takeIf", "takeUnless", "use"})
_PASS_AS_THIS = frozenset({"apply", "run"})
_PASS_NOTHING = _PASS_AS_THIS | {"with", "lazy", "synchronized", "buildString", "buildList"}


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type in ("property_declaration", "when_subject"):
        return _bind_declaration(node, source)
    if node.type == "assignment":
        target = child(node, "left")
        is_assignment = (
            target is not None and target.type == "identifier" and source.text(child(node, "operator")) == "="
        )
        return (
            [BoundName(target, node.end_byte, value=child(node, "right"))]
            if is_assignment and target is not None
            else []
        )
    if node.type == "for_statement":
        name, value = _declared_name(node), child(node, "1")
        return (
            [BoundName(name, value.end_byte, value=value, step="[]")] if name is not None and value is not None else []
        )
    if node.type == "catch_block":
        name = child(node, "0")
        return [BoundName(name, name.end_byte, child_type(node, source))] if name is not None else []
    return _bind_type_check(node, source)


def _declared_name(node: Node) -> Node | None:
    declared = first_child_of(node, "variable_declaration")
    return child(declared, "0") if declared is not None else None


def _bind_declaration(node: Node, source: SourceText) -> Iterator[BoundName]:
    """Bind the names of a declaration; `val (a, b) = pair` gives them no value."""
    name = _declared_name(node)
    if name is not None:
        yield BoundName(
            name,
            node.end_byte,
            child_type(first_child_of(node, "variable_declaration"), source),
            property_value(node, source),
        )
    several = first_child_of(node, "multi_variable_declaration")
    for each in several.named_children if several else ():
        part = child(each, "0")
        if part is not None:
            yield BoundName(part, node.end_byte, child_type(each, source))


def property_value(node: Node, source: SourceText) -> Node | None:
    """Return the value after `=`, or the one computed by `by lazy { … }`."""
    sign = next((each for each in node.children if each.type == "="), None)
    if sign is not None:
        return sign.next_named_sibling
    delegate = first_child_of(node, "property_delegate")
    call = child(delegate, "0") if delegate is not None else None
    if call is None or source.text(child(call, "0")) != "lazy":
        return None
    lambda_node = first_child_of(call, "annotated_lambda")
    body = first_child_of(lambda_node, "lambda_literal") if lambda_node is not None else None
    return body.named_children[-1] if body is not None and body.named_child_count else None


def _bind_type_check(node: Node, source: SourceText) -> Iterable[BoundName]:
    """Narrow x by `x is Foo`, and by `is Foo` in a `when (x)`."""
    name = child(node, "left") if node.type == "is_expression" else _when_subject(node)
    if name is None or name.type != "identifier" or any(each.type == "!is" for each in node.children):
        return ()
    return [BoundName(name, node.end_byte, child_type(node, source), narrows=True)]


def _when_subject(node: Node) -> Node | None:
    entry = node.parent
    enclosing = entry.parent if entry is not None else None
    subject = first_child_of(enclosing, "when_subject") if enclosing is not None else None
    return (_declared_name(subject) or child(subject, "0")) if subject is not None else None


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a lambda; without declared ones, `it` where something is passed."""
    parameters_node = first_child_of(node, "lambda_parameters", "function_value_parameters")
    names = (
        [Parameter(source.text(child(each, "0")), child_type(each, source)) for each in parameters_node.named_children]
        if parameters_node
        else []
    )
    receiver, function = _lambda_receiver(node, source)
    if function in _PASS_AS_THIS and receiver is not None:
        return [Parameter("this", value=receiver)]
    if not names and function not in _PASS_NOTHING and node.type == "lambda_literal":
        names = [Parameter("it")]
    if names and not names[0].type and receiver is not None and function in _PASS_ELEMENTS | _PASS_RECEIVER:
        names[0] = Parameter(names[0].name, value=receiver, step="[]" if function in _PASS_ELEMENTS else "")
    return names


def _lambda_receiver(node: Node, source: SourceText) -> tuple[Node | None, str]:
    """Return the receiver and the name of the function that a lambda is passed to."""
    enclosing = node.parent
    call = (
        enclosing.parent if enclosing is not None and enclosing.type in ("annotated_lambda", "value_argument") else None
    )
    if call is not None and call.type == "value_arguments":
        call = call.parent
    callee = child(call, "0") if call is not None and call.type == "call_expression" else None
    if callee is not None and callee.type == "call_expression":
        callee = child(callee, "0")
    if callee is None or callee.type != "navigation_expression":
        return None, source.text(callee)[:100]
    return child(callee, "0"), source.text(child(callee, "1"))


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    path = "".join(source.text(child(node, "0")).split())
    if any(each.type == "*" for each in node.children):
        yield ImportedName(path, "*")
    elif path:
        module, _, member = path.rpartition(".")
        yield ImportedName(module, source.text(first_child_of(node, "identifier")) or member, member)


# --------------------------------------------------------------------------------------------------
# Definitions in Kotlin: classes, objects, functions and properties.

_OBJECTS = frozenset({"object_declaration", "companion_object"})
_BODIES = ("class_body", "enum_class_body", "function_body", "getter", "setter", "block")
_PROPERTY_PARENTS = frozenset({"source_file", "class_body", "enum_class_body"})
_MAX_ANNOTATIONS = 20
_OWNERS = frozenset({"class", "interface", "enum", "enumMember"})


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type == "property_declaration":
        return _property(node, enclosing, source)
    if node.type == "infix_expression":
        return [_annotation_class(node, source)]
    if node.type == "function_declaration":
        return [_function(node, enclosing, source)]
    if node.type == "secondary_constructor":
        parameters = tuple(_parameters(first_child_of(node, "function_value_parameters"), source))
        # Even without a body it calls another constructor.
        return [_definition(node, "constructor", "constructor", source, parameters)._replace(has_body=True)]
    if node.type == "package_header":
        return [
            SyntaxDefinition(
                _text(child(node, "0"), source), "namespace", node, node.byte_range, spans_rest_of_file=True
            )
        ]
    if node.type == "type_alias":
        name = source.text(child(node, "type"))
        return [SyntaxDefinition(name, "typeAlias", node, node.byte_range, child_type(node, source))]
    if node.type == "enum_entry":
        return [SyntaxDefinition(source.text(child(node, "0")), "enumMember", node, node.byte_range)]
    return _class(node, source)


def _definition(
    node: Node, name: str, kind: str, source: SourceText, parameters: tuple[Parameter, ...] = (), type_text: str = ""
) -> SyntaxDefinition:
    return SyntaxDefinition(
        name,
        kind,
        node,
        _header(node),
        type=type_text,
        parameters=parameters,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_annotations(node, source)),
        has_body=first_child_of(node, *_BODIES) is not None,
    )


def _class(node: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    """Define a class and its constructor parameters: properties with `val` or `var`, otherwise fields."""
    primary = first_child_of(node, "primary_constructor")
    parameters_node = first_child_of(primary, "class_parameters") if primary is not None else None
    parameter_nodes = (
        [each for each in parameters_node.named_children if each.type == "class_parameter"] if parameters_node else []
    )
    name = source.text(child(node, "name")) or "Companion"
    types = tuple(Parameter(_name(each, source), child_type(each, source)) for each in parameter_nodes)
    definition = _definition(node, name, _kind(node, source), source, types)
    return [
        definition._replace(bases=tuple(_bases(node, source))),
        *(_constructor_property(each, source) for each in parameter_nodes),
    ]


def _annotation_class(node: Node, source: SourceText) -> SyntaxDefinition:
    """Define `@Target(X) annotation class Foo`, which the grammar parses as an infix call if it has no body."""
    name, span, names = source.text(child(node, "2")), node, list[str]()
    for _ in range(_MAX_ANNOTATIONS):
        parent = span.parent
        if parent is None or parent.type != "annotated_expression":
            break
        span = parent
        names = [*(_annotation(each, source) for each in span.named_children if each.type == "annotation"), *names]
    return SyntaxDefinition(name, "class", span, node.byte_range, modifiers=("annotation",), attributes=tuple(names))


def _kind(node: Node, source: SourceText) -> str:
    if any(each.type == "interface" for each in node.children):
        return "interface"
    return "enum" if "enum" in _modifiers(node, source) else "class"


def _constructor_property(node: Node, source: SourceText) -> SyntaxDefinition:
    kind = "property" if any(each.type in ("val", "var") for each in node.children) else "field"
    definition = _definition(node, _name(node, source), kind, source, type_text=child_type(node, source))
    return definition._replace(has_body=False)


def _function(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> SyntaxDefinition:
    """Define a function; the receiver of an extension is its first parameter, named `this`."""
    receiver, result_type = surrounding_types(node, "function_value_parameters", source)
    receivers = (Parameter("this", receiver),) if receiver else ()
    parameters = (*receivers, *_parameters(first_child_of(node, "function_value_parameters"), source))
    kind = "method" if enclosing is not None and enclosing.kind in _OWNERS else "function"
    definition = _definition(node, source.text(child(node, "name")), kind, source, parameters, result_type)
    return definition._replace(modifiers=(*definition.modifiers, "extension")) if receiver else definition


def _property(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the properties of a class or file; others are locals."""
    if node.parent is None or node.parent.type not in _PROPERTY_PARENTS:
        return
    several = first_child_of(node, "multi_variable_declaration")
    for each in several.named_children if several is not None else ():  # `val (a, b) = …` in a script
        if each.type == "variable_declaration" and _name(each, source) != "_":
            yield _definition(node, _name(each, source), "variable", source, (), child_type(each, source))
    declared = first_child_of(node, "variable_declaration")
    if declared is None:
        return
    receiver, _ = surrounding_types(node, "variable_declaration", source)
    computed = first_child_of(node, "getter", "setter") is not None
    kind = "property" if computed or (enclosing is not None and enclosing.kind in _OWNERS) else "variable"
    receivers = (Parameter("this", receiver),) if receiver else ()
    definition = _definition(node, _name(declared, source), kind, source, receivers, child_type(declared, source))
    modifiers = (*definition.modifiers, "extension") if receiver else definition.modifiers
    yield definition._replace(value=property_value(node, source), modifiers=modifiers)


def _name(node: Node, source: SourceText) -> str:
    return source.text(first_child_of(node, "identifier"))


def _text(node: Node | None, source: SourceText) -> str:
    return "".join(source.text(node).split())[:200]


def _header(node: Node) -> tuple[int, int]:
    """Return the byte range from after the annotations to the body."""
    start, body = node.start_byte, first_child_of(node, *_BODIES)
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type != "annotation":
            start = each.start_byte
            break
        following = each.next_sibling or (modifiers.next_sibling if modifiers else None)
        start = following.start_byte if following is not None else each.end_byte
    return start, body.start_byte if body is not None else node.end_byte


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type.endswith("_modifier"):
            yield source.text(each)
    if node.type == "companion_object":
        yield "companion"
    if node.type in _OBJECTS:
        yield "object"


def _annotations(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.named_children if modifiers else ():
        if each.type == "annotation":
            yield _annotation(each, source)


def _annotation(node: Node, source: SourceText) -> str:
    return source.text(node).lstrip("@").partition("(")[0].rpartition(":")[2].strip()[:200]


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    specifiers = first_child_of(node, "delegation_specifiers")
    for each in specifiers.named_children if specifiers else ():
        base = first_child_of(each, "constructor_invocation", "explicit_delegation")
        yield _text(child(base, "0") if base is not None else child(each, "0"), source)


def _parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    several = False
    for each in node.named_children if node else ():
        if each.type == "parameter":
            type_text = child_type(each, source)
            many = Parameter(_name(each, source), f"vararg {type_text}", instance_root(f"{type_text}[]"))
            yield many if several else Parameter(_name(each, source), type_text)
        several = each.type == "parameter_modifiers" and "vararg" in source.text(each)


# --------------------------------------------------------------------------------------------------

# To the grammar, `f(1) { … }` calls the result of `f(1)`; a call directly on another call is therefore left out.
_QUERY = """
[(package_header) (class_declaration) (object_declaration) (companion_object) (enum_entry) (function_declaration)
 (secondary_constructor) (property_declaration) (type_alias)] @define
((infix_expression . (identifier) @_annotation . (identifier) @_class . (identifier) .) @define
  (#eq? @_annotation "annotation") (#eq? @_class "class"))
(import) @import
(call_expression . [(identifier) (navigation_expression) (index_expression) (parenthesized_expression)
 (this_expression)]) @call
[(constructor_delegation_call) (delegation_specifier (constructor_invocation))] @construct
[(property_declaration) (assignment) (for_statement) (catch_block) (is_expression) (type_test) (when_subject)] @bind
[(lambda_literal) (anonymous_function)] @lambda
(anonymous_initializer) @scope
[(if_expression) (for_statement) (while_statement) (do_while_statement) (catch_block)] @branch
(if_expression "else" . (if_expression) @else_if)
(if_expression "else" . [(block) (call_expression) (assignment) (return_expression) (throw_expression)] @else)
(when_expression) @switch
(when_entry condition: (_)) @case
(try_expression) @block
(binary_expression operator: ["&&" "||" "?:"]) @operator
(return_expression) @return
(function_body "=" . (_) @result)
(callable_reference (identifier) @refer .)
(navigation_expression "::" . (identifier) @refer (#not-eq? @refer "class"))
"""


# The grammar ends a class at a constructor annotation on its own line.
_ANNOTATED_CONSTRUCTOR = re.compile(
    rb"^[\w \t]*\bclass[ \t]+\w+(?:<[^<>\n]*>)?[ \t]*\r?\n((?:[ \t]*@[^\n]*\n){1,10})"
    rb"(?=[ \t]*(?:internal |private |protected |public )?constructor\b)",
    re.MULTILINE,
)


def _preprocess(data: bytes) -> bytes:
    matches = list(_ANNOTATED_CONSTRUCTOR.finditer(data))
    changed = bytearray(data)
    for each in matches:
        blank_out(changed, *each.span(1))
    return bytes(changed) if matches else data


def _constructor_receiver(node: Node, source: SourceText) -> str:
    """Return the constructed type: that of an anonymous object, or the receiver of a delegating constructor call."""
    if node.type == "constructor_delegation_call":
        return "this" if source.text(node).startswith("this") else "super"
    invoked, specifiers = first_child_of(node, "constructor_invocation"), node.parent
    is_literal = specifiers is not None and specifiers.parent is not None and specifiers.parent.type == "object_literal"
    return instance_of(source.text(child(invoked, "0"))) if is_literal and invoked is not None else "super"


def _count_arguments(node: Node) -> int:
    """Count the arguments, including a trailing lambda."""
    invoked = first_child_of(node, "constructor_invocation") or node
    arguments = first_child_of(invoked, "value_arguments")
    has_outer_call = (
        node.parent is not None and node.parent.type == "call_expression" and node.parent.named_child(0) == node
    )
    last = first_child_of(node.parent if has_outer_call and node.parent is not None else node, "annotated_lambda")
    passed = [each for each in arguments.named_children if each.type == "value_argument"] if arguments else []
    return len(passed) + (last is not None)


def _normalize(expression: str) -> str:
    """Merge the two calls that the grammar sees in a call with a trailing lambda."""
    return expression.replace("()()", "()")


def _call_result(definition: SyntaxDefinition, expression: str) -> str:
    return "" if definition.type == "Unit" else expression


_STRING = NodeShape(root=":String;")
_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "this_expression": NodeShape(is_name=True),  # a name, because in an extension `this` is the receiver
    "super_expression": NodeShape(root="super"),
    "navigation_expression": NodeShape(base="0", member="1"),
    "call_expression": NodeShape(base="0", step="()"),
    "index_expression": NodeShape(base="0", step="[]"),
    "parenthesized_expression": NodeShape(base="0"),
    "unary_expression": NodeShape(base="argument"),
    "value_argument": NodeShape(base="0"),
    "binary_expression": NodeShape(alternatives=("left", "right")),
    "if_expression": NodeShape(alternatives=("1", "2")),
    "as_expression": NodeShape(type="right"),
    "delegation_specifier": NodeShape(translate=_constructor_receiver),
    "constructor_delegation_call": NodeShape(translate=_constructor_receiver),
    "string_literal": _STRING,
    "multiline_string_literal": _STRING,
    "number_literal": NodeShape(root=":Int;"),
    "float_literal": NodeShape(root=":Double;"),
    "character_literal": NodeShape(root=":Char;"),
}

_FILLERS = {
    "line_comment": "comments",
    "block_comment": "comments",
    "shebang": "comments",
    "import": "imports",
    "file_annotation": "annotations",
}

LANGUAGES = (
    Language(
        name="kotlin",
        suffixes=(".kt", ".kts"),
        grammar="tree_sitter_kotlin",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=_normalize,
        preprocess=_preprocess,
        call_result=_call_result,
        count_arguments=_count_arguments,
        call_method="invoke",
    ),
)
