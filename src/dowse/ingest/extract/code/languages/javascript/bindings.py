"""What names are given in JavaScript and TypeScript: by declarations, assignments, loops and imports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_MOST_TAKEN_APART = 200  # names of one pattern
_PATTERNS = frozenset({"object_pattern", "array_pattern"})
_DEFINED = frozenset({"arrow_function", "function_expression", "generator_function", "class"})


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type == "variable_declarator":
        return _given(child(node, "name"), child(node, "value"), source.of(child(node, "type")), node, source)
    if node.type == "assignment_expression":
        return _given(child(node, "left"), child(node, "right"), "", node, source)
    if node.type == "catch_clause":
        name = child(node, "parameter")
        return [Bound(name, name.end_byte)] if name is not None and name.type == "identifier" else []
    return _looped(node)


def _given(target: Node | None, value: Node | None, type_text: str, node: Node, source: Source) -> Iterable[Bound]:
    """Functions, classes and modules are not values that a name is given."""
    if target is None or (value is not None and (value.type in _DEFINED or _is_module(value, source))):
        return []
    if target.type in ("identifier", "member_expression"):
        return [Bound(target, node.end_byte, type_text, value, keeps=node)]
    return _taken_apart(target, value, node, source)


def _is_module(value: Node, source: Source) -> bool:
    return value.type == "call_expression" and source.of(child(value, "function")) == "require"


def _taken_apart(pattern: Node, value: Node | None, node: Node, source: Source) -> Iterator[Bound]:
    """`const { a, b: c } = x` gives a what is in x.a, `const [a] = x` an element of x."""
    if pattern.type not in _PATTERNS:
        return
    waiting = [(each, "") for each in reversed(pattern.named_children)]
    for _ in range(_MOST_TAKEN_APART):
        if not waiting:
            return
        part, before = waiting.pop()
        target = child(part, "value") if part.type == "pair_pattern" else part
        target = child(part, "0") if part.type == "rest_pattern" else target
        while target is not None and target.type in ("assignment_pattern", "object_assignment_pattern"):
            target = child(target, "left")
        if target is None:
            continue
        in_array = part.parent is not None and part.parent.type == "array_pattern"
        step = before + ("[]" if in_array else f".{source.of(child(part, 'key') or target)}")
        if target.type in ("identifier", "shorthand_property_identifier_pattern"):
            yield Bound(target, node.end_byte, value=value, step=step, keeps=node)
        elif target.type in _PATTERNS:
            waiting += [(each, step) for each in reversed(target.named_children)]


def _looped(node: Node) -> Iterable[Bound]:
    target, value = child(node, "left"), child(node, "right")
    if target is None or value is None or target.type != "identifier":
        return []
    of = any(each.type == "of" for each in node.children)
    return [Bound(target, value.end_byte, value=value if of else None, step="[]")]


def imports(node: Node, source: Source) -> Iterator[Imported]:
    if node.type == "variable_declarator":
        yield from _required(node, source)
        return
    module = source.of(child(node, "source")).strip("\"'`")
    clause = first_of(node, "import_clause", "export_clause", "namespace_export")
    if clause is None:
        yield Imported(module, "*" if node.type == "export_statement" else module)
    elif node.type == "export_statement":
        yield from _specified(clause, module, source)
    else:
        for each in clause.named_children:
            yield from _imported(each, module, source)


def _imported(each: Node, module: str, source: Source) -> Iterator[Imported]:
    if each.type == "identifier":
        yield Imported(module, source.of(each), "default")
    elif each.type == "namespace_import":
        yield Imported(module, source.of(child(each, "0")))
    else:
        yield from _specified(each, module, source)


def _specified(clause: Node, module: str, source: Source) -> Iterator[Imported]:
    for each in clause.named_children:
        if each.type in ("import_specifier", "export_specifier"):
            name = source.of(child(each, "name"))
            yield Imported(module, source.of(child(each, "alias")) or name, name)


def _required(node: Node, source: Source) -> Iterator[Imported]:
    target, value = child(node, "name"), child(node, "value")
    arguments = child(value, "arguments") if value is not None else None
    module = source.of(child(arguments, "0") if arguments is not None else None).strip("\"'`")
    if target is None or not module:
        return
    if target.type == "identifier":
        yield Imported(module, source.of(target))
    elif target.type == "object_pattern":
        for each in target.named_children:
            local = source.of(child(each, "value") or child(each, "left") or each)
            yield Imported(module, local, source.of(child(each, "key")) or local)
