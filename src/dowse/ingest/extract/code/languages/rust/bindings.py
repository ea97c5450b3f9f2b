"""What names of Rust are given: by `let`, by patterns, by loops and closures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from dowse.ingest.extract.code.language import Bound, Mapped, Parameter
from dowse.ingest.extract.code.source import child

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_PATH: Final = re.compile(r"\w+(?:\.\w+)+")
_WRAPPING: Final = frozenset({"Some", "Ok"})
_MOST_IN_A_PATTERN: Final = 200
_TO_ELEMENTS: Final = frozenset(
    {
        "map", "filter", "for_each", "any", "all", "flat_map", "filter_map", "find", "position", "take_while",
        "skip_while", "inspect", "max_by_key", "min_by_key", "sort_by_key", "retain", "partition", "find_map",
        "and_then",
    }
)  # fmt: skip


def bind(node: Node, source: Source) -> Iterable[Bound]:
    pattern, value = child(node, "pattern"), child(node, "value")
    if pattern is None:
        return ()
    if node.type == "match_arm":
        value = _matched(node)
        return _named(pattern, value, "", node.start_byte, source, narrow=True)
    if node.type == "for_expression":
        return _named(pattern, value, "[]", value.end_byte if value is not None else node.end_byte, source)
    written = source.of(child(node, "type"))
    if pattern.type == "identifier":
        return [Bound(pattern, node.end_byte, "" if "_" in (written, written[-2:-1]) else written, value)]
    return _named(pattern, value, "", node.end_byte, source, narrow=node.type == "let_condition")


def _matched(arm: Node) -> Node | None:
    block = arm.parent
    return child(block.parent, "value") if block is not None and block.parent is not None else None


def _named(
    pattern: Node, value: Node | None, step: str, at: int, source: Source, *, narrow: bool = False
) -> Iterator[Bound]:
    """The names in a pattern, each with the way to it, or, behind `=`, with what it holds, whatever the value is."""
    waiting: list[tuple[Node, str | None]] = [(pattern, step)]
    for _ in range(_MOST_IN_A_PATTERN):
        if not waiting:
            return
        part, way = waiting.pop()
        if part.type in ("identifier", "shorthand_field_identifier"):
            if source.of(part)[:1].islower() or source.of(part)[:1] == "_":
                if way is not None and way.startswith("="):
                    yield Bound(part, at, holds=way[1:], narrow=narrow)
                else:
                    yield Bound(part, at, value=value if way is not None else None, step=way or "", narrow=narrow)
        else:
            waiting += _parts(part, way, source)


def _parts(part: Node, way: str | None, source: Source) -> list[tuple[Node, str | None]]:
    if part.type == "field_pattern":
        name = child(part, "name")
        onward = f"{way}.{source.of(name)}" if way is not None else None
        inner = child(part, "pattern") or name
        return [(inner, onward)] if inner is not None else []
    kind = child(part, "type")
    condition = child(part, "condition")
    inner_parts = [each for each in part.named_children if each not in (kind, condition)]
    if part.type == "tuple_struct_pattern":
        if source.of(kind) in _WRAPPING:
            return [(each, f"{way}[]" if way is not None else None) for each in inner_parts]
        variant = source.of(kind).replace("::", ".")
        variant = f"this{variant[4:]}" if variant.startswith("Self.") else variant
        is_path = _PATH.fullmatch(variant) is not None
        return [(each, f"={variant}.{number}" if is_path else None) for number, each in enumerate(inner_parts)]
    if part.type == "tuple_pattern":
        return [(each, f"{way}[{number}]" if way is not None else None) for number, each in enumerate(inner_parts)]
    return [(each, way) for each in inner_parts]


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    listed = child(node, "parameters")
    found = [_parameter(each, source) for each in (listed.named_children if listed else ())]
    elements = _passed_from(node, source)
    if found and not found[0].type and elements is not None:
        found[0] = Parameter(found[0].name, value=elements, step="[]")
    return found


def _parameter(node: Node, source: Source) -> Parameter:
    if node.type == "parameter":
        return Parameter(source.of(child(node, "pattern")), source.of(child(node, "type")))
    return Parameter(source.of(node).lstrip("&").removeprefix("mut ").strip())


def _passed_from(node: Node, source: Source) -> Node | None:
    call = node.parent.parent if node.parent is not None and node.parent.type == "arguments" else None
    called = child(call, "function") if call is not None else None
    if called is None or called.type != "field_expression" or source.of(child(called, "field")) not in _TO_ELEMENTS:
        return None
    return child(called, "value")


def mapped(node: Node, source: Source) -> Mapped | None:
    """`xs.iter().map(|x| x.y())` and `.map(X::y)` give what y of each gives."""
    arguments, called = child(node, "arguments"), child(node, "function")
    if arguments is None or called is None or called.type != "field_expression" or arguments.named_child_count != 1:
        return None
    function, name, receiver = arguments.named_children[0], source.of(child(called, "field")), child(called, "value")
    if name not in ("map", "flat_map", "filter_map") or receiver is None:
        return None
    if function.type == "scoped_identifier":
        return Mapped(receiver, member=source.of(child(function, "name")), many=name != "map")
    body, parameters = child(function, "body"), source.of(child(function, "parameters"))
    if function.type != "closure_expression" or body is None:
        return None
    return Mapped(receiver, parameters.strip("| ").lstrip("&").removeprefix("mut "), body, many=name != "map")
