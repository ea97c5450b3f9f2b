"""JavaScript and TypeScript, with JSX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
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
from dowse.text.receiver_expressions import UNKNOWN_ROOT, instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# TypeScript types as expressions.

_UNINFORMATIVE = frozenset({"", "any", "unknown", "null", "undefined", "void", "never", "object", "const"})
_NAMED = re.compile(r"[\w$.]+(?:<.*>)?(?:\[\])*", re.DOTALL)
_WRAPPERS = re.compile(r"^(?:Readonly|Partial|Required|NonNullable)<(.*)>$", re.DOTALL)


@lru_cache(maxsize=20_000)
def instance_of(type_text: str) -> str:
    """Translate a type: `: Foo | null` holds a Foo; types without a name are uninformative."""
    expressions = dict.fromkeys(_type_expression(part) for part in _split_union(type_text.lstrip(":? \t\n")))
    return "|".join(expression for expression in expressions if expression)


def _type_expression(text: str) -> str:
    text = text.strip().removeprefix("readonly ")
    wrapped = _WRAPPERS.match(text)
    text = wrapped[1].strip() if wrapped else text
    if text == "this":
        return "this"
    return instance_root(text) if text not in _UNINFORMATIVE and _NAMED.fullmatch(text) else ""


def _split_union(text: str) -> list[str]:
    """Split a union at `|` outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, sign in enumerate(text):
        if sign in "<({[":
            depth += 1
        elif sign in ">)}]":
            depth -= 1
        elif sign == "|" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]


def asserted_type(node: Node, source: SourceText) -> str:
    """Return the type asserted by `x as Foo` and `<Foo>x`."""
    parts = node.named_children
    if len(parts) < 2:
        return UNKNOWN_ROOT
    type_text = source.text(parts[0]).strip("<>") if node.type == "type_assertion" else source.text(parts[1])
    return instance_of(type_text)


# --------------------------------------------------------------------------------------------------
# Definitions in JavaScript and TypeScript: functions, classes, fields and members of objects.

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
_ELEMENT_CALLBACK_METHODS = frozenset(
    {"map", "filter", "forEach", "find", "findLast", "some", "every", "flatMap", "findIndex"}
)
_OWNERS = frozenset({"class", "interface"})
_MAX_MEMBERS = 200  # in one object: a larger one is data
EXPORT_OBJECTS = frozenset({"exports", "module.exports"})
_THIS = Parameter("this", value_expression="this")


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in ("variable_declarator", "pair", "assignment_expression"):
        return _define_assigned(node, source)
    in_class = enclosing is not None and enclosing.kind in _OWNERS
    if node.type in ("public_field_definition", "field_definition"):
        return [_field(node, source)]
    definition = _definition(node, in_class, source)
    if node.type in _FUNCTIONS:  # the lambda handler reads the body
        return [definition._replace(has_body=False, splits_blocks=False)]
    # Fields made by constructor parameters belong to the class, so they come before the constructor opens.
    return [*_parameter_fields(node, source), definition] if definition.kind == "constructor" else [definition]


def _definition(node: Node, in_class: bool, source: SourceText) -> SyntaxDefinition:
    function = _function_member(node)
    kind = "method" if function is not None else _KINDS[node.type]
    name = source.text(child(node, "name") or node).strip("\"'`")
    modifiers = tuple(_modifiers(node))
    if kind == "method":
        kind = _method_kind(name, modifiers, in_class)
    receiver = (_THIS,) if in_class and kind != "function" else ()
    passed, parts = _parameters(child(function or node, "parameters"), source)
    return SyntaxDefinition(
        name,
        kind,
        _span(node),
        _header(node),
        type=source.text(child(function or node, "return_type") or child(node, "type")),
        parameters=(*receiver, *passed, *parts),
        leading_hidden=len(receiver),
        trailing_hidden=len(parts),
        modifiers=modifiers,
        attributes=tuple(_decorators(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=child(node, "body") is not None,
    )


def _function_member(node: Node) -> Node | None:
    """Return the function type in `save: (name: string) => void`, which is called like a method."""
    type_node = child(node, "type") if node.type == "property_signature" else None
    inner = child(type_node, "0") if type_node is not None else None
    return inner if inner is not None and inner.type == "function_type" else None


def _method_kind(name: str, modifiers: tuple[str, ...], in_class: bool) -> str:
    if name == "constructor" and in_class:
        return "constructor"
    return "property" if "get" in modifiers or "set" in modifiers else "method"


def _define_assigned(node: Node, source: SourceText) -> list[SyntaxDefinition]:
    """Define a function or class named by the variable or key it is assigned to."""
    target = child(node, "name") or child(node, "key") or child(node, "left")
    value = child(node, "value") or child(node, "right")
    if target is None or value is None or target.type in ("object_pattern", "array_pattern"):
        return []
    own_name = child(value, "name") if source.text(target) in EXPORT_OBJECTS else None
    name = source.text(own_name or child(target, "property") or target).strip("\"'`")
    body = child(value, "body")
    passed, parts = _parameters(child(value, "parameters") or child(value, "parameter"), source)
    return [
        SyntaxDefinition(
            name,
            "class" if value.type == "class" else "function",
            _span(node.parent) if node.type == "variable_declarator" and node.parent else node,
            (node.start_byte, body.start_byte if body else node.end_byte),
            type=source.text(child(value, "return_type")),
            parameters=passed + parts,
            trailing_hidden=len(parts),
            modifiers=tuple(_modifiers(value)) + tuple(_modifiers(node.parent) if node.parent else ()),
            bases=tuple(_bases(value, source)),
            function=value,
        )
    ]


def _field(node: Node, source: SourceText) -> SyntaxDefinition:
    name = source.text(child(node, "name") or child(node, "property")).strip("\"'")
    value = child(node, "value")
    body = child(value, "body") if value is not None and value.type in _FUNCTIONS else None
    is_method = body is not None and value is not None
    passed, parts = _parameters(child(value, "parameters") if is_method and value else None, source)
    return SyntaxDefinition(
        name,
        "method" if is_method else "field",
        node,
        (node.start_byte, body.start_byte if body else node.end_byte),
        type=source.text(child(value, "return_type")) if is_method and value else source.text(child(node, "type")),
        value=None if is_method else value,
        parameters=(_THIS, *passed, *parts) if is_method else (),
        leading_hidden=int(is_method),
        trailing_hidden=len(parts),
        modifiers=tuple(_modifiers(node)),
        attributes=tuple(_decorators(node, source)),
        has_body=is_method,
        function=value if is_method else None,
    )


def _span(node: Node) -> Node:
    """Return the node including a preceding `export`."""
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


def _decorators(node: Node, source: SourceText) -> Iterator[str]:
    """Yield the decorators. Those of a method precede it in the class body, those of an exported class the export."""
    decorators = [each for part in (_span(node), node) for each in part.named_children if each.type == "decorator"]
    before = node.prev_named_sibling
    while before is not None and before.type == "decorator":
        decorators.insert(0, before)
        before = before.prev_named_sibling
    yield from dict.fromkeys(source.text(child(it, "0")).partition("(")[0].strip()[:200] for it in decorators)


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    heritage = first_child_of(node, "class_heritage", "extends_type_clause")
    if heritage is None:
        return
    clauses = [each for each in heritage.named_children if each.type.endswith("_clause")]
    for clause in clauses or [heritage]:
        for each in clause.named_children:
            if each.type != "type_arguments" and not each.is_extra:
                yield "".join(source.text(each).partition("(")[0].split())[:200]


def _parameters(node: Node | None, source: SourceText) -> tuple[tuple[Parameter, ...], tuple[Parameter, ...]]:
    """Return the passed parameters, and the names that patterns extract from them."""
    if node is None or node.type == "identifier":
        return ((Parameter(source.text(node)),) if node else ()), ()
    passed: list[Parameter] = []
    parts: list[Parameter] = []
    for each in node.named_children:
        if each.is_extra:
            continue
        target = child(each, "pattern") or child(each, "left") or each
        type_text = source.text(child(each, "type")).lstrip(":").strip()
        if target.type == "object_pattern":
            parts += _pattern_parameters(target, type_text, source)
        passed.append(Parameter(source.text(target).lstrip("."), type_text))
    return tuple(passed), tuple(parts)


def _pattern_parameters(pattern: Node, type_text: str, source: SourceText) -> Iterator[Parameter]:
    object_type = instance_of(type_text)
    for each in pattern.named_children:
        name = child(each, "value") or child(each, "left") or each
        key = source.text(child(each, "key") or name)
        simple = object_type and "|" not in object_type and key.isidentifier()
        yield Parameter(source.text(name), value_expression=f"{object_type}.{key}" if simple else UNKNOWN_ROOT)


def _parameter_fields(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the field made by `constructor(private repo: Repo)`."""
    for each in getattr(child(node, "parameters"), "named_children", ()):
        access = first_child_of(each, "accessibility_modifier")
        modifiers = ([source.text(access)] if access else []) + [
            it.type for it in each.children if it.type == "readonly"
        ]
        name = child(each, "pattern")
        if modifiers and name is not None:
            type_text = source.text(child(each, "type")).lstrip(":").strip()
            yield SyntaxDefinition(
                source.text(name), "field", each, each.byte_range, type_text, modifiers=tuple(modifiers), has_body=False
            )


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a function; an array method passes an element of its receiver as the first."""
    passed, parts = _parameters(child(node, "parameters") or child(node, "parameter"), source)
    elements = _element_source(node, source)
    if passed and not passed[0].type and elements is not None:
        passed = (Parameter(passed[0].name, value=elements, step="[]"), *passed[1:])
    return passed + parts


def _element_source(node: Node, source: SourceText) -> Node | None:
    call = node.parent.parent if node.parent is not None and node.parent.type == "arguments" else None
    callee = child(call, "function") if call is not None and call.type == "call_expression" else None
    if (
        callee is None
        or callee.type != "member_expression"
        or source.text(child(callee, "property")) not in _ELEMENT_CALLBACK_METHODS
    ):
        return None
    return child(callee, "object")


def mapping_call(node: Node, source: SourceText) -> MappingCall | None:
    """Recognize `xs.map(x => x.y)`."""
    arguments, callee = child(node, "arguments"), child(node, "function")
    if arguments is None or callee is None or arguments.named_child_count != 1:
        return None
    function, name = arguments.named_children[0], source.text(child(callee, "property"))
    receiver, body = child(callee, "object"), child(function, "body")
    if function.type != "arrow_function" or name not in ("map", "flatMap") or receiver is None or body is None:
        return None
    parameters = child(function, "parameter") or child(function, "parameters")
    parameter = source.text(parameters).strip("() ").partition(":")[0].strip()
    return MappingCall(receiver, parameter, body, is_flat=name == "flatMap")


def members(node: Node, source: SourceText) -> Iterator[tuple[SyntaxDefinition, Node]]:
    """Yield the members of an object literal or object type; functions in them are separate definitions."""
    parts = node.named_children
    for each in parts[:_MAX_MEMBERS] if node.type == "object" else parts:
        if each.type in ("property_signature", "method_signature"):
            yield _definition(each, True, source)._replace(splits_blocks=False), each
            continue
        key, value = child(each, "key"), child(each, "value")
        if key is None or value is None or value.type in _FUNCTIONS or key.type == "computed_property_name":
            continue
        header = (each.start_byte, key.end_byte if value.type == "object" else each.end_byte)
        yield (
            SyntaxDefinition(source.text(key).strip("\"'"), "field", each, header, has_body=False, splits_blocks=False),
            each,
        )


def assigned_kind(_name: str, enclosing: SyntaxDefinition | None) -> str:
    return "variable" if enclosing is None or enclosing.kind == "namespace" else "field"


# --------------------------------------------------------------------------------------------------
# Bindings in JavaScript and TypeScript: declarations, assignments, loops and imports.

_MAX_PATTERN_NAMES = 200  # names in one pattern
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_DEFINING_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "class"})


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "variable_declarator":
        return _bind_value(child(node, "name"), child(node, "value"), source.text(child(node, "type")), node, source)
    if node.type == "assignment_expression":
        return _bind_value(child(node, "left"), child(node, "right"), "", node, source)
    if node.type == "catch_clause":
        name = child(node, "parameter")
        return [BoundName(name, name.end_byte)] if name is not None and name.type == "identifier" else []
    return _bind_loop(node)


def _bind_value(
    target: Node | None, value: Node | None, type_text: str, node: Node, source: SourceText
) -> Iterable[BoundName]:
    """Bind a target, unless the value is a function, class or module, which is a definition or an import."""
    if target is None or (value is not None and (value.type in _DEFINING_VALUES or _is_module(value, source))):
        return []
    if target.type in ("identifier", "member_expression"):
        return [BoundName(target, node.end_byte, type_text, value, defines=node)]
    return _bind_destructuring(target, value, node, source)


def _is_module(value: Node, source: SourceText) -> bool:
    return value.type == "call_expression" and source.text(child(value, "function")) == "require"


def _bind_destructuring(pattern: Node, value: Node | None, node: Node, source: SourceText) -> Iterator[BoundName]:
    """Bind the names of a destructuring: a to x.a in `const { a, b: c } = x`, to an element of x in `const [a] = x`."""
    if pattern.type not in _PATTERNS:
        return
    pending = [(each, "") for each in reversed(pattern.named_children)]
    for _ in range(_MAX_PATTERN_NAMES):
        if not pending:
            return
        part, before = pending.pop()
        target = child(part, "value") if part.type == "pair_pattern" else part
        target = child(part, "0") if part.type == "rest_pattern" else target
        while target is not None and target.type in ("assignment_pattern", "object_assignment_pattern"):
            target = child(target, "left")
        if target is None:
            continue
        in_array = part.parent is not None and part.parent.type == "array_pattern"
        step = before + ("[]" if in_array else f".{source.text(child(part, 'key') or target)}")
        if target.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield BoundName(target, node.end_byte, value=value, step=step, defines=node)
        elif target.type in _PATTERNS:
            pending += [(each, step) for each in reversed(target.named_children)]


def _bind_loop(node: Node) -> Iterable[BoundName]:
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or target.type != "identifier":
        return []
    is_for_of = any(each.type == "of" for each in node.children)
    return [BoundName(target, value.end_byte, value=value if is_for_of else None, step="[]")]


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    if node.type == "variable_declarator":
        yield from _require_imports(node, source)
        return
    module = source.text(child(node, "source")).strip("\"'`")
    clause = first_child_of(node, "import_clause", "export_clause", "namespace_export")
    if clause is None:
        yield ImportedName(module, "*" if node.type == "export_statement" else module)
    elif node.type == "export_statement":
        yield from _import_specifiers(clause, module, source)
    else:
        for each in clause.named_children:
            yield from _import_clause(each, module, source)


def _import_clause(each: Node, module: str, source: SourceText) -> Iterator[ImportedName]:
    if each.type == "identifier":
        yield ImportedName(module, source.text(each), "default")
    elif each.type == "namespace_import":
        yield ImportedName(module, source.text(child(each, "0")))
    else:
        yield from _import_specifiers(each, module, source)


def _import_specifiers(clause: Node, module: str, source: SourceText) -> Iterator[ImportedName]:
    for each in clause.named_children:
        if each.type in ("import_specifier", "export_specifier"):
            name = source.text(child(each, "name"))
            yield ImportedName(module, source.text(child(each, "alias")) or name, name)


def _require_imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    target, value = child(node, "name"), child(node, "value")
    arguments = child(value, "arguments") if value is not None else None
    module = source.text(child(arguments, "0") if arguments is not None else None).strip("\"'`")
    if target is None or not module:
        return
    if target.type == "identifier":
        yield ImportedName(module, source.text(target))
    elif target.type == "object_pattern":
        for each in target.named_children:
            local = source.text(child(each, "value") or child(each, "left") or each)
            yield ImportedName(module, local, source.text(child(each, "key")) or local)


_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_QUERY = f"""
[(function_declaration) (generator_function_declaration) (class_declaration) (method_definition)] @define
(variable_declarator value: [{_FUNCTION[1:-1]} (class)]) @define
(variable_declarator value: (object (pair value: {_FUNCTION}) @define))
(assignment_expression left: [(member_expression) (identifier)] right: [{_FUNCTION[1:-1]} (class !name)]) @define
[(function_expression name: (_)) (generator_function name: (_)) (class name: (_))] @define
(assignment_expression right: (object (pair value: {_FUNCTION}) @define))
(export_statement value: (object (pair value: {_FUNCTION}) @define))
(pair value: (object (pair value: {_FUNCTION}) @define))
(variable_declarator value: (object) @members)
(assignment_expression right: (object) @members)
(pair value: (object) @members)
(call_expression function: (member_expression) @_freeze arguments: (arguments . (object) @members)
  (#eq? @_freeze "Object.freeze"))
[(import_statement) (export_statement source: (_))] @import
((variable_declarator value: (call_expression function: (identifier) @_function)) @import
  (#eq? @_function "require"))
(call_expression) @call
(new_expression) @construct
(call_expression function: (super)) @construct
(decorator [(call_expression) (identifier) (member_expression)] @decorate)
[(variable_declarator) (assignment_expression) (for_in_statement) (catch_clause)] @bind
{_FUNCTION} @lambda
[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression)] @branch
(else_clause (if_statement) @else_if)
(else_clause (statement_block) @else)
(switch_statement) @switch
(switch_case) @case
(try_statement) @block
(binary_expression operator: ["&&" "||" "??"]) @operator
(return_statement) @return
(arrow_function body: (expression) @result)
[(arguments) (array)] @refer
(pair value: [(identifier) (member_expression)] @refer)
"""
_ELEMENTS = """
(jsx_opening_element name: [(identifier) (member_expression)] @refer)
(jsx_self_closing_element name: [(identifier) (member_expression)] @refer)
"""
_FIELDS = """
(field_definition) @define
(field_definition value: (object) @members)
"""
_TYPED = """
[(abstract_class_declaration) (interface_declaration) (type_alias_declaration) (enum_declaration) (internal_module)
 (module) (function_signature) (abstract_method_signature) (public_field_definition)] @define
(interface_body [(method_signature) (property_signature)] @define)
(enum_body [(property_identifier) (enum_assignment)] @define)
(class_body (method_signature) @define)
(public_field_definition value: (object) @members)
[(as_expression (object) @members) (satisfies_expression (object) @members)]
(type_alias_declaration value: (object_type) @members)
(intersection_type (object_type) @members)
(type_annotation (object_type) @members)
"""

_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "this": NodeShape(root="this"),
    "super": NodeShape(root="super"),
    "member_expression": NodeShape(base="object", member="property"),
    "call_expression": NodeShape(base="function", step="()", type_arguments="type_arguments"),
    "subscript_expression": NodeShape(base="object", step="[]"),
    "await_expression": NodeShape(base="0", step="!"),
    "parenthesized_expression": NodeShape(base="0"),
    "non_null_expression": NodeShape(base="0"),
    "satisfies_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "new_expression": NodeShape(type="constructor"),
    "as_expression": NodeShape(translate=asserted_type),
    "type_assertion": NodeShape(translate=asserted_type),
    "ternary_expression": NodeShape(alternatives=("consequence", "alternative")),
    "binary_expression": NodeShape(alternatives=("left", "right")),
    "string": NodeShape(root=":string;"),
    "template_string": NodeShape(root=":string;"),
    "number": NodeShape(root=":number;"),
    "true": NodeShape(root=":boolean;"),
    "false": NodeShape(root=":boolean;"),
    "regex": NodeShape(root=":RegExp;"),
    "array": NodeShape(root=":Array<{}>;", element="0"),
}

_FILLERS = {
    "comment": "comments",
    "hash_bang_line": "comments",
    "import_statement": "imports",
    "export_statement": "exports",
    "object": "data",
    "array": "data",
    "string": "data",
}

_JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    grammar="tree_sitter_javascript",
    query=_QUERY + _ELEMENTS + _FIELDS,
    shapes=_SHAPES,
    define=define,
    bind=bind,
    imports=imports,
    fillers=_FILLERS,
    members=members,
    transparent_nodes=frozenset(
        {
            "as_expression",
            "satisfies_expression",
            "type_annotation",
            "intersection_type",
            "arguments",
            "call_expression",
        }
    ),
    exports=EXPORT_OBJECTS,
    lambda_parameters=lambda_parameters,
    instance_of=instance_of,
    assigned_kind=assigned_kind,
    fields_by_assignment=True,
    mapping_call=mapping_call,
    sequence_type=":Array<?>;",
)
_TYPESCRIPT = replace(
    _JAVASCRIPT,
    name="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    grammar="tree_sitter_typescript:language_typescript",
    query=_QUERY + _TYPED,
    separates_type_names=True,
)
_TSX = replace(
    _TYPESCRIPT,
    suffixes=(".tsx",),
    grammar="tree_sitter_typescript:language_tsx",
    query=_QUERY + _TYPED + _ELEMENTS,
)
LANGUAGES = (_JAVASCRIPT, _TYPESCRIPT, _TSX)
