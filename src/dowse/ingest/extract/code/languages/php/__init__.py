"""PHP."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.emptiness import WRAPS
from dowse.ingest.extract.code.language import Language, Shape
from dowse.ingest.extract.code.languages.php.bindings import bind, imports, lambda_parameters
from dowse.ingest.extract.code.languages.php.definitions import define, kept
from dowse.ingest.extract.code.languages.php.names import created, dotted, held, property_of, relative
from dowse.ingest.extract.code.source import first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

# Members and functions whose names are worked out when the code runs can not be found by a name. Operators are told
# apart by a predicate: as alternatives each of them would be waited for along the whole of a long chain.
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
(else_if_clause) @further
(else_clause body: (if_statement) @further)
(else_clause body: [(compound_statement) (expression_statement) (return_statement)] @otherwise)
[(switch_statement) (match_expression)] @switch
[(case_statement) (match_conditional_expression)] @case
(try_statement) @block
((binary_expression operator: _ @_sign) @operator (#any-of? @_sign "&&" "||" "??" "and" "or" "xor"))
(return_statement) @return
"""


def _arguments(node: Node) -> int:
    listed = first_of(node, "arguments")
    return sum(each.type == "argument" for each in listed.named_children) if listed is not None else 0


def _dotted(node: Node, source: Source) -> str:
    return dotted(source.of(node))


def _rewritten(expression: str) -> str:
    """A base's constructor is called as such: `parent::__construct(…)` is what `super` makes."""
    return "super" if expression == "super.__construct" else expression


_STRING = Shape(root=":string;")
_MEMBER = Shape(onto="object", member="name")
_CALL = Shape(onto="object", member="name", step="()")
_SHAPES = {
    "variable_name": Shape(name=True),
    "name": Shape(name=True),
    "qualified_name": Shape(read=_dotted),
    "relative_name": Shape(read=_dotted),
    "relative_scope": Shape(read=relative),
    "member_access_expression": _MEMBER,
    "nullsafe_member_access_expression": _MEMBER,
    "member_call_expression": _CALL,
    "nullsafe_member_call_expression": _CALL,
    "scoped_call_expression": Shape(onto="scope", member="name", step="()"),
    "scoped_property_access_expression": Shape(read=property_of),
    "class_constant_access_expression": Shape(onto="0", member="1"),
    "function_call_expression": Shape(onto="function", step="()"),
    "subscript_expression": Shape(onto="0", step="[]"),
    "parenthesized_expression": Shape(onto="0"),
    "clone_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "object_creation_expression": Shape(read=created),
    "conditional_expression": Shape(either=("body", "alternative")),
    "binary_expression": Shape(either=("left", "right")),
    "array_creation_expression": Shape(root=":{}[];", element="0"),
    "array_element_initializer": Shape(onto="0"),
    "string": _STRING,
    "encapsed_string": _STRING,
    "heredoc": _STRING,
    "nowdoc": _STRING,
    "integer": Shape(root=":int;"),
    "float": Shape(root=":float;"),
    "boolean": Shape(root=":bool;"),
}

_FILLERS = {
    "comment": "comments",
    "php_tag": WRAPS,
    "php_end_tag": WRAPS,
    "text_interpolation": WRAPS,
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
        held=held,
        kept=kept,
        rewritten=_rewritten,
        arguments=_arguments,
        invoked="__invoke",
        scripts=True,
    ),
)
