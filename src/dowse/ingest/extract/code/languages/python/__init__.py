"""Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Imported, Language, Shape
from dowse.ingest.extract.code.languages.python.bindings import bind
from dowse.ingest.extract.code.languages.python.definitions import define, kept, lambda_parameters
from dowse.ingest.extract.code.languages.python.types import held
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = """
[(function_definition) (class_definition) (type_alias_statement)] @define
(call) @call
(decorator [(call) (identifier) (attribute)] @decorate)
[(import_statement) (import_from_statement) (future_import_statement)] @import
[(assignment) (named_expression) (for_statement) (for_in_clause) (as_pattern) (global_statement)] @bind
((call function: (identifier) @_function arguments: (argument_list . (identifier) . (_) .)) @bind
  (#eq? @_function "isinstance"))
((call function: (attribute object: [(identifier) (attribute)] attribute: (identifier) @_method)) @bind
  (#any-of? @_method "append" "add" "insert" "update" "setdefault" "appendleft"))
(lambda) @lambda
[(list_comprehension) (dictionary_comprehension) (set_comprehension) (generator_expression)] @scope
[(if_statement) (for_statement) (while_statement) (except_clause) (conditional_expression)] @branch
(elif_clause) @further
(else_clause) @otherwise
(match_statement) @switch
[(case_clause) (if_clause)] @case
[(try_statement) (with_statement)] @block
(boolean_operator) @operator
(return_statement) @return
(yield) @result
(for_statement right: (_) @iterate)
(for_in_clause right: (_) @iterate)
(with_item value: (_) @enter)
(raise_statement . [(identifier) (attribute)] @raise)
[(argument_list) (list) (tuple)] @refer
(assignment right: [(identifier) (attribute)] @refer)
(pair value: [(identifier) (attribute)] @refer)
(return_statement [(identifier) (attribute)] @refer)
[(expression_list) (yield)] @refer
(lambda body: [(identifier) (attribute)] @refer)
(default_parameter value: [(identifier) (attribute)] @refer)
(typed_default_parameter value: [(identifier) (attribute)] @refer)
"""

_SHAPES = {
    "identifier": Shape(name=True),
    "attribute": Shape(onto="0", member="attribute"),
    "call": Shape(onto="0", step="()"),
    "subscript": Shape(onto="value", step="[]", key="subscript"),
    "await": Shape(onto="0", step="!"),
    "parenthesized_expression": Shape(onto="0"),
    "named_expression": Shape(onto="value"),
    "assignment": Shape(onto="right"),
    "conditional_expression": Shape(either=("0", "2")),
    "boolean_operator": Shape(either=("left", "right")),
    "string": Shape(root=":str;"),
    "concatenated_string": Shape(root=":str;"),
    "integer": Shape(root=":int;"),
    "float": Shape(root=":float;"),
    "true": Shape(root=":bool;"),
    "false": Shape(root=":bool;"),
    "list": Shape(root=":list[{}];", element="0", written=True),
    "set": Shape(root=":set[{}];", element="0", written=True),
    "tuple": Shape(root=":tuple[{}];", element="0", written=True),
    "list_comprehension": Shape(root=":list[{}];", element="body", written=True),
    "set_comprehension": Shape(root=":set[{}];", element="body", written=True),
    "generator_expression": Shape(root=":Iterator[{}];", element="body", written=True),
    "dictionary": Shape(root=":dict[?,{}];", element="0", written=True),
    "dictionary_comprehension": Shape(root=":dict[?,{}];", element="body"),
    "pair": Shape(onto="value"),
    "expression_list": Shape(root=":tuple[{}];", element="0", written=True),
    "lambda": Shape(root="{{()=?}}", step="()", element="body", written=True),
    "yield": Shape(root=":Iterator[{}];", element="0", written=True),
}

_FILLERS = {
    "comment": "comments",
    "string": "comments",
    "import_statement": "imports",
    "import_from_statement": "imports",
    "future_import_statement": "imports",
    "list": "data",
    "dictionary": "data",
    "tuple": "data",
    "integer": "data",
}

_SUPER = re.compile(r"(^|\|)super\(\)")
_YIELDED = re.compile(r":Iterator\[(.*)\];")


_FOLLOWED = frozenset(
    {
        "identifier", "attribute", "call", "lambda", "list", "tuple", "dictionary", "conditional_expression",
        "subscript", "parenthesized_expression", "boolean_operator", "list_comprehension", "generator_expression",
    }
)  # fmt: skip


def _imports(node: Node, source: Source) -> Iterator[Imported]:
    is_from = node.type != "import_statement"
    module = "__future__" if node.type == "future_import_statement" else source.of(child(node, "module_name"))
    if first_of(node, "wildcard_import"):
        yield Imported("".join(module.split()), "*")
    for each in node.children_by_field_name("name"):
        name = source.of(child(each, "name") if each.type == "aliased_import" else each)
        local = source.of(child(each, "alias")) or name
        yield Imported("".join(module.split()), local, name) if is_from else Imported(name, local)


def _rewritten(expression: str) -> str:
    """`super().x` is a member of what is inherited, `self.__class__` has the members of `self`."""
    if "__class__" in expression:
        expression = expression.replace("this.__class__", "this")
    return _SUPER.sub(r"\1super", expression) if "super()" in expression else expression


def _returned(definition: Definition, expression: str) -> str:
    """A function made for `with` is called for what it yields."""
    if any(name.endswith("contextmanager") for name in definition.attributes):
        return _YIELDED.sub(r":\1;", expression)
    return expression


LANGUAGES = (
    Language(
        name="python",
        suffixes=(".py", ".pyi", ".pyw"),
        grammar="tree_sitter_python",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        held=held,
        kept=kept,
        rewritten=_rewritten,
        returned=_returned,
        fields_by_assignment=True,
        no_calls=frozenset({"super", "class_definition"}),
        invoked="__call__",
        file_names=("sconstruct", "sconscript"),
        follows=_FOLLOWED,
    ),
)
