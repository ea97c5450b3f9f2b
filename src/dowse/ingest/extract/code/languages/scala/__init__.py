"""Scala, both the version with braces and the one with indentation."""

from __future__ import annotations

from dowse.ingest.extract.code.language import Definition, Language, Shape
from dowse.ingest.extract.code.languages.scala.bindings import bind, imports, lambda_parameters
from dowse.ingest.extract.code.languages.scala.definitions import define
from dowse.ingest.extract.code.languages.scala.types import held
from dowse.text.expressions import UNKNOWN

# `f(a)(b)` is one call of a function with several lists of parameters: the outer of such nodes are left out.
_QUERY = """
[(package_clause) (package_object) (class_definition) (object_definition) (trait_definition) (enum_definition)
 (simple_enum_case) (full_enum_case) (function_definition) (function_declaration) (val_definition) (var_definition)
 (val_declaration) (var_declaration) (type_definition) (given_definition)] @define
(import_declaration) @import
(call_expression function: [(identifier) (field_expression) (generic_function) (parenthesized_expression)
 (instance_expression)]) @call
(infix_expression operator: (identifier)) @call
(instance_expression . [(type_identifier) (generic_type) (stable_type_identifier)]) @construct
(extends_clause arguments: (arguments) @construct)
((call_expression function: (identifier) @_this) @construct (#eq? @_this "this"))
[(val_definition) (var_definition) (assignment_expression) (enumerator) (typed_pattern) (capture_pattern)
 (tuple_pattern) (case_class_pattern)] @bind
(case_clause pattern: (identifier) @bind)
(lambda_expression) @lambda
[(if_expression) (for_expression) (while_expression) (do_while_expression)] @branch
(if_expression alternative: (if_expression) @further)
(if_expression alternative: [(block) (indented_block) (call_expression) (throw_expression) (return_expression)
 (instance_expression)] @otherwise)
(match_expression) @switch
((case_clause pattern: (_) @_pattern) @case (#not-eq? @_pattern "_"))
(try_expression) @block
(infix_expression operator: (operator_identifier) @_sign (#any-of? @_sign "&&" "||")) @operator
(return_expression) @return
(function_definition body: [(call_expression) (field_expression) (instance_expression) (identifier) (if_expression)
 (string) (integer_literal) (boolean_literal) (infix_expression)] @result)
(function_definition body: [(block (_) @result .) (indented_block (_) @result .)])
(arguments) @refer
(method_value . [(identifier) (field_expression)] @refer)
"""

_SHAPES = {
    "identifier": Shape(name=True),  # `this` and `super` are such
    "field_expression": Shape(onto="value", member="field"),
    "call_expression": Shape(onto="function", step="()"),
    "generic_function": Shape(onto="function"),
    "infix_expression": Shape(onto="left", member="operator", step="()"),
    "parenthesized_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "ascription_expression": Shape(type="1"),
    "instance_expression": Shape(type="0"),
    "arguments": Shape(root="super"),  # as a site of its own only behind a base class
    "if_expression": Shape(either=("consequence", "alternative")),
    "string": Shape(root=":String;"),
    "interpolated_string_expression": Shape(root=":String;"),
    "integer_literal": Shape(root=":Int;"),
    "floating_point_literal": Shape(root=":Double;"),
    "boolean_literal": Shape(root=":Boolean;"),
    "character_literal": Shape(root=":Char;"),
}

_FILLERS = {
    "comment": "comments",
    "block_comment": "comments",
    "import_declaration": "imports",
    "export_declaration": "exports",
}


def _rewritten(expression: str) -> str:
    """Several lists of arguments are one call; what an operator gives can not be told."""
    if expression.startswith("_."):  # a lambda's parameter without a name
        return UNKNOWN + expression[expression.rfind(".") :]
    if ".?" not in expression:
        return expression.replace("()()", "()")
    return "|".join(_without_operators(way) for way in expression.split("|"))


def _without_operators(way: str) -> str:
    _, operator, rest = way.rpartition(".?")
    if not operator:
        return way
    return UNKNOWN + rest[rest.find(".") :] if "." in rest else UNKNOWN


def _returned(definition: Definition, expression: str) -> str:
    return "" if definition.kind == "constructor" or definition.type == "Unit" else expression


LANGUAGES = (
    Language(
        name="scala",
        suffixes=(".scala", ".sc"),
        grammar="tree_sitter_scala",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        held=held,
        rewritten=_rewritten,
        returned=_returned,
        invoked="apply",
    ),
)
