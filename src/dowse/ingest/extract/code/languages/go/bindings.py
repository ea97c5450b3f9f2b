"""What names are given in Go: by declarations, assignments, loops, channels and type switches; and its imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_MAKING = frozenset({"new", "make"})
_VERSION = re.compile(r"/v\d+$|\.v\d+$")


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type in ("type_case", "default_case"):
        return _narrowed(node, source)
    if node.type == "var_spec":
        values = child(node, "value")
        return _given(names_of(node), values, node, source.of(child(node, "type")), source)
    targets, value = child(node, "left"), child(node, "right")
    if targets is None or value is None:
        return ()
    if node.type == "range_clause":
        return _looped(targets, value)
    if node.type == "receive_statement":
        return [_received(targets.named_children[0], value, node)] if targets.named_children else []
    return _given(targets.named_children, value, node, "", source)


def names_of(node: Node) -> list[Node]:
    """The names of a declaration; its field has the commas between them, too."""
    return [each for each in node.children_by_field_name("name") if each.is_named]


def _given(targets: list[Node], values: Node | None, node: Node, written: str, source: Source) -> Iterator[Bound]:
    """One value for each name, or one call whose first result is for the first name."""
    parts = [each for each in values.named_children if not each.is_extra] if values else []
    is_several = len(targets) > len(parts) == 1 and parts[0].type == "call_expression" and not written
    for number, target in enumerate(targets):
        if target.type == "identifier" and is_several:
            yield Bound(target, node.end_byte, value=parts[0], step=f"[{number}]")
        elif target.type == "identifier":
            value = parts[number] if number < len(parts) else None
            yield _one(target, value, node, written, source)


def _one(target: Node, value: Node | None, node: Node, written: str, source: Source) -> Bound:
    if value is not None and not written:
        if value.type == "unary_expression" and source.of(child(value, "operator")) == "<-":
            return _received(target, value, node)
        written = made_type(value, source)
    return Bound(target, node.end_byte, written, value)


def made_type(value: Node, source: Source) -> str:
    """The type in `new(Foo)` and `make([]Foo, 3)`, or nothing."""
    if value.type != "call_expression" or source.of(child(value, "function")) not in _MAKING:
        return ""
    arguments = child(value, "arguments")
    return source.of(child(arguments, "0")) if arguments is not None else ""


def _received(target: Node, value: Node, node: Node) -> Bound:
    """What comes out of a channel is one of many."""
    return Bound(target, node.end_byte, value=child(value, "operand"), step="[]")


def _looped(targets: Node, value: Node) -> Iterator[Bound]:
    """The first name is the place, the second what lies there; of a channel the only one is."""
    names = targets.named_children[:2]
    for number, target in enumerate(names):
        if target.type == "identifier":
            yield Bound(target, value.end_byte, value=value if number or len(names) == 1 else None, step="[]")


def _narrowed(node: Node, source: Source) -> Iterable[Bound]:
    """In a case of `switch x := y.(type)` x is of the type of the case; where that is no single one, it is y."""
    around = node.parent
    alias = child(around, "alias") if around is not None and around.type == "type_switch_statement" else None
    name = child(alias, "0") if alias is not None else None
    if around is None or name is None:
        return ()
    types = node.children_by_field_name("type")
    return [Bound(name, node.start_byte, source.of(types[0]) if len(types) == 1 else "", child(around, "value"))]


def imports(node: Node, source: Source) -> Iterator[Imported]:
    path = source.of(child(node, "path")).strip('"`')
    name = source.of(child(node, "name"))
    if path:
        yield Imported(path, "*" if name == "." else name or _VERSION.sub("", path).rpartition("/")[2])
