"""Swift."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Imported, Language, Shape
from dowse.ingest.extract.code.languages.swift.bindings import bind, lambda_parameters
from dowse.ingest.extract.code.languages.swift.definitions import define
from dowse.ingest.extract.code.languages.swift.types import held
from dowse.ingest.extract.code.source import first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

# An index is a call in this grammar: only those with a round bracket, or with nothing but a closure, are one.
_QUERY = """
[(class_declaration) (protocol_declaration) (function_declaration) (protocol_function_declaration) (init_declaration)
 (deinit_declaration) (subscript_declaration) (protocol_property_declaration) (enum_entry) (typealias_declaration)
 (associatedtype_declaration)] @define
(property_declaration) @define @bind
(import_declaration) @import
(call_expression
  . [(simple_identifier) (navigation_expression) (call_expression) (postfix_expression) (prefix_expression)
     (constructor_expression) (tuple_expression) (array_literal) (dictionary_literal)]
  (call_suffix . (value_arguments . "(")) .) @call
(call_expression (call_suffix . (lambda_literal)) .) @call
(constructor_expression) @construct
[(if_statement) (guard_statement) (for_statement) (catch_block) (switch_entry)] @bind
(lambda_literal) @lambda
(value_argument value: (simple_identifier) @refer)
[(if_statement) (guard_statement) (for_statement) (while_statement) (repeat_while_statement) (catch_block)
 (ternary_expression)] @branch
(if_statement (else) . (if_statement) @further)
(if_statement (else) @otherwise . "{")
(switch_statement) @switch
(switch_entry (switch_pattern)) @case
(do_statement) @block
[(conjunction_expression) (disjunction_expression) (nil_coalescing_expression)] @operator
(control_transfer_statement "return") @return
(computed_property . (statements . (_) @result .))
(function_body . (statements . (_) @result .))
"""

_OWN = re.compile(r"^Self(?=\W|$)")
_INDEXED = re.compile(r"^(:[^;]*[\]>];)\(\)")


def _meant(expression: str) -> str:
    """`Self` is the type around; what looks like the call of an array or of a generic object is an index."""
    return _INDEXED.sub(r"\1[]", _OWN.sub("this", expression))


def _arguments(node: Node) -> int:
    """Those in brackets, and a closure behind them."""
    suffix = first_of(node, "call_suffix", "constructor_suffix")
    count = 0
    for each in suffix.named_children if suffix is not None else ():
        count += each.named_child_count if each.type == "value_arguments" else each.type == "lambda_literal"
    return count


_SHAPES = {
    "simple_identifier": Shape(name=True),
    "self_expression": Shape(root="this"),
    "super_expression": Shape(root="super"),
    "navigation_expression": Shape(onto="target", member="suffix"),
    "call_expression": Shape(onto="0", step="()"),
    "constructor_expression": Shape(type="constructed_type"),
    "postfix_expression": Shape(onto="target"),
    "try_expression": Shape(onto="expr"),
    "await_expression": Shape(onto="expr", step="!"),
    "as_expression": Shape(type="name"),
    "tuple_expression": Shape(onto="value"),
    "directly_assignable_expression": Shape(onto="0"),
    "control_transfer_statement": Shape(onto="result"),
    "nil_coalescing_expression": Shape(either=("value", "if_nil")),
    "ternary_expression": Shape(either=("if_true", "if_false")),
    "array_literal": Shape(root=":{}[];", element="element"),
    "line_string_literal": Shape(root=":String;"),
    "integer_literal": Shape(root=":Int;"),
    "real_literal": Shape(root=":Double;"),
    "boolean_literal": Shape(root=":Bool;"),
}
_FILLERS = {"comment": "comments", "multiline_comment": "comments", "import_declaration": "imports"}


def _imports(node: Node, source: Source) -> Iterable[Imported]:
    path = "".join(source.of(first_of(node, "identifier")).split())
    return [Imported(path, "*")] if path else []


LANGUAGES = (
    Language(
        name="swift",
        suffixes=(".swift",),
        grammar="tree_sitter_swift",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        held=held,
        rewritten=_meant,
        arguments=_arguments,
    ),
)
