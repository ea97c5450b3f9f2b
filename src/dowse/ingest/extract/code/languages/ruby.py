"""Ruby."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import (
    BoundName,
    ImportedName,
    Language,
    NodeShape,
    Parameter,
    SyntaxDefinition,
    child,
    first_child_of,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.language import SourceText

# --------------------------------------------------------------------------------------------------
# Definitions in Ruby: modules and classes with their mixins, methods, and macros like `attr_reader`.

_ACCESSOR: dict[str, tuple[str, ...]] = {"": (), "=": ("writeonly",)}
_DELEGATE: dict[str, tuple[str, ...]] = {"": ("delegate",)}
_READER: dict[str, tuple[str, ...]] = {"": ("readonly",)}
_WRITER: dict[str, tuple[str, ...]] = {"=": ("writeonly",)}
# The methods that each macro defines for a name: suffixes, with their modifiers.
_ATTRIBUTES: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("attr_accessor", "cattr_accessor", "mattr_accessor"), _ACCESSOR),
    **dict.fromkeys(("attr", "attr_reader", "cattr_reader", "mattr_reader"), _READER),
    **dict.fromkeys(("attr_writer", "cattr_writer", "mattr_writer"), _WRITER),
    **dict.fromkeys(("delegate", "def_delegators"), _DELEGATE),
}
DEFINITION_MACROS = (*_ATTRIBUTES, "alias_method", "define_method")
_MIXIN_METHODS = frozenset({"include", "extend", "prepend"})
_METHODS = frozenset({"method", "singleton_method"})
_MAX_CHILDREN = 500  # children of a class to search for mixins


def define(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> Iterable[SyntaxDefinition]:
    if node.type in ("module", "class"):
        return _define_type(node, source)
    if node.type in _METHODS:
        return [_method(node, enclosing, source)]
    if node.type == "alias":
        return [_bodiless_definition(source.text(child(node, "name")), "method", node, ("alias",))]
    return _define_by_macro(node, source)


def _bodiless_definition(name: str, kind: str, node: Node, modifiers: tuple[str, ...]) -> SyntaxDefinition:
    return SyntaxDefinition(_unquote(name), kind, node, node.byte_range, modifiers=modifiers, has_body=False)


def _define_type(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define a class or module; a module without methods is a namespace. `class A::B` is a B in A."""
    name, body = child(node, "name"), child(node, "body")
    *path, last = source.text(name).replace("::", ".").strip(".").split(".")
    for part in path:
        yield SyntaxDefinition(part, "namespace", node, name.byte_range if name else node.byte_range, reopens=True)
    pieces = body.named_children[:_MAX_CHILDREN] if body is not None else []
    is_module = node.type == "module"
    holds_methods = any(each.type in _METHODS for each in pieces)
    superclass = child(node, "superclass")
    yield SyntaxDefinition(
        last,
        "namespace" if is_module and not holds_methods else "class",
        node,
        (node.start_byte, (superclass or name or node).end_byte),
        modifiers=("module",) if is_module else (),
        bases=(*_superclass(superclass, source), *_mixins(pieces, source)),
    )


def _superclass(node: Node | None, source: SourceText) -> list[str]:
    named = child(node, "0") if node is not None else None
    return ["".join(source.text(named).split())[:200]] if named is not None else []


def _mixins(pieces: list[Node], source: SourceText) -> Iterator[str]:
    for each in pieces:
        if each.type == "call" and source.text(child(each, "method")) in _MIXIN_METHODS:
            arguments = child(each, "arguments")
            for base in arguments.named_children if arguments else ():
                if base.type in ("constant", "scope_resolution"):
                    yield source.text(base)[:200]


def _method(node: Node, enclosing: SyntaxDefinition | None, source: SourceText) -> SyntaxDefinition:
    name_node, parameters_node = child(node, "name"), child(node, "parameters")
    name = source.text(name_node)
    inside = enclosing is not None and enclosing.kind in ("class", "namespace")
    kind = "constructor" if name == "initialize" else "method" if inside else "function"
    outer = node.parent.parent if node.parent is not None else None
    is_static = node.type == "singleton_method" or (outer is not None and outer.type == "singleton_class")
    return SyntaxDefinition(
        name,
        kind,
        node,
        (node.start_byte, (parameters_node or name_node or node).end_byte),
        parameters=tuple(read_parameters(parameters_node, source)),
        modifiers=("static",) if is_static else (),
    )


def read_parameters(node: Node | None, source: SourceText) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "identifier":
            yield Parameter(source.text(each))
        elif each.type != "block_parameter" and not each.is_extra:
            name, value = source.text(child(each, "name")), child(each, "value")
            yield Parameter(name, value_expression=":Array;" if each.type == "splat_parameter" else "", value=value)


def _define_by_macro(node: Node, source: SourceText) -> Iterator[SyntaxDefinition]:
    """Define each symbol of `attr_reader :a, :b` and similar macros."""
    word, arguments = source.text(child(node, "method")), child(node, "arguments")
    names = [_unquote(source.text(each)) for each in (arguments.named_children if arguments else ()) if _is_name(each)]
    if word in ("alias_method", "define_method"):
        for name in names[:1]:
            yield _bodiless_definition(name, "method", node, ("alias",) if word == "alias_method" else ())
        return
    for name in names[1:] if word == "def_delegators" else names:
        for ending, modifiers in _ATTRIBUTES[word].items():
            yield SyntaxDefinition(
                name + ending,
                "property",
                node,
                node.byte_range,
                value_expression="" if ending or "delegate" in modifiers else f"this.@{name}",
                modifiers=modifiers,
                has_body=False,
            )


def _is_name(node: Node) -> bool:
    """Check for a symbol, or a string without interpolation."""
    plain = node.type == "string" and node.named_child_count == 1
    return node.type == "simple_symbol" or (plain and child(node, "0") == first_child_of(node, "string_content"))


def _unquote(name: str) -> str:
    """Return a symbol or string without its quotes."""
    return name.strip(":\"'") or name


def assigned_kind(name: str, _enclosing: SyntaxDefinition | None) -> str:
    return "field" if name.startswith("@") else "variable"


# --------------------------------------------------------------------------------------------------
# Bindings in Ruby: assignments, loops, rescues and blocks; and its imports.

_ELEMENT_CALLBACK_METHODS = frozenset(
    {
        "each", "map", "select", "reject", "find", "detect", "any", "all", "none", "flat_map", "each_with_index",
        "sort_by", "group_by", "partition", "filter", "filter_map", "each_with_object", "collect", "sum", "count",
        "find_each", "min_by", "max_by", "to_h", "index_by", "each_slice",
    }
)  # fmt: skip


def bind(node: Node, source: SourceText) -> Iterable[BoundName]:
    if node.type == "for":
        target, value = child(node, "pattern"), child(node, "value")
        return (
            [BoundName(target, target.end_byte, value=child(value, "0") if value else None, step="[]")]
            if target
            else []
        )
    if node.type == "rescue":
        return _bind_rescue(node, source)
    target, value = child(node, "left"), child(node, "right")
    if target is None:
        return []
    if target.type == "left_assignment_list":
        return [it for each in target.named_children for it in _bind_target(each, node, value, "[]")]
    return _bind_target(target, node, value, "")


def _bind_target(target: Node, node: Node, value: Node | None, step: str) -> list[BoundName]:
    if target.type == "scope_resolution":
        name = child(target, "name")
        return _bind_target(name, node, value, step) if name is not None and name.type == "constant" else []
    if target.type in ("instance_variable", "class_variable"):
        return [BoundName(target, node.end_byte, value=value, step=step, defines=node, is_field=True)]
    if target.type == "constant":
        return [BoundName(target, node.end_byte, value=value, step=step, defines=node, never_local=True)]
    return [BoundName(target, node.end_byte, value=value, step=step)] if _is_local(target) else []


def _is_local(node: Node) -> bool:
    return node.type == "identifier"


def _bind_rescue(node: Node, source: SourceText) -> list[BoundName]:
    variable, caught = child(node, "variable"), child(node, "exceptions")
    name = child(variable, "0") if variable is not None else None
    type_text = source.text(child(caught, "0") if caught is not None else None)
    return [BoundName(name, name.end_byte, type_text)] if name is not None and _is_local(name) else []


def lambda_parameters(node: Node, source: SourceText) -> Iterable[Parameter]:
    """Return the parameters of a block; an enumerable method passes an element of its receiver as the first."""
    block_parameters = list(read_parameters(child(node, "parameters"), source))
    call = node.parent
    passes = (
        call is not None
        and call.type == "call"
        and source.text(child(call, "method")).rstrip("?!") in _ELEMENT_CALLBACK_METHODS
    )
    elements = child(call, "receiver") if call is not None and passes else None
    if block_parameters and elements is not None:
        block_parameters[0] = Parameter(block_parameters[0].name, value=elements, step="[]")
    return block_parameters


def imports(node: Node, source: SourceText) -> Iterator[ImportedName]:
    arguments = child(node, "arguments")
    named = first_child_of(arguments, "string") if arguments is not None else None
    path = source.text(named).strip("\"'")
    if path:
        is_near = source.text(child(node, "method")) == "require_relative" and not path.startswith(".")
        yield ImportedName(f"./{path}" if is_near else path, "*")


_QUERY = f"""
[(module) (class) (method) (singleton_method) (alias)] @define
(call !receiver method: (identifier) @_name
  (#any-of? @_name {" ".join(f'"{word}"' for word in DEFINITION_MACROS)})) @define
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
(elsif) @else_if
(if alternative: (else) @else)
(elsif alternative: (else) @else)
(unless alternative: (else) @else)
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


def _field(node: Node, source: SourceText) -> str:
    return f"this.{source.text(node)}"


def _path(node: Node, source: SourceText) -> str:
    path = "".join(source.text(node).split()).replace("::", ".").strip(".")
    return path if len(path) <= 200 and re.fullmatch(r"\w+(?:\.\w+)*", path) else ""


def _normalize(expression: str) -> str:
    """Turn `Foo.new` into a Foo, and `new()` into an object of the enclosing class."""
    if expression.startswith("new()"):
        return f":Self;{expression[5:]}"
    return _NEW.sub(r":\1;", expression) if ".new" in expression else expression


_SHAPES = {
    "identifier": NodeShape(is_name=True),
    "constant": NodeShape(is_name=True),
    "self": NodeShape(root="this"),
    "instance_variable": NodeShape(translate=_field),
    "class_variable": NodeShape(translate=_field),
    "scope_resolution": NodeShape(translate=_path),
    "call": NodeShape(base="receiver", member="method", step="()"),
    "element_reference": NodeShape(base="object", step="[]"),
    "parenthesized_statements": NodeShape(base="0"),
    "argument_list": NodeShape(base="0"),
    "assignment": NodeShape(base="right"),
    "return": NodeShape(base="0"),
    "conditional": NodeShape(alternatives=("consequence", "alternative")),
    "array": NodeShape(root=":{}[];", element="0"),
    "hash": NodeShape(root=":Hash;"),
    "string": NodeShape(root=":String;"),
    "simple_symbol": NodeShape(root=":Symbol;"),
    "integer": NodeShape(root=":Integer;"),
    "float": NodeShape(root=":Float;"),
    "true": NodeShape(root=":TrueClass;"),
    "false": NodeShape(root=":FalseClass;"),
}
_FILLERS = {"comment": "comments", "call": "statements", "hash": "data", "array": "data", "string": "data"}


def _call_result(definition: SyntaxDefinition, expression: str) -> str:
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
        assigned_kind=assigned_kind,
        normalize=_normalize,
        call_result=_call_result,
        pseudo_calls=_NO_CALLS,
        name_pattern=re.compile(r"@?[^\W\d]\w*[?!]?"),
    ),
)
