"""Ruby."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Language, Shape
from dowse.ingest.extract.code.languages.ruby.bindings import bind, imports, lambda_parameters
from dowse.ingest.extract.code.languages.ruby.definitions import ANNOUNCING, define, kept

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = f"""
[(module) (class) (method) (singleton_method) (alias)] @define
(call !receiver method: (identifier) @_name
  (#any-of? @_name {" ".join(f'"{word}"' for word in ANNOUNCING)})) @define
(call !receiver method: (identifier) @_name
  (#any-of? @_name "require" "require_relative" "load" "autoload")) @import
(call) @call
(call receiver: [(constant) (scope_resolution)] method: (identifier) @_name (#eq? @_name "new")) @construct
[(assignment) (operator_assignment) (for) (rescue)] @bind
[(block) (do_block) (lambda)] @lambda
[(argument_list) (body_statement) (block_body) (then) (binary)] @refer
(assignment right: (identifier) @refer)
[(if) (unless) (while) (until) (for) (if_modifier) (unless_modifier) (while_modifier) (until_modifier) (rescue)
 (conditional)] @branch
(elsif) @further
(if alternative: (else) @otherwise)
(elsif alternative: (else) @otherwise)
(unless alternative: (else) @otherwise)
[(case) (case_match)] @switch
[(when) (in_clause)] @case
(begin) @block
(binary operator: ["&&" "||" "and" "or"]) @operator
(return) @return
(method body: (body_statement . (_) @result .))
(singleton_method body: (body_statement . (_) @result .))
(method body: (call) @result)
(singleton_method body: (call) @result)
"""

_NEW = re.compile(r"^([A-Z]\w*(?:\.[A-Z]\w*)*)\.new(?=$|\()(?:\(\))?")
_NO_CALLS = frozenset(
    {
        "require", "require_relative", "load", "autoload", "attr_accessor", "attr_reader", "attr_writer", "attr",
        "include", "extend", "prepend", "private", "public", "protected", "module_function", "alias_method", "raise",
        "lambda", "proc", "block_given?", "puts", "loop", "private_constant", "private_class_method", "define_method",
    }
)  # fmt: skip


def _field(node: Node, source: Source) -> str:
    return f"this.{source.of(node)}"


def _path(node: Node, source: Source) -> str:
    path = "".join(source.of(node).split()).replace("::", ".").strip(".")
    return path if len(path) <= 200 and re.fullmatch(r"\w+(?:\.\w+)*", path) else ""


def _made(expression: str) -> str:
    """`Foo.new` makes a Foo, `new()` one of what it stands in."""
    if expression.startswith("new()"):
        return f":Self;{expression[5:]}"
    return _NEW.sub(r":\1;", expression) if ".new" in expression else expression


_SHAPES = {
    "identifier": Shape(name=True),
    "constant": Shape(name=True),
    "self": Shape(root="this"),
    "instance_variable": Shape(read=_field),
    "class_variable": Shape(read=_field),
    "scope_resolution": Shape(read=_path),
    "call": Shape(onto="receiver", member="method", step="()"),
    "element_reference": Shape(onto="object", step="[]"),
    "parenthesized_statements": Shape(onto="0"),
    "argument_list": Shape(onto="0"),
    "assignment": Shape(onto="right"),
    "return": Shape(onto="0"),
    "conditional": Shape(either=("consequence", "alternative")),
    "array": Shape(root=":{}[];", element="0"),
    "hash": Shape(root=":Hash;"),
    "string": Shape(root=":String;"),
    "simple_symbol": Shape(root=":Symbol;"),
    "integer": Shape(root=":Integer;"),
    "float": Shape(root=":Float;"),
    "true": Shape(root=":TrueClass;"),
    "false": Shape(root=":FalseClass;"),
}
_FILLERS = {"comment": "comments", "call": "statements", "hash": "data", "array": "data", "string": "data"}


def _returned(definition: Definition, expression: str) -> str:
    return "" if definition.kind == "constructor" else expression


LANGUAGES = (
    Language(
        name="ruby",
        suffixes=(".rb", ".rake", ".gemspec", ".ru", ".podspec"),
        file_names=("rakefile", "gemfile", "vagrantfile", "podfile", "brewfile", "guardfile"),
        grammar="tree_sitter_ruby",
        query=_QUERY,
        shapes=_SHAPES,
        define=define,
        bind=bind,
        imports=imports,
        fillers=_FILLERS,
        lambda_parameters=lambda_parameters,
        kept=kept,
        rewritten=_made,
        returned=_returned,
        no_calls=_NO_CALLS,
        names=re.compile(r"@?[^\W\d]\w*[?!]?"),
    ),
)
