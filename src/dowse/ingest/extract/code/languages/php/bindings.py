"""What names are given in PHP: by assignments, loops, `catch`, `instanceof` and closures; and its imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported, Parameter
from dowse.ingest.extract.code.languages.php.definitions import parameters_of
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "assignment_expression":
        return _assigned(node, source)
    if node.type == "foreach_statement":
        return _looped(node)
    if node.type == "catch_clause":
        name = child(node, "name")
        return [Bound(name, name.end_byte, source.of(child(node, "type")))] if name is not None else []
    name, written = child(node, "left"), child(node, "right")
    if name is None or written is None or name.type != "variable_name" or written.type == "variable_name":
        return ()
    return [Bound(name, node.end_byte, source.of(written), narrow=True)]


def _assigned(node: Node, source: Source) -> Iterable[Bound]:
    target, value = child(node, "left"), child(node, "right")
    if target is None:
        return ()
    if target.type == "variable_name":
        return [Bound(target, node.end_byte, value=value, keeps=node)]
    if target.type == "member_access_expression" and source.of(child(target, "object")) == "$this":
        name = child(target, "name")
        known = name is not None and name.type == "name"
        return [Bound(name, node.end_byte, value=value, keeps=node, of_this=True)] if known and name is not None else []
    if target.type == "list_literal":
        names = [each for each in target.named_children if each.type == "variable_name"]
        return [Bound(each, node.end_byte, keeps=node) for each in names]
    return ()


def _looped(node: Node) -> Iterable[Bound]:
    """`foreach ($xs as $x)`, or with a key before it."""
    value, target = child(node, "0"), child(node, "1")
    if target is not None and target.type == "pair":
        target = child(target, "1")
    if value is None or target is None or target.type != "variable_name":
        return ()
    return [Bound(target, target.end_byte, value=value, step="[]")]


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    return parameters_of(child(node, "parameters"), source)


def imports(node: Node, source: Source) -> Iterator[Imported]:
    if node.type != "namespace_use_declaration":
        yield Imported(source.of(child(node, "0")).strip("'\""), "*")
        return
    group = child(node, "body")
    prefix = source.of(first_of(node, "namespace_name")) if group is not None else ""
    for each in (group or node).named_children:
        if each.type == "namespace_use_clause":
            yield _used(each, prefix, source)


def _used(node: Node, prefix: str, source: Source) -> Imported:
    path = source.of(first_of(node, "qualified_name", "name")).strip("\\")
    module, _, member = (f"{prefix}\\{path}" if prefix else path).rpartition("\\")
    return Imported(module, source.of(child(node, "alias")) or member, member)
