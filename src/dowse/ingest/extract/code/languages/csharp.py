"""C#."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.extract import LOOK_INSIDE
from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    MappingCall,
    MemberAssignment,
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
# C# types and expressions.

_UNINFORMATIVE = frozenset({"", "var", "void", "dynamic"})
_PARAMETER_MODIFIERS = re.compile(r"^(?:(?:params|ref|out|in|this|readonly|scoped)\s+)+|global::")
_ITEM_NAMES = re.compile(r"(?<=[\w>\]?)])\s+@?\w+(?=\s*[,)])")  # in a tuple: `(Cat cat, Dog dog)`
_LENGTHS = re.compile(r"\[[^\],]*\]")
_FUNCTIONS = re.compile(
    r"(?:[\w.]+\.)?(?:Action|Func|Predicate|Comparison|Converter|ThreadStart|ParameterizedThreadStart|MethodInvoker"
    r"|\w*(?:EventHandler|Callback|Delegate))(?:<.*>)?\??"
)
_BASE = re.compile(r"(^|\|)base(?=[.\[(|]|$)")

# Sequence methods of the standard library that return an element, and those that return the same elements.
ELEMENT_METHODS = (
    "First FirstOrDefault Last LastOrDefault Single SingleOrDefault ElementAt ElementAtOrDefault Min Max Find"
)
SAME_ELEMENT_METHODS = (
    "Where OrderBy OrderByDescending ThenBy ThenByDescending Skip SkipWhile Take TakeWhile Distinct Reverse Concat"
    " Union Intersect Except ToList ToArray AsEnumerable AsQueryable AsParallel DefaultIfEmpty ToHashSet FindAll"
)
_ONE = re.compile(rf"\.(?:{ELEMENT_METHODS.replace(' ', '|')})\(\)")
_SAME = re.compile(rf"\.(?:{SAME_ELEMENT_METHODS.replace(' ', '|')})\(\)")


@lru_cache(maxsize=20_000)
def instance_of(type_text: str) -> str:
    """Translate a type: `Foo?` holds a Foo; `var` and the like are uninformative."""
    name = _PARAMETER_MODIFIERS.sub("", type_text.strip()).rstrip("?")
    if name in _UNINFORMATIVE:
        return ""
    if name.startswith("("):
        name = _ITEM_NAMES.sub("", name)
    return instance_root(_LENGTHS.sub("[]", name))


@lru_cache(maxsize=20_000)
def is_function_type(type_text: str) -> bool:
    """Check for `Action<int>` and similar types, also in a tuple; user-defined delegates are not recognized."""
    name = _PARAMETER_MODIFIERS.sub("", type_text.strip())
    if name.startswith("("):
        return any(_FUNCTIONS.fullmatch(part.strip()) for part in re.split(r",(?![^<]*>)", instance_of(name)[2:-2]))
    return _FUNCTIONS.fullmatch(name) is not None


def normalize(expression: str) -> str:
    """Replace `base` by `super`, and add an alternative without LINQ calls, whose methods are seldom indexed."""
    if "base" in expression:
        expression = _BASE.sub(r"\1super", expression)
    if "()" not in expression or "|" in expression:
        return expression
    plain = _SAME.sub("", _ONE.sub("[]", expression))
    return expression if plain == expression else f"{expression}|{plain}"


# --------------------------------------------------------------------------------------------------
# Definitions in C#: types, members, delegates and local functions.

_KINDS = {
    "namespace_declaration": "namespace",
    "file_scoped_namespace_declaration": "namespace",
    "class_declaration": "class",
    "struct_declaration": "struct",
    "record_declaration": "record",
    "interface_declaration": "interface",
    "enum_declaration": "enum",
    "enum_member_declaration": "enumMember",
    "delegate_declaration": "delegate",
    "method_declaration": "method",
    "constructor_declaration": "constructor",
    "destructor_declaration": "method",
    "property_declaration": "property",
    "indexer_declaration": "property",
    "operator_declaration": "method",
    "conversion_operator_declaration": "method",
    "event_declaration": "event",
    "local_function_statement": "function",
}
_DECLARATOR_KINDS = {"field_declaration": "field", "event_field_declaration": "event"}
_WITH_PRIMARY = frozenset({"class", "struct", "record"})
_WITH_VALUE_PARAMETER = frozenset({"property", "event"})  # their accessors see the assigned `value`
_BODIES = ("body", "accessors", "value")
_INVOCATIONS = (b"(", b".Invoke(", b"?.Invoke(")
_CALLABLE_KINDS = frozenset({"method", "constructor", "function"})


def define(node: Node, _enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in _DECLARATOR_KINDS:
        return _declarators(node, source)
    definition = _definition(node, source)
    return (
        (definition, *_primary_parameters(definition, node, source))
        if definition.kind in _WITH_PRIMARY
        else (definition,)
    )


def _definition(node: Node, source: SourceText) -> SyntaxDefinition:
    kind = _KINDS[node.type]
    parameters_node = first_child_of(node, "parameter_list") if kind in _WITH_PRIMARY else child(node, "parameters")
    parameters = tuple(read_parameters(parameters_node, source))
    accepts = kind in _WITH_VALUE_PARAMETER
    if accepts:
        parameters = (*parameters, Parameter("value", source.text(child(node, "type"))))
    elif kind in _CALLABLE_KINDS:
        parameters = tuple(_follow_argument(each, node, source) for each in parameters)
    modifiers = tuple(_modifiers(node, parameters_node, source))
    return SyntaxDefinition(
        name=_name(node, source),
        kind=kind,
        span=node,
        header=_header(node),
        type=source.text(child(node, "returns") or child(node, "type")),
        parameters=parameters,
        trailing_hidden=int(accepts),
        modifiers=modifiers,
        attributes=tuple(_attributes(node, source)),
        bases=tuple(_bases(node, source)),
        has_body=_has_body(node),
        spans_rest_of_file=node.type == "file_scoped_namespace_declaration",
    )


def _follow_argument(parameter: Parameter, node: Node, source: SourceText) -> Parameter:
    """Let a parameter that holds a function also stand for the argument passed to it."""
    if not is_function_type(parameter.type) and not _is_invoked(parameter.name, node, source):
        return parameter
    return parameter._replace(value_expression=f"{instance_of(parameter.type)}|${parameter.name}")


def _is_invoked(name: str, node: Node, source: SourceText) -> bool:
    """Check whether the body calls the parameter like a delegate."""
    body = child(node, "body")
    if body is None or not name:
        return False
    text = source.data[body.start_byte : body.end_byte]
    bare = name.encode()
    if not any(bare + sign in text for sign in _INVOCATIONS):
        return False
    return re.search(rb"(?<![\w.])" + re.escape(bare) + rb"(?:\(|\??\.Invoke\()", text) is not None


def _name(node: Node, source: SourceText) -> str:
    name = source.text(child(node, "name"))
    if node.type == "indexer_declaration":
        return "this[]"
    if node.type == "destructor_declaration":
        return f"~{name}"
    if node.type == "operator_declaration":
        return f"operator {source.text(child(node, 'operator'))}"
    if node.type == "conversion_operator_declaration":
        return f"operator {source.text(child(node, 'type'))}"
    return name


def _header(node: Node) -> tuple[int, int]:
    """Return the byte range from after the attributes to the body."""
    start = next((each.start_byte for each in node.children if each.type != "attribute_list"), node.start_byte)
    if node.type == "enum_member_declaration":
        return start, node.end_byte
    bodies = [part.start_byte for part in (child(node, name) for name in _BODIES) if part is not None]
    return start, min(bodies, default=node.end_byte)


def _has_body(node: Node) -> bool:
    if child(node, "body") is not None:
        return True
    value = child(node, "value")
    if value is not None and value.type == "arrow_expression_clause":
        return True
    accessors = child(node, "accessors")
    return accessors is not None and any(child(each, "body") is not None for each in accessors.named_children)


def _modifiers(node: Node, parameters: Node | None, source: SourceText) -> Iterator[str]:
    for each in node.children:
        if each.type == "modifier":
            yield source.text(each)
        elif each.type == "struct" and node.type == "record_declaration":
            yield "struct"
    first = first_child_of(parameters, "parameter") if parameters is not None else None
    receiver = first_child_of(first, "modifier") if first is not None else None
    if source.text(receiver) == "this":
        yield "extension"


def _attributes(node: Node, source: SourceText) -> Iterator[str]:
    for attributes in node.named_children:
        if attributes.type == "attribute_list":
            named = [child(each, "name") for each in attributes.named_children if each.type == "attribute"]
            yield from (source.text(name)[:200] for name in named)


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    bases = first_child_of(node, "base_list")
    for each in bases.named_children if bases else ():
        if each.type != "argument_list" and not each.is_extra:
            yield "".join(source.text(each).partition("(")[0].split())[:200]


def read_parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    if node is None:
        return
    for each in node.named_children:
        if each.type == "parameter":
            yield Parameter(source.text(child(each, "name")), source.text(child(each, "type")))
    # The grammar has no separate node for `params T[] x`.
    last = child(node, "name")
    if last is not None:
        yield Parameter(source.text(last), f"params {source.text(child(node, 'type'))}")


def _primary_parameters(owner: SyntaxDefinition, node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the parameters of a primary constructor, visible in the whole class; in a record they are properties."""
    parameters_node = first_child_of(node, "parameter_list")
    for each in parameters_node.named_children if parameters_node else ():
        name = child(each, "name")
        if each.type == "parameter" and name is not None:
            kind = "property" if owner.kind == "record" else "field"
            yield SyntaxDefinition(
                source.text(name), kind, each, each.byte_range, source.text(child(each, "type")), has_body=False
            )


def _declarators(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    declaration = first_child_of(node, "variable_declaration")
    if declaration is None:
        return
    modifiers, attributes = tuple(_modifiers(node, None, source)), tuple(_attributes(node, source))
    start, _ = _header(node)
    for each in declaration.named_children:
        name = child(each, "name")
        if each.type == "variable_declarator" and name is not None:
            yield SyntaxDefinition(
                source.text(name),
                _DECLARATOR_KINDS[node.type],
                node,
                (start, each.end_byte),
                source.text(child(declaration, "type")),
                modifiers=modifiers,
                attributes=attributes,
                has_body=False,
            )


# --------------------------------------------------------------------------------------------------
# Bindings in C#: declarations, loops, patterns, `catch`, queries and lambdas.

_ELEMENT_CALLBACK_METHODS = frozenset(
    f"{ELEMENT_METHODS} {SAME_ELEMENT_METHODS} Any All Count LongCount Sum Average Select SelectMany"
    " GroupBy ToDictionary ToLookup ForEach Exists FindIndex RemoveAll TrueForAll MinBy MaxBy DistinctBy"
    " Partition Aggregate".split()
)
_MAX_LEVELS_UP: Final = 6
_CREATION_NODES = frozenset({"object_creation_expression", "implicit_object_creation_expression"})


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "variable_declaration":
        return _bind_declarators(node, source)
    if node.type == "assignment_expression":
        return _bind_tuple_assignment(node, source)
    if node.type == "declaration_expression" and _is_in_tuple(node):
        return []
    if node.type == "foreach_statement":
        return _bind_loop(node, child(node, "left"), child(node, "right"), source)
    if node.type == "from_clause":
        return _bind_loop(node, child(node, "name"), node.named_children[-1], source)
    name = child(node, "name")
    return [BoundName(name, node.end_byte, _declared_type(node, source))] if name is not None else []


def _is_in_tuple(node: Node) -> bool:
    enclosing = node.parent.parent if node.parent is not None else None
    return enclosing is not None and enclosing.type == "tuple_expression"


def _declared_type(node: Node, source: SourceText) -> str:
    type_text = source.text(child(node, "type"))
    return "" if type_text == "var" else type_text


def _bind_declarators(node: Node, source: SourceText) -> Iterator[BoundName]:
    type_text = _declared_type(node, source)
    for each in node.named_children:
        if each.type != "variable_declarator":
            continue
        name, parts = child(each, "name"), each.named_children
        if name is not None:
            value = parts[-1] if len(parts) > 1 else None
            yield BoundName(name, each.end_byte, type_text, value, defines=node)
        else:
            pattern = first_child_of(each, "tuple_pattern")
            yield from _bind_tuple(pattern, parts[-1], each.end_byte, "")


def _bind_tuple(pattern: Node | None, value: Node, at: int, step: str) -> Iterator[BoundName]:
    """Bind each name of `var (a, b) = x` to its item of x."""
    names = pattern.children_by_field_name("name") if pattern else []
    parts = [part for part in names if part.is_named]
    yield from (BoundName(part, at, value=value, step=f"{step}[{number}]") for number, part in enumerate(parts))


def _bind_tuple_assignment(node: Node, source: SourceText) -> Iterator[BoundName]:
    """Bind the names of `(var a, b) = x` and `(a, b) = x`."""
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or target.type != "tuple_expression":
        return
    for number, argument in enumerate(target.named_children):
        part = child(argument, "0")
        name = child(part, "name") if part is not None and part.type == "declaration_expression" else part
        if part is not None and name is not None and name.type == "identifier":
            type_text = _declared_type(part, source) if part is not name else ""
            yield BoundName(name, node.end_byte, type_text, value, f"[{number}]")


def _bind_loop(node: Node, name: Node | None, value: Node | None, source: SourceText) -> Iterable[BoundName]:
    if name is None or value is None or name.type not in ("identifier", "tuple_pattern"):
        return []
    if name.type == "tuple_pattern":
        return _bind_tuple(name, value, value.end_byte, "[]")
    return [BoundName(name, value.end_byte, _declared_type(node, source), value, "[]")]


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a lambda; a LINQ or list method passes an element of its receiver as the first."""
    parameter_node = child(node, "parameters")
    if parameter_node is None:
        return ()
    names = (
        [Parameter(source.text(parameter_node))]
        if not parameter_node.named_child_count
        else list(read_parameters(parameter_node, source))
    )
    elements = _element_source(node, source)
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def _element_source(node: Node, source: SourceText) -> Node | None:
    """Return the sequence whose elements are passed to a lambda."""
    argument = node.parent
    arguments = argument.parent if argument is not None and argument.type == "argument" else None
    call = arguments.parent if arguments is not None else None
    callee = child(call, "function") if call is not None and call.type == "invocation_expression" else None
    if callee is None or callee.type != "member_access_expression":
        return None
    return child(callee, "expression") if source.text(child(callee, "name")) in _ELEMENT_CALLBACK_METHODS else None


def mapping_call(node: Node, source: SourceText) -> MappingCall | None:
    """Recognize `xs.Select(x => x.Y)`."""
    arguments = child(node, "arguments")
    if arguments is None or arguments.named_child_count != 1:
        return None
    function = child(arguments.named_children[0], "0")
    callee = child(node, "function")
    if function is None or function.type != "lambda_expression" or callee is None:
        return None
    name, receiver = source.text(child(callee, "name")), child(callee, "expression")
    parameters, body = child(function, "parameters"), child(function, "body")
    if name not in ("Select", "SelectMany") or receiver is None or body is None:
        return None
    return MappingCall(receiver, source.text(parameters).strip("() "), body, is_flat=name == "SelectMany")


def target_type(node: Node, source: SourceText) -> str:
    """Return the type that `new()` creates, from the declaration around it."""
    enclosing = node.parent
    for _ in range(_MAX_LEVELS_UP):
        if enclosing is None:
            return ""
        declared = child(enclosing, "type") or child(enclosing, "returns")
        if declared is not None:
            return instance_of(source.text(declared))
        if enclosing.type in ("argument", "assignment_expression", "initializer_expression", "lambda_expression"):
            return ""
        enclosing = enclosing.parent
    return ""


def member_assignment(node: Node, source: SourceText) -> MemberAssignment | None:
    """Return the value assigned to a field, property or event: in its declaration, by `=` or by `+=`."""
    if node.type != "assignment_expression":
        name, initial = child(node, "name"), child(node, "value") or node.named_children[-1]
        return MemberAssignment(name, initial) if name is not None and initial != name else None
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or source.data[target.end_byte : value.start_byte].strip() not in (b"=", b"+="):
        return None
    enclosing = node.parent if node.parent is not None and node.parent.type == "initializer_expression" else None
    created = enclosing.parent if enclosing is not None else None
    return MemberAssignment(target, value, created if created is not None and created.type in _CREATION_NODES else None)


_QUERY = """
[(namespace_declaration) (file_scoped_namespace_declaration) (class_declaration) (struct_declaration)
 (record_declaration) (interface_declaration) (enum_declaration) (enum_member_declaration) (delegate_declaration)
 (method_declaration) (constructor_declaration) (destructor_declaration) (property_declaration)
 (indexer_declaration) (operator_declaration) (conversion_operator_declaration) (field_declaration)
 (event_field_declaration) (event_declaration) (local_function_statement)] @define
(using_directive) @import
(invocation_expression) @call
[(object_creation_expression) (implicit_object_creation_expression) (constructor_initializer)] @construct
(base_list (argument_list) @construct)
[(variable_declaration) (foreach_statement) (declaration_pattern) (recursive_pattern) (declaration_expression)
 (catch_declaration) (from_clause)] @bind
(assignment_expression left: (tuple_expression)) @bind
[(lambda_expression) (anonymous_method_expression)] @lambda
(query_expression) @scope
[(if_statement) (for_statement) (foreach_statement) (while_statement) (do_statement) (catch_clause)
 (conditional_expression)] @branch
(if_statement alternative: (if_statement) @else_if)
(if_statement alternative: [(block) (expression_statement) (return_statement) (throw_statement)] @else)
[(switch_statement) (switch_expression)] @switch
(switch_section . "case") @case
(switch_expression_arm) @case
[(try_statement) (using_statement) (lock_statement) (fixed_statement)] @block
(binary_expression operator: ["&&" "||" "??"]) @operator
(return_statement) @return
(method_declaration returns: (_) @_type body: (arrow_expression_clause (_) @result) (#not-eq? @_type "void"))
(local_function_statement type: (_) @_type body: (arrow_expression_clause (_) @result) (#not-eq? @_type "void"))
(property_declaration value: (arrow_expression_clause (_) @result))
(argument [(identifier) (member_access_expression)] @refer)
(argument (conditional_expression consequence: [(identifier) (member_access_expression)] @refer))
(argument (conditional_expression alternative: [(identifier) (member_access_expression)] @refer))
(return_statement [(identifier) (member_access_expression)] @refer)
(arrow_expression_clause [(identifier) (member_access_expression)] @refer)
(assignment_expression left: [(identifier) (member_access_expression)]
  right: [(identifier) (member_access_expression) (conditional_expression)]) @assign
(field_declaration (variable_declaration (variable_declarator) @assign))
(property_declaration value: [(identifier) (member_access_expression)] @refer) @assign
(assignment_expression right: [(identifier) (member_access_expression)] @refer)
(variable_declarator name: (identifier) [(identifier) (member_access_expression)] @refer)
"""


def _constructor_receiver(node: Node, _source: SourceText) -> str:
    """Return the receiver of `: this(…)` or `: base(…)`: this class or its base."""
    return "this" if any(each.type == "this" for each in node.children) else "super"


def _without_alias(node: Node, source: SourceText) -> str:
    """Drop the alias: `global::A` is A."""
    return source.text(child(node, "name"))


_STRING = NodeShape(root=":string;")
_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "generic_name": NodeShape(is_name=True),
    "predefined_type": NodeShape(is_name=True),
    "alias_qualified_name": NodeShape(translate=_without_alias),
    "qualified_name": NodeShape(base="qualifier", member="name"),
    "this": NodeShape(root="this"),
    "base": NodeShape(root="super"),
    "member_access_expression": NodeShape(base="0", member="name"),
    "conditional_access_expression": NodeShape(base="condition", member="1"),
    "invocation_expression": NodeShape(base="0", step="()"),
    "element_access_expression": NodeShape(base="expression", step="[]"),
    "await_expression": NodeShape(base="0", step="!"),
    "parenthesized_expression": NodeShape(base="0"),
    "postfix_unary_expression": NodeShape(base="0"),
    "checked_expression": NodeShape(base="0"),
    "ref_expression": NodeShape(base="0"),
    "with_expression": NodeShape(base="0"),
    "initializer_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "conditional_expression": NodeShape(alternatives=("consequence", "alternative")),
    "binary_expression": NodeShape(alternatives=("left", "right")),
    "cast_expression": NodeShape(type="type"),
    "as_expression": NodeShape(type="right"),
    "object_creation_expression": NodeShape(type="type"),
    "implicit_object_creation_expression": NodeShape(translate=target_type),
    "constructor_initializer": NodeShape(translate=_constructor_receiver),
    "tuple_expression": NodeShape(root="?", element="0", is_literal=True),
    "argument_list": NodeShape(root="super"),  # captured as a call site only after a base class
    "array_creation_expression": NodeShape(type="type"),
    "implicit_array_creation_expression": NodeShape(root=":{}[];", element="0"),
    "default_expression": NodeShape(type="type"),
    "typeof_expression": NodeShape(root=":Type;"),
    "string_literal": _STRING,
    "verbatim_string_literal": _STRING,
    "raw_string_literal": _STRING,
    "interpolated_string_expression": _STRING,
    "integer_literal": NodeShape(root=":int;"),
    "real_literal": NodeShape(root=":double;"),
    "boolean_literal": NodeShape(root=":bool;"),
    "character_literal": NodeShape(root=":char;"),
}

_FOLLOWED_NODES = frozenset(
    {"identifier", "member_access_expression", "conditional_expression", "parenthesized_expression", "tuple_expression"}
)

_FILLERS = {
    "comment": "comments",
    "using_directive": "using directives",
    "extern_alias_directive": "using directives",
    "global_attribute": "attributes",
    "preproc_if": LOOK_INSIDE,
    "preproc_else": LOOK_INSIDE,
    "preproc_elif": LOOK_INSIDE,
    "preproc_region": "comments",
    "preproc_endregion": "comments",
    "preproc_pragma": "comments",
    "preproc_nullable": "comments",
    "preproc_line": "comments",
    "preproc_define": "comments",
    "preproc_undef": "comments",
    "preproc_error": "comments",
    "preproc_warning": "comments",
    "shebang_directive": "comments",
}


def _imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    parts = [each for each in node.named_children if not each.is_extra]
    if parts:
        target = "".join(source.text(parts[-1]).split()).removeprefix("global::")
        yield ImportedName(target, source.text(child(node, "name")) or "*")


LANGUAGES = (
    Language(
        name="csharp",
        suffixes=(".cs", ".csx"),
        grammar="tree_sitter_c_sharp",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=normalize,
        pseudo_calls=frozenset({"nameof"}),
        call_method="Invoke",
        mapping_call=mapping_call,
        sequence_type=":IEnumerable<?>;",
        followed_nodes=_FOLLOWED_NODES,
        is_function_type=is_function_type,
        member_assignment=member_assignment,
    ),
)
