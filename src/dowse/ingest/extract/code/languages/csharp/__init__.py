"""C#."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.emptiness import WRAPS
from dowse.ingest.extract.code.language import Imported, Language, Shape
from dowse.ingest.extract.code.languages.csharp.bindings import (
    assigned,
    bind,
    lambda_parameters,
    mapped,
    target_type,
)
from dowse.ingest.extract.code.languages.csharp.definitions import define
from dowse.ingest.extract.code.languages.csharp.meaning import held, is_function_type, rewritten
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

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
(if_statement alternative: (if_statement) @further)
(if_statement alternative: [(block) (expression_statement) (return_statement) (throw_statement)] @otherwise)
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


def _initialised(node: Node, _source: Source) -> str:
    """`: this(…)` calls another constructor of the class, `: base(…)` one of what it inherits from."""
    return "this" if any(each.type == "this" for each in node.children) else "super"


def _without_alias(node: Node, source: Source) -> str:
    """`global::A` is A."""
    return source.of(child(node, "name"))


_STRING = Shape(root=":string;")
_SHAPES = {
    "identifier": Shape(name=True),
    "generic_name": Shape(name=True),
    "predefined_type": Shape(name=True),
    "alias_qualified_name": Shape(read=_without_alias),
    "qualified_name": Shape(onto="qualifier", member="name"),
    "this": Shape(root="this"),
    "base": Shape(root="super"),
    "member_access_expression": Shape(onto="0", member="name"),
    "conditional_access_expression": Shape(onto="condition", member="1"),
    "invocation_expression": Shape(onto="0", step="()"),
    "element_access_expression": Shape(onto="expression", step="[]"),
    "await_expression": Shape(onto="0", step="!"),
    "parenthesized_expression": Shape(onto="0"),
    "postfix_unary_expression": Shape(onto="0"),
    "checked_expression": Shape(onto="0"),
    "ref_expression": Shape(onto="0"),
    "with_expression": Shape(onto="0"),
    "initializer_expression": Shape(onto="0"),
    "assignment_expression": Shape(onto="right"),
    "conditional_expression": Shape(either=("consequence", "alternative")),
    "binary_expression": Shape(either=("left", "right")),
    "cast_expression": Shape(type="type"),
    "as_expression": Shape(type="right"),
    "object_creation_expression": Shape(type="type"),
    "implicit_object_creation_expression": Shape(read=target_type),
    "constructor_initializer": Shape(read=_initialised),
    "tuple_expression": Shape(root="?", element="0", written=True),
    "argument_list": Shape(root="super"),  # as a site of its own only behind a base class
    "array_creation_expression": Shape(type="type"),
    "implicit_array_creation_expression": Shape(root=":{}[];", element="0"),
    "default_expression": Shape(type="type"),
    "typeof_expression": Shape(root=":Type;"),
    "string_literal": _STRING,
    "verbatim_string_literal": _STRING,
    "raw_string_literal": _STRING,
    "interpolated_string_expression": _STRING,
    "integer_literal": Shape(root=":int;"),
    "real_literal": Shape(root=":double;"),
    "boolean_literal": Shape(root=":bool;"),
    "character_literal": Shape(root=":char;"),
}

_FOLLOWED = frozenset(
    {"identifier", "member_access_expression", "conditional_expression", "parenthesized_expression", "tuple_expression"}
)

_FILLERS = {
    "comment": "comments",
    "using_directive": "using directives",
    "extern_alias_directive": "using directives",
    "global_attribute": "attributes",
    "preproc_if": WRAPS,
    "preproc_else": WRAPS,
    "preproc_elif": WRAPS,
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


def _imports(node: Node, source: Source) -> Iterator[Imported]:
    parts = [each for each in node.named_children if not each.is_extra]
    if parts:
        target = "".join(source.of(parts[-1]).split()).removeprefix("global::")
        yield Imported(target, source.of(child(node, "name")) or "*")


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
        held=held,
        rewritten=rewritten,
        no_calls=frozenset({"nameof"}),
        invoked="Invoke",
        mapped=mapped,
        sequence=":IEnumerable<?>;",
        follows=_FOLLOWED,
        is_function_type=is_function_type,
        assigned=assigned,
    ),
)
