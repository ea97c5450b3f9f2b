"""JavaScript and TypeScript, with their JSX forms."""

from __future__ import annotations

from dataclasses import replace

from dowse.ingest.extract.code.language import Language, Shape
from dowse.ingest.extract.code.languages.javascript.bindings import bind, imports
from dowse.ingest.extract.code.languages.javascript.definitions import (
    EXPORTS,
    define,
    kept,
    lambda_parameters,
    mapped,
    members,
)
from dowse.ingest.extract.code.languages.javascript.types import asserted, held

_FUNCTION = "[(arrow_function) (function_expression) (generator_function)]"
_QUERY = f"""
[(function_declaration) (generator_function_declaration) (class_declaration) (method_definition)] @define
(variable_declarator value: [{_FUNCTION[1:-1]} (class)]) @define
(variable_declarator value: (object (pair value: {_FUNCTION}) @define))
(assignment_expression left: [(member_expression) (identifier)] right: [{_FUNCTION[1:-1]} (class !name)]) @define
[(function_expression name: (_)) (generator_function name: (_)) (class name: (_))] @define
(assignment_expression right: (object (pair value: {_FUNCTION}) @define))
(export_statement value: (object (pair value: {_FUNCTION}) @define))
(pair value: (object (pair value: {_FUNCTION}) @define))
(variable_declarator value: (object) @members)
(assignment_expression right: (object) @members)
(pair value: (object) @members)
(call_expression function: (member_expression) @_freeze arguments: (arguments . (object) @members)
  (#eq? @_freeze "Object.freeze"))
[(import_statement) (export_statement source: (_))] @import
((variable_declarator value: (call_expression function: (identifier) @_function)) @import
  (#eq? @_function "require"))
(call_expression) @call
(new_expression) @construct
(call_expression function: (super)) @construct
(decorator [(call_expression) (identifier) (member_expression)] @decorate)
[(variable_declarator) (assignment_expression) (for_in_statement) (catch_clause)] @bind
{_FUNCTION} @lambda
[(if_statement) (for_statement) (for_in_statement) (while_statement) (do_statement) (catch_clause)
 (ternary_expression)] @branch
(else_clause (if_statement) @further)
(else_clause (statement_block) @otherwise)
(switch_statement) @switch
(switch_case) @case
(try_statement) @block
(binary_expression operator: ["&&" "||" "??"]) @operator
(return_statement) @return
(arrow_function body: (expression) @result)
[(arguments) (array)] @refer
(pair value: [(identifier) (member_expression)] @refer)
"""
_ELEMENTS = """
(jsx_opening_element name: [(identifier) (member_expression)] @refer)
(jsx_self_closing_element name: [(identifier) (member_expression)] @refer)
"""
_FIELDS = """
(field_definition) @define
(field_definition value: (object) @members)
"""
_TYPED = """
[(abstract_class_declaration) (interface_declaration) (type_alias_declaration) (enum_declaration) (internal_module)
 (module) (function_signature) (abstract_method_signature) (public_field_definition)] @define
(interface_body [(method_signature) (property_signature)] @define)
(enum_body [(property_identifier) (enum_assignment)] @define)
(class_body (method_signature) @define)
(public_field_definition value: (object) @members)
[(as_expression (object) @members) (satisfies_expression (object) @members)]
(type_alias_declaration value: (object_type) @members)
(intersection_type (object_type) @members)
(type_annotation (object_type) @members)
"""

_SHAPES = {
    "identifier": Shape(name=True),
    "this": Shape(root="this"),
    "super": Shape(root="super"),
    "member_expression": Shape(onto="object", member="property"),
    "call_expression": Shape(onto="function", step="()", types="type_arguments"),
    "subscript_expression": Shape(onto="object", step="[]"),
    "await_expression": Shape(onto="0", step="!"),
    "parenthesized_expression": Shape(onto="0"),
    "non_null_expression": Shape(onto="0"),
    "satisfies_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "new_expression": Shape(type="constructor"),
    "as_expression": Shape(read=asserted),
    "type_assertion": Shape(read=asserted),
    "ternary_expression": Shape(either=("consequence", "alternative")),
    "binary_expression": Shape(either=("left", "right")),
    "string": Shape(root=":string;"),
    "template_string": Shape(root=":string;"),
    "number": Shape(root=":number;"),
    "true": Shape(root=":boolean;"),
    "false": Shape(root=":boolean;"),
    "regex": Shape(root=":RegExp;"),
    "array": Shape(root=":Array<{}>;", element="0"),
}

_FILLERS = {
    "comment": "comments",
    "hash_bang_line": "comments",
    "import_statement": "imports",
    "export_statement": "exports",
    "object": "data",
    "array": "data",
    "string": "data",
}

_JAVASCRIPT = Language(
    name="javascript",
    suffixes=(".js", ".mjs", ".cjs", ".jsx"),
    grammar="tree_sitter_javascript",
    query=_QUERY + _ELEMENTS + _FIELDS,
    shapes=_SHAPES,
    define=define,
    bind=bind,
    imports=imports,
    fillers=_FILLERS,
    members=members,
    within=frozenset(
        {
            "as_expression",
            "satisfies_expression",
            "type_annotation",
            "intersection_type",
            "arguments",
            "call_expression",
        }
    ),
    exports=EXPORTS,
    lambda_parameters=lambda_parameters,
    held=held,
    kept=kept,
    fields_by_assignment=True,
    mapped=mapped,
    sequence=":Array<?>;",
)
_TYPESCRIPT = replace(
    _JAVASCRIPT,
    name="typescript",
    suffixes=(".ts", ".mts", ".cts"),
    grammar="tree_sitter_typescript:language_typescript",
    query=_QUERY + _TYPED,
    types_apart=True,
)
_TSX = replace(
    _TYPESCRIPT,
    suffixes=(".tsx",),
    grammar="tree_sitter_typescript:language_tsx",
    query=_QUERY + _TYPED + _ELEMENTS,
)
LANGUAGES = (_JAVASCRIPT, _TYPESCRIPT, _TSX)
