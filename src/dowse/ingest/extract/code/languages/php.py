"""PHP."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.extract import LOOK_INSIDE
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
from dowse.text.receiver_expressions import instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# PHP names and types, with dots for backslashes as in the names of all languages.

_UNINFORMATIVE = frozenset({"", "void", "never", "mixed", "null", "false", "array", "iterable", "callable", "object"})
_OWN_CLASS = frozenset({"self", "static"})
_CLASSES = frozenset({"class_declaration", "trait_declaration", "enum_declaration", "interface_declaration"})


def dotted_class_name(name: str) -> str:
    """Turn `\\A\\B` into A.B, and `namespace\\B` into B."""
    return name.strip().removeprefix("namespace\\").strip("\\").replace("\\", ".")


@lru_cache(maxsize=20_000)
def instance_of(type_text: str) -> str:
    """Translate a type: `?Foo` holds a Foo, `Foo|Bar` either; arrays and the like are uninformative."""
    parts = [dotted_class_name(part.strip(" ()?")) for part in type_text.partition("&")[0].split("|")]
    expressions = [
        instance_root("self" if part in _OWN_CLASS else part) for part in parts if part.lower() not in _UNINFORMATIVE
    ]
    return "|".join(dict.fromkeys(expressions))


def relative_receiver(node: Node, source: SourceText) -> str:
    return "super" if source.text(node) == "parent" else "this"


def static_property(node: Node, source: SourceText) -> str:
    """Translate `Foo::$bar` and `self::$bar`."""
    scope = child(node, "scope")
    if scope is None or scope.type not in ("name", "qualified_name", "relative_scope"):
        return ""
    owner = (
        relative_receiver(scope, source) if scope.type == "relative_scope" else dotted_class_name(source.text(scope))
    )
    return f"{owner}.{source.text(child(node, 'name')).lstrip('$')}"


def created_class(node: Node, source: SourceText) -> str:
    """Return the class that `new` creates: a named one, the enclosing one, or the base of an anonymous one."""
    named = child(node, "0")
    if named is not None and named.type == "anonymous_class":
        extended = first_child_of(named, "base_clause", "class_interface_clause")
        named = child(extended, "0") if extended is not None else None
    if named is None or named.type not in ("name", "qualified_name"):
        return ""
    class_name = source.text(named)
    return instance_of(_class_around(node, source) if class_name in _OWN_CLASS else class_name)


def _class_around(node: Node, source: SourceText) -> str:
    enclosing = node.parent
    while enclosing is not None and enclosing.type not in _CLASSES:
        enclosing = enclosing.parent
    return source.text(child(enclosing, "name")) if enclosing is not None else ""


# --------------------------------------------------------------------------------------------------
# Definitions in PHP: types, functions, properties and constants.

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
_THIS = Parameter("$this", value_expression="this")


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type == "property_declaration":
        return _properties(node, source)
    if node.type == "const_declaration":
        return _constants(node, enclosing, source)
    if node.type == "function_call_expression":
        return _define_constant(node, source)
    definition = _definition(node, source)
    # Fields made by constructor parameters belong to the class, so they come before the constructor opens.
    return [*_promoted_fields(node, source), definition] if definition.kind == "constructor" else [definition]


def _definition(node: Node, source: SourceText) -> SyntaxDefinition:
    kind, php_name = _KINDS[node.type], source.text(child(node, "name"))
    if php_name.lower() == "__construct":
        kind = "constructor"
    name, body = dotted_class_name(php_name), child(node, "body")
    receiver = (_THIS,) if node.type == "method_declaration" else ()
    return SyntaxDefinition(
        name,
        kind,
        node,
        (_start(node), body.start_byte if body else node.end_byte),
        type=source.text(child(node, "return_type")),
        parameters=(*receiver, *read_parameters(child(node, "parameters"), source)),
        leading_hidden=len(receiver),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=body is not None,
        spans_rest_of_file=kind == "namespace" and body is None,
    )


def _start(node: Node) -> int:
    return next((each.start_byte for each in node.children if each.type != "attribute_list"), node.start_byte)


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.children:
        if each.type.endswith("_modifier") and each.type != "reference_modifier":
            yield source.text(each)
    if node.type == "trait_declaration":
        yield "trait"


def _attributes(node: Node, source: SourceText) -> Iterator[str]:
    attribute_lists = child(node, "attributes")
    for group in attribute_lists.named_children if attribute_lists is not None else ():
        yield from (dotted_class_name(source.text(child(each, "0")))[:200] for each in group.named_children)


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    """Yield the base classes, the interfaces and the traits used."""
    body = child(node, "body")
    uses = body.named_children if body is not None and _KINDS[node.type] in _OWNERS else ()
    base_clauses = [each for each in node.named_children if each.type in ("base_clause", "class_interface_clause")]
    for clause in (*base_clauses, *(each for each in uses if each.type == "use_declaration")):
        for each in clause.named_children:
            if each.type in ("name", "qualified_name"):
                yield dotted_class_name(source.text(each))[:200]


def read_parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        name, type_text = child(each, "name"), source.text(child(each, "type"))
        if each.type == "variadic_parameter":
            many = instance_of(type_text).replace(";", "[];")
            yield Parameter(source.text(name), f"{type_text}...".lstrip(), many)
        elif name is not None:
            yield Parameter(source.text(name), type_text)


def _promoted_fields(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the field made by `__construct(private Repo $repo)`."""
    parameters = child(node, "parameters")
    for each in parameters.named_children if parameters is not None else ():
        if each.type == "property_promotion_parameter":
            yield _field(each, each, source.text(child(each, "type")), child(each, "default_value"), source)


def _field(name: Node, node: Node, type_text: str, value: Node | None, source: SourceText) -> SyntaxDefinition:
    return SyntaxDefinition(
        source.text(child(name, "name")).lstrip("$"),
        "field",
        node,
        (_start(node), name.end_byte),
        type_text,
        value=value,
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        has_body=False,
    )


def _properties(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    type_text = source.text(child(node, "type"))
    for each in node.named_children:
        if each.type == "property_element":
            yield _field(each, node, type_text, child(each, "default_value"), source)


def _constants(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterator[SyntaxDefinition]:
    kind = "field" if enclosing is not None and enclosing.kind in _OWNERS else "variable"
    modifiers = (*_modifiers(node, source), "const")
    for each in node.named_children:
        if each.type == "const_element":
            header = (_start(node), each.end_byte)
            name, value = source.text(child(each, "0")), child(each, "1")
            yield SyntaxDefinition(name, kind, node, header, value=value, modifiers=modifiers, has_body=False)


def _define_constant(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the constant of `define('X', 1)`, wherever it is."""
    arguments = child(node, "arguments")
    first, second = (child(it, "0") if it else None for it in (_argument(arguments, 0), _argument(arguments, 1)))
    name = source.text(first).strip("'\"") if first is not None and first.type in ("string", "encapsed_string") else ""
    if second is not None and name and "$" not in name:
        yield SyntaxDefinition(
            name.rpartition("\\")[2],
            "variable",
            node,
            node.byte_range,
            value=second,
            modifiers=("const",),
            has_body=False,
            splits_blocks=False,
        )


def _argument(arguments: Node | None, number: int) -> Node | None:
    return child(arguments, str(number)) if arguments is not None else None


def assigned_kind(_name: str, enclosing: SyntaxDefinition | None) -> str:
    return "field" if enclosing is not None and enclosing.kind in _OWNERS else "variable"


# --------------------------------------------------------------------------------------------------
# Bindings in PHP: assignments, loops, `catch`, `instanceof` and closures; and its imports.


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "assignment_expression":
        return _bind_assignment(node, source)
    if node.type == "foreach_statement":
        return _bind_loop(node)
    if node.type == "catch_clause":
        name = child(node, "name")
        return [BoundName(name, name.end_byte, source.text(child(node, "type")))] if name is not None else []
    name, type_node = child(node, "left"), child(node, "right")
    if name is None or type_node is None or name.type != "variable_name" or type_node.type == "variable_name":
        return ()
    return [BoundName(name, node.end_byte, source.text(type_node), narrows=True)]


def _bind_assignment(node: Node, source: SourceText) -> Iterable[BoundName]:
    target, value = child(node, "left"), child(node, "right")
    if target is None:
        return ()
    if target.type == "variable_name":
        return [BoundName(target, node.end_byte, value=value, defines=node)]
    if target.type == "member_access_expression" and source.text(child(target, "object")) == "$this":
        name = child(target, "name")
        known = name is not None and name.type == "name"
        return (
            [BoundName(name, node.end_byte, value=value, defines=node, is_field=True)]
            if known and name is not None
            else []
        )
    if target.type == "list_literal":
        names = [each for each in target.named_children if each.type == "variable_name"]
        return [BoundName(each, node.end_byte, defines=node) for each in names]
    return ()


def _bind_loop(node: Node) -> Iterable[BoundName]:
    """Bind $x in `foreach ($xs as $x)`, also after a key."""
    value, target = child(node, "0"), child(node, "1")
    if target is not None and target.type == "pair":
        target = child(target, "1")
    if value is None or target is None or target.type != "variable_name":
        return ()
    return [BoundName(target, target.end_byte, value=value, step="[]")]


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    return read_parameters(child(node, "parameters"), source)


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    if node.type != "namespace_use_declaration":
        yield ImportedName(source.text(child(node, "0")).strip("'\""), "*")
        return
    group = child(node, "body")
    prefix = source.text(first_child_of(node, "namespace_name")) if group is not None else ""
    for each in (group or node).named_children:
        if each.type == "namespace_use_clause":
            yield _use_import(each, prefix, source)


def _use_import(node: Node, prefix: str, source: SourceText) -> ImportedName:
    path = source.text(first_child_of(node, "qualified_name", "name")).strip("\\")
    module, _, member = (f"{prefix}\\{path}" if prefix else path).rpartition("\\")
    return ImportedName(module, source.text(child(node, "alias")) or member, member)


# --------------------------------------------------------------------------------------------------

# Members and functions with dynamic names are left out: they cannot be found by name. A predicate selects the
# operators, because alternatives would keep a match in progress for each along a long chain.
_QUERY = """
(program) @scope
[(namespace_definition) (class_declaration) (interface_declaration) (trait_declaration) (enum_declaration)
 (enum_case) (function_definition) (method_declaration) (property_declaration) (const_declaration)] @define
((function_call_expression function: (name) @_define) @define (#eq? @_define "define"))
[(namespace_use_declaration) (require_expression (string)) (require_once_expression (string))
 (include_expression (string)) (include_once_expression (string))] @import
(function_call_expression function: [(name) (qualified_name) (relative_name) (variable_name)]) @call
(member_call_expression name: (name)) @call
(nullsafe_member_call_expression name: (name)) @call
(scoped_call_expression name: (name)) @call
(object_creation_expression) @construct
((scoped_call_expression scope: (relative_scope) @_parent name: (name) @_name) @construct
  (#eq? @_parent "parent") (#eq? @_name "__construct"))
[(assignment_expression) (foreach_statement) (catch_clause)] @bind
(binary_expression operator: "instanceof") @bind
[(anonymous_function) (arrow_function)] @lambda
[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement) (catch_clause)
 (conditional_expression)] @branch
(else_if_clause) @else_if
(else_clause body: (if_statement) @else_if)
(else_clause body: [(compound_statement) (expression_statement) (return_statement)] @else)
[(switch_statement) (match_expression)] @switch
[(case_statement) (match_conditional_expression)] @case
(try_statement) @block
((binary_expression operator: _ @_sign) @operator (#any-of? @_sign "&&" "||" "??" "and" "or" "xor"))
(return_statement) @return
"""


def _count_arguments(node: Node) -> int:
    arguments = first_child_of(node, "arguments")
    return sum(each.type == "argument" for each in arguments.named_children) if arguments is not None else 0


def _dotted_name(node: Node, source: SourceText) -> str:
    return dotted_class_name(source.text(node))


def _normalize(expression: str) -> str:
    """Make `parent::__construct(…)` a construction of `super`."""
    return "super" if expression == "super.__construct" else expression


_STRING = NodeShape(root=":string;")
_MEMBER = NodeShape(base="object", member="name")
_CALL = NodeShape(base="object", member="name", step="()")
_SHAPES = {
    "variable_name": NodeShape(is_name=True),
    "name": NodeShape(is_name=True),
    "qualified_name": NodeShape(translate=_dotted_name),
    "relative_name": NodeShape(translate=_dotted_name),
    "relative_scope": NodeShape(translate=relative_receiver),
    "member_access_expression": _MEMBER,
    "nullsafe_member_access_expression": _MEMBER,
    "member_call_expression": _CALL,
    "nullsafe_member_call_expression": _CALL,
    "scoped_call_expression": NodeShape(base="scope", member="name", step="()"),
    "scoped_property_access_expression": NodeShape(translate=static_property),
    "class_constant_access_expression": NodeShape(base="0", member="1"),
    "function_call_expression": NodeShape(base="function", step="()"),
    "subscript_expression": NodeShape(base="0", step="[]"),
    "parenthesized_expression": NodeShape(base="0"),
    "clone_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "object_creation_expression": NodeShape(translate=created_class),
    "conditional_expression": NodeShape(alternatives=("body", "alternative")),
    "binary_expression": NodeShape(alternatives=("left", "right")),
    "array_creation_expression": NodeShape(root=":{}[];", element="0"),
    "array_element_initializer": NodeShape(base="0"),
    "string": _STRING,
    "encapsed_string": _STRING,
    "heredoc": _STRING,
    "nowdoc": _STRING,
    "integer": NodeShape(root=":int;"),
    "float": NodeShape(root=":float;"),
    "boolean": NodeShape(root=":bool;"),
}

_FILLERS = {
    "comment": "comments",
    "php_tag": LOOK_INSIDE,
    "php_end_tag": LOOK_INSIDE,
    "text_interpolation": LOOK_INSIDE,
    "text": "text",
    "declare_statement": "directives",
    "namespace_use_declaration": "imports",
}

LANGUAGES = (
    Language(
        name="php",
        suffixes=(".php", ".phtml"),
        grammar="tree_sitter_php:language_php",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        assigned_kind=assigned_kind,
        normalize=_normalize,
        count_arguments=_count_arguments,
        call_method="__invoke",
        has_script_scope=True,
    ),
)
