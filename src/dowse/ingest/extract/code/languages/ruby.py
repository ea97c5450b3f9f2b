"""Ruby. Names lose the `?` or `!` at their end, which expressions have another use for; signatures keep them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Definition, Imported, Language, Parameter, Shape
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_QUERY = """
[(module) (class) (method) (singleton_method) (alias)] @define
(call !receiver method: (identifier) @_name
  (#any-of? @_name "attr_accessor" "attr_reader" "attr_writer" "alias_method" "define_method" "delegate")) @define
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
_ATTRIBUTES = {
    "attr_accessor": (),
    "attr_reader": ("readonly",),
    "attr_writer": ("writeonly",),
    "delegate": ("delegate",),
}
_MIXED_IN = frozenset({"include", "extend", "prepend"})
_METHODS = frozenset({"method", "singleton_method"})
_NO_CALLS = frozenset(
    {
        "require", "require_relative", "load", "autoload", "attr_accessor", "attr_reader", "attr_writer", "include",
        "extend", "prepend", "private", "public", "protected", "module_function", "alias_method", "raise", "lambda",
        "proc", "block_given", "puts", "loop", "private_constant", "private_class_method", "define_method",
    }
)  # fmt: skip
_TO_ELEMENTS = frozenset(
    {
        "each", "map", "select", "reject", "find", "detect", "any", "all", "none", "flat_map", "each_with_index",
        "sort_by", "group_by", "partition", "filter", "filter_map", "each_with_object", "collect", "sum", "count",
        "find_each", "min_by", "max_by", "to_h", "index_by", "each_slice",
    }
)  # fmt: skip
_MOST_LOOKED_AT = 500  # pieces of a class, for what is mixed into it


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


def _define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("module", "class"):
        return _type(node, source)
    if node.type in _METHODS:
        return [_method(node, around, source)]
    if node.type == "alias":
        return [_named(source.of(child(node, "name")), "method", node, ("alias",))]
    return _announced(node, source)


def _bare(name: str) -> str:
    return name.strip(":\"'").rstrip("?!=") or name


def _named(name: str, kind: str, node: Node, modifiers: tuple[str, ...]) -> Definition:
    return Definition(_bare(name), kind, node, node.byte_range, modifiers=modifiers, has_body=False)


def _type(node: Node, source: Source) -> Iterator[Definition]:
    """A module with methods is used as a class, one without as a namespace. `class A::B` is a B in an A."""
    name, body = child(node, "name"), child(node, "body")
    *path, last = source.of(name).replace("::", ".").strip(".").split(".")
    for part in path:
        yield Definition(part, "namespace", node, name.byte_range if name else node.byte_range, reopens=True)
    pieces = body.named_children[:_MOST_LOOKED_AT] if body is not None else []
    is_module = node.type == "module"
    holds_methods = any(each.type in _METHODS for each in pieces)
    above = child(node, "superclass")
    yield Definition(
        last,
        "namespace" if is_module and not holds_methods else "class",
        node,
        (node.start_byte, (above or name or node).end_byte),
        modifiers=("module",) if is_module else (),
        bases=(*_above(above, source), *_mixed_in(pieces, source)),
    )


def _above(node: Node | None, source: Source) -> list[str]:
    named = child(node, "0") if node is not None else None
    return ["".join(source.of(named).split())[:200]] if named is not None else []


def _mixed_in(pieces: list[Node], source: Source) -> Iterator[str]:
    for each in pieces:
        if each.type == "call" and source.of(child(each, "method")) in _MIXED_IN:
            arguments = child(each, "arguments")
            for base in arguments.named_children if arguments else ():
                if base.type in ("constant", "scope_resolution"):
                    yield source.of(base)[:200]


def _method(node: Node, around: Definition | None, source: Source) -> Definition:
    named, parameters = child(node, "name"), child(node, "parameters")
    name = source.of(named)
    inside = around is not None and around.kind in ("class", "namespace")
    kind = "constructor" if name == "initialize" else "method" if inside else "function"
    above = node.parent.parent if node.parent is not None else None
    is_static = node.type == "singleton_method" or (above is not None and above.type == "singleton_class")
    return Definition(
        _bare(name),
        kind,
        node,
        (node.start_byte, (parameters or named or node).end_byte),
        parameters=tuple(_parameters(parameters, source)),
        modifiers=("static",) if is_static else (),
    )


def _parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "identifier":
            yield Parameter(source.of(each))
        elif each.type != "block_parameter" and not each.is_extra:
            name, value = source.of(child(each, "name")), child(each, "value")
            yield Parameter(name, holds=":Array;" if each.type == "splat_parameter" else "", value=value)


def _announced(node: Node, source: Source) -> Iterator[Definition]:
    """`attr_reader :a, :b` and the like: a definition for each symbol."""
    word, arguments = source.of(child(node, "method")), child(node, "arguments")
    symbols = [each for each in (arguments.named_children if arguments else ()) if each.type == "simple_symbol"]
    if word in ("alias_method", "define_method"):
        for each in symbols[:1]:
            yield _named(source.of(each), "method", node, ("alias",) if word == "alias_method" else ())
        return
    for each in symbols:
        name = _bare(source.of(each))
        holds = "" if word == "delegate" else f"this.@{name}"
        yield Definition(
            name, "property", node, node.byte_range, holds=holds, modifiers=_ATTRIBUTES[word], has_body=False
        )


def _bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "for":
        target, value = child(node, "pattern"), child(node, "value")
        return [Bound(target, target.end_byte, value=child(value, "0") if value else None, step="[]")] if target else []
    if node.type == "rescue":
        return _rescued(node, source)
    target, value = child(node, "left"), child(node, "right")
    if target is None:
        return []
    if target.type == "left_assignment_list":
        return [Bound(each, node.end_byte, value=value, step="[]") for each in target.named_children if _is_local(each)]
    if target.type in ("instance_variable", "class_variable"):
        return [Bound(target, node.end_byte, value=value, keeps=node, of_this=True)]
    if target.type == "constant" and node.type == "assignment":
        return [Bound(target, node.end_byte, value=value, keeps=node)]
    return [Bound(target, node.end_byte, value=value)] if _is_local(target) else []


def _is_local(node: Node) -> bool:
    return node.type == "identifier"


def _rescued(node: Node, source: Source) -> list[Bound]:
    variable, caught = child(node, "variable"), child(node, "exceptions")
    name = child(variable, "0") if variable is not None else None
    written = source.of(child(caught, "0") if caught is not None else None)
    return [Bound(name, name.end_byte, written)] if name is not None and _is_local(name) else []


def _lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    found = list(_parameters(child(node, "parameters"), source))
    call = node.parent
    passes = call is not None and call.type == "call" and _bare(source.of(child(call, "method"))) in _TO_ELEMENTS
    elements = child(call, "receiver") if call is not None and passes else None
    if found and elements is not None:
        found[0] = Parameter(found[0].name, value=elements, step="[]")
    return found


def _imports(node: Node, source: Source) -> Iterator[Imported]:
    arguments = child(node, "arguments")
    named = first_of(arguments, "string") if arguments is not None else None
    path = source.of(named).strip("\"'")
    if path:
        is_near = source.of(child(node, "method")) == "require_relative" and not path.startswith(".")
        yield Imported(f"./{path}" if is_near else path, "*")


def _kept(name: str, _around: Definition | None) -> str:
    return "field" if name.startswith("@") else "variable"


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
        define=_define,
        bind=_bind,
        imports=_imports,
        fillers=_FILLERS,
        lambda_parameters=_lambda_parameters,
        kept=_kept,
        rewritten=_made,
        returned=_returned,
        no_calls=_NO_CALLS,
    ),
)
