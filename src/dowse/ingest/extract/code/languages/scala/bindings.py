"""What names are given in Scala: by declarations, assignments, loops, patterns and lambdas; and its imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported, Parameter
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TO_ELEMENTS = frozenset(
    {
        "foreach", "map", "filter", "filterNot", "withFilter", "flatMap", "exists", "forall", "find", "collect",
        "collectFirst", "count", "groupBy", "sortBy", "maxBy", "minBy", "partition", "takeWhile", "dropWhile",
        "foldMap", "traverse", "tapEach",
    }
)  # fmt: skip
_TO_MATCH = 3  # from a name that is a pattern: over its case and the list of cases


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type in ("val_definition", "var_definition", "assignment_expression"):
        return _given(node, source)
    if node.type == "enumerator":
        return _enumerated(node)
    if node.type == "typed_pattern":
        return _named(child(node, "pattern"), node, source.of(child(node, "type")))
    if node.type == "capture_pattern":
        inner = child(node, "pattern")
        return _named(child(node, "name"), node, source.of(child(inner, "type") if inner is not None else None))
    if node.type == "identifier":
        return [Bound(node, node.end_byte, value=_matched(node), narrow=True)]
    return [Bound(each, node.end_byte, narrow=True) for each in node.named_children if each.type == "identifier"]


def _given(node: Node, source: Source) -> Iterable[Bound]:
    target = child(node, "pattern") or child(node, "left")
    value = child(node, "value") or child(node, "right")
    if target is None or target.type != "identifier":
        return ()  # patterns are nodes of their own
    return [Bound(target, node.end_byte, source.of(child(node, "type")), value)]


def _enumerated(node: Node) -> Iterable[Bound]:
    target, value = child(node, "0"), child(node, "1")
    if target is None or value is None or target.type != "identifier":
        return ()
    step = "[]" if any(each.type == "<-" for each in node.children) else ""
    return [Bound(target, value.end_byte, value=value, step=step)]


def _named(target: Node | None, node: Node, written: str) -> Iterable[Bound]:
    if target is None or target.type != "identifier":
        return ()
    return [Bound(target, node.end_byte, written, narrow=True)]


def _matched(node: Node) -> Node | None:
    """What is compared with the pattern, which a bare name then stands for."""
    around: Node | None = node
    for _ in range(_TO_MATCH):
        around = around.parent if around is not None else None
        if around is not None and around.type == "match_expression":
            return child(around, "value")
    return None


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    names = list(_parameters(node, source))
    elements = _iterated(node, source)
    if names and not names[0].type and elements is not None:
        names[0] = Parameter(names[0].name, value=elements, step="[]")
    return names


def _parameters(node: Node, source: Source) -> Iterator[Parameter]:
    """`x`, `(x: Foo, y)`, or `x: Foo` in braces, where the type is a second child of the field."""
    written = [each for each in node.children_by_field_name("parameters") if each.is_named]
    if not written:
        return
    if written[0].type == "bindings":
        for each in written[0].named_children:
            yield Parameter(source.of(child(each, "name")), source.of(child(each, "type")))
    else:
        yield Parameter(source.of(written[0]), source.of(written[1]) if len(written) > 1 else "")


def _iterated(node: Node, source: Source) -> Node | None:
    around = node.parent
    call = around.parent if around is not None and around.type in ("arguments", "block") else around
    if call is None:
        return None
    called = child(call, "function") if call.type == "call_expression" else call
    if called is None or called.type not in ("field_expression", "infix_expression"):
        return None
    name = source.of(child(called, "field") or child(called, "operator"))
    return child(called, "value") or child(called, "left") if name in _TO_ELEMENTS else None


def imports(node: Node, source: Source) -> Iterator[Imported]:
    """`import a.b.C, d.{E, F => G}` is several."""
    for is_comma, parts in groupby(node.children, key=lambda each: each.type == ","):
        if not is_comma:
            yield from _imported([each for each in parts if each.is_named], source)


def _imported(parts: list[Node], source: Source) -> Iterator[Imported]:
    path = [source.of(each) for each in parts if each.type in ("identifier", "operator_identifier")]
    if not path:
        return
    last = parts[-1]
    if last.type == "namespace_wildcard":
        yield Imported(".".join(path), "*")
    elif last.type == "namespace_selectors":
        yield from _selected(last, ".".join(path), source)
    else:
        yield Imported(".".join(path[:-1]), path[-1], path[-1])


def _selected(node: Node, module: str, source: Source) -> Iterator[Imported]:
    for each in node.named_children:
        name = source.of(child(each, "name") or each)
        if each.type == "namespace_wildcard":
            yield Imported(module, "*")
        elif first_of(each, "wildcard") is None:  # `a => _` leaves a out
            yield Imported(module, source.of(child(each, "alias")) or name, name)
