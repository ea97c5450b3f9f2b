"""C and C++. Headers are parsed as C++, whose grammar accepts C headers too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from dowse.ingest.extract.code.c_macros import blank_macros
from dowse.ingest.extract.code.calls import remove_nested, unwrap_type
from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeRange,
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
# C and C++ types; pointers of any kind are transparent.

_UNINFORMATIVE = frozenset({"", "auto", "void", "decltype(auto)"})
_QUALIFIER = re.compile(r"\b(?:const|volatile|struct|class|union|enum|typename|unsigned|signed|restrict)\b|[*&^]")
_POINTER = re.compile(r"(?:\w+::)*(?:unique_ptr|shared_ptr|weak_ptr|auto_ptr|scoped_ptr|intrusive_ptr|RefPtr)<(.+)>")
_ANGLES = re.compile(r"<[^<>]*>")


def instance_of(type_text: str) -> str:
    """Translate a type: `const Foo *`, `struct Foo` and `std::unique_ptr<Foo>` are all used like a Foo."""
    bare = unwrap_type(_QUALIFIER.sub("", type_text).strip(), _POINTER)
    return "" if bare in _UNINFORMATIVE else instance_root(bare)


def remove_template_arguments(path: str) -> str:
    """Remove the template arguments from `Foo<Bar<T>>::baz`."""
    return remove_nested(path, _ANGLES)


# --------------------------------------------------------------------------------------------------
# C and C++ declarators: find the name inside `*(*name)[3]`.

_MAX_DECLARATORS: Final = 30
_WRAPPER_DECLARATORS: Final = frozenset({"reference_declarator", "parenthesized_declarator", "attributed_declarator"})


class DeclaredName(NamedTuple):
    """A declared name; `function` is the declarator with the parameters, if it declares a function."""

    name: Node
    function: Node | None = None
    is_array: bool = False


def unwrap_declarator(node: Node | None) -> DeclaredName | None:
    """Unwrap a declarator; a pointer to a function does not declare a function."""
    function, is_array = None, False
    for _ in range(_MAX_DECLARATORS):
        if node is None:
            return None
        inner = child(node, "declarator") or (child(node, "0") if node.type in _WRAPPER_DECLARATORS else None)
        if node.type == "operator_cast":
            return DeclaredName(node, node)
        if inner is None:
            return DeclaredName(node, function, is_array)
        if node.type == "function_declarator":
            function = None if inner.type == "parenthesized_declarator" else node
        is_array |= node.type == "array_declarator"
        node = inner
    return None


def read_parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type in ("parameter_declaration", "optional_parameter_declaration", "variadic_parameter_declaration"):
            declaration = unwrap_declarator(child(each, "declarator"))
            type_text = source.text(child(each, "type"))
            is_named = declaration is not None and declaration.name.type == "identifier"
            name = source.text(declaration.name) if declaration is not None and is_named else ""
            if name or type_text != "void" or child(each, "declarator") is not None:
                yield Parameter(name, _parameter_type(each, source), _declared_instance(declaration, type_text))
        elif each.type == "identifier":
            yield Parameter(source.text(each))


def _parameter_type(node: Node, source: SourceText) -> str:
    """Return the type of a parameter with its pointer marks: `const char *` for `const char *name`."""
    declaration = unwrap_declarator(child(node, "declarator"))
    end = (
        declaration.name.start_byte
        if declaration is not None and declaration.name.type == "identifier"
        else node.end_byte
    )
    default = child(node, "default_value")
    end = min(end, default.start_byte) if default is not None else end
    return source.one_line(node.start_byte, end, 400).rstrip("= ")


def _declared_instance(declaration: DeclaredName | None, type_text: str) -> str:
    return (
        instance_of(f"{type_text}[]")
        if declaration is not None and declaration.is_array and instance_of(type_text)
        else instance_of(type_text)
    )


# --------------------------------------------------------------------------------------------------
# Definitions in C and C++; a function named `Foo::bar` is a method of Foo.

_TYPE_KINDS: Final = {
    "class_specifier": "class",
    "struct_specifier": "struct",
    "union_specifier": "struct",
    "enum_specifier": "enum",
}
_SIMPLE_KINDS: Final = {
    "enumerator": "enumMember",
    "alias_declaration": "typeAlias",
    "concept_definition": "interface",
    "preproc_def": "variable",
    "preproc_function_def": "function",
}
_MAX_PARAMETERS: Final = 50
_TYPE_WORDS: Final = frozenset({"int", "char", "short", "long", "float", "double", "unsigned", "signed", "void"})
_CLASSES: Final = frozenset({"class", "struct"})
_FUNCTIONS: Final = frozenset({"function", "method", "constructor"})
_MODIFIERS: Final = frozenset(
    {
        "storage_class_specifier", "type_qualifier", "virtual", "explicit_function_specifier", "virtual_specifier",
        "noexcept",
    }
)  # fmt: skip
_NAME_PART = re.compile(r"\w+")
_NAMED = re.compile(r"~?\w+$|operator\W.*$", re.DOTALL)
_CONVERSION = re.compile(r"(operator\s+[^(]+)\(.*", re.DOTALL)


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in _TYPE_KINDS:
        return _define_type(node, source)
    if node.type in _SIMPLE_KINDS:
        return _define_simple(node, source)
    if node.type == "namespace_definition":
        return _namespaces(node, source)
    if node.type == "type_definition":
        return _aliases(node, source)
    if enclosing is not None and enclosing.kind in _FUNCTIONS and node.type in ("declaration", "identifier"):
        return ()  # locals
    if node.type == "identifier":
        return [SyntaxDefinition(source.text(node), "variable", node, node.byte_range, has_body=False)]
    if node.type == "compound_statement":
        return _define_untyped_function(node, source)
    return _define_declarators(node, enclosing, source)


def _define_type(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define a type named by itself or by its typedef; members of an anonymous `struct { … } x;` belong to the
    enclosing type."""
    name = remove_template_arguments(source.text(child(node, "name"))).rpartition("::")[2]
    parent = node.parent
    if not name and parent is not None and parent.type == "type_definition":
        declaration = unwrap_declarator(child(parent, "declarator"))
        name = source.text(declaration.name) if declaration is not None else ""
    if name:
        start = _with_template(node)
        yield SyntaxDefinition(
            name,
            _TYPE_KINDS[node.type],
            start,
            _header(start, node),
            modifiers=("union",) if node.type == "union_specifier" else tuple(_modifiers(node, source)),
            attributes=tuple(_attributes(node, source)),
            bases=tuple(_bases(node, source)),
        )


def _define_simple(node: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    is_macro = node.type.startswith("preproc")
    parameters_node = child(node, "parameters") if is_macro else None
    value = child(node, "value") if is_macro else None
    name = source.text(child(node, "name"))
    definition = SyntaxDefinition(
        name,
        _SIMPLE_KINDS[node.type],
        node,
        (node.start_byte, value.start_byte if value is not None and parameters_node is not None else node.end_byte),
        type=source.text(child(node, "type")),
        parameters=tuple(
            Parameter(source.text(each)) for each in (parameters_node.named_children if parameters_node else ())
        ),
        modifiers=_macro_modifiers(node, value) if is_macro else (),
        has_body=False,
    )
    return [definition] if name else []


def _macro_modifiers(node: Node, value: Node | None) -> tuple[str, ...]:
    """Return a macro's modifiers; one without a value, such as a header guard, is only tested."""
    return ("macro", "empty") if value is None and node.type == "preproc_def" else ("macro",)


def _namespaces(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define each namespace of `namespace a::b`; an anonymous one defines nothing."""
    for name in _NAME_PART.findall(source.text(child(node, "name"))):
        yield SyntaxDefinition(name, "namespace", node, _header(node, node))


def _aliases(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define the aliases of a typedef; `typedef struct foo {…} foo` only names the struct."""
    type_node = child(node, "type")
    name_node = child(type_node, "name") if type_node is not None else None
    has_body = type_node is not None and child(type_node, "body") is not None
    text = source.text(name_node if has_body else type_node)
    for number, each in enumerate(node.children_by_field_name("declarator")):
        declaration = unwrap_declarator(each)
        name = source.text(declaration.name) if declaration is not None else ""
        names_it = has_body and (name == text or (number == 0 and not text))
        if name and not names_it:
            span = node if not has_body else each
            is_function = each.type == "function_declarator"
            yield SyntaxDefinition(
                name, "typeAlias", span, span.byte_range, "" if is_function else text, has_body=False
            )


def _define_declarators(
    node: Node, enclosing: SyntaxDefinition | None, source: SourceText
) -> Iterator[SyntaxDefinition]:
    for each in node.children_by_field_name("declarator"):
        declaration = unwrap_declarator(each)
        if declaration is None:
            continue
        path, name = _split_name(source.text(declaration.name))
        if not name or name in _TYPE_WORDS:
            continue
        outside = enclosing
        for outside in _reopen_scopes(node, declaration.name, path):
            yield outside
        yield _define_member(node, each, declaration, name, outside, source)


def _define_untyped_function(body: Node, source: SourceText) -> Iterable[SyntaxDefinition]:
    """Define `main(argc, argv) int argc; {}`, whose header without a type the grammar does not recognize."""
    before, head = body.prev_named_sibling, None
    for _ in range(_MAX_PARAMETERS):
        if before is None or before.type not in ("declaration", "comment"):
            break
        type_node = child(before, "type")
        if type_node is not None and type_node.type == "macro_type_specifier":  # `main(argc) int argc;`
            head = type_node
            break
        before = before.prev_named_sibling
    if before is not None and before.type in ("expression_statement", "ERROR"):
        head = child(before, "0")
    name = child(head, "function") or child(head, "name") if head is not None else None
    if before is None or head is None or name is None or name.type != "identifier":
        return ()
    parameters_node = child(head, "arguments")
    return [
        SyntaxDefinition(
            source.text(name),
            "function",
            NodeRange.spanning(before, body),
            (before.start_byte, body.start_byte),
            parameters=tuple(
                Parameter(source.text(each)) for each in (parameters_node.named_children if parameters_node else ())
            ),
        )
    ]


def _reopen_scopes(node: Node, name: Node, path: list[str]) -> Iterator[SyntaxDefinition]:
    """Reopen the scopes of a qualified name: a class, possibly in namespaces."""
    scope = child(name, "scope") or name
    for number, part in enumerate(path):
        kind = "class" if number == len(path) - 1 else "namespace"
        yield SyntaxDefinition(part, kind, node, scope.byte_range, modifiers=("partial",), reopens=True)


def _split_name(qualified_name: str) -> tuple[list[str], str]:
    """Split `ns::Foo<T>::bar` and its specialization `ns::Foo<T>::bar<int>` into the path `ns`, `Foo` and the name
    `bar`."""
    if qualified_name.endswith(">") and "operator" not in qualified_name:
        qualified_name = remove_template_arguments(qualified_name)
    name = _NAMED.search(qualified_name)
    if name is None or len(qualified_name) > 300:
        return [], ""
    return _NAME_PART.findall(remove_template_arguments(qualified_name[: name.start()])), " ".join(
        _CONVERSION.sub(r"\1", name[0]).split()
    )


def _define_member(
    node: Node,
    declarator: Node,
    declaration: DeclaredName,
    name: str,
    enclosing: SyntaxDefinition | None,
    source: SourceText,
) -> SyntaxDefinition:
    body, function = child(node, "body"), declaration.function
    inside = enclosing is not None and enclosing.kind in _CLASSES
    type_text = source.text(child(node, "type"))
    start = _with_template(node)
    modifiers = list(_modifiers(node, source, function))
    if function is not None and node.type == "declaration" and not inside:
        modifiers.append("declaration")
    return SyntaxDefinition(
        name,
        _kind(name, enclosing, is_function=function is not None, inside=inside),
        start,
        _header(start, node) if body is not None else (start.start_byte, min(declarator.end_byte, node.end_byte)),
        type=type_text + ("[]" if declaration.is_array else ""),
        parameters=tuple(read_parameters(_parameter_list(function), source)),
        modifiers=tuple(modifiers),
        attributes=tuple(_attributes(node, source)),
        has_body=function is not None and body is not None,
    )


def _parameter_list(function: Node | None) -> Node | None:
    if function is not None and function.type == "operator_cast":
        function = child(function, "declarator")
    return child(function, "parameters") if function is not None else None


def _kind(name: str, enclosing: SyntaxDefinition | None, *, is_function: bool, inside: bool) -> str:
    if not is_function:
        return "field" if inside else "variable"
    if inside and enclosing is not None and enclosing.name == name:
        return "constructor"
    return "method" if inside else "function"


def _with_template(node: Node) -> Node:
    """Return the node including a preceding `template <…>`."""
    parent = node.parent
    return parent if parent is not None and parent.type == "template_declaration" else node


def _header(start: Node, node: Node) -> tuple[int, int]:
    body = child(node, "body")
    before = first_child_of(node, "field_initializer_list") if node.type == "function_definition" else None
    end = before or body
    return start.start_byte, end.start_byte if end is not None else node.end_byte


def _modifiers(node: Node, source: SourceText, function: Node | None = None) -> Iterator[str]:
    for each in (*node.children, *(function.children if function is not None else ())):
        if each.type in _MODIFIERS:
            yield source.text(each).partition("(")[0].strip()


def _attributes(node: Node, source: SourceText) -> Iterator[str]:
    """Yield the attribute names: `[[nodiscard("why")]]` is nodiscard."""
    for each in node.named_children[:10]:
        if each.type == "attribute_declaration":
            for attribute in each.named_children:
                yield source.text(child(attribute, "name") or attribute).partition("(")[0][:200]


def _bases(node: Node, source: SourceText) -> Iterator[str]:
    clause = first_child_of(node, "base_class_clause")
    for each in clause.named_children if clause else ():
        if each.type in ("type_identifier", "qualified_identifier", "template_type"):
            yield "".join(source.text(each).split())[:200]


# --------------------------------------------------------------------------------------------------
# Bindings in C and C++: declarations, range-based loops, catches and lambdas.


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "catch_clause":
        parameters_node = child(node, "parameters")
        caught = child(parameters_node, "0") if parameters_node is not None else None
        return _bind_declarators(caught, source) if caught is not None else ()
    if node.type == "for_range_loop":
        return _bind_range_loop(node, source)
    return _bind_declarators(node, source)


def _bind_declarators(node: Node, source: SourceText) -> Iterator[BoundName]:
    type_text = source.text(child(node, "type"))
    for each in node.children_by_field_name("declarator"):
        declaration = unwrap_declarator(each)
        if declaration is not None and declaration.function is None and declaration.name.type == "identifier":
            many = "[]" if declaration.is_array else ""
            value = child(each, "value") if each.type == "init_declarator" else None
            yield BoundName(declaration.name, each.end_byte, type_text + many if type_text != "auto" else "", value)


def _bind_range_loop(node: Node, source: SourceText) -> list[BoundName]:
    declaration, value = unwrap_declarator(child(node, "declarator")), child(node, "right")
    if declaration is None or value is None:
        return []
    type_text = source.text(child(node, "type"))
    return [BoundName(declaration.name, value.end_byte, "" if type_text == "auto" else type_text, value, "[]")]


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    declarator = child(node, "declarator")
    return read_parameters(child(declarator, "parameters") if declarator is not None else None, source)


_QUERY = """
[(function_definition) (field_declaration) (struct_specifier body: (_)) (union_specifier body: (_))
 (enum_specifier body: (_)) (enumerator) (type_definition) (preproc_def) (preproc_function_def)] @define
(declaration) @define @bind
(function_declarator declarator: (identifier) @named)
(preproc_include) @import
(call_expression) @call
[(argument_list) (initializer_pair)] @refer
(argument_list (pointer_expression operator: "&" argument: (identifier) @refer))
[(if_statement) (for_statement) (while_statement) (do_statement) (conditional_expression)] @branch
(else_clause (if_statement) @else_if)
(else_clause (compound_statement) @else)
(switch_statement) @switch
(case_statement value: (_)) @case
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
"""
# The C grammar parses these as expressions: functions without a type, and function pointers of a named type.
_QUERY_C = """
[(translation_unit (compound_statement) @define) (preproc_ifdef (compound_statement) @define)
 (preproc_if (compound_statement) @define)]
(translation_unit (expression_statement [
  (call_expression function: (call_expression
    arguments: (argument_list . (pointer_expression argument: (identifier) @define) .)))
  (assignment_expression left: (call_expression function: (call_expression
    arguments: (argument_list . (pointer_expression argument: (identifier) @define) .))))]))
"""
_QUERY_CPP = """
[(class_specifier body: (_)) (namespace_definition) (alias_declaration) (concept_definition)] @define
(using_declaration) @import
(new_expression) @construct
(declaration
  type: [(type_identifier) (qualified_identifier) (template_type)]
  declarator: (init_declarator value: [(argument_list) (initializer_list)]) @construct)
[(for_range_loop) (catch_clause)] @bind
(lambda_expression) @lambda
[(for_range_loop) (catch_clause)] @branch
(try_statement) @block
"""

_CAST = re.compile(r"(static|dynamic|const|reinterpret|static_pointer|dynamic_pointer)_cast")
_MAKE_FUNCTION = re.compile(r"make_(unique|shared)")
_TYPED_CALL = re.compile(r"^:=([^;]*);(\(\))?")
_PATH = re.compile(r"\w+(?:\.\w+)*")


def _path(node: Node, source: SourceText) -> str:
    """Turn `ns::Foo<T>::bar` into `ns.Foo.bar`."""
    if node.end_byte - node.start_byte > 300:
        return ""
    text = source.text(node)
    last = text[text.rfind("::", 0, text.find("<") + 1 or None) + 1 :].lstrip(":")
    if _CAST.match(last) or _MAKE_FUNCTION.match(last):
        return _marked_type(last)
    dotted = remove_template_arguments(text).replace("::", ".").strip(".")
    return dotted if _PATH.fullmatch(dotted) else ""


def _marked_type(text: str) -> str:
    """Return the type argument of a cast or of `make_unique`, marked with `:=`."""
    name, _, type_argument = text.partition("<")
    return instance_of(type_argument.rpartition(">")[0]).replace(":", ":=", 1) or name


def _normalize(expression: str) -> str:
    """Replace the call of a cast by an object of its type; a cast calls no function."""
    typed = _TYPED_CALL.match(expression) if expression.startswith(":=") else None
    if typed is None:
        return expression
    return f":{typed[1]};{expression[typed.end() :]}" if typed[2] else "static_cast"


def _constructed_type(node: Node, source: SourceText) -> str:
    """Return the type constructed by `Foo x(1)`."""
    return instance_of(source.text(child(node.parent, "type") if node.parent is not None else None))


def _count_arguments(node: Node) -> int:
    arguments = child(node, "arguments") or child(node, "value") or first_child_of(node, "argument_list")
    return sum(not each.is_extra for each in arguments.named_children) if arguments is not None else 0


_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "field_identifier": NodeShape(is_name=True),
    "this": NodeShape(root="this"),
    "call_expression": NodeShape(base="function", step="()"),
    "field_expression": NodeShape(base="argument", member="field"),
    "qualified_identifier": NodeShape(translate=_path),
    "template_function": NodeShape(translate=_path),
    "subscript_expression": NodeShape(base="argument", step="[]"),
    "pointer_expression": NodeShape(base="argument"),
    "parenthesized_expression": NodeShape(base="0"),
    "assignment_expression": NodeShape(base="right"),
    "cast_expression": NodeShape(type="type"),
    "compound_literal_expression": NodeShape(type="type"),
    "new_expression": NodeShape(type="type"),
    "init_declarator": NodeShape(translate=_constructed_type),
    "co_await_expression": NodeShape(base="argument", step="!"),
    "conditional_expression": NodeShape(alternatives=("consequence", "alternative")),
    "string_literal": NodeShape(root=":char[];"),
    "number_literal": NodeShape(root=":int;"),
    "char_literal": NodeShape(root=":char;"),
    "true": NodeShape(root=":bool;"),
    "false": NodeShape(root=":bool;"),
}
_FILLERS = {
    "comment": "comments",
    "preproc_include": "includes",
    "preproc_def": "directives",
    "preproc_call": "directives",
    "using_declaration": "using declarations",
    "preproc_ifdef": "",
    "preproc_if": "",
    "preproc_else": "",
    "identifier": "directives",
    "linkage_specification": "",
    "declaration_list": "",
    "struct_specifier": "declarations",
    "class_specifier": "declarations",
    "friend_declaration": "declarations",
    "expression_statement": "",
    "call_expression": "macros",
}


def _imports(node: Node, source: SourceText) -> Iterable[ImportedName]:
    if node.type == "preproc_include":
        path = source.text(child(node, "path")).strip('<>"')
        return [ImportedName(path, "*")] if path else []
    path = "".join(source.text(child(node, "0")).split())
    if any(each.type == "namespace" for each in node.children):
        return [ImportedName(path, "*")] if path else []
    module, _, member = path.rpartition("::")
    return [ImportedName(module, member, member)] if module else []


def _language(name: str, suffixes: tuple[str, ...], grammar: str, query: str) -> Language:
    return Language(
        name=name,
        suffixes=suffixes,
        grammar=grammar,
        query=query,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        instance_of=instance_of,
        normalize=_normalize,
        preprocess=partial(blank_macros, members=name == "cpp"),
        count_arguments=_count_arguments,
        pseudo_calls=frozenset({"static_cast", "sizeof", "defined", "alignof", "decltype"}),
    )


LANGUAGES = (
    _language("c", (".c",), "tree_sitter_c", _QUERY + _QUERY_C),
    _language(
        "cpp",
        (
            ".cpp",
            ".cc",
            ".cxx",
            ".c++",
            ".h",
            ".hh",
            ".hpp",
            ".hxx",
            ".h++",
            ".inl",
            ".ipp",
            ".tpp",
            ".ino",
            ".cu",
            ".cuh",
        ),
        "tree_sitter_cpp",
        _QUERY + _QUERY_CPP,
    ),
)
