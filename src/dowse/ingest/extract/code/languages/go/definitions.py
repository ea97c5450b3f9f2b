"""What definitions of Go say about themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from dowse.ingest.extract.code.language import Definition, Parameter
from dowse.ingest.extract.code.languages.go.bindings import made_type, names_of
from dowse.ingest.extract.code.languages.go.types import held
from dowse.ingest.extract.code.source import child, first_of

if TYPE_CHECKING:
    from tree_sitter import Node

    from dowse.ingest.extract.code.source import Source

_KINDS = {"struct_type": "struct", "interface_type": "interface", "function_type": "delegate"}
_MEMBER_KINDS = frozenset({"struct", "interface"})
_TO_THE_FILE = 3  # from a declared name: over its list, its declaration and the file


def define(node: Node, _around: Definition | None, source: Source) -> Iterable[Definition]:
    if node.type in ("var_spec", "const_spec"):
        return _variables(node, source)
    if node.type == "field_declaration":
        return _fields(node, source)
    if node.type in ("type_spec", "type_alias"):
        return [_type(node, source)]
    if node.type == "method_elem" and not _is_of_a_named_type(node):
        return []
    return [_function(node, source)]


def _function(node: Node, source: Source) -> Definition:
    """The receiver of a method is its first parameter, and its type the owner."""
    receivers = tuple(it._replace(holds="this") for it in _parameters(child(node, "receiver"), source))[:1]
    body, results = child(node, "body"), child(node, "result")
    named = tuple(_parameters(results, source)) if results is not None and results.type == "parameter_list" else ()
    variables = tuple(it for it in named if it.name)
    return Definition(
        source.of(child(node, "name")),
        "function" if node.type == "function_declaration" else "method",
        node,
        (node.start_byte, body.start_byte if body else node.end_byte),
        type=_result(named) if named else source.of(results),
        parameters=(*receivers, *_parameters(child(node, "parameters"), source), *variables),
        hidden=len(receivers),
        added=len(variables),
        has_body=body is not None,
        owner=held(receivers[0].type)[1:-1].partition("[")[0] if receivers else "",
    )


def _result(results: tuple[Parameter, ...]) -> str:
    """Of several results a tuple."""
    types = [it.type for it in results]
    return types[0] if len(types) == 1 else f"({','.join(types)})"


def _parameters(node: Node | None, source: Source) -> Iterator[Parameter]:
    """`a, b int` are two of them, `int` is one without a name."""
    for each in node.named_children if node else ():
        if each.type not in ("parameter_declaration", "variadic_parameter_declaration"):
            continue
        written = source.of(child(each, "type"))
        if each.type == "variadic_parameter_declaration":
            written = f"...{written}"
        names = names_of(each)
        yield from (Parameter(source.of(name), written) for name in names)
        if not names:
            yield Parameter("", written)


def lambda_parameters(node: Node, source: Source) -> Iterable[Parameter]:
    return _parameters(child(node, "parameters"), source)


def _type(node: Node, source: Source) -> Definition:
    """A type with a name of its own may have methods, whatever it is made of."""
    written = child(node, "type")
    is_alias = node.type == "type_alias"
    kind = "typeAlias" if is_alias else _KINDS.get(written.type if written else "", "class")
    ends = written.start_byte + len(written.type.removesuffix("_type")) if written and kind in _MEMBER_KINDS else 0
    return Definition(
        source.of(child(node, "name")),
        kind,
        _whole(node),
        (_whole(node).start_byte, ends or node.end_byte),
        type=source.of(written) if is_alias else "",
        bases=tuple(_embedded(written, source)) if written is not None else (),
    )


def _whole(node: Node) -> Node:
    """With the keyword before it, where it stands there for this one only."""
    around = node.parent
    alone = around is not None and around.type.endswith("_declaration") and around.named_child_count == 1
    return around if alone and around is not None else node


def _embedded(node: Node, source: Source) -> Iterator[str]:
    """What a struct or an interface takes in: its members are used as its own."""
    listed = first_of(node, "field_declaration_list") if node.type == "struct_type" else node
    for each in listed.named_children if listed else ():
        if each.type == "field_declaration" and child(each, "name") is None:
            yield "".join(source.of(child(each, "type")).split())[:200]
        elif each.type == "type_elem" and each.named_child_count == 1:
            yield "".join(source.of(each).split())[:200]


def _is_of_a_named_type(node: Node) -> bool:
    around = node.parent
    if around is not None and around.type == "field_declaration_list":
        around = around.parent
    return around is not None and around.parent is not None and around.parent.type == "type_spec"


def _fields(node: Node, source: Source) -> Iterator[Definition]:
    """What is taken in is a field too, under the name of its type."""
    if not _is_of_a_named_type(node):
        return
    written = child(node, "type")
    for each in names_of(node) or ([written] if written else []):
        name = source.of(each).partition("[")[0].rpartition(".")[2]
        yield Definition(name, "field", node, node.byte_range, source.of(written), has_body=False)


def _variables(node: Node, source: Source) -> Iterator[Definition]:
    """Those of the file; others are local ones."""
    if not _is_of_the_file(node):
        return
    values, written = child(node, "value"), source.of(child(node, "type"))
    parts = values.named_children if values else []
    modifiers = ("const",) if node.type == "const_spec" else ()
    for number, each in enumerate(names_of(node)):
        value = parts[number] if number < len(parts) else None
        yield _variable(each, value, node, written, modifiers, source)


def _variable(
    name: Node, value: Node | None, node: Node, written: str, modifiers: tuple[str, ...], source: Source
) -> Definition:
    function = value if value is not None and value.type == "func_literal" else None
    body = child(function, "body") if function is not None else None
    results = child(function, "result") if function is not None else None
    return Definition(
        source.of(name),
        "function" if function else "variable",
        _whole(node),
        (_whole(node).start_byte, body.start_byte if body else node.end_byte),
        type=source.of(results) if function else written or (made_type(value, source) if value else ""),
        value=value,
        parameters=tuple(_parameters(child(function, "parameters"), source)) if function else (),
        modifiers=modifiers,
        has_body=function is not None,
        function=function,
    )


def _is_of_the_file(node: Node) -> bool:
    around = node.parent
    for _ in range(_TO_THE_FILE):
        if around is None or around.type in ("source_file", "block", "statement_list"):
            break
        around = around.parent
    return around is not None and around.type == "source_file"
