"""What functions and classes of Python say about themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.python.types import contextmanaged, held
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_CLASSES = frozenset({"class", "enum"})
_PROPERTIES = frozenset({"property", "cached_property", "abstractproperty", "setter", "getter", "deleter"})
_METHOD_MODIFIERS = ("staticmethod", "classmethod")
_NAMED_BY_TEXT = frozenset({"identifier", "list_splat_pattern", "dictionary_splat_pattern"})
_CALLABLE = ("Callable", "typing.Callable", "collections.abc.Callable", "abc.Callable", "t.Callable")
_ENUM_BASE = re.compile(r"(?:^|\.)(?:\w*Enum|\w*Flag|\w*Choices)$")


def define(node: Node, around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type == "type_alias_statement":
        return [Definition(source.of(child(node, "left")), "typeAlias", node, node.byte_range)]
    name, body = source.of(child(node, "name")), child(node, "body")
    parent = node.parent
    decorated = parent is not None and parent.type == "decorated_definition"
    span = parent if decorated and parent is not None else node
    header = (node.start_byte, body.start_byte if body else node.end_byte)
    names = tuple(_decorators(span, source)) if decorated else ()
    if node.type == "class_definition":
        return [_class(node, name, span, header, names, source)]
    return [_function(node, around, name, span, header, names, source)]


def _decorators(span: Node, source: Source) -> Iterator[str]:
    for decorator in span.named_children:
        if decorator.type == "decorator":
            yield source.of(child(decorator, "0")).partition("(")[0].strip()[:200]


def _class(
    node: Node, name: str, span: Node, header: tuple[int, int], names: tuple[str, ...], source: Source
) -> Definition:
    bases = tuple(_bases(node, source))
    is_enum = any(_ENUM_BASE.search(base) for base in bases)
    abstract = ("abstract",) if any(base.rpartition(".")[2] == "ABC" for base in bases) else ()
    return Definition(
        name, "enum" if is_enum else "class", span, header, attributes=names, bases=bases, modifiers=abstract
    )


def _bases(node: Node, source: Source) -> Iterator[str]:
    superclasses = child(node, "superclasses")
    for base in superclasses.named_children if superclasses else ():
        if base.type in ("identifier", "attribute", "subscript", "call"):
            yield "".join(source.of(base).partition("(")[0].split())[:200]


def _function(
    node: Node,
    around: Definition | None,
    name: str,
    span: Node,
    header: tuple[int, int],
    names: tuple[str, ...],
    source: Source,
) -> Definition:
    last = [each.rpartition(".")[2] for each in names]
    in_class = around is not None and around.kind in _CLASSES
    has_receiver = in_class and "staticmethod" not in last
    type_text = source.of(child(node, "return_type"))
    return Definition(
        name,
        _kind(name, last) if in_class else "function",
        span,
        header,
        type=contextmanaged(type_text) if "contextmanager" in last or "asynccontextmanager" in last else type_text,
        parameters=tuple(_parameters(child(node, "parameters"), has_receiver, source)),
        hidden=int(has_receiver),
        modifiers=tuple(_modifiers(node, last)),
        attributes=names,
    )


def _kind(name: str, decorators: list[str]) -> str:
    if name == "__init__":
        return "constructor"
    return "method" if _PROPERTIES.isdisjoint(decorators) else "property"


def _modifiers(node: Node, decorators: list[str]) -> Iterator[str]:
    first = node.child(0)
    if first is not None and first.type == "async":
        yield "async"
    yield from (each for each in _METHOD_MODIFIERS if each in decorators)
    if "abstractmethod" in decorators or "abstractproperty" in decorators:
        yield "abstract"


def _parameters(node: Node | None, has_receiver: bool, source: Source) -> Iterator[Parameter]:
    for each in node.named_children if node else ():
        plain = each.type in _NAMED_BY_TEXT
        target = each if plain else child(each, "name") or child(each, "0")
        if target is None:
            continue
        parameter = _parameter(source.of(target), "" if plain else source.of(child(each, "type")))
        yield Parameter(parameter.name, holds="this") if has_receiver else parameter
        has_receiver = False


def _parameter(name: str, type_text: str) -> Parameter:
    """`*` and `**` are told by the type: many may be passed."""
    if name.startswith("**"):
        bare = name[2:].strip()
        return Parameter(bare, f"**{type_text}", f":dict[str,{type_text}];" if type_text else f"${bare}")
    if name.startswith("*"):
        bare = name[1:].strip()
        return Parameter(bare, f"*{type_text}", f":tuple[{type_text}];" if type_text else f"${bare}")
    if not type_text:
        return Parameter(name, holds=f"${name}")
    is_callable = type_text.startswith(_CALLABLE)
    return Parameter(name, type_text, f"{held(type_text)}|${name}" if is_callable else "")


def lambda_parameters(node: Node, source: Source) -> Iterator[Parameter]:
    return _parameters(child(node, "parameters"), False, source)


def kept(name: str, around: Definition | None) -> str:
    if around is None:
        return "variable"
    return "enumMember" if around.kind == "enum" and not name.startswith("_") else "field"
