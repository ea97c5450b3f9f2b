"""Go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
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
from dowse.text.receiver_expressions import instance_root

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Bindings in Go: declarations, assignments, loops, channels and type switches; and its imports.

_MAKE_FUNCTIONS = frozenset({"new", "make"})
_VERSION = re.compile(r"/v\d+$|\.v\d+$")


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type in ("type_case", "default_case"):
        return _bind_type_case(node, source)
    if node.type == "var_spec":
        values = child(node, "value")
        return _bind_values(declared_names(node), values, node, source.text(child(node, "type")), source)
    targets, value = child(node, "left"), child(node, "right")
    if targets is None or value is None:
        return ()
    if node.type == "range_clause":
        return _bind_loop(targets, value)
    if node.type == "receive_statement":
        return [_bind_received(targets.named_children[0], value, node)] if targets.named_children else []
    return _bind_values(targets.named_children, value, node, "", source)


def declared_names(node: Node) -> list[Node]:
    """Return the names of a declaration; their field also contains the commas."""
    return [each for each in node.children_by_field_name("name") if each.is_named]


def _bind_values(
    targets: list[Node], values: Node | None, node: Node, type_text: str, source: SourceText
) -> Iterator[BoundName]:
    """Bind each name to its value, or all names to the results of one call."""
    parts = [each for each in values.named_children if not each.is_extra] if values else []
    is_several = len(targets) > len(parts) == 1 and parts[0].type == "call_expression" and not type_text
    for number, target in enumerate(targets):
        if target.type == "identifier" and is_several:
            yield BoundName(target, node.end_byte, value=parts[0], step=f"[{number}]")
        elif target.type == "identifier":
            value = parts[number] if number < len(parts) else None
            yield _bind_value(target, value, node, type_text, source)


def _bind_value(target: Node, value: Node | None, node: Node, type_text: str, source: SourceText) -> BoundName:
    if value is not None and not type_text:
        if value.type == "unary_expression" and source.text(child(value, "operator")) == "<-":
            return _bind_received(target, value, node)
        type_text = allocated_type(value, source)
    return BoundName(target, node.end_byte, type_text, value)


def allocated_type(value: Node, source: SourceText) -> str:
    """Return the type in `new(Foo)` and `make([]Foo, 3)`, or nothing."""
    if value.type != "call_expression" or source.text(child(value, "function")) not in _MAKE_FUNCTIONS:
        return ""
    arguments = child(value, "arguments")
    return source.text(child(arguments, "0")) if arguments is not None else ""


def _bind_received(target: Node, value: Node, node: Node) -> BoundName:
    """Bind a value received from a channel, which is an element of it."""
    return BoundName(target, node.end_byte, value=child(value, "operand"), step="[]")


def _bind_loop(targets: Node, value: Node) -> Iterator[BoundName]:
    """Bind the loop variables: the second is the element; a single one may be an element of a channel."""
    names = targets.named_children[:2]
    for number, target in enumerate(names):
        if target.type == "identifier":
            yield BoundName(target, value.end_byte, value=value if number or len(names) == 1 else None, step="[]")


def _bind_type_case(node: Node, source: SourceText) -> Iterable[BoundName]:
    """Bind x in a case of `switch x := y.(type)` to the type of the case; with several types, to y."""
    enclosing = node.parent
    alias = child(enclosing, "alias") if enclosing is not None and enclosing.type == "type_switch_statement" else None
    name = child(alias, "0") if alias is not None else None
    if enclosing is None or name is None:
        return ()
    types = node.children_by_field_name("type")
    return [
        BoundName(name, node.start_byte, source.text(types[0]) if len(types) == 1 else "", child(enclosing, "value"))
    ]


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    path = source.text(child(node, "path")).strip('"`')
    name = source.text(child(node, "name"))
    if path:
        yield ImportedName(path, "*" if name == "." else name or _VERSION.sub("", path).rpartition("/")[2])


# --------------------------------------------------------------------------------------------------
# Go types in the common notation of all languages: `[]Foo` is `Foo[]`.

_LIST = re.compile(r"\[[^\[\]]*\]")
_CHANNEL = re.compile(r"(?:<-)?chan(?:<-)?\s+")
_MAP = re.compile(r"map\[([^\[\]]*)\]")
_NAMED = re.compile(r"[^\W\d][\w.]*(?:\[.*\])?", re.DOTALL)
_MAX_LAYERS = 8
_PLACEHOLDER = "\0"  # stands for the inner type; braces may be part of a type


@lru_cache(maxsize=20_000)
def instance_of(type_text: str) -> str:
    """Translate a type: `*Foo` is used like Foo; functions, anonymous structs and `any` are uninformative."""
    if type_text.startswith("(") and "," in type_text:
        return _tuple_type(type_text[1:-1])
    rest, form = type_text.strip(), _PLACEHOLDER
    for _ in range(_MAX_LAYERS):
        rest = rest.lstrip("*(&~ ")
        enclosing = _split_outer_type(rest)
        if enclosing is None:
            break
        rest, layer = enclosing
        form = form.replace(_PLACEHOLDER, layer)
    name = rest.rstrip(") ")
    return instance_root(form.replace(_PLACEHOLDER, name)) if _is_informative(name) else ""


def _tuple_type(type_text: str) -> str:
    """Translate the results of a function to a tuple."""
    parts, depth = [""], 0
    for sign in type_text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return instance_root(f"({','.join(instance_of(part)[1:-1] or '?' for part in parts)})")


def _split_outer_type(type_text: str) -> tuple[str, str] | None:
    """Split off the outermost list, map or channel: its element type, and the notation around that."""
    if type_text.startswith("..."):
        return type_text[3:], f"{_PLACEHOLDER}[]"
    many = _LIST.match(type_text)
    if many:
        return type_text[many.end() :], f"{_PLACEHOLDER}[]"
    keyed = _MAP.match(type_text)
    if keyed:
        return type_text[keyed.end() :], f"map<{keyed[1]},{_PLACEHOLDER}>"
    channel = _CHANNEL.match(type_text)
    return (type_text[channel.end() :], f"{_PLACEHOLDER}[]") if channel else None


def _is_informative(name: str) -> bool:
    return _NAMED.fullmatch(name) is not None and not name.startswith(("func", "struct", "interface")) and name != "any"


# --------------------------------------------------------------------------------------------------
# Definitions in Go: functions, methods, types, fields and variables.

_KINDS = {"struct_type": "struct", "interface_type": "interface", "function_type": "delegate"}
_MEMBER_KINDS = frozenset({"struct", "interface"})
_MAX_LEVELS_TO_FILE = 3  # levels from a declared name: its list, its declaration and the file


def define(node: Node, _enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in ("var_spec", "const_spec"):
        return _variables(node, source)
    if node.type == "field_declaration":
        return _fields(node, source)
    if node.type in ("type_spec", "type_alias"):
        return [_type(node, source)]
    if node.type == "method_elem" and not _is_in_named_type(node):
        return []
    return [_function(node, source)]


def _function(node: Node, source: SourceText) -> SyntaxDefinition:
    """Define a function; a method's receiver is its first parameter, and the receiver's type its owner."""
    receivers = tuple(it._replace(value_expression="this") for it in _parameters(child(node, "receiver"), source))[:1]
    body, results = child(node, "body"), child(node, "result")
    named = tuple(_parameters(results, source)) if results is not None and results.type == "parameter_list" else ()
    variables = tuple(it for it in named if it.name)
    return SyntaxDefinition(
        source.text(child(node, "name")),
        "function" if node.type == "function_declaration" else "method",
        node,
        (node.start_byte, body.start_byte if body else node.end_byte),
        type=_result_type(named) if named else source.text(results),
        parameters=(*receivers, *_parameters(child(node, "parameters"), source), *variables),
        leading_hidden=len(receivers),
        trailing_hidden=len(variables),
        has_body=body is not None,
        owner=instance_of(receivers[0].type)[1:-1].partition("[")[0] if receivers else "",
    )


def _result_type(results: tuple[Parameter, ...]) -> str:
    """Return the type of the results, a tuple if there are several."""
    types = [it.type for it in results]
    return types[0] if len(types) == 1 else f"({','.join(types)})"


def _parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    """Yield the parameters: `a, b int` are two, `int` is an unnamed one."""
    for each in node.named_children if node else ():
        if each.type not in ("parameter_declaration", "variadic_parameter_declaration"):
            continue
        type_text = source.text(child(each, "type"))
        if each.type == "variadic_parameter_declaration":
            type_text = f"...{type_text}"
        names = declared_names(each)
        yield from (Parameter(source.text(name), type_text) for name in names)
        if not names:
            yield Parameter("", type_text)


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    return _parameters(child(node, "parameters"), source)


def _type(node: Node, source: SourceText) -> SyntaxDefinition:
    """Define a named type, which may have methods whatever its underlying type is."""
    type_node = child(node, "type")
    is_alias = node.type == "type_alias"
    kind = "typeAlias" if is_alias else _KINDS.get(type_node.type if type_node else "", "class")
    ends = (
        type_node.start_byte + len(type_node.type.removesuffix("_type")) if type_node and kind in _MEMBER_KINDS else 0
    )
    return SyntaxDefinition(
        source.text(child(node, "name")),
        kind,
        _with_keyword(node),
        (_with_keyword(node).start_byte, ends or node.end_byte),
        type=source.text(type_node) if is_alias else "",
        bases=tuple(_embedded_types(type_node, source)) if type_node is not None else (),
    )


def _with_keyword(node: Node) -> Node:
    """Return the declaration with its keyword, if the keyword applies to this node only."""
    enclosing = node.parent
    alone = enclosing is not None and enclosing.type.endswith("_declaration") and enclosing.named_child_count == 1
    return enclosing if alone and enclosing is not None else node


def _embedded_types(node: Node, source: SourceText) -> Iterator[str]:
    """Yield the types embedded in a struct or interface, whose members are promoted."""
    members = first_child_of(node, "field_declaration_list") if node.type == "struct_type" else node
    for each in members.named_children if members else ():
        if each.type == "field_declaration" and child(each, "name") is None:
            yield "".join(source.text(child(each, "type")).split())[:200]
        elif each.type == "type_elem" and each.named_child_count == 1:
            yield "".join(source.text(each).split())[:200]


def _is_in_named_type(node: Node) -> bool:
    enclosing = node.parent
    if enclosing is not None and enclosing.type == "field_declaration_list":
        enclosing = enclosing.parent
    return enclosing is not None and enclosing.parent is not None and enclosing.parent.type == "type_spec"


def _fields(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define fields; an embedded type is a field with the type's name."""
    if not _is_in_named_type(node):
        return
    type_node = child(node, "type")
    for each in declared_names(node) or ([type_node] if type_node else []):
        name = source.text(each).partition("[")[0].rpartition(".")[2]
        yield SyntaxDefinition(name, "field", node, node.byte_range, source.text(type_node), has_body=False)


def _variables(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the variables at file level; others are locals."""
    if not _is_top_level(node):
        return
    values, type_text = child(node, "value"), source.text(child(node, "type"))
    parts = values.named_children if values else []
    modifiers = ("const",) if node.type == "const_spec" else ()
    for number, each in enumerate(declared_names(node)):
        value = parts[number] if number < len(parts) else None
        yield _variable(each, value, node, type_text, modifiers, source)


def _variable(
    name: Node, value: Node | None, node: Node, type_text: str, modifiers: tuple[str, ...], source: SourceText
) -> SyntaxDefinition:
    function = value if value is not None and value.type == "func_literal" else None
    body = child(function, "body") if function is not None else None
    results = child(function, "result") if function is not None else None
    return SyntaxDefinition(
        source.text(name),
        "function" if function else "variable",
        _with_keyword(node),
        (_with_keyword(node).start_byte, body.start_byte if body else node.end_byte),
        type=source.text(results) if function else type_text or (allocated_type(value, source) if value else ""),
        value=value,
        parameters=tuple(_parameters(child(function, "parameters"), source)) if function else (),
        modifiers=modifiers,
        has_body=function is not None,
        function=function,
    )


def _is_top_level(node: Node) -> bool:
    enclosing = node.parent
    for _ in range(_MAX_LEVELS_TO_FILE):
        if enclosing is None or enclosing.type in ("source_file", "block", "statement_list"):
            break
        enclosing = enclosing.parent
    return enclosing is not None and enclosing.type == "source_file"


# --------------------------------------------------------------------------------------------------

# A function literal called in place has no name to index, so it is not recorded as a call.
_QUERY = """
[(function_declaration) (method_declaration) (type_spec) (type_alias) (field_declaration) (method_elem)
 (var_spec) (const_spec)] @define
(import_spec) @import
(call_expression function: [(identifier) (selector_expression) (index_expression) (parenthesized_expression)
 (call_expression) (type_assertion_expression)]) @call
(type_conversion_expression type: (generic_type)) @call
(composite_literal type: [(type_identifier) (qualified_type) (generic_type)]) @construct
(call_expression function: (identifier) @_new arguments: (argument_list) @construct (#eq? @_new "new"))
[(short_var_declaration) (var_spec) (assignment_statement) (range_clause) (receive_statement) (type_case)
 (default_case)] @bind
(func_literal) @lambda
[(if_statement) (for_statement)] @branch
(if_statement alternative: (if_statement) @else_if)
(if_statement alternative: (block) @else)
[(expression_switch_statement) (type_switch_statement) (select_statement)] @switch
[(expression_case) (type_case) (communication_case)] @case
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
(argument_list) @refer
(type_conversion_expression operand: [(identifier) (selector_expression)] @refer)
(keyed_element value: (literal_element . [(identifier) (selector_expression)] @refer))
(assignment_statement right: (expression_list . [(identifier) (selector_expression)] @refer .))
"""


def _new_type(node: Node, source: SourceText) -> str:
    """Return the type made by `new(Foo)`."""
    return instance_of(source.text(child(node, "0")))


_STRING = NodeShape(root=":string;")
_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "type_identifier": NodeShape(is_name=True),
    "selector_expression": NodeShape(base="operand", member="field"),
    "qualified_type": NodeShape(base="package", member="name"),
    "package_identifier": NodeShape(is_name=True),
    "generic_type": NodeShape(base="type", type_arguments="type_arguments"),
    "call_expression": NodeShape(base="function", step="()"),
    "type_conversion_expression": NodeShape(base="type", step="()"),
    "index_expression": NodeShape(base="operand", step="[]", type_arguments="index"),
    "slice_expression": NodeShape(base="operand"),
    "unary_expression": NodeShape(base="operand"),  # `&x` and `*x` are used like x
    "parenthesized_expression": NodeShape(base="0"),
    "expression_list": NodeShape(base="0"),  # the first of several results
    "type_assertion_expression": NodeShape(type="type"),
    "composite_literal": NodeShape(type="type"),
    "argument_list": NodeShape(translate=_new_type),  # captured as a call site only after `new`
    "interpreted_string_literal": _STRING,
    "raw_string_literal": _STRING,
    "int_literal": NodeShape(root=":int;"),
    "float_literal": NodeShape(root=":float64;"),
    "rune_literal": NodeShape(root=":rune;"),
    "true": NodeShape(root=":bool;"),
    "false": NodeShape(root=":bool;"),
}

_FILLERS = {"comment": "comments", "package_clause": "a package clause", "import_declaration": "imports"}

LANGUAGES = (
    Language(
        name="go",
        suffixes=(".go",),
        grammar="tree_sitter_go",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        pseudo_calls=frozenset({"new"}),
    ),
)
