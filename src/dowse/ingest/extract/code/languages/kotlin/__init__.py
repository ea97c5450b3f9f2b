"""Kotlin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Language, Shape
from dowse.ingest.extract.code.languages.kotlin.bindings import bind, imports, lambda_parameters
from dowse.ingest.extract.code.languages.kotlin.definitions import define
from dowse.ingest.extract.code.languages.kotlin.types import held
from dowse.ingest.extract.code.source import blank, child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

# `f(1) { … }` is a call of what `f(1)` gives to the grammar: one that stands on another is left out.
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
(if_expression "else" . (if_expression) @further)
(if_expression "else" . [(block) (call_expression) (assignment) (return_expression) (throw_expression)] @otherwise)
(when_expression) @switch
(when_entry condition: (_)) @case
(try_expression) @block
(binary_expression operator: ["&&" "||" "?:"]) @operator
(return_expression) @return
(function_body "=" . (_) @result)
(callable_reference (identifier) @refer .)
(navigation_expression "::" . (identifier) @refer (#not-eq? @refer "class"))
"""


# The grammar ends a class where an annotation of its constructor has a line of its own.
_ANNOTATED_CONSTRUCTOR = re.compile(
    rb"^[\w \t]*\bclass[ \t]+\w+(?:<[^<>\n]*>)?[ \t]*\r?\n((?:[ \t]*@[^\n]*\n){1,10})"
    rb"(?=[ \t]*(?:internal |private |protected |public )?constructor\b)",
    re.MULTILINE,
)


def _parsed(data: bytes) -> bytes:
    found = list(_ANNOTATED_CONSTRUCTOR.finditer(data))
    changed = bytearray(data)
    for each in found:
        blank(changed, *each.span(1))
    return bytes(changed) if found else data


def _constructed(node: Node, source: Source) -> str:
    """What a class hands to its base, a constructor to another one, and an object without a name is made of."""
    if node.type == "constructor_delegation_call":
        return "this" if source.of(node).startswith("this") else "super"
    invoked, listed = first_of(node, "constructor_invocation"), node.parent
    is_literal = listed is not None and listed.parent is not None and listed.parent.type == "object_literal"
    return held(source.of(child(invoked, "0"))) if is_literal and invoked is not None else "super"


def _arguments(node: Node) -> int:
    """A lambda behind the parentheses, or instead of them, is the last one."""
    invoked = first_of(node, "constructor_invocation") or node
    listed = first_of(invoked, "value_arguments")
    behind = node.parent is not None and node.parent.type == "call_expression" and node.parent.named_child(0) == node
    last = first_of(node.parent if behind and node.parent is not None else node, "annotated_lambda")
    passed = [each for each in listed.named_children if each.type == "value_argument"] if listed else []
    return len(passed) + (last is not None)


def _rewritten(expression: str) -> str:
    """What is called with a lambda behind its arguments is called once."""
    return expression.replace("()()", "()")


def _returned(definition: Definition, expression: str) -> str:
    return "" if definition.type == "Unit" else expression


_STRING = Shape(root=":String;")
_SHAPES = {
    "identifier": Shape(name=True),
    "this_expression": Shape(name=True),  # a name, because in an extension it is the receiver
    "super_expression": Shape(root="super"),
    "navigation_expression": Shape(onto="0", member="1"),
    "call_expression": Shape(onto="0", step="()"),
    "index_expression": Shape(onto="0", step="[]"),
    "parenthesized_expression": Shape(onto="0"),
    "unary_expression": Shape(onto="argument"),
    "value_argument": Shape(onto="0"),
    "binary_expression": Shape(either=("left", "right")),
    "if_expression": Shape(either=("1", "2")),
    "as_expression": Shape(type="right"),
    "delegation_specifier": Shape(read=_constructed),
    "constructor_delegation_call": Shape(read=_constructed),
    "string_literal": _STRING,
    "multiline_string_literal": _STRING,
    "number_literal": Shape(root=":Int;"),
    "float_literal": Shape(root=":Double;"),
    "character_literal": Shape(root=":Char;"),
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
        held=held,
        rewritten=_rewritten,
        parsed=_parsed,
        returned=_returned,
        arguments=_arguments,
        invoked="invoke",
    ),
)
