"""What names are given in Python: by assignments, loops, `with`, `except` and `isinstance`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound
from dowse.ingest.extract.code.source import child
from dowse.text.expressions import ANY_KEY, SPREAD

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_PATTERNS = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "tuple", "list"})
_KEY = re.compile(r"[\w./ -]{1,40}")
_SEQUENCES = frozenset({"expression_list", "tuple", "list"})


def bind(node: Node, source: Source) -> Iterable[Bound]:
    return _BINDERS[node.type](node, source)


def _assigned(node: Node, source: Source) -> Iterable[Bound]:
    target, value = child(node, "left"), child(node, "right")
    type_text = source.of(child(node, "type"))
    if target is None:
        return ()
    if target.type not in _PATTERNS:
        return _plain(target, Bound(target, node.end_byte, type_text, value, keeps=node))
    return _spread(target, Bound(target, node.end_byte, value=value, keeps=node))


def _spread(pattern: Node, bound: Bound) -> list[Bound]:
    """Each part of a pattern gets the element at its place; a starred one gets what is left of it."""
    targets = pattern.named_children
    value = bound.value
    values = value.named_children if value is not None and value.type in _SEQUENCES and not bound.step else []
    star = next((at for at, each in enumerate(targets) if each.type == "list_splat_pattern"), len(targets))
    if len(values) == len(targets) and star == len(targets):
        pairs = zip(targets, values, strict=True)
        return [it for each, given in pairs for it in _plain(each, bound._replace(target=each, value=given))]
    found: list[Bound] = []
    for at, each in enumerate(targets):
        if at == star:
            rest = each.named_child(0) or each
            found += _plain(rest, bound._replace(target=rest, step=f"{bound.step}[{at}:]"))
        elif at > star:
            place = len(values) - len(targets) + at
            step = f"[{place}]" if len(values) >= len(targets) - 1 and values else "[?]"
            found += _plain(each, bound._replace(target=each, step=bound.step + step))
        else:
            found += _plain(each, bound._replace(target=each, step=f"{bound.step}[{at}]"))
    return found


def _plain(target: Node, bound: Bound) -> Iterable[Bound]:
    """What is assigned to an element of a container adds to what its name holds."""
    if target.type in ("identifier", "attribute"):
        return [bound]
    if target.type in _PATTERNS:
        return _spread(target, bound)
    onto, key = child(target, "value"), child(target, "subscript")
    if target.type == "subscript" and onto is not None and key is not None:
        return _element(onto, key, bound) if onto.type in ("identifier", "attribute") else []
    return [Bound(each, bound.at, keeps=bound.keeps) for each in _names(target)]


def _element(onto: Node, key: Node, bound: Bound) -> Iterable[Bound]:
    text = key.text.decode(errors="ignore").strip("\"'") if key.text and key.type in ("string", "integer") else ""
    if bound.step or bound.value is None:
        return []
    return [bound._replace(target=onto, key=f"'{text if _KEY.fullmatch(text) else '*'}")]


def _names(pattern: Node) -> Iterator[Node]:
    """The names in a pattern of names, however nested."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            yield node
        elif node.type in _PATTERNS or node.type in ("list_splat_pattern", "as_pattern_target"):
            waiting.extend(reversed(node.named_children))


def _walrus(node: Node, _source: Source) -> Iterable[Bound]:
    target = child(node, "name")
    return [Bound(target, node.end_byte, value=child(node, "value"))] if target else []


def _looped(node: Node, source: Source) -> Iterable[Bound]:
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None:
        return []
    if target.type not in _PATTERNS:
        return _plain(target, Bound(target, value.end_byte, value=value, step="[]"))
    sources = _iterated(value, source)
    if not sources:
        return _spread(target, Bound(target, value.end_byte, value=value, step="[]"))
    return [
        bound
        for number, each in enumerate(target.named_children)
        for bound in _plain(each, Bound(each, value.end_byte, value=sources.get(number), step="[]"))
    ]


def _iterated(value: Node, source: Source) -> dict[int, Node]:
    """What the parts of `for a, b in …` are elements of: enumerate and zip say so."""
    function, arguments = child(value, "function"), child(value, "arguments")
    if value.type != "call" or function is None or arguments is None:
        return {}
    name = source.of(child(function, "attribute") if function.type == "attribute" else function)
    if name == "zip":
        return dict(enumerate(arguments.named_children))
    if name == "enumerate" and arguments.named_child_count:
        return {1: arguments.named_children[0]}
    return {}


def _named_by_as(node: Node, source: Source) -> Iterable[Bound]:
    """`with x as y` and `except E as e`."""
    target, value, parent = child(node, "alias"), child(node, "0"), node.parent
    target = child(target, "0") if target else None
    if target is None or value is None or parent is None:
        return []
    if parent.type == "with_item":
        return _plain(target, Bound(target, node.end_byte, value=value, step=".__enter__()"))
    return _plain(target, Bound(target, node.end_byte, _either_type(value, source)))


def _either_type(node: Node, source: Source) -> str:
    """`(A, B)` after `except` and in `isinstance`."""
    return "|".join(source.of(each) for each in (node.named_children if node.type == "tuple" else [node]))


def _global(node: Node, source: Source) -> Iterable[Bound]:
    return [Bound(each, node.end_byte, holds=source.of(each)) for each in node.named_children]


def _called(node: Node, source: Source) -> Iterable[Bound]:
    function = child(node, "function")
    return (
        _narrowed(node, source) if function is None or function.type == "identifier" else _grown(node, function, source)
    )


def _grown(node: Node, function: Node, source: Source) -> Iterable[Bound]:
    """`x.append(y)` and the like: what is called so gets one more element, or those of a dict."""
    onto, arguments = child(function, "object"), child(node, "arguments")
    if onto is None or arguments is None or not arguments.named_child_count:
        return []
    value = arguments.named_children[-1]
    key = SPREAD if source.of(child(function, "attribute")) == "update" else ANY_KEY
    return [Bound(onto, node.end_byte, value=value, keeps=node, key=key)]


def _narrowed(node: Node, source: Source) -> Iterable[Bound]:
    arguments, parent = child(node, "arguments"), node.parent
    if arguments is None or parent is None or parent.type == "not_operator":
        return []
    name, types = arguments.named_children[:2]
    return [Bound(name, node.end_byte, _either_type(types, source), narrow=True)]


_BINDERS = {
    "assignment": _assigned,
    "named_expression": _walrus,
    "for_statement": _looped,
    "for_in_clause": _looped,
    "as_pattern": _named_by_as,
    "global_statement": _global,
    "call": _called,
}
