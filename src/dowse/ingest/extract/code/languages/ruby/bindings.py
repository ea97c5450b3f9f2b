"""What names of Ruby are given: by assignments, loops, rescues and blocks; and what a file requires."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported, Parameter
from dowse.ingest.extract.code.languages.ruby.definitions import parameters
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_TO_ELEMENTS = frozenset(
    {
        "each", "map", "select", "reject", "find", "detect", "any", "all", "none", "flat_map", "each_with_index",
        "sort_by", "group_by", "partition", "filter", "filter_map", "each_with_object", "collect", "sum", "count",
        "find_each", "min_by", "max_by", "to_h", "index_by", "each_slice",
    }
)  # fmt: skip


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "for":
        target, value = child(node, "pattern"), child(node, "value")
        return [Bound(target, target.end_byte, value=child(value, "0") if value else None, step="[]")] if target else []
    if node.type == "rescue":
        return _rescued(node, source)
    target, value = child(node, "left"), child(node, "right")
    if target is None:
        return []
    if target.type == "left_assignment_list":
        return [it for each in target.named_children for it in _assigned(each, node, value, "[]")]
    return _assigned(target, node, value, "")


def _assigned(target: Node, node: Node, value: Node | None, step: str) -> list[Bound]:
    if target.type == "scope_resolution":
        name = child(target, "name")
        return _assigned(name, node, value, step) if name is not None and name.type == "constant" else []
    if target.type in ("instance_variable", "class_variable"):
        return [Bound(target, node.end_byte, value=value, step=step, keeps=node, of_this=True)]
    if target.type == "constant":
        return [Bound(target, node.end_byte, value=value, step=step, keeps=node, lasts=True)]
    return [Bound(target, node.end_byte, value=value, step=step)] if _is_local(target) else []


def _is_local(node: Node) -> bool:
    return node.type == "identifier"


def _rescued(node: Node, source: Source) -> list[Bound]:
    variable, caught = child(node, "variable"), child(node, "exceptions")
    name = child(variable, "0") if variable is not None else None
    written = source.of(child(caught, "0") if caught is not None else None)
    return [Bound(name, name.end_byte, written)] if name is not None and _is_local(name) else []


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """The first is an element where a method is known to pass those of what it is called on."""
    found = list(parameters(child(node, "parameters"), source))
    call = node.parent
    passes = call is not None and call.type == "call" and source.of(child(call, "method")).rstrip("?!") in _TO_ELEMENTS
    elements = child(call, "receiver") if call is not None and passes else None
    if found and elements is not None:
        found[0] = Parameter(found[0].name, value=elements, step="[]")
    return found


def imports(node: Node, source: Source) -> Iterator[Imported]:
    arguments = child(node, "arguments")
    named = first_of(arguments, "string") if arguments is not None else None
    path = source.of(named).strip("\"'")
    if path:
        is_near = source.of(child(node, "method")) == "require_relative" and not path.startswith(".")
        yield Imported(f"./{path}" if is_near else path, "*")
