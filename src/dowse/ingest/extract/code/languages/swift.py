"""Swift."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

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
# Bindings in Swift: declarations, conditions, loops, patterns and closures.

_ELEMENT_CALLBACK_METHODS: Final = frozenset(
    {
        "map", "filter", "forEach", "contains", "first", "last", "compactMap", "flatMap", "allSatisfy", "sorted",
        "firstIndex", "removeAll", "min", "max",
    }
)  # fmt: skip
_FIRST_PARAMETER: Final = "$0"  # the first parameter of a closure that declares none


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "property_declaration":
        return (BoundName(it.name, it.end, it.type, it.value) for it in property_declarations(node, source))
    if node.type in ("if_statement", "guard_statement"):
        return _bind_conditions(node)
    if node.type == "for_statement":
        name, value = _pattern_name(child(node, "item")), child(node, "collection")
        return (
            [BoundName(name, value.end_byte, value=value, step="[]")] if name is not None and value is not None else []
        )
    if node.type == "catch_block":
        name = _pattern_name(child(node, "error"))
        return [BoundName(name, name.end_byte)] if name is not None else []
    return _bind_case(node, source)


class PropertyDeclaration:
    """One name of a `let` or `var`."""

    __slots__ = ("computed", "end", "name", "type", "value")

    def __init__(self, name: Node, end: int) -> None:
        self.name = name
        self.end = end
        self.type = ""
        self.value: Node | None = None
        self.computed: Node | None = None


def property_declarations(node: Node, source: SourceText) -> list[PropertyDeclaration]:
    """Return the names of a declaration, each with its type and value."""
    found: list[PropertyDeclaration] = []
    for number, each in enumerate(node.children):
        field = node.field_name_for_child(number)
        name = _pattern_name(each) if field == "name" else None
        if name is not None:
            found.append(PropertyDeclaration(name, each.end_byte))
        elif found and each.type == "type_annotation":
            found[-1].type, found[-1].end = source.text(child(each, "0")), each.end_byte
        elif found and field == "value":
            found[-1].value, found[-1].end = each, each.end_byte
        elif found and field == "computed_value":
            found[-1].computed = each
    return found


def _pattern_name(pattern: Node | None) -> Node | None:
    return child(pattern, "bound_identifier") if pattern is not None else None


def _bind_conditions(node: Node) -> Iterator[BoundName]:
    """Bind the names of `if let a = b, let c = d`."""
    name, narrows = None, node.type == "if_statement"
    for number, each in enumerate(node.children):
        field = node.field_name_for_child(number)
        if field == "bound_identifier":
            name = each
        elif name is not None and field == "condition" and each.is_named:
            yield BoundName(name, each.end_byte, value=each, narrows=narrows)
            name = None
        elif field is None and each.type in ("statements", "{"):
            return


def _bind_case(entry: Node, source: SourceText) -> Iterator[BoundName]:
    """Bind x in `case let x as Foo`; the payload of an enum case is unknown."""
    pattern_list = first_child_of(entry, "switch_pattern")
    pattern = child(pattern_list, "0") if pattern_list is not None else None
    for each in pattern.named_children if pattern is not None else ():
        name = _pattern_name(each) if each.type == "pattern" else None
        if name is not None and pattern is not None:
            yield BoundName(name, each.end_byte, source.text(child(pattern, "name")), narrows=True)


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a closure; a sequence method passes an element of its receiver as the first."""
    type_node = child(node, "type")
    nodes = first_child_of(type_node, "lambda_function_type_parameters") if type_node is not None else None
    declared_parameters = [_parameter(each, source) for each in (nodes.named_children if nodes else ())]
    parameters = declared_parameters or [Parameter(_FIRST_PARAMETER)]
    elements = _element_source(node, source)
    if not parameters[0].type and elements is not None:
        parameters[0] = Parameter(parameters[0].name, value=elements, step="[]")
    return parameters


def _parameter(node: Node, source: SourceText) -> Parameter:
    names = node.children_by_field_name("name")
    type_node = names[1] if len(names) > 1 else None
    return Parameter(source.text(names[0] if names else node), source.text(type_node))


def _element_source(node: Node, source: SourceText) -> Node | None:
    enclosing = node.parent
    for _ in range(3):  # a closure follows the parentheses or is an argument inside
        if enclosing is None or enclosing.type == "call_expression":
            break
        enclosing = enclosing.parent
    callee = child(enclosing, "0") if enclosing is not None and enclosing.type == "call_expression" else None
    if callee is None or callee.type != "navigation_expression":
        return None
    name = source.text(child(callee, "suffix")).lstrip(".")
    return child(callee, "target") if name in _ELEMENT_CALLBACK_METHODS else None


# --------------------------------------------------------------------------------------------------
# Definitions in Swift; an extension adds members to the type it extends.

_TYPES: Final = {"struct": "struct", "enum": "enum"}
_FUNCTIONS: Final = frozenset({"function", "method", "constructor", "property"})
_HOLDERS: Final = frozenset({"class", "struct", "enum", "interface"})
_NAMES: Final = {"init_declaration": "init", "deinit_declaration": "deinit", "subscript_declaration": "subscript"}
_SELF: Final = Parameter("self", value_expression="this")


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in ("class_declaration", "protocol_declaration"):
        return _type(node, source)
    if node.type in ("property_declaration", "protocol_property_declaration"):
        return _properties(node, enclosing, source)
    if node.type == "enum_entry":
        return _cases(node, source)
    if node.type in ("typealias_declaration", "associatedtype_declaration"):
        return _alias(node, source)
    return [_function(node, enclosing, source)]


def _type(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define a type; `extension A.B` reopens A and B, of which this file may know only the names."""
    sort, body = source.text(child(node, "declaration_kind")), child(node, "body")
    is_extension = sort == "extension"
    name = child(node, "name") or node
    *path, last = source.text(name).partition("<")[0].replace(" ", "").split(".")
    for part in path:
        yield SyntaxDefinition(part, "namespace", node, name.byte_range, modifiers=("partial",), reopens=True)
    if not last:
        return
    added = ("extension", "partial") if is_extension else (sort,) if sort == "actor" else ()
    yield SyntaxDefinition(
        last,
        "interface" if node.type == "protocol_declaration" else _TYPES.get(sort, "class"),
        node,
        (_start(node), body.start_byte if body is not None else node.end_byte),
        modifiers=(*_modifiers(node, source), *added),
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        reopens=is_extension,
    )


def _function(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> SyntaxDefinition:
    body = child(node, "body") or first_child_of(node, "computed_property")
    inside = enclosing is not None and enclosing.kind in _HOLDERS
    parameters = tuple(_parameters(node, source))
    name = _NAMES.get(node.type) or source.text(child(node, "name"))
    is_init = node.type == "init_declaration"
    return SyntaxDefinition(
        name,
        "constructor" if is_init else "method" if inside else "function",
        node,
        (_start(node), body.start_byte if body is not None else node.end_byte),
        type="" if is_init else source.text(_return_type(node)),
        parameters=(_SELF, *parameters) if inside else parameters,
        leading_hidden=int(inside),
        modifiers=tuple(_modifiers(node, source)),
        attributes=tuple(_attributes(node, source)),
        has_body=body is not None,
    )


def _return_type(node: Node) -> Node | None:
    """Return the type after the arrow, which the grammar also puts into the field `name`."""
    names = node.children_by_field_name("name")
    index = 0 if node.type == "subscript_declaration" else 1
    return names[index] if len(names) > index else None


def _parameters(node: Node, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children:
        if each.type == "parameter":
            names = each.children_by_field_name("name")
            yield (
                Parameter(source.text(names[0]), source.text(names[1] if len(names) > 1 else None))
                if names
                else Parameter("")
            )


def _properties(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterator[SyntaxDefinition]:
    if enclosing is not None and enclosing.kind in _FUNCTIONS:
        return
    inside = enclosing is not None and enclosing.kind in _HOLDERS
    for declaration in property_declarations(node, source) or _protocol_property(node, source):
        computed = declaration.computed is not None or node.type.startswith("protocol")
        yield SyntaxDefinition(
            source.text(declaration.name),
            "property" if computed and inside else "field" if inside else "variable",
            node,
            (
                _start(node),
                declaration.computed.start_byte
                if declaration.computed is not None
                else max(declaration.end, declaration.name.end_byte),
            ),
            type=declaration.type,
            value=declaration.value,
            parameters=(_SELF,) if declaration.computed is not None and inside else (),
            leading_hidden=int(declaration.computed is not None and inside),
            modifiers=tuple(_modifiers(node, source)),
            attributes=tuple(_attributes(node, source)),
            has_body=declaration.computed is not None,
        )


def _protocol_property(node: Node, source: SourceText) -> list[PropertyDeclaration]:
    """Return a property required by a protocol: `var n: Int { get }`."""
    pattern, annotation = child(node, "name"), first_child_of(node, "type_annotation")
    name = child(pattern, "bound_identifier") if pattern is not None else None
    if name is None:
        return []
    declaration = PropertyDeclaration(name, annotation.end_byte if annotation is not None else node.end_byte)
    declaration.type = source.text(child(annotation, "0") if annotation is not None else None)
    return [declaration]


def _cases(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    for each in node.children_by_field_name("name"):
        if each.type == "simple_identifier":
            yield SyntaxDefinition(source.text(each), "enumMember", node, node.byte_range, has_body=False)


def _alias(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    names = node.children_by_field_name("name")
    if names:
        type_text = source.text(names[1]) if len(names) > 1 else ""
        yield SyntaxDefinition(source.text(names[0]), "typeAlias", node, node.byte_range, type_text, has_body=False)


def _start(node: Node) -> int:
    """Return where the node begins after its attributes."""
    start = node.start_byte
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.children if modifiers is not None else ():
        if each.type != "attribute":
            return each.start_byte
        start = each.end_byte
    return start


def _modifiers(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.children if modifiers is not None else ():
        if each.type != "attribute":
            yield "".join(source.text(each).split())[:50]
    for each in node.children:
        if each.type in ("async", "throws", "mutating"):
            yield each.type


def _attributes(node: Node, source: SourceText) -> Iterator[str]:
    modifiers = first_child_of(node, "modifiers")
    for each in modifiers.named_children if modifiers is not None else ():
        if each.type == "attribute":
            yield source.text(child(each, "0"))[:200]


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    for each in node.named_children:
        if each.type == "inheritance_specifier":
            yield "".join(source.text(child(each, "inherits_from")).split())[:200]


# --------------------------------------------------------------------------------------------------
# Swift types; optionals are transparent, brackets are arrays and dictionaries.

_UNINFORMATIVE = frozenset({"", "Void", "()", "_"})
_TYPE_MODIFIERS = re.compile(r"\b(?:some|any|inout|borrowing|consuming)\s+|@\w+(?:\([^)]*\))?\s*")
_DICTIONARY = re.compile(r"\[([^\[\]:]+):([^\[\]]+)\]")
_ARRAY = re.compile(r"\[([^\[\]]+)\]")
_MAX_NESTING = 6


def instance_of(type_text: str) -> str:
    bare = _TYPE_MODIFIERS.sub("", type_text).replace("?", "").replace("!", "").strip()
    if "->" in bare:
        return ""
    for _ in range(_MAX_NESTING):
        inner = _ARRAY.sub(r"Array<\1>", _DICTIONARY.sub(r"Dictionary<\1,\2>", bare))
        if inner == bare:
            break
        bare = inner
    return "" if bare in _UNINFORMATIVE else instance_root(bare)


# --------------------------------------------------------------------------------------------------

# The grammar parses subscripts as calls: only those with parentheses, or with nothing but a closure, are calls.
_QUERY = """
[(class_declaration) (protocol_declaration) (function_declaration) (protocol_function_declaration) (init_declaration)
 (deinit_declaration) (subscript_declaration) (protocol_property_declaration) (enum_entry) (typealias_declaration)
 (associatedtype_declaration)] @define
(property_declaration) @define @bind
(import_declaration) @import
(call_expression
  . [(simple_identifier) (navigation_expression) (call_expression) (postfix_expression) (prefix_expression)
     (constructor_expression) (tuple_expression) (array_literal) (dictionary_literal)]
  (call_suffix . (value_arguments . "(")) .) @call
(call_expression (call_suffix . (lambda_literal)) .) @call
(constructor_expression) @construct
[(if_statement) (guard_statement) (for_statement) (catch_block) (switch_entry)] @bind
(lambda_literal) @lambda
(value_argument value: (simple_identifier) @refer)
[(if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement) (catch_block)
 (ternary_expression)] @branch
(if_statement (else) . (if_statement) @else_if)
(if_statement (else) @else . "{")
(switch_statement) @switch
(switch_entry (switch_pattern)) @case
(do_statement) @block
[(conjunction_expression) (disjunction_expression) (nil_coalescing_expression)] @operator
(control_transfer_statement "return") @return
(computed_property . (statements . (_) @result .))
(function_body . (statements . (_) @result .))
"""

_SELF_TYPE = re.compile(r"^Self(?=\W|$)")
_INDEXED = re.compile(r"^(:[^;]*[\]>];)\(\)")


def _normalize(expression: str) -> str:
    """Replace `Self` by the enclosing type, and the call of an array or generic object by a subscript."""
    return _INDEXED.sub(r"\1[]", _SELF_TYPE.sub("this", expression))


def _count_arguments(node: Node) -> int:
    """Count the arguments in parentheses and a trailing closure."""
    suffix = first_child_of(node, "call_suffix", "constructor_suffix")
    count = 0
    for each in suffix.named_children if suffix is not None else ():
        count += each.named_child_count if each.type == "value_arguments" else each.type == "lambda_literal"
    return count


_SHAPES = {
    "simple_identifier": NodeShape(is_name=True),
    "self_expression": NodeShape(root="this"),
    "super_expression": NodeShape(root="super"),
    "navigation_expression": NodeShape(base="target", member="suffix"),
    "call_expression": NodeShape(base="0", step="()"),
    "constructor_expression": NodeShape(type="constructed_type"),
    "postfix_expression": NodeShape(base="target"),
    "try_expression": NodeShape(base="expr"),
    "await_expression": NodeShape(base="expr", step="!"),
    "as_expression": NodeShape(type="name"),
    "tuple_expression": NodeShape(base="value"),
    "directly_assignable_expression": NodeShape(base="0"),
    "control_transfer_statement": NodeShape(base="result"),
    "nil_coalescing_expression": NodeShape(alternatives=("value", "if_nil")),
    "ternary_expression": NodeShape(alternatives=("if_true", "if_false")),
    "array_literal": NodeShape(root=":{}[];", element="element"),
    "line_string_literal": NodeShape(root=":String;"),
    "integer_literal": NodeShape(root=":Int;"),
    "real_literal": NodeShape(root=":Double;"),
    "boolean_literal": NodeShape(root=":Bool;"),
}
_FILLERS = {"comment": "comments", "multiline_comment": "comments", "import_declaration": "imports"}


def _imports(node: Node, source: SourceText) -> Iterable[ImportedName]:
    path = "".join(source.text(first_child_of(node, "identifier")).split())
    return [ImportedName(path, "*")] if path else []


LANGUAGES = (
    Language(
        name="swift",
        suffixes=(".swift",),
        grammar="tree_sitter_swift",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=_normalize,
        count_arguments=_count_arguments,
    ),
)
