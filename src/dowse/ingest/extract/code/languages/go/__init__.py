"""Go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Language, Shape
from dowse.ingest.extract.code.languages.go.bindings import bind, imports
from dowse.ingest.extract.code.languages.go.definitions import define, lambda_parameters
from dowse.ingest.extract.code.languages.go.types import held
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

# A function literal that is called where it stands has no name to be found by: it is no call, only what is in it.
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
(if_statement alternative: (if_statement) @further)
(if_statement alternative: (block) @otherwise)
[(expression_switch_statement) (type_switch_statement) (select_statement)] @switch
[(expression_case) (type_case) (communication_case)] @case
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
(argument_list) @refer
(type_conversion_expression operand: [(identifier) (selector_expression)] @refer)
(keyed_element value: (literal_element . [(identifier) (selector_expression)] @refer))
(assignment_statement right: (expression_list . [(identifier) (selector_expression)] @refer .))
"""


def _made(node: Node, source: Source) -> str:
    """`new(Foo)` makes what its argument names."""
    return held(source.of(child(node, "0")))


_STRING = Shape(root=":string;")
_SHAPES = {
    "identifier": Shape(name=True),
    "type_identifier": Shape(name=True),
    "selector_expression": Shape(onto="operand", member="field"),
    "qualified_type": Shape(onto="package", member="name"),
    "package_identifier": Shape(name=True),
    "generic_type": Shape(onto="type", types="type_arguments"),
    "call_expression": Shape(onto="function", step="()"),
    "type_conversion_expression": Shape(onto="type", step="()"),
    "index_expression": Shape(onto="operand", step="[]", types="index"),
    "slice_expression": Shape(onto="operand"),
    "unary_expression": Shape(onto="operand"),  # `&x` and `*x` are used as x is
    "parenthesized_expression": Shape(onto="0"),
    "expression_list": Shape(onto="0"),  # of several results the first is what a call gives
    "type_assertion_expression": Shape(type="type"),
    "composite_literal": Shape(type="type"),
    "argument_list": Shape(read=_made),  # as a site of its own only behind `new`
    "interpreted_string_literal": _STRING,
    "raw_string_literal": _STRING,
    "int_literal": Shape(root=":int;"),
    "float_literal": Shape(root=":float64;"),
    "rune_literal": Shape(root=":rune;"),
    "true": Shape(root=":bool;"),
    "false": Shape(root=":bool;"),
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
        held=held,
        no_calls=frozenset({"new"}),
    ),
)
