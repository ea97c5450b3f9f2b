"""What Ruby defines: modules and classes with what is mixed into them, methods, and what a call announces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_BOTH: dict[str, tuple[str, ...]] = {"": (), "=": ("writeonly",)}
_PASSED_ON: dict[str, tuple[str, ...]] = {"": ("delegate",)}
_READS: dict[str, tuple[str, ...]] = {"": ("readonly",)}
_WRITES: dict[str, tuple[str, ...]] = {"=": ("writeonly",)}
# What each word makes of a name: endings, with their modifiers.
_ATTRIBUTES: dict[str, dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("attr_accessor", "cattr_accessor", "mattr_accessor"), _BOTH),
    **dict.fromkeys(("attr", "attr_reader", "cattr_reader", "mattr_reader"), _READS),
    **dict.fromkeys(("attr_writer", "cattr_writer", "mattr_writer"), _WRITES),
    **dict.fromkeys(("delegate", "def_delegators"), _PASSED_ON),
}
ANNOUNCING = (*_ATTRIBUTES, "alias_method", "define_method")
_MIXED_IN = frozenset({"include", "extend", "prepend"})
_METHODS = frozenset({"method", "singleton_method"})
_MOST_LOOKED_AT = 500  # pieces of a class, for what is mixed into it


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("module", "class"):
        return _type(node, source)
    if node.type in _METHODS:
        return [_method(node, around, source)]
    if node.type == "alias":
        return [_named(source.of(child(node, "name")), "method", node, ("alias",))]
    return _announced(node, source)


def _named(name: str, kind: str, node: Node, modifiers: tuple[str, ...]) -> Definition:
    return Definition(_plain(name), kind, node, node.byte_range, modifiers=modifiers, has_body=False)


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
    named, listed = child(node, "name"), child(node, "parameters")
    name = source.of(named)
    inside = around is not None and around.kind in ("class", "namespace")
    kind = "constructor" if name == "initialize" else "method" if inside else "function"
    above = node.parent.parent if node.parent is not None else None
    is_static = node.type == "singleton_method" or (above is not None and above.type == "singleton_class")
    return Definition(
        name,
        kind,
        node,
        (node.start_byte, (listed or named or node).end_byte),
        parameters=tuple(parameters(listed, source)),
        modifiers=("static",) if is_static else (),
    )


def parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        if each.type == "identifier":
            yield Parameter(source.of(each))
        elif each.type != "block_parameter" and not each.is_extra:
            name, value = source.of(child(each, "name")), child(each, "value")
            yield Parameter(name, holds=":Array;" if each.type == "splat_parameter" else "", value=value)


def _announced(node: Node, source: Source) -> Iterator[Definition]:
    """`attr_reader :a, :b` and the like: a definition for each symbol."""
    word, arguments = source.of(child(node, "method")), child(node, "arguments")
    names = [_plain(source.of(each)) for each in (arguments.named_children if arguments else ()) if _is_name(each)]
    if word in ("alias_method", "define_method"):
        for name in names[:1]:
            yield _named(name, "method", node, ("alias",) if word == "alias_method" else ())
        return
    for name in names[1:] if word == "def_delegators" else names:
        for ending, modifiers in _ATTRIBUTES[word].items():
            yield Definition(
                name + ending,
                "property",
                node,
                node.byte_range,
                holds="" if ending or "delegate" in modifiers else f"this.@{name}",
                modifiers=modifiers,
                has_body=False,
            )


def _is_name(node: Node) -> bool:
    """A symbol, or a string that nothing is put into."""
    plain = node.type == "string" and node.named_child_count == 1
    return node.type == "simple_symbol" or (plain and child(node, "0") == first_of(node, "string_content"))


def _plain(name: str) -> str:
    """A symbol, or a string, without its marks."""
    return name.strip(":\"'") or name


def kept(name: str, _around: Definition | None) -> str:
    return "field" if name.startswith("@") else "variable"
