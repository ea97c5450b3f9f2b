"""Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Language, Shape
from dowse.ingest.extract.code.languages.java.bindings import bind, imports, lambda_parameters, mapped
from dowse.ingest.extract.code.languages.java.definitions import define
from dowse.ingest.extract.code.source import child
from dowse.text.expressions import instance

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = """
[(package_declaration) (class_declaration) (interface_declaration) (annotation_type_declaration) (enum_declaration)
 (record_declaration) (enum_constant) (method_declaration) (constructor_declaration)
 (compact_constructor_declaration) (annotation_type_element_declaration) (field_declaration)
 (constant_declaration)] @define
(import_declaration) @import
(method_invocation) @call
[(object_creation_expression) (explicit_constructor_invocation)] @construct
[(local_variable_declaration) (enhanced_for_statement) (resource) (catch_formal_parameter) (instanceof_expression)
 (type_pattern)] @bind
(lambda_expression) @lambda
(lambda_expression body: (expression) @result)
[(if_statement) (for_statement) (enhanced_for_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression)] @branch
(if_statement alternative: (if_statement) @further)
(if_statement alternative: (block) @otherwise)
(switch_expression) @switch
(switch_label . "case") @case
[(try_statement) (try_with_resources_statement) (synchronized_statement)] @block
(binary_expression operator: ["&&" "||"]) @operator
(return_statement) @return
(argument_list) @refer
"""


def _initialised(node: Node, _source: Source) -> str:
    called = child(node, "constructor")
    return "this" if called is not None and called.type == "this" else "super"


_SHAPES = {
    "identifier": Shape(name=True),
    "type_identifier": Shape(name=True),
    "this": Shape(root="this"),
    "super": Shape(root="super"),
    "field_access": Shape(onto="object", member="field"),
    "scoped_identifier": Shape(onto="scope", member="name"),
    "method_invocation": Shape(onto="object", member="name", step="()", bare=True),
    "array_access": Shape(onto="array", step="[]"),
    "parenthesized_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "cast_expression": Shape(type="type"),
    "object_creation_expression": Shape(type="type"),
    "array_creation_expression": Shape(root=":{}[];", element="type"),
    "explicit_constructor_invocation": Shape(read=_initialised),
    "ternary_expression": Shape(either=("consequence", "alternative")),
    "method_reference": Shape(onto="0", member="1"),
    "string_literal": Shape(root=":String;"),
    "decimal_integer_literal": Shape(root=":int;"),
    "decimal_floating_point_literal": Shape(root=":double;"),
    "true": Shape(root=":boolean;"),
    "false": Shape(root=":boolean;"),
    "class_literal": Shape(root=":Class;"),
}

_FILLERS = {
    "line_comment": "comments",
    "block_comment": "comments",
    "import_declaration": "imports",
    "module_declaration": "a module's list of packages",
}
_SAY_NOTHING = frozenset({"", "var", "void"})


def _held(written: str) -> str:
    return "" if written in _SAY_NOTHING else instance(written)


LANGUAGES = (
    Language(
        name="java",
        suffixes=(".java",),
        grammar="tree_sitter_java",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        held=_held,
        mapped=mapped,
        sequence=":Stream<?>;",
    ),
)
