"""C and C++. Headers are read as C++, which reads those of C as well."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Imported, Language, Shape
from dowse.ingest.extract.code.languages.c.bindings import bind, lambda_parameters
from dowse.ingest.extract.code.languages.c.definitions import define
from dowse.ingest.extract.code.languages.c.macros import without_macros
from dowse.ingest.extract.code.languages.c.types import held, without_arguments
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_BOTH = """
[(function_definition) (field_declaration) (struct_specifier body: (_)) (union_specifier body: (_))
 (enum_specifier body: (_)) (enumerator) (type_definition) (preproc_def) (preproc_function_def)] @define
(declaration) @define @bind
(function_declarator declarator: (identifier) @named)
(preproc_include) @import
(call_expression) @call
[(argument_list) (initializer_pair)] @refer
(argument_list (pointer_expression operator: "&" argument: (identifier) @refer))
[(if_statement) (for_statement) (while_statement) (do_statement) (conditional_expression)] @branch
(else_clause (if_statement) @further)
(else_clause (compound_statement) @otherwise)
(switch_statement) @switch
(case_statement value: (_)) @case
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
"""
# What C leaves to the grammar of expressions: functions without a type, pointers to functions of a named type.
_ONLY_C = """
[(translation_unit (compound_statement) @define) (preproc_ifdef (compound_statement) @define)
 (preproc_if (compound_statement) @define)]
(translation_unit (expression_statement [
  (call_expression function: (call_expression
    arguments: (argument_list . (pointer_expression argument: (identifier) @define) .)))
  (assignment_expression left: (call_expression function: (call_expression
    arguments: (argument_list . (pointer_expression argument: (identifier) @define) .))))]))
"""
_ONLY_CPP = """
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
_MADE = re.compile(r"make_(unique|shared)")
_TYPED_CALL = re.compile(r"^:=([^;]*);(\(\))?")
_PATH = re.compile(r"\w+(?:\.\w+)*")


def _path(node: Node, source: Source) -> str:
    """`ns::Foo<T>::bar` is `ns.Foo.bar`."""
    if node.end_byte - node.start_byte > 300:
        return ""
    text = source.of(node)
    last = text[text.rfind("::", 0, text.find("<") + 1 or None) + 1 :].lstrip(":")
    if _CAST.match(last) or _MADE.match(last):
        return _typed(last)
    dotted = without_arguments(text).replace("::", ".").strip(".")
    return dotted if _PATH.fullmatch(dotted) else ""


def _typed(text: str) -> str:
    """What a cast, or a function that makes an object, gives is written in its angles."""
    name, _, written = text.partition("<")
    return held(written.rpartition(">")[0]).replace(":", ":=", 1) or name


def _meant(expression: str) -> str:
    """The call of a cast is an object of its type; what is called there is no function of anybody."""
    typed = _TYPED_CALL.match(expression) if expression.startswith(":=") else None
    if typed is None:
        return expression
    return f":{typed[1]};{expression[typed.end() :]}" if typed[2] else "static_cast"


def _declared(node: Node, source: Source) -> str:
    """`Foo x(1)` makes a Foo."""
    return held(source.of(child(node.parent, "type") if node.parent is not None else None))


def _arguments(node: Node) -> int:
    listed = child(node, "arguments") or child(node, "value") or first_of(node, "argument_list")
    return sum(not each.is_extra for each in listed.named_children) if listed is not None else 0


_SHAPES = {
    "identifier": Shape(name=True),
    "field_identifier": Shape(name=True),
    "this": Shape(root="this"),
    "call_expression": Shape(onto="function", step="()"),
    "field_expression": Shape(onto="argument", member="field"),
    "qualified_identifier": Shape(read=_path),
    "template_function": Shape(read=_path),
    "subscript_expression": Shape(onto="argument", step="[]"),
    "pointer_expression": Shape(onto="argument"),
    "parenthesized_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "cast_expression": Shape(type="type"),
    "compound_literal_expression": Shape(type="type"),
    "new_expression": Shape(type="type"),
    "init_declarator": Shape(read=_declared),
    "co_await_expression": Shape(onto="argument", step="!"),
    "conditional_expression": Shape(either=("consequence", "alternative")),
    "string_literal": Shape(root=":char[];"),
    "number_literal": Shape(root=":int;"),
    "char_literal": Shape(root=":char;"),
    "true": Shape(root=":bool;"),
    "false": Shape(root=":bool;"),
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


def _imports(node: Node, source: Source) -> Iterable[Imported]:
    if node.type == "preproc_include":
        path = source.of(child(node, "path")).strip('<>"')
        return [Imported(path, "*")] if path else []
    path = "".join(source.of(child(node, "0")).split())
    if any(each.type == "namespace" for each in node.children):
        return [Imported(path, "*")] if path else []
    module, _, member = path.rpartition("::")
    return [Imported(module, member, member)] if module else []


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
        held=held,
        rewritten=_meant,
        parsed=partial(without_macros, members=name == "cpp"),
        arguments=_arguments,
        no_calls=frozenset({"static_cast", "sizeof", "defined", "alignof", "decltype"}),
    )


LANGUAGES = (
    _language("c", (".c",), "tree_sitter_c", _BOTH + _ONLY_C),
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
        _BOTH + _ONLY_CPP,
    ),
)
