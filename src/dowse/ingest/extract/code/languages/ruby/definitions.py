"""What Ruby defines: modules and classes with what is mixed into them, methods, and what a call announces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_ATTRIBUTES = {
    "attr_accessor": (),
    "attr_reader": ("readonly",),
    "attr_writer": ("writeonly",),
    "delegate": ("delegate",),
}
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
    return Definition(bare(name), kind, node, node.byte_range, modifiers=modifiers, has_body=False)


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
        bare(name),
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
    symbols = [each for each in (arguments.named_children if arguments else ()) if each.type == "simple_symbol"]
    if word in ("alias_method", "define_method"):
        for each in symbols[:1]:
            yield _named(source.of(each), "method", node, ("alias",) if word == "alias_method" else ())
        return
    for each in symbols:
        name = bare(source.of(each))
        holds = "" if word == "delegate" else f"this.@{name}"
        yield Definition(
            name, "property", node, node.byte_range, holds=holds, modifiers=_ATTRIBUTES[word], has_body=False
        )


def bare(name: str) -> str:
    return name.strip(":\"'").rstrip("?!=") or name


def kept(name: str, _around: Definition | None) -> str:
    return "field" if name.startswith("@") else "variable"
