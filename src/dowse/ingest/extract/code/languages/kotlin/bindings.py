"""What names are given in Kotlin: by declarations, assignments, loops, type checks, `when`, `catch` and lambdas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Bound, Imported, Parameter
from dowse.ingest.extract.code.languages.kotlin.types import type_in
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

# Functions of the standard library, by what they pass to a lambda: elements of what they are called on, the thing
# itself, or the thing as `this`.
_ELEMENTS = frozenset(
    {
        "forEach", "map", "filter", "filterNot", "any", "all", "none", "first", "firstOrNull", "last",
        "lastOrNull", "find", "flatMap", "mapNotNull", "onEach", "associateBy", "associateWith", "groupBy",
        "sortedBy", "sortedByDescending", "maxBy", "minBy", "maxByOrNull", "minByOrNull", "sumOf", "count",
        "partition", "single", "singleOrNull", "distinctBy", "takeWhile", "dropWhile", "removeAll",
        "removeIf", "indexOfFirst",
    }
)  # fmt: skip
_ITSELF = frozenset({"let", "also", "takeIf", "takeUnless", "use"})
_AS_THIS = frozenset({"apply", "run"})
_WITHOUT = _AS_THIS | {"with", "lazy", "synchronized", "buildString", "buildList"}


def bind(node: Node, source: Source) -> Iterable[Bound]:
    if node.type in ("property_declaration", "when_subject"):
        return _declared(node, source)
    if node.type == "assignment":
        target = child(node, "left")
        given = target is not None and target.type == "identifier" and source.of(child(node, "operator")) == "="
        return [Bound(target, node.end_byte, value=child(node, "right"))] if given and target is not None else []
    if node.type == "for_statement":
        name, value = _variable(node), child(node, "1")
        return [Bound(name, value.end_byte, value=value, step="[]")] if name is not None and value is not None else []
    if node.type == "catch_block":
        name = child(node, "0")
        return [Bound(name, name.end_byte, type_in(node, source))] if name is not None else []
    return _narrowed(node, source)


def _variable(node: Node) -> Node | None:
    declared = first_of(node, "variable_declaration")
    return child(declared, "0") if declared is not None else None


def _declared(node: Node, source: Source) -> Iterator[Bound]:
    """A variable of a function; `val (a, b) = pair` says nothing about either."""
    name = _variable(node)
    if name is not None:
        yield Bound(
            name, node.end_byte, type_in(first_of(node, "variable_declaration"), source), value_of(node, source)
        )
    several = first_of(node, "multi_variable_declaration")
    for each in several.named_children if several else ():
        part = child(each, "0")
        if part is not None:
            yield Bound(part, node.end_byte, type_in(each, source))


def value_of(node: Node, source: Source) -> Node | None:
    """What stands behind the `=`, or what `by lazy { … }` makes."""
    sign = next((each for each in node.children if each.type == "="), None)
    if sign is not None:
        return sign.next_named_sibling
    delegate = first_of(node, "property_delegate")
    call = child(delegate, "0") if delegate is not None else None
    if call is None or source.of(child(call, "0")) != "lazy":
        return None
    made = first_of(call, "annotated_lambda")
    body = first_of(made, "lambda_literal") if made is not None else None
    return body.named_children[-1] if body is not None and body.named_child_count else None


def _narrowed(node: Node, source: Source) -> Iterable[Bound]:
    """`x is Foo`, and `is Foo` in a `when (x)`."""
    name = child(node, "left") if node.type == "is_expression" else _subject(node)
    if name is None or name.type != "identifier" or any(each.type == "!is" for each in node.children):
        return ()
    return [Bound(name, node.end_byte, type_in(node, source), narrow=True)]


def _subject(node: Node) -> Node | None:
    entry = node.parent
    around = entry.parent if entry is not None else None
    subject = first_of(around, "when_subject") if around is not None else None
    return (_variable(subject) or child(subject, "0")) if subject is not None else None


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    """Without parameters of its own a lambda has `it`, if it is given anything."""
    listed = first_of(node, "lambda_parameters", "function_value_parameters")
    names = (
        [Parameter(source.of(child(each, "0")), type_in(each, source)) for each in listed.named_children]
        if listed
        else []
    )
    receiver, function = _called_on(node, source)
    if function in _AS_THIS and receiver is not None:
        return [Parameter("this", value=receiver)]
    if not names and function not in _WITHOUT and node.type == "lambda_literal":
        names = [Parameter("it")]
    if names and not names[0].type and receiver is not None and function in _ELEMENTS | _ITSELF:
        names[0] = Parameter(names[0].name, value=receiver, step="[]" if function in _ELEMENTS else "")
    return names


def _called_on(node: Node, source: Source) -> tuple[Node | None, str]:
    """What the function that a lambda is passed to is called on, and that function's name."""
    around = node.parent
    call = around.parent if around is not None and around.type in ("annotated_lambda", "value_argument") else None
    if call is not None and call.type == "value_arguments":
        call = call.parent
    called = child(call, "0") if call is not None and call.type == "call_expression" else None
    if called is not None and called.type == "call_expression":
        called = child(called, "0")
    if called is None or called.type != "navigation_expression":
        return None, source.of(called)[:100]
    return child(called, "0"), source.of(child(called, "1"))


def imports(node: Node, source: Source) -> Iterator[Imported]:
    path = "".join(source.of(child(node, "0")).split())
    if any(each.type == "*" for each in node.children):
        yield Imported(path, "*")
    elif path:
        module, _, member = path.rpartition(".")
        yield Imported(module, source.of(first_of(node, "identifier")) or member, member)
